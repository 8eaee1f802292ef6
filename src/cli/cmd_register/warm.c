/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the children of a first registration (cli/warm.h). */
#include <unistd.h>

#include "cli/cmd_register/pair.h"
#include "cli/warm.h"

/* Every so many voxels along each axis, for at most WIDE of them. */
static int thin(clvox_volume **volume)
{
    enum { WIDE = 32 };
    int status = CLVOX_OK, by[3];
    clvox_volume *from = *volume, *to = NULL;
    if (!from)
        return CLVOX_OK;
    clvox_grid grid = from->grid;
    for (int i = 0; i < 3; i++) {
        by[i] = (from->grid.size[i] + WIDE - 1) / WIDE;
        grid.size[i] = (from->grid.size[i] + by[i] - 1) / by[i];
        for (int k = 0; k < 3; k++)
            grid.to_ras[k][i] *= by[i];
    }
    CLI_TRY(clvox_volume_create(&grid, from->frames, from->kind, &to));
    to->type = from->type;
    to->hint = from->hint;
    const int *n = from->grid.size, *m = grid.size;
    for (int f = 0; f < from->frames; f++)
        for (int z = 0; z < m[2]; z++)
            for (int y = 0; y < m[1]; y++)
                for (int x = 0; x < m[0]; x++)
                    to->data[(((size_t)f * m[2] + z) * m[1] + y) * m[0] + x] =
                        from->data[(((size_t)f * n[2] + z * by[2]) * n[1] + y * by[1]) * n[0] + x * by[0]];
    clvox_volume_destroy(volume);
    *volume = to;
end:
    return status;
}

static int rehearse(command *cli, int number, const void *user)
{
    enum { ROUNDS = 3, PASSES = 2000, WAIT = 5000 }; /* us: others need longer for a kernel */
    int status = CLVOX_OK;
    cli_pair p = *(const cli_pair *)user;
    clvox_register_options *o = &p.work.options;
    p.cli = cli;
    const clvox_pair_inputs inputs = cli_pair_inputs(&p.request);
    CLI_TRY(clvox_pair_names_make(&inputs, &p.names));
    CLI_TRY(cli_pair_load(&p, true));
    for (int i = 0; i < p.request.fixed.count; i++) {
        CLI_TRY(thin(&p.work.fixed[i]));
        CLI_TRY(thin(&p.work.moving[i]));
    }
    clvox_volume **const others[] = {&p.work.mask[0],        &p.work.mask[1],
                                     &p.work.linear_mask[0], &p.work.linear_mask[1],
                                     &p.work.labels,         &p.fixed_posteriors,
                                     &p.moving_posteriors};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CLI_TRY(thin(others[i]));
    for (int i = 0; i < 2 * CLVOX_MAX_LEVELS; i++)
        CLI_TRY(thin(&p.work.level_mask[i / CLVOX_MAX_LEVELS][i % CLVOX_MAX_LEVELS]));
    if (number % 2 == 0 && o->deform != CLVOX_DEFORM_NONE) /* the parent begins with it */
        o->linear = CLVOX_LINEAR_NONE;
    for (int i = 0; i < o->levels; i++)
        o->iterations[i] = o->iterations[i] < ROUNDS ? o->iterations[i] : ROUNDS;
    /* Others build what it had to do without; but lacking that the work may have failed. */
    for (int pass = 0; pass < PASSES && (pass == 0 || (status < 0 && cli->left_out)); pass++) {
        cli_pair again = p;
        if (pass > 0)
            usleep(WAIT);
        cli->left_out = 0;
        status = cli_pair_solve(&again);
    }
end:
    return status;
}

void cli_pair_warm(command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    const cli_pair pair = {.cli = cli, .request = *r, .work.options = *o};
    if (!r->dry_run)
        cli_warm(cli, rehearse, &pair);
}
