/* SPDX-License-Identifier: Apache-2.0 */
/* Maps between grids, and how they and plain matrices reach kernels. */
#ifndef CLV_OP_MAP_H
#define CLV_OP_MAP_H

#include <string.h>

#include "runtime/runtime.h"

/* Position in the input grid at which voxel i of the output grid is sampled, in voxels: p = linear (i, 1) + shift
 * u(i), u a field on the output grid in mm along its axes. Rows are x, y, z. */
typedef struct clv_map {
    float linear[3][4];
    float shift[3][3];
} clv_map;

/* `rows` and `map` of cl/common/map.clh: rows are padded to four floats. */
typedef struct clv_rows_arg {
    float row[3][4];
} clv_rows_arg;

typedef struct clv_map_arg {
    clv_rows_arg linear, shift;
} clv_map_arg;

static inline clv_rows_arg clv_rows_of(const float m[3][3])
{
    clv_rows_arg rows = {{{0}}};
    for (int i = 0; i < 3; i++)
        memcpy(rows.row[i], m[i], sizeof m[i][0] * 3);
    return rows;
}

static inline clv_map_arg clv_map_of(const clv_map *map)
{
    clv_map_arg arg = {.shift = clv_rows_of((const float(*)[3])map->shift)};
    memcpy(arg.linear.row, map->linear, sizeof map->linear);
    return arg;
}

/* As kernel arguments; ROWS4: of rows that are four floats each. */
#define CLV_ROWS4(m) ((clv_arg){sizeof(clv_rows_arg), (m), NULL})
#define CLV_ROWS(m) ((clv_arg){sizeof(clv_rows_arg), &(clv_rows_arg[1]){clv_rows_of(m)}, NULL})
#define CLV_MAP(map) ((clv_arg){sizeof(clv_map_arg), &(clv_map_arg[1]){clv_map_of(map)}, NULL})

#endif
