/* SPDX-License-Identifier: Apache-2.0 */
/* apply --pair: the chain of a registration, found by the prefix of its files or among BIDS derivatives. */
#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd_apply/apply.h"
#include "clvox/command/bids.h"

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

enum { AFFINE_TEXT, AFFINE_BINARY, WARP, INVERSE, FILES };
static const char *const ends[FILES] = {"_affine.txt", "_affine.mat", "_warp.nii.gz", "_inverse_warp.nii.gz"};

/* The files of a registration, which need not be there. */
typedef struct files {
    char path[FILES][CLI_PAIR_ROOM];
} files;

static bool there(const files *f, int file)
{
    return !access(f->path[file], F_OK);
}

static void name_by_prefix(const char *prefix, files *f)
{
    for (int i = 0; i < FILES; i++)
        snprintf(f->path[i], CLI_PAIR_ROOM, "%s%s", prefix, ends[i]);
}

/* Whether a file name is that of a derivative's affine that begins with `typed`, or with its part before
 * _space-LABEL_ if it leads to this space. */
static bool is_asked(const char *name, const char *typed, clvox_bids_name *parts)
{
    const char *space = strstr(typed, "_space-");
    const size_t length = space ? (size_t)(space - typed) : strlen(typed),
                 label = space ? strcspn(space + strlen("_space-"), "_") : 0;
    if (strncmp(name, typed, length) != 0 || name[length] != '_' || !clvox_bids_read(name, parts))
        return false;
    const clvox_bids_word *from = clvox_bids_find(parts, "from"), *to = clvox_bids_find(parts, "to"),
                          *desc = clvox_bids_find(parts, "desc");
    return from && to && desc && !strncmp(desc->at, "affine_xfm.", strlen("affine_xfm.")) &&
           (!space || ((size_t)to->length == label && !strncmp(to->at, space + strlen("_space-"), label)));
}

/* BIDS derivatives whose names begin with `typed`: STEM_from-A_to-B_mode-image_desc-affine_xfm.txt and so on.
 * Changes nothing where there are none; fails where they are of several registrations. */
static int name_by_bids(const char *typed, files *f)
{
    int status = CLVOX_OK;
    const char *slash = strrchr(typed, '/'), *name = slash ? slash + 1 : typed;
    char folder[PATH_MAX], first[CLVOX_BIDS_ROOM] = "";
    clvox_bids_name parts;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - typed + 1) : 2, slash ? typed : "./");
    DIR *in = opendir(folder);
    for (const struct dirent *one; in && (one = readdir(in));) {
        if (!is_asked(one->d_name, name, &parts))
            continue;
        const clvox_bids_word *from = clvox_bids_find(&parts, "from"), *to = clvox_bids_find(&parts, "to");
        const int stem = (int)(from->at - one->d_name - (ptrdiff_t)strlen("from-"));
        const int length = (int)(to->at + to->length - one->d_name);
        if (*first && (strlen(first) != (size_t)length || strncmp(first, one->d_name, (size_t)length) != 0)) {
            status = clvox_fail(CLVOX_ERROR_FILE,
                                "%s: begins the names of several registrations, %s and %.*s: give one of "
                                "these",
                                typed, first, length, one->d_name);
            break;
        }
        snprintf(first, sizeof first, "%.*s", length, one->d_name);
        for (int i = 0; i < FILES && status >= 0; i++) {
            const clvox_bids_word *a = i == INVERSE ? to : from, *b = i == INVERSE ? from : to;
            const int all =
                snprintf(f->path[i], CLI_PAIR_ROOM, "%s%.*sfrom-%.*s_to-%.*s_mode-image_desc-%s_xfm%s",
                         slash ? folder : "", stem, one->d_name, a->length, a->at, b->length, b->at,
                         i < WARP ? "affine" : "warp", strchr(ends[i], '.'));
            if (all >= CLI_PAIR_ROOM)
                status = clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", f->path[i]);
        }
    }
    if (in)
        closedir(in);
    return status;
}

int cli_apply_pair(command *cli, const char *typed, bool inverse, char word[2][CLI_PAIR_ROOM], cli_texts *out)
{
    char prefix[PATH_MAX], *affine = word[inverse ? 0 : 1], *warp = word[inverse ? 1 : 0];
    int status = CLVOX_OK;
    files f;
    settle_prefix(typed, prefix);
    name_by_prefix(prefix, &f);
    if (!there(&f, AFFINE_TEXT) && !there(&f, AFFINE_BINARY))
        CLI_TRY(name_by_bids(prefix, &f));
    const bool text = there(&f, AFFINE_TEXT), binary = there(&f, AFFINE_BINARY);
    if (text && binary)
        return clvox_fail(CLVOX_ERROR_FILE,
                          "%s and %s: --pair needs one of them; remove the other, or give -t",
                          f.path[AFFINE_TEXT], f.path[AFFINE_BINARY]);
    if (!text && !binary)
        return clvox_fail(CLVOX_ERROR_FILE,
                          "%s: there is no such file; --pair takes the PREFIX of `clvox register -o PREFIX`, "
                          "or the name of an image among its BIDS derivatives without the ending",
                          f.path[AFFINE_TEXT]);
    const bool made = inverse && there(&f, INVERSE), warped = made || there(&f, WARP);
    strcpy(affine, f.path[binary ? AFFINE_BINARY : AFFINE_TEXT]);
    strcpy(warp, f.path[made ? INVERSE : WARP]);
    CLI_TRY(cli_claim_input(cli, affine));
    CLI_TRY(warped ? cli_claim_input(cli, warp) : CLVOX_OK);
    status = cli_claims_check(cli);
    if (inverse)
        strcat(affine, ",-1");
    if (inverse && !made)
        strcat(warp, ",-1");
    for (int i = 0; i < 2; i++)
        if (warped || word[i] == affine)
            out->item[out->count++] = word[i];
end:
    return status;
}
