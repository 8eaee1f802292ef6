/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms applied, composed, inverted: known answers on oblique, sheared,
 * anisotropic and left-handed grids. A linear function of the world position
 * is reproduced exactly by linear interpolation, whatever the grid. */
#include "clvox/apply.h"

#include "base/matrix.h"
#include "op/harness.h"
#include "phantom/phantom.h"

static clvox_context *ctx;

static const clvox_grid left_handed = {
    {41, 33, 27}, {{-1.1, 0.12, 0.3, 26}, {0.2, 1.3, -0.25, -27}, {0.1, 0.2, 1.9, -22}, {0, 0, 0, 1}}};
static const clvox_grid right_handed = {
    {37, 26, 45}, {{0.1, 0.2, -1.2, 24}, {1.4, 0, 0.1, -26}, {0.2, 1.8, 0.2, -23}, {0, 0, 0, 1}}};
static const double turn[4][4] = {
    {0.9396926, -0.3420201, 0, 2.5}, {0.3420201, 0.9396926, 0, -1.5}, {0, 0, 1, 3}, {0, 0, 0, 1}};
static const double stretch[4][4] = {
    {1.05, 0.04, 0, -1}, {0, 0.97, 0.05, 2}, {0.02, 0, 1.02, 0.5}, {0, 0, 0, 1}};

static void voxel(const clvox_grid *grid, size_t i, double x[3])
{
    size_t nx = (size_t)grid->size[0], ny = (size_t)grid->size[1];
    double at[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
    clv_matrix_apply(grid->to_ras, at, x);
}

static double ramp_at(const double x[3])
{
    return 0.7 * x[0] - 0.4 * x[1] + 1.1 * x[2] + 5;
}

static clvox_volume *ramp(const clvox_grid *grid)
{
    clvox_volume *v;
    check_must(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++) {
        double x[3];
        voxel(grid, i, x);
        v->data[i] = (float)ramp_at(x);
    }
    return v;
}

/* How far x lies inside of the grid, in voxels; negative: outside of the
 * outermost centres. */
static double depth(const clvox_grid *grid, const double x[3])
{
    double inverse[4][4], p[3], least = INFINITY;
    check_must(clv_matrix_invert(grid->to_ras, inverse));
    clv_matrix_apply(CLV_MATRIX(inverse), x, p);
    for (int a = 0; a < 3; a++)
        least = fmin(least, fmin(p[a], grid->size[a] - 1 - p[a]));
    return least;
}

static clvox_transform affine(const double m[4][4])
{
    clvox_transform t = {0};
    clv_matrix_copy(m, t.matrix);
    return t;
}

static clvox_transform warp_on(const clvox_grid *grid, const clvox_grid *box, double amplitude, uint64_t seed)
{
    clvox_transform t = {.is_warp = 1};
    clv_phantom_warp made;
    check_must(clv_phantom_warp_make(box, amplitude, seed, &made));
    check_must(clv_phantom_warp_sample(&made, grid, false, &t.warp));
    return t;
}

/* Applies the chain to a ramp; every voxel against the points' way. */
static void check_ramp(const clvox_link *links, int count, const clvox_grid *from, const clvox_grid *to,
                       clvox_interpolation interpolation, double margin)
{
    clvox_volume *image = ramp(from), *out;
    check_must(clvox_apply(ctx, image, to, links, count, interpolation, -1000, &out));
    double worst = 0;
    size_t inside = 0, outside = 0, mistaken = 0;
    for (size_t i = 0; i < clvox_grid_voxels(to); i++) {
        double x[3];
        voxel(to, i, x);
        check_must(clvox_apply_points(links, count, x, 1));
        double d = depth(from, x);
        if (d > margin) {
            inside++;
            worst = fmax(worst, fabs((double)out->data[i] - ramp_at(x)));
        } else if (d < -0.502) {
            outside++;
            mistaken += out->data[i] != -1000;
        }
    }
    CHECK_THAT(worst < 2e-3, "%g", worst);
    CHECK_THAT(mistaken == 0, "%zu voxels", mistaken);
    CHECK_THAT(inside > clvox_grid_voxels(to) / 8, "%zu inside, %zu outside", inside, outside);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&out);
}

/* clvox_compose against the points' way. */
static double compose_error(const clvox_link *links, int count, const clvox_grid *grid)
{
    clvox_volume *out;
    check_must(clvox_compose(ctx, grid, links, count, &out));
    size_t n = clvox_grid_voxels(grid);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double x[3], y[3];
        voxel(grid, i, x);
        memcpy(y, x, sizeof y);
        check_must(clvox_apply_points(links, count, y, 1));
        for (size_t a = 0; a < 3; a++)
            worst = fmax(worst, fabs((double)out->data[a * n + i] - (y[a] - x[a])));
    }
    clvox_volume_destroy(&out);
    return worst;
}

static void same_grid(void)
{
    CHECK_CASE("no transform, same grid: every voxel as it was, NaN too");
    clvox_volume *image, *out;
    check_must(clvox_volume_create(&left_handed, 3, CLVOX_KIND_SCALAR, &image));
    size_t n = 3 * clvox_grid_voxels(&left_handed);
    harness_random(image->data, n, 3, -100, 100);
    for (size_t i = 0; i < n; i += 101)
        image->data[i] = NAN;
    image->type = CLVOX_TYPE_INT16;
    for (int kind = CLVOX_INTERPOLATE_AUTO; kind <= CLVOX_INTERPOLATE_LABEL; kind++) {
        check_must(clvox_apply(ctx, image, &left_handed, NULL, 0, (clvox_interpolation)kind, 0, &out));
        CHECK(out->frames == 3 && out->type == CLVOX_TYPE_INT16);
        size_t wrong = 0;
        for (size_t i = 0; i < n; i++)
            wrong += isnan(image->data[i]) ? !isnan(out->data[i]) : out->data[i] != image->data[i];
        CHECK_THAT(wrong == 0, "kind %d: %zu", kind, wrong);
        clvox_volume_destroy(&out);
    }
    clvox_volume_destroy(&image);
}

static void ramps(void)
{
    clvox_transform a = affine(turn), b = affine(stretch);
    clvox_transform w = warp_on(&left_handed, &left_handed, 2, 5);
    clvox_transform v = warp_on(&right_handed, &right_handed, 2, 6);
    clvox_link la = {&a, 0}, lb = {&b, 0}, lw = {&w, 0}, lv = {&v, 0};
    clvox_link inverse_a = {&a, 1}, inverse_b = {&b, 1};
    const struct {
        const char *name;
        int count;
        clvox_link links[6];
    } chains[] = {
        {"header alone", 0, {{NULL, 0}}},
        {"rotation", 1, {la}},
        {"inverse of an affine between affines", 3, {la, inverse_b, inverse_a}},
        {"warp on the output grid, then an affine", 2, {lw, la}},
        {"warp on another grid", 1, {lv}},
        {"affine before a warp", 2, {lb, lw}},
        {"two warps with affines around", 5, {la, lw, inverse_a, lv, lb}},
        {"the same warp twice on its grid, then another", 3, {lw, lw, lv}},
    };
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        CHECK_CASE("ramp, linear: %s", chains[i].name);
        check_ramp(chains[i].links, chains[i].count, &right_handed, &left_handed, CLVOX_INTERPOLATE_AUTO,
                   1e-3);
        CHECK_CASE("composition: %s", chains[i].name);
        double error = compose_error(chains[i].links, chains[i].count, &left_handed);
        CHECK_THAT(error < 2e-4, "%g mm", error);
    }
    CHECK_CASE("ramp, cubic, away from the border");
    check_ramp(chains[6].links, 5, &right_handed, &left_handed, CLVOX_INTERPOLATE_CUBIC, 1);
    clvox_volume_destroy(&w.warp);
    clvox_volume_destroy(&v.warp);
}

static void points(void)
{
    CHECK_CASE("points at voxels move by the warp's vector, outside not at all");
    clvox_transform w = warp_on(&left_handed, &left_handed, 2, 8), a = affine(turn);
    size_t n = clvox_grid_voxels(&left_handed), wrong = 0;
    for (size_t i = 0; i < n; i += 7) {
        double x[3], y[3];
        voxel(&left_handed, i, x);
        memcpy(y, x, sizeof y);
        check_must(clvox_apply_points(&(clvox_link){&w, 0}, 1, y, 1));
        for (size_t c = 0; c < 3; c++)
            wrong += fabs(y[c] - x[c] - (double)w.warp->data[c * n + i]) > 1e-5;
    }
    CHECK_THAT(wrong == 0, "%zu", wrong);
    double far[3] = {500, 0, 0};
    check_must(clvox_apply_points(&(clvox_link){&w, 0}, 1, far, 1));
    CHECK(far[0] == 500 && far[1] == 0);

    CHECK_CASE("there and back again: warp and inverse, affine and inverse");
    double list[3 * 500], before[3 * 500];
    float random[3 * 500];
    harness_random(random, 1500, 4, -15, 15);
    for (int i = 0; i < 1500; i++)
        list[i] = before[i] = (double)random[i];
    clvox_link chain[] = {{&w, 0}, {&a, 0}, {&a, 1}, {&w, 1}};
    check_must(clvox_apply_points(chain, 4, list, 500));
    double worst = 0;
    for (int i = 0; i < 1500; i++)
        worst = fmax(worst, fabs(list[i] - before[i]));
    CHECK_THAT(worst < 1e-4, "%g mm", worst);
    clvox_volume_destroy(&w.warp);
}

static void inverses(void)
{
    const clvox_grid *grids[] = {&left_handed, &right_handed};
    for (int g = 0; g < 2; g++) {
        CHECK_CASE("inverse of a known warp, %s grid", g ? "right-handed" : "left-handed");
        clv_phantom_warp phantom;
        clvox_transform w = {.is_warp = 1}, v = {.is_warp = 1};
        clvox_volume *truth, *both;
        double residual[2], worst = 0, sum = 0;
        size_t n = clvox_grid_voxels(grids[g]);
        check_must(clv_phantom_warp_make(grids[g], 2, 17, &phantom));
        check_must(clv_phantom_warp_sample(&phantom, grids[g], false, &w.warp));
        check_must(clv_phantom_warp_sample(&phantom, grids[g], true, &truth));
        check_must(clvox_invert(ctx, w.warp, &v.warp, residual));
        CHECK_THAT(residual[0] < 0.01 && residual[1] < 0.001, "%g %g voxels", residual[0], residual[1]);
        for (size_t i = 0; i < 3 * n; i++) {
            worst = fmax(worst, fabs((double)v.warp->data[i] - (double)truth->data[i]));
            sum += fabs((double)v.warp->data[i] - (double)truth->data[i]);
        }
        /* The truth has no interpolation error, the inverse of samples has. */
        CHECK_THAT(worst < 0.15 && sum / (double)(3 * n) < 0.01, "%g at most, %g mm in the mean", worst,
                   sum / (double)(3 * n));
        for (int order = 0; order < 2; order++) {
            clvox_link chain[] = {{order ? &w : &v, 0}, {order ? &v : &w, 0}};
            check_must(clvox_compose(ctx, grids[g], chain, 2, &both));
            double largest = 0;
            for (size_t i = 0; i < 3 * n; i++)
                largest = fmax(largest, fabs((double)both->data[i]));
            CHECK_THAT(largest < (order ? 0.15 : 0.02), "order %d: %g mm", order, largest);
            clvox_volume_destroy(&both);
        }
        /* As a link in a chain. */
        check_must(clvox_compose(ctx, grids[g], (clvox_link[]){{&w, 1}}, 1, &both));
        CHECK(!memcmp(both->grid.size, grids[g]->size, sizeof both->grid.size));
        double largest = 0;
        for (size_t i = 0; i < 3 * n; i++)
            largest = fmax(largest, fabs((double)both->data[i] - (double)v.warp->data[i]));
        CHECK_THAT(largest < 1e-4, "%g mm", largest);
        clvox_volume_destroy(&both);
        clvox_volume_destroy(&truth);
        clvox_volume_destroy(&w.warp);
        clvox_volume_destroy(&v.warp);
    }
    CHECK_CASE("inverse of a shift that leaves the grid ends, with a small error inside");
    clvox_volume *shift, *back;
    double residual[2];
    check_must(clvox_volume_create(&right_handed, 3, CLVOX_KIND_DISPLACEMENT, &shift));
    for (size_t i = 0; i < clvox_grid_voxels(&right_handed); i++)
        shift->data[i] = 4.2f;
    check_must(clvox_invert(ctx, shift, &back, residual));
    CHECK_THAT(residual[1] < 0.5, "%g %g", residual[0], residual[1]);
    CHECK(fabs((double)back->data[clvox_grid_voxels(&right_handed) / 2 + 18] + 4.2) < 0.02);
    clvox_volume_destroy(&back);
    shift->frames = 1;
    CHECK(clvox_invert(ctx, shift, &back, NULL) == CLVOX_ERROR_ARGUMENT && !back);
    shift->frames = 3;
    clvox_volume_destroy(&shift);
}

static void labels(void)
{
    CHECK_CASE("labels stay labels");
    clvox_volume *image, *out;
    clvox_transform a = affine(turn), w = warp_on(&left_handed, &left_handed, 2, 9);
    clvox_link chain[] = {{&w, 0}, {&a, 0}};
    check_must(clvox_volume_create(&right_handed, 1, CLVOX_KIND_LABEL, &image));
    static const float names[] = {0, 3, 17, 1001};
    float *random = malloc(clvox_grid_voxels(&right_handed) * sizeof *random);
    harness_random(random, clvox_grid_voxels(&right_handed), 12, 0, 3.999f);
    for (size_t i = 0; i < clvox_grid_voxels(&right_handed); i++)
        image->data[i] = names[(int)random[i]];
    check_must(clvox_apply(ctx, image, &left_handed, chain, 2, CLVOX_INTERPOLATE_AUTO, 0, &out));
    size_t strange = 0, seen[4] = {0};
    for (size_t i = 0; i < clvox_grid_voxels(&left_handed); i++) {
        int k = 0;
        while (k < 4 && names[k] != out->data[i])
            k++;
        strange += k == 4;
        seen[k & 3]++;
    }
    CHECK(strange == 0 && seen[1] > 100 && seen[2] > 100 && seen[3] > 100 && out->kind == CLVOX_KIND_LABEL);
    clvox_volume_destroy(&out);
    CHECK(clvox_apply(ctx, image, &left_handed, chain, 2, CLVOX_INTERPOLATE_LINEAR, 0, &out) ==
              CLVOX_ERROR_ARGUMENT && !out);
    free(random);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&w.warp);
}

static void thin(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {1, 13, 9}, {11, 1, 7}, {40, 9, 1}};
    for (int i = 0; i < 4; i++) {
        CHECK_CASE("volumes of %dx%dx%d", sizes[i][0], sizes[i][1], sizes[i][2]);
        clvox_grid grid = right_handed;
        memcpy(grid.size, sizes[i], sizeof grid.size);
        clvox_volume *image = ramp(&grid), *out;
        clvox_transform w = {.is_warp = 1}, zero = {.is_warp = 1};
        size_t n = clvox_grid_voxels(&grid);
        check_must(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &zero.warp));
        clvox_link chain[] = {{&zero, 0}, {&w, 0}};
        check_must(clvox_invert(ctx, zero.warp, &w.warp, NULL));
        check_must(clvox_apply(ctx, image, &grid, chain, 2, CLVOX_INTERPOLATE_LINEAR, 0, &out));
        for (size_t k = 0; k < n; k++)
            CHECK_THAT(fabs((double)(out->data[k] - image->data[k])) < 1e-3, "%zu: %g %g", k,
                       (double)out->data[k], (double)image->data[k]);
        clvox_jacobian_summary summary;
        check_must(clvox_jacobian(ctx, zero.warp, NULL, 0, NULL, &summary));
        CHECK(summary.smallest == 1 && summary.largest == 1 && summary.voxels == (long)n);
        clvox_volume_destroy(&out);
        clvox_volume_destroy(&image);
        clvox_volume_destroy(&zero.warp);
        clvox_volume_destroy(&w.warp);
    }
}

/* u = (matrix - 1) x on the grid. */
static clvox_volume *linear_warp(const clvox_grid *grid, const double matrix[4][4])
{
    clvox_volume *out;
    clvox_transform t = affine(matrix);
    check_must(clvox_compose(ctx, grid, (clvox_link[]){{&t, 0}}, 1, &out));
    return out;
}

static void directions(void)
{
    static const double v[3] = {1, 2, -0.5}, d[6] = {3, 0.4, -0.2, 2, 0.3, 1};
    static const int pair[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};
    double full[3][3];
    for (int k = 0; k < 6; k++)
        full[pair[k][0]][pair[k][1]] = full[pair[k][1]][pair[k][0]] = d[k];
    for (int tensor = 0; tensor < 2; tensor++)
        for (int as_warp = 0; as_warp < 2; as_warp++) {
            CHECK_CASE("%s turn with a rotation given as %s", tensor ? "tensors" : "vectors",
                       as_warp ? "warp" : "matrix");
            clvox_volume *image, *out;
            int frames = tensor ? 6 : 3;
            clvox_transform t = affine(turn);
            if (as_warp) {
                t.is_warp = 1;
                t.warp = linear_warp(&left_handed, turn);
            }
            clvox_kind kind = tensor ? CLVOX_KIND_TENSOR : CLVOX_KIND_VECTOR;
            check_must(clvox_volume_create(&right_handed, frames, kind, &image));
            size_t n = clvox_grid_voxels(&right_handed), m = clvox_grid_voxels(&left_handed);
            for (size_t i = 0; i < n; i++)
                for (int k = 0; k < frames; k++)
                    image->data[(size_t)k * n + i] = (float)(tensor ? d[k] : v[k]);
            check_must(clvox_apply(ctx, image, &left_handed, (clvox_link[]){{&t, 0}}, 1, CLVOX_INTERPOLATE_AUTO, 0,
                             &out));
            /* Pull-back by A: what pointed along v in the image points along A^T v. */
            size_t middle = m / 2 + 20;
            for (int k = 0; k < frames; k++) {
                double want = 0;
                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < (tensor ? 3 : 1); b++)
                        want += tensor ? turn[a][pair[k][0]] * full[a][b] * turn[b][pair[k][1]]
                                       : turn[a][k] * v[a];
                CHECK_THAT(fabs((double)out->data[(size_t)k * m + middle] - want) < 1e-4, "%d: %g, not %g", k,
                           (double)out->data[(size_t)k * m + middle], want);
            }
            clvox_volume_destroy(&image);
            clvox_volume_destroy(&out);
            clvox_volume_destroy(&t.warp);
        }
}

static void jacobians(void)
{
    CHECK_CASE("Jacobian of a linear map on an oblique grid");
    clvox_volume *warp = linear_warp(&left_handed, stretch), *out, *mask;
    clvox_jacobian_summary s;
    double want = clv_matrix_determinant(stretch);
    check_must(clvox_jacobian(ctx, warp, NULL, 0, &out, &s));
    CHECK_THAT(fabs(s.smallest - want) < 1e-4 && fabs(s.largest - want) < 1e-4, "%g %g, not %g", s.smallest,
               s.largest, want);
    CHECK(fabs(s.mean_log - log(want)) < 1e-4 && s.sd_log < 1e-4 && s.folded == 0);
    CHECK(s.voxels == (long)clvox_grid_voxels(&left_handed) && fabs((double)out->data[777] - want) < 1e-4);
    clvox_volume_destroy(&out);
    check_must(clvox_jacobian(ctx, warp, NULL, 1, &out, NULL));
    CHECK(fabs((double)out->data[777] - log(want)) < 1e-4);
    clvox_volume_destroy(&out);

    CHECK_CASE("a mask on another grid restricts the summary; an empty one is refused");
    check_must(clvox_volume_create(&right_handed, 1, CLVOX_KIND_LABEL, &mask));
    CHECK(clvox_jacobian(ctx, warp, mask, 0, &out, &s) == CLVOX_ERROR_DATA && !out);
    for (size_t i = 0; i < clvox_grid_voxels(&right_handed) / 2; i++)
        mask->data[i] = 1;
    check_must(clvox_jacobian(ctx, warp, mask, 0, &out, &s));
    CHECK_THAT(s.voxels > 1000 && s.voxels < (long)clvox_grid_voxels(&left_handed) * 3 / 4, "%ld", s.voxels);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&mask);

    CHECK_CASE("folded voxels are counted");
    double mirror[4][4];
    clv_matrix_identity(mirror);
    mirror[1][1] = -1;
    clvox_volume_destroy(&warp);
    warp = linear_warp(&left_handed, CLV_MATRIX(mirror));
    check_must(clvox_jacobian(ctx, warp, NULL, 0, NULL, &s));
    CHECK(s.folded == s.voxels && fabs(s.smallest + 1) < 1e-4);
    clvox_volume_destroy(&warp);
}

static void refusals(void)
{
    CHECK_CASE("singular affines, missing and damaged warps are refused");
    double flat[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}};
    clvox_transform t = affine(CLV_MATRIX(flat)), none = {.is_warp = 1};
    clvox_volume *image = ramp(&left_handed), *out;
    double x[3] = {0, 0, 0};
    clvox_link flat_link = {&t, 0}, none_link = {&none, 0};
    CHECK(clvox_apply(ctx, image, &left_handed, &flat_link, 1, 0, 0, &out) == CLVOX_ERROR_DATA && !out);
    CHECK(clvox_compose(ctx, &left_handed, &none_link, 1, &out) == CLVOX_ERROR_ARGUMENT && !out);
    CHECK(clvox_apply_points((clvox_link[]){{NULL, 0}}, 1, x, 1) == CLVOX_ERROR_ARGUMENT);
    clvox_grid vast = left_handed;
    vast.size[0] = vast.size[1] = vast.size[2] = 1000;
    CHECK(clvox_apply(ctx, image, &vast, NULL, 0, 0, 0, &out) == CLVOX_ERROR_ARGUMENT && !out);
    image->kind = CLVOX_KIND_VECTOR;
    CHECK(clvox_apply(ctx, image, &left_handed, NULL, 0, 0, 0, &out) == CLVOX_ERROR_ARGUMENT && !out);
    CHECK_CASE("warps and grids without a voxel are refused");
    float nothing[3] = {0, 0, 0};
    clvox_volume empty = {.grid = left_handed, .frames = 3, .kind = CLVOX_KIND_DISPLACEMENT, .data = nothing};
    clvox_transform warp = {.is_warp = 1, .warp = &empty};
    clvox_link link = {&warp, 0};
    empty.grid.size[0] = 0;
    clv_matrix_apply(CLV_MATRIX(left_handed.to_ras), (double[3]){-.5, 0, 0}, x);
    CHECK(clvox_apply_points(&link, 1, x, 1) == CLVOX_ERROR_ARGUMENT);
    empty.grid.size[0] = empty.grid.size[1] = -1;
    CHECK(clvox_apply_points(&link, 1, x, 1) == CLVOX_ERROR_ARGUMENT);
    CHECK(clvox_invert(ctx, &empty, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
    clvox_volume_destroy(&image);
}

int main(void)
{
    ctx = harness_open();
    same_grid();
    ramps();
    points();
    inverses();
    labels();
    thin();
    directions();
    jacobians();
    refusals();
    clvox_context_destroy(&ctx);
    return check_end();
}
