/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_LIMIT_H
#define CLV_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of addresses that the limit on them (ulimit -v) grants, and how many of these are left; false where there
 * is no limit or what is used cannot be found out. */
bool clv_address_space(uint64_t *limit, uint64_t *left);

#endif
