/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BATCH_PAIRS_H
#define CLV_BATCH_PAIRS_H

#include <cjson/cJSON.h>

#include "clvox/batch.h"

/* The options of a pair's registration, or their defaults. */
clvox_register_options clv_pair_registration(const clvox_pairs_options *o, const clvox_pair *pair);

/* Writes pairs->page, what to look at first: failed pairs, then those with the most suspicions, then the
 * least similar. */
int clv_pairs_page(clvox_pairs *pairs, const clvox_pairs_options *o, const cJSON *log);

#endif
