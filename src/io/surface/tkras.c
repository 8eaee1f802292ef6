/* SPDX-License-Identifier: Apache-2.0 */
#include "io/surface/tkras.h"

#include "base/matrix.h"

void clv_tkras(const double axes[3][3], const double centre[3], double out[4][4])
{
    /* x runs against the columns, y along the slices, z against the rows. */
    clv_matrix_identity(out);
    for (int i = 0; i < 3; i++) {
        out[i][0] = -axes[0][i];
        out[i][1] = axes[2][i];
        out[i][2] = -axes[1][i];
        out[i][3] = centre[i];
    }
}

void clv_tkras_of(const clvox_grid *grid, double out[4][4])
{
    double edge[3], axes[3][3], middle[3];
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++) {
        middle[i] = grid->to_ras[i][3];
        for (int a = 0; a < 3; a++) {
            middle[i] += grid->to_ras[i][a] * grid->size[a] / 2;
            axes[a][i] = grid->to_ras[i][a] / edge[a];
        }
    }
    clv_tkras(CLV_MATRIX3(axes), middle, out);
}
