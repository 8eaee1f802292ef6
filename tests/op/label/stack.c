/* SPDX-License-Identifier: Apache-2.0 */
#include "op/label/stack.h"

/* Number of voxel (x, y, z) inside the margins. */
static int at(const stack *s, const int p[3], int margin)
{
    const int *n = s->ref.size;
    return ((p[2] + margin) * n[1] + p[1] + margin) * n[0] + p[0] + margin;
}

static void fill(stack *s, const int inner[3], int names)
{
    const int margin = clv_label_margin(s->ref.search), atlases = s->ref.atlases, *n = s->ref.size;
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    harness_random(s->images, voxels * (size_t)(atlases + 1), 7, 0, 100);
    for (int k = 1; k <= atlases; k++) /* like the head */
        for (size_t i = 0; i < voxels; i++)
            s->images[(size_t)k * voxels + i] = s->images[i] + .3f * s->images[(size_t)k * voxels + i];
    if (atlases > 1)
        memcpy(s->images + 2 * voxels, s->images + voxels, voxels * sizeof *s->images);
    if (atlases > 2) /* flat where the head is not */
        for (size_t i = 0; i < voxels / 2; i++)
            s->images[3 * voxels + i] = 5;
    for (size_t i = 0; i < voxels * (size_t)atlases; i++)
        s->labels[i] = -1;
    for (size_t i = 0; i < voxels; i++)
        s->place[i] = -2;
    int p[3];
    for (p[2] = 0; p[2] < inner[2]; p[2]++)
        for (p[1] = 0; p[1] < inner[1]; p[1]++)
            for (p[0] = 0; p[0] < inner[0]; p[0]++) {
                const int i = at(s, p, margin);
                const bool corner = p[0] + p[1] + p[2] < 3;
                for (int k = 0; k < atlases; k++)
                    s->labels[(size_t)k * voxels + (size_t)i] =
                        corner && k == atlases - 1 ? -1 : (p[0] * 5 + p[1] * 3 + p[2] * 7 + k * 11) % names;
                if ((p[0] + p[1] + p[2]) % 5 == 4) {
                    s->place[i] = -1;
                    for (int k = 0; k < atlases; k++)
                        s->labels[(size_t)k * voxels + (size_t)i] = 1 % names;
                    continue;
                }
                s->place[i] = s->voxels.count;
                s->list[s->voxels.count++] = i;
            }
}

void stack_make(clvox_context *ctx, const int inner[3], int atlases, int search, int names, stack *out)
{
    *out = (stack){.ref = {.atlases = atlases, .search = search}};
    for (int a = 0; a < 3; a++)
        out->ref.size[a] = inner[a] + 2 * clv_label_margin(search);
    const int *n = out->ref.size;
    const size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2],
                 bytes = clv_label_images_bytes(n, atlases);
    out->images = calloc(1, bytes);
    out->labels = malloc(voxels * (size_t)atlases * sizeof *out->labels);
    out->list = malloc(voxels * sizeof *out->list);
    out->place = malloc(voxels * sizeof *out->place);
    fill(out, inner, names);
    out->ref.images = out->images;
    out->ref.labels = out->labels;
    out->on =
        (clv_label_stack){.size = {n[0], n[1], n[2]},
                          .atlases = atlases,
                          .search = search,
                          .images = harness_upload(ctx, out->images, bytes),
                          .moments = harness_output(ctx, 2 * sizeof(float) * voxels * (size_t)(atlases + 1)),
                          .labels = harness_upload(ctx, out->labels, voxels * (size_t)atlases * sizeof(int))};
    out->voxels.at = harness_upload(ctx, out->list, (size_t)out->voxels.count * sizeof(int));
    out->places = harness_upload(ctx, out->place, voxels * sizeof(int));
    assert_ok(clv_label_moments(ctx, &out->on));
}

void stack_free(stack *s)
{
    clv_buffer_destroy(&s->on.images);
    clv_buffer_destroy(&s->on.moments);
    clv_buffer_destroy(&s->on.labels);
    clv_buffer_destroy(&s->voxels.at);
    clv_buffer_destroy(&s->places);
    free(s->images);
    free(s->labels);
    free(s->list);
    free(s->place);
}
