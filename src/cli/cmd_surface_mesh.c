/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "cli/cli.h"
#include "cli/surface_input.h"
#include "mesh/mesh.h"

typedef struct request {
    int label;         /* -1: not given */
    double iso, level; /* NaN: not given */
    bool above;
} request;

/* Leaves 1 where the values are inside, else 0. */
static void make_mask(clvox_volume *v, int label)
{
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        v->data[i] = label >= 0 ? v->data[i] == (float)label : v->data[i] > 0;
}

/* What the values are, where nothing was said: level 0 of a distance (some
 * values are negative), else what is above 0 in a mask or label map, else a half
 * in a probability. */
static int choose(const command *cli, const char *path, clvox_volume *v, request *r, const char **kind)
{
    bool negative = false, fractions = false, beyond_1 = false;
    if (r->label >= 0) {
        bool found = false;
        for (size_t i = 0; i < clvox_grid_voxels(&v->grid) && !found; i++)
            found = v->data[i] == (float)r->label;
        if (!found)
            return clv_fail(CLVOX_ERROR_DATA, "%s: no voxel has label %d", path, r->label);
    }
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++) {
        float x = v->data[i];
        negative = negative || x < 0;
        fractions = fractions || (isfinite(x) && x != rintf(x));
        beyond_1 = beyond_1 || x > 1.0001f;
    }
    bool given = !isnan(r->level) || !isnan(r->iso);
    *kind = r->label >= 0 ? "label" : given ? "level" : negative ? "signed distance" : "mask";
    if (!isnan(r->iso)) {
        r->level = r->iso;
        r->above = true;
    } else if (r->label >= 0 || (!given && !negative && !fractions)) {
        make_mask(v, r->label);
        r->level = 0.5;
        r->above = true;
    } else if (!given && (!negative || !fractions)) {
        if (negative || beyond_1)
            return clv_fail(CLVOX_ERROR_DATA,
                            "%s: is neither a mask nor a signed distance; say by --iso VALUE above which "
                            "value its inside lies",
                            path);
        *kind = "probability";
        r->level = 0.5;
        r->above = true;
    } else if (!given) {
        r->level = 0;
    }
    cli_remark(cli, 1, "%s: taken as %s; inside is %s %g\n", path, *kind, r->above ? "above" : "below",
               r->level);
    return CLVOX_OK;
}

static void report(command *cli, const clvox_surface *s, const clv_surface_facts *f, const request *r,
                   const char *kind)
{
    bool closed = !f->open_edges && !f->crowded_edges && !f->flipped_edges;
    cli_print(cli, "%-12s %zu\n%-12s %zu\n", "vertices", s->vertices, "triangles", s->triangles);
    cli_print(cli, "%-12s %d\n%-12s %s\n", "components", f->components, "closed", closed ? "yes" : "no");
    cli_print(cli, "%-12s %d\n%-12s %.6g mm^2\n", "Euler", f->euler, "area", f->area);
    cli_print(cli, "%-12s %.6g mm^3\n", "volume", f->volume);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "surface");
    cJSON_AddStringToObject(to, "from", kind);
    cJSON_AddNumberToObject(to, "level", r->level);
    cJSON_AddStringToObject(to, "inside", r->above ? "above" : "below");
    cJSON_AddNumberToObject(to, "vertices", (double)s->vertices);
    cJSON_AddNumberToObject(to, "triangles", (double)s->triangles);
    cJSON_AddNumberToObject(to, "components", f->components);
    cJSON_AddBoolToObject(to, "closed", closed);
    cJSON_AddNumberToObject(to, "euler", f->euler);
    cJSON_AddNumberToObject(to, "area_mm2", f->area);
    cJSON_AddNumberToObject(to, "volume_mm3", f->volume);
}

int cmd_surface_mesh(command *cli, int argc, char **argv)
{
    request r = {.label = -1, .iso = NAN, .level = NAN};
    const char *out_path = NULL, *label = NULL;
    const cli_option options[] = {
        {"output", 'o', CLI_TEXT, &out_path, "OUT",
         "the mesh to write: .surf.gii, .vtk, .ply, .stl, .obj, .byu, lh.* or rh.*"},
        {"label", 0, CLI_TEXT, &label, "N", "IN is a label map: the surface of label N"},
        {"iso", 0, CLI_NUMBER, &r.iso, "VALUE", "IN is an image: inside is above VALUE"},
        {"level", 0, CLI_NUMBER, &r.level, "VALUE", "inside is below VALUE (of a distance: 0 by default)"},
        {"above", 0, CLI_FLAG, &r.above, NULL, "with --level: inside is above it"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "IN -o OUT [--level VALUE [--above] | --iso VALUE | --label N]",
        .about =
            "The surface of a signed distance (negative inside), mask, label map or image as triangles in\n"
            "RAS mm, by a marching cubes with the topology of trilinear interpolation: always closed,\n"
            "without cracks or degenerate triangles, facing outward. Without options IN is a signed\n"
            "distance when it has negative values, else a mask (all above 0), or a probability (above 0.5).\n"
            "A value at the level, or NaN, is outside; where inside reaches the border of the grid a cap\n"
            "closes the surface. A mask keeps its staircase: `clvox surface denoise` takes it away.",
        .example = "  clvox surface mesh distance.nii.gz -o surface.surf.gii\n"
                   "  clvox surface mesh aparc+aseg.nii.gz --label 17 -o hippocampus.ply",
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL;
    clvox_surface *surface = NULL;
    clv_surface_facts facts;
    const char *kind = "";
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if ((label != NULL) + !isnan(r.iso) + !isnan(r.level) > 1)
        return cli_misuse("--label, --iso and --level: one of them");
    if (r.above && isnan(r.level))
        return cli_misuse("--above belongs to --level");
    if ((status = cli_surface_label(label, &r.label)))
        return status;
    CLV_TRY(cli_read_volume(cli, words[0], &in));
    if (in->frames != 1) {
        status = clv_fail(CLVOX_ERROR_DATA, "%s: has %d volumes; extract one first", words[0], in->frames);
        goto end;
    }
    CLV_TRY(choose(cli, words[0], in, &r, &kind));
    status = clv_surface_extract(in, r.level, r.above, &surface);
    if (status < 0) {
        clv_fail_in(status, words[0]);
        goto end;
    }
    CLV_TRY(clv_surface_inspect(surface, &facts));
    CLV_TRY(cli_write_surface(cli, surface, out_path));
    report(cli, surface, &facts, &r, kind);
end:
    clvox_volume_destroy(&in);
    clvox_surface_destroy(&surface);
    return status;
}
