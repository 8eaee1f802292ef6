/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of tensors: whole volumes, colours, and what other programs make of the
 * same tensors. */
#include "tensor/maps.h"

#include <zlib.h>

#include "base/matrix.h"
#include "io/gradients.h"
#include "op/harness.h"

static clvox_context *ctx;

static clvox_grid grid_of(int x, int y, int z)
{
    return (clvox_grid){{x, y, z}, {{-2, 0, 0, 90}, {0, 2, 0, -126}, {0, 0, 2.5, -72}, {0, 0, 0, 1}}};
}

static clvox_volume *tensors(const clvox_grid *grid)
{
    clvox_volume *v = NULL;
    assert_ok(clvox_volume_create(grid, 6, CLVOX_KIND_TENSOR, &v));
    return v;
}

static void release(clvox_volume *maps[CLVOX_MEASURES])
{
    for (int m = 0; m < CLVOX_MEASURES; m++)
        clvox_volume_destroy(&maps[m]);
}

/* Tensors of many kinds, the same each 97 voxels. */
static clvox_volume *many_tensors(int slices)
{
    const clvox_grid grid = grid_of(128, 128, slices);
    const size_t n = clvox_grid_voxels(&grid);
    clvox_volume *d = tensors(&grid);
    for (size_t i = 0; i < 6 * n; i++)
        d->data[i] = 1e-3f * (float)(i % n % 97 + 3 * (i / n));
    return d;
}

static void a_volume_a_mask_and_only_what_is_asked(void **state)
{
    (void)state;
    const clvox_grid grid = grid_of(5, 4, 3);
    clvox_volume *mask = NULL, *d = tensors(&grid), *maps[CLVOX_MEASURES];
    const size_t n = 60;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &mask));
    for (size_t i = 0; i < n; i++) {
        mask->data[i] = i % 2 ? 1 : 0;
        d->data[i] = 1e-3f;
        d->data[3 * n + i] = 0.5e-3f;
        d->data[5 * n + i] = 0.25e-3f;
    }
    unsigned wanted = 1u << CLVOX_MEASURE_MD | 1u << CLVOX_MEASURE_L3 | 1u << CLVOX_MEASURE_V1;
    assert_true(clvox_tensor_measures(ctx, d, mask, wanted, maps) == 0);
    for (int m = 0; m < CLVOX_MEASURES; m++)
        assert_true((maps[m] != NULL) == (int)(wanted >> m & 1));
    assert_true(maps[CLVOX_MEASURE_V1]->frames == 3 &&
                maps[CLVOX_MEASURE_V1]->kind == CLVOX_KIND_VECTOR);
    assert_true(clvox_grid_equal(&maps[CLVOX_MEASURE_MD]->grid, &grid));
    for (size_t i = 0; i < n; i++) {
        assert_true(fabsf(maps[CLVOX_MEASURE_MD]->data[i] - (i % 2 ? 1.75e-3f / 3 : 0)) < 1e-9f);
        assert_true(fabsf(maps[CLVOX_MEASURE_L3]->data[i] - (i % 2 ? 0.25e-3f : 0)) < 1e-9f);
        assert_true(maps[CLVOX_MEASURE_V1]->data[i] == (i % 2 ? 1 : 0));
    }
    release(maps);
    assert_true(clvox_tensor_measures(ctx, d, NULL, 0, maps) == CLVOX_ERROR_ARGUMENT &&
                !maps[0]);
    mask->grid.to_ras[0][3] += 1;
    assert_true(clvox_tensor_measures(ctx, d, mask, wanted, maps) == CLVOX_ERROR_DATA &&
                !maps[0]);
    d->kind = CLVOX_KIND_SCALAR;
    assert_int_equal(clvox_tensor_measures(ctx, d, NULL, wanted, maps), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&d);
    clvox_volume_destroy(&mask);
}

static void large_volumes_are_measured_in_batches(void **state)
{
    (void)state;
    clvox_volume *d = many_tensors(getenv("CLVOX_TEST_TINY") ? 1 : 130), *maps[CLVOX_MEASURES];
    const size_t n = clvox_grid_voxels(&d->grid);
    assert_true(clvox_tensor_measures(ctx, d, NULL, 1u << CLVOX_MEASURE_FA | 1u << CLVOX_MEASURE_V2,
                                      maps) == 0);
    bool same = true;
    for (size_t i = 97; maps[0] && i < n; i++)
        for (size_t c = 0; c < 3; c++)
            same = same && fabsf(maps[0]->data[i] - maps[0]->data[i - 97]) < 1e-6f &&
                   fabsf(maps[CLVOX_MEASURE_V2]->data[c * n + i] -
                         maps[CLVOX_MEASURE_V2]->data[c * n + i - 97]) < 1e-4f;
    assert_true(same && maps[0] && maps[0]->data[n - 1] > 0.1f);
    release(maps);
    clvox_volume_destroy(&d);
}

static void what_a_solver_keeps_in_another_unit_comes(void **state)
{
    (void)state;
    clvox_volume *d = many_tensors(1), *maps[CLVOX_MEASURES];
    const size_t n = clvox_grid_voxels(&d->grid);
    clv_buffer *device = harness_upload(ctx, d->data, 6 * n * sizeof(float));
    assert_true(clv_tensor_maps(ctx, device, NULL, &d->grid, 1e-3, 1u << CLVOX_MEASURE_MD, maps) ==
                0);
    float mean =
        (d->data[5] + d->data[3 * n + 5] + d->data[5 * n + 5]) / 3;
    assert_true(maps[CLVOX_MEASURE_MD] &&
                fabsf(maps[CLVOX_MEASURE_MD]->data[5] / (1e-3f * mean) - 1) < 1e-5f);
    clv_buffer_destroy(&device);
    release(maps);
    clvox_volume_destroy(&d);
}

static void volumes(void)
{
    test_case(a_volume_a_mask_and_only_what_is_asked, "a volume, a mask, and only what is asked for");
    test_case(large_volumes_are_measured_in_batches, "large volumes are measured in batches");
    test_case(what_a_solver_keeps_in_another_unit_comes,
              "what a solver keeps in another unit comes out in mm^2/s");
}

static void colours(void **state)
{
    (void)state;
    clvox_grid grid = grid_of(4, 3, 2);
    clvox_volume *fa = NULL, *v1 = NULL;
    uint8_t *rgb = NULL;
    size_t n = 24;
    clv_raster figure;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &fa));
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_VECTOR, &v1));
    fa->data[5] = 0.5f;
    v1->data[5] = -1; /* the sign of a direction has no colour */
    fa->data[6] = 1.2f;
    v1->data[2 * n + 6] = 1;
    fa->data[7] = NAN;
    v1->data[n + 7] = 1;
    assert_true(clv_tensor_colours(fa, v1, &rgb) == 0);
    assert_true(rgb[15] == 128 && rgb[16] == 0 && rgb[17] == 0);
    assert_true(rgb[18] == 0 && rgb[19] == 0 && rgb[20] == 255 && rgb[22] == 0);
    assert_true(clv_figure_colours(&grid, rgb, &figure) == 0);
    bool blue = false;
    for (int y = 0; figure.rgb && y < figure.height; y++)
        for (int x = 0; x < figure.width; x++) {
            clv_color c = clv_raster_get(&figure, x, y);
            blue = blue || (c.r == 0 && c.g == 0 && c.b == 255);
        }
    assert_true(figure.width > 360 && blue);
    clv_raster_free(&figure);
    memset(rgb, 0, 3 * n); /* nothing to see is no reason to fail */
    assert_true(clv_figure_colours(&grid, rgb, &figure) == 0 && figure.width > 360);
    clv_raster_free(&figure);
    free(rgb);
    clvox_volume_destroy(&fa);
    clvox_volume_destroy(&v1);
}

/* Thin helices round the middle of the grid, whose directions, in the axes of
 * bvecs, went to axis[] with these signs. */
static void helices(const clvox_grid *grid, const int axis[3], const double sign[3], const char *want)
{
    size_t n = clvox_grid_voxels(grid);
    clvox_volume *fa = NULL, *v1 = NULL;
    double to_ras[3][3], to_voxel[4][4], middle[3];
    char name[CLV_TURN_NAME];
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &fa));
    assert_ok(clvox_volume_create(grid, 3, CLVOX_KIND_VECTOR, &v1));
    assert_ok(clv_bvec_to_ras(grid, to_ras));
    assert_ok(clv_matrix_invert(CLV_MATRIX(grid->to_ras), to_voxel));
    for (int a = 0; a < 3; a++)
        middle[a] = 0.5 * (grid->size[a] - 1);
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), middle, middle);
    for (int k = 0; k < 48; k++)
        for (double r = 8 + 5 * (k % 6), turn = -1.5; turn < 1.5; turn += 0.5 / r) {
            double t = turn + k, at[3] = {r * cos(t), r * sin(t), 0.8 * r * turn};
            double v[3] = {-sin(t) / sqrt(1.64), cos(t) / sqrt(1.64), 0.8 / sqrt(1.64)}, b[3], w[3];
            size_t voxel = 0;
            bool inside = true;
            for (int a = 0; a < 3; a++)
                at[a] += middle[a];
            clv_matrix_apply(CLV_MATRIX(to_voxel), at, at);
            for (int a = 2; a >= 0; a--) {
                inside = inside && at[a] >= 0 && at[a] <= grid->size[a] - 1;
                voxel = voxel * (size_t)grid->size[a] + (inside ? (size_t)rint(at[a]) : 0);
            }
            if (!inside)
                continue;
            for (int a = 0; a < 3; a++)
                b[a] = to_ras[0][a] * v[0] + to_ras[1][a] * v[1] + to_ras[2][a] * v[2];
            for (int a = 0; a < 3; a++)
                w[axis[a]] = sign[a] * b[a];
            for (size_t a = 0; a < 3; a++)
                v1->data[a * n + voxel] =
                    (float)(to_ras[a][0] * w[0] + to_ras[a][1] * w[1] + to_ras[a][2] * w[2]);
            fa->data[voxel] = 0.7f;
        }
    int best;
    double gain;
    assert_true(clv_tensor_coherence(fa, v1, &best, &gain) == 0);
    clv_turn_name(best, name);
    assert_that(!strcmp(name, want) && (best ? gain > 1.15 : gain == 1), "%s by %g, not %s", name, gain,
                want);
    clvox_volume_destroy(&fa);
    clvox_volume_destroy(&v1);
}

static const int same[3] = {0, 1, 2}, exchanged[3] = {1, 0, 2};

static void axes_of_gradients_that_went_wrong_show(void **state)
{
    (void)state;
    clvox_grid grid = grid_of(40, 40, 20);
    for (int g = 0; g < 3; g++) {
        if (g == 1)
            grid.to_ras[0][0] = 2; /* right-handed */
        if (g == 2) { /* oblique: 20 degrees round y */
            grid.to_ras[0][0] = 2 * 0.9397;
            grid.to_ras[2][0] = -2 * 0.3420;
            grid.to_ras[0][2] = 2.5 * 0.3420;
            grid.to_ras[2][2] = 2.5 * 0.9397;
        }
        helices(&grid, same, (const double[3]){1, 1, 1}, "x y z");
        helices(&grid, same, (const double[3]){-1, 1, 1}, "-x y z");
        helices(&grid, same, (const double[3]){1, 1, -1}, "x y -z");
        helices(&grid, exchanged, (const double[3]){1, 1, 1}, "y x z");
    }
}

static void too_few_fibres_say_nothing(void **state)
{
    (void)state;
    clvox_grid grid = grid_of(5, 5, 5);
    helices(&grid, same, (const double[3]){-1, 1, 1}, "x y z");
}

static void coherence(void)
{
    test_case(axes_of_gradients_that_went_wrong_show,
              "axes of gradients that went wrong show in broken fibres");
    test_case(too_few_fibres_say_nothing, "too few fibres say nothing");
}

/* ---- what other programs say -------------------------------------------- */

static const char *data(const char *name)
{
    static char path[4096];
    const char *folder = getenv("CLVOX_DATA");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : CLVOX_DATA_DEFAULT, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fclose(file);
    return path;
}

static clvox_volume *volume(const char *name)
{
    clvox_volume *v = NULL;
    assert_ok(clvox_volume_read(data(name), &v));
    return v;
}

static void dsistudio(void **state)
{
    (void)state;
    static const char *const peers[4] = {"dti_dsistudio/peer_fa.nii.gz", "dti_dsistudio/peer_md.nii.gz",
                                         "dti_dsistudio/peer_ad.nii.gz", "dti_dsistudio/peer_rd.nii.gz"};
    clvox_volume *d = NULL, *maps[CLVOX_MEASURES];
    if (!data("dti_dsistudio/tensor_lls_xx_xy_xz_yy_yz_zz.nii.gz"))
        test_skip("no dti_dsistudio");
    assert_ok(
        clvox_tensor_read(data("dti_dsistudio/tensor_lls_xx_xy_xz_yy_yz_zz.nii.gz"), CLVOX_TENSOR_FSL, &d));
    assert_true(clvox_tensor_measures(ctx, d, NULL, CLVOX_MEASURES_ALL, maps) == 0);
    size_t n = clvox_grid_voxels(&d->grid), count = 0;
    clvox_volume *fa = volume("dti_dsistudio/fa_lls.nii.gz");
    double worst = 0;
    for (size_t i = 0; i < n; i++) /* that one stops at 1 */
        worst = fmax(worst, fabs(fmin((double)maps[0]->data[i], 1) - fmin((double)fa->data[i], 1)));
    assert_that(worst < 1e-6, "FA is off by %g", worst);
    clvox_volume_destroy(&fa);
    /* DSI Studio's own fit treats weak signals otherwise: nearly all voxels agree. */
    for (int m = 0; m < 4; m++) {
        clvox_volume *peer = volume(peers[m]);
        size_t near = 0;
        count = 0;
        for (size_t i = 0; i < n; i++) {
            double got = (double)maps[m]->data[i] * (m ? 1e3 : 1), want = (double)peer->data[i];
            if (!(maps[CLVOX_MEASURE_L3]->data[i] > 0))
                continue;
            count++;
            near += fabs(got - want) < 1e-5 * want + 1e-6;
        }
        assert_that(count > 40000 && (double)near > 0.99 * (double)count, "%s: %zu of %zu agree", peers[m],
                    near, count);
        clvox_volume_destroy(&peer);
    }
    /* Its directions are those of the voxels, though the grid is right-handed. */
    int best = 0;
    double gain = 0;
    char name[CLV_TURN_NAME];
    assert_true(clv_tensor_coherence(maps[CLVOX_MEASURE_FA], maps[CLVOX_MEASURE_V1], &best, &gain) == 0);
    clv_turn_name(best, name);
    assert_that(!strcmp(name, "-x y z") && gain > 1.2, "%s by %g", name, gain);
    release(maps);
    clvox_volume_destroy(&d);
}

/* Floats of a NRRD's gzipped data file. */
static float *raw(const char *name, size_t count)
{
    char path[256];
    snprintf(path, sizeof path, "dti_slicer_helix/CLI/%s", name);
    const char *where = data(path);
    float *out = malloc(count * sizeof *out);
    gzFile file = where ? gzopen(where, "rb") : NULL;
    bool whole = file && gzread(file, out, (unsigned)(count * sizeof *out)) == (int)(count * sizeof *out);
    if (file)
        gzclose(file);
    if (!whole) {
        free(out);
        return NULL;
    }
    return out;
}

static void slicer(void **state)
{
    (void)state;
    enum { N = 64 * 32 * 16 };
    static const struct {
        const char *name;
        clvox_measure measure;
        int frame;
        double allowed;
    } rows[] = {
        {"FractionalAnisotropy", CLVOX_MEASURE_FA, 0, 1e-6},
        {"Mode", CLVOX_MEASURE_MODE, 0, 1e-4},
        {"LinearMeasure", CLVOX_MEASURE_CL, 0, 2e-6},
        {"PlanarMeasure", CLVOX_MEASURE_CP, 0, 2e-6},
        {"SphericalMeasure", CLVOX_MEASURE_CS, 0, 2e-6},
        {"MaxEigenvalue", CLVOX_MEASURE_L1, 0, 5e-9},
        {"MidEigenvalue", CLVOX_MEASURE_L2, 0, 5e-9},
        {"MinEigenvalue", CLVOX_MEASURE_L3, 0, 5e-9},
        {"ParallelDiffusivity", CLVOX_MEASURE_AD, 0, 5e-9},
        {"PerpendicularDiffusivity", CLVOX_MEASURE_RD, 0, 5e-9},
        /* l1 times the components of V1, without their signs. */
        {"MaxEigenvalueProjectionX", CLVOX_MEASURE_V1, 0, 2e-8},
        {"MaxEigenvalueProjectionY", CLVOX_MEASURE_V1, 1, 2e-8},
        {"MaxEigenvalueProjectionZ", CLVOX_MEASURE_V1, 2, 2e-8},
    };
    static const int entry[6] = {0, 1, 2, 4, 5, 8};
    float *nine = raw("DWIToDTIEstimation/Data/Baseline/helix-DTI.raw.gz", 9 * (size_t)N);
    if (!nine)
        test_skip("no dti_slicer_helix");
    clvox_grid grid = grid_of(64, 32, 16);
    clvox_volume *d = tensors(&grid), *maps[CLVOX_MEASURES];
    for (size_t i = 0; i < N; i++)
        for (size_t c = 0; c < 6; c++)
            d->data[c * N + i] = nine[9 * i + (size_t)entry[c]];
    assert_true(clvox_tensor_measures(ctx, d, NULL, CLVOX_MEASURES_ALL, maps) == 0);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char name[160];
        snprintf(name, sizeof name, "DiffusionTensorScalarMeasurements/Data/Baseline/helix-DTI-%s.raw.gz",
                 rows[r].name);
        float *want = raw(name, N);
        assert_that(want != NULL, "%s is missing", rows[r].name);
        size_t count = 0, near = 0;
        for (size_t i = 0; want && i < N; i++) {
            /* The baselines hold odd values where the tensor is 0 or not positive; what is next to
             * isotropic has neither mode nor direction. */
            if (!(maps[CLVOX_MEASURE_L3]->data[i] > 0) || maps[0]->data[i] < 0.1f)
                continue;
            double got = (double)maps[rows[r].measure]->data[(size_t)rows[r].frame * N + i];
            if (rows[r].measure == CLVOX_MEASURE_V1)
                got = fabs(got) * (double)maps[CLVOX_MEASURE_L1]->data[i];
            count++;
            near += fabs(got - (double)want[i]) <= rows[r].allowed;
        }
        assert_that(count > 900 && near == count, "%s: %zu of %zu agree", rows[r].name, near, count);
        free(want);
    }
    int best = -1;
    double gain = 0;
    assert_true(clv_tensor_coherence(maps[CLVOX_MEASURE_FA], maps[CLVOX_MEASURE_V1], &best, &gain) == 0);
    assert_that(gain < 1.1, "turn %d by %g", best, gain);
    release(maps);
    clvox_volume_destroy(&d);
    free(nine);
}

int main(void)
{
    ctx = harness_open();
    volumes();
    test_case(colours, "colours are the direction's, as bright as FA says");
    coherence();
    test_case(dsistudio, "FA of a fit by another program, FA, MD, AD and RD of DSI Studio");
    test_case(slicer, "Slicer's measures of its helix");
    return test_run("maps", harness_close);
}
