/* SPDX-License-Identifier: Apache-2.0 */
/* The options of permutation tests and of entropies: their names, ranges and explanations. */
#ifndef CLV_STATS_OPTIONS_H
#define CLV_STATS_OPTIONS_H

#include "base/options.h"
#include "clvox/stats.h"

extern const clv_option_table clv_stats_table, clv_entropy_table;

#endif
