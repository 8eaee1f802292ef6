/* SPDX-License-Identifier: Apache-2.0 */
/* The tensor D and the signal S0 of each voxel of a diffusion-weighted series,
 *   ln S_k = ln S0 - b_k g_k^T D g_k = x_k . p,  p = (ln S0, xx xy xz yy yz zz),
 * S over the voxel's own reference, the median of its volumes of lowest b, and
 * D in 1e-3 mm^2/s, so that every number is about 1. Signals that are not above
 * 0, or not finite, have no weight anywhere.
 *   start   least squares on ln S, WEIGHT 0 unweighted, else by the measured signal
 *   step    p moves by (sum w x x^T)^-1 sum w x r, w and r by WEIGHT:
 *             0  1, ln S - x.p           least squares (with rejection)
 *             1  e^2, ln S - x.p         weighted by the signal e = exp(x.p)
 *             2  e^2, (S - e) / e        Gauss-Newton on S itself
 *   scale   the median of the residuals' sizes, for rejection
 *   finish  noise, positive definite tensors, S0
 * design: rows of ROW floats. state, planar: p, the reference, and more. */
#ifndef WEIGHT
#define WEIGHT 1
#endif
#ifndef ROBUST
#define ROBUST 0
#endif

/* Each kernel is built by itself. */
#define START 0
#define STEP 1
#define SCALES 2
#define FINISH 3

/* One voxel (LANES 1) or eight neighbours along x (LANES 8) of planar frames,
 * and the small systems that are solved for each. */

#include "common/eigen.clh"
#include "common/field_row.clh"

#if LANES == 8
typedef float8 real;
typedef int8 flag;
typedef eigen8 eigen;
#define EIGEN eigen_8
#define EIGEN_COMPOSE_OF eigen_compose_8
#define ANY(f) any(f)
#else
typedef float real;
typedef int flag;
typedef eigen1 eigen;
#define EIGEN eigen_1
#define EIGEN_COMPOSE_OF eigen_compose_1
#define ANY(f) (f)
#endif

#define PACKED 28 /* a symmetric matrix of PARAMETERS: row i begins at i (i + 1) / 2 */
#define SUMS 22   /* what differs in a sum of x x^T */

/* exp of what lies between -80 and 80 and log of what is normal and above 0, to
 * two units in the last place: without the library's special cases they cost half. */
#if LANES == 8
static inline real exp_of(real x)
{
    real shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
    real r = x - whole * 0.693359375f + whole * 2.12194440e-4f, p = (real)(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    return p * as_float8((as_int8(shifted) << 23) + 0x3f800000);
}

static inline real log_of(real x)
{
    int8 bits = as_int8(x), power = (bits - 0x3f3504f3) >> 23;
    real f = as_float8(bits - (power << 23)) - 1.0f, e = convert_float8(power), z = f * f;
    real p = (real)(7.0376836292e-2f);
    p = p * f - 1.1514610310e-1f;
    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    return f + (p * f * z - e * 2.12194440e-4f - 0.5f * z) + e * 0.693359375f;
}
#else
#define exp_of exp
#define log_of log
#endif

/* Floats from a frame's voxels to those that come soon: every volume is a stream
 * of its own. */
#define SOON 48

/* The lanes of a frame from voxel i on; those beyond n are the last voxel. */
static inline real load(__global const float *frame, int i, int n)
{
#if LANES == 8
    float v[8];
    FETCH_SOON(frame + i + SOON);
    if (i + 8 <= n)
        return LOAD8(frame + i);
    for (int lane = 0; lane < 8; lane++)
        v[lane] = frame[min(i + lane, n - 1)];
    return GET8(v);
#else
    return frame[i];
#endif
}

/* Volumes that are asked for at once; where registers get scarce by that, it costs more than it saves. */
#if LANES == 1 && (PART == SCALES || (PART == STEP && WEIGHT < 2) || (PART == FINISH && WEIGHT == 0))
#define AHEAD 4
#else
#define AHEAD 1
#endif

/* The volumes from k on; behind the last there is none. */
static inline void load_ahead(__global const float *dwi, int k, int volumes, int i, int n, real *to)
{
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        to[j] = load(dwi + min(k + j, volumes - 1) * n, i, n);
}

/* 1 where a signal is a measurement. What is not above 0 or not finite weighs nothing and becomes 1, which
 * every sum bears. */
static inline real known(real *s)
{
    flag sound = (*s > 0.0f) & (*s <= FLT_MAX);
    *s = select((real)(1.0f), *s, sound);
    return select((real)(0.0f), (real)(1.0f), sound);
}

/* For each volume k, with its signal s and its share in the fit, 1 or 0. */
#define EACH_VOLUME(s, share)                             \
    for (int from = 0; from < volumes; from += AHEAD) {   \
        real ahead[AHEAD];                                \
        load_ahead(dwi, from, volumes, i, n, ahead);      \
        _Pragma("unroll") for (int j = 0; j < AHEAD; j++) \
        {                                                 \
            const int k = from + j;                       \
            real s = ahead[j], share = known(&s);         \
            if (k >= volumes)                             \
                break;
#define END_VOLUMES \
    }               \
    }

static inline void store(real v, __global float *frame, int i, int n)
{
#if LANES == 8
    float lanes[8];
    if (i + 8 <= n) {
        STORE8(v, frame + i);
        return;
    }
    PUT8(v, lanes);
    for (int lane = 0; lane < n - i; lane++)
        frame[i + lane] = lanes[lane];
#else
    frame[i] = v;
#endif
}

/* Whole numbers keep their bits in buffers of floats. */
static inline flag load_bits(__global const float *frame, int i, int n)
{
#if LANES == 8
    return as_int8(load(frame, i, n));
#else
    return as_int(load(frame, i, n));
#endif
}

static inline void store_bits(flag v, __global float *frame, int i, int n)
{
#if LANES == 8
    store(as_float8(v), frame, i, n);
#else
    store(as_float(v), frame, i, n);
#endif
}

static inline flag bits_where(flag here, int bits)
{
    return select((flag)(0), (flag)(bits), here);
}

/* sums of w, w x, and w times a volume's products of four. x begins with 1. */
static inline void gather(real w, __global const float *x, real *sums)
{
    sums[0] += w;
#pragma unroll
    for (int c = 1; c < PARAMETERS; c++)
        sums[c] += w * x[c];
#pragma unroll
    for (int c = PARAMETERS; c < SUMS; c++)
        sums[c] += w * x[QUARTIC - PARAMETERS + c];
}

/* The sum of w x x^T from what was gathered: a product of two components is b^2
 * times one of the 15 products of four of g's coordinates, times 1, 2 or 4. */
static inline void unfold(const real *sums, real *a)
{
    const real *q = sums + PARAMETERS;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        a[c * (c + 1) / 2] = sums[c];
    a[2] = q[0];
    a[4] = 2.0f * q[1], a[5] = 4.0f * q[3];
    a[7] = 2.0f * q[2], a[8] = 4.0f * q[4], a[9] = 4.0f * q[5];
    a[11] = q[3], a[12] = 2.0f * q[6], a[13] = 2.0f * q[7], a[14] = q[10];
    a[16] = 2.0f * q[4], a[17] = 4.0f * q[7], a[18] = 4.0f * q[8], a[19] = 2.0f * q[11], a[20] = 4.0f * q[12];
    a[22] = q[5], a[23] = 2.0f * q[8], a[24] = 2.0f * q[9], a[25] = q[12], a[26] = 2.0f * q[13],
    a[27] = q[14];
}

/* a = L L^T in place, the diagonal of L inverted. False where a is singular: a pivot is below `least` of what
 * it was made from. */
static inline flag factor(real *a, float least)
{
    flag good = (real)(1.0f) > 0.0f;
#pragma unroll
    for (int j = 0; j < PARAMETERS; j++) {
        int jj = j * (j + 1) / 2;
        real whole = a[jj + j], rest = whole;
#pragma unroll
        for (int k = 0; k < j; k++)
            rest -= a[jj + k] * a[jj + k];
        flag sound = rest > least * whole;
        good &= sound;
        real over = 1.0f / sqrt(select((real)(1.0f), rest, sound));
        a[jj + j] = over;
#pragma unroll
        for (int i = j + 1; i < PARAMETERS; i++) {
            int ii = i * (i + 1) / 2;
            real sum = a[ii + j];
#pragma unroll
            for (int k = 0; k < j; k++)
                sum -= a[ii + k] * a[jj + k];
            a[ii + j] = sum * over;
        }
    }
    return good;
}

/* b becomes (L L^T)^-1 b. */
static inline void substitute(const real *a, real *b)
{
#pragma unroll
    for (int i = 0; i < PARAMETERS; i++) {
        int ii = i * (i + 1) / 2;
#pragma unroll
        for (int k = 0; k < i; k++)
            b[i] -= a[ii + k] * b[k];
        b[i] *= a[ii + i];
    }
#pragma unroll
    for (int i = PARAMETERS - 1; i >= 0; i--) {
#pragma unroll
        for (int k = i + 1; k < PARAMETERS; k++)
            b[i] -= a[k * (k + 1) / 2 + i] * b[k];
        b[i] *= a[i * (i + 1) / 2 + i];
    }
}

/* The squared length of column j of L^-1. */
static inline real column_square(const real *a, int j)
{
    real inverse[PARAMETERS], square = 0.0f;
#pragma unroll
    for (int i = 0; i < PARAMETERS; i++) {
        int ii = i * (i + 1) / 2;
        real v = i == j ? 1.0f : 0.0f;
#pragma unroll
        for (int k = 0; k < i; k++)
            v -= a[ii + k] * inverse[k];
        inverse[i] = i < j ? (real)(0.0f) : v * a[ii + i];
        square += inverse[i] * inverse[i];
    }
    return square;
}

/* Mean variance of the six scaled components for noise of variance 1: from the
 * diagonal of (L L^T)^-1, off-diagonal components counted twice (times sqrt 2).
 * Spelt out, so that compilers keep L in registers. */
static inline real spread_of(const real *a)
{
    real diagonal = column_square(a, 1) + column_square(a, 4) + column_square(a, 6);
    real others = column_square(a, 2) + column_square(a, 3) + column_square(a, 5);
    return (diagonal + 2.0f * others) / 6.0f;
}

/* Eigenvalues of d (xx xy xz yy yz zz) below least become least. */
static inline void raise_eigenvalues(real *d, float least)
{
    eigen e = EIGEN(d[0], d[1], d[2], d[3], d[4], d[5]);
    EIGEN_COMPOSE_OF(&e, fmax(e.l1, (real)(least)), fmax(e.l2, (real)(least)), fmax(e.l3, (real)(least)), d);
}

/* Sylvester: whether every eigenvalue of d lies above least. */
static inline flag all_above(const real *d, float least)
{
    real a = d[0] - least, b = d[3] - least, c = d[5] - least;
    real minor = a * b - d[1] * d[1];
    real whole = c * minor - a * d[4] * d[4] - b * d[2] * d[2] + 2.0f * d[1] * d[2] * d[4];
    return (a > 0.0f) & (minor > 0.0f) & (whole > 0.0f);
}

/* Places in the state, after the unknowns. */
#define REFERENCE PARAMETERS
#define SCALE (REFERENCE + 1)
#define MOVE (SCALE + 1)
#define ENERGY (MOVE + PARAMETERS)

/* Volumes of lowest b that the median looks at; of more, every second or third. */
#define MEDIAN_OF 15
/* Signals count as at least this share of the reference. */
#define LEAST_SIGNAL 1e-4f
/* Residuals below this share of S0 are rounding, not noise. */
#define LEAST_SCALE 1e-4f
/* Pivots of systems; of the first, what is below may be rounding alone. */
#define LEAST_PIVOT 1e-6f
#define LEAST_PIVOT_FIRST 1e-5f
/* Beyond so many times the scale a volume is rejected. */
#define CUT 3.0f
/* No weight is that of more than so many times the reference: weights that grow with what they
 * predict would run away. */
#define MOST_WEIGHT 2.0f
/* Scales are at least this share of the residual of a shell's nearest volume, which the cut then keeps. */
#define SHELL_SCALE 0.5f
/* Geman and McClure's weight is 1/4 at so many times the scale. */
#define SOFT 2.0f
/* Energies that differ by less than their sums round are equal: to refuse a last step for less would
 * leave tensors a hundred times farther from the minimum. */
#define ROUNDING 1.00001f
/* S0 is far from the mean at the lowest b beyond this share of it and so many of its standard errors. */
#define FAR_SHARE 0.25f
#define FAR_ERRORS 3.0f
/* Larger than any residual. */
#define ENDLESS 1e30f
/* Smallest eigenvalue, 1e-3 mm^2/s. */
#define LEAST_EIGENVALUE 0.01f

/* x . p, kept where exp and its square are finite. */
static inline real along(const real *p, __global const float *x)
{
    real sum = p[0];
#pragma unroll
    for (int c = 1; c < PARAMETERS; c++)
        sum += x[c] * p[c];
    return fmin(fmax(sum, (real)(-20.0f)), (real)(20.0f));
}

static inline real weight_of(real e)
{
    real least = fmin(e, (real)(MOST_WEIGHT));
    return least * least;
}

/* Residual by which rejection judges: that of the logarithm if it is fitted unweighted. */
static inline real residual(real signal, real predicted)
{
#if WEIGHT == 0
    return log_of(fmax(signal, (real)(LEAST_SIGNAL))) - predicted;
#else
    return signal - exp_of(predicted);
#endif
}

/* hard: rejected or not; otherwise Geman and McClure's. */
static inline real trust(real rest, real scale, int hard)
{
    real z = rest / (SOFT * scale), soft = 1.0f / (1.0f + z * z);
    return hard ? select((real)(0.0f), (real)(1.0f), fabs(rest) <= CUT * scale) : soft * soft;
}

#define EACH(call)                                                                      \
    for (int i = (int)get_global_id(0) * MARCH, last = min(i + MARCH, n); i < last; i += LANES) \
    call

#if PART == START
/* The upper median of the measurements of lowest b; 0 where there is none. */
static inline real reference_of(__global const float *dwi, __global const int *lowest, int lowest_count,
                                int n, int i)
{
    const int stride = (lowest_count + MEDIAN_OF - 1) / MEDIAN_OF;
    real total = 0.0f, reference = 0.0f;
    for (int a = 0; a < lowest_count; a += stride) {
        real s = load(dwi + lowest[a] * n, i, n);
        total += known(&s);
    }
    for (int a = 0; a < lowest_count; a += stride) {
        real s = load(dwi + lowest[a] * n, i, n), own = known(&s), below = 0.0f, up_to = 0.0f;
        for (int b = 0; b < lowest_count; b += stride) {
            real other = load(dwi + lowest[b] * n, i, n), counts = known(&other);
            below += select((real)(0.0f), counts, other < s);
            up_to += select((real)(0.0f), counts, other <= s);
        }
        real middle = floor(0.5f * total);
        reference = select(reference, s, (own > 0.0f) & (below <= middle) & (middle < up_to));
    }
    return reference;
}

/* Weighted by the measured signal, so that a lost one counts for little, by no higher power, which would
 * follow the noise; and the less the higher b is: rectified noise looks like a signal where none is left. */
static inline void begin_at(__global const float *dwi, __global const float *mask,
                            __global const float *design, __global const int *lowest, int lowest_count,
                            int volumes, int n, __global float *state, __global float *kind, int i)
{
    real p[PARAMETERS], sums[SUMS], normal[PACKED], total = 0.0f;
    flag inside = (real)(1.0f) > 0.0f, finite = inside;
    if (mask)
        inside = load(mask, i, n) > 0.0f;
    if (!ANY(inside)) {
        store_bits((flag)(0), kind, i, n);
        return;
    }
    real reference = reference_of(dwi, lowest, lowest_count, n, i);
    flag lit = reference > 0.0f;
    reference = select((real)(1.0f), reference, lit);
    real over = 1.0f / reference;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        p[c] = 0.0f;
#pragma unroll
    for (int c = 0; c < SUMS; c++)
        sums[c] = 0.0f;
    EACH_VOLUME(s, share)
        __global const float *x = design + ROW * k;
        finite &= fabs(ahead[j]) <= FLT_MAX;
        total += share;
        s *= over;
        real w = share;
#if WEIGHT > 0
        w *= fmin(s, (real)(1.0f)) * x[WORTH];
#endif
        real pull = w * log_of(fmax(s, (real)(LEAST_SIGNAL)));
        gather(w, x, sums);
        p[0] += pull;
#pragma unroll
        for (int c = 1; c < PARAMETERS; c++)
            p[c] += pull * x[c];
    END_VOLUMES
    unfold(sums, normal);
    flag good = inside & lit & factor(normal, LEAST_PIVOT_FIRST);
    substitute(normal, p);
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        store(p[c], state + c * n, i, n);
    store(reference, state + REFERENCE * n, i, n);
    flag bad = inside & !good;
    store_bits(bits_where(good, FITTED) | bits_where(good & (total < (float)volumes), LEFT_OUT) |
                   bits_where(bad & finite, NO_SIGNAL) | bits_where(bad & !finite, NOT_FINITE),
               kind, i, n);
}

__kernel void tensor_fit_start(__global const float *dwi, __global const float *mask,
                               __global const float *design, __global const int *lowest,
                               int lowest_count, int volumes, int n, __global float *state,
                               __global float *kind)
{
    EACH(begin_at(dwi, mask, design, lowest, lowest_count, volumes, n, state, kind, i));
}
#endif

#if PART == STEP
/* mode: of WEIGHT 2, 1 forgets the energy of what came before, 2 stays at the better place; else 1 goes half
 * the way. */
static inline void improve_at(__global const float *dwi, __global const float *design, int volumes, int n,
                              __global float *state, __global const float *kind, int hard, int mode, int i)
{
    real p[PARAMETERS], sums[SUMS], normal[PACKED], gradient[PARAMETERS], energy = 0.0f;
    flag good = (load_bits(kind, i, n) & FITTED) != 0;
    if (!ANY(good))
        return;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++) {
        p[c] = load(state + c * n, i, n);
        gradient[c] = 0.0f;
    }
#pragma unroll
    for (int c = 0; c < SUMS; c++)
        sums[c] = 0.0f;
    real over = 1.0f / load(state + REFERENCE * n, i, n);
#if ROBUST
    real scale = load(state + SCALE * n, i, n);
#endif
    EACH_VOLUME(signal, share)
        __global const float *x = design + ROW * k;
        real s = signal * over, y = along(p, x), e = exp_of(y);
#if ROBUST
        const real own = share;
        share *= trust(residual(s, y), scale, hard);
#endif
#if WEIGHT == 0
        real w = share, pull = w * (log_of(fmax(s, (real)(LEAST_SIGNAL))) - y);
#elif WEIGHT == 1
        real w = share * weight_of(e), pull = w * (log_of(fmax(s, (real)(LEAST_SIGNAL))) - y);
#else
        real rest = s - e, w = share * e * e, pull = share * e * rest;
        energy += share * rest * rest;
#if ROBUST
        /* A rejected value costs as much as one at the cut, so that rejecting more gains nothing. */
        energy += (own - share) * (CUT * CUT) * scale * scale;
#endif
#endif
        gather(w, x, sums);
        gradient[0] += pull;
#pragma unroll
        for (int c = 1; c < PARAMETERS; c++)
            gradient[c] += pull * x[c];
    END_VOLUMES
    unfold(sums, normal);
    flag sound = good & factor(normal, LEAST_PIVOT);
    substitute(normal, gradient);
#if WEIGHT == 2
    real before = load(state + ENERGY * n, i, n);
    flag better = sound;
    if (!(mode & 1))
        better &= energy <= ROUNDING * before;
    real shrink = mode & 2 ? 0.0f : 0.25f;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++) {
        real last = mode & 1 ? (real)(0.0f) : load(state + (MOVE + c) * n, i, n);
        real move = select(shrink * last, mode & 2 ? (real)(0.0f) : gradient[c], better);
        store(select(p[c] - last, p[c], better) + move, state + c * n, i, n);
        store(move, state + (MOVE + c) * n, i, n);
    }
    store(select(mode & 1 ? energy : before, energy, better), state + ENERGY * n, i, n);
#else
    const float share_of_move = mode & 1 ? 0.5f : 1.0f;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        store(p[c] + select((real)(0.0f), share_of_move * gradient[c], sound), state + c * n, i, n);
#endif
}

__kernel void tensor_fit_step(__global const float *dwi, __global const float *design, int volumes, int n,
                              __global float *state, __global const float *kind, int hard, int mode)
{
    EACH(improve_at(dwi, design, volumes, n, state, kind, hard, mode, i));
}
#endif

#if PART == SCALES
/* A work-item's own sizes of residuals, where they are kept. */
#if LANES == 8
#define KEEP(v, k) vstore8(v, (k) * TILE_X + (int)get_local_id(0), kept)
#define KEPT(k) vload8((k) * TILE_X + (int)get_local_id(0), kept)
#else
#define KEEP(v, k) kept[(k) * TILE_X + (int)get_local_id(0)] = (v)
#define KEPT(k) kept[(k) * TILE_X + (int)get_local_id(0)]
#endif

static inline real size_of(real signal, real over, const real *p, __global const float *x)
{
    real share = known(&signal), size = fabs(residual(signal * over, along(p, x)));
    return select((real)(ENDLESS), size, share > 0.0f);
}

/* The median by counting: an eighth of the interval is kept in each round. keep: whether
 * local memory has room for the sizes of all residuals, which else are found anew.
 * shells: volumes shell by shell, the last of each as ~k. Where a shell lies off the fit as
 * a whole it is the model that is wrong, so that the scale lets its nearest volume stay. */
static inline void scale_at(__global const float *dwi, __global const float *design,
                            __global const int *shells, int shells_count, int volumes, int n,
                            __global float *state, __global const float *kind, float factor, int keep,
                            __local float *kept, int i)
{
    real p[PARAMETERS], low = 0.0f, high = 0.0f, total = 0.0f, off = 0.0f, nearest = ENDLESS;
    if (!ANY((load_bits(kind, i, n) & FITTED) != 0))
        return;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        p[c] = load(state + c * n, i, n);
    real over = 1.0f / load(state + REFERENCE * n, i, n);
    EACH_VOLUME(signal, share)
        real size = fabs(residual(signal * over, along(p, design + ROW * k)));
        high = fmax(high, share * size);
        total += share;
        if (keep)
            KEEP(select((real)(ENDLESS), size, share > 0.0f), k);
    END_VOLUMES
    /* As many residuals as there are unknowns are 0, or nearly, whatever the noise. */
    real middle = floor(0.5f * (total + (float)PARAMETERS));
    for (int round = 0; round < 5; round++) {
        real count[7], edge = 0.125f * (high - low), below = 0.0f;
#pragma unroll
        for (int j = 0; j < 7; j++)
            count[j] = 0.0f;
        for (int k = 0; k < volumes; k++) {
            real size;
            if (keep)
                size = KEPT(k);
            else
                size = size_of(load(dwi + k * n, i, n), over, p, design + ROW * k);
#pragma unroll
            for (int j = 0; j < 7; j++)
                count[j] += select((real)(0.0f), (real)(1.0f), size <= low + (float)(j + 1) * edge);
        }
#pragma unroll
        for (int j = 0; j < 7; j++)
            below += select((real)(0.0f), (real)(1.0f), count[j] < middle);
        low += below * edge;
        high = low + edge;
    }
    for (int at = 0; at < shells_count; at++) {
        const int ends = shells[at] < 0, k = ends ? ~shells[at] : shells[at];
        real size;
        if (keep)
            size = KEPT(k);
        else
            size = size_of(load(dwi + k * n, i, n), over, p, design + ROW * k);
        nearest = fmin(nearest, size);
        if (ends) {
            off = select(off, fmax(off, nearest), nearest < ENDLESS);
            nearest = ENDLESS;
        }
    }
    real scale = fmax(factor * 0.5f * (low + high), SHELL_SCALE * off);
    store(fmax(scale, (real)(LEAST_SCALE)), state + SCALE * n, i, n);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
tensor_fit_scale(__global const float *dwi, __global const float *design, __global const int *shells,
                 int shells_count, int volumes, int n, __global float *state,
                 __global const float *kind, float factor, int keep, __local float *kept)
{
    EACH(scale_at(dwi, design, shells, shells_count, volumes, n, state, kind, factor, keep, kept, i));
}
#endif

#if PART == FINISH
/* Whether S0 lies far from the mean of the measurements of lowest b. */
static inline flag is_far(real s0, real noise, __global const float *dwi, __global const int *lowest,
                          int lowest_count, int n, int i)
{
    real sum = 0.0f, total = 0.0f;
    for (int a = 0; a < lowest_count; a++) {
        real s = load(dwi + lowest[a] * n, i, n), share = known(&s);
        sum += share * s;
        total += share;
    }
    real mean = sum / fmax(total, (real)(1.0f));
    return (fabs(s0 - mean) > FAR_SHARE * mean) & (fabs(s0 - mean) * sqrt(total) > FAR_ERRORS * noise);
}

static inline void finish_at(__global const float *dwi, __global const float *design,
                             __global const int *lowest, int lowest_count, int volumes, int n,
                             __global const float *state, __global float *kind,
                             __global float *tensor, __global float *s0, __global float *sigma,
                             __global float *noise, int i)
{
    real p[PARAMETERS], sums[SUMS], normal[PACKED], squares = 0.0f, logs = 0.0f, kept = 0.0f, total = 0.0f;
    const real zero = 0.0f;
    flag bits = load_bits(kind, i, n), good = (bits & FITTED) != 0;
    if (!ANY(good)) {
        for (int c = 0; c < 6; c++)
            store(zero, tensor + c * n, i, n);
        store(zero, s0, i, n);
        store(zero, sigma, i, n);
        store(zero, noise, i, n);
        return;
    }
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        p[c] = load(state + c * n, i, n);
#pragma unroll
    for (int c = 0; c < SUMS; c++)
        sums[c] = 0.0f;
    real reference = load(state + REFERENCE * n, i, n), over = 1.0f / reference;
#if ROBUST
    real scale = load(state + SCALE * n, i, n);
#endif
    EACH_VOLUME(signal, share)
        __global const float *x = design + ROW * k;
        real s = signal * over, y = along(p, x), e = exp_of(y);
        total += share;
#if ROBUST
        share *= trust(residual(s, y), scale, 1);
#endif
        real rest = s - e;
        kept += share;
        squares += share * rest * rest;
#if WEIGHT == 0
        rest = log_of(fmax(s, (real)(LEAST_SIGNAL))) - y;
        logs += share * rest * rest;
        real w = share;
#else
        real w = share * weight_of(e);
#endif
        gather(w, x, sums);
    END_VOLUMES
    real size = 0.0f;
#pragma unroll
    for (int c = 0; c < PARAMETERS; c++)
        size += fabs(p[c]);
    flag endless = good & !(size <= FLT_MAX);
    good &= !endless;
    bits = select(bits, (flag)(NOT_FINITE), endless);
    unfold(sums, normal);
    flag over_determined = kept > (float)PARAMETERS, regular = factor(normal, LEAST_PIVOT);
    bits |= bits_where(good & !regular, SINGULAR);
    real variance = spread_of(normal), free = fmax(kept - (float)PARAMETERS, (real)(1.0f));
#if WEIGHT == 0
    variance *= logs / free;
#else
    variance *= squares / free;
#endif
    flag bad = good & !all_above(p + 1, LEAST_EIGENVALUE);
    if (ANY(bad)) {
        real raised[6];
#pragma unroll
        for (int c = 0; c < 6; c++)
            raised[c] = p[1 + c];
        raise_eigenvalues(raised, LEAST_EIGENVALUE);
#pragma unroll
        for (int c = 0; c < 6; c++)
            p[1 + c] = select(p[1 + c], raised[c], bad);
        bits |= bits_where(bad, MADE_POSITIVE);
    }
#pragma unroll
    for (int c = 0; c < 6; c++)
        store(select(zero, 1e-3f * p[1 + c], good), tensor + c * n, i, n);
    real plain = exp_of(fmin(fmax(p[0], (real)(-80.0f)), (real)(80.0f))) * reference;
    real level = sqrt(squares / free) * reference;
    flag far = is_far(plain, level, dwi, lowest, lowest_count, n, i);
    bits |= bits_where(good & over_determined & far, FAR_S0);
    store(select(zero, plain, good), s0, i, n);
    store(select(zero, 1e-3f * sqrt(variance), good & over_determined & regular), sigma, i, n);
    store(select(zero, level, good & over_determined), noise, i, n);
#if LANES == 8
    bits += select((flag)(0), REJECTED * convert_int8_rte(total - kept), good);
#else
    bits += select((flag)(0), REJECTED * convert_int_rte(total - kept), good);
#endif
    store_bits(bits, kind, i, n);
}

__kernel void tensor_fit_finish(__global const float *dwi, __global const float *design,
                                __global const int *lowest, int lowest_count, int volumes, int n,
                                __global const float *state, __global float *kind, __global float *tensor,
                                __global float *s0, __global float *sigma, __global float *noise)
{
    EACH(finish_at(dwi, design, lowest, lowest_count, volumes, n, state, kind, tensor, s0, sigma, noise, i));
}
#endif
