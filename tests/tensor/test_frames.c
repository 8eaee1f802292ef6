/* SPDX-License-Identifier: Apache-2.0 */
/* Directions are right in world space whatever the header: a known field is
 * scanned on grids whose axes run every way, its gradients go through the files
 * of FSL and of MRtrix, and the tensors must come back. */
#include <unistd.h>

#include "check.h"

#include "base/matrix.h"
#include "clvox/tensor.h"
#include "phantom/phantom.h"
#include "phantom/tensor.h"

enum { DIRECTIONS = 12, ROWS = 7 };
static char folder[] = "/tmp/clvox-frames-XXXXXX", dwi_path[64], bval_path[64], bvec_path[64], table_path[64];

/* ---- grids -------------------------------------------------------------- */

static const int size[3] = {11, 13, 7};
static const double edge[3] = {2, 1.5, 2.5};

/* The grid of the same box whose axis i runs along axis[i], turned round where turn says so. */
static void permuted(bool oblique, const int axis[3], int turn, clvox_grid *out)
{
    clvox_grid plain;
    clvox_phantom_grid(size, edge, oblique, &plain);
    *out = plain;
    for (int i = 0; i < 3; i++)
        out->to_ras[i][3] = plain.to_ras[i][3];
    for (int a = 0; a < 3; a++) {
        out->size[a] = size[axis[a]];
        for (int i = 0; i < 3; i++) {
            double step = plain.to_ras[i][axis[a]];
            out->to_ras[i][a] = turn >> a & 1 ? -step : step;
            if (turn >> a & 1)
                out->to_ras[i][3] += step * (size[axis[a]] - 1);
        }
    }
}

static void shear(clvox_grid *grid)
{
    for (int i = 0; i < 3; i++)
        grid->to_ras[i][1] += 0.2 * grid->to_ras[i][0];
}

/* ---- a plain fit -------------------------------------------------------- */

/* Solves a x = b, 7 unknowns, a symmetric and positive. */
static void solve(double a[ROWS][ROWS], double b[ROWS])
{
    for (int k = 0; k < ROWS; k++)
        for (int i = k + 1; i < ROWS; i++) {
            double f = a[i][k] / a[k][k];
            for (int j = k; j < ROWS; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    for (int k = ROWS - 1; k >= 0; k--) {
        for (int j = k + 1; j < ROWS; j++)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

static void fit(const clvox_volume *dwi, const clvox_gradients *g, size_t at, double d[6])
{
    double a[ROWS][ROWS] = {{0}}, b[ROWS] = {0};
    size_t voxels = clvox_grid_voxels(&dwi->grid);
    for (int v = 0; v < g->count; v++) {
        const double *x = g->direction[v], w = -1e-3 * g->b[v];
        const double row[ROWS] = {1,
                                  w * x[0] * x[0],
                                  2 * w * x[0] * x[1],
                                  2 * w * x[0] * x[2],
                                  w * x[1] * x[1],
                                  2 * w * x[1] * x[2],
                                  w * x[2] * x[2]};
        double value = log((double)dwi->data[(size_t)v * voxels + at]);
        for (int i = 0; i < ROWS; i++) {
            b[i] += row[i] * value;
            for (int j = 0; j < ROWS; j++)
                a[i][j] += row[i] * row[j];
        }
    }
    solve(a, b);
    for (int c = 0; c < 6; c++)
        d[c] = 1e-3 * b[c + 1];
}

/* The largest error of a component against the field at the world position of
 * each voxel of the mask, mm^2/s. */
static double error(const clv_tensor_phantom *field, const clvox_grid *grid, const clvox_volume *dwi,
                    const clvox_gradients *g, int *seen)
{
    double worst = 0;
    size_t at = 0;
    *seen = 0;
    for (int z = 0; z < dwi->grid.size[2]; z++)
        for (int y = 0; y < dwi->grid.size[1]; y++)
            for (int x = 0; x < dwi->grid.size[0]; x++, at++) {
                double p[3], truth[6], d[6];
                clv_matrix_apply(CLV_MATRIX(grid->to_ras), (const double[3]){x, y, z}, p);
                if (!clv_tensor_phantom_inside(field, p))
                    continue;
                clv_tensor_phantom_at(field, p, truth);
                fit(dwi, g, at, d);
                (*seen)++;
                for (int c = 0; c < 6; c++)
                    worst = fmax(worst, fabs(d[c] - truth[c]));
            }
    return worst;
}

/* ---- one grid ----------------------------------------------------------- */

/* bvec as FSL's documents say it: components along the voxels' axes, the first
 * turned round where the determinant is positive. */
static bool is_fsl(const clvox_grid *grid, const clvox_gradients *g)
{
    double spacing[3], b, sign = clv_matrix_determinant(CLV_MATRIX(grid->to_ras)) > 0 ? -1 : 1, worst = 0;
    clvox_grid_spacing(grid, spacing);
    FILE *f = fopen(bvec_path, "r");
    for (int a = 0; f && a < 3; a++)
        for (int v = 0; v < g->count; v++) {
            double along = 0;
            for (int i = 0; i < 3; i++)
                along += grid->to_ras[i][a] / spacing[a] * g->direction[v][i];
            worst = fscanf(f, "%lf", &b) == 1 ? fmax(worst, fabs(b - (a ? 1 : sign) * along)) : INFINITY;
        }
    if (f)
        fclose(f);
    return f && worst < 1e-6;
}

/* field: made for another grid of the same box, or NULL for this grid's own. */
static void check_grid(const clvox_grid *grid, const clv_tensor_phantom *field, bool sheared,
                       const char *name)
{
    clv_tensor_phantom own;
    clvox_gradients *g = NULL, *fsl = NULL, *mrtrix = NULL;
    clvox_volume *made = NULL, *dwi = NULL;
    int seen = 0;
    if (!field) {
        assert_int_equal(clv_tensor_phantom_make(CLVOX_TENSOR_STEPS, grid, 5, &own), CLVOX_OK);
        field = &own;
    }
    bool ready = clv_tensor_phantom_gradients(DIRECTIONS, 1000, 3, &g) == CLVOX_OK &&
                 clv_tensor_phantom_dwi(field, grid, g, INFINITY, true, 1, &made) == CLVOX_OK &&
                 clvox_volume_write(made, dwi_path) == CLVOX_OK &&
                 clvox_gradients_write_fsl(g, grid, bval_path, bvec_path) == CLVOX_OK &&
                 clvox_gradients_write_mrtrix(g, table_path) == CLVOX_OK &&
                 clvox_volume_read(dwi_path, &dwi) == CLVOX_OK &&
                 clvox_gradients_read_fsl(bval_path, bvec_path, &dwi->grid, dwi->frames, &fsl) == CLVOX_OK &&
                 clvox_gradients_read_mrtrix(table_path, dwi->frames, &mrtrix) == CLVOX_OK;
    assert_that(ready, "%s: %s", name, clvox_message());
    if (ready) {
        double by_fsl = error(field, grid, dwi, fsl, &seen);
        double by_mrtrix = error(field, grid, dwi, mrtrix, &seen);
        assert_that(seen > 100, "%s: %d voxels in the mask", name, seen);
        assert_that(by_fsl < 2e-9, "%s: bvec is off by %g mm^2/s", name, by_fsl);
        assert_that(by_mrtrix < 2e-9, "%s: MRtrix is off by %g mm^2/s", name, by_mrtrix);
        assert_that(sheared || is_fsl(grid, g), "%s: bvec is not what FSL defines", name);
    }
    clvox_gradients_destroy(&g);
    clvox_gradients_destroy(&fsl);
    clvox_gradients_destroy(&mrtrix);
    clvox_volume_destroy(&made);
    clvox_volume_destroy(&dwi);
}

static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void grids_with_their_axes_in_all_48_orders(void **state)
{
    const int *given = *state;
    int oblique = given[0];
    char name[64];
    clvox_grid grid;
    clv_tensor_phantom field;
    permuted(oblique, order[0], 0, &grid);
    assert_int_equal(clv_tensor_phantom_make(CLVOX_TENSOR_STEPS, &grid, 5, &field), CLVOX_OK);
    for (int n = 0; n < 48; n++) {
        permuted(oblique, order[n / 8], n % 8, &grid);
        snprintf(name, sizeof name, "axes %d%d%d, turned %d", order[n / 8][0], order[n / 8][1],
                 order[n / 8][2], n % 8);
        check_grid(&grid, &field, false, name);
    }
}

static void sheared_grids_of_both_hands(void **state)
{
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        clvox_grid grid;
        permuted(true, order[3], turn, &grid);
        shear(&grid);
        check_grid(&grid, NULL, true, turn ? "left" : "right");
    }
}

static void the_field_depends_on_the_world_alone(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        clvox_grid plain, other;
        clv_tensor_phantom a, b;
        double worst = 0;
        permuted(false, order[0], 0, &plain);
        permuted(false, order[4], 3, &other);
        assert_int_equal(clv_tensor_phantom_make((clvox_tensor_phantom)kind, &plain, 1, &a), CLVOX_OK);
        assert_int_equal(clv_tensor_phantom_make((clvox_tensor_phantom)kind, &other, 1, &b), CLVOX_OK);
        for (uint64_t n = 0; n < 2000; n++) {
            double x[3], p[6], q[6];
            for (uint64_t i = 0; i < 3; i++)
                x[i] = 5 * clv_phantom_normal(2, 3 * n + i);
            clv_tensor_phantom_at(&a, x, p);
            clv_tensor_phantom_at(&b, x, q);
            assert_true(clv_tensor_phantom_inside(&a, x) == clv_tensor_phantom_inside(&b, x));
            for (int c = 0; c < 6; c++)
                worst = fmax(worst, fabs(p[c] - q[c]));
        }
        assert_that(worst < 1e-12, "kind %d: %g", kind, worst);
    }
}

static void the_directions_lie_evenly_on_the_sphere(void **state)
{
    (void)state;
    clvox_gradients *g = NULL, *again = NULL;
    assert_int_equal(clv_tensor_phantom_gradients(30, 1000, 4, &g), CLVOX_OK);
    assert_int_equal(clv_tensor_phantom_gradients(30, 1000, 4, &again), CLVOX_OK);
    double nearest = 0;
    for (int i = 3; g && again && i < g->count; i++) {
        assert_memory_equal(g->direction[i], again->direction[i], sizeof g->direction[i]);
        for (int j = 3; j < i; j++) {
            const double *a = g->direction[i], *b = g->direction[j];
            nearest = fmax(nearest, fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]));
        }
    }
    assert_true(g && g->count == 33 && g->b[2] == 0 && g->b[3] == 1000);
    assert_that(acos(nearest) * 57.2958 > 24, "%g degrees", acos(nearest) * 57.2958);
    clvox_gradients_destroy(&g);
    clvox_gradients_destroy(&again);
}

static void noise_of_a_magnitude_image_where_there(void **state)
{
    (void)state;
    for (int rician = 0; rician < 2; rician++) {
        clvox_grid grid;
        clv_tensor_phantom field;
        clvox_gradients *g = NULL;
        clvox_volume *dwi = NULL;
        permuted(false, order[0], 0, &grid);
        assert_int_equal(clv_tensor_phantom_make(CLVOX_TENSOR_HELIX, &grid, 1, &field), CLVOX_OK);
        assert_int_equal(clv_tensor_phantom_gradients(30, 1000, 1, &g), CLVOX_OK);
        assert_int_equal(clv_tensor_phantom_dwi(&field, &grid, g, 20, rician, 1, &dwi), CLVOX_OK);
        double sum = 0, squares = 0, count = 0;
        size_t at = 0, voxels = clvox_grid_voxels(&grid);
        for (int z = 0; dwi && z < grid.size[2]; z++)
            for (int y = 0; y < grid.size[1]; y++)
                for (int x = 0; x < grid.size[0]; x++, at++) {
                    double p[3];
                    clv_matrix_apply(CLV_MATRIX(grid.to_ras), (const double[3]){x, y, z}, p);
                    for (size_t v = 0; !clv_tensor_phantom_inside(&field, p) && v < (size_t)g->count; v++) {
                        double s = (double)dwi->data[v * voxels + at];
                        sum += s;
                        squares += s * s;
                        count++;
                    }
                }
        /* sigma = 50: Rayleigh's mean is sigma sqrt(pi/2). */
        double mean = sum / count, wanted = rician ? 62.666 : 0, power = sqrt(squares / count);
        assert_that(fabs(mean - wanted) < 1.5, "mean %g", mean);
        assert_that(fabs(power - (rician ? 70.711 : 50)) < 1.5, "power %g", power);
        clvox_gradients_destroy(&g);
        clvox_volume_destroy(&dwi);
    }
}

static int tear_down(void **state)
{
    (void)state;
    remove(dwi_path);
    remove(bval_path);
    remove(bvec_path);
    remove(table_path);
    return rmdir(folder);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 99;
    snprintf(dwi_path, sizeof dwi_path, "%s/dwi.nii", folder);
    snprintf(bval_path, sizeof bval_path, "%s/dwi.bval", folder);
    snprintf(bvec_path, sizeof bvec_path, "%s/dwi.bvec", folder);
    snprintf(table_path, sizeof table_path, "%s/dwi.b", folder);
    for (int oblique = 0; oblique < 2; oblique++)
        test_case_at(grids_with_their_axes_in_all_48_orders, TEST_AT(oblique),
                     "%s grids with their axes in all 48 orders and senses", oblique ? "oblique" : "plain");
    test_case(sheared_grids_of_both_hands, "sheared grids of both hands");
    test_case(the_field_depends_on_the_world_alone, "the field depends on the world alone");
    test_case(the_directions_lie_evenly_on_the_sphere,
              "the directions lie evenly on the sphere, the same for each seed");
    test_case(noise_of_a_magnitude_image_where_there,
              "noise: of a magnitude image where there is no signal, added on request");
    return test_run("frames", tear_down);
}
