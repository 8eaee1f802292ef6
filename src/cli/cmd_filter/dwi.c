/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_filter_dwi(command *cli, int argc, char **argv)
{
    const char *out_path = NULL, *mask_path = NULL, *noise_path = NULL;
    int window = 0;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the denoised scan"},
        {"noise", 0, CLI_OUT, &noise_path, "FILE", "also write a map of the noise's standard deviation"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "denoise where this is above 0; OUT is 0 elsewhere"},
        {"window", 0, CLI_INTEGER, &window, "N",
         "edge of the window in voxels, odd (default: 5, wider from 125 volumes on)"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *mask = NULL, *out = NULL, *noise = NULL;
    char **words;
    double sigma = 0;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if (window && (window < 3 || window % 2 == 0))
        return cli_misuse("--window %d: an odd number from 3 on", window);
    const cli_input inputs[] = {{words[0], &in, 0}, {mask_path, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, true));
    CLI_TRY(cli_on_grid(mask_path, mask, words[0], in));
    window = window ? window : clvox_dwi_window(in);
    status = clvox_dwi_denoise(cli->ctx, in, mask, window / 2, &out, &noise);
    if (status < 0) {
        clvox_fail_in(status, words[0]);
        goto end;
    }
    cli_note_signs(cli, in, words[0], "taken for signed data, whose results keep their sign");
    CLI_TRY(clvox_noise_level(noise, &sigma));
    if (!(sigma > 0)) {
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: no voxel has a signal above 0%s; is this the scan?",
                            words[0], mask ? " inside the mask" : "");
        goto end;
    }
    CLI_TRY(cli_write_volume(cli, out, out_path));
    if (noise_path)
        CLI_TRY(cli_write_volume(cli, noise, noise_path));
    cli_print(cli, "%-12s %d voxels along each axis\n", "window", window);
    cli_print(cli, "%-12s %.6g (median of the map)\n", "noise", sigma);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "filter");
    cJSON_AddStringToObject(to, "kind", "dwi");
    cJSON_AddNumberToObject(to, "window_voxels", window);
    clvox_record_number(to, "noise", sigma);
    CLI_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&noise);
    return status;
}
