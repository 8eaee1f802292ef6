/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distance to the zero level of phi.
 *   near    the voxels beside the level take their distance from phi itself
 *   seed    and point at their nearest place on the level
 *   jump    nearest places spread over the grid (jump flooding: Rong, Tan 2006)
 *   finish  the other voxels take their distance from the nearest place and the
 *           level's curvature there
 * Lengths are physical; a place is kept as voxel + offset in 64 bits. */
#include "redistance.clh"

/* ---- near --------------------------------------------------------------- */

/* The distance, or NaN where no neighbour lies on the other side. A neighbour
 * across a face makes the voxel one beside the level, whatever its slope; one
 * across an edge or corner only where phi is a distance there already: so the
 * far sides of sharp edges keep what is known of them. */
static inline float near_at(__global const float *phi, int4 at, int4 size, float4 spacing)
{
    float f = value_at(phi, at, size, spacing), crossing = INFINITY;
    bool inside = f < 0.0f;
    int across = 0;
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int4 to = at + (int4)(i, j, k, 0);
                if (!in_grid(to, size))
                    continue;
                float other = value_at(phi, to, size, spacing);
                if ((other < 0.0f) == inside)
                    continue;
                bool face = i * i + j * j + k * k == 1;
                float edge = i != 0 ? spacing.x : j != 0 ? spacing.y : spacing.z;
                across |= face ? 2 : 1;
                if (face)
                    crossing = fmin(crossing, (f / (f - other) + CROSSING_SLACK) * edge);
            }
    if (across == 0)
        return NAN;
    shape s = shape_at(phi, at, size, spacing);
    float slope = clamp(1.0f, s.slope - s.doubt, s.slope + s.doubt);
    if (slope == 1.0f)
        return f;
    if (across < 2 || !(s.slope > 0.0f))
        return across < 2 ? NAN : copysign(fmin(fabs(f), crossing), f);
    /* f - slope d + curved slope d^2 / 2 = 0, half of it where phi has a kink. */
    float d = f / slope, curved = bend(&s, s.normal) * fmin(1.0f, 2.0f * s.smooth) * (s.slope / slope);
    d = 2.0f * d / (1.0f + sqrt(clamp(1.0f - 2.0f * d * curved, 0.25f, 2.25f)));
    return copysign(fmin(fabs(d), crossing), f);
}

__kernel void redistance_near(__global const float *phi, __global float *out, int4 size, float4 spacing)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        out[(z * size.y + y) * size.x + x] = near_at(phi, (int4)(x, y, z, 0), size, spacing);
}

__kernel void redistance_near_row(__global const float *phi, __global float *out, int4 size, float4 spacing)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0; x < size.x; x++)
        out[(z * size.y + y) * size.x + x] = near_at(phi, (int4)(x, y, z, 0), size, spacing);
}

/* ---- seed --------------------------------------------------------------- */

/* No place of the level lies nearer to a voxel than that voxel's distance: one
 * that does has a wrong direction, as happens beside sharp edges. */
static inline ulong seed_at(__global const float *phi, __global const float *out, int4 at, int4 size,
                            float4 spacing)
{
    float d = out[index_of(at, size)];
    if (isnan(d))
        return NOWHERE;
    shape s = shape_at(phi, at, size, spacing);
    float4 shift = -d * s.normal, least = (float4)(fmin(spacing.x, fmin(spacing.y, spacing.z)));
    bool good = s.slope > 0.0f;
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int4 to = at + (int4)(i, j, k, 0);
                if (!in_grid(to, size))
                    continue;
                float4 away = shift - convert_float4((int4)(i, j, k, 0)) * spacing;
                float ball = fabs(out[index_of(to, size)]) - BALL_SLACK * least.x;
                /* A ball of NaN hinders nobody. */
                good = good && !(length3(away) < ball);
            }
    return good ? pack(at, shift / spacing) : NOWHERE;
}

__kernel void redistance_seed(__global const float *phi, __global const float *out, __global ulong *place,
                              int4 size, float4 spacing)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        place[(z * size.y + y) * size.x + x] = seed_at(phi, out, (int4)(x, y, z, 0), size, spacing);
}

__kernel void redistance_seed_row(__global const float *phi, __global const float *out,
                                  __global ulong *place, int4 size, float4 spacing)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0; x < size.x; x++)
        place[(z * size.y + y) * size.x + x] = seed_at(phi, out, (int4)(x, y, z, 0), size, spacing);
}

/* ---- jump --------------------------------------------------------------- */

/* The nearest of the places of 27 voxels, `step` apart; of equals the first. */
static inline ulong jump_at(__global const ulong *from, int4 at, int4 size, float4 spacing, int step)
{
    ulong best = from[index_of(at, size)];
    float least = square_to(best, at, spacing);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int4 to = at + (int4)(i, j, k, 0) * step;
                if (!in_grid(to, size))
                    continue;
                ulong other = from[index_of(to, size)];
                float square = square_to(other, at, spacing);
                best = square < least ? other : best;
                least = fmin(square, least);
            }
    return best;
}

__kernel void redistance_jump(__global ulong *place, int from, int to, int4 size, float4 spacing, int step)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        place[to + (z * size.y + y) * size.x + x] =
            jump_at(place + from, (int4)(x, y, z, 0), size, spacing, step);
}

__kernel void redistance_jump_row(__global ulong *place, int from, int to, int4 size, float4 spacing,
                                  int step)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0; x < size.x; x++)
        place[to + (z * size.y + y) * size.x + x] =
            jump_at(place + from, (int4)(x, y, z, 0), size, spacing, step);
}

/* ---- finish ------------------------------------------------------------- */

/* In the frame of the place (h along the normal, s across): where the level has
 * curvature c in the direction of s,
 *   distance = h + c s^2 / (2 (1 + h c)),
 * exact to third order in s. c is known at the voxel that gave the place, at
 * distance d from the level: 1 + h c = 1 + (h - d) c' there. */
static inline float finish_at(__global const float *phi, __global const float *out, ulong place, int4 at,
                              int4 size, float4 spacing, float reach)
{
    float side = value_at(phi, at, size, spacing) < 0.0f ? -1.0f : 1.0f;
    if (place == NOWHERE)
        return side * reach;
    int4 from = voxel_of(place);
    float straight = sqrt(square_to(place, at, spacing));
    if (straight > CURVED_WITHIN * fmax(spacing.x, fmax(spacing.y, spacing.z)))
        return side * fmin(straight, reach);
    shape s = shape_at(phi, from, size, spacing);
    float d = out[index_of(from, size)];
    float4 way = convert_float4(at - from) * spacing + d * s.normal;
    straight = length3(way);
    float h = dot3(way, s.normal);
    float4 across = way - h * s.normal;
    float square = dot3(across, across), room = fmax(spacing.x, fmax(spacing.y, spacing.z));
    /* Beyond the border there are no places: the last ones go on. */
    int4 foot = convert_int4_rte(convert_float4(at) - h * s.normal / spacing);
    if (!in_grid(foot, size))
        room *= CURVED_WITHIN;
    float turned = bend(&s, across) / fmax(square, 1e-12f);
    float spread = 1.0f + (h - d) * turned;
    float curved = side * (h + 0.5f * turned * square / spread);
    bool fits = spread > 0.2f && square < room * room && side * h > 0.0f && curved > 0.0f &&
                curved < straight;
    float share = fits ? fmin(1.0f, 2.0f * s.smooth) : 0.0f;
    return side * fmin(fits ? share * curved + (1.0f - share) * straight : straight, reach);
}

static inline void finish(__global const float *phi, __global const ulong *place, __global float *out,
                          int4 at, int4 size, float4 spacing, float reach)
{
    int i = index_of(at, size);
    float own = out[i];
    if (isnan(own))
        out[i] = finish_at(phi, out, place[i], at, size, spacing, reach);
}

__kernel void redistance_finish(__global const float *phi, __global const ulong *place, int from,
                                __global float *out, int4 size, float4 spacing, float reach)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        finish(phi, place + from, out, (int4)(x, y, z, 0), size, spacing, reach);
}

__kernel void redistance_finish_row(__global const float *phi, __global const ulong *place, int from,
                                    __global float *out, int4 size, float4 spacing, float reach)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0; x < size.x; x++)
        finish(phi, place + from, out, (int4)(x, y, z, 0), size, spacing, reach);
}
