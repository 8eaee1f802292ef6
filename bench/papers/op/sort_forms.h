/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_SORT_FORMS_H
#define CLV_OP_PAPERS_SORT_FORMS_H

#include "op/sort/radix_sort.h"

/* clv_sort of unsigned keys of 32 bits with values in the forms of Ha 2011, appendix A; args->kind does not
 * count. */
typedef enum clv_sort_form {
    CLV_SORT_IMPLICIT, /* counts of two bits at a time, the last of which is never stored: section A.3.1 */
    CLV_SORT_PAIRS,    /* from one digit to the next keys and values lie side by side in other_keys and
                          other_values, of 2 n words each: section A.3.2.1 */
    CLV_SORT_LIMITED,  /* leaves out the highest digits, as far as all keys agree in them, for one more pass
                          over the keys, for which the host waits: section A.3.3.1 */
    CLV_SORT_FORMS
} clv_sort_form;

/* 32-bit words of counts and totals. */
int clv_sort_form_words(clvox_context *ctx, int n, size_t *counts, size_t *totals);
int clv_sort_in_form(clvox_context *ctx, clv_sort_form form, const clv_sort_args *args);

extern const clv_entry clv_entry_sort_implicit, clv_entry_sort_pairs, clv_entry_sort_pairs_count;
extern const clv_entry clv_entry_sort_range;

#endif
