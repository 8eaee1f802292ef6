/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a result by posteriors. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "register/terms/posteriors.h"
#include "runtime/device/host.h"

typedef struct errors {
    double hellinger, overlap[CLVOX_MAX_TISSUES];
} errors;

static void compare(const clvox_register_options *o, const clvox_volume *fixed, const clvox_volume *moving,
                    const clvox_volume *mask, errors *out)
{
    const size_t n = clvox_grid_voxels(&fixed->grid);
    const int tissues = fixed->frames;
    double common[CLVOX_MAX_TISSUES] = {0}, both[CLVOX_MAX_TISSUES] = {0}, sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        double rest[2] = {1, 1};
        if (mask && !(mask->data[i] > 0))
            continue;
        count++;
        for (int k = 0; k < tissues; k++) {
            double p = fmax(0, (double)fixed->data[(size_t)k * n + i]),
                   q = fmax(0, (double)moving->data[(size_t)k * n + i]);
            double difference = sqrt(p) - sqrt(q);
            rest[0] -= p;
            rest[1] -= q;
            sum += .5 * clv_posteriors_weight(o, k, tissues) * difference * difference;
            common[k] += fmin(p, q);
            both[k] += p + q;
        }
        double difference = sqrt(fmax(0, rest[0])) - sqrt(fmax(0, rest[1]));
        sum += .5 * clv_posteriors_weight(o, CLV_REST, tissues) * difference * difference;
    }
    *out = (errors){.hellinger = count > 0 ? sum / count : 0};
    for (int k = 0; k < tissues; k++)
        out->overlap[k] = both[k] > 0 ? 2 * common[k] / both[k] : NAN;
}

int clvox_register_posteriors(clvox_context *context, const clvox_register_result *result,
                              const clvox_register_options *o, const clvox_volume *fixed,
                              const clvox_volume *moving, const clvox_volume *mask,
                              clvox_posteriors_errors *out)
{
    CLV_GIVEN(context, result, fixed, moving, out);
    CLV_HOST_THREADS(context);
    clvox_register_options standard;
    clvox_register_defaults(&standard);
    o = o ? o : &standard;
    int status = CLVOX_OK;
    clvox_transform warp = {.is_warp = 1, .warp = result->warp}, affine = {.is_warp = 0};
    const clvox_link links[] = {{&warp, 0}, {&affine, 0}};
    clvox_volume *carried = NULL;
    errors e[3];
    *out = (clvox_posteriors_errors){.carried = NULL};
    if (fixed->frames != moving->frames || fixed->frames > CLVOX_MAX_TISSUES)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "posteriors of %d and of %d tissues do not correspond",
                          fixed->frames, moving->frames);
    if (mask && !clvox_grid_equal(&mask->grid, &fixed->grid))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the mask does not lie on the grid of the fixed posteriors");
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    for (int stage = 0; stage < 3; stage++) {
        if (stage == 2 && !result->warp) {
            e[2] = e[1];
            break;
        }
        clvox_volume_destroy(&carried);
        CLV_TRY(clvox_apply(context, moving, &fixed->grid, stage == 2 ? links : links + 1, stage,
                            CLVOX_INTERPOLATE_LINEAR, 0, &carried));
        compare(o, fixed, carried, mask, &e[stage]);
    }
    out->hellinger_before = e[0].hellinger;
    out->hellinger_linear = e[1].hellinger;
    out->hellinger_after = e[2].hellinger;
    memcpy(out->overlap_before, e[0].overlap, sizeof out->overlap_before);
    memcpy(out->overlap_linear, e[1].overlap, sizeof out->overlap_linear);
    memcpy(out->overlap_after, e[2].overlap, sizeof out->overlap_after);
    out->carried = carried;
    carried = NULL;
end:
    clvox_volume_destroy(&carried);
    return status;
}
