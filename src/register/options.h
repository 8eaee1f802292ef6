/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a registration as a table: what the library checks, and what
 * `clvox register` reads, explains and logs. */
#ifndef CLV_REGISTER_OPTIONS_H
#define CLV_REGISTER_OPTIONS_H

#include "base/options.h"
#include "clvox/registration.h"

/* The table of clvox_register_options. */
extern const clv_option_table clv_register_table;

/* CLVOX_ERROR_ARGUMENT where alpha, beta and gamma are neither all 0, which stands for the default, nor those
 * of a positive definite operator whose inverse has a square of 32 bits. */
int clv_register_check_operator(const clvox_register_options *options);

/* CLVOX_ERROR_ARGUMENT where the model does not compare by the metrics, or one beside has a number out of its
 * range. */
int clv_register_check_metrics(const clvox_register_options *options);

/* `idle` of rows that only a deformation, or the linear part, has a use for; values:
 * clvox_register_options. */
const char *clv_of_deformation(const clv_option *row, const void *values, const char *text);
const char *clv_of_linear(const clv_option *row, const void *values, const char *text);

#endif
