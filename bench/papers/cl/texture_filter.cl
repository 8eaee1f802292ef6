/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of Mueller 2008, part 1, in the planes of a volume that is a texture: an array of 2-D images
 * (IMAGE 2) or a 3-D image (3), read by the nearest texel or, with LINEAR, between two, so that one read
 * serves both; or a buffer (0), where there are no images. */
#if IMAGE == 0
#define TEXTURE __global const float *
#define WEIGHTS __global const float *
#define WEIGHT(i) weights[i]
#define AT(in, u, v, w) \
    in[((int)(w) * size.y + clamp((int)(v), 0, size.y - 1)) * size.x + clamp((int)(u), 0, size.x - 1)]
#else
#if IMAGE == 2
#define TEXTURE __read_only image2d_array_t
#define DEPTH(z) (z)
#else
#define TEXTURE __read_only image3d_t
#define DEPTH(z) ((z) + 0.5f)
#endif
#if LINEAR
#define FILTER CLK_FILTER_LINEAR
#else
#define FILTER CLK_FILTER_NEAREST
#endif
__constant sampler_t texel = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | FILTER;
#define AT(in, x, y, z) read_imagef(in, texel, (float4)((x) + 0.5f, (y) + 0.5f, DEPTH(z), 0.0f)).s0
#define WEIGHTS __read_only image1d_buffer_t
#define WEIGHT(i) read_imagef(weights, i).s0
#endif

/* along: 0 for x, 1 for y. kernel: the texture of the weights, the centre's first; size.w: how many come
 * after it. */
__kernel void texture_blur(TEXTURE in, WEIGHTS weights, int4 size, int along,
                           __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    float u = x, v = y, w = z, dx = along == 0, dy = along == 1;
    float sum = WEIGHT(0) * AT(in, u, v, w);
#if LINEAR
    for (int i = 1; i <= size.w; i += 2) {
        float near = WEIGHT(i), far = i < size.w ? WEIGHT(i + 1) : 0.0f;
        float both = near + far, away = i + far / both;
        sum += both * (AT(in, u + away * dx, v + away * dy, w) + AT(in, u - away * dx, v - away * dy, w));
    }
#else
    for (int i = 1; i <= size.w; i++)
        sum += WEIGHT(i) *
               (AT(in, u + i * dx, v + i * dy, w) + AT(in, u - i * dx, v - i * dy, w));
#endif
    out[(z * size.y + y) * size.x + x] = sum;
}

/* Sobel's mask of 3 x 3 along x or y. */
__kernel void texture_mask(TEXTURE in, int4 size, int along, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    float u = x, v = y, w = z, dx = along == 0, dy = along == 1, sum = 0.0f;
#if LINEAR
    for (int side = -1; side < 2; side += 2)
        for (int half_way = -1; half_way < 2; half_way += 2)
            sum += 2.0f * side *
                   AT(in, u + side * dx + 0.5f * half_way * dy, v + side * dy + 0.5f * half_way * dx, w);
#else
    for (int side = -1; side < 2; side += 2)
        for (int i = -1; i < 2; i++)
            sum += (i == 0 ? 2.0f : 1.0f) * side * AT(in, u + side * dx + i * dy, v + side * dy + i * dx, w);
#endif
    out[(z * size.y + y) * size.x + x] = sum;
}

/* The last pass: the length of both slopes, or a + (1 + alpha) (b - a) of a smoothed image and the image. */
__kernel void texture_combine(__global const float *a, __global const float *b, int n, int sharpen,
                              float alpha, __global float *out)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = sharpen ? a[i] + (1.0f + alpha) * (b[i] - a[i]) : sqrt(a[i] * a[i] + b[i] * b[i]);
}
