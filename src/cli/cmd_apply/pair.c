/* SPDX-License-Identifier: Apache-2.0 */
/* apply --pair: the chain of a registration, found by the prefix of its files. And whether a warp stands
 * where it should beside an affine. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd_apply/apply.h"

/* The prefix as `clvox register -o` understands it: r_ is r, and a folder has the name of the verb in it. */
static void settle_prefix(const char *typed, char prefix[PATH_MAX])
{
    struct stat info;
    size_t length = strlen(typed);
    const bool folder = typed[length - 1] == '/' || (!stat(typed, &info) && S_ISDIR(info.st_mode));
    while (length > 1 && typed[length - 1] == (folder ? '/' : '_'))
        length--;
    snprintf(prefix, PATH_MAX, "%.*s%s", (int)length, typed, folder ? "/register" : "");
}

/* Whether the file of a prefix is there; its path in any case. */
static bool there(const char *prefix, const char *end, char path[CLI_PAIR_ROOM])
{
    snprintf(path, CLI_PAIR_ROOM, "%s%s", prefix, end);
    return !access(path, F_OK);
}

int cli_apply_pair(command *cli, const char *typed, bool inverse, char word[2][CLI_PAIR_ROOM], cli_texts *out)
{
    char prefix[PATH_MAX], other[CLI_PAIR_ROOM], *affine = word[inverse ? 0 : 1],
                                                 *warp = word[inverse ? 1 : 0];
    int status = CLVOX_OK;
    settle_prefix(typed, prefix);
    const bool text = there(prefix, "_affine.txt", affine), binary = there(prefix, "_affine.mat", other);
    if (text && binary)
        return clvox_fail(CLVOX_ERROR_FILE,
                          "%s and %s: --pair needs one of them; remove the other, or give -t", affine, other);
    if (!text && !binary)
        return clvox_fail(CLVOX_ERROR_FILE,
                          "%s: there is no such file; --pair takes the PREFIX of `clvox register -o PREFIX`",
                          affine);
    if (binary)
        strcpy(affine, other);
    bool warped = inverse && there(prefix, "_inverse_warp.nii.gz", warp), back = false;
    if (!warped) {
        warped = there(prefix, "_warp.nii.gz", warp);
        back = inverse;
    }
    CLI_TRY(cli_claim_input(cli, affine));
    CLI_TRY(warped ? cli_claim_input(cli, warp) : CLVOX_OK);
    status = cli_claims_check(cli);
    if (inverse)
        strcat(affine, ",-1");
    if (back)
        strcat(warp, ",-1");
    for (int i = 0; i < 2; i++)
        if (warped || word[i] == affine)
            out->item[out->count++] = word[i];
end:
    return status;
}

void cli_apply_check_order(command *cli, const cli_apply *a, const clvox_grid *image,
                           const clvox_grid *reference, const cli_chain *chain)
{
    if (chain->count != 2 || chain->transform[0]->is_warp == chain->transform[1]->is_warp ||
        clvox_grid_equal(image, reference))
        return;
    const int warp = chain->transform[0]->is_warp ? 0 : 1;
    const clvox_grid *grid = &chain->transform[warp]->warp->grid;
    /* Named first it leads away from the reference, on whose grid it then lies; named last, from a space
     * that the affine leads to. */
    const bool wrong = clvox_grid_equal(grid, warp ? reference : image);
    if (wrong)
        cli_note(cli,
                 "%s lies on the grid of %s: it seems to belong %s; after a registration the chain is "
                 "-t WARP -t AFFINE, and backwards -t AFFINE,-1 -t INVERSE_WARP (--pair PREFIX, --pair "
                 "PREFIX --inverse)",
                 chain->word[warp], warp ? a->reference : a->image,
                 warp ? "first, before the affine" : "last, behind the affine's inverse");
}
