/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/matrix.h"

static void log_input(command *cli, const char *path)
{
    clvox_input_note(cli->log, path, &(clvox_hearer){cli_hear, cli});
}

int cli_read_volume(command *cli, const char *path, clvox_volume **out)
{
    int status = clvox_volume_read(path, out);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

int cli_read_mask(command *cli, const char *path, clvox_volume **out)
{
    return cli_load(cli, &(cli_input){path, out, CLI_AS_MASK}, 1, NULL, NULL, false);
}

int cli_read_transform(command *cli, const char *path, clvox_transform **out)
{
    int status = clvox_transform_read(path, out);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

int cli_invert_warp(command *cli, const char *path, const clvox_volume *warp, clvox_volume **out, double error[2],
                    clvox_jacobian_summary *summary)
{
    int status;
    CLI_TRY(cli_open(cli));
    status = clvox_warp_invert(cli->ctx, path, warp, out, error, summary, &(clvox_hearer){cli_hear, cli});
end:
    return status;
}

/* Puts the inverse in the place of a warp. */
static int invert_in_place(command *cli, const char *path, clvox_transform *t)
{
    double error[2];
    clvox_jacobian_summary summary;
    clvox_volume *inverted = NULL;
    int status = cli_invert_warp(cli, path, t->warp, &inverted, error, &summary);
    if (status < 0)
        return status;
    clvox_volume_destroy(&t->warp);
    t->warp = inverted;
    return CLVOX_OK;
}

int cli_read_link(command *cli, const char *text, clvox_transform **out)
{
    int status;
    bool inverse;
    char *file = NULL;
    *out = NULL;
    CLI_TRY(clvox_link_word(text, &file, &inverse));
    CLI_TRY(cli_read_transform(cli, file, out));
    if (inverse)
        CLI_TRY((*out)->is_warp ? invert_in_place(cli, file, *out)
                                : clvox_affine_invert(CLI_MATRIX((*out)->matrix), (*out)->matrix));
end:
    if (status < 0)
        clvox_transform_destroy(out);
    free(file);
    return status;
}

int cli_read_transforms(command *cli, const char *path, clvox_transform **out, int room, int *count)
{
    int status = clvox_transforms_read(path, NULL, NULL, out, room, count);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

int cli_read_surface_as(command *cli, const char *path, bool lps, clvox_surface **out)
{
    int status = clvox_surface_read_with(path, lps, out);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

int cli_read_surface(command *cli, const char *path, clvox_surface **out)
{
    return cli_read_surface_as(cli, path, false, out);
}

int cli_read_curves(command *cli, const char *path, bool lps, clvox_shape **out)
{
    int status = clvox_curves_read(path, lps, out);
    if (status < 0)
        return status;
    log_input(cli, path);
    if (!(*out)->elements)
        cli_remark(cli, 0, "%s: holds no line of two points or more\n", path);
    return CLVOX_OK;
}

int cli_read_tensor(command *cli, const char *path, clvox_tensor_order order, clvox_volume **out)
{
    int status = clvox_tensor_read(path, order, out);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

int cli_check_gradients(const char *bval, const char *bvec, const char *mrtrix)
{
    return (mrtrix ? bval || bvec : !bval || !bvec) ? cli_misuse("give --bval and --bvec, or --grad") : 0;
}

int cli_read_gradients(command *cli, const char *bval, const char *bvec, const char *mrtrix,
                       const clvox_volume *dwi, clvox_gradients **out)
{
    int status = mrtrix ? clvox_gradients_read_mrtrix(mrtrix, dwi->frames, out)
                        : clvox_gradients_read_fsl(bval, bvec, &dwi->grid, dwi->frames, out);
    if (status < 0)
        return status;
    log_input(cli, mrtrix ? mrtrix : bval);
    if (!mrtrix)
        log_input(cli, bvec);
    const double *length = (*out)->length;
    if (length[1] > 0 && (length[0] < 0.95 || length[1] > 1.05))
        cli_remark(cli, 0,
                   "%s: its directions are %.4g to %.4g long and were made unit vectors, the b-values left as "
                   "they are; where the lengths weight the b-values, multiply these by their squares\n",
                   mrtrix ? mrtrix : bvec, length[0], length[1]);
    return status;
}

int cli_write_tensor(command *cli, const clvox_volume *tensor, clvox_tensor_order order, const char *path)
{
    int status = clvox_tensor_write(tensor, order, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

void cli_log_output(command *cli, const char *path)
{
    cli_claim_written(cli, path);
    clvox_record_text(cli->log, "outputs", path);
    cli_remark(cli, 1, "wrote %s\n", path);
}

void cli_tell_rows(command *cli, const char *noun, const int count[CLVOX_PAIR_FAILED + 1])
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    int all = 0;
    for (int i = 0; i <= CLVOX_PAIR_FAILED; i++)
        all += count[i];
    cJSON_AddNumberToObject(to, noun, all);
    cJSON_AddNumberToObject(to, "done", count[CLVOX_PAIR_DONE]);
    cJSON_AddNumberToObject(to, "present", count[CLVOX_PAIR_PRESENT]);
    cJSON_AddNumberToObject(to, "failed", count[CLVOX_PAIR_FAILED]);
    cli_print(cli, "%-20s %d done, %d present, %d failed\n", noun, count[CLVOX_PAIR_DONE],
              count[CLVOX_PAIR_PRESENT], count[CLVOX_PAIR_FAILED]);
}

int cli_write_volume(command *cli, const clvox_volume *volume, const char *path)
{
    int status = clvox_volume_write(volume, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

void cli_note_signs(command *cli, const clvox_volume *volume, const char *in, const char *what)
{
    size_t below = 0, values = clvox_grid_voxels(&volume->grid) * (size_t)volume->frames;
    for (size_t i = 0; i < values; i++)
        below += volume->data[i] < 0;
    if (below)
        cli_note(cli, "%s: %zu of %zu values are below 0: %s", in, below, values, what);
}

int cli_write_filtered(command *cli, int status, const char *in, const clvox_volume *volume, const char *path,
                       const char *kind, cJSON **entry)
{
    if (status < 0)
        return clvox_fail_in(status, in);
    status = cli_write_volume(cli, volume, path);
    *entry = cJSON_AddObjectToObject(cli->log, "filter");
    cJSON_AddStringToObject(*entry, "kind", kind);
    return status;
}

int cli_write_warp(command *cli, const clvox_volume *warp, const char *path)
{
    int status = clvox_warp_write(warp, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

void cli_type_warp(command *cli, int type, clvox_volume *warp)
{
    if (!type)
        return;
    const double lost = clvox_warp_round(warp);
    cli_print(cli, "%-20s up to %.4f mm\n", "rounding of the warp", lost);
    clvox_record_number(cli->log, "warp_rounding_mm", lost);
}

int cli_write_affine(command *cli, const double matrix[4][4], const char *path)
{
    int status = clvox_affine_write(matrix, CLVOX_AFFINE_ITK, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

int cli_write_surface_as(command *cli, const clvox_surface *surface, bool lps, const char *path)
{
    int status = clvox_surface_write_with(surface, lps, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

int cli_write_surface(command *cli, const clvox_surface *surface, const char *path)
{
    return cli_write_surface_as(cli, surface, false, path);
}

/* ---- chains ------------------------------------------------------------- */

int cli_read_chain(command *cli, const cli_texts *texts, cli_chain *out)
{
    return cli_load(cli, NULL, 0, texts, out, false);
}

void cli_chain_free(cli_chain *chain)
{
    clvox_chain_free(chain);
}

/* ---- many at once ------------------------------------------------------- */

typedef struct loading {
    const cli_input *inputs;
    int count;
    const cli_texts *texts;
    cli_chain *chain;
    int status;
    char message[1024];
} loading;

static void *load_all(void *user)
{
    loading *l = user;
    l->status = clvox_chain_load(l->inputs, l->count, l->texts ? l->texts->item : NULL,
                                 l->texts ? l->texts->count : 0, l->chain);
    if (l->status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(l->message, sizeof l->message, "%s", clvox_message());
    return NULL;
}

int cli_load(command *cli, const cli_input *inputs, int count, const cli_texts *texts, cli_chain *chain,
             bool device)
{
    int status = CLVOX_OK, opened = CLVOX_OK;
    pthread_t thread;
    loading l = {.inputs = inputs, .count = count, .texts = texts, .chain = chain};
    if (device)
        cli_drivers(cli); /* changes the environment, which other threads look at */
    /* The device is opened in this thread and the files are read in another:
     * drivers are at home in the thread that stays. */
    bool apart = device && !pthread_create(&thread, NULL, load_all, &l);
    if (device)
        opened = cli_open(cli);
    if (apart)
        pthread_join(thread, NULL);
    else
        load_all(&l);
    CLI_TRY(l.status < 0 ? clvox_fail((clvox_status)l.status, "%s", l.message) : opened);
    for (int i = 0; i < count; i++)
        if (inputs[i].path)
            log_input(cli, inputs[i].path);
    for (int i = 0; texts && i < chain->files; i++)
        if (chain->file[i])
            log_input(cli, chain->file[i]);
    if (texts && device)
        status = clvox_chain_invert(cli->ctx, chain, &(clvox_hearer){cli_hear, cli});
end:
    for (int i = 0; status < 0 && i < count; i++)
        clvox_volume_destroy(inputs[i].out);
    if (status < 0 && texts)
        cli_chain_free(chain);
    return status;
}

int cli_on_grid(const char *path, const clvox_volume *a, const char *of, const clvox_volume *b)
{
    if (a && !clvox_grid_equal(&a->grid, &b->grid))
        return clvox_fail(CLVOX_ERROR_DATA, "%s: lies on another grid than %s", path, of);
    return CLVOX_OK;
}
