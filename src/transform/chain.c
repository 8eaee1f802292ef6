/* SPDX-License-Identifier: Apache-2.0 */
#include "transform/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "op/field/compose.h"
#include "op/image/resample.h"
#include "transform/field.h"

int clv_link_check(const clvox_link *link, int number)
{
    const clvox_transform *t = link->transform;
    if (!t)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "transform %d is missing", number);
    if (!t->is_warp) {
        if (!clv_matrix_regular(t->matrix))
            return clvox_fail(CLVOX_ERROR_DATA,
                              "transform %d: its matrix is singular or not finite; give an affine that "
                              "can be inverted",
                              number);
        return CLVOX_OK;
    }
    if (!t->warp || t->warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "transform %d: a warp has 3 components, this one has %d",
                          number, t->warp ? t->warp->frames : 0);
    return clv_field_check(&t->warp->grid);
}

void clv_chain_free(clv_chain *chain)
{
    for (int i = 0; chain->inverted && i < chain->warps; i++)
        clvox_volume_destroy(&chain->inverted[i]);
    free(chain->inverted);
    free(chain->warp);
    free(chain->affine);
    memset(chain, 0, sizeof *chain);
}

int clv_chain_make(clvox_context *ctx, const clvox_link *links, int count, clv_chain *chain)
{
    if (count > 0)
        CLV_GIVEN(links);
    int status = CLVOX_OK;
    memset(chain, 0, sizeof *chain);
    size_t room = (size_t)(count > 0 ? count : 0) + 1;
    chain->affine = calloc(room, sizeof *chain->affine);
    chain->warp = calloc(room, sizeof *chain->warp);
    chain->inverted = calloc(room, sizeof *chain->inverted);
    if (!chain->affine || !chain->warp || !chain->inverted) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    clv_matrix_identity(chain->affine[0]);
    for (int i = 0; i < count; i++)
        CLV_TRY(clv_link_check(&links[i], i + 1));
    for (int i = 0; i < count; i++) {
        const clvox_transform *t = links[i].transform;
        if (t->is_warp) {
            const clvox_volume *warp = t->warp;
            if (links[i].inverse) {
                CLV_TRY(clvox_invert(ctx, warp, &chain->inverted[chain->warps], NULL));
                warp = chain->inverted[chain->warps];
            }
            chain->warp[chain->warps++] = warp;
            clv_matrix_identity(chain->affine[chain->warps]);
        } else {
            double matrix[4][4];
            clv_matrix_copy(t->matrix, matrix);
            if (links[i].inverse)
                CLV_TRY(clv_matrix_invert(CLV_MATRIX(matrix), matrix));
            clv_matrix_multiply(CLV_MATRIX(matrix), CLV_MATRIX(chain->affine[chain->warps]),
                                chain->affine[chain->warps]);
        }
    }
end:
    if (status < 0)
        clv_chain_free(chain);
    return status;
}

static int is_identity(const double m[4][4])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (m[i][j] != (i == j))
                return 0;
    return 1;
}

/* With the map so far x -> matrix (x + u), the next warp w gives
 * matrix (x + u) + w(matrix (x + u)) = matrix (x + u'),
 * u' = u + matrix^-1 w(matrix (x + u)): a composition with w's vectors turned
 * from its own frame through RAS and matrix^-1 into that of grid. */
int clv_chain_field(clvox_context *ctx, const clv_chain *chain, const clvox_grid *grid,
                    clv_buffer **field, double matrix[4][4])
{
    int status = CLVOX_OK;
    size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(grid), most = 0;
    clv_buffer *u = NULL, *w = NULL, *next = NULL;
    *field = NULL;
    clv_matrix_copy(CLV_MATRIX(chain->affine[0]), matrix);
    if (chain->warps == 0)
        return CLVOX_OK;
    for (int i = 0; i < chain->warps; i++) {
        size_t voxels = clvox_grid_voxels(&chain->warp[i]->grid);
        most = voxels > most ? voxels : most;
    }
    bool direct = is_identity(CLV_MATRIX(matrix)) && clvox_grid_equal(grid, &chain->warp[0]->grid);
    clv_request requests[] = {
        {&u, bytes, "displacement field"},
        {&w, 3 * sizeof(float) * most, "warp"},
        {&next, bytes, "composed displacement field"},
    };
    int wanted = chain->warps > 1 ? 3 : direct ? 1 : 2;
    CLV_TRY(clv_field_check(grid));
    CLV_TRY(clv_pool_take(ctx, requests, wanted));
    for (int i = 0; i < chain->warps; i++) {
        const clvox_volume *warp = chain->warp[i];
        if (i == 0 && direct) {
            CLV_TRY(clv_field_upload(ctx, warp, 1, u));
        } else {
            clv_map map;
            float reorient[3][3];
            CLV_TRY(clv_field_upload(ctx, warp, 1, w));
            clv_map_between(grid, &warp->grid, CLV_MATRIX(matrix), 1, &map);
            CLV_TRY(clv_field_reorientation(grid, &warp->grid, CLV_MATRIX(matrix), reorient));
            clv_buffer *to = i ? next : u;
            const clv_compose_args args = {.u = i ? u : NULL, .own = 1, .w = *CLV_VECTORS(w, warp->grid.size),
                                           .map = &map, .reorient = CLV_MATRIX3F(reorient),
                                           .out = *CLV_VECTORS(to, grid->size)};
            CLV_TRY(clv_compose(ctx, &args));
            if (i) {
                next = u;
                u = to;
            }
        }
        clv_matrix_multiply(CLV_MATRIX(chain->affine[i + 1]), CLV_MATRIX(matrix), matrix);
    }
    *field = u;
    u = NULL;
end:
    clv_pool_release(requests, wanted);
    return status;
}
