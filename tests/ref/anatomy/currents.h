/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_ANATOMY_CURRENTS_H
#define REF_ANATOMY_CURRENTS_H

#include "op/anatomy/currents.h"

/* All pairs; elements as in clv_elements. gradient (NULL: not wanted) is filled. */
double ref_currents(const float *target, int targets, const float *source, int sources, double width, bool varifold,
                    double *gradient);

#endif
