/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IMAGE_NLM_H
#define CLV_IMAGE_NLM_H

#include "base/options.h"
#include "clvox/filter.h"

/* The options of non-local means. */
extern const clv_option_table clv_nlm_table;

#endif
