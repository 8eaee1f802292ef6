/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "clvox/registration.h"

/* Options typed as in clvox register: the rows of its table. */
static int read_fields(const char *operator_text, const char *steps_text, clvox_shoot_options *s)
{
    int status = CLVOX_OK;
    clvox_register_options o;
    const char *given[CLVOX_MAX_OPTIONS] = {NULL};
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_SHOOTING;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    given[clvox_option_find(clvox_register_table(), "operator")] = operator_text;
    given[clvox_option_find(clvox_register_table(), "timesteps")] = steps_text;
    CLI_TRY(cli_read_fields(clvox_register_table(), given, 0, &o));
    s->alpha = o.alpha;
    s->beta = o.beta;
    s->gamma = o.gamma;
    s->timesteps = steps_text ? o.timesteps : 0;
end:
    return status;
}

int cmd_shoot(command *cli, int argc, char **argv)
{
    const char *momentum_path = NULL, *reference_path = NULL, *prefix = NULL, *time = NULL, *operator_text = NULL,
               *steps = NULL;
    const cli_option options[] = {
        {"momentum", 'p', CLI_TEXT, &momentum_path, "MOMENTUM", "PREFIX_momentum.nii.gz of a registration"},
        {"reference", 'r', CLI_TEXT, &reference_path, "REFERENCE", "its fixed image: the grid of the warps"},
        {"output", 'o', CLI_PREFIX, &prefix, "PREFIX", "prefix of the output files"},
        {"time", 0, CLI_TEXT, &time, "T", "end time; 1 is the moving image (default 1)"},
        {"operator", 0, CLI_TEXT, &operator_text, "ALPHA,BETA,GAMMA",
         "for a momentum whose header lacks it (default: the registration's)"},
        {"timesteps", 0, CLI_TEXT, &steps, "N", "time steps per unit of time (default: the registration's)"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
    };
    const clvox_end ends[] = {{"_warp.nii.gz", true}, {"_inverse_warp.nii.gz", true}, {0}};
    clvox_shoot_options s;
    clvox_transform *momentum = NULL;
    clvox_volume *reference = NULL, *warp = NULL, *inverse = NULL;
    clvox_results outputs = {.count = 0};
    char **rest, *end = NULL;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!momentum_path)
        return cli_misuse("-p MOMENTUM is missing");
    if (!reference_path)
        return cli_misuse("-r REFERENCE is missing");
    if (!prefix)
        return cli_misuse("-o PREFIX is missing");
    clvox_shoot_defaults(&s);
    if (time) {
        s.time = strtod(time, &end);
        if (end == time || *end || !isfinite(s.time))
            return cli_misuse("--time %s: not a number", time);
    }
    CLI_TRY(read_fields(operator_text, steps, &s));
    CLI_TRY(cli_claim_prefix(cli, &prefix, ends));
    CLI_TRY(cli_read_transform(cli, momentum_path, &momentum));
    if (!momentum->is_warp) {
        status =
            clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine; a momentum is a vector field", momentum_path);
        goto end;
    }
    CLI_TRY(cli_read_volume(cli, reference_path, &reference));
    bool says = momentum->warp->flow.gamma > 0;
    status = clvox_shoot_settle(momentum->warp, &s);
    if (status < 0) {
        status = clvox_fail_in(status, momentum_path);
        goto end;
    }
    if (!says && !operator_text)
        cli_remark(cli, 0,
                   "%s does not say the operator that it was found with; taking %g,%g,%g, the default for its voxels "
                   "(--operator sets another)\n",
                   momentum_path, s.alpha, s.beta, s.gamma);
    CLI_TRY(cli_open(cli));
    CLI_TRY(clvox_shoot(cli->ctx, momentum->warp, &reference->grid, &s, &warp, &inverse));
    cJSON *to = cJSON_AddObjectToObject(cli->log, "shoot");
    cJSON_AddNumberToObject(to, "time", s.time);
    cJSON_AddNumberToObject(to, "timesteps", s.timesteps);
    const double op[3] = {s.alpha, s.beta, s.gamma};
    cJSON_AddItemToObject(to, "operator", cJSON_CreateDoubleArray(op, 3));
    cJSON_AddStringToObject(to, "operator_from", says ? "momentum" : operator_text ? "option" : "default");
    CLI_TRY(clvox_results_warp(&outputs, warp, prefix, "_warp.nii.gz"));
    CLI_TRY(clvox_results_warp(&outputs, inverse, prefix, "_inverse_warp.nii.gz"));
    CLI_TRY(cli_results_write(cli, &outputs, true));
end:
    clvox_results_free(&outputs);
    clvox_transform_destroy(&momentum);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&warp);
    clvox_volume_destroy(&inverse);
    return status;
}
