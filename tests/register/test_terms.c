/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of a deformation: several metrics on one pair, masks of single levels, and the room that models and
 * terms share. */
#include <string.h>

#include "mesh/meshes.h"
#include "op/harness.h"
#include "register/lease.h"
#include "register/pair.h"

static clvox_context *ctx;

/* ---- leases ---------------------------------------------------------------- */

/* Buffers of 4, 2, 3 and 2 units. */
enum { BUFFERS = 4, UNIT = 64 };
static const size_t units[BUFFERS] = {4, 2, 3, 2};

typedef struct room {
    clv_leases leases;
    clv_buffer *buffer[BUFFERS];
} room;

static void room_make(room *r)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < BUFFERS; i++) {
        r->buffer[i] = harness_output(ctx, units[i] * UNIT);
        clv_lease_lend(&r->leases, &r->buffer[i]);
        clv_lease_lend(&r->leases, &r->buffer[i]); /* twice is once */
    }
}

static void room_free(room *r)
{
    for (int i = 0; i < BUFFERS; i++)
        clv_buffer_destroy(&r->buffer[i]);
}

static void the_smallest_that_is_free(void **state)
{
    (void)state;
    room r;
    clv_buffer *b[5];
    room_make(&r);
    const size_t unit = r.buffer[1]->bytes / units[1]; /* the harness adds a guard to each */
    const clv_request of[] = {{&b[0], unit, "one"},
                              {&b[1], units[1] * UNIT, "two"},
                              {&b[2], 3 * UNIT, "three"},
                              {&b[3], UNIT, "four"},
                              {&b[4], UNIT, "five"}};
    assert_ok(clv_lease_take(&r.leases, of, 4));
    assert_ptr_equal(b[0], r.buffer[1]);
    assert_ptr_equal(b[1], r.buffer[3]);
    assert_ptr_equal(b[2], r.buffer[2]);
    assert_ptr_equal(b[3], r.buffer[0]);
    /* Nothing is left, and a failure takes nothing. */
    assert_int_equal(clv_lease_take(&r.leases, of + 4, 1), CLVOX_ERROR_MEMORY);
    assert_non_null(strstr(clvox_message(), "no room for the five"));
    assert_null(b[4]);
    assert_ok(clv_lease_give(&r.leases, of + 3, 1));
    assert_null(b[3]);
    const clv_request two[] = {{&b[3], UNIT, "four"}, {&b[4], UNIT, "five"}};
    assert_int_equal(clv_lease_take(&r.leases, two, 2), CLVOX_ERROR_MEMORY);
    assert_true(!b[3] && !b[4]);
    assert_ok(clv_lease_take(&r.leases, of + 4, 1));
    assert_ptr_equal(b[4], r.buffer[0]);
    /* None of the requests is given back twice. */
    assert_ok(clv_lease_give(&r.leases, of, 5));
    assert_ok(clv_lease_give(&r.leases, of, 5));
    assert_ok(clv_lease_take(&r.leases, of, 4));
    assert_ok(clv_lease_give(&r.leases, of, 4));
    room_free(&r);
}

static void what_is_withdrawn_is_not_lent(void **state)
{
    (void)state;
    room r;
    clv_buffer *b, *kept;
    room_make(&r);
    const clv_request largest = {&b, 4 * UNIT + r.buffer[0]->bytes - units[0] * UNIT, "all"};
    assert_ok(clv_lease_take(&r.leases, &largest, 1));
    assert_ptr_equal(b, r.buffer[0]);
    assert_int_equal(clv_lease_withdraw(&r.leases, &r.buffer[0]), CLVOX_ERROR_MEMORY);
    assert_ok(clv_lease_give(&r.leases, &largest, 1));
    assert_ok(clv_lease_withdraw(&r.leases, &r.buffer[0]));
    assert_ok(clv_lease_withdraw(&r.leases, &r.buffer[0]));
    assert_int_equal(clv_lease_take(&r.leases, &largest, 1), CLVOX_ERROR_MEMORY);
    /* A slot lends whichever buffer it has, and none where it has none. */
    kept = r.buffer[2];
    r.buffer[2] = r.buffer[0];
    r.buffer[0] = NULL;
    assert_ok(clv_lease_take(&r.leases, &largest, 1));
    assert_ptr_equal(b, r.buffer[2]);
    assert_ok(clv_lease_give(&r.leases, &largest, 1));
    clv_buffer_destroy(&kept);
    room_free(&r);
}

static void what_is_given_back_is_poisoned(void **state)
{
    (void)state;
    room r;
    clv_buffer *b;
    float values[UNIT / sizeof(float)] = {0};
    room_make(&r);
    const clv_request one = {&b, UNIT, "one"};
    clv_leases_poison = true;
    assert_ok(clv_lease_take(&r.leases, &one, 1));
    assert_ok(clv_buffer_fill(ctx, b, 0, 0, UNIT));
    clv_buffer *was = b;
    assert_ok(clv_lease_give(&r.leases, &one, 1));
    clv_leases_poison = false;
    harness_download(ctx, was, values, sizeof values);
    for (size_t i = 0; i < UNIT / sizeof(float); i++)
        assert_true(isnan(values[i]));
    room_free(&r);
}

/* ---- models --------------------------------------------------------------- */

static const struct {
    clvox_deform deform;
    const char *name;
} models[] = {{CLVOX_DEFORM_UNBIASED, "unbiased"},
              {CLVOX_DEFORM_GREEDY, "greedy"},
              {CLVOX_DEFORM_SYN, "syn"},
              {CLVOX_DEFORM_LDDMM, "lddmm"},
              {CLVOX_DEFORM_SHOOTING, "shooting"}};
enum { MODELS = sizeof models / sizeof *models, KINDS = CLVOX_SHAPE_SURFACE };

/* A head, the same deformed on a grid of other voxels, and anatomy of both. */
static struct {
    pair p;
    clvox_volume *mask;
    clvox_posteriors tissues;
    clvox_surface *surface[2];
    clvox_shape shape[2][KINDS];
} head;

static int set_up(void **state)
{
    (void)state;
    const double middle[3] = {2, -1, 3}, shifted[3] = {3, -1.5, 3.5}, axes[3] = {9, 8.5, 9.5};
    pair_make(&head.p, (const int[3]){23, 25, 19}, (const double[3]){1.6, 1.5, 2}, true, 1.8, 5);
    clvox_volume *fixed = pair_tissues(head.p.fixed, 3, 1), *moving = pair_tissues(head.p.moving, 3, 1);
    assert_ok(clvox_posteriors_create(fixed, moving, &head.tissues));
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    head.surface[0] = mesh_sphere(middle, 9, 1);
    head.surface[1] = mesh_ellipsoid(shifted, axes, 3);
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < KINDS; k++) {
            clvox_shape *s = &head.shape[side][k];
            clvox_shape_of_surface(head.surface[side], s);
            s->kind = (clvox_shape_kind)(k + 1);
            s->elements = s->kind == CLVOX_SHAPE_SURFACE ? s->elements : s->elements * 3 / (size_t)s->kind;
        }
    assert_ok(clvox_volume_create(&head.p.fixed_grid, 1, CLVOX_KIND_SCALAR, &head.mask));
    for (size_t i = 0; i < clvox_grid_voxels(&head.mask->grid); i++)
        head.mask->data[i] = i % 23 > 2;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pair_free(&head.p);
    clvox_volume_destroy(&head.mask);
    clvox_posteriors_destroy(&head.tissues);
    clvox_surface_destroy(&head.surface[0]);
    clvox_surface_destroy(&head.surface[1]);
    return 0;
}

static void options_of(clvox_register_options *o, clvox_deform deform)
{
    pair_options(o, deform, deform == CLVOX_DEFORM_UNBIASED ? CLVOX_METRIC_SSD : CLVOX_METRIC_LNCC);
    o->iterations[0] = 6;
    o->iterations[1] = 3;
    if (deform == CLVOX_DEFORM_UNBIASED) /* longer steps would raise the energy, and be undone */
        o->step = o->finest_step = .2, o->update_sigma = 1;
}

/* With all kinds of anatomy, where the model takes them. */
static int run(const clvox_register_options *o, bool anatomy, clvox_register_result *r)
{
    static const double from[] = {-4, 3, 2, 5, -2.5, 1, .5, 4, -6},
                        to[] = {-2, 4.5, 1, 4, -4.5, 3, 1.5, 2, -7};
    const clvox_shape *fixed[KINDS], *moving[KINDS];
    for (int k = 0; k < KINDS; k++) {
        fixed[k] = &head.shape[0][k];
        moving[k] = &head.shape[1][k];
    }
    clvox_register_images images = {.fixed = {head.p.fixed}, .moving = {head.p.moving}, .channels = 1};
    if (anatomy) {
        images.fixed_mask = head.mask;
        images.fixed_points = from;
        images.moving_points = to;
        images.points = 3;
        images.fixed_shapes = fixed;
        images.moving_shapes = moving;
        images.shapes = KINDS;
        images.fixed_posteriors = head.tissues.fixed;
        images.moving_posteriors = head.tissues.moving;
    }
    return clvox_register(ctx, &images, o, r);
}

/* Whatever reads room that it has given back, or did not fill, finds NaN there. */
static void no_room_is_read_that_was_given_back(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r[2];
    options_of(&o, models[given[0]].deform);
    o.points_weight = .01;
    o.update_damping = .9;
    o.finer_damping = .4;
    o.inverse = given[2];
    o.consistency = 1;
    if (given[3])
        o.alpha = o.beta = o.gamma = 1;
    if (models[given[0]].deform != CLVOX_DEFORM_UNBIASED && given[1]) {
        o.mind_weight = 20;
        o.besides = 1;
        o.beside[0] = CLVOX_METRIC_MI;
        o.beside_parameter[0] = 32;
        o.beside_weight[0] = 1;
    } else if (given[1]) {
        o.metric = CLVOX_METRIC_NCC;
    }
    for (int k = 0; k < 2; k++) {
        clv_leases_poison = k;
        int status = run(&o, given[1], &r[k]);
        clv_leases_poison = false;
        assert_ok(status);
    }
    assert_true(pair_same(r[0].warp, r[1].warp) && r[0].jacobian.folded == 0);
    assert_memory_equal(r[0].warped->data, r[1].warped->data, sizeof(float) * clvox_grid_voxels(&r[0].grid));
    assert_true(!o.inverse || pair_same(r[0].inverse_warp, r[1].inverse_warp));
    assert_true(isfinite(r[0].inverse_error_mm[1]) &&
                !memcmp(r[0].inverse_error_mm, r[1].inverse_error_mm, sizeof r[0].inverse_error_mm));
    for (int k = 0; k < 2; k++)
        clvox_register_result_destroy(&r[k]);
}

/* ---- several metrics -------------------------------------------------------- */

static void add(clvox_register_options *o, clvox_metric metric, int parameter, double weight)
{
    o->beside[o->besides] = metric;
    o->beside_parameter[o->besides] = parameter;
    o->beside_weight[o->besides++] = weight;
}

/* 27 times the derivative of MIND, which is scaled by 100. */
static void mind_beside_lncc_is_a_sum_of_metrics(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r[3];
    for (int k = 0; k < 3; k++) {
        options_of(&o, models[given[0]].deform);
        if (k == 1)
            o.mind_weight = 27;
        if (k == 2)
            add(&o, CLVOX_METRIC_MIND, 1, .27);
        assert_ok(run(&o, false, &r[k]));
    }
    assert_true(pair_same(r[1].warp, r[2].warp) && !pair_same(r[0].warp, r[1].warp));
    for (int k = 0; k < 3; k++)
        clvox_register_result_destroy(&r[k]);
}

/* Steps have the length that is asked for, whatever the sum of the metrics. */
static void a_metric_beside_itself_changes_little(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r[3];
    double largest;
    for (int k = 0; k < 3; k++) {
        options_of(&o, models[given[0]].deform);
        o.metric = k == 2 ? CLVOX_METRIC_MI : CLVOX_METRIC_LNCC;
        if (k)
            add(&o, CLVOX_METRIC_LNCC, o.radius, k == 2 ? 1e4 : 1); /* the first hardly counts */
        assert_ok(run(&o, false, &r[k]));
    }
    for (int k = 1; k < 3; k++) {
        double mean = pair_distance(r[0].warp, r[k].warp, NULL, &largest);
        assert_that(mean < .01, "%d: %.3g voxels, %.3g at most", k, mean, largest);
    }
    for (int k = 0; k < 3; k++)
        clvox_register_result_destroy(&r[k]);
}

/* With the head as second channel, too, in whose moving image dark may be bright. */
static int run_two(const clvox_register_options *o, bool inverted, clvox_register_result *r)
{
    clvox_volume *second[2];
    for (int side = 0; side < 2; side++) {
        const clvox_volume *v = side ? head.p.moving : head.p.fixed;
        assert_ok(clvox_volume_create(&v->grid, 1, CLVOX_KIND_SCALAR, &second[side]));
        for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
            second[side]->data[i] = side && inverted ? 100 - v->data[i] : v->data[i];
    }
    const clvox_register_images images = {.fixed = {head.p.fixed, second[0]},
                                          .moving = {head.p.moving, second[1]},
                                          .weight = {1, 1},
                                          .channels = 2};
    const int status = clvox_register(ctx, &images, o, r);
    clvox_volume_destroy(&second[0]);
    clvox_volume_destroy(&second[1]);
    return status;
}

static void own(clvox_register_options *o, clvox_metric metric, int parameter)
{
    o->channel_metrics = 1;
    o->channel_metric[0] = metric;
    o->channel_parameter[0] = parameter;
}

static void metrics_that_are_refused(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    options_of(&o, CLVOX_DEFORM_UNBIASED);
    add(&o, CLVOX_METRIC_SSD, 0, 1);
    assert_int_equal(run(&o, false, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "one metric"));
    options_of(&o, CLVOX_DEFORM_SYN);
    add(&o, CLVOX_METRIC_MI, 4, 1);
    assert_int_equal(run(&o, false, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "mi:BINS"));
    o.besides = CLVOX_MAX_BESIDE + 1;
    assert_int_equal(run(&o, false, &r), CLVOX_ERROR_ARGUMENT);
    o.besides = 1;
    o.beside[0] = (clvox_metric)77;
    assert_int_equal(run(&o, false, &r), CLVOX_ERROR_ARGUMENT);
    options_of(&o, CLVOX_DEFORM_SYN);
    own(&o, CLVOX_METRIC_MI, 32);
    assert_int_equal(run(&o, false, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "metrics for 2 channels, and there are 1"));
    o.channel_parameter[0] = 4;
    assert_int_equal(run_two(&o, false, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "mi:BINS"));
    options_of(&o, CLVOX_DEFORM_GREEDY);
    own(&o, (clvox_metric)77, 0);
    assert_int_equal(run_two(&o, false, &r), CLVOX_ERROR_ARGUMENT);
}

static int read(const char *text, clvox_register_options *o)
{
    clvox_register_defaults(o);
    return clvox_options_set(clvox_register_table(), (const char *const[]){"metric"}, &text, 1, 0, o);
}

static void sums_of_metrics_as_text(void **state)
{
    (void)state;
    clvox_register_options o;
    assert_ok(read("mi:48,0.5lncc:3+1.5mi:16+mind", &o));
    assert_true(o.linear_metric == CLVOX_METRIC_MI && o.linear_bins == 48 && o.bins == 32);
    assert_true(o.metric == CLVOX_METRIC_LNCC && o.radius == 3 && o.besides == 2 && !o.by_contrast);
    assert_true(o.beside[0] == CLVOX_METRIC_MI && o.beside_parameter[0] == 16 && o.beside_weight[0] == 3);
    assert_true(o.beside[1] == CLVOX_METRIC_MIND && o.beside_weight[1] == 2);
    assert_ok(read(".7ncc+.7cc", &o));
    assert_true(o.linear_metric == CLVOX_METRIC_NCC && o.metric == CLVOX_METRIC_NCC && o.besides == 1);
    assert_true(o.beside[0] == CLVOX_METRIC_LNCC && o.beside_parameter[0] == o.radius &&
                o.beside_weight[0] == 1);
    clvox_register_preset(&o, CLVOX_PRESET_BEST);
    assert_int_equal(o.besides, 0);
    assert_ok(read("lncc", &o));
    assert_int_equal(o.besides, 0);
    static const char *const wrong[] = {"lncc+",        "+mi",         "lncc+tweed", "0lncc+mi",  "lncc+0mi",
                                        "mi+ncc,lncc",  "lncc+mi:4",   "lncc+ssd:1", "lncc,mi,",  "1.2.3",
                                        "-1lncc+mi",    "lncc++mi",    "",           "infmi+mi",  "5",
                                        "mi+mi+mi+mi+mi"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_that(read(wrong[i], &o) == CLVOX_ERROR_ARGUMENT, "%s", wrong[i]);
}

/* ---- a metric for each channel ------------------------------------------------ */

static void metrics_of_channels_as_text(void **state)
{
    (void)state;
    clvox_register_options o;
    assert_ok(read("ncc,lncc:3+0.5mi:16/mi:48/ssd/lncc", &o));
    assert_true(o.linear_metric == CLVOX_METRIC_NCC && o.metric == CLVOX_METRIC_LNCC);
    assert_true(o.radius == 3 && o.besides == 1);
    assert_int_equal(o.channel_metrics, 3);
    assert_true(o.channel_metric[0] == CLVOX_METRIC_MI && o.channel_parameter[0] == 48);
    assert_true(o.channel_metric[1] == CLVOX_METRIC_SSD && o.channel_metric[2] == CLVOX_METRIC_LNCC &&
                o.channel_parameter[2] == 3);
    assert_ok(read("mi/lncc", &o));
    assert_true(o.linear_metric == CLVOX_METRIC_MI && o.metric == CLVOX_METRIC_MI && o.channel_metrics == 1);
    clvox_register_preset(&o, CLVOX_PRESET_BEST);
    assert_int_equal(o.channel_metrics, 0);
    static const char *const wrong[] = {"lncc/",       "/lncc",     "lncc//mi",  "mi/ncc,lncc",
                                        "lncc/mi+ssd", "lncc/.5mi", "lncc/mi:4", "lncc/tweed",
                                        "mi/mi/mi/mi/mi/mi/mi/mi/mi"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_that(read(wrong[i], &o) == CLVOX_ERROR_ARGUMENT, "%s", wrong[i]);
}

/* Saying of each channel the metric of all changes nothing; and two channels of one pair are one channel by
 * two metrics, of which the second counts as it does beside the first. */
static void channels_have_metrics(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r[4];
    double largest;
    for (int k = 0; k < 4; k++) {
        options_of(&o, models[given[0]].deform);
        if (k == 1)
            own(&o, CLVOX_METRIC_LNCC, o.radius);
        if (k == 2)
            own(&o, CLVOX_METRIC_MI, 24);
        if (k == 3)
            add(&o, CLVOX_METRIC_MI, 24, 1);
        assert_ok(k == 3 ? run(&o, false, &r[k]) : run_two(&o, false, &r[k]));
    }
    assert_true(pair_same(r[0].warp, r[1].warp) && !pair_same(r[0].warp, r[2].warp));
    const double mean = pair_distance(r[2].warp, r[3].warp, NULL, &largest);
    assert_that(mean < .01, "%.3g voxels, %.3g at most", mean, largest);
    for (int k = 0; k < 4; k++)
        clvox_register_result_destroy(&r[k]);
}

/* By squared differences an inverted channel leads away; by its own LNCC it does not. */
static void a_channel_of_another_contrast_has_its_metric(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r[2];
    double largest, error[2];
    for (int k = 0; k < 2; k++) {
        options_of(&o, models[given[0]].deform);
        o.metric = CLVOX_METRIC_SSD;
        o.iterations[0] = o.iterations[1] = 20;
        if (k)
            own(&o, CLVOX_METRIC_LNCC, 2);
        assert_ok(run_two(&o, true, &r[k]));
        error[k] = pair_error(&head.p, &r[k], NULL, &largest);
        clvox_register_result_destroy(&r[k]);
    }
    const double start = pair_start(&head.p, NULL);
    printf("# %g at the start, %g by one metric, %g by two\n", start, error[0], error[1]);
    assert_that(error[1] < .95 * start && error[0] > 3 * start, "%g, %g of %g", error[0], error[1], start);
}

/* ---- masks of levels --------------------------------------------------------- */

/* The mask with its voxels stored from right to left. */
static clvox_volume *flipped(const clvox_volume *v)
{
    const int *size = v->grid.size;
    clvox_grid grid = v->grid;
    clvox_volume *out;
    for (int r = 0; r < 3; r++) {
        grid.to_ras[r][3] += (size[0] - 1) * grid.to_ras[r][0];
        grid.to_ras[r][0] = -grid.to_ras[r][0];
    }
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &out));
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++) {
        const size_t x = i % (size_t)size[0];
        out->data[i - x + (size_t)size[0] - 1 - x] = v->data[i];
    }
    return out;
}

/* Bit k of `levels`: level k has the mask; the others have none. */
static int run_masked(const clvox_register_options *o, const clvox_volume *mask, int levels, bool moving,
                      clvox_register_result *r)
{
    clvox_register_images images = {
        .fixed = {head.p.fixed}, .moving = {head.p.moving}, .channels = 1, .level_masks = 1};
    for (int k = 0; k < 2; k++)
        (moving ? images.level_moving_mask : images.level_fixed_mask)[k] = levels >> k & 1 ? mask : NULL;
    return clvox_register(ctx, &images, o, r);
}

/* With iterations on one of two levels alone, the mask of the other changes nothing. */
static void each_level_has_its_mask(void **state)
{
    const int *given = *state;
    const int level = given[1], moving = given[2];
    clvox_register_options o;
    clvox_register_result none, r[4];
    clvox_volume *half, *turned;
    assert_ok(clvox_volume_create(&head.p.fixed_grid, 1, CLVOX_KIND_SCALAR, &half));
    for (size_t i = 0; i < clvox_grid_voxels(&half->grid); i++)
        half->data[i] = i % 23 > 8;
    turned = flipped(half);
    options_of(&o, models[given[0]].deform);
    o.iterations[!level] = 0;
    assert_ok(run(&o, false, &none));
    for (int k = 0; k < 4; k++)
        assert_ok(run_masked(&o, k == 3 ? turned : half, k, moving, &r[k]));
    assert_true(pair_same(none.warp, r[0].warp));
    assert_true(pair_same(r[0].warp, r[2 >> level].warp));
    assert_true(pair_same(r[1 << level].warp, r[3].warp));
    printf("# largest %g and %g mm\n", r[0].largest_mm, r[3].largest_mm);
    assert_true(!pair_same(r[0].warp, r[3].warp) && r[0].largest_mm > 0 && r[3].largest_mm > 0);
    clvox_register_result_destroy(&none);
    for (int k = 0; k < 4; k++)
        clvox_register_result_destroy(&r[k]);
    for (size_t i = 0; i < clvox_grid_voxels(&half->grid); i++)
        half->data[i] = 0;
    assert_int_equal(run_masked(&o, half, 2, moving, &r[0]), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), moving ? "the moving mask" : "the fixed mask"));
    clvox_volume_destroy(&half);
    clvox_volume_destroy(&turned);
}

int main(void)
{
    ctx = harness_open();
    test_case(the_smallest_that_is_free, "a lease is the smallest room that is free, and there is an end");
    test_case(what_is_withdrawn_is_not_lent, "what is withdrawn is not lent");
    test_case(what_is_given_back_is_poisoned, "what is given back is poisoned");
    test_case(sums_of_metrics_as_text, "sums of metrics as text");
    test_case(metrics_of_channels_as_text, "metrics of channels as text");
    test_set_up(set_up);
    for (int m = 0; m < MODELS; m++)
        for (int k = 0; k < 2; k++)
            test_case_at(no_room_is_read_that_was_given_back, TEST_AT(m, k, k, 0),
                         "%s reads no room that was given back: %s", models[m].name,
                         k ? "all terms" : "images");
    test_case_at(no_room_is_read_that_was_given_back, TEST_AT(1, 1, 1, 1),
                 "greedy by an operator reads no room that was given back");
    for (int m = 1; m < 3; m++)
        test_case_at(mind_beside_lncc_is_a_sum_of_metrics, TEST_AT(m),
                     "MIND beside LNCC is a sum of metrics: %s", models[m].name);
    for (int m = 1; m < 3; m++)
        test_case_at(a_metric_beside_itself_changes_little, TEST_AT(m), "a metric beside itself: %s",
                     models[m].name);
    for (int m = 1; m < MODELS; m++) {
        test_case_at(channels_have_metrics, TEST_AT(m), "channels have metrics: %s", models[m].name);
        test_case_at(a_channel_of_another_contrast_has_its_metric, TEST_AT(m),
                     "a channel of another contrast has its own metric: %s", models[m].name);
    }
    for (int m = 0; m < MODELS; m++)
        test_case_at(each_level_has_its_mask, TEST_AT(m, m % 2, m / 2 % 2), "each level has its mask: %s",
                     models[m].name);
    test_case(metrics_that_are_refused, "metrics that are refused");
    test_tear_down(tear_down);
    return test_run("terms", harness_close);
}
