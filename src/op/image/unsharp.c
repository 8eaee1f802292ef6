/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/unsharp.h"

#include "op/image/pointwise.h"

int clv_unsharp(clvox_context *ctx, const clv_buffer *in, const int size[3], const float sigma[3],
                float amount, clv_buffer *tmp, clv_buffer *out)
{
    int status = CLVOX_OK;
    const float k[4] = {1 + amount, -amount, 0, 0};
    CLV_TRY(clv_gaussian(ctx, in, size, false, sigma, CLV_GAUSSIAN_AUTO, tmp, out));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, size), in, out, NULL, k));
end:
    return status;
}
