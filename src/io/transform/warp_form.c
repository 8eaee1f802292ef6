/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms as other programs want them. */
#include <math.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "clvox/transform.h"
#include "io/volume/volume.h"
#include "io/volume/file.h"
#include "io/transform/warp_form.h"

/* NIfTI's number for FNIRT's displacement fields. */
enum { INTENT_FSL_FIELD = 2006 };

/* value = position (i, j, k, 1) + turn u + voxel (i, j, k, 1). */
typedef struct conversion {
    const clvox_volume *warp;
    clvox_volume *out;
    double from_voxel[4][4], turn[4][4];
} conversion;

static int convert_plane(void *user, size_t z, int worker)
{
    const conversion *c = user;
    const int *size = c->warp->grid.size;
    size_t n = clvox_grid_voxels(&c->warp->grid), i = z * (size_t)size[0] * (size_t)size[1];
    (void)worker;
    for (int y = 0; y < size[1]; y++)
        for (int x = 0; x < size[0]; x++, i++)
            for (int r = 0; r < 3; r++) {
                const double *v = c->from_voxel[r], *t = c->turn[r];
                c->out->data[(size_t)r * n + i] =
                    (float)(v[0] * x + v[1] * y + v[2] * (double)z + v[3] + t[0] * (double)c->warp->data[i] +
                            t[1] * (double)c->warp->data[n + i] + t[2] * (double)c->warp->data[2 * n + i]);
            }
    return CLVOX_OK;
}

void clv_fsl_frame(const clvox_grid *grid, double out[4][4])
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    clv_matrix_identity(out);
    for (int i = 0; i < 3; i++)
        out[i][i] = edge[i];
    if (clv_matrix_determinant(grid->to_ras) > 0) {
        out[0][0] = -edge[0];
        out[0][3] = edge[0] * (grid->size[0] - 1);
    }
}

int clvox_flirt_matrix(const double matrix[4][4], const clvox_grid *fixed, const clvox_grid *moving,
                       double out[4][4])
{
    CLV_GIVEN(matrix, fixed, moving, out);
    int status;
    double from_moving[4][4], to_fixed[4][4], inverse[4][4];
    clv_fsl_frame(moving, from_moving);
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(from_moving), from_moving));
    clv_matrix_multiply(moving->to_ras, CLV_MATRIX(from_moving), from_moving);
    CLV_TRY(clv_matrix_invert(fixed->to_ras, inverse));
    clv_fsl_frame(fixed, to_fixed);
    clv_matrix_multiply(CLV_MATRIX(to_fixed), CLV_MATRIX(inverse), to_fixed);
    CLV_TRY(clv_matrix_invert(matrix, inverse));
    clv_matrix_multiply(CLV_MATRIX(to_fixed), CLV_MATRIX(inverse), to_fixed);
    clv_matrix_multiply(CLV_MATRIX(to_fixed), CLV_MATRIX(from_moving), out);
end:
    return status;
}

double clvox_warp_round(clvox_volume *warp)
{
    CLV_GIVEN_OR(0, warp);
    const size_t n = clvox_grid_voxels(&warp->grid);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double square = 0;
        for (int c = 0; c < warp->frames; c++) {
            float *u = &warp->data[(size_t)c * n + i];
            const double whole = ldexp(rint(ldexp((double)*u, 7)), -7), off = whole - (double)*u;
            *u = (float)whole;
            square += off * off;
        }
        worst = fmax(worst, square); /* that of a number that is not finite does not count */
    }
    return sqrt(worst);
}

int clvox_warp_write_with(const clvox_volume *warp, clvox_warp_form form, const clvox_grid *moving,
                        const char *path)
{
    CLV_GIVEN(warp, path);
    int status = CLVOX_OK;
    conversion c = {.warp = warp};
    double inverse[4][4], from_fixed[4][4];
    if (form == CLVOX_WARP_ITK)
        return clvox_warp_write(warp, path);
    if (warp->kind != CLVOX_KIND_DISPLACEMENT || warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%s: only a displacement field of 3 components can be written as a warp", path);
    if (form == CLVOX_WARP_FSL && !moving)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: FSL's form needs the grid of the moving image", path);
    CLV_TRY(clv_volume_room(&warp->grid, 3, CLVOX_KIND_SCALAR, &c.out));
    if (form == CLVOX_WARP_MRTRIX) {
        clv_matrix_copy(warp->grid.to_ras, c.from_voxel);
        clv_matrix_identity(c.turn);
    } else {
        CLV_TRY(clv_matrix_invert(moving->to_ras, inverse));
        clv_fsl_frame(moving, c.turn);
        clv_matrix_multiply(CLV_MATRIX(c.turn), CLV_MATRIX(inverse), c.turn);
        clv_matrix_multiply(CLV_MATRIX(c.turn), warp->grid.to_ras, c.from_voxel);
        clv_fsl_frame(&warp->grid, from_fixed);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++)
                c.from_voxel[i][j] -= from_fixed[i][j];
    }
    CLV_TRY(clvox_parallel((size_t)warp->grid.size[2], convert_plane, &c));
    status = clv_volume_write(c.out, form == CLVOX_WARP_FSL ? INTENT_FSL_FIELD : 0, path);
end:
    clvox_volume_destroy(&c.out);
    return status;
}
