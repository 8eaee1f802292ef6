/* SPDX-License-Identifier: Apache-2.0 */
/* Atlases are registered to a head one after the other; what stays of each is its image and labels on the
 * head's grid. All of it is in the order of voxels nearest to RAS, so that the result does not depend on how
 * the head is stored. */
#include "clvox/segment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/volume/labels.h"
#include "io/volume/orientation.h"
#include "runtime/device/host.h"
#include "runtime/runtime.h"
#include "segment/brain.h"
#include "segment/fuse.h"
#include "segment/names.h"

/* Sulci between labels that belong to the brain are closed by so many mm. */
static const double CLOSE_MM = 4;

enum { IMAGE, LABELS, MASK, VOLUMES };

typedef struct atlas {
    clvox_volume *volume[VOLUMES]; /* on the head's grid; those that it has */
    clv_names names[VOLUMES];      /* of labels and mask */
} atlas;

struct clvox_segmentation {
    clvox_context *ctx;
    clvox_segment_options options;
    clvox_volume *head;
    clvox_grid shown; /* as the head was given */
    atlas atlas[CLVOX_SEGMENT_ATLASES];
    int count;
    double seconds;
    char stage[32];
};

int clvox_segment_begin(clvox_context *context, const clvox_volume *head,
                        const clvox_segment_options *options, clvox_segmentation **out)
{
    CLV_GIVEN(context, head, out);
    CLV_HOST_THREADS(context);
    int status = CLVOX_OK;
    clv_orientation o;
    clvox_segment_options standard;
    clvox_segment_defaults(&standard);
    options = options ? options : &standard;
    *out = NULL;
    CLV_TRY(clv_options_check(clvox_segment_table(), options));
    if (head->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the head has %d volumes, and one is labelled", head->frames);
    *out = calloc(1, sizeof **out);
    if (!*out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    (*out)->ctx = context;
    (*out)->options = *options;
    (*out)->shown = head->grid;
    clv_orientation_of(&head->grid, &o);
    CLV_TRY(clv_orientation_volume(head, &o, NULL, &(*out)->head));
end:
    if (status < 0)
        clvox_segment_destroy(out);
    return status;
}

/* ---- atlases ----------------------------------------------------------------- */

/* CLVOX_ERROR_ARGUMENT, or there is room for such an atlas. */
static int check_atlas(const clvox_segmentation *s, const clvox_volume *const volume[VOLUMES])
{
    static const char *const names[] = {"image", "label map", "mask"};
    const atlas *first = &s->atlas[0];
    if (s->count == CLVOX_SEGMENT_ATLASES)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there are more than %d atlases", CLVOX_SEGMENT_ATLASES);
    if (!volume[LABELS] && !volume[MASK])
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "an atlas needs a label map or a mask");
    for (int k = 0; k < VOLUMES; k++) {
        if (volume[k] && volume[k]->frames != 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "the atlas's %s has %d volumes; it takes one", names[k],
                              volume[k]->frames);
        if (s->count && !volume[k] != !first->volume[k])
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "some atlases have a %s, and others have none", names[k]);
    }
    return CLVOX_OK;
}

/* Keeps a volume on the head's grid; a mask as 0 and 1. */
static void keep(atlas *a, int k, clvox_volume **volume)
{
    const size_t n = clvox_grid_voxels(&(*volume)->grid);
    a->volume[k] = *volume;
    *volume = NULL;
    for (size_t i = 0; k == MASK && i < n; i++)
        a->volume[k]->data[i] = a->volume[k]->data[i] > 0;
}

/* Labels are listed before an atlas counts, as they may turn out to be none. */
static int list_names(atlas *a)
{
    int status = CLVOX_OK;
    for (int k = LABELS; k <= MASK && status >= 0; k++)
        status = a->volume[k] ? clv_names_add(&a->names[k], a->volume[k]) : CLVOX_OK;
    return status;
}

/* The atlas's volumes through a map onto the head's grid; outside the image NaN. */
static int carry(const clvox_segmentation *s, const clvox_volume *const volume[VOLUMES],
                 const clvox_register_result *found, atlas *to)
{
    int status = CLVOX_OK, links = 0;
    clv_orientation o;
    clvox_volume *stored = NULL, *moved = NULL;
    clvox_transform affine = {.is_warp = 0}, warp = {.is_warp = 1, .warp = found->warp};
    clvox_link link[2];
    clv_matrix_copy(CLV_MATRIX(found->matrix), affine.matrix);
    if (found->warp)
        link[links++] = (clvox_link){&warp, 0};
    link[links++] = (clvox_link){&affine, 0};
    for (int k = 0; k < VOLUMES; k++) {
        if (!volume[k])
            continue;
        clv_orientation_of(&volume[k]->grid, &o);
        CLV_TRY(clv_orientation_volume(volume[k], &o, NULL, &stored));
        CLV_TRY(clvox_apply(s->ctx, stored, &s->head->grid, link, links,
                            k == IMAGE ? CLVOX_INTERPOLATE_LINEAR : CLVOX_INTERPOLATE_LABEL,
                            k == IMAGE ? NAN : 0, &moved));
        keep(to, k, &moved);
        clvox_volume_destroy(&stored);
    }
end:
    clvox_volume_destroy(&stored);
    clvox_volume_destroy(&moved);
    return status;
}

static void drop(atlas *a)
{
    for (int k = 0; k < VOLUMES; k++) {
        clvox_volume_destroy(&a->volume[k]);
        clv_names_free(&a->names[k]);
    }
}

static int look(void *user, const clvox_step *step)
{
    const clvox_segmentation *s = user;
    clvox_step mine = *step;
    mine.stage = s->stage;
    return s->options.progress(s->options.user, &mine);
}

int clvox_segment_add(clvox_segmentation *s, const clvox_volume *image, const clvox_volume *labels,
                      const clvox_volume *mask, double *ncc)
{
    CLV_GIVEN(s, image);
    CLV_HOST_THREADS(s->ctx);
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    const clvox_volume *const volume[VOLUMES] = {image, labels, mask};
    atlas *to = &s->atlas[s->count];
    clvox_register_options o;
    clvox_register_result found;
    if (check_atlas(s, volume) < 0)
        return CLVOX_ERROR_ARGUMENT;
    memset(&found, 0, sizeof found);
    clvox_register_defaults(&o);
    clvox_register_preset(&o, s->options.preset);
    o.by_contrast = 1;
    snprintf(s->stage, sizeof s->stage, "atlas %d", s->count + 1);
    if (s->options.progress) {
        o.progress = look;
        o.user = s;
    }
    const clvox_register_images images = {
        .fixed = {s->head}, .moving = {image}, .weight = {1}, .channels = 1};
    CLV_TRY(clvox_register(s->ctx, &images, &o, &found));
    CLV_TRY(carry(s, volume, &found, to));
    CLV_TRY(list_names(to));
    if (ncc)
        *ncc = found.ncc_after;
    s->count++;
end:
    if (status < 0)
        drop(to);
    clvox_register_result_destroy(&found);
    s->seconds += clv_seconds() - mark;
    return status;
}

int clvox_segment_add_registered(clvox_segmentation *s, const clvox_volume *image, const clvox_volume *labels,
                                 const clvox_volume *mask)
{
    CLV_GIVEN(s, image);
    CLV_HOST_THREADS(s->ctx);
    int status = CLVOX_OK;
    const clvox_volume *const volume[VOLUMES] = {image, labels, mask};
    atlas *to = &s->atlas[s->count];
    clv_orientation o;
    clvox_volume *stored = NULL;
    clv_orientation_of(&s->shown, &o);
    if (check_atlas(s, volume) < 0)
        return CLVOX_ERROR_ARGUMENT;
    for (int k = 0; k < VOLUMES; k++) {
        if (!volume[k])
            continue;
        if (!clvox_grid_equal(&volume[k]->grid, &s->shown)) {
            status =
                clvox_fail(CLVOX_ERROR_ARGUMENT, "a registered atlas lies on another grid than the head");
            goto end;
        }
        CLV_TRY(clv_orientation_volume(volume[k], &o, NULL, &stored));
        keep(to, k, &stored);
    }
    CLV_TRY(list_names(to));
    s->count++;
end:
    if (status < 0)
        drop(to);
    return status;
}

/* ---- the end ------------------------------------------------------------------ */

/* One set of labels on its way: numbers of every atlas, and what they are fused to. */
typedef struct fused {
    const clvox_segmentation *from;
    int of; /* LABELS or MASK */
    clv_names names;
    uint16_t *number[CLVOX_SEGMENT_ATLASES], *out;
    clvox_volume *share;
} fused;

static int number_atlas(void *user, size_t index, int worker)
{
    const fused *f = user;
    const atlas *a = &f->from->atlas[index];
    const float *image = a->volume[IMAGE]->data;
    const size_t n = clvox_grid_voxels(&f->from->head->grid);
    (void)worker;
    clv_names_number(&f->names, a->volume[f->of], f->number[index]);
    for (size_t i = 0; i < n; i++)
        if (isnan(image[i]))
            f->number[index][i] = CLV_FUSE_NONE;
    return CLVOX_OK;
}

static int prepare(const clvox_segmentation *s, int of, fused *f)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&s->head->grid);
    f->from = s;
    f->of = of;
    f->out = malloc(n * sizeof *f->out);
    bool room = f->out != NULL;
    for (int k = 0; k < s->count; k++) {
        f->number[k] = malloc(n * sizeof **f->number);
        room = room && f->number[k];
    }
    if (!room)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_volume_create(&s->head->grid, 1, CLVOX_KIND_SCALAR, &f->share));
    for (int k = 0; k < s->count; k++)
        CLV_TRY(clv_names_join(&f->names, &s->atlas[k].names[of]));
    status = clvox_parallel((size_t)s->count, number_atlas, f);
end:
    return status;
}

static void fused_free(fused *f)
{
    for (int k = 0; k < CLVOX_SEGMENT_ATLASES; k++)
        free(f->number[k]);
    free(f->out);
    clv_names_free(&f->names);
    clvox_volume_destroy(&f->share);
}

/* The winners as a label map. */
static int name(const clvox_segmentation *s, const fused *f, clvox_volume **out)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&s->head->grid);
    int64_t *exact = malloc(n * sizeof *exact);
    if (!exact)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < n; i++)
        exact[i] = f->out[i] == CLV_FUSE_NONE ? 0 : f->names.name[f->out[i]];
    CLV_TRY(clvox_volume_create(&s->head->grid, 1, CLVOX_KIND_LABEL, out));
    status = clv_labels_take(exact, *out);
end:
    free(exact);
    return status;
}

static int make_mask(const clvox_segmentation *s, const fused *f, clvox_volume **out)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&s->head->grid);
    CLV_TRY(clvox_volume_create(&s->head->grid, 1, CLVOX_KIND_SCALAR, out));
    (*out)->type = CLVOX_TYPE_UINT8;
    (*out)->hint = CLVOX_LABELS_MASK;
    for (size_t i = 0; i < n; i++)
        (*out)->data[i] = f->out[i] != CLV_FUSE_NONE && f->names.name[f->out[i]] != 0;
    status = clv_brain_fill(*out, f->of == LABELS ? CLOSE_MM : 0);
end:
    return status;
}

/* sets: of labels, of masks, or both. */
static int fuse(const clvox_segmentation *s, fused *sets, int count, clvox_segment_result *r)
{
    int status = CLVOX_OK;
    const float *images[CLVOX_SEGMENT_ATLASES];
    const int *size = s->head->grid.size;
    for (int k = 0; k < s->count; k++)
        images[k] = s->atlas[k].volume[IMAGE]->data;
    clv_fusion f = {.size = {size[0], size[1], size[2]},
                    .atlases = s->count,
                    .head = s->head->data,
                    .images = images,
                    .sets = count,
                    .method = s->options.method};
    for (int k = 0; k < count; k++)
        f.set[k] = (clv_fuse_set){sets[k].number, sets[k].out, sets[k].share->data, sets[k].of == LABELS};
    CLV_TRY(clv_fuse(s->ctx, &f));
    if (sets[0].of == LABELS)
        CLV_TRY(name(s, &sets[0], &r->labels));
    CLV_TRY(make_mask(s, &sets[count - 1], &r->mask));
    r->confidence = sets[0].share;
    sets[0].share = NULL;
    CLV_TRY(r->labels ? clv_orientation_show(&s->shown, &r->labels) : CLVOX_OK);
    CLV_TRY(clv_orientation_show(&s->shown, &r->mask));
    status = clv_orientation_show(&s->shown, &r->confidence);
end:
    return status;
}

int clvox_segment_end(clvox_segmentation *s, clvox_segment_result *result)
{
    CLV_GIVEN(s, result);
    CLV_HOST_THREADS(s->ctx);
    int status = CLVOX_OK, count = 0;
    const double mark = clv_seconds();
    fused *sets = calloc(CLV_FUSE_SETS, sizeof *sets);
    memset(result, 0, sizeof *result);
    if (!sets)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (!s->count) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no atlases to fuse");
        goto end;
    }
    const size_t held = clv_peak_start(s->ctx);
    if (clv_progress_stage(s->options.progress, s->options.user, "fusing", 0)) {
        status = clvox_fail(CLVOX_ERROR_STOPPED, "stopped");
        goto end;
    }
    for (int of = LABELS; of <= MASK; of++)
        if (s->atlas[0].volume[of])
            CLV_TRY(prepare(s, of, &sets[count++]));
    CLV_TRY(fuse(s, sets, count, result));
    result->atlases = s->count;
    result->seconds_register = s->seconds;
    result->seconds_fuse = clv_seconds() - mark;
    result->device_bytes = clv_peak_bytes(s->ctx) - held;
end:
    for (int k = 0; k < CLV_FUSE_SETS; k++)
        fused_free(&sets[k]);
    free(sets);
    if (status < 0)
        clvox_segment_result_destroy(result);
    return status;
}

void clvox_segment_result_destroy(clvox_segment_result *r)
{
    if (!r)
        return;
    clvox_volume_destroy(&r->labels);
    clvox_volume_destroy(&r->mask);
    clvox_volume_destroy(&r->confidence);
}

void clvox_segment_destroy(clvox_segmentation **segmentation)
{
    clvox_segmentation *s = segmentation ? *segmentation : NULL;
    if (!s)
        return;
    for (int k = 0; k < s->count; k++)
        drop(&s->atlas[k]);
    clvox_volume_destroy(&s->head);
    free(s);
    *segmentation = NULL;
}
