/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/matrix.h"
#include "clvox/files.h"

/* ---- surfaces ------------------------------------------------------------ */

static int read_surface(command *cli, const char *path, cli_frames frames, cli_shape_side *out)
{
    int status = CLVOX_OK;
    clvox_surface *s = NULL;
    CLI_TRY(cli_read_surface_as(cli, path, frames == CLI_FRAME_LPS, &s));
    CLI_TRY(clvox_shape_create(CLVOX_SHAPE_SURFACE, s->vertices, s->triangles, &out->shape));
    memcpy(out->shape->points, s->points, 3 * s->vertices * sizeof *s->points);
    memcpy(out->shape->corners, s->corners, 3 * s->triangles * sizeof *s->corners);
end:
    clvox_surface_destroy(&s);
    return status;
}

static int write_surface(const clvox_shape *s, const cli_shape_side *side, cli_frames frames,
                         const char *path)
{
    const clvox_surface surface = {s->vertices, s->elements, s->points, s->corners};
    (void)side;
    return clvox_surface_write_with(&surface, frames == CLI_FRAME_LPS, path);
}

/* ---- curves -------------------------------------------------------------- */

static int read_curves(command *cli, const char *path, cli_frames frames, cli_shape_side *out)
{
    return cli_read_curves(cli, path, frames == CLI_FRAME_LPS, &out->shape);
}

static int write_curves(const clvox_shape *s, const cli_shape_side *side, cli_frames frames, const char *path)
{
    (void)side;
    return clvox_curves_write(s, frames == CLI_FRAME_LPS, path);
}

/* ---- clouds -------------------------------------------------------------- */

/* Which column of the table is called so, from 0 on; -1: none. */
static int column_of(const char *header, const char *name)
{
    const size_t length = strlen(name);
    for (int column = 0; header; column++) {
        if (!strncasecmp(header, name, length) && (!header[length] || header[length] == ','))
            return column;
        header = strchr(header, ',');
        if (header)
            header++;
    }
    return -1;
}

static int read_weights(const char *path, const cli_points *t, int column, double *weights)
{
    for (int i = 0; i < t->count; i++) {
        const char *at = t->line[i]; /* from the comma behind the third column on */
        char *end = NULL;
        for (int c = 3; at && c < column; c++)
            at = strchr(at + (*at == ','), ',');
        if (at && *at == ',')
            weights[i] = strtod(at + 1, &end);
        if (end && (end == at + 1 || (end[strspn(end, " \t")] && end[strspn(end, " \t")] != ',')))
            end = NULL;
        if (!end || !(weights[i] >= 0) || !isfinite(weights[i]))
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the weight of point %d is no number of 0 or more",
                              path, i + 1);
    }
    return CLVOX_OK;
}

static int read_cloud(command *cli, const char *path, cli_frames frames, cli_shape_side *out)
{
    int status = CLVOX_OK;
    cli_points *t = &out->table;
    (void)cli;
    CLI_TRY(cli_points_read(path, frames == CLI_FRAME_RAS, t));
    CLI_TRY(clvox_shape_create(CLVOX_SHAPE_CLOUD, (size_t)t->count, 0, &out->shape));
    memcpy(out->shape->points, t->points, 3 * (size_t)t->count * sizeof *t->points);
    const int column = column_of(t->header, "weight");
    if (column < 3 || !t->count)
        goto end;
    out->shape->weights = calloc((size_t)t->count, sizeof *out->shape->weights);
    if (!out->shape->weights) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory for its weights", path);
        goto end;
    }
    CLI_TRY(read_weights(path, t, column, out->shape->weights));
end:
    return status;
}

static int write_cloud(const clvox_shape *s, const cli_shape_side *side, cli_frames frames, const char *path)
{
    const size_t bytes = 3 * s->vertices * sizeof *s->points;
    cli_points t = side->table;
    t.points = malloc(bytes + 1);
    if (!t.points)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of host memory", path);
    memcpy(t.points, s->points, bytes);
    int status = cli_points_write(&t, frames == CLI_FRAME_RAS, path);
    free(t.points);
    return status;
}

static int any_name(const char *path)
{
    (void)path;
    return CLVOX_OK;
}

/* ---- kinds --------------------------------------------------------------- */

const cli_shape_kind cli_shape_kinds[CLI_SHAPE_KINDS] = {
    [CLI_SURFACE] = {CLVOX_SHAPE_SURFACE,
                     "surface",
                     "surfaces",
                     "vertices",
                     {"surface-weight", "surface-kind"},
                     ".surf.gii",
                     "no triangle with an area",
                     clvox_surface_check_name,
                     read_surface,
                     write_surface},
    [CLI_CURVES] = {CLVOX_SHAPE_CURVES,
                    "curves",
                    "curves",
                    "vertices",
                    {"curves-weight", "curves-kind"},
                    ".vtk",
                    "no segment with a length",
                    clvox_curves_check_name,
                    read_curves,
                    write_curves},
    [CLI_CLOUD] = {CLVOX_SHAPE_CLOUD,
                   "cloud",
                   "clouds",
                   "points",
                   {"cloud-weight"},
                   ".csv",
                   "no point with a weight",
                   any_name,
                   read_cloud,
                   write_cloud},
};

void cli_shape_name(cli_shape_files *f)
{
    const cli_shape_kind *kind = &cli_shape_kinds[f->kind];
    const char *slash = strrchr(f->moving, '/'), *name = slash ? slash + 1 : f->moving,
               *dot = strrchr(name, '.');
    snprintf(f->end, sizeof f->end, "_%s_%d%s", kind->option, f->number, dot ? dot : "");
    if (!dot || strlen(dot) > 8 || !strcmp(dot, ".gii") || kind->check_name(f->end) < 0)
        snprintf(f->end, sizeof f->end, "_%s_%d%s", kind->option, f->number, kind->end);
}

/* ---- one file ------------------------------------------------------------ */

bool cli_shape_tracks(const char *path)
{
    return clvox_file_ends(path, ".tck") || clvox_file_ends(path, ".trk") || clvox_file_ends(path, ".tck.gz") ||
           clvox_file_ends(path, ".trk.gz");
}

const cli_shape_kind *cli_shape_read_any(command *cli, const char *path, cli_frames frames,
                                         cli_shape_side *out)
{
    const cli_shape_kind *kinds = cli_shape_kinds, *kind = &kinds[CLI_SURFACE];
    const bool curves = clvox_file_ends(path, ".vtk") || clvox_file_ends(path, ".vtk.gz");
    if (clvox_file_ends(path, ".csv"))
        kind = &kinds[CLI_CLOUD];
    else if (cli_shape_tracks(path))
        kind = &kinds[CLI_CURVES];
    int status = kind->read(cli, path, frames, out);
    if (status < 0 && kind == &kinds[CLI_SURFACE] && curves) {
        cli_shape_side_free(out);
        kind = &kinds[CLI_CURVES];
        status = kind->read(cli, path, frames, out);
        if (status < 0) { /* for what is wrong with the surface that it is not */
            kind = &kinds[CLI_SURFACE];
            status = kind->read(cli, path, frames, out);
        }
    }
    return status < 0 ? NULL : kind;
}

/* ---- two files ----------------------------------------------------------- */

int cli_shape_read(command *cli, const cli_shape_files *files, cli_frames frames, cli_shape *out)
{
    int status = CLVOX_OK;
    out->kind = &cli_shape_kinds[files->kind];
    out->frames = frames;
    for (int s = 0; s < 2; s++) {
        const char *path = s ? files->moving : files->fixed;
        double size;
        CLI_TRY(out->kind->read(cli, path, frames, &out->side[s]));
        status = clvox_shape_size(out->side[s].shape, &size);
        if (status < 0)
            return clvox_fail_in(status, path);
        if (!(size > 0))
            return clvox_fail(CLVOX_ERROR_DATA, "%s: has %s", path, out->kind->empty);
    }
end:
    return status;
}

int cli_shape_write(const void *what, int unused, const char *path)
{
    const cli_shape *s = what;
    (void)unused;
    return s->kind->write(s->errors.carried, &s->side[1], s->frames, path);
}

void cli_shape_side_free(cli_shape_side *side)
{
    clvox_shape_destroy(&side->shape);
    cli_points_free(&side->table);
}

void cli_shape_free(cli_shape *s)
{
    for (int i = 0; i < 2; i++)
        cli_shape_side_free(&s->side[i]);
    clvox_shape_destroy(&s->errors.carried);
}

int cli_shape_inside(const command *cli, const char *path, const clvox_shape *s, const clvox_grid *grid,
                     const char *of)
{
    int status = CLVOX_OK;
    double to_voxel[4][4], edge[3], longest = 0;
    size_t outside = 0, farthest = 0;
    double most = 0;
    clvox_grid_spacing(grid, edge);
    for (int a = 0; a < 3; a++)
        longest = fmax(longest, edge[a] * grid->size[a]);
    CLI_TRY(clvox_affine_invert(CLI_MATRIX(grid->to_ras), to_voxel));
    for (size_t i = 0; i < s->vertices; i++) {
        double at[3], far = 0;
        cli_matrix_apply(CLI_MATRIX(to_voxel), s->points + 3 * i, at);
        for (int a = 0; a < 3; a++)
            far = fmax(far, edge[a] * fmax(-0.5 - at[a], at[a] - grid->size[a] + 0.5));
        outside += far > 0;
        farthest = far > most ? i : farthest;
        most = fmax(most, far);
    }
    if (outside == s->vertices)
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s: lies outside of %s; files that state no frame count as RAS, tables as LPS: see --frames",
            path, of);
    if (most > longest)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "%s: vertex %zu (counted from 0) lies %.4g mm outside of %s; remove it", path,
                          farthest, most, of);
    if (outside)
        cli_remark(cli, 0, "%s: %zu of %zu vertices lie outside of %s\n", path, outside, s->vertices, of);
end:
    return status;
}
