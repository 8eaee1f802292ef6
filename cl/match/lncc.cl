/* SPDX-License-Identifier: Apache-2.0 */
/* Squared correlation in windows. BOX: of any radius; else of 2 RADIUS + 1
 * voxels, RADIUS being at most 7. */
#include "common/group_reduce.clh"
#include "common/within.clh"

#if BOX
#include "match/lncc_box.clh"
#elif ROWS
#include "match/lncc_row.clh"
#elif QUAD
#include "match/lncc_quad.clh"
#elif CELLED
#include "match/lncc_cells.clh"
#elif TOTAL
/* Adds the pairs of partial, in an order that their number alone fixes. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void lncc_total(__global const float *partial, int groups, __global float *out, int slot)
{
    __local float cell[2 * TILE_X];
    int item = get_local_id(0);
    float sum = 0.0f, lost = 0.0f, count = 0.0f;
    for (int i = item; i < groups; i += TILE_X) {
        float2 one = vload2(i, partial);
        float y = one.x - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
        count += one.y;
    }
    cell[item] = sum;
    cell[TILE_X + item] = count;
    group_fold(cell, 2, item, TILE_X, 1);
    if (item == 0) {
        out[slot] = cell[0];
        out[slot + 1] = cell[TILE_X];
    }
}
#endif
