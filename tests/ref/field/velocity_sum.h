/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_VELOCITY_SUM_H
#define REF_FIELD_VELOCITY_SUM_H

#include <stddef.h>

/* sum += weight (u - back) / 2 as whole numbers, `unit` of them for 1; what is not finite adds nothing. */
void ref_velocity_sum(const double *u, const double *back, double weight, double unit, size_t count,
                      double *sum);

#endif
