/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_REGISTER_METRIC_WORDS_H
#define CLV_REGISTER_METRIC_WORDS_H

#include "base/options.h"

/* "ssd|ncc|lncc[:RADIUS]|..." */
char *clv_metrics_words(char *out, size_t room);

/* Reads the metrics of clvox_register_options: one for both stages, or LINEAR,DEFORM. Of several for both, the
 * linear stage takes the first. */
int clv_metrics_read(const clv_option *row, const char *text, void *values);

/* The same text from the options. */
void clv_metrics_show(const void *values, char *out, size_t room);

#endif
