/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_SURFACE_OPTIONS_H
#define CLV_SURFACE_OPTIONS_H

#include "base/options.h"
#include "clvox/surface.h"

/* The fields of clvox_denoise_options: what `clvox surface denoise` reads, what the library checks. */
extern const clv_option_table clv_denoise_table;

#endif
