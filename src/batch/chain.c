/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/status.h"
#include "clvox/apply.h"
#include "clvox/command/record.h"
#include "clvox/threads.h"

void clvox_input_note(cJSON *log, const char *path, const clvox_hearer *hearer)
{
    const int remarks = clvox_record_input(log, path);
    const cJSON *list = cJSON_GetObjectItem(log, "remarks");
    const int count = cJSON_GetArraySize(list);
    for (int i = count - remarks; hearer->log && i < count; i++)
        hearer->log(hearer->user, 1, cJSON_GetArrayItem(list, i)->valuestring);
}

/* ---- reading ----------------------------------------------------------------- */

typedef struct loading {
    const clvox_input *input;
    size_t inputs;
    clvox_chain *chain;
    bool inverse[CLVOX_MAX_WORDS];
    clvox_transform *part[CLVOX_MAX_WORDS][CLVOX_MAX_LINKS]; /* what each file holds */
    int parts[CLVOX_MAX_WORDS];
    clvox_grid fixed, moving; /* of size 0: not known */
} loading;

static int load_one(void *user, size_t at, int worker)
{
    loading *l = user;
    (void)worker;
    if (at < l->inputs)
        return clvox_input_read(&l->input[at]);
    at -= l->inputs;
    if (!l->chain->file[at]) /* identity */
        return CLVOX_OK;
    return clvox_transforms_read(l->chain->file[at], l->fixed.size[0] ? &l->fixed : NULL,
                                 l->moving.size[0] ? &l->moving : NULL, l->part[at], CLVOX_MAX_LINKS,
                                 &l->parts[at]);
}

static int read_words(loading *l, const char *const *words, int count)
{
    int status = CLVOX_OK;
    if (count > CLVOX_MAX_WORDS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d transforms in a chain", CLVOX_MAX_WORDS);
    for (int i = 0; i < count; i++, l->chain->files++)
        if (strcasecmp(words[i], "identity") || !access(words[i], F_OK))
            CLV_TRY(clvox_link_word(words[i], &l->chain->file[i], &l->inverse[i]));
end:
    return status;
}

/* The links of all files, a composite's in its order, its inverse's the other way round. */
static int make_links(loading *l)
{
    clvox_chain *chain = l->chain;
    for (int i = 0; chain && i < chain->files; i++)
        for (int k = 0; k < l->parts[i]; k++) {
            clvox_transform **part = &l->part[i][l->inverse[i] ? l->parts[i] - 1 - k : k];
            if (chain->count == CLVOX_MAX_LINKS)
                return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: there are more than %d transforms",
                                  chain->file[i], CLVOX_MAX_LINKS);
            chain->transform[chain->count] = *part;
            chain->link[chain->count] = (clvox_link){*part, l->inverse[i]};
            chain->word[chain->count] = chain->file[i];
            chain->count++;
            *part = NULL;
        }
    return CLVOX_OK;
}

int clvox_chain_load(const clvox_input *inputs, int count, const char *const *words, int word_count,
                     clvox_chain *chain)
{
    int status = CLVOX_OK;
    for (int i = 0; i < count; i++)
        *inputs[i].out = NULL;
    loading *l = calloc(1, sizeof *l);
    if (!l)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->input = inputs;
    l->inputs = (size_t)count;
    l->chain = chain;
    if (word_count > 0)
        CLV_TRY(read_words(l, words, word_count));
    /* If they cannot be read, reading them whole reports why. */
    if (word_count > 0 && chain->fixed && clvox_grid_read(chain->fixed, &l->fixed) < 0)
        l->fixed.size[0] = 0;
    if (word_count > 0 && chain->moving && clvox_grid_read(chain->moving, &l->moving) < 0)
        l->moving.size[0] = 0;
    CLV_TRY(clvox_parallel((size_t)(count + word_count), load_one, l));
    status = make_links(l);
end:
    for (int i = 0; i < CLVOX_MAX_WORDS; i++)
        for (int k = 0; k < l->parts[i]; k++)
            clvox_transform_destroy(&l->part[i][k]);
    free(l);
    for (int i = 0; status < 0 && i < count; i++)
        clvox_volume_destroy(inputs[i].out);
    if (status < 0 && chain)
        clvox_chain_free(chain);
    return status;
}

void clvox_chain_free(clvox_chain *chain)
{
    for (int i = 0; i < CLVOX_MAX_LINKS; i++)
        clvox_transform_destroy(&chain->transform[i]);
    for (int i = 0; i < CLVOX_MAX_WORDS; i++)
        free(chain->file[i]);
    memset(chain, 0, sizeof *chain);
}

/* ---- inverting --------------------------------------------------------------- */

int clvox_warp_invert(clvox_context *ctx, const char *path, const clvox_volume *warp, clvox_volume **out,
                      double error[2], clvox_jacobian_summary *summary, const clvox_hearer *hearer)
{
    char text[2048] = "";
    int status = clvox_invert(ctx, warp, out, error);
    if (status < 0)
        return clvox_fail_in(status, path);
    CLV_TRY(clvox_jacobian(ctx, warp, NULL, 0, NULL, summary));
    if (summary->folded > 0)
        snprintf(text, sizeof text,
                 "WARNING: %s folds at %ld of %ld voxels, where it has no inverse; the error there is up to "
                 "%.3g voxels",
                 path, summary->folded, summary->voxels, error[0]);
    else if (error[0] > 1)
        snprintf(text, sizeof text, "WARNING: the inverse of %s is off by up to %.3g voxels", path, error[0]);
    if (*text && hearer->log)
        hearer->log(hearer->user, 0, text);
end:
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

int clvox_chain_invert(clvox_context *ctx, clvox_chain *chain, const clvox_hearer *hearer)
{
    int status = CLVOX_OK;
    double error[2];
    clvox_jacobian_summary summary;
    for (int i = 0; i < chain->count; i++) {
        clvox_transform *t = chain->transform[i];
        clvox_volume *inverted = NULL;
        if (!chain->link[i].inverse || !t->is_warp)
            continue;
        CLV_TRY(clvox_warp_invert(ctx, chain->word[i], t->warp, &inverted, error, &summary, hearer));
        clvox_volume_destroy(&t->warp);
        t->warp = inverted;
        chain->link[i].inverse = 0;
    }
end:
    return status;
}
