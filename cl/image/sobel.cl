/* SPDX-License-Identifier: Apache-2.0 */
/* Magnitude of the Sobel gradient: along each axis the central difference, smoothed by
 * 1/4 1/2 1/4 along the two others; the edge value is repeated. */
#include "common/difference.clh"
#include "common/field_row.clh"
#include "common/grid.clh"

#define SPAN 32

/* The 3x3 voxels around a column of rows r[z][y], at one x: smoothed along y and z; differentiated along y;
 * differentiated along z. Times 16. */
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

/* Starts of the nine rows around (y, z). */
typedef struct around {
    int row[3][3];
} around;

static inline void find_rows(around *a, int y, int z, int4 size)
{
    int ys[3] = {difference_below(y), y, difference_above(y, size.y)};
    int zs[3] = {difference_below(z), z, difference_above(z, size.z)};
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            a->row[k][j] = (zs[k] * size.y + ys[j]) * size.x;
}

static inline float sobel_at(__global const float *in, const around *rows, int x, int4 size, float4 scale)
{
    int xs[3] = {difference_below(x), x, difference_above(x, size.x)};
    float smooth[3], along_y[3], along_z[3];
    for (int i = 0; i < 3; i++) {
#define AT(k, j) in[rows->row[k][j] + xs[i]]
        COLUMN(float, AT, smooth[i], along_y[i], along_z[i]);
#undef AT
    }
    float dx = (smooth[2] - smooth[0]) * scale.x;
    float dy = (along_y[0] + 2.0f * along_y[1] + along_y[2]) * scale.y;
    float dz = (along_z[0] + 2.0f * along_z[1] + along_z[2]) * scale.z;
    return sqrt(dx * dx + dy * dy + dz * dz);
}

/* ITEM_Y voxels of one plane, one after another along y: differentiated along x, along y, and smoothed along both. */
typedef struct strip {
    float along_x[ITEM_Y], along_y[ITEM_Y], smooth[ITEM_Y];
} strip;

/* Their neighbours. */
typedef struct cells {
    float at[ITEM_Y + 2][3];
} cells;

static inline void read_cells(__global const float *plane, const int *rows, const int *columns, cells *to)
{
    for (int j = 0; j < ITEM_Y + 2; j++)
        for (int i = 0; i < 3; i++)
            to->at[j][i] = plane[rows[j] + columns[i]];
}

static inline void make_strip(const cells *c, strip *to)
{
    float across[ITEM_Y + 2], smooth[ITEM_Y + 2];
    for (int j = 0; j < ITEM_Y + 2; j++) {
        across[j] = c->at[j][2] - c->at[j][0];
        smooth[j] = c->at[j][0] + 2.0f * c->at[j][1] + c->at[j][2];
    }
    for (int j = 0; j < ITEM_Y; j++) {
        to->along_x[j] = across[j] + 2.0f * across[j + 1] + across[j + 2];
        to->along_y[j] = smooth[j + 2] - smooth[j];
        to->smooth[j] = smooth[j] + 2.0f * smooth[j + 1] + smooth[j + 2];
    }
}

/* Walks MARCH planes, keeps what it made of the last two, and asks for the next one before it needs it: a
 * plane more on its way. */
__kernel void sobel_march(__global const float *in, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 scale = on.inverse / 32.0f;
    int x = get_global_id(0), y = get_global_id(1) * ITEM_Y, z = get_global_id(2) * MARCH;
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, rows[ITEM_Y + 2];
    const int columns[3] = {difference_below(x), x, difference_above(x, size.x)}, last = size.z - 1;
    for (int j = 0; j < ITEM_Y + 2; j++)
        rows[j] = min(max(y + j - 1, 0), size.y - 1) * size.x;
    cells next;
    strip below, here, above;
    read_cells(in + difference_below(z) * plane, rows, columns, &next);
    make_strip(&next, &below);
    read_cells(in + z * plane, rows, columns, &next);
    make_strip(&next, &here);
    read_cells(in + min(z + 1, last) * plane, rows, columns, &next);
    for (int m = 0; m < MARCH && z <= last; m++, z++) {
        make_strip(&next, &above);
        if (m + 1 < MARCH)
            read_cells(in + min(z + 2, last) * plane, rows, columns, &next);
        for (int j = 0; j < ITEM_Y; j++) {
            float dx = (below.along_x[j] + 2.0f * here.along_x[j] + above.along_x[j]) * scale.x;
            float dy = (below.along_y[j] + 2.0f * here.along_y[j] + above.along_y[j]) * scale.y;
            float dz = (above.smooth[j] - below.smooth[j]) * scale.z;
            if (y + j < size.y)
                out[z * plane + rows[j + 1] + x] = sqrt(dx * dx + dy * dy + dz * dz);
        }
        below = here;
        here = above;
    }
}

/* Output x to x + SPAN - 1, all inside: columns first, then along x. */
static inline void sobel_span(__global const float *in, __global float *out, const around *rows, int x,
                              float4 scale)
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
        float8 dx = (vload8(0, smooth + i + 2) - vload8(0, smooth + i)) * scale.x;
        float8 dy = vload8(0, along_y + i) + 2.0f * vload8(0, along_y + i + 1) + vload8(0, along_y + i + 2);
        float8 dz = vload8(0, along_z + i) + 2.0f * vload8(0, along_z + i + 1) + vload8(0, along_z + i + 2);
        dy *= scale.y;
        dz *= scale.z;
        STORE8(sqrt(dx * dx + dy * dy + dz * dz), out + x + i);
    }
}

__kernel void sobel_row(__global const float *in, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 scale = on.inverse / 32.0f;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    around rows;
    find_rows(&rows, y, z, size);
    __global float *to = out + (z * size.y + y) * size.x;
    int x = 1;
    to[0] = sobel_at(in, &rows, 0, size, scale);
    for (; x + SPAN < size.x; x += SPAN)
        sobel_span(in, to, &rows, x, scale);
    /* The last span overlaps the one before rather than going voxel by voxel. */
    if (x > 1 && x < size.x - 1) {
        sobel_span(in, to, &rows, size.x - 1 - SPAN, scale);
        x = size.x - 1;
    }
    for (; x < size.x; x++)
        to[x] = sobel_at(in, &rows, x, size, scale);
}
