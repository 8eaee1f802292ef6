/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distance to the zero level of phi.
 *   near    the voxels beside the level take their distance from phi itself
 *   seed    and point at their closest point on the level
 *   jump    closest points spread over the grid (jump flooding: Rong, Tan 2006)
 *   finish  the other voxels take their distance from the closest point and the
 *           level's curvature there
 * On GPUs the few voxels beside the level of a work-group are listed first, so
 * that neighbouring work-items share their work. Lengths are physical. */
#include "surface/cells.clh"
/* The level set beside a voxel. */

#include "common/closest_point.clh"
#include "surface/extrapolate.clh"

/* A change of the gradient by this share from voxel to voxel is taken for a kink. */
#define KINK 0.4f
/* Gradient norms this near to 1, or nearer than the differences on the two sides
 * disagree (to a most), leave the distance as it is. */
#define DOUBT_LEAST 0.01f
#define DOUBT_MOST 0.3f
/* In voxels: how far beyond the linear crossing a distance may go, how deep a
 * point may lie in another voxel's ball, where curvature stops to matter. */
#define CROSSING_SLACK 0.3f
#define BALL_SLACK 0.03f
#define CURVED_WITHIN 10.0f
/* Smoother than this, quadratics of phi serve to look for its level. */
#define SMOOTH_LEAST 0.001f
#define SMOOTH_TRUST 0.5f
#define NEWTON_STEPS 3
/* In voxels: a step that is the last. */
#define NEWTON_ENOUGH 1e-3f

static inline float value_at(__global const float *phi, int4 at, int4 size, float4 spacing)
{
    return kept_finite(phi[index_of(at, size)], fmin(spacing.x, fmin(spacing.y, spacing.z)));
}

static inline float tap(__global const float *phi, int4 at, int4 size, float4 spacing)
{
    return extrapolated_finite(phi, at, size, fmin(spacing.x, fmin(spacing.y, spacing.z)));
}

/* Derivatives of phi around a voxel. Differences are central where phi is smooth; at a kink they come from
 * the side where phi is straighter (ENO). bent: second derivatives xx yy zz, mixed: xy xz yz, both over
 * the norm. */
typedef struct shape {
    float norm;    /* |grad phi| */
    float doubt;   /* half the range of gradient norms that the two sides give */
    float smooth;  /* 1 to 0 */
    float4 normal; /* grad phi / norm */
    float4 bent, mixed;
} shape;

/* One axis: first and second derivative in units a voxel. */
typedef struct axis {
    float first, second, smooth, low, high;
    int side;
} axis;

static inline axis axis_of(float far_below, float below, float f, float above, float far_above, float scale)
{
    axis a;
    float under = far_below - 2.0f * below + f, over = far_above - 2.0f * above + f;
    float middle = below - 2.0f * f + above;
    float backward = f - below + 0.5f * under, forward = above - f - 0.5f * over;
    float change = fmax(under, fmax(over, middle)) - fmin(under, fmin(over, middle));
    change /= KINK * scale;
    change *= change;
    a.smooth = 1.0f / (1.0f + change * change);
    a.side = fabs(under) < fabs(over) ? -1 : 1;
    float one_sided = a.side < 0 ? backward : forward, one_bent = a.side < 0 ? under : over;
    float central = (8.0f * (above - below) - (far_above - far_below)) / 12.0f;
    a.first = a.smooth * central + (1.0f - a.smooth) * one_sided;
    a.second = a.smooth * middle + (1.0f - a.smooth) * one_bent;
    a.high = fmax(fabs(backward), fabs(forward));
    a.low = backward * forward < 0.0f ? 0.0f : fmin(fabs(backward), fabs(forward));
    return a;
}

/* phi around a voxel: two voxels along each axis, [2] in the middle, and the
 * corners -- +- -+ ++ of the planes xy, xz, yz. */
typedef struct stencil {
    float x[5], y[5], z[5], xy[4], xz[4], yz[4];
} stencil;

#define READ_STENCIL(TAP)                                \
    for (int i = -2; i <= 2; i++) {                      \
        s->x[i + 2] = TAP(i, 0, 0);                      \
        s->y[i + 2] = TAP(0, i, 0);                      \
        s->z[i + 2] = TAP(0, 0, i);                      \
    }                                                    \
    for (int i = 0; i < 4; i++) {                        \
        s->xy[i] = TAP(2 * (i & 1) - 1, (i & 2) - 1, 0); \
        s->xz[i] = TAP(2 * (i & 1) - 1, 0, (i & 2) - 1); \
        s->yz[i] = TAP(0, 2 * (i & 1) - 1, (i & 2) - 1); \
    }

static inline void read_stencil(__global const float *phi, int4 at, int4 size, float4 spacing, stencil *s)
{
    bool inner =
        at.x >= 2 && at.y >= 2 && at.z >= 2 && at.x < size.x - 2 && at.y < size.y - 2 && at.z < size.z - 2;
    if (inner) {
        __global const float *middle = phi + index_of(at, size);
        const int row = size.x, plane = size.x * size.y;
        float sum = 0.0f;
#define INNER_TAP(i, j, k) middle[(k)*plane + (j)*row + (i)]
        READ_STENCIL(INNER_TAP)
#undef INNER_TAP
        for (int i = 0; i < 5; i++)
            sum += s->x[i] + s->y[i] + s->z[i];
        for (int i = 0; i < 4; i++)
            sum += s->xy[i] + s->xz[i] + s->yz[i];
        if (isfinite(sum))
            return;
    }
#define ANY_TAP(i, j, k) tap(phi, at + (int4)(i, j, k, 0), size, spacing)
    READ_STENCIL(ANY_TAP)
#undef ANY_TAP
}

/* corners and axes of one plane; the one-sided form on the given sides */
static inline float mixed_of(const float *corner, const float *a, const float *b, int side_a, int side_b,
                             float smooth)
{
    float cross = side_b < 0 ? (side_a < 0 ? corner[0] : corner[1]) : side_a < 0 ? corner[2] : corner[3];
    float along_a = side_a < 0 ? a[1] : a[3], along_b = side_b < 0 ? b[1] : b[3];
    float central = 0.25f * (corner[3] - corner[2] - corner[1] + corner[0]);
    return smooth * central + (1.0f - smooth) * (side_a * side_b) * (cross - along_a - along_b + a[2]);
}

static inline shape shape_at(__global const float *phi, int4 at, int4 size, float4 spacing)
{
    stencil f;
    read_stencil(phi, at, size, spacing, &f);
    float4 rough = (float4)(f.x[3] - f.x[1], f.y[3] - f.y[1], f.z[3] - f.z[1], 0.0f) / (2.0f * spacing);
    float scale = length3(rough) + 1e-20f;
    axis x = axis_of(f.x[0], f.x[1], f.x[2], f.x[3], f.x[4], scale * spacing.x);
    axis y = axis_of(f.y[0], f.y[1], f.y[2], f.y[3], f.y[4], scale * spacing.y);
    axis z = axis_of(f.z[0], f.z[1], f.z[2], f.z[3], f.z[4], scale * spacing.z);
    float4 grad = (float4)(x.first, y.first, z.first, 0.0f) / spacing;
    float4 low = (float4)(x.low, y.low, z.low, 0.0f) / spacing;
    float4 high = (float4)(x.high, y.high, z.high, 0.0f) / spacing;
    shape s;
    s.norm = length3(grad);
    s.doubt = clamp(0.5f * (length3(high) - length3(low)), DOUBT_LEAST, DOUBT_MOST);
    s.smooth = fmin(x.smooth, fmin(y.smooth, z.smooth));
    s.doubt = mix(s.doubt, DOUBT_LEAST, s.smooth);
    float inverse = s.norm > 0.0f ? 1.0f / s.norm : 0.0f;
    s.normal = grad * inverse;
    s.bent = (float4)(x.second, y.second, z.second, 0.0f) / (spacing * spacing) * inverse;
    float xy = mixed_of(f.xy, f.x, f.y, x.side, y.side, fmin(x.smooth, y.smooth));
    float xz = mixed_of(f.xz, f.x, f.z, x.side, z.side, fmin(x.smooth, z.smooth));
    float yz = mixed_of(f.yz, f.y, f.z, y.side, z.side, fmin(y.smooth, z.smooth));
    s.mixed = (float4)(xy / (spacing.x * spacing.y), xz / (spacing.x * spacing.z),
                       yz / (spacing.y * spacing.z), 0.0f) *
              inverse;
    return s;
}

/* (second derivatives / norm) v */
static inline float4 bent_by(const shape *s, float4 v)
{
    return (float4)(s->bent.x * v.x + s->mixed.x * v.y + s->mixed.y * v.z,
                    s->mixed.x * v.x + s->bent.y * v.y + s->mixed.z * v.z,
                    s->mixed.y * v.x + s->mixed.z * v.y + s->bent.z * v.z, 0.0f);
}

/* v^T (second derivatives / norm) v */
static inline float bend(const shape *s, float4 v)
{
    return s->bent.x * v.x * v.x + s->bent.y * v.y * v.y + s->bent.z * v.z * v.z +
           2.0f * (s->mixed.x * v.x * v.y + s->mixed.y * v.x * v.z + s->mixed.z * v.y * v.z);
}

/* The point of the level nearest to a voxel beside it. */
typedef struct foot {
    float d;      /* signed distance */
    float level;  /* distance of the voxel that s belongs to */
    float4 shift; /* from the voxel to the point */
    shape s;      /* beside the point, normal there */
} foot;

/* f - norm d + curved norm d^2 / 2 = 0, half of it where phi has a kink. */
static inline float first_guess(const shape *s, float f)
{
    float d = f / s->norm, curved = bend(s, s->normal) * fmin(1.0f, 2.0f * s->smooth);
    return 2.0f * d / (1.0f + sqrt(clamp(1.0f - 2.0f * d * curved, 0.25f, 2.25f)));
}

/* One of Newton's steps to the level, and along it to where the normal points at
 * the voxel (Chopp 2001), with the quadratic of phi about the voxel nearest to
 * the old point. False, and nothing done, where phi is not smooth there or its
 * squared gradient norm is not above least (below 0: a quarter of that voxel's). */
static inline bool newton(__global const float *phi, int4 at, int4 size, float4 spacing, float least,
                          foot *out)
{
    int4 to = at + convert_int4_rte(out->shift / spacing);
    to = max(min(to, size - (int4)(1, 1, 1, 0)), (int4)(0, 0, 0, 0));
    to.w = 0;
    shape s = shape_at(phi, to, size, spacing);
    float4 there = convert_float4(to - at) * spacing, rest = out->shift - there;
    float4 grad = s.norm * (s.normal + bent_by(&s, rest));
    float square = dot3(grad, grad);
    if (!(s.smooth > SMOOTH_LEAST && square > (least < 0.0f ? 0.25f * s.norm * s.norm : least)))
        return false;
    float value = value_at(phi, to, size, spacing) + s.norm * (dot3(s.normal, rest) + 0.5f * bend(&s, rest));
    out->shift = grad * ((dot3(out->shift, grad) - value) / square);
    s.normal = grad / sqrt(square);
    out->s = s;
    out->level = dot3(there - out->shift, s.normal);
    return true;
}

/* Newton's steps from a first guess. The gradient at `at` must not be 0. */
static inline void find_foot(__global const float *phi, int4 at, int4 size, float4 spacing, foot *out)
{
    float f = value_at(phi, at, size, spacing), least = 0.25f * out->s.norm * out->s.norm;
    out->level = first_guess(&out->s, f);
    out->shift = -out->level * out->s.normal;
    if (out->s.smooth > SMOOTH_LEAST)
        for (int i = 0; i < NEWTON_STEPS; i++) {
            float4 old = out->shift;
            if (!newton(phi, at, size, spacing, least, out))
                break;
            old -= out->shift;
            if (dot3(old, old) < NEWTON_ENOUGH * NEWTON_ENOUGH * dot3(spacing, spacing))
                break;
        }
    out->d = copysign(length3(out->shift), f);
}

/* The foot that belongs to the distance d and the point which a voxel beside the
 * level was given: where d is phi itself, by phi's normal, else one more step
 * from the point. */
static inline void foot_again(__global const float *phi, float d, float4 point, int4 at, int4 size,
                              float4 spacing, foot *out)
{
    float f = value_at(phi, at, size, spacing);
    out->shift = offset_to(point, at) * spacing;
    if (d != f && newton(phi, at, size, spacing, -1.0f, out)) {
        out->d = copysign(length3(out->shift), f);
    } else {
        out->s = shape_at(phi, at, size, spacing);
        out->d = out->level = d;
        out->shift = -d * out->s.normal;
        if (d != f && out->s.norm > 0.0f)
            find_foot(phi, at, size, spacing, out);
    }
    out->shift *= out->d != 0.0f ? d / out->d : 1.0f;
}

#define UNROLLED _Pragma("unroll")

/* ---- near --------------------------------------------------------------- */

/* The distance, or NaN where no neighbour lies on the other side. A neighbour
 * across a face makes the voxel one beside the level, whatever its gradient norm; one
 * across an edge or corner only where phi is a distance there already: so the
 * far sides of sharp edges keep what is known of them. shift: from there to the
 * closest point of the level, NaN where no direction is known. */
static inline float near_at(__global const float *phi, int4 at, int4 size, float4 spacing, float4 *shift)
{
    float f = value_at(phi, at, size, spacing), crossing = INFINITY;
    bool inside = f < 0.0f;
    int across = 0;
    *shift = (float4)(NAN);
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
    foot nearest;
    nearest.s = shape_at(phi, at, size, spacing);
    const float doubt = nearest.s.doubt, off = fabs(nearest.s.norm - 1.0f);
    const bool trusted = nearest.s.smooth > SMOOTH_TRUST;
    if (!(nearest.s.norm > 0.0f))
        return across < 2 ? NAN : copysign(fmin(fabs(f), crossing), f);
    const float4 normal = nearest.s.normal;
    find_foot(phi, at, size, spacing, &nearest);
    float far = trusted ? fmax(off, fabs(nearest.d - f) / fmax(fabs(f), 1e-20f)) : off;
    /* At kinks of phi only what exceeds the doubt is corrected. */
    float share = mix(1.0f - doubt / far, fmin(far / doubt - 1.0f, 1.0f), nearest.s.smooth);
    share = far > doubt ? share : 0.0f;
    *shift = -f * normal;
    if (share == 0.0f)
        return f;
    if (across < 2)
        return NAN;
    float d = copysign(fmin(fabs(mix(f, nearest.d, share)), crossing), f);
    if (d != f)
        *shift = nearest.shift * (nearest.d != 0.0f ? d / nearest.d : 1.0f);
    return d;
}

BESIDE(beside, v < 0.0f)

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
redistance_near(__global const float *phi, __global float *out, __global float *shifts, int to, int cells,
                grid on)
{
    TAKE_GRID(on);
    __local int list[GROUP], count;
    int lane = own_lane(), n = size.x * size.y * size.z;
    int4 at = voxel_of(lane);
    bool there = in_grid(at, size), near = there && beside(phi, at, size, 0.0f);
    if (there && !near)
        out[index_of(at, size)] = NAN;
    list_wanted(near, list, &count);
    for (int i = lane; i < count; i += GROUP) {
        float4 shift;
        at = voxel_of(list[i]);
        out[index_of(at, size)] = near_at(phi, at, size, spacing, &shift);
        store_point(shift, shifts + to, index_of(at, size), n);
        if (i == 0)
            mark(shifts, cells, at, size);
    }
}

/* For eight voxels with neighbours all around: whether the level lies beside. */
static inline int8 beside8(__global const float *phi, int4 at, int4 size)
{
    int8 some = (int8)(0), all_of = (int8)(-1);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int8 inside = LOAD8(phi + index_of(at + (int4)(i, j, k, 0), size)) < 0.0f;
                some |= inside;
                all_of &= inside;
            }
    return some & ~all_of;
}

__kernel void redistance_near_row(__global const float *phi, __global float *out, __global float *shifts,
                                  int to, int cells, grid on)
{
    TAKE_GRID(on);
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    __global float *row = out + (z * size.y + y) * size.x;
    bool inner = y > 0 && z > 0 && y + 1 < size.y && z + 1 < size.z;
    for (int x = 0; x < size.x;) {
        int count = 1;
        if (inner && x > 0 && x + 8 < size.x) {
            count = 8;
            if (!any(beside8(phi, (int4)(x, y, z, 0), size))) {
                STORE8((float8)(NAN), row + x);
                x += 8;
                continue;
            }
        }
        for (int end = x + count; x < end; x++) {
            int4 at = (int4)(x, y, z, 0);
            float4 shift;
            row[x] = near_at(phi, at, size, spacing, &shift);
            store_point(shift, shifts + to, index_of(at, size), n);
            if (!isnan(row[x]))
                mark(shifts, cells, at, size);
        }
    }
}

/* ---- seed --------------------------------------------------------------- */

/* No point of the level lies nearer to a voxel than that voxel's distance: one
 * that does has a wrong direction, as happens beside sharp edges. */
static inline float4 seed_at(__global const float *out, float4 shift, int4 at, int4 size, float4 spacing)
{
    if (isnan(out[index_of(at, size)]))
        return no_point();
    float slack = BALL_SLACK * fmin(spacing.x, fmin(spacing.y, spacing.z));
    bool good = !isnan(shift.x);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int4 to = at + (int4)(i, j, k, 0);
                if (!in_grid(to, size))
                    continue;
                float4 away = shift - convert_float4((int4)(i, j, k, 0)) * spacing;
                /* A ball of NaN hinders nobody. */
                good = good && !(length3(away) < fabs(out[index_of(to, size)]) - slack);
            }
    return good ? make_point(at, shift / spacing) : no_point();
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
redistance_seed(__global const float *out, __global float *points, int shifts, grid on)
{
    TAKE_GRID(on);
    __local int list[GROUP], count;
    int lane = own_lane(), n = size.x * size.y * size.z;
    int4 at = voxel_of(lane);
    bool there = in_grid(at, size), near = there && !isnan(out[index_of(at, size)]);
    if (there && !near)
        store_point(no_point(), points, index_of(at, size), n);
    list_wanted(near, list, &count);
    for (int i = lane; i < count; i += GROUP) {
        at = voxel_of(list[i]);
        int here = index_of(at, size);
        float4 shift = load_point(points + shifts, here, n);
        store_point(seed_at(out, shift, at, size, spacing), points, here, n);
    }
}

__kernel void redistance_seed_row(__global const float *out, __global float *points, int shifts, grid on)
{
    TAKE_GRID(on);
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0, i = (z * size.y + y) * size.x; x < size.x; x++, i++)
        store_point(seed_at(out, load_point(points + shifts, i, n), (int4)(x, y, z, 0), size, spacing), points,
                    i, n);
}

/* ---- jump --------------------------------------------------------------- */

/* The closest of the points of 27 voxels, `step` apart; of equals the first.
 * Beyond an end lies the end. */
static inline float4 jump_at(__global const float *from, int4 at, int4 size, float4 spacing, int step)
{
    const int n = size.x * size.y * size.z, left = max(at.x - step, 0), right = min(at.x + step, size.x - 1);
    const float4 unit = spacing / POINT_UNIT, here = (POINT_UNIT * convert_float4(at) + 4.0f) * unit;
    int best = index_of(at, size);
    float4 away = load_point(from, best, n) * unit - here;
    float least = dot3(away, away);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++) {
            int z = min(max(at.z + k * step, 0), size.z - 1), y = min(max(at.y + j * step, 0), size.y - 1);
            int row = (z * size.y + y) * size.x;
            for (int i = 0; i < 3; i++) {
                int other = row + (i == 0 ? left : i == 1 ? at.x : right);
                away = load_point(from, other, n) * unit - here;
                float square = dot3(away, away);
                best = square < least ? other : best;
                least = fmin(square, least);
            }
        }
    return load_point(from, best, n);
}

/* Row i of n, in an order in which the rows of a work-group lie a step apart: the points that one of them
 * looks at are its neighbours'. */
static inline int row_of(int i, int n, int tile, int step)
{
    int turn = step * tile, start = i / turn * turn, left = min(n - start, turn), at = i - start;
    int each = left / step, longer = left % step * (each + 1); /* rows of a remainder: `each`, or one more */
    if (at < longer)
        return start + at % (each + 1) * step + at / (each + 1);
    at -= longer;
    return start + at % each * step + left % step + at / each;
}

/* first: only marked cells have points yet, and all others are made empty. */
__kernel void redistance_jump(__global float *points, int from, int to, int cells, grid on, int step,
                              int first)
{
    TAKE_GRID(on);
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    const int n = size.x * size.y * size.z;
    if (!in_grid(at, size))
        return;
    if (step > 1 && step * 2 * TILE_Y <= size.y && step * 2 * TILE_Z <= size.z) {
        at.y = row_of(at.y, size.y, TILE_Y, step);
        at.z = row_of(at.z, size.z, TILE_Z, step);
    }
    if (first ? is_marked(points, cells, at, size) : within_reach(points, cells, at, size))
        store_point(jump_at(points + from, at, size, spacing, step), points + to, index_of(at, size), n);
    else if (first)
        store_point(no_point(), points + to, index_of(at, size), n);
}

/* Whether rows that follow one another in a work-group lie a step apart. */
static inline bool are_spread(int4 size, int step)
{
    return step > 1 && step * 2 * GROUP_Y <= size.y && step * 2 * GROUP_Z <= size.z;
}

/* As jump_at for ITEM_Y voxels a step apart along y, which share most of the places they look at. */
static inline void jump_shared(__global const float *from, __global float *to, int4 at, int4 size,
                               float4 spacing, int step, const bool *wanted)
{
    const int n = size.x * size.y * size.z;
    const float4 unit = spacing / POINT_UNIT, here = (POINT_UNIT * convert_float4(at) + 4.0f) * unit;
    const int columns[3] = {max(at.x - step, 0), at.x, min(at.x + step, size.x - 1)};
    const float apart = POINT_UNIT * step * unit.y;
    int best[ITEM_Y];
    float least[ITEM_Y];
    UNROLLED
    for (int v = 0; v < ITEM_Y; v++) {
        best[v] = index_of(at + (int4)(0, v * step, 0, 0), size);
        float4 away = load_point(from, best[v], n) * unit - here;
        away.y -= v * apart;
        least[v] = away.y * away.y + (away.x * away.x + away.z * away.z);
    }
    for (int k = -1; k <= 1; k++) {
        int plane = min(max(at.z + k * step, 0), size.z - 1) * size.y;
        UNROLLED
        for (int j = 0; j < ITEM_Y + 2; j++) {
            int row = (plane + min(max(at.y + (j - 1) * step, 0), size.y - 1)) * size.x;
            UNROLLED
            for (int i = 0; i < 3; i++) {
                int other = row + columns[i];
                float4 away = load_point(from, other, n) * unit - here;
                float rest = away.x * away.x + away.z * away.z;
                UNROLLED
                for (int v = max(j - 2, 0); v < min(j + 1, ITEM_Y); v++) {
                    float along = away.y - v * apart, square = along * along + rest;
                    best[v] = square < least[v] ? other : best[v];
                    least[v] = fmin(square, least[v]);
                }
            }
        }
    }
    UNROLLED
    for (int v = 0; v < ITEM_Y; v++)
        if (wanted[v])
            store_point(load_point(from, best[v], n), to, index_of(at + (int4)(0, v * step, 0, 0), size), n);
}

/* first: only marked cells have points yet, and all others are made empty. */
__kernel void redistance_jump_shared(__global float *points, int from, int to, int cells, grid on, int step,
                                     int first)
{
    TAKE_GRID(on);
    const int n = size.x * size.y * size.z, lowest = (int)get_global_id(1) * ITEM_Y;
    int4 at = (int4)(get_global_id(0), 0, get_global_id(2), 0);
    const bool spread = are_spread(size, step);
    bool wanted[ITEM_Y], any_wanted = false, regular = true;
    int rows[ITEM_Y];
    if (at.x >= size.x || at.z >= size.z || lowest >= size.y)
        return;
    if (spread)
        at.z = row_of(at.z, size.z, GROUP_Z, step);
    UNROLLED
    for (int v = 0; v < ITEM_Y; v++) {
        rows[v] = lowest + v < size.y && spread ? row_of(lowest + v, size.y, GROUP_Y, step) : lowest + v;
        at.y = rows[v];
        regular = regular && rows[v] == rows[0] + v * step && rows[v] < size.y;
        wanted[v] = rows[v] < size.y;
        if (wanted[v])
            wanted[v] = first ? is_marked(points, cells, at, size) : within_reach(points, cells, at, size);
        any_wanted = any_wanted || wanted[v];
        if (first && !wanted[v] && rows[v] < size.y)
            store_point(no_point(), points + to, index_of(at, size), n);
    }
    if (!any_wanted)
        return;
    if (regular) {
        at.y = rows[0];
        jump_shared(points + from, points + to, at, size, spacing, step, wanted);
        return;
    }
    for (int v = 0; v < ITEM_Y; v++) {
        at.y = rows[v];
        if (wanted[v])
            store_point(jump_at(points + from, at, size, spacing, step), points + to, index_of(at, size), n);
    }
}

/* Voxels x to x + 7 of a row; those beyond its ends are its ends. */
static inline float8 run_of(__global const float *row, int x, int length)
{
    float v[8];
    if (x >= 0 && x + 8 <= length)
        return LOAD8(row + x);
    for (int i = 0; i < 8; i++)
        v[i] = row[max(0, min(x + i, length - 1))];
    return GET8(v);
}

static inline void jump8(__global const float *from, __global float *to, int4 at, int4 size, float4 spacing,
                         int step)
{
    const int n = size.x * size.y * size.z, here = index_of(at, size);
    const float8 lane = (float8)(0, 1, 2, 3, 4, 5, 6, 7), x = POINT_UNIT * (lane + (float)at.x) + 4.0f;
    const float y = POINT_UNIT * at.y + 4.0f, z = POINT_UNIT * at.z + 4.0f;
    const float4 unit = spacing / POINT_UNIT;
    float8 best_x = LOAD8(from + here), best_y = LOAD8(from + here + n), best_z = LOAD8(from + here + 2 * n);
    float8 dx = (best_x - x) * unit.x, dy = (best_y - y) * unit.y, dz = (best_z - z) * unit.z;
    float8 least = dx * dx + dy * dy + dz * dz;
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++) {
            int4 row = at + (int4)(0, j, k, 0) * step;
            if (row.y < 0 || row.z < 0 || row.y >= size.y || row.z >= size.z)
                continue;
            __global const float *p = from + (row.z * size.y + row.y) * size.x;
            for (int i = -1; i <= 1; i++) {
                int to_x = at.x + i * step;
                float8 px = run_of(p, to_x, size.x), py = run_of(p + n, to_x, size.x);
                float8 pz = run_of(p + 2 * n, to_x, size.x);
                dx = (px - x) * unit.x;
                dy = (py - y) * unit.y;
                dz = (pz - z) * unit.z;
                float8 square = dx * dx + dy * dy + dz * dz;
                int8 nearer = square < least;
                best_x = select(best_x, px, nearer);
                best_y = select(best_y, py, nearer);
                best_z = select(best_z, pz, nearer);
                least = fmin(least, square);
            }
        }
    STORE8(best_x, to + here);
    STORE8(best_y, to + here + n);
    STORE8(best_z, to + here + 2 * n);
}

__kernel void redistance_jump_row(__global float *points, int from, int to, int cells, grid on, int step,
                                  int first)
{
    TAKE_GRID(on);
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    for (int i = 0; i < size.x; i += 8) {
        int x = max(0, min(i, size.x - 8)), last = min(x + 8, size.x);
        int4 at = (int4)(x, y, z, 0);
        int4 end = (int4)(last - 1, y, z, 0);
        bool wanted = first ? is_marked(points, cells, at, size) || is_marked(points, cells, end, size)
                            : within_reach(points, cells, at, size) || within_reach(points, cells, end, size);
        if (wanted && size.x >= 8 && FIELD_PACKED)
            jump8(points + from, points + to, at, size, spacing, step);
        else if (wanted || first)
            for (; at.x < last; at.x++)
                store_point(wanted ? jump_at(points + from, at, size, spacing, step) : no_point(), points + to,
                            index_of(at, size), n);
    }
}

/* size: in cells. span: so many cells on each side. A work-item a cell. */
__kernel void redistance_reach(__global int *scratch, int at, int4 size, int4 span)
{
    int c = get_global_id(0), n = size.x * size.y * size.z;
    __global int *cells = scratch + (size_t)at * POINT_RUN;
    if (c >= n)
        return;
    int x = c % size.x, y = c / size.x % size.y, z = c / (size.x * size.y), found = 0;
    for (int k = max(z - span.z, 0); k < min(z + span.z + 1, size.z) && !found; k++)
        for (int j = max(y - span.y, 0); j < min(y + span.y + 1, size.y) && !found; j++)
            for (int i = max(x - span.x, 0); i < min(x + span.x + 1, size.x); i++)
                found |= cells[(k * size.y + j) * size.x + i];
    cells[n + c] = found;
}

/* ---- finish ------------------------------------------------------------- */

/* The feet of voxels that gave points to some voxels around, by the last bits of the givers' places; a giver
 * of -1: none. */
#define FEET 512

typedef struct feet {
    int giver[FEET];
    foot of[FEET];
} feet;

static inline foot *foot_of(feet *kept, __global const float *phi, __global const float *out, float4 point,
                            int4 from, int4 size, float4 spacing)
{
    int slot = (from.x & 7) | (from.y & 7) << 3 | (from.z & 7) << 6, giver = index_of(from, size);
    if (kept->giver[slot] != giver) {
        kept->giver[slot] = giver;
        foot_again(phi, out[giver], point, from, size, spacing, &kept->of[slot]);
    }
    return &kept->of[slot];
}

/* In the frame of the point (h along the normal, s across): where the level has
 * curvature c in the direction of s,
 *   distance = h + c s^2 / (2 (1 + h c)),
 * exact to third order in s. c is known at the voxel that gave the point, at
 * distance d from the level: 1 + h c = 1 + (h - d) c' there. kept: feet that are
 * known; NULL: none. */
static inline float finish_at(__global const float *phi, __global const float *out, float4 point, int4 at,
                              int4 size, float4 spacing, float reach, feet *kept)
{
    float side = value_at(phi, at, size, spacing) < 0.0f ? -1.0f : 1.0f;
    if (!is_point(point))
        return side * reach;
    float straight = sqrt(square_to(point, at, spacing)), edge = fmax(spacing.x, fmax(spacing.y, spacing.z));
    if (straight > CURVED_WITHIN * edge || straight > reach + edge)
        return side * fmin(straight, reach);
    int4 from = giver_of(point);
    foot nearest;
    if (kept)
        nearest = *foot_of(kept, phi, out, point, from, size, spacing);
    else
        foot_again(phi, out[index_of(from, size)], point, from, size, spacing, &nearest);
    shape s = nearest.s;
    float4 way = convert_float4(at - from) * spacing - nearest.shift;
    straight = length3(way);
    float h = dot3(way, s.normal);
    float4 across = way - h * s.normal;
    float square = dot3(across, across);
    /* Beyond the border there are no points: the last ones go on. */
    int4 foot = convert_int4_rte(convert_float4(at) - h * s.normal / spacing);
    if (!in_grid(foot, size))
        edge *= CURVED_WITHIN;
    float turned = bend(&s, across) / fmax(square, 1e-12f);
    float spread = 1.0f + (h - nearest.level) * turned;
    float curved = side * (h + 0.5f * turned * square / spread);
    bool fits = spread > 0.2f && square < edge * edge && side * h > 0.0f && curved > 0.0f &&
                curved < straight;
    float share = fits ? fmin(1.0f, 2.0f * s.smooth) : 0.0f;
    return side * fmin(fits ? share * curved + (1.0f - share) * straight : straight, reach);
}

static inline void finish(__global const float *phi, __global const float *points, __global float *out,
                          int4 at, int4 size, float4 spacing, float reach, feet *kept)
{
    int i = index_of(at, size), n = size.x * size.y * size.z;
    if (isnan(out[i]))
        out[i] = finish_at(phi, out, load_point(points, i, n), at, size, spacing, reach, kept);
}

__kernel void redistance_finish(__global const float *phi, __global const float *points, int from,
                                __global float *out, grid on, float reach)
{
    TAKE_GRID(on);
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        finish(phi, points + from, out, (int4)(x, y, z, 0), size, spacing, reach, 0);
}

/* An item covers rows that lie together, eight voxels of each at a time: most of their points are from the
 * same voxels. */
__kernel void redistance_finish_row(__global const float *phi, __global const float *points, int from,
                                    __global float *out, grid on, float reach)
{
    TAKE_GRID(on);
    int y0 = get_global_id(1) * ITEM_Y, z0 = get_global_id(2) * ITEM_Z;
    feet kept;
    if (y0 >= size.y || z0 >= size.z)
        return;
    for (int k = 0; k < FEET; k++)
        kept.giver[k] = -1;
    for (int x0 = 0; x0 < size.x; x0 += 8)
        for (int z = z0; z < min(z0 + ITEM_Z, size.z); z++)
            for (int y = y0; y < min(y0 + ITEM_Y, size.y); y++)
                for (int x = x0; x < min(x0 + 8, size.x); x++)
                    finish(phi, points + from, out, (int4)(x, y, z, 0), size, spacing, reach, &kept);
}
