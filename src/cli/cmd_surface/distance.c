/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cli/cmd_surface/input.h"

typedef struct request {
    const char *in, *out, *like;
    clvox_numbers voxel, band;
    int label;  /* -1: not given */
    double iso; /* NaN: not given */
} request;

/* ---- a mesh ------------------------------------------------------------- */

/* Voxel edges in mm: as asked for, else about the mesh's mean edge but so that
 * the grid stays moderate. */
static int choose_voxel(const request *r, const clvox_surface *s, const clvox_surface_facts *f,
                        double edge[3])
{
    enum { MOST_ALONG = 400 };
    for (int a = 0; a < 3; a++)
        edge[a] = r->voxel.count ? r->voxel.value[r->voxel.count == 3 ? a : 0] : 0;
    if (r->voxel.count)
        return CLVOX_OK;
    double sum = 0, longest = 0, size;
    for (size_t i = 0; i < 3 * s->triangles; i++) {
        const double *p = s->points + 3 * (size_t)s->corners[i];
        const double *q = s->points + 3 * (size_t)s->corners[i % 3 == 2 ? i - 2 : i + 1];
        sum += sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2));
    }
    for (int a = 0; a < 3; a++)
        longest = fmax(longest, f->bounds[1][a] - f->bounds[0][a]);
    size = fmax(fmin(sum / fmax(3.0 * (double)s->triangles, 1), 1), longest / MOST_ALONG);
    if (!(size > 0))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: the mesh has no extent; give a grid with --grid", r->in);
    /* Two digits, so that the grid is one that people can write down. */
    double digits = pow(10, floor(log10(size)) - 1);
    edge[0] = edge[1] = edge[2] = ceil(size / digits - 1e-9) * digits;
    return CLVOX_OK;
}

/* A grid along R, A and S around the mesh with room for the band. */
static int grid_around(const request *r, const clvox_surface *s, double band, clvox_grid *grid)
{
    enum { MARGIN = 4, MOST_AXIS = 2048 };
    clvox_surface_facts facts;
    double edge[3];
    int status = clvox_surface_inspect(s, &facts);
    if (status < 0)
        return clvox_fail_in(status, r->in);
    if ((status = choose_voxel(r, s, &facts, edge)) < 0)
        return status;
    memset(grid, 0, sizeof *grid);
    grid->to_ras[3][3] = 1;
    for (int a = 0; a < 3; a++) {
        double room = fmax(MARGIN * edge[a], isnan(band) ? 0 : band);
        double first = floor((facts.bounds[0][a] - room) / edge[a]);
        double last = ceil((facts.bounds[1][a] + room) / edge[a]);
        if (!(last - first < MOST_AXIS))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "%s: voxels of %g mm make %.0f along an axis; give larger "
                              "ones with --voxel",
                              r->in, edge[a], last - first + 1);
        grid->size[a] = (int)(last - first) + 1;
        grid->to_ras[a][a] = edge[a];
        grid->to_ras[a][3] = first * edge[a];
    }
    return CLVOX_OK;
}

static void say_mesh(command *cli, const request *r, const clvox_surface_notes *n, cJSON *to)
{
    const clvox_surface_facts *f = &n->facts;
    cJSON_AddNumberToObject(to, "open_edges", f->open_edges);
    cJSON_AddNumberToObject(to, "triangles_turned", n->triangles_turned);
    cJSON_AddBoolToObject(to, "faced_inward", n->turned);
    cJSON_AddBoolToObject(to, "crossing", n->crossing);
    cJSON_AddBoolToObject(to, "leaves_grid", n->leaves_grid);
    if (f->open_edges)
        cli_remark(cli, 0, "%s: is open (%d edges with one triangle); inside is where its winding number is "
                           "above a half\n",
                   r->in, f->open_edges);
    if (n->turned)
        cli_remark(cli, 0, "%s: its triangles face inward and were flipped\n", r->in);
    if (n->triangles_turned)
        cli_remark(cli, 0, "%s: %d triangles that faced against their neighbours were turned\n", r->in,
                   n->triangles_turned);
    if (n->crossing)
        cli_remark(cli, 0, "%s: crosses itself, or parts lie inside of others; the distance is to what "
                           "bounds the union\n",
                   r->in);
    if (f->crowded_edges)
        cli_remark(cli, 0, "%s: %d edges have more than two triangles\n", r->in, f->crowded_edges);
    if (n->leaves_grid)
        cli_remark(cli, 0, "%s: reaches beyond the grid\n", r->in);
}

static int from_mesh(command *cli, const request *r, cJSON *to, clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_surface *mesh = NULL;
    clvox_volume *like = NULL;
    clvox_surface_notes notes;
    clvox_grid grid;
    double edge[3], band = r->band.count ? r->band.value[0] : NAN;
    const bool voxels = r->band.unit == CLVOX_UNIT_VOXELS;
    CLI_TRY(cli_read_surface(cli, r->in, &mesh));
    if (r->like) {
        CLI_TRY(cli_read_volume(cli, r->like, &like));
        grid = like->grid;
    } else {
        CLI_TRY(grid_around(r, mesh, voxels ? NAN : band, &grid));
    }
    clvox_grid_spacing(&grid, edge);
    double widest = fmax(edge[0], fmax(edge[1], edge[2]));
    if (isnan(band))
        band = 8 * widest; /* patches of denoising reach so far */
    else if (voxels)
        band *= widest;
    CLI_TRY(cli_open(cli));
    status = clvox_distance_from_surface(cli->ctx, mesh, &grid, band, &notes, out);
    if (status < 0) {
        clvox_fail_in(status, r->in);
        goto end;
    }
    cJSON_AddStringToObject(to, "from", "mesh");
    cJSON_AddNumberToObject(to, "band_mm", band);
    say_mesh(cli, r, &notes, to);
end:
    clvox_surface_destroy(&mesh);
    clvox_volume_destroy(&like);
    return status;
}

/* ---- a volume ----------------------------------------------------------- */

static int from_volume(command *cli, const request *r, cJSON *to, clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_level_set_source source;
    clvox_level_set level_set;
    clvox_level_set_source_defaults(&source);
    source.label = r->label;
    source.iso = r->iso;
    source.whole = 1;
    CLI_TRY(cli_level_set(cli, r->in, &source, &level_set));
    const char *word = cli_inside_word(&level_set.inside);
    if (level_set.inside.kind == CLVOX_INSIDE_DISTANCE) {
        status = clvox_fail(CLVOX_ERROR_DATA,
                          "%s: looks like a signed distance; if it is not one, say by --iso "
                          "VALUE above which value its inside lies",
                          r->in);
        goto end;
    }
    cli_remark(cli, 1, "%s: taken as %s; inside is above %g\n", r->in, word, level_set.inside.level);
    cJSON_AddStringToObject(to, "from", word);
    cJSON_AddNumberToObject(to, "iso", level_set.inside.level);
    *out = level_set.distance;
    level_set.distance = NULL;
end:
    clvox_level_set_destroy(&level_set);
    return status;
}

/* ---- the verb ----------------------------------------------------------- */

static void report(command *cli, const clvox_volume *d, cJSON *to)
{
    size_t inside = 0, n = clvox_grid_voxels(&d->grid);
    float least = INFINITY, most = -INFINITY;
    double edge[3];
    for (size_t i = 0; i < n; i++) {
        inside += d->data[i] < 0;
        least = fminf(least, d->data[i]);
        most = fmaxf(most, d->data[i]);
    }
    clvox_grid_spacing(&d->grid, edge);
    cli_print(cli, "%-12s %d x %d x %d voxels, %.6g x %.6g x %.6g mm\n", "grid", d->grid.size[0],
              d->grid.size[1], d->grid.size[2], edge[0], edge[1], edge[2]);
    cli_print(cli, "%-12s %zu\n%-12s %.6g mm\n%-12s %.6g mm\n", "inside", inside, "deepest", (double)least,
              "farthest", (double)most);
    clvox_record_grid(to, "grid", &d->grid);
    cJSON_AddNumberToObject(to, "voxels_inside", (double)inside);
    clvox_record_number(to, "deepest_mm", (double)least);
    clvox_record_number(to, "farthest_mm", (double)most);
}

static int check(const request *r)
{
    if (!r->out)
        return cli_misuse("-o SDF is missing");
    if (r->label >= 0 && !isnan(r->iso))
        return cli_misuse("--label and --iso: one of them");
    if (r->voxel.count && r->like)
        return cli_misuse("--voxel and --grid: one of them");
    if (r->voxel.count == 2 || r->voxel.count > 3 || r->voxel.unit == CLVOX_UNIT_VOXELS)
        return cli_misuse("--voxel: one or three lengths, as 0.8mm or 1x1x2mm");
    for (int a = 0; a < r->voxel.count; a++)
        if (!(r->voxel.value[a] > 0))
            return cli_misuse("--voxel: %g is not a length above 0", r->voxel.value[a]);
    if (r->band.count > 1 || (r->band.count && !(r->band.value[0] > 0)))
        return cli_misuse("--band: one width above 0, as 5mm or 8vox");
    return CLVOX_OK;
}

int cmd_surface_distance(command *cli, int argc, char **argv)
{
    request r = {.label = -1, .iso = NAN};
    const char *label = NULL;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &r.out, "SDF", "the distance to write (.nii, .nii.gz)"},
        {"label", 0, CLI_TEXT, &label, "N", "IN is a label map: the surface of label N", .kinds = "volumes"},
        {"iso", 0, CLI_NUMBER, &r.iso, "VALUE", "IN is an image: inside is above VALUE", .kinds = "volumes"},
        {"voxel", 0, CLI_NUMBERS, &r.voxel, "Nmm|NxNxNmm",
         "IN is a mesh: voxels of the grid around it (default: its mean edge, at most 1 mm)",
         .kinds = "meshes"},
        {"grid", 0, CLI_TEXT, &r.like, "REF", "IN is a mesh: the grid of this volume instead",
         .kinds = "meshes"},
        {"band", 0, CLI_NUMBERS, &r.band, "Nmm|Nvox",
         "IN is a mesh: exact within this distance (default 8vox), nearly exact beyond",
         .kinds = "meshes"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
        .kind = cli_surface_kind,
    };
    clvox_volume *distance = NULL;
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    r.in = words[0];
    if ((status = cli_surface_label(label, &r.label)))
        return status;
    const bool mesh = clvox_surface_is_file(r.in);
    if ((status = check(&r)) < 0)
        return status;
    cJSON *to = cJSON_AddObjectToObject(cli->log, "distance");
    if (mesh)
        CLI_TRY(from_mesh(cli, &r, to, &distance));
    else
        CLI_TRY(from_volume(cli, &r, to, &distance));
    CLI_TRY(cli_write_volume(cli, distance, r.out));
    report(cli, distance, to);
end:
    clvox_volume_destroy(&distance);
    return status;
}
