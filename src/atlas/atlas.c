/* SPDX-License-Identifier: Apache-2.0 */
/* An unbiased template by rounds of registration and averaging (Joshi et al. 2004; Avants and Gee 2004; Ha
 * 2011, chapter 2): linear ones, then deformable ones, the mean map removed in each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/average.h"
#include "atlas/center.h"
#include "atlas/options.h"
#include "atlas/regress.h"
#include "atlas/rounds.h"
#include "atlas/state.h"
#include "atlas/steps.h"
#include "atlas/subjects.h"
#include "atlas/vote.h"
#include "base/status.h"
#include "io/volume/orientation.h"
#include "runtime/device/host.h"

/* Checks the starting image of a further channel. */
static int check_start(const clvox_volume *start, const clvox_atlas_options *o, int channel)
{
    const clvox_volume *own = o->further_start[channel - 1];
    clvox_grid grid, first;
    if (!own)
        return CLVOX_OK;
    if (!start || channel >= o->channels)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          start
                              ? "there is an image to begin with for channel %d, and no such channel"
                              : "there is an image to begin with for channel %d, and none for the first one",
                          channel + 1);
    if (!clv_atlas_is_image(own))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template begins with 3-D images of one value a voxel");
    clvox_grid_canonical(&own->grid, &grid);
    clvox_grid_canonical(&start->grid, &first);
    if (!clvox_grid_equal(&grid, &first))
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the image to begin with of channel %d is not on the grid of the first one; bring it "
            "there (clvox apply)",
            channel + 1);
    return CLVOX_OK;
}

static int check_channels(const clvox_atlas_subject *s, int count, const clvox_volume *start,
                          const clvox_atlas_options *o)
{
    int status = clv_atlas_check_channels(o);
    if (status < 0)
        return status;
    if (o->registration.channel_metrics > 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template compares all channels by the same metric");
    for (int c = 0; c < o->channels; c++) {
        if (!(o->channel_weight[c] >= 0) || !isfinite(o->channel_weight[c]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "the weight of a channel is not a number of at least 0");
    }
    for (int c = o->channels; c < CLVOX_ATLAS_CHANNELS; c++)
        if (o->channel_weight[c] != 0)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "more weights than channels, which are %d", o->channels);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        CLV_TRY(check_start(start, o, c));
    for (int i = 0; i < count; i++)
        if (s[i].image)
            CLV_TRY(clv_atlas_check_images(&s[i], o));
end:
    return status;
}

static bool scaled_for(const clvox_atlas_subject *s, const clvox_atlas_options *o)
{
    const clvox_atlas_scaled *a = s->scaled;
    return a->of == s->image && a->mask == s->mask && a->channels == o->channels &&
           !a->keep_intensities == !o->keep_intensities && a->clip_low == o->clip_low &&
           a->clip_high == o->clip_high && a->margin == o->margin;
}

/* A mask or labels, if any, on any grid. */
static bool is_map(const clvox_volume *v)
{
    return !v || (v->frames == 1 && (v->kind == CLVOX_KIND_SCALAR || v->kind == CLVOX_KIND_LABEL));
}

static int check(const clvox_atlas_subject *s, int count, const clvox_volume *start,
                 const clvox_atlas_options *o)
{
    int status = clv_options_check(&clv_atlas_table, o);
    if (status < 0)
        return status;
    if (count < 1 || count > CLV_ATLAS_MOST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template takes 1 to 65536 subjects");
    if (o->linear_rounds == 0 && o->rounds < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template takes one round or more");
    if (o->clip_low >= o->clip_high)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "clipping takes two quantiles that ascend, as 0.005 and 0.995; 0 and 1 clip nothing");
    if (start && !clv_atlas_is_image(start))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template begins with a 3-D image of one value a voxel");
    for (int i = 0; i < count; i++)
        if ((s[i].image ? !clv_atlas_is_image(s[i].image) : !o->team) || !(s[i].weight > 0) ||
            !isfinite(s[i].weight))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "%s: a subject is a 3-D image of one value a voxel and has a weight above 0",
                              s[i].name ? s[i].name : "a subject");
    for (int i = 0; i < count; i++)
        if (!is_map(s[i].mask) || !is_map(s[i].labels))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: its %s 3-D of one value a voxel",
                              s[i].name ? s[i].name : "a subject",
                              is_map(s[i].mask) ? "labels are not" : "mask is not");
    for (int i = 0; i < count; i++)
        if (s[i].image && s[i].scaled && !scaled_for(&s[i], o))
            return clvox_fail(
                CLVOX_ERROR_ARGUMENT,
                "%s was scaled as another image or with other options; scale it with those of the run",
                s[i].name ? s[i].name : "a subject");
    return check_channels(s, count, start, o);
}

/* Cuts the starting image to the grid. */
static int cut(const clv_atlas_run *a, clvox_volume **volume)
{
    const clvox_volume *from = *volume;
    const int *size = a->grid.size, *whole = from->grid.size;
    clvox_volume *part = NULL;
    if (!memcmp(size, whole, sizeof a->grid.size))
        return CLVOX_OK;
    const int status = clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &part);
    for (int z = 0; status >= 0 && z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            memcpy(part->data + (size_t)size[0] * (size_t)(y + size[1] * z),
                   from->data + (size_t)a->cut[0] +
                       (size_t)whole[0] *
                           ((size_t)(y + a->cut[1]) + (size_t)whole[1] * (size_t)(z + a->cut[2])),
                   (size_t)size[0] * sizeof(float));
    clvox_volume_destroy(volume);
    *volume = part;
    return status;
}

/* An image to begin with, as the run stores it. */
static int begin_with(const clv_atlas_run *a, const clvox_volume *start, clvox_volume **out)
{
    clv_orientation o;
    clv_orientation_of(&start->grid, &o);
    const int status = clv_orientation_volume(start, &o, NULL, out);
    if (status < 0)
        return status;
    (*out)->type = CLVOX_TYPE_FLOAT32; /* not as the file was stored */
    (*out)->hint = CLVOX_LABELS_NONE;
    return cut(a, out);
}

/* Leaves the weight of the first subject alone, in the order of their contents, until they are weighed
 * again. */
static void take_first_alone(clv_atlas_run *a)
{
    bool others = false;
    for (int i = 0; i < a->count; i++) {
        a->s[i].weight = others ? 0 : a->s[i].weight;
        others |= a->s[i].weight > 0;
    }
}

/* The template of round 0. Channels that have no image to begin with get theirs from the first round on,
 * through maps that the others find: before, subjects do not lie on that image; without linear rounds they
 * lie where they stay. */
static int begin(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clvox_atlas_round unused;
    if (!a->start) {
        if (a->o->within && a->linear)
            take_first_alone(a);
        status = clv_atlas_average(a, a->rounds);
        clv_atlas_weigh(a);
        CLV_TRY(status);
        return clv_atlas_agree(a, clv_atlas_replace(a, &unused));
    }
    status = begin_with(a, a->start, &a->average);
    for (int c = 1; status >= 0 && c < a->o->channels; c++)
        if (a->o->further_start[c - 1])
            status = begin_with(a, a->o->further_start[c - 1], &a->further[c - 1]);
    CLV_TRY(clv_atlas_agree(a, status));
    for (int c = 1; c < a->o->channels && !a->linear; c++)
        if (!a->further[c - 1])
            CLV_TRY(clv_atlas_average_further(a, c));
end:
    return status;
}

static void passed(void *user, bool idle, double mark)
{
    clv_atlas_run *a = user;
    const clvox_atlas_work alone = a->registering ? CLVOX_ATLAS_IDLE : CLVOX_ATLAS_IDLE_AFTER;
    clv_atlas_timed(a, idle ? alone : CLVOX_ATLAS_PASSING, mark);
}

/* Beside what a registration of any subject takes. */
static int open_maps(clv_atlas_run *a)
{
    clvox_volume average = {.grid = a->grid, .frames = 1};
    clvox_register_options o = a->o->registration;
    clv_maps_setting setting = {.ctx = a->ctx,
                                .devices = a->devices,
                                .count = a->count,
                                .grid = a->grid,
                                .shown = a->shown,
                                .store = a->o->store,
                                .device_bytes = a->o->device_bytes,
                                .passed = passed,
                                .user = a};
    o.linear = CLVOX_LINEAR_NONE;
    o.inverse = 1;
    for (int i = 0; i < a->count; i++) {
        const clvox_register_images images = clv_atlas_images(a, &a->s[i], &average);
        const size_t bytes = a->s[i].image ? clvox_register_bytes(&images, &o) : 0;
        setting.registering = bytes > setting.registering ? bytes : setting.registering;
    }
    return clv_maps_open(&setting, &a->maps);
}

static int run_all(clv_atlas_run *a, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_atlas_gather(a, subjects));
    CLV_TRY(clv_atlas_agree(a, open_maps(a)));
    CLV_TRY(clv_atlas_state_open(a));
    if (!a->average && (a->linear || !a->along))
        CLV_TRY(begin(a));
    if (a->at < 0)
        CLV_TRY(clv_atlas_run_until(a, a->linear));
    if (a->along)
        return clv_atlas_regress(a);
    a->at = 0;
    CLV_TRY(clv_atlas_run_until(a, a->rounds));
    status = clv_atlas_vote(a);
end:
    return status;
}

/* Whether a run that failed so would fail again. */
static bool is_final(int status)
{
    return status == CLVOX_ERROR_DATA || status == CLVOX_ERROR_ARGUMENT || status == CLVOX_ERROR_FORMAT;
}

/* Ends a write under way, also after a failure, which stays the one reported. If the write itself fails here, the
 * result is whole. */
static int end_state(clv_atlas_run *a, int status)
{
    char sentence[2048];
    snprintf(sentence, sizeof sentence, "%s", clvox_message());
    clv_atlas_state_end(a);
    return status < 0 ? clvox_fail((clvox_status)status, "%s", sentence) : status;
}

/* The result of one template. */
static int hand_over_all(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_atlas_hand_over(a));
    if (a->average)
        CLV_TRY(clv_orientation_show(&a->shown, &a->average));
    for (int c = 1; c < a->o->channels; c++)
        if (a->further[c - 1])
            CLV_TRY(clv_orientation_show(&a->shown, &a->further[c - 1]));
end:
    return status;
}

static int run(clv_atlas_run *a, clvox_context *context, const clvox_atlas_subject *subjects)
{
    int status = CLVOX_OK;
    const clvox_atlas_options *o = a->o;
    clvox_atlas_result *result = a->out;
    const int templates = a->along ? a->along->count : 1;
    pthread_mutex_init(&a->lock, NULL);
    CLV_TRY(clv_atlas_agree(a, clv_atlas_devices_open(a, context)));
    a->stage = "first mean";
    a->at = -1;
    a->usual = 2;
    a->linear = clvox_atlas_linear_rounds(o, a->count);
    a->rounds = a->linear + (o->registration.deform == CLVOX_DEFORM_NONE ? 0 : o->rounds);
    a->all = a->count * ((1 + CLV_ATLAS_AVERAGING) * (a->linear + templates * (a->rounds - a->linear)) +
                         CLV_ATLAS_AVERAGING * (1 + (a->along ? templates : 0)));
    a->s = calloc((size_t)a->count, sizeof *a->s);
    result->map = calloc((size_t)a->count, sizeof *result->map);
    result->round = calloc((size_t)a->rounds + 1, sizeof *result->round);
    CLV_TRY(clv_atlas_have(a, a->s && result->map && result->round));
    status = run_all(a, subjects);
    const bool finals = is_final(status) && !result->rounds;
    result->subjects = a->count;
    if (status >= 0 && !a->along)
        status = clv_atlas_agree(a, hand_over_all(a));
    result->average = a->average;
    for (int c = 1; c < o->channels; c++)
        result->further[c - 1] = a->further[c - 1];
    status = end_state(a, status);
    if (status >= 0 && !a->along)
        status = clv_atlas_state_share_end(a);
    if (o->state && finals && (!o->team || !o->team->rank))
        clvox_atlas_forget(o->state);
end:
    clv_atlas_center_end(a);
    clv_maps_close(&a->maps);
    for (int i = 0; a->s && i < a->count; i++) {
        clv_atlas_scaled_release(&a->s[i].own_scaled);
        clv_atlas_release_map(&a->s[i].map);
    }
    clvox_volume_destroy(&a->next);
    free(a->s);
    free(a->key);
    clv_atlas_devices_close(a);
    pthread_mutex_destroy(&a->lock);
    if (status < 0)
        clvox_atlas_result_destroy(result);
    return status;
}

int clvox_atlas(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                const clvox_volume *start, const clvox_atlas_options *options, clvox_atlas_result *result)
{
    CLV_GIVEN(context, subjects, result);
    CLV_HOST_THREADS(context);
    clvox_atlas_options standard;
    clvox_atlas_defaults(&standard);
    options = options ? options : &standard;
    *result = (clvox_atlas_result){.average = NULL};
    const int status = clvox_team_agree(options->team, check(subjects, count, start, options));
    if (status < 0)
        return status;
    clv_atlas_run a = {.o = options, .start = start, .count = count, .out = result};
    return run(&a, context, subjects);
}

static int check_regression(const clvox_atlas_regression *r, const clvox_atlas_subject *s, int count)
{
    if (r->count < 1 || !(r->bandwidth > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a regression takes one value or more, and a bandwidth above 0");
    for (int i = 0; i < r->count; i++)
        if (!isfinite(r->at[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "a template is wanted at %g, which is not a number",
                              r->at[i]);
    for (int i = 0; i < count; i++)
        if (!isfinite(r->covariate[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: its covariate is not known",
                              s[i].name ? s[i].name : "a subject");
    return CLVOX_OK;
}

int clvox_atlas_regress(clvox_context *context, const clvox_atlas_subject *subjects, int count,
                        const clvox_volume *start, const clvox_atlas_options *options,
                        const clvox_atlas_regression *regression)
{
    CLV_GIVEN(context, subjects, regression);
    CLV_HOST_THREADS(context);
    clvox_atlas_options standard;
    clvox_atlas_defaults(&standard);
    options = options ? options : &standard;
    int status = CLVOX_OK;
    clvox_atlas_result result = {.average = NULL};
    status = check(subjects, count, start, options);
    if (status >= 0)
        status = check_regression(regression, subjects, count);
    CLV_TRY(clvox_team_agree(options->team, status));
    clv_atlas_run a = {.o = options, .start = start, .along = regression, .count = count, .out = &result};
    status = run(&a, context, subjects);
    clvox_atlas_result_destroy(&result);
end:
    return status;
}

void clvox_atlas_result_destroy(clvox_atlas_result *result)
{
    if (!result)
        return;
    for (int i = 0; result->map && i < result->subjects; i++)
        clv_atlas_release_map(&result->map[i]);
    clvox_volume_destroy(&result->average);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        clvox_volume_destroy(&result->further[c - 1]);
    clvox_volume_destroy(&result->labels);
    free(result->map);
    free(result->round);
    *result = (clvox_atlas_result){.average = NULL};
}
