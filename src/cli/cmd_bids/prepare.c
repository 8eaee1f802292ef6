/* SPDX-License-Identifier: Apache-2.0 */
/* Files of single images: the corrected image, and of a registration its log Jacobian and figure. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/bar.h"
#include "cli/cmd_bids/bids.h"
#include "clvox/command/derivative.h"
#include "clvox/command/page.h"
#include "clvox/command/pair.h"
#include "clvox/files.h"
#include "clvox/filter.h"

int cli_bids_path(const cli_bids *b, const char *image, const char *pattern, char path[PATH_MAX])
{
    char name[PATH_MAX];
    clvox_bids_target target;
    if (!clvox_bids_subject(image, NULL, b->space, b->res, &target) ||
        !clvox_bids_expand(pattern, &target, name) ||
        snprintf(path, PATH_MAX, "%s/%s", b->folder, name) >= PATH_MAX)
        return clvox_fail(
            CLVOX_ERROR_DATA,
            "%s: its name is not sub-LABEL_..._SUFFIX.nii.gz, or the names made from it are too long", image);
    return CLVOX_OK;
}

bool cli_bids_is_newer(const char *path, const char *source)
{
    struct stat made, from;
    if (stat(path, &made) || stat(source, &from))
        return false;
    return made.st_mtim.tv_sec != from.st_mtim.tv_sec ? made.st_mtim.tv_sec > from.st_mtim.tv_sec
                                                      : made.st_mtim.tv_nsec >= from.st_mtim.tv_nsec;
}

bool cli_bids_is_mine(const cli_bids *b, int i)
{
    return !b->r.shards || i % b->r.shards == b->r.shard - 1;
}

const clvox_listed *cli_bids_of_pair(const cli_bids *b, int k)
{
    return b->file[b->r.shards ? b->r.shard - 1 + k * b->r.shards : k];
}

/* Writes a volume and its sidecar, both or none. */
static int save(const clvox_volume *volume, const cJSON *sidecar, const char *path)
{
    int status = CLVOX_OK;
    char beside[PATH_MAX];
    clvox_results results = {.count = 0};
    if (!clvox_bids_ending(path, ".json", beside))
        return clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", path);
    CLI_TRY(clvox_folders_make(path));
    CLI_TRY(clvox_results_volume(&results, volume, path, ""));
    CLI_TRY(clvox_results_add(&results, clvox_sidecar_write, sidecar, 0, beside, ""));
    status = clvox_results_write(&results);
end:
    clvox_results_free(&results);
    return status;
}

/* ---- correcting ---------------------------------------------------------- */

static int correct(command *cli, const cli_bids *b, const char *image, const char *path)
{
    int status = CLVOX_OK;
    clvox_volume *in = NULL, *out = NULL;
    cJSON *sidecar = clvox_sidecar("Without its bias field (N4)");
    CLI_TRY(clvox_volume_read(image, &in));
    status = clvox_filter_bias(cli->ctx, in, NULL, NULL, &out, NULL, NULL);
    CLI_TRY(status < 0 ? clvox_fail_in(status, image) : status);
    clvox_sidecar_source(sidecar, b->folder, image);
    cJSON_AddBoolToObject(sidecar, "SkullStripped", clvox_sidecar_stripped(image));
    status = save(out, sidecar, path);
end:
    cJSON_Delete(sidecar);
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
    return status;
}

int cli_bids_prepare(command *cli, const cli_bids *b)
{
    int status = CLVOX_OK, waiting = 0, done = 0, failed = 0;
    char text[64];
    cli_bar bar;
    for (int i = 0; i < b->count; i++)
        waiting += cli_bids_is_mine(b, i) && !cli_bids_is_newer(b->prepared[i], b->file[i]->image);
    cli_remark(cli, 0, "plan     %d images to correct for their bias field\n", waiting);
    if (!waiting)
        return CLVOX_OK;
    CLI_TRY(cli_open_all(cli, 1, 1, false));
    cli_bar_begin(&bar, cli);
    for (int i = 0; i < b->count && status >= 0; i++) {
        if (!cli_bids_is_mine(b, i) || cli_bids_is_newer(b->prepared[i], b->file[i]->image))
            continue;
        snprintf(text, sizeof text, "correcting image %d of %d", done + 1, waiting);
        if (cli_bar_stage(&bar,
                          &(clvox_step){.stage = text, .fraction = (double)done / waiting, .level = -1}))
            status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
        else if (correct(cli, b, b->file[i]->image, b->prepared[i]) < 0) {
            cli_note(cli, "%s: not corrected: %s", b->file[i]->image, clvox_message());
            failed++;
            /* What an earlier image gave is not this one's. */
            unlink(b->prepared[i]);
        }
        done++;
    }
    cli_bar_end(&bar);
    if (status >= 0 && clvox_files_full())
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: there is no room for it on its disk", clvox_files_full());
    else if (status >= 0 && failed)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "%d of %d images could not be corrected; the lines above say why",
                       failed, waiting);
end:
    cli_close(cli); /* several registrations at once want other contexts */
    return status;
}

/* ---- beside registrations -------------------------------------------------- */

static int write_jacobian(command *cli, const cli_bids *b, const char *warp, const char *path)
{
    int status = CLVOX_OK;
    clvox_transform *transform = NULL;
    clvox_volume *out = NULL;
    clvox_jacobian_summary summary;
    cJSON *sidecar =
        clvox_sidecar("Log Jacobian of the warp; above 0 the subject is larger than the template");
    CLI_TRY(clvox_transform_read(warp, &transform));
    CLI_TRY(clvox_jacobian(cli->ctx, transform->warp, NULL, true, &out, &summary));
    clvox_sidecar_source(sidecar, b->folder, warp);
    clvox_sidecar_grid(sidecar, b->folder, b->template, &out->grid, b->res != NULL);
    status = save(out, sidecar, path);
end:
    cJSON_Delete(sidecar);
    clvox_transform_destroy(&transform);
    clvox_volume_destroy(&out);
    return status;
}

static int draw(const clvox_volume *template, const char *warped, const char *path)
{
    int status = CLVOX_OK;
    clvox_volume *image = NULL;
    CLI_TRY(clvox_volume_read(warped, &image));
    CLI_TRY(clvox_folders_make(path));
    status = clvox_page_flicker(template, image, path);
end:
    clvox_volume_destroy(&image);
    return status;
}

int cli_bids_derive(command *cli, const cli_bids *b, const clvox_pairs *pairs)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], source[PATH_MAX];
    clvox_volume *template = NULL;
    cli_bar bar;
    cli_bar_begin(&bar, cli);
    for (int i = 0; i < pairs->count; i++) {
        const clvox_pair *pair = &pairs->pair[i];
        if (pair->state != CLVOX_PAIR_DONE && pair->state != CLVOX_PAIR_PRESENT)
            continue;
        if (cli_bar_stage(&bar, &(clvox_step){.stage = "log Jacobians and figures",
                                              .fraction = (double)i / pairs->count,
                                              .level = -1})) {
            status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
            goto end;
        }
        CLI_TRY(cli_bids_path(b, pair->moving, "%P%g_logjac.nii.gz", path));
        clvox_pair_path(pair->names, CLVOX_PAIR_WARP, source);
        if (!access(source, F_OK) && !cli_bids_is_newer(path, source))
            CLI_TRY(write_jacobian(cli, b, source, path));
        CLI_TRY(cli_bids_path(b, cli_bids_of_pair(b, i)->image, "%F%g%i.svg", path));
        clvox_pair_path(pair->names, CLVOX_PAIR_WARPED, source);
        if (cli_bids_is_newer(path, source))
            continue;
        if (!template)
            CLI_TRY(clvox_volume_read(b->template, &template));
        CLI_TRY(draw(template, source, path));
    }
end:
    cli_bar_end(&bar);
    clvox_volume_destroy(&template);
    return status;
}
