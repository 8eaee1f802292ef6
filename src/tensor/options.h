/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the tensor verbs: what they read, what the library checks. */
#ifndef CLV_TENSOR_OPTIONS_H
#define CLV_TENSOR_OPTIONS_H

#include "base/options.h"
#include "clvox/tensor_all.h"

/* The fields of clvox_tensor_fit_options, of clvox_tensor_denoise_options, and of both and more in
 * clvox_tensor_all_options. */
extern const clv_option_table clv_tensor_fit_table, clv_tensor_denoise_table, clv_tensor_all_table;

/* CLVOX_OK, or the sentence that says what is wrong with a value, or with two of them together. */
int clv_tensor_fit_options_check(const clvox_tensor_fit_options *options);
int clv_tensor_denoise_options_check(const clvox_tensor_denoise_options *options);
int clv_tensor_all_options_check(const clvox_tensor_all_options *options);

#endif
