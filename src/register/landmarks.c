/* SPDX-License-Identifier: Apache-2.0 */
/* What landmarks say about a result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/registration.h"

static void distances(const double *a, const double *b, int n, double *mean, double *largest)
{
    *mean = *largest = 0;
    for (int i = 0; i < 3 * n; i += 3) {
        double d = hypot(hypot(a[i] - b[i], a[i + 1] - b[i + 1]), a[i + 2] - b[i + 2]);
        *mean += d / n;
        *largest = fmax(*largest, d);
    }
}

int clvox_register_landmarks(const clvox_register_result *result, const double *fixed, const double *moving, int n,
                             clvox_landmark_errors *out)
{
    int status = CLVOX_OK;
    clvox_transform warp = {.is_warp = 1, .warp = result->warp}, affine = {.is_warp = 0};
    const clvox_link links[] = {{&warp, 0}, {&affine, 0}};
    double *moved = NULL;
    if (n < 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "there are no landmarks");
    const size_t bytes = (size_t)n * 3 * sizeof *moved;
    moved = malloc(bytes);
    if (!moved)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for landmarks");
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    distances(fixed, moving, n, &out->mean_before, &out->largest_before);
    memcpy(moved, fixed, bytes);
    CLV_TRY(clvox_apply_points(links + 1, 1, moved, n));
    distances(moved, moving, n, &out->mean_linear, &out->largest_linear);
    out->mean_after = out->mean_linear;
    out->largest_after = out->largest_linear;
    if (result->warp) {
        memcpy(moved, fixed, bytes);
        CLV_TRY(clvox_apply_points(links, 2, moved, n));
        distances(moved, moving, n, &out->mean_after, &out->largest_after);
    }
end:
    free(moved);
    return status;
}
