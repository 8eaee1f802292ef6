/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_phantom/tensor.h"

#include <math.h>
#include <stdio.h>

enum { DWI, TENSOR, FA, MASK, BVAL, BVEC, TABLE, FILES };
enum { MOST_DIRECTIONS = 1000 };

int cli_check_scan(const cli_scan *scan)
{
    if (!isnan(scan->snr) && !(scan->snr >= 0))
        return cli_misuse("--snr %g: 0 (no noise) or more", scan->snr);
    if (scan->directions && (scan->directions < 6 || scan->directions > MOST_DIRECTIONS))
        return cli_misuse("--directions %d: a tensor takes 6 to %d", scan->directions, MOST_DIRECTIONS);
    if (!isnan(scan->b) && !(scan->b > 0 && scan->b <= 1e5))
        return cli_misuse("--b %g: above 0, at most 100000 s/mm^2", scan->b);
    return CLVOX_OK;
}

int cli_phantom_tensor(command *cli, clvox_tensor_phantom kind, const char *prefix,
                       const clvox_grid *grid, uint64_t seed, const cli_scan *scan)
{
    static const clvox_end ends[FILES + 1] = {{"_dwi.nii.gz", true},
                                              {"_truth_tensor.nii.gz", true},
                                              {"_truth_fa.nii.gz", true},
                                              {"_mask.nii.gz", true},
                                              {".bval", true},
                                              {".bvec", true},
                                              {".b", true},
                                              {0}};
    char path[FILES][4096];
    clvox_gradients *gradients = NULL;
    clvox_volume *dwi = NULL, *tensor = NULL, *fa = NULL, *mask = NULL;
    double snr = isnan(scan->snr) ? 20 : scan->snr, b = isnan(scan->b) ? 1000 : scan->b;
    int status = CLVOX_OK;
    CLI_TRY(cli_claim_prefix(cli, &prefix, ends));
    for (int i = 0; i < FILES; i++)
        snprintf(path[i], sizeof path[i], "%s%s", prefix, ends[i].end);
    CLI_TRY(clvox_phantom_gradients(scan->directions ? scan->directions : 30, b, seed, &gradients));
    CLI_TRY(clvox_phantom_dwi(kind, grid, gradients, snr > 0 ? snr : INFINITY, scan->noise == 0, seed, &dwi));
    CLI_TRY(clvox_phantom_tensor(kind, grid, seed, &tensor, &fa, &mask));
    CLI_TRY(cli_write_volume(cli, dwi, path[DWI]));
    CLI_TRY(clvox_gradients_write_fsl(gradients, grid, path[BVAL], path[BVEC]));
    CLI_TRY(clvox_gradients_write_mrtrix(gradients, path[TABLE]));
    for (int i = BVAL; i < FILES; i++)
        cli_log_output(cli, path[i]);
    CLI_TRY(cli_write_tensor(cli, tensor, CLVOX_TENSOR_AUTO, path[TENSOR]));
    CLI_TRY(cli_write_volume(cli, fa, path[FA]));
    CLI_TRY(cli_write_volume(cli, mask, path[MASK]));
    cJSON_AddNumberToObject(cli->log, "volumes", gradients->count);
    cJSON_AddNumberToObject(cli->log, "snr", snr);
end:
    clvox_gradients_destroy(&gradients);
    clvox_volume_destroy(&dwi);
    clvox_volume_destroy(&tensor);
    clvox_volume_destroy(&fa);
    clvox_volume_destroy(&mask);
    return status;
}
