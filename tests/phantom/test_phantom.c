/* SPDX-License-Identifier: Apache-2.0 */
/* The phantoms' own truth: derivatives, inverse, volume, repeatability. */
#include "check.h"

#include "phantom/phantom.h"

static double determinant(double du[3][3])
{
    double m[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[i][j] = du[i][j] + (i == j);
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

static void world(const clvox_grid *grid, double i, double j, double k, double x[3])
{
    for (int a = 0; a < 3; a++)
        x[a] = grid->to_ras[a][0] * i + grid->to_ras[a][1] * j + grid->to_ras[a][2] * k + grid->to_ras[a][3];
}

static void check_warp(const int size[3], const double spacing[3], bool oblique, double amplitude)
{
    clvox_grid grid;
    clv_phantom_warp warp;
    clv_phantom_grid(size, spacing, oblique, &grid);
    CHECK_CASE("warp on %dx%dx%d%s", size[0], size[1], size[2], oblique ? " oblique" : "");
    CHECK_THAT(clv_phantom_warp_make(&grid, amplitude, 3, &warp) == CLVOX_OK, "%s", clvox_message());
    double longest = 0, border = 0, smallest = 1e9, inverse = 0, gradient = 0;
    for (int k = 0; k < size[2]; k += 3)
        for (int j = 0; j < size[1]; j += 2)
            for (int i = 0; i < size[0]; i++) {
                double x[3], y[3], u[3], back[3], du[3][3];
                world(&grid, i, j, k, x);
                clv_phantom_warp_at(&warp, x, u);
                double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
                longest = fmax(longest, length);
                if (i == 0 || i == size[0] - 1)
                    border = fmax(border, length);
                clv_phantom_warp_gradient(&warp, x, du);
                smallest = fmin(smallest, determinant(du));
                for (int a = 0; a < 3; a++)
                    y[a] = x[a] + u[a];
                clv_phantom_warp_inverse_at(&warp, y, back);
                for (int a = 0; a < 3; a++) {
                    inverse = fmax(inverse, fabs(back[a] - x[a]));
                    double from[3], to[3], p[3] = {x[0], x[1], x[2]};
                    p[a] += 1e-4;
                    clv_phantom_warp_at(&warp, p, to);
                    p[a] -= 2e-4;
                    clv_phantom_warp_at(&warp, p, from);
                    for (int b = 0; b < 3; b++)
                        gradient = fmax(gradient, fabs((to[b] - from[b]) / 2e-4 - du[b][a]));
                }
            }
    CHECK_THAT(longest <= amplitude * 1.1 && longest >= amplitude * 0.8, "longest %g", longest);
    CHECK_THAT(border < 1e-9, "at the border %g", border);
    CHECK_THAT(smallest > 0, "smallest Jacobian %g", smallest);
    CHECK_THAT(inverse < 1e-8, "inverse off by %g mm", inverse);
    CHECK_THAT(gradient < 1e-6, "gradient off by %g", gradient);
}

int main(void)
{
    check_warp((int[3]){65, 47, 33}, (double[3]){1, 1, 2}, true, 3);
    check_warp((int[3]){31, 37, 29}, (double[3]){1.5, 1, 1.2}, false, 2);
    check_warp((int[3]){40, 31, 1}, (double[3]){1, 1, 5}, false, 1);

    clvox_grid grid;
    clv_phantom_warp warp;
    clv_phantom phantom;
    clvox_volume *a = NULL, *b = NULL;

    CHECK_CASE("a warp that could fold is refused with the largest amplitude");
    clv_phantom_grid((int[3]){32, 32, 32}, (double[3]){1, 1, 1}, false, &grid);
    CHECK(clv_phantom_warp_make(&grid, 30, 1, &warp) == CLVOX_ERROR_ARGUMENT);
    const char *said = strstr(clvox_message(), "at most ");
    double most = said ? atof(said + 8) : 0;
    CHECK_THAT(most > 1 && clv_phantom_warp_make(&grid, most, 1, &warp) == CLVOX_OK, "%g mm", most);
    CHECK(clv_phantom_warp_make(&grid, 1.02 * most, 1, &warp) == CLVOX_ERROR_ARGUMENT);

    CHECK_CASE("one voxel");
    clv_phantom_grid((int[3]){1, 1, 1}, (double[3]){1, 1, 1}, false, &grid);
    CHECK(clv_phantom_warp_make(&grid, 0, 1, &warp) == CLVOX_OK);
    CHECK(clv_phantom_make(CLV_PHANTOM_TEXTURED, &grid, 1, 0, &phantom) == CLVOX_OK);
    CHECK(clv_phantom_image(&phantom, &grid, NULL, &warp, 0, &a) == CLVOX_OK);
    CHECK(a && isfinite(a->data[0]));
    clvox_volume_destroy(&a);
    clv_phantom_free(&phantom);

    CHECK_CASE("the ball has the volume of a ball");
    clv_phantom_grid((int[3]){48, 48, 24}, (double[3]){1, 1, 2}, true, &grid);
    CHECK(clv_phantom_make(CLV_PHANTOM_BALL, &grid, 1, 0, &phantom) == CLVOX_OK);
    CHECK(clv_phantom_image(&phantom, &grid, NULL, NULL, 0, &a) == CLVOX_OK);
    double sum = 0, want = 4.0 / 3 * 3.14159265358979 * pow(0.3 * 48, 3) / 2;
    for (size_t i = 0; a && i < clvox_grid_voxels(&grid); i++)
        sum += (double)a->data[i] / 100;
    CHECK_THAT(fabs(sum / want - 1) < 0.01, "%g for %g voxels", sum, want);
    clvox_volume_destroy(&a);
    clv_phantom_free(&phantom);

    CHECK_CASE("shells hold their four labels");
    CHECK(clv_phantom_make(CLV_PHANTOM_SHELLS, &grid, 1, 0, &phantom) == CLVOX_OK);
    CHECK(clv_phantom_labels(&phantom, &grid, NULL, NULL, &a) == CLVOX_OK);
    CHECK(clv_phantom_image(&phantom, &grid, NULL, NULL, 0, &b) == CLVOX_OK);
    int seen[5] = {0}, differ = 0;
    for (size_t i = 0; a && b && i < clvox_grid_voxels(&grid); i++) {
        seen[(int)a->data[i]]++;
        differ += fabsf(a->data[i] - b->data[i] / 100) > 0.51f;
    }
    CHECK(seen[0] && seen[1] && seen[2] && seen[3] && seen[4] && !differ);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clv_phantom_free(&phantom);

    CHECK_CASE("the pulled-back texture equals the texture at the mapped place");
    double matrix[4][4] = {{0.99, 0.1, 0, 2}, {-0.1, 1.02, 0.05, -1}, {0, 0.03, 1, 0.5}, {0, 0, 0, 1}};
    CHECK(clv_phantom_make(CLV_PHANTOM_TEXTURED, &grid, 9, 0, &phantom) == CLVOX_OK);
    CHECK(clv_phantom_warp_make(&grid, 2, 5, &warp) == CLVOX_OK);
    CHECK(clv_phantom_image(&phantom, &grid, (const double(*)[4])matrix, &warp, 0, &a) == CLVOX_OK);
    double x[3], u[3], y[3];
    world(&grid, 20, 22, 11, x);
    clv_phantom_warp_at(&warp, x, u);
    for (int i = 0; i < 3; i++)
        y[i] = matrix[i][0] * (x[0] + u[0]) + matrix[i][1] * (x[1] + u[1]) + matrix[i][2] * (x[2] + u[2]) +
               matrix[i][3];
    CHECK(a && a->data[20 + 48 * (22 + 48 * 11)] == (float)clv_phantom_at(&phantom, y));
    clvox_volume_destroy(&a);

    CHECK_CASE("the texture is what it was (same values on every machine)");
    double origin[3] = {0, 0, 0}, off[3] = {3.5, -2.25, 1};
    CHECK_THAT(fabs(clv_phantom_at(&phantom, origin) - 373.890951144) < 1e-6, "%.9f",
               clv_phantom_at(&phantom, origin));
    CHECK_THAT(fabs(clv_phantom_at(&phantom, off) - 335.872139651) < 1e-6, "%.9f",
               clv_phantom_at(&phantom, off));

    CHECK_CASE("noise has its deviation, a seed, and no effect on the mean");
    phantom.noise = 10;
    phantom.kind = CLV_PHANTOM_CONSTANT;
    CHECK(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &a) == CLVOX_OK);
    CHECK(clv_phantom_image(&phantom, &grid, NULL, NULL, 2, &b) == CLVOX_OK);
    double mean = 0, square = 0, product = 0;
    size_t n = clvox_grid_voxels(&grid);
    for (size_t i = 0; a && b && i < n; i++) {
        double p = (double)a->data[i] - 100, q = (double)b->data[i] - 100;
        mean += p / (double)n;
        square += p * p / (double)n;
        product += p * q / (double)n;
    }
    CHECK_THAT(fabs(mean) < 0.2 && fabs(sqrt(square) - 10) < 0.1 && fabs(product) < 1, "%g %g %g", mean,
               sqrt(square), product);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clv_phantom_free(&phantom);
    return check_end();
}
