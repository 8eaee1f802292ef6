/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* The second word. verb: as --help and messages name it. */
typedef struct subcommand {
    const char *name, *verb, *help;
    int (*run)(command *cli, int argc, char **argv);
} subcommand;

static const subcommand subcommands[] = {
    {"distance", "surface distance", "a signed distance from a mesh, mask, label or image",
     cmd_surface_distance},
    {"mesh", "surface mesh", "the surface of a distance, mask, label or image as a mesh", cmd_surface_mesh},
    {"denoise", "surface denoise", "removes noise and staircases, keeps edges and volume", cmd_surface_denoise},
    {NULL, NULL, NULL, NULL},
};

int cmd_surface(command *cli, int argc, char **argv)
{
    char about[1024], names[256] = "";
    int used = snprintf(about, sizeof about, "Surfaces as meshes and as signed distances on a grid. DO is:");
    for (const subcommand *s = subcommands; s->name; s++) {
        if (argc > 1 && !strcmp(argv[1], s->name)) {
            cli->verb = s->verb;
            return s->run(cli, argc - 1, argv + 1);
        }
        used += snprintf(about + used, sizeof about - (size_t)used, "\n  %-8s  %s", s->name, s->help);
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", s->name);
    }
    snprintf(about + used, sizeof about - (size_t)used, "\n`clvox surface DO --help` explains its options.");
    if (argc > 1 && *argv[1] != '-')
        return cli_misuse("%s: not known; the word behind surface is one of:%s", argv[1], names);
    const cli_usage usage = {
        .synopsis = "DO IN -o OUT [options]",
        .about = about,
        .example = "  clvox surface distance labels.nii.gz --label 17 -o sdf.nii.gz",
        .least = 1,
        .most = 1,
    };
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    return cli_misuse("%s: goes right behind surface, before the options", words[0]);
}
