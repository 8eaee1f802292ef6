/* SPDX-License-Identifier: Apache-2.0 */
/* apply --points, --surface and --curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_apply/apply.h"
#include "cli/matrix.h"

/* Moved points: RAS mm. */
typedef struct places {
    double *points;
    int count;
    const char *noun; /* as messages call them */
} places;

/* Through one link. The inverse of a warp is found by search: what it leads to has to come back. */
static int move_through(const command *cli, const clvox_link *link, const char *word, const places *t)
{
    enum { NEAR = 10 }; /* the part of a voxel */
    int status = CLVOX_OK, lost = 0;
    double edge[3], worst = 0, *before = NULL, *back = NULL;
    const size_t bytes = 3 * (size_t)t->count * sizeof *before;
    if (!link->inverse || !link->transform->is_warp)
        return clvox_apply_points(link, 1, t->points, t->count);
    before = malloc(bytes + 1);
    back = malloc(bytes + 1);
    if (!before || !back) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    memcpy(before, t->points, bytes);
    CLI_TRY(clvox_apply_points(link, 1, t->points, t->count));
    memcpy(back, t->points, bytes);
    CLI_TRY(clvox_apply_points(&(clvox_link){link->transform, 0}, 1, back, t->count));
    clvox_grid_spacing(&link->transform->warp->grid, edge);
    for (int i = 0; i < t->count; i++) {
        const double *x = before + 3 * i, *y = back + 3 * i;
        const double apart = sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) + (x[2] - y[2]) * (x[2] - y[2]));
        if (apart <= fmin(edge[0], fmin(edge[1], edge[2])) / NEAR)
            continue;
        lost++;
        worst = fmax(worst, isfinite(apart) ? apart : INFINITY);
    }
    if (lost && lost == t->count)
        status =
            clvox_fail(CLVOX_ERROR_DATA,
                       "%s: the warp has no inverse at any of the %s: there and back they are off by up to "
                       "%.3g mm",
                       word, t->noun, worst);
    else if (lost)
        fprintf(stderr, "clvox %s: WARNING: %s has no inverse at %d of %d %s: there and back these are off by up to %.3g mm\n",
                cli->verb, word, lost, t->count, t->noun, worst);
end:
    free(before);
    free(back);
    return status;
}

static int move(const command *cli, const cli_chain *chain, const places *t)
{
    int status = CLVOX_OK;
    for (int i = 0; i < chain->count; i++)
        CLI_TRY(move_through(cli, &chain->link[i], chain->word[i], t));
end:
    return status;
}

int cli_apply_points(command *cli, const cli_chain *chain, const char *in, bool ras, const char *out)
{
    int status = CLVOX_OK;
    cli_points t;
    CLI_TRY(cli_points_read(in, ras, &t));
    CLI_TRY(move(cli, chain, &(places){t.points, t.count, "points"}));
    CLI_TRY(cli_points_write(&t, ras, out));
    cli_log_output(cli, out);
    cJSON_AddNumberToObject(cli->log, "points", t.count);
    cli_remark(cli, 0, "moved %d points\n", t.count);
end:
    cli_points_free(&t);
    return status;
}

/* Whether the affines of the chain turn right into left: then triangles face the other way. */
static bool mirrors(const cli_chain *chain)
{
    bool is = false;
    for (int i = 0; i < chain->count; i++) {
        const clvox_transform *t = chain->link[i].transform;
        is ^= !t->is_warp && cli_matrix_determinant(CLI_MATRIX(t->matrix)) < 0;
    }
    return is;
}

int cli_apply_shape(command *cli, const cli_chain *chain, const cli_shape_kind *kind, cli_frames frames,
                    const char *in, const char *out)
{
    int status = CLVOX_OK;
    cli_shape_side side = {.shape = NULL};
    CLI_TRY(kind->check_name(out));
    CLI_TRY(kind->read(cli, in, frames, &side));
    clvox_shape *s = side.shape;
    CLI_TRY(move(cli, chain, &(places){s->points, (int)s->vertices, kind->places}));
    for (size_t i = 0; kind->kind == CLVOX_SHAPE_SURFACE && mirrors(chain) && i < s->elements; i++) {
        const int32_t second = s->corners[3 * i + 1];
        s->corners[3 * i + 1] = s->corners[3 * i + 2];
        s->corners[3 * i + 2] = second;
    }
    CLI_TRY(kind->write(s, &side, frames, out));
    cli_log_output(cli, out);
    cJSON_AddNumberToObject(cli->log, kind->places, (double)s->vertices);
    cli_remark(cli, 0, "moved %zu %s\n", s->vertices, kind->places);
end:
    cli_shape_side_free(&side);
    return status;
}
