/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_LIMIT_H
#define CLV_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of addresses that the limit on them (ulimit -v) grants, and how many of these are left; false where there
 * is no limit or what is used cannot be found out. */
bool clv_address_space(uint64_t *limit, uint64_t *left);

/* The least limit of the control groups that `own` (/proc/self/cgroup) names and of those above them, under
 * `root` (/sys/fs/cgroup); UINT64_MAX where they have none. */
uint64_t clv_group_memory(const char *own, const char *root);

#endif
