/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "cli/cli.h"
#include "clvox/filter.h"

static int set_radius(const clvox_numbers *given, int radius[3])
{
    if (given->count > 1 && given->count != 3)
        return cli_misuse("--radius: one number of voxels or three, as 1 or 2x2x1");
    if (given->unit == CLVOX_UNIT_MM)
        return cli_misuse("--radius: in voxels, not in mm");
    for (int a = 0; a < 3; a++) {
        double r = given->count == 0 ? 1 : given->value[given->count == 3 ? a : 0];
        if (!(r >= 0 && r <= CLVOX_MEDIAN_RADIUS && r <= floor(r)))
            return cli_misuse("--radius: %g is not a whole number of voxels from 0 to %d", r, CLVOX_MEDIAN_RADIUS);
        radius[a] = (int)r;
    }
    return CLVOX_OK;
}

int cmd_filter_median(command *cli, int argc, char **argv)
{
    const char *out_path = NULL;
    clvox_numbers given = {.count = 0};
    int radius[3];
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the filtered image"},
        {"radius", 0, CLI_NUMBERS, &given, "N|NxNxN",
         "voxels on either side, of all axes or each (default 1)"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *out = NULL;
    cJSON *to;
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if ((status = set_radius(&given, radius)))
        return status;
    const cli_input inputs[] = {{words[0], &in, 0}};
    CLI_TRY(cli_load(cli, inputs, 1, NULL, NULL, true));
    status = clvox_filter_median(cli->ctx, in, radius, &out);
    CLI_TRY(cli_write_filtered(cli, status, words[0], out, out_path, "median", &to));
    cJSON_AddItemToObject(to, "radius_voxels", cJSON_CreateIntArray(radius, 3));
    CLI_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
    return status;
}
