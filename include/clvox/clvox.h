/* SPDX-License-Identifier: Apache-2.0 */
/* All of the library, for C and C++. */
#ifndef CLVOX_CLVOX_H
#define CLVOX_CLVOX_H

#include "clvox/apply.h"
#include "clvox/atlas.h"
#include "clvox/batch.h"
#include "clvox/boundary.h"
#include "clvox/compare.h"
#include "clvox/device.h"
#include "clvox/epi.h"
#include "clvox/figure.h"
#include "clvox/filter.h"
#include "clvox/kernels.h"
#include "clvox/options.h"
#include "clvox/phantom.h"
#include "clvox/posteriors.h"
#include "clvox/progress.h"
#include "clvox/registration.h"
#include "clvox/report.h"
#include "clvox/segment.h"
#include "clvox/series.h"
#include "clvox/shape.h"
#include "clvox/sort.h"
#include "clvox/stats.h"
#include "clvox/status.h"
#include "clvox/store.h"
#include "clvox/surface.h"
#include "clvox/team.h"
#include "clvox/tensor.h"
#include "clvox/tensor_all.h"
#include "clvox/threads.h"
#include "clvox/transform.h"
#include "clvox/volume.h"

#endif
