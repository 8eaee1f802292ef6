/* SPDX-License-Identifier: Apache-2.0 */
/* The product of the Helmholtz matrix (gamma + 6 alpha) x - alpha (the six neighbours), 0 outside, with a
 * volume: by constants in the kernel (Ha 2011, figure 2.10), from seven stored diagonals (DIA), or from
 * rows of seven numbers and their columns (ELL). Number d of row i lies at d n + i, so that neighbours
 * read neighbours. */

/* The neighbour d of voxel i: itself, then before and after along x, y, z. */
static inline int neighbour_offset(int d, int4 size)
{
    const int step = d < 3 ? 1 : d < 5 ? size.x : size.x * size.y;
    return d == 0 ? 0 : d & 1 ? -step : step;
}

static inline bool neighbour_exists(int d, int x, int y, int z, int4 size)
{
    switch (d) {
    case 1: return x > 0;
    case 2: return x + 1 < size.x;
    case 3: return y > 0;
    case 4: return y + 1 < size.y;
    case 5: return z > 0;
    case 6: return z + 1 < size.z;
    default: return true;
    }
}

/* Seven numbers and seven columns a row; what is not there is 0 in the row's own column. */
__kernel void matrix_fill(__global float *values, __global int *columns, int4 size, float alpha, float gamma)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int i = (z * size.y + y) * size.x + x, n = size.x * size.y * size.z;
    for (int d = 0; d < 7; d++) {
        bool is = neighbour_exists(d, x, y, z, size);
        values[(size_t)d * n + i] = d == 0 ? 6.0f * alpha + gamma : is ? -alpha : 0.0f;
        columns[(size_t)d * n + i] = is ? i + neighbour_offset(d, size) : i;
    }
}

/* values and columns: of the stored forms. */
#define ARGUMENTS                                                                                   \
    __global const float *values, __global const int *columns, __global const float *v,             \
        __global float *out, int4 size, float alpha, float gamma

__kernel void product_implicit(ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), plane = size.x * size.y;
    if (x >= size.x || y >= size.y)
        return;
    float before = 0.0f, here = v[y * size.x + x];
    for (int z = 0, i = y * size.x + x; z < size.z; z++, i += plane) {
        float after = z + 1 < size.z ? v[i + plane] : 0.0f, sum = before + after;
        sum += x > 0 ? v[i - 1] : 0.0f;
        sum += x + 1 < size.x ? v[i + 1] : 0.0f;
        sum += y > 0 ? v[i - size.x] : 0.0f;
        sum += y + 1 < size.y ? v[i + size.x] : 0.0f;
        out[i] = here * (6.0f * alpha + gamma) - alpha * sum;
        before = here;
        here = after;
    }
}

__kernel void product_diagonals(ARGUMENTS)
{
    int n = size.x * size.y * size.z, first = (int)get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++) {
        float sum = 0.0f;
        for (int d = 0; d < 7; d++) {
            int j = i + neighbour_offset(d, size);
            if (j >= 0 && j < n)
                sum += values[(size_t)d * n + i] * v[j];
        }
        out[i] = sum;
    }
}

__kernel void product_rows(ARGUMENTS)
{
    int n = size.x * size.y * size.z, first = (int)get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++) {
        float sum = 0.0f;
        for (int d = 0; d < 7; d++)
            sum += values[(size_t)d * n + i] * v[columns[(size_t)d * n + i]];
        out[i] = sum;
    }
}
