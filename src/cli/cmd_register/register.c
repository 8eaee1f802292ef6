/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "cli/cmd_register/pair.h"
#include "clvox/files.h"

static int run(command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    int status = CLVOX_OK;
    cli_pair pair = {.cli = cli, .request = *r, .work.options = *o};
    CLI_TRY(cli_pair_read(&pair, true));
    CLI_TRY(cli_pair_solve(&pair));
    if (!r->dry_run)
        status = cli_pair_save(&pair, true);
end:
    if (r->dry_run)
        clvox_folders_remove();
    cli_pair_free(&pair);
    return status;
}

int cmd_register(command *cli, int argc, char **argv)
{
    cli_register_request r;
    clvox_register_options o;
    int status = cli_register_parse(cli, argc, argv, &r, &o);
    if (!status)
        status = r.list ? cli_register_list(cli, &r, &o, NULL, 0, NULL) : run(cli, &r, &o);
    free(r.fixed_points);
    free(r.moving_points);
    free(r.fixed_posteriors);
    free(r.moving_posteriors);
    for (int i = 0; i < CLVOX_MAX_SHAPES; i++) {
        free(r.shape[i].fixed);
        free(r.shape[i].moving);
    }
    return status;
}
