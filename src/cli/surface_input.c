/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/surface_input.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/surface_file.h"

/* The edge of the voxels that a mesh of such triangles may have come from: that
 * of equilateral triangles of its area. */
static double edge_of(const clv_surface_facts *f, size_t triangles)
{
    return sqrt(4 / sqrt(3.) * f->area / (double)triangles);
}

/* Of that edge: on coarser voxels, going from the mesh to the grid and back loses
 * as much as the noise of a scan; on finer ones a patch sees little beside noise. */
static const double SHARE_OF_EDGE = 0.7;

static int by_key(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Whether the mesh shows the steps of voxels: nearly all of its triangles face in
 * few directions, however it is turned. */
static int has_steps(const clvox_surface *mesh, bool *steps)
{
    enum { FEW = 200, UNITS = 50 };
    const size_t count = mesh->triangles;
    int32_t *keys = malloc(count * sizeof *keys);
    size_t alone = 0, different = 0;
    *steps = false;
    if (!keys)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the directions of triangles");
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

static int from_mesh(command *cli, const cli_surface_request *request, cli_surface_source *source)
{
    enum { MOST = 1024 };
    int status = CLVOX_OK;
    clvox_surface *mesh = NULL;
    clv_surface_facts facts;
    clvox_grid grid = {{0}, {{0}}};
    CLV_TRY(cli_read_surface(cli, request->path, &mesh));
    CLV_TRY(clv_surface_inspect(mesh, &facts));
    if (!mesh->triangles || !(facts.area > 0)) {
        status = clv_fail(CLVOX_ERROR_DATA, "%s: has no triangle with an area", request->path);
        goto end;
    }
    bool steps;
    CLV_TRY(has_steps(mesh, &steps));
    /* Steps of voxels look like shape to patches that are smaller than they. */
    double share = steps ? 1 : SHARE_OF_EDGE;
    source->steps = steps;
    double voxel = request->voxel > 0 ? request->voxel : share * edge_of(&facts, mesh->triangles);
    for (int a = 0; a < 3; a++) {
        double extent = facts.bounds[1][a] - facts.bounds[0][a];
        double voxels = extent / voxel + 2 * request->margin;
        if (!(voxels < MOST)) {
            status = clv_fail(CLVOX_ERROR_ARGUMENT,
                              "%s: spans %.4g mm, %.0f voxels of %.3g mm; give larger ones by --voxel",
                              request->path, extent, voxels, voxel);
            goto end;
        }
        grid.size[a] = (int)ceil(voxels) + 1;
        grid.to_ras[a][a] = voxel;
        double middle = 0.5 * (facts.bounds[0][a] + facts.bounds[1][a]);
        grid.to_ras[a][3] = middle - 0.5 * voxel * (grid.size[a] - 1);
    }
    grid.to_ras[3][3] = 1;
    CLV_TRY(cli_open(cli));
    CLV_TRY(clv_surface_to_distance(cli->ctx, mesh, &grid, request->margin * voxel, &source->notes,
                                    &source->distance));
    if (!facts.open_edges && !facts.crowded_edges && !facts.flipped_edges) {
        source->volume = fabs(facts.volume);
        source->closed = mesh;
        source->surface = source->notes.crossing ? NULL : mesh;
        mesh = NULL;
    }
    source->mesh = true;
    source->kind = "mesh";
end:
    clvox_surface_destroy(&mesh);
    return status;
}

/* What the values look like. */
typedef struct look {
    size_t negative, positive, fractions, not_finite;
    float largest;
    int values;      /* different ones above 0, at most 2 */
    bool distance;   /* across the zero level values change as distances do */
} look;

static look look_at(const clvox_volume *v)
{
    look l = {.largest = -INFINITY};
    const int *n = v->grid.size;
    const size_t step[3] = {1, (size_t)n[0], (size_t)n[0] * (size_t)n[1]};
    double edge[3];
    float first = 0;
    size_t i = 0, crossings = 0, steep = 0, voxels = clvox_grid_voxels(&v->grid);
    clvox_grid_spacing(&v->grid, edge);
    for (i = 0; i < voxels; i++) {
        float x = v->data[i];
        l.not_finite += !isfinite(x);
        if (!isfinite(x))
            continue;
        l.negative += x < 0;
        l.positive += x > 0;
        l.fractions += x != rintf(x);
        l.largest = fmaxf(l.largest, x);
        if (x > 0 && l.values < 2 && (l.values == 0 || x != first)) {
            first = x;
            l.values++;
        }
    }
    i = 0;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int at[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    if (at[a] + 1 >= n[a] || (v->data[i] < 0) == (v->data[i + step[a]] < 0))
                        continue;
                    crossings++;
                    steep += !(fabs((double)v->data[i] - (double)v->data[i + step[a]]) <= 1.5 * edge[a]);
                }
            }
    /* Noise may make it steep here and there. */
    l.distance = l.negative && l.positive && l.fractions && crossings && steep <= crossings / 2;
    return l;
}

/* The part of the volume around what is above iso; NULL where nothing is. */
static int cut_out(const clvox_volume *v, double iso, int margin, clvox_volume **out)
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
                for (int a = 0; a < 3 && (double)v->data[i] > iso; a++) {
                    low[a] = at[a] < low[a] ? at[a] : low[a];
                    high[a] = at[a] > high[a] ? at[a] : high[a];
                }
            }
    if (high[0] < 0)
        return CLVOX_OK;
    for (int a = 0; a < 3; a++) {
        low[a] = low[a] > margin ? low[a] - margin : 0;
        high[a] = high[a] + margin < n[a] ? high[a] + margin : n[a] - 1;
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

/* 1 where the values are to be inside, else 0. */
static int mask_of(const clvox_volume *in, float label, bool any, clvox_volume **out)
{
    int status = clvox_volume_create(&in->grid, 1, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(&in->grid); i++)
        (*out)->data[i] = any ? in->data[i] > 0 : in->data[i] == label;
    return status;
}

static int from_volume(command *cli, const cli_surface_request *request, cli_surface_source *source)
{
    int status = CLVOX_OK;
    clvox_volume *in = NULL, *mask = NULL, *cut = NULL;
    const cli_input inputs[] = {{request->path, &in, false}};
    double iso = request->iso;
    bool labels = request->label >= 0;
    CLV_TRY(cli_load(cli, inputs, 1, NULL, NULL, true));
    if (in->frames != 1) {
        status = clv_fail(CLVOX_ERROR_DATA, "%s: has %d volumes; extract one first", request->path,
                          in->frames);
        goto end;
    }
    look l = look_at(in);
    if (isnan(iso) && !labels && l.distance && in->kind != CLVOX_KIND_LABEL) {
        source->kind = "signed distance";
        source->distance = in;
        in = NULL;
        goto end;
    }
    if (isnan(iso) && !labels && l.fractions) {
        /* A probability has its surface where it is a half. */
        if (l.negative || l.largest > 1.0001f) {
            status = clv_fail(CLVOX_ERROR_DATA,
                              "%s: is neither a mask nor a signed distance; say by --iso VALUE "
                                                "above which value its inside lies",
                              request->path);
            goto end;
        }
        iso = 0.5;
    }
    if (isnan(iso)) {
        CLV_TRY(mask_of(in, (float)request->label, !labels, &mask));
        if (labels)
            snprintf(source->text, sizeof source->text, "label %d", request->label);
        else if (l.values > 1)
            snprintf(source->text, sizeof source->text, "all labels above 0");
        else
            snprintf(source->text, sizeof source->text, "mask");
        size_t inside = 0, voxels = clvox_grid_voxels(&in->grid);
        for (size_t i = 0; i < voxels; i++)
            inside += mask->data[i] > 0;
        if (inside == 0 || inside == voxels) {
            status = clv_fail(CLVOX_ERROR_DATA, "%s: %s of its voxels lie inside (%s); there is no surface",
                              request->path, inside ? "all" : "none", source->text);
            goto end;
        }
        iso = 0.5;
        source->volume = volume_of(mask);
    } else {
        snprintf(source->text, sizeof source->text, "image above %.6g", iso);
    }
    source->kind = source->text;
    if (!request->whole)
        CLV_TRY(cut_out(mask ? mask : in, iso, (int)request->margin, &cut));
    CLV_TRY(clv_values_to_distance(cli->ctx, cut ? cut : mask ? mask : in, iso, &source->distance));
end:
    clvox_volume_destroy(&cut);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    return status;
}

int cli_surface_load(command *cli, const cli_surface_request *request, cli_surface_source *source)
{
    *source = (cli_surface_source){.kind = "nothing"};
    if (!clv_surface_is_file(request->path))
        return from_volume(cli, request, source);
    if (request->label >= 0 || !isnan(request->iso))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: is a mesh; --label and --iso belong to volumes",
                        request->path);
    return from_mesh(cli, request, source);
}

int cli_surface_label(const char *text, int *label)
{
    char *end;
    if (!text)
        return 0;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!*text || *end || errno || value < 0 || value > 1 << 24)
        return cli_misuse("--label %s: not a label (0 or a whole number above)", text);
    *label = (int)value;
    return 0;
}
