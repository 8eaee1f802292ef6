/* SPDX-License-Identifier: Apache-2.0 */
/* Entropy of templates: against a plain computation, and where the answer is known. */
#include "check.h"

#include "base/random.h"
#include "clvox/stats.h"
#include "clvox/threads.h"

enum { MOST = 8 };

static clvox_volume *make(int nx, int ny, int nz, int frames)
{
    clvox_grid grid = {{nx, ny, nz}, {{2}, {0, 1, 0.3}, {0, 0, 3}, {0, 0, 0, 1}}};
    clvox_volume *v = NULL;
    assert_that(clvox_volume_create(&grid, frames, CLVOX_KIND_SCALAR, &v) == CLVOX_OK, "%s", clvox_message());
    return v;
}

/* Uniform in 0 to below 1. */
static double uniform(uint64_t seed, uint64_t i)
{
    return (double)(clv_random(seed, i) >> 11) * 0x1p-53;
}

static void fill(clvox_volume *v, int seed)
{
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        v->data[i] = (float)(300 * uniform((uint64_t)seed, i) - 50 * seed);
}

/* ---- the plain computation ----------------------------------------------- */

/* The entropy of the mean of the first k of an order, in double precision. */
static double plain_entropy(clvox_volume *const *maps, const int *order, int k, const clvox_volume *mask,
                            int subjects, int bins)
{
    const size_t voxels = clvox_grid_voxels(&maps[0]->grid);
    double *histogram = calloc((size_t)bins, sizeof *histogram), count = 0, low = INFINITY, high = -INFINITY,
           sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < voxels; i++) {
            double mean = 0;
            bool counts = !mask || mask->data[i] > 0;
            for (int s = 0; s < subjects; s++)
                counts = counts && isfinite(maps[s]->data[i]);
            if (!counts)
                continue;
            for (int s = 0; pass == 0 && s < subjects; s++) {
                low = fmin(low, maps[s]->data[i]);
                high = fmax(high, maps[s]->data[i]);
            }
            for (int s = 0; s < k; s++)
                mean += maps[order[s]]->data[i] / (double)k;
            if (pass == 1) {
                const int b = (int)((mean - low) / (high - low) * bins);
                histogram[b < bins ? b : bins - 1]++;
                count++;
            }
        }
    for (int b = 0; b < bins; b++)
        sum -= histogram[b] > 0 ? histogram[b] / count * log2(histogram[b] / count) : 0;
    free(histogram);
    return sum;
}

/* The order of a draw: the last place takes any, the next one any of the others, and so on. */
static void plain_order(int seed, int draw, int subjects, int *order)
{
    for (int s = 0; s < subjects; s++)
        order[s] = s;
    for (int s = subjects - 1; s > 0; s--) {
        const int other = clv_random_below((uint64_t)seed, (uint64_t)draw << 32 | (uint64_t)s, s + 1),
                  kept = order[s];
        order[s] = order[other];
        order[other] = kept;
    }
}

static clvox_entropy_result computed(clvox_volume *const *maps, int count, const clvox_volume *mask,
                                     const clvox_entropy_options *o)
{
    clvox_entropy_result result;
    assert_that(clvox_entropy((const clvox_volume *const *)maps, count, mask, o, &result) == CLVOX_OK, "%s",
                clvox_message());
    return result;
}

static void it_is_that_of_the_plain_computation(void **state)
{
    (void)state;
    enum { SUBJECTS = 5, DRAWS = 7, BINS = 33 };
    clvox_volume *maps[SUBJECTS], *mask = make(7, 11, 5, 1), *series = make(7, 11, 5, SUBJECTS);
    const size_t voxels = clvox_grid_voxels(&mask->grid);
    clvox_entropy_options o;
    clvox_entropy_defaults(&o);
    o.draws = DRAWS;
    o.bins = BINS;
    o.seed = 3;
    for (int s = 0; s < SUBJECTS; s++) {
        maps[s] = make(7, 11, 5, 1);
        fill(maps[s], s);
    }
    for (size_t i = 0; i < voxels; i++)
        mask->data[i] = i % 3 > 0;
    maps[2]->data[100] = NAN;
    maps[4]->data[101] = INFINITY;
    maps[4]->data[102] = -INFINITY; /* not in the mask */
    for (int s = 0; s < SUBJECTS; s++)
        memcpy(series->data + (size_t)s * voxels, maps[s]->data, voxels * sizeof(float));
    for (int masked = 0; masked < 2; masked++) {
        clvox_entropy_result r = computed(maps, SUBJECTS, masked ? mask : NULL, &o),
                             again = computed(&series, 1, masked ? mask : NULL, &o);
        assert_true(r.rows == SUBJECTS && r.asked == (masked ? voxels - (voxels + 2) / 3 : voxels) &&
                    r.counted == r.asked - (masked ? 2 : 3));
        for (int k = 1; k <= SUBJECTS; k++) {
            double mean = 0, squares = 0, entropy[DRAWS];
            int order[SUBJECTS];
            for (int d = 0; d < DRAWS; d++) {
                plain_order(o.seed, d, SUBJECTS, order);
                entropy[d] = plain_entropy(maps, order, k, masked ? mask : NULL, SUBJECTS, BINS);
                mean += entropy[d] / DRAWS;
            }
            for (int d = 0; d < DRAWS; d++)
                squares += (entropy[d] - mean) * (entropy[d] - mean);
            const clvox_entropy_row *row = &r.row[k - 1];
            assert_that(row->subjects == k && fabs(row->mean - mean) < 1e-9 &&
                            fabs(row->sd - sqrt(squares / (DRAWS - 1))) < 1e-8,
                        "%d subjects: %g +- %g, not %g +- %g", k, row->mean, row->sd, mean,
                        sqrt(squares / (DRAWS - 1)));
            assert_true(row->low <= row->mean && row->mean <= row->high);
        }
        assert_memory_equal(r.row, again.row, SUBJECTS * sizeof *r.row);
        clvox_entropy_result_destroy(&r);
        clvox_entropy_result_destroy(&again);
    }
    for (int s = 0; s < SUBJECTS; s++)
        clvox_volume_destroy(&maps[s]);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&series);
}

/* ---- known answers ------------------------------------------------------- */

static void alike_images(void **state)
{
    (void)state;
    clvox_volume *v = make(8, 8, 4, 1), *maps[MOST];
    for (int s = 0; s < MOST; s++)
        maps[s] = v;
    clvox_entropy_result r = computed(maps, MOST, NULL, NULL);
    for (int k = 0; k < MOST; k++)
        assert_true(r.row[k].mean == 0 && r.row[k].sd == 0 && r.row[k].low == 0 && r.row[k].high == 0);
    clvox_entropy_result_destroy(&r);
    for (int i = 0; i < 64; i++) /* a quarter of the voxels */
        v->data[i] = 7;
    r = computed(maps, MOST, NULL, NULL);
    for (int k = 0; k < MOST; k++)
        assert_that(fabs(r.row[k].mean - 0.8112781244591328) < 1e-14 && r.row[k].sd == 0, "%.16g",
                    r.row[k].mean);
    assert_true(r.lowest == 0 && r.highest == 7 && r.counted == 256);
    clvox_entropy_result_destroy(&r);
    clvox_volume_destroy(&v);
}

/* The mean of k images of independent normal noise is normal with 1 / sqrt k of the spread. */
static void noise(void **state)
{
    (void)state;
    enum { BINS = 64, DRAWS = 30 };
    clvox_volume *maps[MOST];
    clvox_entropy_options o;
    clvox_entropy_defaults(&o);
    o.draws = DRAWS;
    o.bins = BINS;
    for (int s = 0; s < MOST; s++) {
        maps[s] = make(37, 31, 29, 1);
        for (size_t i = 0; i < clvox_grid_voxels(&maps[s]->grid); i++)
            maps[s]->data[i] = (float)(sqrt(-2 * log(1 - uniform((uint64_t)s + 1, 2 * i))) *
                                       cos(6.283185307179586 * uniform((uint64_t)s + 1, 2 * i + 1)));
    }
    clvox_entropy_result r = computed(maps, MOST, NULL, &o);
    for (int k = 1; k <= MOST; k++) {
        const double bin = (r.highest - r.lowest) / BINS,
                     want = log2(sqrt(2 * 3.141592653589793 * exp(1) / k) / bin);
        assert_that(fabs(r.row[k - 1].mean - want) < 0.01, "%d: %g, not %g", k, r.row[k - 1].mean, want);
    }
    /* All subjects are one template in every draw. */
    assert_true(r.row[MOST - 1].sd == 0 && r.row[MOST - 1].low == r.row[MOST - 1].high);
    /* The interval is that of a mean of so many draws. */
    for (int k = 0; k < MOST - 1; k++) {
        const double width = (r.row[k].high - r.row[k].low) / (2 * 1.96 * r.row[k].sd / sqrt(DRAWS));
        assert_that(width > 0.8 && width < 1.2, "%d: %g", k + 1, width);
    }
    /* Whatever the number of threads. */
    clvox_threads_set(3);
    clvox_entropy_result other = computed(maps, MOST, NULL, &o);
    clvox_threads_set(0);
    assert_memory_equal(r.row, other.row, MOST * sizeof *r.row);
    clvox_entropy_result_destroy(&other);
    o.seed = 1;
    other = computed(maps, MOST, NULL, &o);
    assert_true(other.row[2].mean != r.row[2].mean && other.row[MOST - 1].mean == r.row[MOST - 1].mean);
    clvox_entropy_result_destroy(&other);
    clvox_entropy_result_destroy(&r);
    for (int s = 0; s < MOST; s++)
        clvox_volume_destroy(&maps[s]);
}

static int give_up(void *user, const clvox_step *step)
{
    (void)user, (void)step;
    return 1;
}

static void what_is_refused(void **state)
{
    (void)state;
    clvox_volume *a = make(3, 4, 5, 1), *b = make(3, 5, 4, 1), *two = make(3, 4, 5, 2),
                 *mask = make(3, 4, 5, 1);
    const clvox_volume *grids[] = {a, b}, *frames[] = {a, two}, *good[] = {a, a};
    clvox_entropy_options o;
    clvox_entropy_result r;
    clvox_entropy_defaults(&o);
    assert_int_equal(clvox_entropy(grids, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_entropy(frames, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_entropy(good, 0, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_entropy(good, 2, b, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_entropy(good, 2, mask, &o, &r), CLVOX_ERROR_DATA);
    assert_true(!r.row && !r.rows);
    o.draws = 0;
    assert_int_equal(clvox_entropy(good, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    o.draws = 1;
    o.bins = 1;
    assert_int_equal(clvox_entropy(good, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    o.bins = 2;
    o.progress = give_up;
    assert_int_equal(clvox_entropy(good, 2, NULL, &o, &r), CLVOX_ERROR_STOPPED);
    o.progress = NULL;
    assert_int_equal(clvox_entropy(good, 2, NULL, &o, &r), CLVOX_OK);
    assert_true(r.row[0].sd == 0); /* one draw */
    clvox_entropy_result_destroy(&r);
    clvox_entropy_result_destroy(NULL);
    for (int i = 0; i < 60; i++)
        a->data[i] = NAN;
    assert_int_equal(clvox_entropy(good, 1, NULL, &o, &r), CLVOX_ERROR_DATA);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clvox_volume_destroy(&two);
    clvox_volume_destroy(&mask);
}

int main(void)
{
    test_case(it_is_that_of_the_plain_computation,
              "it is that of the plain computation, from files of one or of many images");
    test_case(alike_images, "alike images: the entropy of one, without spread");
    test_case(noise, "noise: the entropy of a normal distribution of 1 / sqrt k; draws, seed, threads");
    test_case(what_is_refused, "what is refused");
    return test_run("entropy", NULL);
}
