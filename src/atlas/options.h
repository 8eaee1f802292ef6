/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_ATLAS_OPTIONS_H
#define CLV_ATLAS_OPTIONS_H

#include "base/options.h"
#include "clvox/atlas.h"

/* The fields of clvox_atlas_options but registration, which has clv_register_table. */
extern const clv_option_table clv_atlas_table;

#endif
