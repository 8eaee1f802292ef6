/* SPDX-License-Identifier: Apache-2.0 */
/* Permutation tests whose answers are known. */
#include "check.h"
#include "clvox/stats.h"
#include "op/harness.h"
#include "op/stats/glm_t.h"
#include "phantom/phantom.h"
#include "ref/stats/glm_t.h"
#include "stats/stats.h"

static clvox_context *ctx;

enum { MOST = 64 };

/* Maps of noise on one grid. */
typedef struct study {
    clvox_volume *map[MOST];
    int count;
} study;

static study noise(const int size[3], int count, unsigned seed)
{
    study s = {.count = count};
    clvox_grid grid;
    clvox_phantom_grid(size, (const double[3]){1, 1.5, 2}, true, &grid);
    for (int i = 0; i < count; i++) {
        assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &s.map[i]));
        for (size_t v = 0; v < clvox_grid_voxels(&grid); v++)
            s.map[i]->data[v] = (float)clv_phantom_normal(seed, (uint64_t)i * clvox_grid_voxels(&grid) + v);
    }
    return s;
}

static void release(study *s)
{
    for (int i = 0; i < s->count; i++)
        clvox_volume_destroy(&s->map[i]);
}

static int run(const study *s, const clvox_stats_design *d, const clvox_volume *mask,
               const clvox_stats_options *o, clvox_stats_result *r)
{
    return clvox_stats(ctx, (const clvox_volume *const *)s->map, s->count, d, mask, o, r);
}

static const double halves[MOST] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1};

/* ---- t ------------------------------------------------------------------- */

/* The two-sample t as textbooks have it. */
static double two_sample(const study *s, size_t v)
{
    double mean[2] = {0}, squares[2] = {0};
    int n[2] = {0};
    for (int i = 0; i < s->count; i++) {
        n[(int)halves[i]]++;
        mean[(int)halves[i]] += (double)s->map[i]->data[v];
    }
    mean[0] /= n[0], mean[1] /= n[1];
    for (int i = 0; i < s->count; i++)
        squares[(int)halves[i]] += pow((double)s->map[i]->data[v] - mean[(int)halves[i]], 2);
    double pooled = (squares[0] + squares[1]) / (s->count - 2);
    return (mean[1] - mean[0]) / sqrt(pooled * (1. / n[0] + 1. / n[1]));
}

static void two_groups(void **state)
{
    static const int sizes[][3] = {{1, 1, 1}, {13, 11, 7}, {17, 1, 5}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        study s = noise(sizes[k], 9, 3);
        clvox_stats_options o;
        clvox_stats_result r, less;
        clvox_stats_defaults(&o);
        o.permutations = 20;
        const clvox_stats_design d = {.subjects = 9, .tested = halves};
        assert_ok(run(&s, &d, NULL, &o, &r));
        assert_int_equal(r.dof, 7);
        for (size_t v = 0; v < r.tested; v++) {
            double want = two_sample(&s, v), got = (double)r.t.statistic->data[v];
            assert_that(fabs(got - want) < 1e-5 * (1 + fabs(want)), "t is %g, not %g", got, want);
        }
        o.less = 1;
        assert_ok(run(&s, &d, NULL, &o, &less));
        for (size_t v = 0; v < r.tested; v++)
            assert_true(less.t.statistic->data[v] == -r.t.statistic->data[v]);
        clvox_stats_result_destroy(&r);
        clvox_stats_result_destroy(&less);
        release(&s);
    }
}

/* Against the normal equations, with nuisances; of the mean, too, where they are centred. */
static void regression(void **state)
{
    const int size[3] = {7, 5, 3}, n = 12;
    double age[12], design[4][12], centred[3][12], covariates[2][12], mean[2] = {0};
    study s = noise(size, n, 5);
    clvox_stats_options o;
    clvox_stats_result r, m;
    (void)state;
    for (int i = 0; i < n; i++) {
        age[i] = 50 + 3 * clv_phantom_normal(6, (uint64_t)i);
        covariates[0][i] = i % 3 == 0;
        covariates[1][i] = 1e3 + 100 * clv_phantom_normal(7, (uint64_t)i) + 10 * age[i];
        mean[0] += covariates[0][i] / n, mean[1] += covariates[1][i] / n;
        for (size_t v = 0; v < 105; v++)
            s.map[i]->data[v] += 1e3f + (float)(.05 * (double)(v % 5) * age[i] + .01 * covariates[1][i]);
    }
    for (int i = 0; i < n; i++) {
        design[0][i] = 1;
        design[1][i] = covariates[0][i];
        design[2][i] = covariates[1][i] - 1500; /* the equations are solved more exactly */
        design[3][i] = age[i] - 50;
        centred[0][i] = covariates[0][i] - mean[0];
        centred[1][i] = covariates[1][i] - mean[1];
        centred[2][i] = 1;
    }
    clvox_stats_defaults(&o);
    o.permutations = 16;
    clvox_stats_design d = {.subjects = n, .tested = age, .covariates = covariates[0], .covariate_count = 2};
    assert_ok(run(&s, &d, NULL, &o, &r));
    for (size_t v = 0; v < r.tested; v++) {
        double y[12];
        for (int i = 0; i < n; i++)
            y[i] = (double)s.map[i]->data[v];
        double want = ref_glm_t_of_design(y, design[0], n, 4), got = (double)r.t.statistic->data[v];
        assert_that(fabs(got - want) < 2e-5 * (1 + fabs(want)), "t is %g, not %g", got, want);
    }
    d.tested = NULL;
    assert_ok(run(&s, &d, NULL, &o, &m));
    assert_true(r.dof == 8 && m.dof == 9 && !r.exact && !m.exact && r.permutations == 16);
    for (size_t v = 0; v < r.tested; v++) {
        double y[12];
        for (int i = 0; i < n; i++)
            y[i] = (double)s.map[i]->data[v];
        double want = ref_glm_t_of_design(y, centred[0], n, 3), got = (double)m.t.statistic->data[v];
        assert_that(fabs(got - want) < 1e-5 * fabs(want) && want > 1000, "t of the mean is %g, not %g", got,
                    want);
    }
    clvox_stats_result_destroy(&r);
    clvox_stats_result_destroy(&m);
    release(&s);
}

/* Freedman and Lane, as they wrote it: fit of the nuisances + permuted residuals, fitted anew. */
static void freedman_lane(void **state)
{
    enum { N = 5, ALL = 120 };
    const int size[3] = {3, 2, 2};
    double x[N] = {1, 2, 4, 3, 7}, z[N] = {.3, 1, -1, 2, .1}, design[3][N], largest[ALL], one[12][ALL],
           observed[12];
    study s = noise(size, N, 8);
    clvox_stats_options o;
    clvox_stats_result r;
    (void)state;
    clvox_stats_defaults(&o);
    const clvox_stats_design d = {.subjects = N, .tested = x, .covariates = z, .covariate_count = 1};
    assert_ok(run(&s, &d, NULL, &o, &r));
    assert_true(r.exact && r.permutations == ALL);
    for (int i = 0; i < N; i++)
        design[0][i] = 1, design[1][i] = z[i], design[2][i] = x[i];
    for (int k = 0; k < ALL; k++) {
        int order[N], taken = 0, code = k;
        for (int i = 0; i < N; i++) { /* the code in the system of factorials; the first is as they are */
            int skip = code % (N - i), at = 0;
            code /= N - i;
            while (taken >> at & 1 || skip-- > 0)
                at++;
            taken |= 1 << at;
            order[i] = at;
        }
        largest[k] = -INFINITY;
        for (int v = 0; v < 12; v++) {
            double y[N], my = 0, mz = 0, zz = 0, zy = 0, again[N];
            for (int i = 0; i < N; i++)
                my += (double)s.map[i]->data[v] / N, mz += z[i] / N;
            for (int i = 0; i < N; i++)
                zz += (z[i] - mz) * (z[i] - mz), zy += (z[i] - mz) * ((double)s.map[i]->data[v] - my);
            for (int i = 0; i < N; i++)
                y[i] = (double)s.map[i]->data[v] - my - zy / zz * (z[i] - mz);
            for (int i = 0; i < N; i++)
                again[i] = y[order[i]] + my + zy / zz * (z[i] - mz);
            one[v][k] = ref_glm_t_of_design(again, design[0], N, 3);
            largest[k] = fmax(largest[k], one[v][k]);
            observed[v] = k ? observed[v] : one[v][0];
        }
    }
    for (int v = 0; v < 12; v++) {
        int p = 0, p_fwe = 0;
        for (int k = 0; k < ALL; k++) {
            p += one[v][k] >= observed[v] - 1e-5 * fabs(observed[v]) - 1e-6;
            p_fwe += largest[k] >= observed[v] - 1e-5 * fabs(observed[v]) - 1e-6;
        }
        assert_that(fabs((double)r.t.p->data[v] - p / 120.) < 1e-6 &&
                        fabs((double)r.t.p_fwe->data[v] - p_fwe / 120.) < 1e-6,
                    "voxel %d: p %g and %g, not %d and %d of 120", v, (double)r.t.p->data[v],
                    (double)r.t.p_fwe->data[v], p, p_fwe);
    }
    clvox_stats_result_destroy(&r);
    release(&s);
}

/* The mean beside a covariate: the residuals against the centred covariate change their signs, and the model is fitted
 * anew to the covariate's part and these. */
static void flips_with_a_covariate(void **state)
{
    enum { N = 6, ALL = 64 };
    const int size[3] = {3, 2, 2};
    double z[N] = {.3, 1, -1, 2, .1, 5}, design[2][N], largest[ALL], one[12][ALL], middle = 0, zz = 0;
    study s = noise(size, N, 11);
    clvox_stats_result r;
    (void)state;
    assert_ok(
        run(&s, &(clvox_stats_design){.subjects = N, .covariates = z, .covariate_count = 1}, NULL, NULL, &r));
    assert_true(r.exact && r.permutations == ALL && r.dof == N - 2);
    for (int i = 0; i < N; i++)
        middle += z[i] / N;
    for (int i = 0; i < N; i++) {
        design[0][i] = z[i] - middle, design[1][i] = 1;
        zz += design[0][i] * design[0][i];
    }
    for (int k = 0; k < ALL; k++) {
        largest[k] = -INFINITY;
        for (int v = 0; v < 12; v++) {
            double slope = 0, again[N];
            for (int i = 0; i < N; i++)
                slope += design[0][i] * (double)s.map[i]->data[v] / zz;
            for (int i = 0; i < N; i++) {
                const double fit = slope * design[0][i], left = (double)s.map[i]->data[v] - fit;
                again[i] = fit + (k >> i & 1 ? -left : left);
            }
            one[v][k] = ref_glm_t_of_design(again, design[0], N, 2);
            largest[k] = fmax(largest[k], one[v][k]);
        }
    }
    for (int v = 0; v < 12; v++) {
        int p = 0, p_fwe = 0;
        const double least = one[v][0] - 1e-5 * fabs(one[v][0]) - 1e-6;
        for (int k = 0; k < ALL; k++) {
            p += one[v][k] >= least;
            p_fwe += largest[k] >= least;
        }
        assert_that(fabs((double)r.t.p->data[v] - p / 64.) < 1e-6 &&
                        fabs((double)r.t.p_fwe->data[v] - p_fwe / 64.) < 1e-6,
                    "voxel %d: p %g and %g, not %d and %d of 64", v, (double)r.t.p->data[v],
                    (double)r.t.p_fwe->data[v], p, p_fwe);
    }
    clvox_stats_result_destroy(&r);
    release(&s);
}

/* Every arrangement, and every choice of signs, is drawn as often: chi squared of 30,000 draws. */
static void drawn_alike(void **state)
{
    enum { SEEDS = 300, EACH = 100 };
    static const double values[5] = {3, 1, 4, 1.5, 9};
    float batch[CLV_GLM_BATCH * 7 * 2];
    (void)state;
    for (int flips = 0; flips < 2; flips++) {
        const int n = flips ? 7 : 5, kinds = flips ? 128 : 120;
        int counts[128] = {0};
        double chi = 0, expected = (double)SEEDS * (EACH - 1) / kinds;
        clv_stats_model m;
        assert_ok(clv_stats_model_make(&(clvox_stats_design){.subjects = n, .tested = flips ? NULL : values},
                                       false, &m));
        for (int seed = 0; seed < SEEDS; seed++) {
            clv_stats_permuter p;
            assert_ok(clv_stats_permuter_make(&m, EACH, seed, &p));
            for (int k = 0; k < EACH; k++) {
                int code = 0;
                clv_stats_permute(&p, 0, batch);
                for (int i = 0; i < n; i++) {
                    int rank = p.row[i] < 0;
                    for (int j = i + 1; j < n && !flips; j++)
                        rank += p.row[j] < p.row[i];
                    code = code * (flips ? 2 : n - i) + rank;
                }
                counts[code] += k > 0; /* the first is no draw */
            }
            clv_stats_permuter_free(&p);
        }
        for (int k = 0; k < kinds; k++)
            chi += pow(counts[k] - expected, 2) / expected;
        assert_that(fabs(chi - (kinds - 1)) < 5 * sqrt(2. * (kinds - 1)), "chi squared is %g of %d", chi,
                    kinds - 1);
        clv_stats_model_free(&m);
    }
}

/* ---- p ------------------------------------------------------------------- */

/* Three against three: 20 relabellings, of which the values' ranks say how many have as large a difference. */
static void three_against_three(void **state)
{
    static const float values[4][6] = {
        {1, 2, 3, 4, 5, 6}, /* the most that there is: 1 of 20 */
        {1, 2, 4, 3, 5, 6}, /* sum 14 of the largest 15: 2 of 20 */
        {1, 4, 5, 2, 3, 6}, /* sum 11: of 15, 14, 13, 13, 12, 12, 12, 11, 11, 11, 10 ... 10 of 20 */
        {2, 2, 2, 2, 2, 3}, /* ties: the one 3 is in the group in half of them */
    };
    static const double group[6] = {0, 0, 0, 1, 1, 1}, want[4] = {1, 2, 10, 10};
    static const double both[4] = {2, 4, 20, 20};
    study s = noise((const int[3]){4, 1, 1}, 6, 1);
    clvox_stats_options o;
    clvox_stats_result r;
    (void)state;
    for (int v = 0; v < 4; v++)
        for (int i = 0; i < 6; i++)
            s.map[i]->data[v] = values[v][i];
    for (int two = 0; two < 2; two++) {
        clvox_stats_defaults(&o);
        o.permutations = 20;
        o.two_sided = two;
        assert_ok(run(&s, &(clvox_stats_design){.subjects = 6, .tested = group}, NULL, &o, &r));
        assert_true(r.exact && r.permutations == 20 && r.dof == 4);
        for (int v = 0; v < 4; v++)
            assert_that(fabs((double)r.t.p->data[v] * 20 - (two ? both : want)[v]) < 1e-5, "p is %g of 20",
                        (double)r.t.p->data[v] * 20);
        assert_true(fabs(r.t.smallest_p - (two ? .1 : .05)) < 1e-9);
        clvox_stats_result_destroy(&r);
        o.permutations = 19; /* one too few */
        o.one_minus_p = 1;
        assert_ok(run(&s, &(clvox_stats_design){.subjects = 6, .tested = group}, NULL, &o, &r));
        assert_true(!r.exact && r.permutations == 19);
        assert_true((double)r.t.p->data[0] <= 18 / 19. + 1e-6 && r.t.p->data[0] > .5f &&
                    isnan(r.t.threshold));
        clvox_stats_result_destroy(&r);
    }
    release(&s);
}

/* The mean of four: 16 sign flips. */
static void four_signs(void **state)
{
    static const float values[2][4] = {{1, 2, 3, 4}, {1, 2, -3, 4}};
    static const double want[2] = {1, 5}; /* 4: the sums 10, 8, 6, 4 (of -3 and of -1 -2) are as large */
    study s = noise((const int[3]){1, 2, 1}, 4, 1);
    clvox_stats_options o;
    clvox_stats_result r;
    (void)state;
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < 4; i++)
            s.map[i]->data[v] = values[v][i];
    clvox_stats_defaults(&o);
    assert_ok(run(&s, &(clvox_stats_design){.subjects = 4}, NULL, &o, &r));
    assert_true(r.exact && r.permutations == 16 && r.dof == 3);
    for (int v = 0; v < 2; v++)
        assert_that(fabs((double)r.t.p->data[v] * 16 - want[v]) < 1e-5, "p is %g of 16",
                    (double)r.t.p->data[v] * 16);
    assert_true(fabs((double)r.t.statistic->data[0] - 2.5 / sqrt(5. / 3 / 4)) < 1e-5);
    clvox_stats_result_destroy(&r);
    release(&s);
}

/* p of noise against the diagonal: Kolmogorov and Smirnov's distance. Voxels are independent. */
static void uniform_under_the_null(void **state)
{
    const int size[3] = {19, 13, 11}, n = 19 * 13 * 11, subjects = 14;
    clvox_stats_options o;
    clvox_stats_result r;
    double age[14], covariate[14];
    (void)state;
    for (int i = 0; i < 14; i++)
        age[i] = clv_phantom_normal(21, (uint64_t)i),
        covariate[i] = age[i] + clv_phantom_normal(22, (uint64_t)i);
    for (int test = 0; test < 3; test++) {
        study s = noise(size, subjects, 17 + (unsigned)test);
        clvox_stats_defaults(&o);
        o.permutations = 999;
        const clvox_stats_design d = {.subjects = subjects,
                                      .tested = test == 0   ? halves
                                                : test == 1 ? age
                                                            : NULL,
                                      .covariates = covariate,
                                      .covariate_count = test == 1};
        assert_ok(run(&s, &d, NULL, &o, &r));
        int counts[1000] = {0}, sum = 0;
        double apart = 0;
        for (int v = 0; v < n; v++)
            counts[(int)lround((double)r.t.p->data[v] * 999)]++;
        for (int k = 1; k <= 999; k++) {
            sum += counts[k];
            apart = fmax(apart, fabs((double)sum / n - k / 999.));
        }
        /* A tail of .001 for that many voxels, and the spread that one draw of permutations gives. */
        assert_that(apart < 1.95 / sqrt(n) + .01, "test %d: the distance is %g", test, apart);
        clvox_stats_result_destroy(&r);
        release(&s);
    }
}

/* About 1 in 20 studies without an effect has a voxel of p_fwe <= .05; a true effect is found. */
static void family_wise(void **state)
{
    const int size[3] = {3, 3, 2}, studies = 300;
    clvox_stats_options o;
    clvox_stats_result r;
    int wrong[2] = {0}, found = 0;
    (void)state;
    for (int k = 0; k < studies; k++) {
        study s = noise(size, 10, 1000 + (unsigned)k);
        clvox_stats_defaults(&o);
        o.permutations = 100; /* of 252 */
        o.seed = k;
        o.tfce = 1;
        const clvox_stats_design d = {.subjects = 10, .tested = halves};
        assert_ok(run(&s, &d, NULL, &o, &r));
        wrong[0] += r.t.significant > 0;
        wrong[1] += r.tfce.significant > 0;
        clvox_stats_result_destroy(&r);
        if (k < 20) {
            for (int i = 0; i < 10; i++)
                s.map[i]->data[7] += 6 * (float)halves[i];
            o.tfce = 0;
            assert_ok(run(&s, &d, NULL, &o, &r));
            found += r.t.p_fwe->data[7] <= .05f && r.t.peak[0] == 1 && r.t.peak[1] == 2 && r.t.peak[2] == 0;
            clvox_stats_result_destroy(&r);
        }
        release(&s);
    }
    for (int i = 0; i < 2; i++) /* binomial: 15, three deviations of 3.8 */
        assert_that(wrong[i] >= 4 && wrong[i] <= 26, "%d of %d studies find what is not there", wrong[i],
                    studies);
    assert_that(found >= 18, "the effect is found in %d of 20", found);
}

/* ---- voxels, pieces, seeds ----------------------------------------------- */

static void left_out(void **state)
{
    study s = noise((const int[3]){5, 3, 2}, 8, 2);
    clvox_volume *mask = NULL;
    clvox_stats_result r;
    clvox_stats_options o;
    (void)state;
    clvox_stats_defaults(&o);
    o.permutations = 30;
    assert_ok(clvox_volume_create(&s.map[0]->grid, 1, CLVOX_KIND_SCALAR, &mask));
    for (int v = 0; v < 30; v++)
        mask->data[v] = v < 20;
    s.map[3]->data[4] = NAN;
    s.map[5]->data[6] = -INFINITY;
    for (int i = 0; i < 8; i++) {
        s.map[i]->data[7] = 0;
        s.map[i]->data[8] = .1f;
        s.map[i]->data[9] = 5 + (float)halves[i]; /* no constant, but fitted perfectly */
        s.map[i]->data[25] = 1e30f * (float)halves[i];
    }
    const clvox_stats_design d = {.subjects = 8, .tested = halves};
    assert_ok(run(&s, &d, mask, &o, &r));
    assert_true(r.asked == 20 && r.tested == 15 && r.not_finite == 2 && r.constant == 2 && r.perfect == 1);
    assert_true(r.t.largest < 20);
    const int out[] = {4, 6, 7, 8, 9, 20, 25, 29};
    for (int k = 0; k < 8; k++)
        assert_true(r.t.statistic->data[out[k]] == 0 && r.t.p->data[out[k]] == 1 &&
                    r.t.p_fwe->data[out[k]] == 1);
    clvox_stats_result_destroy(&r);
    memset(mask->data, 0, 30 * sizeof(float));
    mask->data[7] = mask->data[4] = 1;
    assert_int_equal(run(&s, &d, mask, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(
        strstr(clvox_message(),
               "of 2 in the mask, 1 have values that are not finite, 1 do not vary and 0 vary with"));
    clvox_volume_destroy(&mask);
    release(&s);
}

static void same_maps(const clvox_stats_map *a, const clvox_stats_map *b)
{
    const clvox_volume *const x[3] = {a->statistic, a->p, a->p_fwe}, *const y[3] = {b->statistic, b->p,
                                                                                    b->p_fwe};
    for (int i = 0; i < 3; i++)
        assert_memory_equal(x[i]->data, y[i]->data, clvox_grid_voxels(&x[i]->grid) * sizeof(float));
}

/* With these values a voxel is left out, and all others are as if a mask had left it out. */
static void same_but_for(const study *s, const clvox_stats_design *d, int voxel, const double *values)
{
    clvox_stats_options o;
    clvox_stats_result with, without;
    clvox_volume *mask = NULL;
    float kept[MOST];
    const size_t n = clvox_grid_voxels(&s->map[0]->grid);
    clvox_stats_defaults(&o);
    o.permutations = 60;
    o.tfce = 1;
    assert_ok(clvox_volume_create(&s->map[0]->grid, 1, CLVOX_KIND_SCALAR, &mask));
    for (size_t v = 0; v < n; v++)
        mask->data[v] = v != (size_t)voxel;
    assert_ok(run(s, d, mask, &o, &without));
    for (int i = 0; i < s->count; i++) {
        kept[i] = s->map[i]->data[voxel];
        s->map[i]->data[voxel] = (float)values[i];
    }
    assert_ok(run(s, d, NULL, &o, &with));
    assert_true(with.tested == n - 1 && with.constant + with.perfect == 1);
    same_maps(&with.t, &without.t);
    same_maps(&with.tfce, &without.tfce);
    for (int i = 0; i < s->count; i++)
        s->map[i]->data[voxel] = kept[i];
    clvox_stats_result_destroy(&with);
    clvox_stats_result_destroy(&without);
    clvox_volume_destroy(&mask);
}

/* A voxel that the design fits to rounding changes no other. */
static void without_variance(void **state)
{
    enum { N = 8 };
    static const double age[N] = {1, 2, 4, 3, 7, 9, 5, 8}, sex[N] = {0, 0, 1, 1, 0, 1, 1, 0};
    const int size[3] = {5, 4, 3}, at = 33;
    const clvox_stats_design groups = {.subjects = N, .tested = halves}, mean = {.subjects = N},
                             line = {N, age, sex, 1, NULL};
    double values[N];
    study s = noise(size, N, 21);
    (void)state;
    for (int i = 0; i < N; i++)
        for (int v = 0; v < 8; v++)
            s.map[i]->data[v] += 2 * (float)halves[i];
    for (int k = 0; k < 4; k++) { /* a mask; large values; and such with two roundings */
        for (int i = 0; i < N; i++)
            values[i] =
                (k == 0 ? 0 : 1000.1) + halves[i] * (k == 1 ? .01 : 1) + (k == 3 && i == 2 ? 1.3e-4 : 0);
        same_but_for(&s, &groups, at, values);
        for (int i = 0; i < N; i++)
            values[i] = (k == 0 ? 1 : k == 1 ? -3e-8 : 1000.1) + (k == 3 && i == 2 ? 1.3e-4 : 0);
        same_but_for(&s, &mean, at, values);
        for (int i = 0; i < N; i++)
            values[i] = (k == 0 ? 0 : 1000.1) + (k == 3 ? 0 : .25 * age[i]) - 2 * sex[i];
        same_but_for(&s, &line, at, values);
    }
    release(&s);
}

/* Each of many voxels is fitted by some permutations, to rounding beside a large value: they have no t
 * there, the largest of the others counts, and no voxel is left out. */
static void fitted_by_permutations(void **state)
{
    enum { N = 8 };
    const int size[3] = {5, 4, 3};
    study s = noise(size, N, 23);
    clvox_stats_options o;
    clvox_stats_result r;
    (void)state;
    clvox_stats_defaults(&o);
    o.tfce = 1;
    for (int two = 0; two < 2; two++) {
        o.two_sided = two;
        for (int flips = 0; flips < 2; flips++) {
            int made = 0;
            for (int code = 0; code < 256 && made < 24; code++) {
                int ones = 0;
                for (int i = 0; i < N; i++)
                    ones += code >> i & 1;
                if (ones == 4 && code != 0xaa && code != 0x55) { /* the groups as they are */
                    for (int i = 0; i < N; i++)
                        s.map[i]->data[36 + made] = (flips ? -.5f : 1000.1f) + (float)(code >> i & 1);
                    if (!flips)
                        s.map[5]->data[36 + made] += 1.3e-4f;
                    made++;
                }
            }
            for (int i = 0; i < N; i++)
                s.map[i]->data[7] = 4 * (flips ? 1 : (float)halves[i]) + .3f * (float)(i * i % 5);
            assert_ok(
                run(&s, &(clvox_stats_design){.subjects = N, .tested = flips ? NULL : halves}, NULL, &o, &r));
            assert_true(r.exact && r.tested == 60);
            assert_that(r.t.threshold < 15 && r.tfce.threshold < 600, "the thresholds are %g and %g",
                        r.t.threshold, r.tfce.threshold);
            assert_true(r.t.p_fwe->data[7] <= .05f && r.tfce.p_fwe->data[7] <= .05f);
            clvox_stats_result_destroy(&r);
        }
    }
    release(&s);
}

/* A variance small beside large values, but above rounding, is tested, and its t right in all permutations; TFCE of
 * the others stays. */
static void little_variance(void **state)
{
    enum { N = 8 };
    study s = noise((const int[3]){5, 4, 3}, N, 22);
    clvox_stats_options o;
    clvox_stats_result r[2];
    (void)state;
    clvox_stats_defaults(&o);
    o.tfce = 1;
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++) {
            for (int v = 0; v < 8; v++)
                s.map[i]->data[v] += k ? 0 : 4;
            s.map[i]->data[33] = 1000 + (float)(k ? .01 : 1) * s.map[i]->data[59];
        }
        assert_ok(run(&s, &(clvox_stats_design){.subjects = N}, NULL, &o, &r[k]));
        assert_true(r[k].tested == 60 && r[k].t.peak[0] == 3 && r[k].t.peak[1] == 2 && r[k].t.peak[2] == 1);
        double mean = 0, squares = 0;
        for (int i = 0; i < N; i++)
            mean += (double)s.map[i]->data[33] / N;
        for (int i = 0; i < N; i++)
            squares += pow((double)s.map[i]->data[33] - mean, 2);
        assert_true(fabs(r[k].t.largest / (mean / sqrt(squares / 7 / N)) - 1) < 1e-5);
        assert_true(r[k].t.p->data[33] == 1 / 256.f && r[k].t.p_fwe->data[33] == 1 / 256.f);
        for (int v = 0; v < 8; v++)
            assert_that(r[k].tfce.statistic->data[v] > 1 && r[k].tfce.p_fwe->data[v] <= .05f,
                        "TFCE of %d is %g", v, (double)r[k].tfce.statistic->data[v]);
    }
    for (int k = 0; k < 2; k++)
        clvox_stats_result_destroy(&r[k]);
    release(&s);
}

/* One 4-D volume, little device memory and another number of threads change no bit; a seed does. */
static void same_bits(void **state)
{
    const int size[3] = {11, 7, 13}, n = 1001;
    study s = noise(size, 13, 9);
    clvox_volume *all = NULL;
    clvox_stats_options o;
    clvox_stats_result r, other;
    (void)state;
    clvox_stats_defaults(&o);
    o.permutations = 150;
    o.two_sided = o.tfce = 1;
    const clvox_stats_design d = {.subjects = 13, .tested = halves};
    assert_ok(run(&s, &d, NULL, &o, &r));
    assert_ok(clvox_volume_create(&s.map[0]->grid, 13, CLVOX_KIND_SCALAR, &all));
    for (int i = 0; i < 13; i++)
        memcpy(all->data + i * n, s.map[i]->data, (size_t)n * sizeof(float));
    o.memory = .17; /* MiB, of which the weights take a tenth */
    assert_ok(clvox_stats(ctx, (const clvox_volume *const[]){all}, 1, &d, NULL, &o, &other));
    same_maps(&r.t, &other.t);
    same_maps(&r.tfce, &other.tfce);
    clvox_stats_result_destroy(&other);
    o.memory = .1;
    assert_int_equal(run(&s, &d, NULL, &o, &other), CLVOX_ERROR_MEMORY);
    o.memory = 0;
    o.seed = 1;
    assert_ok(run(&s, &d, NULL, &o, &other));
    assert_true(memcmp(r.t.p->data, other.t.p->data, (size_t)n * sizeof(float)) != 0);
    assert_memory_equal(r.t.statistic->data, other.t.statistic->data, (size_t)n * sizeof(float));
    clvox_stats_result_destroy(&other);
    clvox_stats_result_destroy(&r);
    clvox_volume_destroy(&all);
    release(&s);
}

/* ---- what cannot be tested ------------------------------------------------ */

static int give_up(void *user, const clvox_step *step)
{
    return step->fraction > 0 && ++*(int *)user;
}

static void refused(void **state)
{
    static const double one[6] = {1, 1, 1, 1, 1, 1}, line[6] = {1, 2, 3, 4, 5, 6},
                        nan_in[6] = {0, 1, 0, NAN, 0, 1};
    static const double twice[3][6] = {{1, 2, 3, 4, 5, 6}, {3, 5, 7, 9, 11, 13}, {0, 1, 0, 0, 1, 1}};
    static const char *const names[4] = {"group", "age", "months", "sex"};
    study s = noise((const int[3]){3, 3, 3}, 6, 4);
    clvox_volume *other = NULL;
    clvox_grid grid;
    clvox_stats_result r;
    clvox_stats_options o;
    int looks = 0;
    (void)state;
    const struct {
        clvox_stats_design d;
        const char *says;
    } bad[] = {
        {{.subjects = 6, .tested = one, .names = names}, "group has one value in all 6 subjects"},
        {{.subjects = 6, .tested = nan_in, .names = names}, "group of subject 4 is not a finite number"},
        {{6, halves, one, 1, names}, "age has one value"},
        {{6, halves, twice[0], 2, names}, "months is a combination of the covariates before it"},
        {{6, line, twice[1], 1, names}, "group is a combination of the covariates"},
        {{2, halves, NULL, 0, names}, "a design of 2 columns needs at least 3 subjects; given: 2"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(run(&s, &bad[k].d, NULL, NULL, &r), CLVOX_ERROR_DATA);
        assert_that(strstr(clvox_message(), bad[k].says) != NULL, "%s", clvox_message());
        assert_null(r.t.p);
    }
    const clvox_stats_design d = {.subjects = 6, .tested = halves};
    clvox_phantom_grid((const int[3]){3, 3, 4}, (const double[3]){1, 1, 1}, false, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &other));
    assert_int_equal(run(&s, &d, other, NULL, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "mask"));
    clvox_volume *kept = s.map[2];
    s.map[2] = other;
    assert_int_equal(run(&s, &d, NULL, NULL, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "map 3 is on another grid"));
    s.map[2] = kept;
    s.count = 5;
    assert_int_equal(run(&s, &d, NULL, NULL, &r), CLVOX_ERROR_ARGUMENT);
    s.count = 6;
    clvox_stats_defaults(&o);
    o.permutations = 0;
    assert_int_equal(run(&s, &d, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    clvox_stats_defaults(&o);
    o.progress = give_up;
    o.user = &looks;
    assert_int_equal(run(&s, &(clvox_stats_design){.subjects = 6, .tested = line}, NULL, &o, &r),
                     CLVOX_ERROR_STOPPED);
    assert_int_equal(looks, 1);
    clvox_stats_result_destroy(&r);
    clvox_stats_result_destroy(NULL);
    clvox_volume_destroy(&other);
    release(&s);
}

int main(void)
{
    ctx = harness_open();
    test_case(two_groups, "the two-sample t by its formula");
    test_case(regression, "t with nuisances by the normal equations, and of the mean");
    test_case(freedman_lane, "all 120 permutations of Freedman and Lane, one by one");
    test_case(flips_with_a_covariate, "all 64 sign flips beside a covariate, one by one");
    test_case(drawn_alike, "random permutations and signs are drawn alike");
    test_case(three_against_three, "p of three against three, by hand");
    test_case(four_signs, "p of four sign flips, by hand");
    test_case(uniform_under_the_null, "p is uniform where there is no effect");
    test_case(family_wise, "1 in 20 studies without an effect finds one; a planted one is found");
    test_case(left_out, "voxels that are not finite or constant are left out and counted");
    test_case(without_variance, "a voxel without residual variance changes no other's result");
    test_case(fitted_by_permutations, "what only permutations fit has no t in them");
    test_case(little_variance,
              "a voxel with little variance beside large values is tested, and does not hide others");
    test_case(same_bits, "4-D data and little memory change no bit, a seed does");
    test_case(refused, "designs and maps that make no sense");
    return test_run("stats", harness_close);
}
