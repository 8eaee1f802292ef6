/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_ATLAS_REGRESS_H
#define CLV_ATLAS_REGRESS_H

#include "atlas/run.h"

/* The templates of a regression, after the linear rounds. */
int clv_atlas_regress(clv_atlas_run *a);

#endif
