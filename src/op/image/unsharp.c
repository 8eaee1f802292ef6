/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/unsharp.h"

#include "op/image/pointwise.h"

int clv_unsharp(clvox_context *ctx, const clv_image *in, const float sigma[3], float amount, clv_buffer *tmp,
                clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_image sum = clv_image_on(in, out, in->components);
    const float k[4] = {1 + amount, -amount, 0, 0};
    CLV_TRY(clv_gaussian(ctx, in, sigma, CLV_GAUSSIAN_AUTO, tmp, out));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, &sum, in->buffer, out, NULL, k));
end:
    return status;
}
