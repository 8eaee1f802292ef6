/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising: the topology that a level set had on its grid. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "op/redistance.h"
#include "pipeline/surface_denoise.h"
#include "pipeline/surface_topology.h"

/* Whether there is nothing of noise in the topology of the level set. */
static int is_clean(const clv_denoise *run, bool *clean)
{
    const size_t count = (size_t)run->box.n;
    clv_topology found;
    unsigned char *inside = malloc(count);
    if (!inside)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the topology of a surface");
    clv_topology_signs(count, run->start, inside);
    int status = clv_topology_count(run->box.size, inside, CLV_NOISE_SIZE, &found);
    *clean = found.specks == 0 && found.euler == found.euler_joined;
    free(inside);
    return status;
}

int clv_denoise_keep_topology(clv_denoise *run, float *phi)
{
    int status = CLVOX_OK;
    const clv_denoise_box *b = &run->box;
    const size_t bytes = (size_t)b->n * sizeof(float);
    clvox_denoise_result *r = run->result;
    const clvox_denoise_topology wanted = run->options->topology;
    bool keep = wanted == CLVOX_TOPOLOGY_KEEP;
    if (wanted == CLVOX_TOPOLOGY_AUTO && r->deviation <= CLV_DENOISE_NOISY)
        CLV_TRY(is_clean(run, &keep));
    if (!keep)
        goto end;
    CLV_TRY(clv_topology_keep(b->size, run->start, 1, phi, &r->held_voxels));
    r->topology_kept = 1;
    /* Only beside voxels that were held is it no distance any more. */
    if (r->held_voxels) {
        CLV_TRY(clv_buffer_write(run->ctx, run->phi, 0, phi, bytes));
        CLV_TRY(clv_redistance(run->ctx, run->phi, b->size, b->spacing, b->reach, run->other, run->sweep));
        CLV_TRY(clv_buffer_read(run->ctx, run->other, 0, phi, bytes));
    }
end:
    return status;
}

void clv_denoise_settle(clvox_volume *distance)
{
    double edge[3];
    clvox_grid_spacing(&distance->grid, edge);
    clv_topology_settle(distance->grid.size, (float)fmin(edge[0], fmin(edge[1], edge[2])), distance->data);
}
