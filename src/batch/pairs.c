/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of pairs: read, named, and without files that two of them would write. */
#include "batch/pairs.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "base/text.h"
#include "batch/pair.h"
#include "batch/places.h"
#include "batch/share.h"
#include "batch/table.h"
#include "clvox/command/bids.h"
#include "clvox/command/derivative.h"

const char *clvox_pair_state_name(clvox_pair_state state)
{
    static const char *const names[] = {"waiting", "done", "present", "failed"};
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : "";
}

void clvox_pairs_defaults(clvox_pairs_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_pairs_options){.size = sizeof *options};
}

static bool is_given(const clvox_pairs_options *o, const char *name)
{
    return o->given ? o->given[clvox_option_find(clvox_register_table(), name)] != NULL
                    : o->registration != NULL;
}

clvox_register_options clv_pair_registration(const clvox_pairs_options *o, const clvox_pair *pair)
{
    clvox_register_options out;
    clvox_register_defaults(&out);
    out.by_contrast = 1;
    if (o->registration)
        out = *o->registration;
    if (pair->boundaries && !is_given(o, "linear"))
        out.linear = CLVOX_LINEAR_RIGID;
    if (pair->boundaries && !is_given(o, "deform"))
        out.deform = CLVOX_DEFORM_NONE;
    return out;
}

/* ---- rows -------------------------------------------------------------------- */

/* A list that is being made. */
typedef struct making {
    clvox_pairs *pairs;
    const clvox_pairs_options *options;
} making;

/* The names of its files, and those that it writes. */
static int name_files(const making *m, clvox_pair *one)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], stem[PATH_MAX];
    clvox_end ends[CLVOX_PAIR_ENDS];
    const clvox_pair_inputs inputs = clv_pair_inputs(one, m->options);
    const clvox_register_options registration = clv_pair_registration(m->options, one);
    one->names = calloc(1, sizeof *one->names);
    one->file = calloc(CLVOX_PAIR_ENDS, sizeof *one->file);
    if (!one->names || !one->file)
        return clv_out_of_memory();
    CLV_TRY(clvox_pair_names_make(&inputs, one->names));
    if (m->options->derivatives) {
        free(one->output);
        clvox_bids_ending(clvox_pair_path(one->names, CLVOX_PAIR_WARPED, path), "", stem);
        CLV_TRY(clv_text_copy(stem, &one->output));
    }
    clv_pair_ends(one, m->options, &registration, ends);
    for (const clvox_end *e = ends; e->end; e++)
        if (e->written) {
            snprintf(path, sizeof path, "%s%s", one->names->prefix, e->end);
            CLV_TRY(clv_text_copy(path, &one->file[one->files]));
            one->files++;
        }
end:
    return status;
}

/* The boundary's files, and whether the registration goes with one. */
static int add_boundary(const clvox_pairs_options *o, const char *where, const clvox_pair *from,
                        clvox_pair *to)
{
    int status = CLVOX_OK;
    const int files = from->boundaries ? from->boundaries : o->boundaries;
    const char *const *file = from->boundaries ? (const char *const *)from->boundary : o->boundary;
    if (files > CLVOX_PAIR_BOUNDARIES)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: a boundary has up to %d files", where,
                          CLVOX_PAIR_BOUNDARIES);
    to->boundary = files ? calloc((size_t)files, sizeof *to->boundary) : NULL;
    if (files && !to->boundary)
        return clv_out_of_memory();
    for (; to->boundaries < files; to->boundaries++)
        CLV_TRY(clv_text_copy(file[to->boundaries], &to->boundary[to->boundaries]));
    const clvox_linear linear = clv_pair_registration(o, to).linear;
    if (files && linear != CLVOX_LINEAR_RIGID && linear != CLVOX_LINEAR_AFFINE)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: a boundary refines --linear rigid or affine", where);
end:
    return status;
}

/* Appends a pair of these files; output as it is typed. */
static int add(making *m, const char *where, const clvox_pair *from)
{
    int status;
    clvox_pairs *l = m->pairs;
    const clvox_pairs_options *o = m->options;
    clvox_pair *longer = reallocarray(l->pair, (size_t)l->count + 1, sizeof *longer), *one;
    if (!longer)
        return clv_out_of_memory();
    l->pair = longer;
    one = &l->pair[l->count++];
    *one = (clvox_pair){.metric_before = NAN, .metric_after = NAN, .ncc = NAN, .folded = NAN, .seconds = NAN};
    if (!from->fixed || !from->moving || (!o->derivatives && !from->output))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: a pair needs a fixed and a moving image%s", where,
                          o->derivatives ? "" : ", and an output");
    if (!o->derivatives)
        CLV_TRY(clv_places_prefix(o->folder, where, from->output, &one->output));
    CLV_TRY(clv_text_copy(from->fixed, &one->fixed));
    CLV_TRY(clv_text_copy(from->moving, &one->moving));
    CLV_TRY(clv_text_copy(from->fixed_mask ? from->fixed_mask : o->fixed_mask, &one->fixed_mask));
    CLV_TRY(clv_text_copy(from->moving_mask ? from->moving_mask : o->moving_mask, &one->moving_mask));
    CLV_TRY(clv_text_copy(from->labels ? from->labels : o->labels, &one->labels));
    CLV_TRY(add_boundary(o, where, from, one));
    status = name_files(m, one);
end:
    return status;
}

enum { FIXED, MOVING, OUTPUT, FIXED_MASK, MOVING_MASK, LABELS, COLUMNS, BOUNDARY = COLUMNS };

static int read_row(void *user, int line, const char *const *field)
{
    making *m = user;
    char where[PATH_MAX + 32], *file[COLUMNS] = {NULL}, *boundary[CLVOX_PAIR_BOUNDARIES + 1] = {NULL};
    int status = CLVOX_OK;
    snprintf(where, sizeof where, "%s, line %d", m->pairs->list, line);
    for (int k = 0; k < COLUMNS; k++)
        if (k != OUTPUT && field[k] && *field[k] && strcmp(field[k], "n/a") != 0) {
            file[k] = clvox_table_path(m->pairs->list, field[k]);
            if (!file[k])
                status = clv_out_of_memory();
        }
    clvox_pair one = {.fixed = file[FIXED],
                      .moving = file[MOVING],
                      .output = (char *)field[OUTPUT],
                      .fixed_mask = file[FIXED_MASK],
                      .moving_mask = file[MOVING_MASK],
                      .labels = file[LABELS],
                      .boundary = boundary};
    if (status >= 0)
        status = clv_table_files(m->pairs->list, field[BOUNDARY], boundary, CLVOX_PAIR_BOUNDARIES + 1,
                                 &one.boundaries);
    if (status >= 0)
        status = add(m, where, &one);
    for (int k = 0; k < one.boundaries; k++)
        free(boundary[k]);
    for (int k = 0; k < COLUMNS; k++)
        free(file[k]);
    return status;
}

/* ---- places ------------------------------------------------------------------ */

/* No two pairs write the same files, and none writes what another reads. */
static int check_places(const making *m)
{
    int status = CLVOX_OK;
    const clvox_pairs *l = m->pairs;
    clv_places places = {.inputs = 0};
    clvox_end ends[CLVOX_PAIR_ENDS];
    char path[PATH_MAX];
    for (int i = 0; i < l->count; i++) {
        const clvox_pair *one = &l->pair[i];
        const char *const input[] = {one->fixed, one->moving, one->fixed_mask, one->moving_mask, one->labels};
        const clvox_register_options registration = clv_pair_registration(m->options, one);
        for (size_t k = 0; k < sizeof input / sizeof *input; k++)
            CLV_TRY(clv_places_input(&places, input[k]));
        for (int k = 0; k < one->boundaries; k++)
            CLV_TRY(clv_places_input(&places, one->boundary[k]));
        clv_pair_ends(one, m->options, &registration, ends);
        for (const clvox_end *e = ends; e->end; e++) {
            snprintf(path, sizeof path, "%s%s", one->names->prefix, e->end);
            CLV_TRY(clv_places_output(&places, path, one->output));
        }
    }
    status = clv_places_check(&places, l->list, "pairs");
end:
    clv_places_free(&places);
    return status;
}

/* ---- lists ------------------------------------------------------------------- */

static int begin(making *m, const char *table)
{
    const clvox_pairs_options *o = m->options;
    const clv_shard shard = {o->shard, o->shards};
    int status = clv_options_sized(o, sizeof *o);
    if (status < 0)
        return status;
    if (!o->folder && !o->derivatives)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a list of pairs needs a folder for its outputs");
    CLV_TRY(clv_shard_check(shard));
    m->pairs = calloc(1, sizeof *m->pairs);
    if (!m->pairs)
        return clv_out_of_memory();
    CLV_TRY(clv_text_copy(table, &m->pairs->list));
    CLV_TRY(o->summary ? clv_text_copy(o->summary, &m->pairs->summary)
                       : clv_shard_summary(shard, o->folder, o->derivatives, ".tsv", &m->pairs->summary));
    if (o->report)
        CLV_TRY(clv_shard_summary(shard, o->folder, o->derivatives, ".html", &m->pairs->page));
end:
    return status;
}

static void free_pair(void *row)
{
    clvox_pair *one = row;
    char *text[] = {one->fixed,  one->moving, one->fixed_mask, one->moving_mask,
                    one->labels, one->output, one->message,    one->suspicions};
    for (size_t k = 0; k < sizeof text / sizeof *text; k++)
        free(text[k]);
    for (int k = 0; one->file && k < one->files; k++)
        free(one->file[k]);
    free(one->file);
    for (int k = 0; one->boundary && k < one->boundaries; k++)
        free(one->boundary[k]);
    free(one->boundary);
    if (one->names)
        clvox_pair_names_free(one->names);
    free(one->names);
}

static int finish(making *m, int status, clvox_pairs **out)
{
    if (status >= 0 && !m->pairs->count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no pair in it",
                            m->pairs->list ? m->pairs->list : "the list");
    if (status >= 0)
        status = check_places(m);
    for (int i = 0; status >= 0 && m->options->derivatives && i < m->pairs->count; i++)
        status = clvox_derivative_check(m->options->derivatives, m->pairs->pair[i].moving);
    if (status < 0)
        clvox_pairs_destroy(&m->pairs);
    else
        m->pairs->count = clv_shard_keep((clv_shard){m->options->shard, m->options->shards}, m->pairs->pair,
                                         sizeof *m->pairs->pair, m->pairs->count, free_pair);
    *out = m->pairs;
    return status;
}

int clvox_pairs_read(const char *table, const clvox_pairs_options *options, clvox_pairs **out)
{
    static const char *const names[] = {"fixed",       "moving", "output",   "fixed_mask",
                                        "moving_mask", "labels", "boundary", NULL};
    CLV_GIVEN(table, options, out);
    making m = {.options = options};
    int status = begin(&m, table);
    if (status >= 0)
        status = clvox_table_read(
            &(clvox_table){table, names, options->derivatives ? OUTPUT : OUTPUT + 1, read_row, &m});
    return finish(&m, status, out);
}

int clvox_pairs_make(const clvox_pair *pairs, int count, const clvox_pairs_options *options,
                     clvox_pairs **out)
{
    if (count > 0)
        CLV_GIVEN(pairs);
    CLV_GIVEN(options, out);
    making m = {.options = options};
    int status = begin(&m, NULL);
    for (int i = 0; status >= 0 && i < count; i++) {
        char where[32];
        snprintf(where, sizeof where, "pair %d", i + 1);
        status = add(&m, where, &pairs[i]);
    }
    return finish(&m, status, out);
}

void clvox_pairs_destroy(clvox_pairs **pairs)
{
    clvox_pairs *l = pairs ? *pairs : NULL;
    if (!l)
        return;
    *pairs = NULL;
    for (int i = 0; i < l->count; i++)
        free_pair(&l->pair[i]);
    free(l->pair);
    free(l->list);
    free(l->summary);
    free(l->page);
    free(l);
}
