/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/matrix.h"
#include "clvox/threads.h"

/* Enters an input into the log, and says what is odd about it. */
static void log_input(command *cli, const char *path)
{
    const int remarks = clvox_record_input(cli->log, path);
    const cJSON *list = cJSON_GetObjectItem(cli->log, "remarks");
    const int count = cJSON_GetArraySize(list);
    for (int i = count - remarks; i < count; i++)
        cli_remark(cli, 0, "%s\n", cJSON_GetArrayItem(list, i)->valuestring);
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
    status = clvox_invert(cli->ctx, warp, out, error);
    if (status < 0)
        return clvox_fail_in(status, path);
    CLI_TRY(clvox_jacobian(cli->ctx, warp, NULL, 0, NULL, summary));
    if (summary->folded > 0)
        fprintf(stderr,
                "clvox %s: WARNING: %s folds at %ld of %ld voxels, where it has no inverse; the error there is up to "
                "%.3g voxels\n",
                cli->verb, path, summary->folded, summary->voxels, error[0]);
    else if (error[0] > 1)
        fprintf(stderr, "clvox %s: WARNING: the inverse of %s is off by up to %.3g voxels\n", cli->verb, path, error[0]);
end:
    if (status < 0)
        clvox_volume_destroy(out);
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
    for (int i = 0; i < CLI_MAX_LINKS; i++)
        clvox_transform_destroy(&chain->transform[i]);
    memset(chain, 0, sizeof *chain);
}

/* ---- many at once ------------------------------------------------------- */

typedef struct loading {
    cli_input input[CLI_MAX_TEXTS];
    int inputs;
    char *file[CLI_MAX_TEXTS]; /* of the chain, without ,-1 */
    bool inverse[CLI_MAX_TEXTS];
    clvox_transform *part[CLI_MAX_TEXTS][CLI_MAX_LINKS]; /* what each file holds */
    int parts[CLI_MAX_TEXTS];
    clvox_grid fixed, moving; /* of size 0: not known */
    cli_chain *chain;
    int count;
    int status;
    char message[1024];
} loading;

static int load_one(void *user, size_t index, int worker)
{
    loading *l = user;
    (void)worker;
    if (index >= (size_t)l->inputs) {
        size_t i = index - (size_t)l->inputs;
        if (!l->file[i]) /* identity */
            return CLVOX_OK;
        return clvox_transforms_read(l->file[i], l->fixed.size[0] ? &l->fixed : NULL,
                                     l->moving.size[0] ? &l->moving : NULL, l->part[i], CLI_MAX_LINKS, &l->parts[i]);
    }
    return clvox_input_read(&l->input[index]);
}

static void *load_all(void *user)
{
    loading *l = user;
    /* If they cannot be read, reading them whole reports why. */
    if (l->count && l->chain->fixed && clvox_grid_read(l->chain->fixed, &l->fixed) < 0)
        l->fixed.size[0] = 0;
    if (l->count && l->chain->moving && clvox_grid_read(l->chain->moving, &l->moving) < 0)
        l->moving.size[0] = 0;
    l->status = clvox_parallel((size_t)(l->inputs + l->count), load_one, l);
    if (l->status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(l->message, sizeof l->message, "%s", clvox_message());
    return NULL;
}

static int parse_chain(loading *l, const cli_texts *texts)
{
    int status = CLVOX_OK;
    for (int i = 0; i < texts->count; i++, l->count++)
        if (strcasecmp(texts->item[i], "identity") || !access(texts->item[i], F_OK))
            CLI_TRY(clvox_link_word(texts->item[i], &l->file[i], &l->inverse[i]));
end:
    return status;
}

/* The links of all files, a composite's in its order, its inverse's the other way round. Where there is a device,
 * warps are inverted here, once, with a warning where that goes wrong. */
static int make_links(command *cli, loading *l, const cli_texts *texts, bool device)
{
    int status = CLVOX_OK;
    cli_chain *chain = l->chain;
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < l->parts[i]; k++) {
            clvox_transform **part = &l->part[i][l->inverse[i] ? l->parts[i] - 1 - k : k];
            if (chain->count == CLI_MAX_LINKS)
                return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: there are more than %d transforms", l->file[i],
                                  CLI_MAX_LINKS);
            const bool now = device && l->inverse[i] && (*part)->is_warp;
            if (now)
                CLI_TRY(invert_in_place(cli, l->file[i], *part));
            chain->transform[chain->count] = *part;
            chain->link[chain->count] = (clvox_link){*part, l->inverse[i] && !now};
            chain->word[chain->count] = texts->item[i];
            chain->count++;
            *part = NULL;
        }
end:
    return status;
}

static void free_loading(loading *l)
{
    for (int i = 0; i < l->count; i++) {
        free(l->file[i]);
        for (int k = 0; k < l->parts[i]; k++)
            clvox_transform_destroy(&l->part[i][k]);
    }
    free(l);
}

int cli_load(command *cli, const cli_input *inputs, int count, const cli_texts *texts, cli_chain *chain,
             bool device)
{
    int status = CLVOX_OK, opened = CLVOX_OK;
    pthread_t thread;
    loading *l = calloc(1, sizeof *l);
    if (!l)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->inputs = count;
    l->chain = chain;
    for (int i = 0; i < count; i++) {
        l->input[i] = inputs[i];
        *inputs[i].out = NULL;
    }
    if (texts)
        CLI_TRY(parse_chain(l, texts));
    if (device)
        cli_drivers(cli); /* changes the environment, which other threads look at */
    /* The device is opened in this thread and the files are read in another:
     * drivers are at home in the thread that stays. */
    bool apart = device && !pthread_create(&thread, NULL, load_all, l);
    if (device)
        opened = cli_open(cli);
    if (apart)
        pthread_join(thread, NULL);
    else
        load_all(l);
    if (l->status < 0) {
        status = clvox_fail((clvox_status)l->status, "%s", l->message);
        goto end;
    }
    CLI_TRY(opened);
    for (int i = 0; i < count; i++)
        if (inputs[i].path)
            log_input(cli, inputs[i].path);
    for (int i = 0; i < l->count; i++)
        if (l->file[i])
            log_input(cli, l->file[i]);
    if (texts)
        CLI_TRY(make_links(cli, l, texts, device));
end:
    free_loading(l);
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
