/* SPDX-License-Identifier: Apache-2.0 */
/* Images of a made head, distorted by a known field. */
#include "clvox/epi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "epi/epi.h"
#include "op/harness.h"

static clvox_context *ctx;

/* A grid of an odd size, turned in the world, whose middle is the origin. */
static clvox_grid grid_of(const int size[3], const double edge[3], double turn)
{
    clvox_grid g = {.size = {size[0], size[1], size[2]}};
    const double c = cos(turn), s = sin(turn);
    const double axes[3][3] = {{c, -s, 0}, {s * .8, c * .8, -.6}, {s * .6, c * .6, .8}};
    for (int r = 0; r < 3; r++) {
        g.to_ras[r][3] = 0;
        for (int a = 0; a < 3; a++) {
            g.to_ras[r][a] = (turn != 0 ? axes[r][a] : r == a) * edge[a];
            g.to_ras[r][3] -= .5 * (size[a] - 1) * g.to_ras[r][a];
        }
    }
    g.to_ras[3][3] = 1;
    return g;
}

/* Signal of the head at a place in mm: shells of an ellipsoid with a texture, about 60 mm wide. */
static double head_at(const double x[3])
{
    const double r = sqrt(x[0] * x[0] / 900 + x[1] * x[1] / 1300 + x[2] * x[2] / 700);
    const double inside = 1 / (1 + exp((r - 1) * 14)), shell = 1 / (1 + exp((r - .8) * 16));
    return 100 * inside *
           (.55 + .25 * shell + .25 * sin(.5 * x[0] + .4) * cos(.55 * x[1]) * cos(.45 * x[2] + 1));
}

/* The field in Hz at a place in mm. */
static double field_at(const double x[3], double most)
{
    return most *
           (exp(-((x[0] - 4) * (x[0] - 4) + (x[1] - 14) * (x[1] - 14) + (x[2] + 5) * (x[2] + 5)) / 380) -
            .5 * exp(-((x[0] + 10) * (x[0] + 10) + (x[1] + 12) * (x[1] + 12) + x[2] * x[2]) / 500));
}

/* The image of the head by the field, moved by a map of the world: every voxel shows what is shifted to it,
 * shared out over what it came from. */
static clvox_volume *scan(const clvox_grid *grid, clvox_epi_encoding e, double most,
                          const double motion[4][4])
{
    clvox_volume *out;
    double back[4][4];
    const double step = .01;
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &out));
    assert_ok(clv_matrix_invert(motion, back));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++) {
        const double voxel[3] = {(double)(i % (size_t)grid->size[0]),
                                 (double)(i / (size_t)grid->size[0] % (size_t)grid->size[1]),
                                 (double)(i / (size_t)grid->size[0] / (size_t)grid->size[1])};
        double shift = 0, at[3], rise = 0;
        for (int round = 0; round < 60; round++) {
            double f[2];
            for (int k = 0; k < 2; k++) {
                memcpy(at, voxel, sizeof at);
                at[e.axis] += -shift + (k ? step : 0);
                clv_matrix_apply(grid->to_ras, at, at);
                clv_matrix_apply(CLV_MATRIX(back), at, at);
                f[k] = field_at(at, most);
            }
            shift = e.seconds * f[0];
            rise = e.seconds * (f[1] - f[0]) / step;
        }
        memcpy(at, voxel, sizeof at);
        at[e.axis] -= shift;
        clv_matrix_apply(grid->to_ras, at, at);
        clv_matrix_apply(CLV_MATRIX(back), at, at);
        out->data[i] = (float)(head_at(at) / (1 + rise));
    }
    return out;
}

static void identity(double m[4][4])
{
    clv_matrix_identity(m);
}

/* Root mean square over the head, away from what piled up, of how far the field is from the truth. */
static double error_of(const clvox_epi_result *r, double most)
{
    double sum = 0;
    size_t count = 0;
    const clvox_grid *g = &r->field->grid;
    for (size_t i = 0; i < clvox_grid_voxels(g); i++) {
        double at[3] = {(double)(i % (size_t)g->size[0]),
                        (double)(i / (size_t)g->size[0] % (size_t)g->size[1]),
                        (double)(i / (size_t)g->size[0] / (size_t)g->size[1])};
        clv_matrix_apply(g->to_ras, at, at);
        if (head_at(at) < 30 || r->pile_up->data[i] > 0)
            continue;
        const double d = (double)r->field->data[i] - field_at(at, most);
        sum += d * d;
        count++;
    }
    assert_true(count > 0);
    return sqrt(sum / (double)count);
}

static void noise(clvox_volume *v, unsigned seed, float sd)
{
    const size_t n = clvox_grid_voxels(&v->grid);
    float *u = malloc(2 * n * sizeof *u);
    harness_random(u, 2 * n, seed, 1e-6f, 1);
    for (size_t i = 0; i < n; i++)
        v->data[i] += sd * sqrtf(-2 * logf(u[i])) * cosf(6.2831853f * u[n + i]);
    free(u);
}

typedef struct case_of {
    int size[3];
    double edge[3], turn;
    int axis;
    double seconds[2], most, worst; /* worst: of the error, Hz */
} case_of;

static const case_of cases[] = {
    {{35, 41, 23}, {2.4, 2.2, 3}, .3, 1, {.05, -.05}, 70, 2.5},
    {{37, 35, 29}, {2.2, 2.4, 2.4}, 0, 0, {-.04, .05}, 70, 2.5},
    {{27, 31, 37}, {3, 3, 2}, -.2, 2, {.05, -.05}, 60, 2.5},
    {{31, 41, 1}, {2.4, 2.2, 5}, 0, 1, {.05, -.05}, 60, 3},
    {{31, 37, 21}, {2.4, 2.4, 3}, .3, 1, {.1, -.1}, 90, 3.5},
};

static void blips(const case_of *c, clvox_volume *v[2], clvox_epi_image images[2], const double motion[4][4])
{
    const clvox_grid g = grid_of(c->size, c->edge, c->turn);
    double still[4][4];
    identity(still);
    for (int k = 0; k < 2; k++) {
        const clvox_epi_encoding e = {c->axis, c->seconds[k]};
        v[k] = scan(&g, e, c->most, k ? motion : CLV_MATRIX(still));
        images[k] = (clvox_epi_image){v[k], e};
    }
}

static void release(clvox_volume *v[2])
{
    clvox_volume_destroy(&v[0]);
    clvox_volume_destroy(&v[1]);
}

static void finds_the_field(void **state)
{
    const case_of *c = &cases[*(const int *)*state];
    clvox_volume *v[2];
    clvox_epi_image images[2];
    clvox_epi_result r, turned, again;
    double still[4][4], apart = 0, sums[2] = {0, 0};
    identity(still);
    blips(c, v, images, CLV_MATRIX(still));
    noise(v[0], 3, 2);
    noise(v[1], 4, 2);
    assert_ok(clvox_epi_from_blips(ctx, images, 2, &r));
    const double error = error_of(&r, c->most);
    printf("# %.2f Hz rms, differences %.4f to %.4f\n", error, r.difference_before, r.difference_after);
    assert_true(error < c->worst);
    assert_true(r.difference_after < .6 * r.difference_before);
    assert_true(r.images == 2 && r.largest_mm > 2 && r.device_bytes > 0);
    /* The same bits again; exchanged directions are the opposite field. */
    assert_ok(clvox_epi_from_blips(ctx, images, 2, &again));
    for (int k = 0; k < 2; k++)
        images[k].encoding.seconds *= -1;
    assert_ok(clvox_epi_from_blips(ctx, images, 2, &turned));
    for (size_t i = 0; i < clvox_grid_voxels(&r.field->grid); i++) {
        assert_true(r.field->data[i] == again.field->data[i] &&
                    r.corrected->data[i] == again.corrected->data[i]);
        apart = fmax(apart, fabs((double)r.field->data[i] + (double)turned.field->data[i]));
        sums[0] += (double)v[0]->data[i];
        sums[1] += (double)r.corrected->data[i];
    }
    assert_true(apart < .5);
    /* Correcting keeps the signal. */
    assert_true(fabs(sums[1] / sums[0] - 1) < .01);
    clvox_epi_result_destroy(&r);
    clvox_epi_result_destroy(&again);
    clvox_epi_result_destroy(&turned);
    release(v);
}

static void finds_motion(void **state)
{
    const case_of *c = &cases[0];
    clvox_volume *v[4];
    clvox_epi_image images[4];
    clvox_epi_result r;
    double turn[4][4] = {{0, -.012, .006, 0}, {.012, 0, -.014, 0}, {-.006, .014, 0, 0}, {0}}, motion[4][4];
    double nod[4][4] = {{0, .04, 0, 0}, {-.04, 0, .02, 0}, {0, -.02, 0, 0}, {0}}, far[4][4];
    (void)state;
    clv_matrix_exp(CLV_MATRIX(turn), motion);
    motion[0][3] = .9;
    motion[2][3] = -.7;
    clv_matrix_exp(CLV_MATRIX(nod), far);
    far[0][3] = -2;
    far[1][3] = 1.5;
    blips(c, v, images, CLV_MATRIX(motion));
    /* A third image, of the first one's direction and the second one's place, and a fourth one of the
     * second one's direction elsewhere. */
    v[2] = scan(&v[0]->grid, images[0].encoding, c->most, CLV_MATRIX(motion));
    images[2] = (clvox_epi_image){v[2], images[0].encoding};
    v[3] = scan(&v[0]->grid, images[1].encoding, c->most, CLV_MATRIX(far));
    images[3] = (clvox_epi_image){v[3], images[1].encoding};
    for (unsigned k = 0; k < 4; k++)
        noise(v[k], 5 + k, 2);
    assert_ok(clvox_epi_from_blips(ctx, images, 4, &r));
    /* Along the axis of phase encoding the motion is a constant of the field, here next to nothing. */
    for (int k = 1; k < 4; k++) {
        double worst = 0;
        for (int corner = 0; corner < 8; corner++) {
            double x[3], p[3], q[3], e[3];
            for (int a = 0; a < 3; a++)
                x[a] = corner >> a & 1 ? 25 : -25;
            clv_matrix_apply(k < 3 ? CLV_MATRIX(motion) : CLV_MATRIX(far), x, p);
            clv_matrix_apply(CLV_MATRIX(r.matrix[k]), x, q);
            for (int a = 0; a < 3; a++)
                e[a] = v[0]->grid.to_ras[a][c->axis] / c->edge[c->axis];
            const double d[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
            const double along = k != 2 ? d[0] * e[0] + d[1] * e[1] + d[2] * e[2] : 0;
            worst = fmax(worst, sqrt(fmax(0, d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - along * along)));
        }
        printf("# image %d: %.3f mm off\n", k, worst);
        assert_true(worst < .7);
    }
    printf("# %.2f Hz rms\n", error_of(&r, c->most));
    assert_true(error_of(&r, c->most) < 8);
    clvox_epi_result_destroy(&r);
    release(v);
    release(v + 2);
}

static void identical_images_have_none(void **state)
{
    const clvox_grid g = grid_of((const int[3]){21, 19, 13}, (const double[3]){3.5, 4, 5}, .2);
    double still[4][4];
    clvox_epi_result r;
    (void)state;
    identity(still);
    clvox_volume *v = scan(&g, (clvox_epi_encoding){1, .05}, 0, CLV_MATRIX(still));
    v->data[700] = NAN;
    const clvox_epi_image images[2] = {{v, {1, .05}}, {v, {1, -.05}}};
    assert_ok(clvox_epi_from_blips(ctx, images, 2, &r));
    for (size_t i = 0; i < clvox_grid_voxels(&g); i++)
        assert_true(fabsf(r.field->data[i]) < 1e-3f && isfinite(r.corrected->data[i]) &&
                    r.pile_up->data[i] == 0);
    clvox_epi_result_destroy(&r);
    clvox_volume_destroy(&v);
}

/* A field on another grid corrects one image; its warp leads to the same. */
static void a_field_map_corrects(void **state)
{
    const case_of *c = &cases[0];
    const clvox_grid g = grid_of(c->size, c->edge, c->turn),
                     coarse = grid_of((const int[3]){29, 31, 33}, (const double[3]){3, 3.2, 3}, 0);
    double still[4][4], worst = 0;
    clvox_volume *map, *bare = NULL;
    clvox_epi_result r;
    (void)state;
    identity(still);
    const clvox_epi_encoding e = {1, -.05};
    clvox_volume *v = scan(&g, e, c->most, CLV_MATRIX(still));
    assert_ok(clvox_volume_create(&coarse, 1, CLVOX_KIND_SCALAR, &map));
    for (size_t i = 0; i < clvox_grid_voxels(&coarse); i++) {
        double at[3] = {(double)(i % 29), (double)(i / 29 % 31), (double)(i / 29 / 31)};
        clv_matrix_apply(coarse.to_ras, at, at);
        map->data[i] = (float)field_at(at, c->most);
    }
    assert_ok(clvox_epi_from_field(ctx, &(clvox_epi_image){v, e}, map, 1, &r));
    const clvox_transform warp = {.is_warp = 1, .warp = r.warp};
    assert_ok(clvox_apply(ctx, v, &g, &(clvox_link){&warp, 0}, 1, CLVOX_INTERPOLATE_CUBIC, 0, &bare));
    for (size_t i = 0; i < clvox_grid_voxels(&g); i++) {
        double at[3] = {(double)(i % (size_t)g.size[0]), (double)(i / (size_t)g.size[0] % (size_t)g.size[1]),
                        (double)(i / (size_t)g.size[0] / (size_t)g.size[1])};
        clv_matrix_apply(g.to_ras, at, at);
        worst = fmax(worst, fabs((double)r.corrected->data[i] - head_at(at)));
        const double jacobian = 1 + e.seconds * (double)clv_epi_rise(r.field, 1, i);
        assert_true(fabs((double)bare->data[i] * jacobian - (double)r.corrected->data[i]) < .01);
    }
    printf("# %.2f of 100 off\n", worst);
    assert_true(worst < 8 && isnan(r.difference_after));
    /* Where a steeper field folds the image, signal piles up. */
    clvox_epi_result steep;
    long piled = 0;
    assert_ok(clvox_epi_from_field(ctx, &(clvox_epi_image){v, e}, map, 4, &steep));
    for (size_t i = 0; i < clvox_grid_voxels(&g); i++) {
        const bool folds = 1 + e.seconds * (double)clv_epi_rise(steep.field, 1, i) < .2;
        const bool turned = 1 + e.seconds * (double)clv_epi_rise(steep.field, 1, i) < 0;
        assert_true((steep.pile_up->data[i] > 0) == folds && isfinite(steep.corrected->data[i]));
        assert_true(!turned || steep.corrected->data[i] == 0);
        piled += folds;
    }
    assert_true(piled > 0 && steep.piled_up > 0 && steep.piled_up <= piled && r.piled_up == 0);
    clvox_epi_result_destroy(&steep);
    /* The phase that the field makes between two echoes is the same field; of another unit it is refused. */
    clvox_epi_result phase;
    double hz;
    assert_ok(clvox_epi_field_unit(".00492,.00738", &hz));
    for (size_t i = 0; i < clvox_grid_voxels(&map->grid); i++)
        map->data[i] *= 6.2831853f * .00246f;
    assert_ok(clvox_epi_from_field(ctx, &(clvox_epi_image){v, e}, map, hz, &phase));
    for (size_t i = 0; i < clvox_grid_voxels(&g); i++)
        assert_true(fabsf(phase.field->data[i] - r.field->data[i]) < 1e-3f);
    clvox_epi_result_destroy(&phase);
    assert_int_equal(clvox_epi_from_field(ctx, &(clvox_epi_image){v, e}, map, 1e6, &phase), CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "its unit") && !phase.field);
    clvox_epi_result_destroy(&r);
    clvox_volume_destroy(&bare);
    clvox_volume_destroy(&map);
    clvox_volume_destroy(&v);
}

/* The head of an image has turned against the field's frame, and its axis of phase encoding with it. */
static void a_turned_image_is_corrected(void **state)
{
    const case_of *c = &cases[0];
    const clvox_grid g = grid_of(c->size, c->edge, c->turn);
    double turn[4][4] = {{0, -.15, .05, 0}, {.15, 0, -.1, 0}, {-.05, .1, 0, 0}, {0}}, sum = 0;
    clvox_epi_result r = {.images = 1};
    (void)state;
    clv_matrix_exp(CLV_MATRIX(turn), r.matrix[0]);
    const clvox_epi_encoding e = {1, .05};
    clvox_volume *v = scan(&g, e, c->most, CLV_MATRIX(r.matrix[0]));
    assert_ok(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &r.field));
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < clvox_grid_voxels(&g); i++) {
            double at[3] = {(double)(i % (size_t)g.size[0]),
                            (double)(i / (size_t)g.size[0] % (size_t)g.size[1]),
                            (double)(i / (size_t)g.size[0] / (size_t)g.size[1])};
            clv_matrix_apply(g.to_ras, at, at);
            if (!pass)
                r.field->data[i] = (float)field_at(at, c->most);
            else
                sum += pow((double)r.corrected->data[i] - head_at(at), 2);
        }
        if (!pass)
            assert_ok(clv_epi_correct(ctx, &(clvox_epi_image){v, e}, 1, &r));
    }
    sum = sqrt(sum / (double)clvox_grid_voxels(&g));
    printf("# %.2f of 100 off\n", sum);
    assert_true(sum < .9);
    clvox_epi_result_destroy(&r);
    clvox_volume_destroy(&v);
}

/* One image and an undistorted one whose contrast is the opposite. */
static void an_anatomy_corrects(void **state)
{
    const case_of *c = &cases[0];
    const clvox_grid g = grid_of(c->size, c->edge, c->turn),
                     fine = grid_of((const int[3]){45, 51, 41}, (const double[3]){1.7, 1.7, 1.7}, 0);
    double still[4][4];
    clvox_epi_result r, none;
    (void)state;
    identity(still);
    const clvox_epi_encoding e = {1, .05};
    clvox_volume *v = scan(&g, e, c->most, CLV_MATRIX(still)),
                 *anatomy = scan(&fine, e, 0, CLV_MATRIX(still)), *zero;
    for (size_t i = 0; i < clvox_grid_voxels(&fine); i++)
        anatomy->data[i] = 400 * sqrtf(anatomy->data[i] / 100) * (1.2f - anatomy->data[i] / 100);
    assert_ok(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &zero));
    assert_ok(clvox_epi_from_field(ctx, &(clvox_epi_image){v, e}, zero, 1, &none));
    assert_ok(clvox_epi_from_anatomy(ctx, &(clvox_epi_image){v, e}, anatomy, &r));
    printf("# %.2f Hz rms, %.2f uncorrected\n", error_of(&r, c->most), error_of(&none, c->most));
    /* Were the displacement free in all directions, it would be 8 Hz. */
    assert_true(error_of(&r, c->most) < .3 * error_of(&none, c->most));
    clvox_epi_result_destroy(&r);
    clvox_epi_result_destroy(&none);
    clvox_volume_destroy(&zero);
    clvox_volume_destroy(&anatomy);
    clvox_volume_destroy(&v);
}

static void refuses(void **state)
{
    const clvox_grid g = grid_of((const int[3]){9, 9, 7}, (const double[3]){6, 6, 7}, 0);
    double still[4][4];
    clvox_epi_result r;
    (void)state;
    identity(still);
    clvox_volume *v = scan(&g, (clvox_epi_encoding){1, .05}, 0, CLV_MATRIX(still)), *empty;
    assert_ok(clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &empty));
    const struct {
        clvox_epi_image images[2];
        int count, code;
        const char *says;
    } wrong[] = {
        {{{v, {1, .05}}, {v, {1, .05}}}, 2, CLVOX_ERROR_ARGUMENT, "both directions"},
        {{{v, {1, .05}}, {v, {0, -.05}}}, 2, CLVOX_ERROR_ARGUMENT, "of one axis"},
        {{{v, {1, .05}}, {v, {1, 0}}}, 2, CLVOX_ERROR_ARGUMENT, "not set"},
        {{{v, {3, .05}}, {v, {1, -.05}}}, 2, CLVOX_ERROR_ARGUMENT, "not set"},
        {{{v, {1, .05}}, {empty, {1, -.05}}}, 2, CLVOX_ERROR_DATA, "empty"},
        {{{v, {1, .05}}, {v, {1, -.05}}}, 1, CLVOX_ERROR_ARGUMENT, "2 to"},
        {{{v, {1, .05}}, {NULL, {1, -.05}}}, 2, CLVOX_ERROR_ARGUMENT, "missing"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(clvox_epi_from_blips(ctx, wrong[i].images, wrong[i].count, &r), wrong[i].code);
        assert_that(strstr(clvox_message(), wrong[i].says), "%s", clvox_message());
        assert_true(!r.field && !r.corrected);
    }
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&empty);
}

/* ---- phase encoding in files -------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    assert_true(to && fputs(text, to) >= 0 && !fclose(to));
}

static void reads_words_and_files(void **state)
{
    clvox_epi_encoding e, row[3];
    int count;
    char folder[] = "/tmp/clvox_epi_XXXXXX", path[64], image[64];
    clvox_grid g = grid_of((const int[3]){9, 9, 7}, (const double[3]){6, 6, 7}, 0);
    (void)state;
    assert_ok(clvox_epi_encoding_set("j-", .05, &e));
    assert_true(e.axis == 1 && e.seconds == -.05);
    assert_ok(clvox_epi_encoding_set("k", .02, &e));
    assert_true(e.axis == 2 && e.seconds == .02);
    static const char *const words[] = {"", "l", "j+", "j--", "-j", "ji"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(clvox_epi_encoding_set(words[i], .05, &e), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_epi_encoding_set("j", 50, &e), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_epi_encoding_set("j", (double)NAN, &e), CLVOX_ERROR_ARGUMENT);
    assert_true(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a_epi.json", folder);
    snprintf(image, sizeof image, "%s/a_epi.nii.gz", folder);
    assert_int_equal(clvox_epi_encoding_read(image, &e), CLVOX_ERROR_FILE);
    write_text(path, "{\"PhaseEncodingDirection\": \"i-\", \"TotalReadoutTime\": 0.04}");
    assert_ok(clvox_epi_encoding_read(image, &e));
    assert_true(e.axis == 0 && e.seconds == -.04);
    write_text(
        path,
        "{\"PhaseEncodingDirection\": \"j\", \"EffectiveEchoSpacing\": 0.0005, \"ReconMatrixPE\": 101}");
    assert_ok(clvox_epi_encoding_read(image, &e));
    assert_true(e.axis == 1 && fabs(e.seconds - .05) < 1e-12);
    static const char *const broken[] = {"", "{\"TotalReadoutTime\": 0.04}",
                                         "{\"PhaseEncodingDirection\": \"j\"}", "[1]"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_text(path, broken[i]);
        assert_int_equal(clvox_epi_encoding_read(image, &e), CLVOX_ERROR_FORMAT);
        assert_true(strstr(clvox_message(), "a_epi.json"));
    }
    double hz;
    static const struct {
        const char *text;
        double hz;
    } units[] = {{"{}", 1},
                 {"{\"Units\": \"Hz\"}", 1},
                 {"{\"Units\": \"rad/s\"}", .15915494309},
                 {"{\"EchoTime1\": 0.005, \"EchoTime2\": 0.0075}", 63.661977237},
                 {"{\"Units\": \"tesla\"}", 0},
                 {"{\"EchoTime1\": 0.005, \"EchoTime2\": 0.005}", 0},
                 {"nothing", 0}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        write_text(path, units[i].text);
        const int status = clvox_epi_field_unit_read(image, &hz);
        assert_int_equal(status, units[i].hz > 0 ? CLVOX_OK : CLVOX_ERROR_FORMAT);
        assert_true(status < 0 ? strstr(clvox_message(), "a_epi.json") != NULL
                               : fabs(hz / units[i].hz - 1) < 1e-9);
    }
    assert_ok(clvox_epi_field_unit_read("/nowhere/map.nii.gz", &hz));
    assert_true(hz == 1);
    static const char *const other[] = {"", "hz", "rad", ".005", ".0075,.005", "5,7.5", ".005,.0075,"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_int_equal(clvox_epi_field_unit(other[i], &hz), CLVOX_ERROR_ARGUMENT);
    /* FSL turns an image round whose matrix has a positive determinant. */
    write_text(path, "0 -1 0 0.05\n\n 1 0 0 .03 \r\n");
    assert_ok(clvox_epi_acqparams_read(path, &g, row, 3, &count));
    assert_true(count == 2 && row[0].axis == 1 && row[0].seconds == -.05 && row[1].axis == 0);
    assert_true(row[1].seconds == -.03);
    for (int r = 0; r < 3; r++)
        g.to_ras[r][0] *= -1;
    assert_ok(clvox_epi_acqparams_read(path, &g, row, 3, &count));
    assert_true(row[0].seconds == -.05 && row[1].seconds == .03);
    static const char *const rows[] = {
        "",          "1 1 0 .05\n",  "0 0 0 .05\n",   "0 1 0\n",
        "0 1 0 5\n", "0 .5 0 .05\n", "0 1 0 .05 3\n", "0 1 0 .05\n0 -1 0 .05\n0 1 0 .05\n0 1 0 .05\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_text(path, rows[i]);
        assert_int_equal(clvox_epi_acqparams_read(path, &g, row, 3, &count), CLVOX_ERROR_FORMAT);
    }
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    ctx = harness_open();
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
        test_case_at(finds_the_field, TEST_AT(i), "opposite blips, %d x %d x %d voxels along %c",
                     cases[i].size[0], cases[i].size[1], cases[i].size[2], "ijk"[cases[i].axis]);
    test_case(finds_motion, "motion between blips");
    test_case(identical_images_have_none, "identical images");
    test_case(a_field_map_corrects, "a field map");
    test_case(a_turned_image_is_corrected, "a turned image");
    test_case(an_anatomy_corrects, "an undistorted image");
    test_case(refuses, "what is no pair of blips");
    test_case(reads_words_and_files, "phase encoding in words and files");
    return test_run("epi", harness_close);
}
