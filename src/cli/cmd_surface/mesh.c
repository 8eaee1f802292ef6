/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "cli/cmd_surface/input.h"

typedef struct request {
    int label;         /* -1: not given */
    double iso, level; /* NaN: not given */
    bool above;
} request;

/* Recognises the values; *mask has those of masks and labels as 1 and 0. */
static int choose(const command *cli, const char *path, const clvox_volume *v, const request *r,
                  clvox_inside *inside, clvox_volume **mask)
{
    int status = CLVOX_OK;
    if (isnan(r->level))
        status = clvox_inside_of(v, r->label, r->iso, inside);
    else
        *inside = (clvox_inside){.kind = CLVOX_INSIDE_IMAGE, .level = r->level, .above = r->above};
    if (status >= 0)
        status = clvox_inside_mask(v, inside, mask);
    if (status < 0)
        return clvox_fail_in(status, path);
    cli_remark(cli, 1, "%s: taken as %s; inside is %s %g\n", path, cli_inside_word(inside),
               inside->above ? "above" : "below", inside->level);
    return CLVOX_OK;
}

static void report(command *cli, const clvox_surface *s, const clvox_surface_facts *f,
                   const clvox_inside *inside)
{
    bool closed = !f->open_edges && !f->crowded_edges && !f->flipped_edges;
    cli_print(cli, "%-12s %zu\n%-12s %zu\n", "vertices", s->vertices, "triangles", s->triangles);
    cli_print(cli, "%-12s %d\n%-12s %s\n", "components", f->components, "closed", closed ? "yes" : "no");
    cli_print(cli, "%-12s %d\n%-12s %.6g mm^2\n", "Euler", f->euler, "area", f->area);
    cli_print(cli, "%-12s %.6g mm^3\n", "volume", f->volume);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "surface");
    cJSON_AddStringToObject(to, "from", cli_inside_word(inside));
    cJSON_AddNumberToObject(to, "level", inside->level);
    cJSON_AddStringToObject(to, "inside", inside->above ? "above" : "below");
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
        {"output", 'o', CLI_OUT, &out_path, "OUT",
         "the mesh to write: .surf.gii, .vtk, .ply, .stl, .obj, .byu, lh.* or rh.*"},
        {"label", 0, CLI_TEXT, &label, "N", "IN is a label map: the surface of label N"},
        {"iso", 0, CLI_NUMBER, &r.iso, "VALUE", "IN is an image: inside is above VALUE"},
        {"level", 0, CLI_NUMBER, &r.level, "VALUE", "inside is below VALUE (of a distance: 0 by default)"},
        {"above", 0, CLI_FLAG, &r.above, NULL, "inside is above it", .needs = "level"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *mask = NULL;
    clvox_surface *surface = NULL;
    clvox_surface_facts facts;
    clvox_inside inside;
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if ((label != NULL) + !isnan(r.iso) + !isnan(r.level) > 1)
        return cli_misuse("--label, --iso and --level: one of them");
    if ((status = cli_surface_label(label, &r.label)))
        return status;
    const cli_input inputs[] = {{words[0], &in, r.label >= 0 ? CLI_AS_LABELS : 0}};
    CLI_TRY(cli_load(cli, inputs, 1, NULL, NULL, false));
    CLI_TRY(choose(cli, words[0], in, &r, &inside, &mask));
    status = clvox_surface_extract(mask ? mask : in, inside.level, inside.above, &surface);
    if (status < 0) {
        clvox_fail_in(status, words[0]);
        goto end;
    }
    CLI_TRY(clvox_surface_inspect(surface, &facts));
    CLI_TRY(cli_write_surface(cli, surface, out_path));
    report(cli, surface, &facts, &inside);
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_surface_destroy(&surface);
    return status;
}
