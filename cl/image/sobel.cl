/* SPDX-License-Identifier: Apache-2.0 */
/* Magnitude of the Sobel gradient: along each axis the difference of
 * difference.clh, smoothed by 1/4 1/2 1/4 along the two others (the edge value
 * repeated). */
#include "common/difference.clh"
#include "common/field_row.clh"
#include "common/grid.clh"

#define SPAN 32

/* Of the 3x3 voxels around a column of rows r[z][y], at one x: smoothed along
 * y and z; differentiated along y; differentiated along z. Times 16. */
#define COLUMN(T, at, smooth, along_y, along_z)                                          \
    do {                                                                                 \
        T r00 = at(0, 0), r01 = at(0, 1), r02 = at(0, 2);                                \
        T r10 = at(1, 0), r11 = at(1, 1), r12 = at(1, 2);                                \
        T r20 = at(2, 0), r21 = at(2, 1), r22 = at(2, 2);                                \
        T low = r00 + 2.0f * r01 + r02, high = r20 + 2.0f * r21 + r22;                   \
        smooth = low + 2.0f * (r10 + 2.0f * r11 + r12) + high;                           \
        along_y = (r02 - r00) + 2.0f * (r12 - r10) + (r22 - r20);                        \
        along_z = high - low;                                                            \
    } while (0)

/* Where the nine rows around (y, z) begin, and the scales of the derivatives. */
typedef struct around {
    int row[3][3];
    float scale_y, scale_z;
} around;

static inline void find_rows(around *a, int y, int z, int4 size, float4 inverse)
{
    int ys[3] = {difference_below(y), y, difference_above(y, size.y)};
    int zs[3] = {difference_below(z), z, difference_above(z, size.z)};
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            a->row[k][j] = (zs[k] * size.y + ys[j]) * size.x;
    a->scale_y = difference_scale(y, size.y, inverse.y) / 16.0f;
    a->scale_z = difference_scale(z, size.z, inverse.z) / 16.0f;
}

static inline float sobel_at(__global const float *in, const around *rows, int x, int4 size, float4 inverse)
{
    int xs[3] = {difference_below(x), x, difference_above(x, size.x)};
    float smooth[3], along_y[3], along_z[3];
    for (int i = 0; i < 3; i++) {
#define AT(k, j) in[rows->row[k][j] + xs[i]]
        COLUMN(float, AT, smooth[i], along_y[i], along_z[i]);
#undef AT
    }
    float dx = (smooth[2] - smooth[0]) * (difference_scale(x, size.x, inverse.x) / 16.0f);
    float dy = (along_y[0] + 2.0f * along_y[1] + along_y[2]) * rows->scale_y;
    float dz = (along_z[0] + 2.0f * along_z[1] + along_z[2]) * rows->scale_z;
    return sqrt(dx * dx + dy * dy + dz * dz);
}

__kernel void sobel_item(__global const float *in, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    around rows;
    find_rows(&rows, y, z, size, inverse);
    out[(z * size.y + y) * size.x + x] = sobel_at(in, &rows, x, size, inverse);
}

/* In one plane: smoothed along x and y, and the two derivatives in it. */
static inline float3 plane_at(__global const float *p, int west, int east, int south, int north)
{
    float a = p[south + west], b = p[south], c = p[south + east];
    float d = p[west], e = p[0], f = p[east];
    float g = p[north + west], h = p[north], i = p[north + east];
    float low = a + 2.0f * b + c, high = g + 2.0f * h + i;
    return (float3)((c - a) + 2.0f * (f - d) + (i - g), high - low,
                    low + 2.0f * (d + 2.0f * e + f) + high);
}

/* Walks MARCH planes and keeps what it made of the last two. */
__kernel void sobel_march(__global const float *in, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2) * MARCH;
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, i = z * plane + y * size.x + x;
    int west = difference_below(x) - x, east = difference_above(x, size.x) - x;
    int south = (difference_below(y) - y) * size.x, north = (difference_above(y, size.y) - y) * size.x;
    float scale_x = difference_scale(x, size.x, inverse.x) / 16.0f;
    float scale_y = difference_scale(y, size.y, inverse.y) / 16.0f;
    float3 here = plane_at(in + i, west, east, south, north);
    float3 below = z > 0 ? plane_at(in + i - plane, west, east, south, north) : here;
    int end = min(z + MARCH, size.z);
    for (; z < end; z++, i += plane) {
        float3 above = z + 1 < size.z ? plane_at(in + i + plane, west, east, south, north) : here;
        float dx = (below.x + 2.0f * here.x + above.x) * scale_x;
        float dy = (below.y + 2.0f * here.y + above.y) * scale_y;
        float dz = (above.z - below.z) * (difference_scale(z, size.z, inverse.z) / 16.0f);
        out[i] = sqrt(dx * dx + dy * dy + dz * dz);
        below = here;
        here = above;
    }
}

/* Output x to x + SPAN - 1, all inside: columns first, then along x. */
static inline void sobel_span(__global const float *in, __global float *out, const around *rows, int x,
                              float scale_x)
{
    float smooth[SPAN + 8], along_y[SPAN + 8], along_z[SPAN + 8];
    for (int i = 0; i < SPAN; i += 8) {
        float8 s, p, q;
#define AT(k, j) LOAD8(in + rows->row[k][j] + x - 1 + i)
        COLUMN(float8, AT, s, p, q);
#undef AT
        vstore8(s, 0, smooth + i);
        vstore8(p, 0, along_y + i);
        vstore8(q, 0, along_z + i);
    }
    for (int i = SPAN; i < SPAN + 2; i++) {
#define AT(k, j) in[rows->row[k][j] + x - 1 + i]
        COLUMN(float, AT, smooth[i], along_y[i], along_z[i]);
#undef AT
    }
    for (int i = 0; i < SPAN; i += 8) {
        float8 dx = (vload8(0, smooth + i + 2) - vload8(0, smooth + i)) * scale_x;
        float8 dy = vload8(0, along_y + i) + 2.0f * vload8(0, along_y + i + 1) + vload8(0, along_y + i + 2);
        float8 dz = vload8(0, along_z + i) + 2.0f * vload8(0, along_z + i + 1) + vload8(0, along_z + i + 2);
        dy *= rows->scale_y;
        dz *= rows->scale_z;
        STORE8(sqrt(dx * dx + dy * dy + dz * dz), out + x + i);
    }
}

__kernel void sobel_row(__global const float *in, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    around rows;
    find_rows(&rows, y, z, size, inverse);
    __global float *to = out + (z * size.y + y) * size.x;
    float scale_x = inverse.x / 32.0f;
    int x = 1;
    to[0] = sobel_at(in, &rows, 0, size, inverse);
    for (; x + SPAN < size.x; x += SPAN)
        sobel_span(in, to, &rows, x, scale_x);
    /* The last span overlaps the one before rather than going voxel by voxel. */
    if (x > 1 && x < size.x - 1) {
        sobel_span(in, to, &rows, size.x - 1 - SPAN, scale_x);
        x = size.x - 1;
    }
    for (; x < size.x; x++)
        to[x] = sobel_at(in, &rows, x, size, inverse);
}
