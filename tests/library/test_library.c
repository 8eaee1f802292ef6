/* SPDX-License-Identifier: Apache-2.0 */
/* Promises of the whole library: NULL options, progress and stopping, threads, the log, the caller's memory,
 * contexts side by side. It knows the public headers alone. */
#include <pthread.h>

#include "check.h"
#include "clvox/clvox.h"

static struct {
    clvox_context *ctx;
    clvox_volume *fixed, *moving;
} shared;

static clvox_volume *head(const int size[3], uint64_t seed, double amplitude)
{
    static const double edges[3] = {3, 3, 3};
    clvox_volume *out = NULL;
    clvox_phantom p;
    clvox_phantom_defaults(&p);
    clvox_phantom_grid(size, edges, 0, &p.grid);
    p.seed = seed;
    p.amplitude = amplitude;
    assert_ok(clvox_phantom_image(&p, &out));
    return out;
}

static void assert_same(const clvox_volume *a, const clvox_volume *b)
{
    assert_true(a && b && a->frames == b->frames);
    assert_memory_equal(a->data, b->data, clvox_grid_voxels(&a->grid) * (size_t)a->frames * sizeof *a->data);
}

/* ---- NULL options -------------------------------------------------------- */

static void registration_without_options(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result with, without;
    clvox_register_plan plans[2];
    const clvox_register_images images = {.fixed = {shared.fixed}, .moving = {shared.moving}, .channels = 1};
    clvox_register_defaults(&o);
    assert_ok(clvox_register(shared.ctx, &images, &o, &with));
    assert_ok(clvox_register(shared.ctx, &images, NULL, &without));
    assert_memory_equal(with.matrix, without.matrix, sizeof with.matrix);
    assert_same(with.warp, without.warp);
    assert_same(with.warped, without.warped);
    assert_true(clvox_register_bytes(&images, NULL) == clvox_register_bytes(&images, &o) &&
                clvox_register_bytes(&images, &o) > 0);
    assert_ok(clvox_register_predict(&images, &o, &plans[0]));
    assert_ok(clvox_register_predict(&images, NULL, &plans[1]));
    assert_memory_equal(plans[0].size, plans[1].size, sizeof plans[0].size);
    char says[2][32];
    assert_int_equal(clvox_metric_says(NULL, CLVOX_METRIC_LNCC, 0, says[0]), 1);
    assert_int_equal(clvox_metric_says(&o, CLVOX_METRIC_LNCC, 0, says[1]), 1);
    assert_string_equal(says[0], says[1]);
    assert_true(clvox_register_shape_weight(NULL, CLVOX_SHAPE_SURFACE) ==
                clvox_register_shape_weight(&o, CLVOX_SHAPE_SURFACE));
    /* Two tissues of the same images, and a solid as a shape. */
    clvox_posteriors_errors tissues[2];
    clvox_shape_errors shapes[2];
    clvox_volume *halves[2];
    clvox_surface *solid = NULL;
    clvox_shape shape;
    const clvox_volume *given[2] = {shared.fixed, shared.moving};
    for (int i = 0; i < 2; i++) {
        assert_ok(clvox_volume_create(&given[i]->grid, 1, CLVOX_KIND_SCALAR, &halves[i]));
        for (size_t v = 0; v < clvox_grid_voxels(&given[i]->grid); v++)
            halves[i]->data[v] = given[i]->data[v] > 50;
    }
    assert_ok(clvox_phantom_mesh(CLVOX_SOLID_SPHERE, &shared.fixed->grid, 1, &solid));
    clvox_shape_of_surface(solid, &shape);
    for (int i = 0; i < 2; i++) {
        const clvox_register_options *given_o = i ? NULL : &o;
        assert_ok(
            clvox_register_posteriors(shared.ctx, &with, given_o, halves[0], halves[1], NULL, &tissues[i]));
        assert_ok(clvox_register_shape(shared.ctx, &with, given_o, &shape, &shape, &shapes[i]));
    }
    const clvox_shape *const both[1] = {&shape};
    const clvox_register_images alone = {.fixed_shapes = both, .moving_shapes = both, .shapes = 1};
    double starts[2][4][4];
    assert_ok(clvox_shapes_start(&alone, &o, starts[0]));
    assert_ok(clvox_shapes_start(&alone, NULL, starts[1]));
    assert_memory_equal(starts[0], starts[1], sizeof starts[0]);
    assert_true(tissues[0].hellinger_after == tissues[1].hellinger_after);
    assert_true(shapes[0].energy_after == shapes[1].energy_after && shapes[0].width == shapes[1].width);
    for (int i = 0; i < 2; i++) {
        clvox_volume_destroy(&tissues[i].carried);
        clvox_shape_destroy(&shapes[i].carried);
        clvox_volume_destroy(&halves[i]);
    }
    clvox_surface_destroy(&solid);
    clvox_register_result_destroy(&with);
    clvox_register_result_destroy(&without);
}

/* ---- options of other versions -------------------------------------------- */

static void refused_for_its_size(int status)
{
    assert_int_equal(status, CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "_defaults"));
}

static void options_of_another_version(void **state)
{
    (void)state;
    clvox_context *other = NULL, **others = NULL;
    clvox_volume *out = NULL;
    clvox_register_result result;
    clvox_image_comparison alike;
    clvox_surface_products products;
    const clvox_register_images images = {.fixed = {shared.fixed}, .moving = {shared.moving}, .channels = 1};
    clvox_register_options r;
    clvox_register_plan plan;
    clvox_context_options c;
    clvox_apply_options a;
    clvox_compare_options p;
    clvox_match_options m;
    clvox_nlm_options n;
    clvox_currents_options u = {.width = 2};
    clvox_shoot_options s = {.time = 1};
    clvox_phantom phantom;
    clvox_level_set_source source;
    clvox_level_set set;
    clvox_register_defaults(&r);
    r.size -= sizeof(double);
    refused_for_its_size(clvox_register(shared.ctx, &images, &r, &result));
    refused_for_its_size(clvox_register_predict(&images, &r, &plan));
    assert_true(clvox_register_bytes(&images, &r) == 0);
    clvox_context_defaults(&c);
    c.size += sizeof(void *);
    refused_for_its_size(clvox_context_create(&c, &other));
    refused_for_its_size(clvox_contexts_create(&c, &others));
    clvox_apply_defaults(&a);
    a.size--;
    refused_for_its_size(clvox_apply_with(shared.ctx, shared.fixed, &shared.fixed->grid, NULL, 0, &a, &out));
    clvox_compare_defaults(&p);
    p.size = 0;
    refused_for_its_size(clvox_compare_images(shared.fixed, shared.fixed, NULL, &p, &alike));
    clvox_match_defaults(&m);
    m.size++;
    refused_for_its_size(clvox_filter_match(shared.fixed, shared.moving, &m, &out));
    clvox_nlm_defaults(&n);
    n.size = 4;
    refused_for_its_size(clvox_filter_nlm(shared.ctx, shared.fixed, NULL, &n, &out, NULL));
    refused_for_its_size(clvox_shape_currents(shared.ctx, NULL, NULL, &u, &products, NULL));
    refused_for_its_size(clvox_shoot_settle(shared.fixed, &s));
    clvox_phantom_defaults(&phantom);
    phantom.size--;
    refused_for_its_size(clvox_phantom_image(&phantom, &out));
    refused_for_its_size(clvox_phantom_labels(&phantom, &out));
    clvox_level_set_source_defaults(&source);
    source.size = 0;
    refused_for_its_size(clvox_level_set_create(shared.ctx, &source, &set));
    assert_true(!other && !others && !out);
}

static void templates_and_series_without_options(void **state)
{
    (void)state;
    const int size[3] = {17, 19, 16};
    clvox_volume *one = head(size, 3, 0), *two = head(size, 3, 1), *series = NULL;
    const clvox_atlas_subject subjects[2] = {{.image = one, .weight = 1}, {.image = two, .weight = 1}};
    clvox_atlas_options a;
    clvox_atlas_result atlas[2];
    clvox_series_options s;
    clvox_series_result motion[2];
    clvox_series_plan plans[2];
    const size_t voxels = clvox_grid_voxels(&one->grid);
    clvox_atlas_defaults(&a);
    assert_ok(clvox_atlas(shared.ctx, subjects, 2, NULL, &a, &atlas[0]));
    assert_ok(clvox_atlas(shared.ctx, subjects, 2, NULL, NULL, &atlas[1]));
    assert_same(atlas[0].average, atlas[1].average);
    assert_ok(clvox_volume_create(&one->grid, 2, CLVOX_KIND_SCALAR, &series));
    memcpy(series->data, one->data, voxels * sizeof *one->data);
    memcpy(series->data + voxels, two->data, voxels * sizeof *two->data);
    clvox_series_defaults(&s);
    for (int i = 0; i < 2; i++) {
        assert_ok(clvox_series_predict(series, NULL, NULL, NULL, i ? NULL : &s, &plans[i]));
        assert_ok(clvox_register_series(shared.ctx, series, NULL, NULL, NULL, i ? NULL : &s, &motion[i]));
    }
    assert_true(plans[0].device_bytes == plans[1].device_bytes);
    assert_same(motion[0].corrected, motion[1].corrected);
    for (int i = 0; i < 2; i++) {
        clvox_atlas_result_destroy(&atlas[i]);
        clvox_series_result_destroy(&motion[i]);
    }
    clvox_volume_destroy(&one);
    clvox_volume_destroy(&two);
    clvox_volume_destroy(&series);
}

static void surfaces_and_tensors_without_options(void **state)
{
    (void)state;
    const int size[3] = {15, 14, 13};
    const double edges[3] = {2, 2, 2};
    clvox_grid grid;
    clvox_level_set level_set = {.surface = NULL};
    clvox_denoise_options d;
    clvox_denoise_plan plans[2];
    clvox_denoise_result denoised[2];
    clvox_gradients *gradients = NULL;
    clvox_volume *distance = NULL, *dwi = NULL, *filtered = NULL, *field = NULL;
    clvox_tensor_denoise_options t;
    clvox_tensor_fit_options f;
    clvox_tensor_fit_result fits[2];
    clvox_tensor_denoise_result tv[2];
    clvox_tensor_all_result all;
    clvox_phantom_grid(size, edges, 0, &grid);
    assert_ok(clvox_phantom_distance(CLVOX_SOLID_SPHERE, &grid, &distance));
    level_set.distance = distance;
    clvox_denoise_defaults(&d);
    for (int i = 0; i < 2; i++) {
        assert_ok(clvox_denoise_predict(shared.ctx, &level_set, i ? NULL : &d, &plans[i]));
        assert_ok(clvox_surface_denoise(shared.ctx, &level_set, i ? NULL : &d, &denoised[i]));
    }
    assert_memory_equal(&plans[0], &plans[1], sizeof plans[0]);
    assert_int_equal(denoised[0].surface->vertices, denoised[1].surface->vertices);
    assert_memory_equal(denoised[0].surface->points, denoised[1].surface->points,
                        3 * denoised[0].surface->vertices * sizeof(double));

    assert_ok(clvox_phantom_gradients(12, 1000, 1, &gradients));
    assert_ok(clvox_phantom_dwi(CLVOX_TENSOR_HELIX, &grid, gradients, 30, 1, 1, &dwi));
    clvox_tensor_fit_defaults(&f);
    clvox_tensor_denoise_defaults(&t);
    for (int i = 0; i < 2; i++) {
        assert_ok(clvox_tensor_fit(shared.ctx, dwi, gradients, NULL, i ? NULL : &f, &fits[i]));
        assert_ok(clvox_tensor_denoise(shared.ctx, fits[0].tensor, NULL, NULL, i ? NULL : &t, &tv[i]));
    }
    assert_same(fits[0].tensor, fits[1].tensor);
    assert_same(tv[0].tensor, tv[1].tensor);
    assert_ok(clvox_tensor_all(shared.ctx, dwi, gradients, NULL, NULL, &all));
    /* The others only have to take NULL. */
    assert_ok(clvox_filter_nlm(shared.ctx, shared.fixed, NULL, NULL, &filtered, NULL));
    clvox_volume_destroy(&filtered);
    assert_ok(clvox_filter_tv(shared.ctx, shared.fixed, NULL, NULL, &filtered, NULL));
    clvox_volume_destroy(&filtered);
    assert_ok(clvox_filter_bias(shared.ctx, shared.fixed, NULL, NULL, &filtered, &field, NULL));
    clvox_volume_destroy(&filtered);
    clvox_volume_destroy(&field);
    assert_ok(clvox_filter_match(shared.fixed, shared.moving, NULL, &filtered));
    clvox_volume_destroy(&filtered);
    for (int i = 0; i < 2; i++) {
        clvox_denoise_result_destroy(&denoised[i]);
        clvox_tensor_fit_result_destroy(&fits[i]);
        clvox_volume_destroy(&tv[i].tensor);
    }
    clvox_tensor_all_result_destroy(&all);
    clvox_gradients_destroy(&gradients);
    clvox_volume_destroy(&distance);
    clvox_volume_destroy(&dwi);
}

/* ---- the caller's memory ------------------------------------------------- */

static void callers_memory(void **state)
{
    (void)state;
    const size_t voxels = clvox_grid_voxels(&shared.fixed->grid);
    float *mine = malloc(voxels * sizeof *mine);
    clvox_volume *wrapped = NULL, *smooth[2] = {NULL, NULL};
    clvox_store *store = NULL;
    memcpy(mine, shared.fixed->data, voxels * sizeof *mine);
    assert_ok(clvox_volume_wrap(mine, &shared.fixed->grid, 1, CLVOX_KIND_SCALAR, &wrapped));
    assert_ptr_equal(wrapped->data, mine);
    const double sigma[3] = {2, 2, 2};
    assert_ok(clvox_filter_gaussian(shared.ctx, wrapped, sigma, 0, &smooth[0]));
    assert_ok(clvox_filter_gaussian(shared.ctx, shared.fixed, sigma, 0, &smooth[1]));
    assert_same(smooth[0], smooth[1]);
    clvox_volume *once = NULL;
    assert_ok(clvox_volume_wrap(mine, &shared.fixed->grid, 1, CLVOX_KIND_SCALAR, &once));
    clvox_volume_destroy(&once);
    assert_memory_equal(mine, shared.fixed->data, voxels * sizeof *mine);
    /* In a store without room in memory the values go to disk, and the caller's stay. */
    assert_ok(clvox_store_create("/tmp", 0, &store));
    assert_ok(clvox_store_keep(store, wrapped));
    assert_true(wrapped->on_disk && wrapped->data != mine);
    assert_same(wrapped, shared.fixed);
    clvox_volume_destroy(&wrapped);
    assert_null(wrapped);
    clvox_store_destroy(&store);
    /* And in one with room. */
    assert_ok(clvox_store_create("/tmp", (size_t)1 << 30, &store));
    assert_ok(clvox_volume_wrap(mine, &shared.fixed->grid, 1, CLVOX_KIND_SCALAR, &wrapped));
    assert_ok(clvox_store_keep(store, wrapped));
    clvox_volume_destroy(&wrapped);
    clvox_store_destroy(&store);
    assert_memory_equal(mine, shared.fixed->data, voxels * sizeof *mine);
    assert_int_equal(clvox_volume_wrap(NULL, &shared.fixed->grid, 1, CLVOX_KIND_SCALAR, &wrapped),
                     CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_volume_wrap(mine, &shared.fixed->grid, 0, CLVOX_KIND_SCALAR, &wrapped),
                     CLVOX_ERROR_ARGUMENT);
    assert_null(wrapped);
    clvox_volume_destroy(&smooth[0]);
    clvox_volume_destroy(&smooth[1]);
    free(mine);
}

/* ---- threads, progress, the log ------------------------------------------ */

typedef struct watched {
    int calls, threads, stop_at;
    double fraction;
    bool falls, bare, staged;
} watched;

static int watch(void *user, const clvox_step *step)
{
    watched *w = user;
    w->falls = w->falls || step->fraction < w->fraction || step->fraction > 1 + 1e-9;
    w->fraction = step->fraction;
    w->threads = clvox_threads();
    w->staged = step->stage && *step->stage;
    w->bare = step->level < 0 && step->iteration < 0 && isnan(step->metric);
    return ++w->calls == w->stop_at;
}

static void a_number_of_threads_of_its_own(void **state)
{
    (void)state;
    const clvox_context_options alone = {.size = sizeof alone, .threads = 1},
                                three = {.size = sizeof three, .threads = 3};
    const clvox_context_options *options[2] = {&alone, &three};
    const clvox_register_images images = {.fixed = {shared.fixed}, .moving = {shared.moving}, .channels = 1};
    clvox_register_result r[2];
    clvox_threads_set(7);
    for (int i = 0; i < 2; i++) {
        watched w = {.threads = -1};
        clvox_context *ctx = NULL;
        clvox_register_options o;
        clvox_register_defaults(&o);
        clvox_register_preset(&o, CLVOX_PRESET_QUICK);
        o.progress = watch;
        o.user = &w;
        assert_ok(clvox_context_create(options[i], &ctx));
        assert_ok(clvox_register(ctx, &images, &o, &r[i]));
        assert_int_equal(w.threads, options[i]->threads);
        assert_true(w.calls > 2 && !w.falls && w.staged && !w.bare);
        assert_int_equal(clvox_threads(), 7);
        clvox_context_destroy(&ctx);
    }
    clvox_threads_set(0);
    assert_same(r[0].warp, r[1].warp);
    clvox_register_result_destroy(&r[0]);
    clvox_register_result_destroy(&r[1]);
}

static int count_threads(void *user, size_t index, int worker)
{
    int *seen = user;
    (void)worker;
    seen[index] = clvox_threads();
    return CLVOX_OK;
}

static int look_inside(void *user, const clvox_step *step)
{
    (void)step;
    return clvox_parallel(8, count_threads, user) < 0;
}

/* Threads that a program starts in the library's threads go by the context's number, too. */
static void threads_in_threads(void **state)
{
    (void)state;
    int seen[8] = {0};
    clvox_context *ctx = NULL;
    clvox_register_options o;
    clvox_register_result r;
    const clvox_context_options two = {.size = sizeof two, .threads = 2};
    const clvox_register_images images = {.fixed = {shared.fixed}, .moving = {shared.moving}, .channels = 1};
    clvox_register_defaults(&o);
    clvox_register_preset(&o, CLVOX_PRESET_QUICK);
    o.progress = look_inside;
    o.user = seen;
    clvox_threads_set(5);
    assert_ok(clvox_context_create(&two, &ctx));
    assert_ok(clvox_register(ctx, &images, &o, &r));
    clvox_threads_set(0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(seen[i], 2);
    clvox_register_result_destroy(&r);
    clvox_context_destroy(&ctx);
}

typedef struct noted {
    int lines, longest;
    bool ends;
} noted;

static void note(void *user, int level, const char *line)
{
    noted *n = user;
    n->lines++;
    n->longest = level > n->longest ? level : n->longest;
    n->ends = n->ends || strchr(line, '\n');
}

static void the_log_goes_where_it_is_told(void **state)
{
    (void)state;
    for (int verbosity = 0; verbosity <= 2; verbosity += 2) {
        noted n = {.lines = 0};
        const clvox_context_options o = {
            .size = sizeof o, .verbosity = verbosity, .log = note, .log_user = &n};
        clvox_context *ctx = NULL;
        clvox_volume *smooth = NULL;
        const double sigma[3] = {2, 2, 2};
        assert_ok(clvox_context_create(&o, &ctx));
        assert_ok(clvox_filter_gaussian(ctx, shared.fixed, sigma, 0, &smooth));
        assert_true(verbosity ? n.lines > 0 && n.longest == 2 && !n.ends : n.lines == 0);
        clvox_volume_destroy(&smooth);
        clvox_context_destroy(&ctx);
    }
}

static void progress_is_of_one_kind(void **state)
{
    (void)state;
    const int size[3] = {17, 19, 16};
    watched w = {.stop_at = 1};
    clvox_volume *one = head(size, 3, 0), *two = head(size, 3, 1);
    const clvox_atlas_subject subjects[2] = {{.image = one, .weight = 1}, {.image = two, .weight = 1}};
    clvox_atlas_options a;
    clvox_atlas_result atlas;
    clvox_atlas_defaults(&a);
    a.progress = watch;
    a.user = &w;
    assert_int_equal(clvox_atlas(shared.ctx, subjects, 2, NULL, &a, &atlas), CLVOX_ERROR_STOPPED);
    assert_true(w.calls == 1 && w.staged && w.bare && !atlas.average);
    clvox_volume_destroy(&one);
    clvox_volume_destroy(&two);
}

/* ---- functions without a callback of their own, by that of the context ---- */

typedef struct told {
    clvox_context *ctx;
    watched watch;
    clvox_volume *warp, *series;
} told;

typedef clvox_volume *(*watched_function)(told *t, int *status);

static clvox_volume *by_gaussian(told *t, int *status)
{
    clvox_volume *out = NULL;
    const double sigma[3] = {2, 2, 2};
    *status = clvox_filter_gaussian(t->ctx, t->series, sigma, 0, &out);
    return out;
}

static clvox_volume *by_median(told *t, int *status)
{
    clvox_volume *out = NULL;
    const int radius[3] = {1, 1, 1};
    *status = clvox_filter_median(t->ctx, t->series, radius, &out);
    return out;
}

static clvox_volume *by_nlm(told *t, int *status)
{
    clvox_volume *out = NULL;
    *status = clvox_filter_nlm(t->ctx, t->series, NULL, NULL, &out, NULL);
    return out;
}

static clvox_volume *by_tv(told *t, int *status)
{
    clvox_volume *out = NULL;
    *status = clvox_filter_tv(t->ctx, t->series, NULL, NULL, &out, NULL);
    return out;
}

static clvox_volume *by_bias(told *t, int *status)
{
    clvox_volume *out = NULL;
    clvox_bias_options o;
    clvox_bias_defaults(&o);
    o.levels = 2;
    o.iterations[0] = o.iterations[1] = 3;
    *status = clvox_filter_bias(t->ctx, shared.fixed, NULL, &o, &out, NULL, NULL);
    return out;
}

static clvox_volume *by_apply(told *t, int *status)
{
    clvox_volume *out = NULL;
    const clvox_transform warp = {.is_warp = 1, .warp = t->warp};
    const clvox_link link = {.transform = &warp};
    *status = clvox_apply(t->ctx, t->series, &t->warp->grid, &link, 1, CLVOX_INTERPOLATE_LINEAR, 0, &out);
    return out;
}

static clvox_volume *by_forward(told *t, int *status)
{
    clvox_volume *out = NULL;
    const clvox_transform warp = {.is_warp = 1, .warp = t->warp};
    const clvox_link link = {.transform = &warp};
    *status = clvox_forward(t->ctx, t->series, &t->warp->grid, &link, 1, CLVOX_LANDING_MEAN, 0, &out);
    return out;
}

static clvox_volume *by_compose(told *t, int *status)
{
    clvox_volume *out = NULL;
    const clvox_transform warp = {.is_warp = 1, .warp = t->warp};
    const clvox_link links[2] = {{.transform = &warp}, {.transform = &warp}};
    *status = clvox_compose(t->ctx, &t->warp->grid, links, 2, &out);
    return out;
}

static clvox_volume *by_invert(told *t, int *status)
{
    clvox_volume *out = NULL;
    double residual[2];
    *status = clvox_invert(t->ctx, t->warp, &out, residual);
    return out;
}

static clvox_volume *by_jacobian(told *t, int *status)
{
    clvox_volume *out = NULL;
    *status = clvox_jacobian(t->ctx, t->warp, NULL, 1, &out, NULL);
    return out;
}

static clvox_volume *by_distance(told *t, int *status)
{
    clvox_volume *out = NULL;
    double sum = 0;
    const size_t n = clvox_grid_voxels(&shared.fixed->grid);
    for (size_t i = 0; i < n; i++)
        sum += (double)shared.fixed->data[i];
    *status = clvox_distance_from_values(t->ctx, shared.fixed, sum / (double)n, &out);
    return out;
}

/* A callback that never stops them changes no bit and hears of fractions that never fall; wherever it stops
 * them, they give nothing. */
static void a_context_watches(void **state)
{
    (void)state;
    static const watched_function all[] = {by_gaussian, by_median,   by_nlm,     by_tv,
                                           by_bias,     by_apply,    by_forward, by_compose,
                                           by_invert,   by_jacobian, by_distance};
    told t = {.ctx = NULL};
    clvox_register_result r;
    const clvox_register_images images = {.fixed = {shared.fixed}, .moving = {shared.moving}, .channels = 1};
    const clvox_context_options o = {.size = sizeof o, .progress = watch, .progress_user = &t.watch};
    const size_t n = clvox_grid_voxels(&shared.fixed->grid);
    assert_ok(clvox_register(shared.ctx, &images, NULL, &r));
    t.warp = r.warp;
    assert_ok(clvox_volume_create(&shared.fixed->grid, 2, CLVOX_KIND_SCALAR, &t.series));
    memcpy(t.series->data, shared.fixed->data, n * sizeof(float));
    memcpy(t.series->data + n, shared.moving->data, n * sizeof(float));
    clvox_context *watching = NULL;
    assert_ok(clvox_context_create(&o, &watching));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int status, calls;
        t.ctx = shared.ctx;
        clvox_volume *want = all[i](&t, &status);
        assert_ok(status);
        t.ctx = watching;
        t.watch = (watched){.calls = 0};
        clvox_volume *got = all[i](&t, &status);
        assert_ok(status);
        assert_same(want, got);
        calls = t.watch.calls;
        assert_that(calls > 0 && !t.watch.falls && t.watch.staged && t.watch.bare, "%zu: %d calls", i, calls);
        clvox_volume_destroy(&got);
        const int step = calls / 6 + 1;
        for (int at = 1; at <= calls; at += step) {
            t.watch = (watched){.stop_at = at};
            got = all[i](&t, &status);
            assert_that(status == CLVOX_ERROR_STOPPED && !got && t.watch.calls == at,
                        "%zu, call %d of %d: status %d, %d calls", i, at, calls, status, t.watch.calls);
        }
        /* The context goes on as before. */
        t.watch = (watched){.calls = 0};
        got = all[i](&t, &status);
        assert_ok(status);
        assert_same(want, got);
        clvox_volume_destroy(&got);
        clvox_volume_destroy(&want);
    }
    clvox_context_destroy(&watching);
    clvox_volume_destroy(&t.series);
    clvox_register_result_destroy(&r);
}

/* ---- contexts side by side ----------------------------------------------- */

typedef struct worker {
    pthread_t thread;
    clvox_volume *fixed, *moving, *warped;
    int status;
    char sentence[400];
} worker;

static void *work(void *user)
{
    worker *w = user;
    clvox_context *ctx = NULL;
    clvox_register_options o;
    clvox_register_result r = {.warp = NULL};
    const clvox_register_images images = {.fixed = {w->fixed}, .moving = {w->moving}, .channels = 1};
    clvox_register_defaults(&o);
    clvox_register_preset(&o, CLVOX_PRESET_QUICK);
    w->status = clvox_context_create(NULL, &ctx);
    if (w->status >= 0)
        w->status = clvox_register(ctx, &images, &o, &r);
    snprintf(w->sentence, sizeof w->sentence, "%s", clvox_message());
    w->warped = r.warped;
    r.warped = NULL;
    clvox_register_result_destroy(&r);
    clvox_context_destroy(&ctx);
    return NULL;
}

/* Two threads, each with a context of its own, give what they give one after the other, and the failure of
 * one is not the other's. */
static void two_contexts_on_two_threads(void **state)
{
    (void)state;
    char before[400];
    snprintf(before, sizeof before, "%s", clvox_message());
    worker alone = {.fixed = shared.fixed, .moving = shared.moving}, both[3];
    clvox_grid grid = shared.fixed->grid;
    clvox_volume *empty = NULL;
    assert_ok(clvox_volume_create(&grid, 2, CLVOX_KIND_SCALAR, &empty));
    work(&alone);
    assert_that(alone.status == CLVOX_OK, "%s", alone.sentence);
    for (int i = 0; i < 3; i++) {
        both[i] = (worker){.fixed = shared.fixed, .moving = i == 2 ? empty : shared.moving};
        assert_int_equal(pthread_create(&both[i].thread, NULL, work, &both[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(both[i].thread, NULL);
    for (int i = 0; i < 2; i++) {
        assert_that(both[i].status == CLVOX_OK, "%s", both[i].sentence);
        assert_true(!*both[i].sentence);
        assert_same(alone.warped, both[i].warped);
        clvox_volume_destroy(&both[i].warped);
    }
    assert_true(both[2].status < 0 && *both[2].sentence && !both[2].warped);
    assert_string_equal(clvox_message(), before);
    clvox_volume_destroy(&alone.warped);
    clvox_volume_destroy(&empty);
}

static void nothing_is_released_as_nothing(void **state)
{
    (void)state;
    clvox_volume *volume = NULL;
    char *text = NULL;
    clvox_volume_destroy(NULL);
    clvox_volume_destroy(&volume);
    clvox_register_result_destroy(NULL);
    clvox_atlas_result_destroy(NULL);
    clvox_series_result_destroy(NULL);
    clvox_stats_result_destroy(NULL);
    clvox_entropy_result_destroy(NULL);
    clvox_denoise_result_destroy(NULL);
    clvox_level_set_destroy(NULL);
    clvox_tensor_fit_result_destroy(NULL);
    clvox_tensor_all_result_destroy(NULL);
    clvox_posteriors_destroy(NULL);
    clvox_devices_destroy(NULL);
    clvox_timings_destroy(NULL);
    clvox_label_comparison_destroy(NULL);
    clvox_context_destroy(NULL);
    clvox_contexts_destroy(NULL, 0);
    clvox_shape_destroy(NULL);
    clvox_surface_destroy(NULL);
    clvox_gradients_destroy(NULL);
    clvox_transform_destroy(NULL);
    clvox_store_destroy(NULL);
    clvox_report_destroy(NULL);
    clvox_text_destroy(NULL);
    clvox_text_destroy(&text);
}

static int release(void **state)
{
    (void)state;
    clvox_context_destroy(&shared.ctx);
    clvox_volume_destroy(&shared.fixed);
    clvox_volume_destroy(&shared.moving);
    return 0;
}

int main(void)
{
    const int size[3] = {25, 27, 23};
    if (clvox_context_create(NULL, &shared.ctx) < 0)
        return test_skip_all("%s", clvox_message());
    shared.fixed = head(size, 1, 2);
    shared.moving = head(size, 1, 0);
    test_case(nothing_is_released_as_nothing, "what releases takes NULL");
    test_case(two_contexts_on_two_threads,
              "contexts on threads of their own give the bits of one, and own failures");
    test_case(options_of_another_version, "options of another size than this version's are refused");
    test_case(registration_without_options, "registration without options takes the defaults");
    test_case(templates_and_series_without_options, "templates and series without options take the defaults");
    test_case(surfaces_and_tensors_without_options,
              "surfaces, tensors and filters without options take the defaults");
    test_case(callers_memory, "a volume over the caller's memory is neither copied nor released");
    test_case(a_number_of_threads_of_its_own, "a context has a number of threads of its own");
    test_case(threads_in_threads, "and so has what is begun meanwhile");
    test_case(the_log_goes_where_it_is_told, "the log goes where it is told");
    test_case(progress_is_of_one_kind, "progress is of one kind, and stops the work");
    test_case(a_context_watches, "a context tells of functions without a callback, and stops them");
    return test_run("library", release);
}
