/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_JACOBIAN_H
#define REF_FIELD_JACOBIAN_H

#include <stdbool.h>

/* field: three planes. */
void ref_jacobian(const float *field, const int size[3], const float spacing[3], bool log,
                  double *out);

#endif
