/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SORT_SCAN_H
#define REF_SORT_SCAN_H

#include "op/sort/scan.h"

/* keys may be NULL. */
void ref_scan(const uint32_t *in, const uint32_t *keys, int n, bool inclusive, uint32_t *out);
void ref_scan_wide(const uint64_t *in, const uint32_t *keys, int n, bool inclusive, uint64_t *out);

#endif
