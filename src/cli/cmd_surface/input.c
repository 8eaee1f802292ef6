/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_surface/input.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

int cli_level_set(command *cli, const char *path, clvox_level_set_source *source, clvox_level_set *out)
{
    int status = CLVOX_OK;
    clvox_volume *volume = NULL;
    clvox_surface *surface = NULL;
    const cli_input inputs[] = {{path, &volume, source->label >= 0 ? CLI_AS_LABELS : 0}};
    *out = (clvox_level_set){.distance = NULL};
    if (clvox_surface_is_file(path)) {
        CLI_TRY(cli_read_surface(cli, path, &surface));
        CLI_TRY(cli_open(cli));
    } else {
        CLI_TRY(cli_load(cli, inputs, 1, NULL, NULL, true));
    }
    source->volume = volume;
    source->surface = surface;
    status = clvox_level_set_create(cli->ctx, source, out);
    if (status < 0)
        clvox_fail_in(status, path);
end:
    source->volume = NULL;
    source->surface = NULL;
    clvox_volume_destroy(&volume);
    clvox_surface_destroy(&surface);
    return status;
}

const char *cli_inside_word(const clvox_inside *inside)
{
    static const char *const words[] = {"mask", "mask", "label", "probability", "level", "signed distance"};
    return words[inside->kind];
}

const char *cli_surface_kind(const char *file)
{
    return clvox_surface_is_file(file) ? "meshes" : "volumes";
}

int cli_surface_label(const char *text, int *label)
{
    char *end;
    if (!text)
        return 0;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!*text || *end || errno || value < 0 || value > INT_MAX)
        return cli_misuse("--label %s: not a label (0 or a whole number above)", text);
    *label = (int)value;
    return 0;
}
