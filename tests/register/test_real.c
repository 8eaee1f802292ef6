/* SPDX-License-Identifier: Apache-2.0 */
/* Real heads: skipped, saying so, where the shared images are missing. */
#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"

static clvox_context *ctx;
static const char *folder;

static clvox_volume *read(const char *name)
{
    char path[1024];
    clvox_volume *volume;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fclose(file);
    if (clvox_volume_read(path, &volume) < 0) {
        printf("Bail out! %s\n", clvox_message());
        exit(1);
    }
    return volume;
}

static void claire(void **state)
{
    (void)state;
    clvox_volume *fixed = read("pair_claire/brain01.nii.gz"), *moving = read("pair_claire/brain02.nii.gz");
    if (!fixed || !moving) {
        test_skip("no pair_claire in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_UNBIASED;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        o.linear = CLVOX_LINEAR_NONE;
        o.init = CLVOX_INIT_HEADER;
        assert_ok(clvox_register(ctx, &images, &o, &r));
        printf("# mismatch %.4f, J %.3f..%.3f, %ld folded, %.1f s\n", r.mismatch, r.jacobian.smallest,
               r.jacobian.largest, r.jacobian.folded, r.seconds_deform);
        assert_that(r.mismatch <= .15, "%.4f", r.mismatch);
        assert_true(r.jacobian.folded == 0 && r.jacobian.smallest > .049);
        clvox_register_result_destroy(&r);
    }
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

/* Mean Dice over the labels that occur in the fixed map. */
static double dice(const clvox_volume *a, const clvox_volume *b)
{
    enum { LABELS = 4096 };
    static int in_a[LABELS], in_b[LABELS], in_both[LABELS];
    memset(in_a, 0, sizeof in_a);
    memset(in_b, 0, sizeof in_b);
    memset(in_both, 0, sizeof in_both);
    size_t n = clvox_grid_voxels(&a->grid);
    for (size_t i = 0; i < n; i++) {
        int x = (int)a->data[i], y = (int)b->data[i];
        if (x < 0 || y < 0 || x >= LABELS || y >= LABELS)
            continue;
        in_a[x]++;
        in_b[y]++;
        in_both[x] += x == y;
    }
    double sum = 0;
    int count = 0;
    for (int k = 1; k < LABELS; k++)
        if (in_a[k]) {
            sum += 2. * in_both[k] / (in_a[k] + in_b[k]);
            count++;
        }
    return count ? sum / count : 0;
}

static double carried(const clvox_volume *labels, const clvox_volume *truth, const clvox_register_result *r,
                      bool with_warp)
{
    clvox_transform affine = {.is_warp = 0}, warp = {.is_warp = 1, .warp = r->warp};
    clvox_link links[2];
    int count = 0;
    clvox_volume *out;
    memcpy(affine.matrix, r->matrix, sizeof affine.matrix);
    if (with_warp)
        links[count++] = (clvox_link){&warp, 0};
    links[count++] = (clvox_link){&affine, 0};
    assert_ok(clvox_apply(ctx, labels, &truth->grid, links, count, CLVOX_INTERPOLATE_LABEL, 0, &out));
    double d = dice(truth, out);
    clvox_volume_destroy(&out);
    return d;
}

/* Two heads and their labels: fixed, moving, fixed, moving. The caller destroys what is not NULL. */
static bool read_heads(const int subjects[2], clvox_volume *v[4])
{
    char name[128];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "nichart_2mm_labelled/Subj%d_T1%s.nii.gz", subjects[i & 1],
                 i < 2 ? "" : "_DLMUSE");
        v[i] = read(name);
    }
    return v[0] && v[1] && v[2] && v[3];
}

static const int nichart_pairs[6][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {2, 9}, {4, 1}};

static void nichart_subj_subj_dice_rises_over(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_volume *v[4];
    if (!read_heads(nichart_pairs[k], v)) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_UNBIASED;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        o.init = CLVOX_INIT_MOMENTS;
        const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1, .fixed_mask = v[2], .moving_mask = v[3]};
        assert_ok(clvox_register(ctx, &images, &o, &r));
        double before = carried(v[3], v[2], &r, false), after = carried(v[3], v[2], &r, true);
        printf("# Dice %.3f -> %.3f, J %.3f..%.3f, sd log J %.3f, %.1f s\n", before, after,
               r.jacobian.smallest, r.jacobian.largest, r.jacobian.sd_log, r.seconds_deform);
        assert_that(after > before + .05, "%.3f -> %.3f", before, after);
        assert_true(r.jacobian.folded == 0 && r.jacobian.smallest > .049);
        clvox_register_result_destroy(&r);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&v[i]);
}

static void nichart(void)
{
    for (int k = 0; k < 6; k++)
        test_case_at(nichart_subj_subj_dice_rises_over, TEST_AT(k),
                     "nichart Subj%d <- Subj%d: Dice rises over the affine's, nothing folded",
                     nichart_pairs[k][0], nichart_pairs[k][1]);
}

/* Values that background, skull, cerebrospinal fluid, grey and white matter and fat of T1 become. */
static const double t2_like[6] = {0, .05, 1, .65, .4, .7}, density_like[6] = {0, .1, .85, .8, .65, .8};

static void recolour(clvox_volume *v, const double to[6])
{
    static const double from[6] = {0, .08, .2, .5, .75, 1.2};
    double high = 0;
    size_t n = clvox_grid_voxels(&v->grid), above = 0, head = 0;
    for (size_t i = 0; i < n; i++)
        high = fmax(high, v->data[i]);
    do { /* what a hundredth of the head exceeds becomes 1 */
        high *= .98;
        above = head = 0;
        for (size_t i = 0; i < n; i++) {
            above += v->data[i] > high;
            head += v->data[i] > .2 * high;
        }
    } while (above * 100 < head);
    for (size_t i = 0; i < n; i++) {
        double x = fmin(v->data[i] / high, from[5]);
        int k = 1;
        while (x > from[k])
            k++;
        v->data[i] = (float)(to[k - 1] + (to[k] - to[k - 1]) * (x - from[k - 1]) / (from[k] - from[k - 1]));
    }
}

/* The affine of this pair ends 11 mm off where mutual information alone leads. */
static void nichart_of_another_contrast(void **state)
{
    (void)state;
    clvox_volume *v[4];
    if (!read_heads((const int[2]){7, 8}, v)) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        recolour(v[1], t2_like);
        assert_ok(clvox_register(ctx, &images, &o, &r));
        double linear = carried(v[3], v[2], &r, false), all = carried(v[3], v[2], &r, true);
        printf("# Dice %.3f of the affine, %.3f, suspicions %#x\n", linear, all, r.suspicions);
        assert_that(r.suspicions || (linear > .35 && all > .5), "Dice %.3f, %.3f, and no suspicion", linear,
                    all);
        clvox_register_result_destroy(&r);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&v[i]);
}

/* T1 on FLAIR differs in grey and white matter alone, and its mirror image fits as well; T1 on T1 of
 * another scanner, or where few iterations leave much apart, differs in nothing. */
static void nichart_t1_on_flair(void **state)
{
    (void)state;
    static const char *const fixed[] = {"nichart_2mm_labelled/Subj4_FL.nii.gz",
                                        "pair_cfireants/small/MNI152_T1_2mm.nii.gz",
                                        "nichart_2mm_labelled/Subj6_T1.nii.gz", "nichart_2mm_labelled/Subj6_T1.nii.gz",
                                        "nichart_2mm_labelled/Subj6_T1.nii.gz"},
                      *const moving[] = {"nichart_2mm_labelled/Subj9_T1.nii.gz",
                                         "nichart_2mm_labelled/Subj7_T1.nii.gz",
                                         "nichart_2mm_labelled/Subj7_T1.nii.gz", "nichart_2mm_labelled/Subj7_T1.nii.gz",
                                         "nichart_2mm_labelled/Subj7_T1.nii.gz"};
    static const clvox_preset presets[] = {CLVOX_PRESET_DEFAULT, CLVOX_PRESET_DEFAULT, CLVOX_PRESET_QUICK,
                                           CLVOX_PRESET_REGULAR, CLVOX_PRESET_BEST};
    for (int k = 0; k < 5; k++) {
        clvox_volume *f = read(fixed[k]), *m = read(moving[k]);
        if (!f || !m) {
            test_skip("no %s or %s in %s", fixed[k], moving[k], folder);
        } else {
            const clvox_register_images images = {.fixed = {f}, .moving = {m}, .channels = 1};
            clvox_register_options o;
            clvox_register_result r;
            clvox_register_defaults(&o);
            clvox_register_preset(&o, presets[k]);
            o.by_contrast = 1;
            assert_ok(clvox_register(ctx, &images, &o, &r));
            assert_int_equal(r.metric, k ? CLVOX_METRIC_LNCC : CLVOX_METRIC_MIND);
            assert_int_equal(r.suspicions & CLVOX_SUSPECT_MIRRORED, 0);
            clvox_register_result_destroy(&r);
        }
        clvox_volume_destroy(&f);
        clvox_volume_destroy(&m);
    }
}

/* By LNCC this pair ends UNLIKE, at .62. */
static void nichart_like_proton_density(void **state)
{
    (void)state;
    clvox_volume *v[4];
    if (!read_heads((const int[2]){7, 3}, v)) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        o.by_contrast = 1;
        recolour(v[1], density_like);
        assert_ok(clvox_register(ctx, &images, &o, &r));
        double linear = carried(v[3], v[2], &r, false), all = carried(v[3], v[2], &r, true);
        printf("# Dice %.3f of the affine, %.3f, suspicions %#x\n", linear, all, r.suspicions);
        assert_int_equal(r.metric, CLVOX_METRIC_MIND);
        assert_that(all > linear + .1, "Dice %.3f, %.3f", linear, all);
        clvox_register_result_destroy(&r);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&v[i]);
}

/* Pairs whose affines leave much to be moved, and whether the moving one is made T2-like. By LNCC these heads
 * are UNLIKE; of the hippocampi the affine stage takes the contrasts for different ones. */
static const struct told {
    const char *name;
    int fixed, moving;
    bool other;
} told[] = {{"nichart_2mm_labelled/Subj%d_T1.nii.gz", 5, 7, false},
            {"nichart_2mm_labelled/Subj%d_T1.nii.gz", 7, 5, false},
            {"msd_hippocampus30/images/hippocampus_%03d.nii.gz", 34, 17, false},
            {"msd_hippocampus30/images/hippocampus_%03d.nii.gz", 20, 15, false},
            {"msd_hippocampus30/images/hippocampus_%03d.nii.gz", 34, 17, true},
            {"msd_hippocampus30/images/hippocampus_%03d.nii.gz", 20, 15, true}};

static void contrast_is_told(void **state)
{
    const struct told *given = &told[*(const int *)*state];
    clvox_volume *v[2];
    for (int i = 0; i < 2; i++) {
        char name[128];
        snprintf(name, sizeof name, given->name, i ? given->moving : given->fixed);
        v[i] = read(name);
    }
    if (!v[0] || !v[1]) {
        test_skip("no such images in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        clvox_register_preset(&o, CLVOX_PRESET_QUICK);
        o.by_contrast = 1;
        if (given->other)
            recolour(v[1], t2_like);
        assert_ok(clvox_register(ctx, &images, &o, &r));
        assert_int_equal(r.metric, given->other ? CLVOX_METRIC_MIND : CLVOX_METRIC_LNCC);
        clvox_register_result_destroy(&r);
    }
    for (int i = 0; i < 2; i++)
        clvox_volume_destroy(&v[i]);
}

static void contrasts(void)
{
    for (int k = 0; k < (int)(sizeof told / sizeof *told); k++)
        test_case_at(contrast_is_told, TEST_AT(k), "%s %d <- %d%s", k < 2 ? "nichart heads" : "hippocampi",
                     told[k].fixed, told[k].moving,
                     told[k].other ? ", made T2-like: synthesized" : ": of one contrast, by LNCC");
}

/* Mean distance of two maps at the corners of 70 mm around the middle of a grid. */
static double apart(const clvox_grid *grid, const double a[4][4], const double b[4][4])
{
    double middle[4] = {.5 * grid->size[0], .5 * grid->size[1], .5 * grid->size[2], 1}, sum = 0;
    for (int corner = 0; corner < 8; corner++) {
        double at[4] = {0, 0, 0, 1}, square = 0;
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 4; j++)
                at[i] += grid->to_ras[i][j] * middle[j];
            at[i] += corner >> i & 1 ? 35 : -35;
        }
        for (int i = 0; i < 3; i++) {
            double d = 0;
            for (int j = 0; j < 4; j++)
                d += (a[i][j] - b[i][j]) * at[j];
            square += d * d;
        }
        sum += sqrt(square) / 8;
    }
    return sum;
}

/* A moving mask without a ball of 25 mm about a place with tissue hardly matters. */
static void a_mask_without_a_lesion(void **state)
{
    static const double PLACE[3] = {30, 20, 20};
    const int *subjects = *state;
    clvox_volume *v[4], *mask;
    double matrix[2][4][4];
    if (!read_heads(subjects, v)) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        const clvox_grid *grid = &v[1]->grid;
        size_t i = 0;
        double middle[3], at[3];
        clv_matrix_apply(CLV_MATRIX(grid->to_ras), (double[3]){.5 * grid->size[0], .5 * grid->size[1], .5 * grid->size[2]},
                         middle);
        assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_LABEL, &mask));
        for (int z = 0; z < grid->size[2]; z++)
            for (int y = 0; y < grid->size[1]; y++)
                for (int x = 0; x < grid->size[0]; x++) {
                    clv_matrix_apply(CLV_MATRIX(grid->to_ras), (double[3]){x, y, z}, at);
                    mask->data[i++] = hypot(hypot(at[0] - middle[0] - PLACE[0], at[1] - middle[1] - PLACE[1]),
                                            at[2] - middle[2] - PLACE[2]) > 25;
                }
        for (int k = 0; k < 2; k++) {
            const clvox_register_images images = {
                .fixed = {v[0]}, .moving = {v[1]}, .channels = 1, .moving_mask = k ? mask : NULL};
            clvox_register_options o;
            clvox_register_result r;
            clvox_register_defaults(&o);
            o.deform = CLVOX_DEFORM_NONE;
            assert_ok(clvox_register(ctx, &images, &o, &r));
            memcpy(matrix[k], r.matrix, sizeof r.matrix);
            clvox_register_result_destroy(&r);
        }
        double mm = apart(&v[0]->grid, CLV_MATRIX(matrix[0]), CLV_MATRIX(matrix[1]));
        assert_that(mm < 2, "%g mm", mm);
        clvox_volume_destroy(&mask);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&v[i]);
}

static const int there_pairs[2][2] = {{1, 2}, {6, 7}};

/* Pairs on one grid, and on grids of other sizes. */
static void nichart_subj_subj_exchanged_syn_gives(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_volume *v[4];
    if (!read_heads(there_pairs[k], v)) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        clvox_register_options o;
        clvox_register_result a, b;
        clvox_register_defaults(&o);
        const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1};
        const clvox_register_images exchanged = {.fixed = {v[1]}, .moving = {v[0]}, .channels = 1};
        assert_ok(clvox_register(ctx, &images, &o, &a));
        assert_ok(clvox_register(ctx, &exchanged, &o, &b));
        double largest, first = pair_there_and_back(&a, &b, v[2], &largest);
        double second = pair_there_and_back(&b, &a, v[3], &largest);
        printf("# %.3f and %.3f voxels; J from %.3f and %.3f, sd log J %.3f and %.3f\n", first, second,
               a.jacobian.smallest, b.jacobian.smallest, a.jacobian.sd_log, b.jacobian.sd_log);
        assert_that(first <= .1 && second <= .1, "%.3f, %.3f voxels", first, second);
        assert_true(a.exchanged + b.exchanged == 1 && a.jacobian.folded == 0 && b.jacobian.folded == 0);
        clvox_register_result_destroy(&a);
        clvox_register_result_destroy(&b);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&v[i]);
}

static void there(void)
{
    for (int k = 0; k < 2; k++)
        test_case_at(nichart_subj_subj_exchanged_syn_gives, TEST_AT(k),
                     "nichart Subj%d, Subj%d: exchanged, syn gives the inverse to a tenth of a voxel",
                     there_pairs[k][0], there_pairs[k][1]);
}

/* Heads of different fields of view, one with its neck: information has a wrong
 * answer 12 mm away. */
static void exchange(void **state)
{
    (void)state;
    clvox_volume *fixed = read("nichart_2mm_labelled/Subj6_T1.nii.gz");
    clvox_volume *moving = read("nichart_2mm_labelled/Subj7_T1.nii.gz");
    if (!fixed || !moving) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        clvox_register_options o;
        clvox_register_result there, back, again;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_NONE;
        const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
        const clvox_register_images exchanged = {.fixed = {moving}, .moving = {fixed}, .channels = 1};
        assert_ok(clvox_register(ctx, &images, &o, &there));
        assert_ok(clvox_register(ctx, &exchanged, &o, &back));
        double product[4][4] = {{0}}, unit[4][4] = {{0}}, turned[4][4], undone[4][4] = {{0}};
        const double turn[4][4] = {{.8, -.6, 0, 25}, {.6, .8, 0, -20}, {0, 0, 1, 15}, {0, 0, 0, 1}};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                unit[i][j] = i == j;
                turned[i][j] = 0;
                for (int k = 0; k < 4; k++) {
                    product[i][j] += back.matrix[i][k] * there.matrix[k][j];
                    turned[i][j] += turn[i][k] * moving->grid.to_ras[k][j];
                }
            }
        double off = apart(&fixed->grid, (const double(*)[4])product, (const double(*)[4])unit);
        assert_that(off < .001, "%.5f mm", off);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                moving->grid.to_ras[i][j] = turned[i][j];
        assert_ok(clvox_register(ctx, &images, &o, &again));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++)
                for (int k = 0; k < 3; k++) /* the turn's inverse is its transpose */
                    undone[i][j] += turn[k][i] * (again.matrix[k][j] - (j == 3 ? turn[k][3] : 0));
        double from_there = apart(&fixed->grid, (const double(*)[4])undone, (const double(*)[4])there.matrix);
        printf("# exchanged %.3f mm, from a wrong header %.3f mm off\n", off, from_there);
        assert_that(from_there < 1, "%.3f mm", from_there);
        clvox_register_result_destroy(&there);
        clvox_register_result_destroy(&back);
        clvox_register_result_destroy(&again);
    }
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

/* A T2 template of newborns and T1 images of infants, which lack the cerebellum and whose headers are
 * turned by 180 degrees about the long axis of the body. Brains as wide as long fit by their outline in
 * many orientations: within mutual information, wrong ones have nine tenths and more of the right one's.
 * The right places are by way of the T1 template at twelve months, on which all lie by their detail (by
 * eye: ventricles, corpus callosum and cortex). */
static const struct {
    const char *file, *name;
    double truth[4][4];
} newborns[] = {
    {"Template-Month0-T1w",
     "at term",
     {{-1.2353, .0232, -.0884, 42.9606},
      {-.0933, -.9384, .2224, 24.0959},
      {-.1123, .1953, 1.0008, 18.7152},
      {0, 0, 0, 1}}},
    {"sub-0007_ses-V01_T1w",
     "of an infant",
     {{-1.0881, .5416, .1116, 16.7953},
      {-.5439, -.9545, .2318, 6.8937},
      {.2325, .1195, 1.0677, -5.4334},
      {0, 0, 0, 1}}},
};

static void newborn(void **state)
{
    const int *given = *state;
    char path[256];
    snprintf(path, sizeof path, "lifespan_bmex/%s.nii.gz", newborns[given[0]].file);
    clvox_volume *fixed = read("neonatal_serag/w40/T2.nii.gz"), *moving = read(path);
    if (!fixed || !moving) {
        test_skip("no neonatal_serag or lifespan_bmex in %s", folder);
    } else {
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_NONE;
        const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
        assert_ok(clvox_register(ctx, &images, &o, &r));
        double off = apart(&fixed->grid, (const double(*)[4])r.matrix, newborns[given[0]].truth);
        printf("# %.2f mm off\n", off);
        assert_that(off < 4, "%.2f mm", off);
        clvox_register_result_destroy(&r);
    }
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

/* Changes by rounding, on which devices differ, stay small. */
static void near_starts(void **state)
{
    (void)state;
    static const double start[3][4] = {{.9857, -.1288, -.0318, 4.2335}, {.0991, .8612, .4011, -3.7215},
                                       {-.0322, -.3996, .8995, -6.4611}};
    clvox_volume *fixed = read("nichart_2mm_labelled/Subj1_T1.nii.gz");
    clvox_volume *moving = read("nichart_2mm_labelled/Subj2_T1.nii.gz");
    clvox_volume *labels = read("nichart_2mm_labelled/Subj1_T1_DLMUSE.nii.gz");
    if (!fixed || !moving || !labels) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r[2];
        clvox_register_defaults(&o);
        o.linear = CLVOX_LINEAR_NONE;
        o.init = CLVOX_INIT_MATRIX;
        memcpy(o.matrix, start, sizeof start);
        for (int k = 0; k < 2; k++) {
            o.matrix[0][3] += 1e-5 * k;
            assert_ok(clvox_register(ctx, &images, &o, &r[k]));
        }
        double sum = 0, inside = 0;
        size_t n = clvox_grid_voxels(&fixed->grid), count = 0;
        for (size_t i = 0; i < n; i++) {
            double square = 0;
            for (size_t k = 0; k < 3; k++)
                square += pow((double)(r[0].warp->data[k * n + i] - r[1].warp->data[k * n + i]), 2);
            sum += sqrt(square) / 2 / (double)n; /* voxels of 2 mm */
            inside += labels->data[i] > 0 ? sqrt(square) / 2 : 0;
            count += labels->data[i] > 0;
        }
        inside /= (double)count;
        printf("# %.4f voxels apart, %.4f in the brain; LNCC %.4f, %.1f s\n", sum, inside, r[0].metric_after,
               r[0].seconds_deform);
        assert_that(sum <= .02 && inside <= .03, "%.4f voxels, %.4f in the brain", sum, inside);
        clvox_register_result_destroy(&r[0]);
        clvox_register_result_destroy(&r[1]);
    }
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    clvox_volume_destroy(&labels);
}

/* Hippocampi by number, fixed and moving. */
static const int hippocampi[][2] = {{1, 3}, {4, 6}, {7, 8}, {11, 14}};

/* Flows descend by steps whose lengths they search: the same question as for heads, in the mean over some
 * pairs. LDDMM by longer steps: .022. */
static void near_starts_of_flows(void **state)
{
    const int *given = *state;
    const double limit = .017;
    enum { PAIRS = sizeof hippocampi / sizeof *hippocampi };
    double all = 0;
    for (int p = 0; p < PAIRS; p++) {
        char name[128];
        clvox_volume *v[2];
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "msd_hippocampus30/images/hippocampus_%03d.nii.gz", hippocampi[p][i]);
            v[i] = read(name);
        }
        if (!v[0] || !v[1]) {
            test_skip("no msd_hippocampus30 in %s", folder);
            p = PAIRS;
        } else {
            const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1};
            clvox_register_options o;
            clvox_register_result linear, r[2];
            double largest;
            clvox_register_defaults(&o);
            o.deform = CLVOX_DEFORM_NONE;
            assert_ok(clvox_register(ctx, &images, &o, &linear));
            o.deform = (clvox_deform)given[0];
            clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
            o.linear = CLVOX_LINEAR_NONE;
            o.init = CLVOX_INIT_MATRIX;
            memcpy(o.matrix, linear.matrix, sizeof o.matrix);
            for (int k = 0; k < 2; k++) {
                o.matrix[0][3] += 1e-5 * k;
                assert_ok(clvox_register(ctx, &images, &o, &r[k]));
            }
            double apart = pair_distance(r[0].warp, r[1].warp, NULL, &largest);
            printf("# %.4f voxels apart, %.2f at most; LNCC %.4f\n", apart, largest, r[0].metric_after);
            all += apart / PAIRS;
            clvox_register_result_destroy(&linear);
            clvox_register_result_destroy(&r[0]);
            clvox_register_result_destroy(&r[1]);
        }
        clvox_volume_destroy(&v[0]);
        clvox_volume_destroy(&v[1]);
    }
    assert_that(all <= limit, "%.4f voxels in the mean", all);
}

static const struct {
    int subjects[2];
    double limit; /* mm */
} rows[2] = {{{2, 3}, .0005}, {{1, 2}, .0005}};

/* The affine, too, of images that differ by what rounding changes: on a CPU device .008 and .001 mm apart,
 * .15 and .06 where each step has samples of its own, .14 and .015 where detail is not about 0. */
static void nichart_subj_subj_values_off_by_3e_7(void **state)
{
    const int *given = *state;
    int row = given[0];
    const int *subjects = rows[row].subjects;
    clvox_volume *v[4];
    if (!read_heads(subjects, v)) {
        test_skip("no nichart_2mm_labelled in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {v[0]}, .moving = {v[1]}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r[3];
        double most = 0;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_NONE;
        for (int k = 0; k < 3; k++) {
            assert_ok(clvox_register(ctx, &images, &o, &r[k]));
            double off = apart(&v[0]->grid, (const double(*)[4])r[k].matrix, (const double(*)[4])r[0].matrix);
            most = off > most ? off : most;
            for (int i = 0; i < 2; i++)
                for (size_t j = 0; j < clvox_grid_voxels(&v[i]->grid); j++)
                    v[i]->data[j] *= 1 + 3e-7f * (float)((int)((j * 2654435761u) >> 7 & 3) - 1);
        }
        printf("# %.4f mm apart\n", most);
        assert_that(most <= rows[row].limit, "%.4f mm", most);
        for (int k = 0; k < 3; k++)
            clvox_register_result_destroy(&r[k]);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&v[i]);
}

static void near_images(void)
{
    for (int row = 0; row < 2; row++) {
        const int *subjects = rows[row].subjects;
        test_case_at(nichart_subj_subj_values_off_by_3e_7, TEST_AT(row),
                     "nichart Subj%d <- Subj%d: values off by 3e-7 of themselves lead to the same affine",
                     subjects[0], subjects[1]);
    }
}

static void large(void **state)
{
    (void)state;
    clvox_volume *fixed = read("ds002748_T1_brains_1mm/sub-52_T1w.nii.gz");
    clvox_volume *moving = read("ds002748_T1_brains_1mm/sub-56_T1w.nii.gz");
    if (!fixed || !moving) {
        test_skip("no ds002748_T1_brains_1mm in %s", folder);
    } else {
        const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
        clvox_register_options o;
        clvox_register_result r;
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_UNBIASED;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        o.iterations[0] = 50;
        o.iterations[1] = 20;
        o.iterations[2] = 3;
        assert_ok(clvox_register(ctx, &images, &o, &r));
        size_t predicted = clvox_register_bytes(&images, &o);
        printf("# %.0f MiB taken, %.0f MiB predicted; correlation %.3f -> %.3f -> %.3f\n",
               (double)r.device_bytes / 1048576, (double)predicted / 1048576, r.ncc_before, r.ncc_linear,
               r.ncc_after);
        assert_true(r.device_bytes <= predicted);
        assert_true(r.ncc_after > r.ncc_linear && r.jacobian.folded == 0);
        clvox_register_result_destroy(&r);
    }
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

static int tear_down(void **state)
{
    (void)state;
    clvox_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    folder = getenv("CLVOX_DATA") ? getenv("CLVOX_DATA") : CLVOX_DATA_DEFAULT;
    if (clvox_context_create(NULL, &ctx) < 0)
        return test_skip_all("%s", clvox_message());
    test_case(claire, "pair_claire: mismatch at most 0.15, nothing folded");
    nichart();
    test_case(nichart_of_another_contrast, "nichart Subj7 <- Subj8, made T2-like: right, or called suspicious");
    test_case(nichart_t1_on_flair, "T1 on FLAIR is told from T1 on T1");
    test_case(nichart_like_proton_density, "nichart Subj7 <- Subj3, made like proton density: synthesized");
    contrasts();
    test_case(exchange, "nichart Subj6, Subj7: exchanged, and from a wrong header, the same affine");
    for (int k = 0; k < 2; k++)
        test_case_at(newborn, TEST_AT(k), "neonatal T2 <- T1 %s, turned by 180 degrees: the right place",
                     newborns[k].name);
    there();
    test_case_at(a_mask_without_a_lesion, TEST_AT(8, 4), "nichart Subj8 <- Subj4: a mask without a lesion leaves the affine");
    test_case_at(a_mask_without_a_lesion, TEST_AT(7, 8), "nichart Subj7 <- Subj8: a mask without a lesion leaves the affine");
    test_case(near_starts, "nichart Subj1 <- Subj2: a start that is 1e-5 mm away leads to the same map");
    test_case_at(near_starts_of_flows, TEST_AT(CLVOX_DEFORM_LDDMM),
                 "hippocampi: lddmm from starts that are 1e-5 mm apart leads to nearly the same maps");
    test_case_at(near_starts_of_flows, TEST_AT(CLVOX_DEFORM_SHOOTING),
                 "hippocampi: shooting from starts that are 1e-5 mm apart leads to nearly the same maps");
    near_images();
    test_case(large, "ds002748 at 0.87 mm runs within the predicted memory");
    return test_run("real", tear_down);
}
