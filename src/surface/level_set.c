/* SPDX-License-Identifier: Apache-2.0 */
/* From what surfaces come as, a mesh or a volume, to a signed distance. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "clvox/surface.h"
#include "mesh/mesh.h"
#include "mesh/winding.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"

enum { MARGIN = 8 }; /* voxels around what is inside: patches of denoising reach so far */

/* Voxel size as a share of the edge of a mesh's triangles: on coarser voxels, going from the mesh to the grid and
 * back loses as much as the noise of a scan; on finer ones a patch sees little beside noise. */
static const double SHARE_OF_EDGE = 0.7;

/* The share of its volume that the facets of a mesh may cut off a smooth surface through its vertices: a
 * level set that its vertices place gains as much. A mesh with more is coarse: its voxels are those of
 * triangles with edges no longer than the shape is thick; and beyond the second share, which finer voxels
 * than the triangles' are worth though they keep more of their noise, of triangles that would cut off the
 * third. */
static const double MOST_CUT = 0.0075, FINER_FROM = 0.05, CUT_BY_VOXELS = 0.02;

void clvox_level_set_source_defaults(clvox_level_set_source *source)
{
    CLV_GIVEN_OR(, source);
    *source = (clvox_level_set_source){.size = sizeof *source, .label = -1, .iso = (double)NAN};
}

void clvox_level_set_destroy(clvox_level_set *level_set)
{
    if (!level_set)
        return;
    clvox_volume_destroy(&level_set->distance);
    clvox_surface_destroy(&level_set->surface);
}

/* ---- a mesh ------------------------------------------------------------- */

/* The edge of the voxels that a mesh of such triangles may have come from: that
 * of equilateral triangles of its area. */
static double edge_of(const clvox_surface_facts *f, size_t triangles)
{
    return sqrt(4 / sqrt(3.) * f->area / (double)triangles);
}

static int by_key(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Whether the mesh shows the steps of voxels: nearly all of its triangles face in
 * few directions, however it is turned. */
static int has_steps(const clvox_surface *mesh, int *steps)
{
    enum { FEW = 200, UNITS = 50 };
    const size_t count = mesh->triangles;
    int32_t *keys = malloc(count * sizeof *keys);
    size_t alone = 0, different = 0;
    *steps = 0;
    if (!keys)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the directions of triangles");
    for (size_t t = 0; t < count; t++) {
        const double *p[3];
        double n[3], length = 0;
        for (size_t i = 0; i < 3; i++)
            p[i] = mesh->points + 3 * (size_t)mesh->corners[3 * t + i];
        for (int a = 0; a < 3; a++) {
            int b = (a + 1) % 3, c = (a + 2) % 3;
            n[a] = (p[1][b] - p[0][b]) * (p[2][c] - p[0][c]) - (p[1][c] - p[0][c]) * (p[2][b] - p[0][b]);
            length += n[a] * n[a];
        }
        length = length > 0 ? sqrt(length) : 1;
        keys[t] = 0;
        for (int a = 0; a < 3; a++)
            keys[t] = keys[t] * (4 * UNITS) + (int32_t)lrint(UNITS * n[a] / length) + UNITS;
    }
    qsort(keys, count, sizeof *keys, by_key);
    /* Directions of one triangle in a thousand or fewer are no steps'. */
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && keys[next] == keys[i]; next++)
            continue;
        if ((next - i) * 1000 < count)
            alone += next - i;
        else
            different++;
    }
    *steps = count >= 1000 && alone * 10 < count && different <= FEW;
    free(keys);
    return CLVOX_OK;
}

static int copy_of(const clvox_surface *surface, clvox_surface **out)
{
    int status = clvox_surface_create(surface->vertices, surface->triangles, out);
    if (status < 0)
        return status;
    memcpy((*out)->points, surface->points, 3 * surface->vertices * sizeof *surface->points);
    memcpy((*out)->corners, surface->corners, 3 * surface->triangles * sizeof *surface->corners);
    return CLVOX_OK;
}

static bool is_closed(const clvox_surface_facts *f)
{
    return !f->open_edges && !f->crowded_edges && !f->flipped_edges;
}

/* Joins triangles that have no vertices in common, as some files do, and turns them alike. */
static int mend(clvox_surface *mesh, clvox_surface_facts *facts)
{
    int status = CLVOX_OK, changed;
    clv_side *sides = NULL;
    size_t count;
    if (facts->open_edges)
        CLV_TRY(clv_surface_weld(mesh, &changed));
    CLV_TRY(clv_sides(mesh, &sides, &count));
    CLV_TRY(clv_surface_orient(mesh, sides, count, &changed));
    CLV_TRY(clvox_surface_inspect(mesh, facts));
end:
    free(sides);
    return status;
}

/* A closed mesh whose facets are large against its shape, with its facts and the edges that are not; else
 * NULL. */
static int find_coarse(const clvox_surface *mesh, clvox_surface_facts *facts, clvox_surface **out,
                       double *edge)
{
    int status = CLVOX_OK;
    double cut, curvature;
    clvox_surface_facts found = *facts;
    clvox_surface *copy = NULL;
    CLV_TRY(copy_of(mesh, &copy));
    if (!is_closed(&found))
        CLV_TRY(mend(copy, &found));
    if (!is_closed(&found) || !(fabs(found.volume) > 0))
        goto end;
    CLV_TRY(clv_surface_facets(copy, &cut, &curvature));
    if (!(cut / found.volume > MOST_CUT))
        goto end;
    *edge = 2 * fabs(found.volume) / found.area;
    if (cut / found.volume > FINER_FROM && curvature / found.volume > 0)
        *edge = fmin(*edge, sqrt(8 * CUT_BY_VOXELS * found.volume / curvature));
    *facts = found;
    *out = copy;
    copy = NULL;
end:
    clvox_surface_destroy(&copy);
    return status;
}

static int from_surface(clvox_context *ctx, const clvox_level_set_source *source, clvox_level_set *out)
{
    enum { MOST = 1024 };
    int status = CLVOX_OK;
    const clvox_surface *mesh = source->surface;
    clvox_surface_facts facts;
    clvox_grid grid = {{0}, {{0}}};
    if (source->label >= 0 || !isnan(source->iso))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "is a mesh; --label and --iso belong to volumes");
    CLV_TRY(clvox_surface_inspect(mesh, &facts));
    if (!mesh->triangles || !(facts.area > 0))
        return clvox_fail(CLVOX_ERROR_DATA, "has no triangle with an area");
    CLV_TRY(has_steps(mesh, &out->steps));
    /* Steps of voxels look like shape to patches that are smaller than they. */
    double share = out->steps ? 1 : SHARE_OF_EDGE;
    double edge = edge_of(&facts, mesh->triangles), small = edge;
    if (!out->steps)
        CLV_TRY(find_coarse(mesh, &facts, &out->surface, &small));
    out->coarse = out->surface != NULL;
    double voxel = source->voxel > 0 ? source->voxel : share * fmin(edge, small);
    for (int a = 0; a < 3; a++) {
        double extent = facts.bounds[1][a] - facts.bounds[0][a];
        double voxels = extent / voxel + 2 * MARGIN;
        if (!(voxels < MOST))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "spans %.4g mm, %.0f voxels of %.3g mm; give larger ones by --voxel", extent,
                              voxels, voxel);
        grid.size[a] = (int)ceil(voxels) + 1;
        grid.to_ras[a][a] = voxel;
        double middle = 0.5 * (facts.bounds[0][a] + facts.bounds[1][a]);
        grid.to_ras[a][3] = middle - 0.5 * voxel * (grid.size[a] - 1);
    }
    grid.to_ras[3][3] = 1;
    CLV_TRY(clvox_distance_from_surface(ctx, mesh, &grid, MARGIN * voxel, &out->notes, &out->distance));
    out->from_surface = 1;
    if (is_closed(&facts)) {
        if (!out->coarse)
            CLV_TRY(copy_of(mesh, &out->surface));
        out->volume = fabs(facts.volume);
        out->bounds = !out->notes.crossing;
    }
end:
    return status;
}

/* ---- a volume ----------------------------------------------------------- */

/* The part of the volume around what is above the level; NULL where nothing is. */
static int cut_out(const clvox_volume *v, double level, clvox_volume **out)
{
    int status = CLVOX_OK;
    const int *n = v->grid.size;
    int low[3] = {n[0], n[1], n[2]}, high[3] = {-1, -1, -1};
    clvox_grid grid = v->grid;
    size_t i = 0, to = 0;
    *out = NULL;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int at[3] = {x, y, z};
                for (int a = 0; a < 3 && (double)v->data[i] > level; a++) {
                    low[a] = at[a] < low[a] ? at[a] : low[a];
                    high[a] = at[a] > high[a] ? at[a] : high[a];
                }
            }
    if (high[0] < 0)
        return CLVOX_OK;
    for (int a = 0; a < 3; a++) {
        low[a] = low[a] > MARGIN ? low[a] - MARGIN : 0;
        high[a] = high[a] + MARGIN < n[a] ? high[a] + MARGIN : n[a] - 1;
        grid.size[a] = high[a] - low[a] + 1;
        for (int r = 0; r < 3; r++)
            grid.to_ras[r][3] += v->grid.to_ras[r][a] * low[a];
    }
    status = clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, out);
    for (int z = low[2]; status >= 0 && z <= high[2]; z++)
        for (int y = low[1]; y <= high[1]; y++) {
            size_t from = ((size_t)z * (size_t)n[1] + (size_t)y) * (size_t)n[0] + (size_t)low[0];
            memcpy((*out)->data + to, v->data + from, (size_t)grid.size[0] * sizeof(float));
            to += (size_t)grid.size[0];
        }
    return status;
}

/* The volume of a mask's voxels; 0 where one lies at the border. */
static double volume_of(const clvox_volume *mask)
{
    const int *n = mask->grid.size;
    double edge[3], count = 0;
    size_t i = 0;
    clvox_grid_spacing(&mask->grid, edge);
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                bool border = x == 0 || y == 0 || z == 0 || x == n[0] - 1 || y == n[1] - 1 || z == n[2] - 1;
                if (mask->data[i] > 0 && border)
                    return 0;
                count += mask->data[i] > 0;
            }
    return count * edge[0] * edge[1] * edge[2];
}

static int from_volume(clvox_context *ctx, const clvox_level_set_source *source, clvox_level_set *out)
{
    int status = CLVOX_OK;
    const clvox_volume *values = source->volume;
    clvox_volume *mask = NULL, *cut = NULL;
    CLV_TRY(clvox_inside_of(values, source->label, source->iso, &out->inside));
    if (out->inside.kind == CLVOX_INSIDE_DISTANCE) {
        CLV_TRY(clvox_volume_create(&values->grid, 1, CLVOX_KIND_SCALAR, &out->distance));
        memcpy(out->distance->data, values->data, clvox_grid_voxels(&values->grid) * sizeof(float));
        goto end;
    }
    CLV_TRY(clvox_inside_mask(values, &out->inside, &mask));
    out->volume = mask ? volume_of(mask) : 0;
    values = mask ? mask : values;
    if (!source->whole)
        CLV_TRY(cut_out(values, out->inside.level, &cut));
    CLV_TRY(clvox_distance_from_values(ctx, cut ? cut : values, out->inside.level, &out->distance));
end:
    clvox_volume_destroy(&cut);
    clvox_volume_destroy(&mask);
    return status;
}

int clvox_level_set_create(clvox_context *context, const clvox_level_set_source *source, clvox_level_set *out)
{
    CLV_GIVEN(context, source, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "distance");
    int status = clv_options_sized(source, sizeof *source);
    *out = (clvox_level_set){.distance = NULL};
    if (status < 0)
        return status;
    if (!source->volume == !source->surface)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a level set is made of a volume or of a surface");
    status = source->surface ? from_surface(context, source, out) : from_volume(context, source, out);
    if (status < 0)
        clvox_level_set_destroy(out);
    return status;
}
