/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/patch_problem.h"

#include "ref/surface/patch_search.h"

static float shape(const patch_problem *p, int x, int y, int z, float noise)
{
    float u = (float)x - (float)p->size[0] / 2.3f, v = (float)y - (float)p->size[1] / 2.1f;
    float w = (float)z - (float)p->size[2] / 1.9f;
    float radius = sqrtf(u * u + v * v + w * w);
    switch (p->kind) {
    case BALL:
        return radius - 0.33f * (float)p->size[0] + 0.4f * noise;
    case PLANE:
        return (float)z - (float)p->size[2] / 2;
    case TWO:
        return fminf(fabsf(u + 3), fabsf(v)) - 1.3f + 0.1f * noise;
    case HOLES:
        return (x + 3 * y + 5 * z) % 37 == 0 ? NAN : (x + y + z) % 53 == 7 ? INFINITY : 2 * noise;
    case QUIET:
        return 0.3f * noise;
    default:
        return 2 * noise;
    }
}

void patch_make(clvox_context *ctx, const patch_problem *p, patch_data *d)
{
    d->voxels = p->size[0] * p->size[1] * p->size[2];
    d->phi = malloc((size_t)d->voxels * sizeof(float));
    d->band = malloc((size_t)d->voxels * sizeof(int));
    d->count = 0;
    harness_random(d->phi, (size_t)d->voxels, 21, -1, 1);
    for (int i = 0; i < d->voxels; i++) {
        int x = i % p->size[0], y = i / p->size[0] % p->size[1], z = i / (p->size[0] * p->size[1]);
        float value = shape(p, x, y, z, d->phi[i]);
        d->phi[i] = p->random ? value : rintf(64 * value) / 64;
        if (p->delta < 0 || fabsf(d->phi[i]) <= p->delta)
            d->band[d->count++] = i;
    }
    size_t answers = (size_t)d->count * (size_t)p->most;
    d->want = malloc(answers * sizeof(int));
    d->want_distance = malloc(answers * sizeof(double));
    ref_patch_search(d->phi, p->size, d->band, d->count, p->radius, p->most, (double)p->reach, d->want,
                     d->want_distance);
    d->phi_device = harness_upload(ctx, d->phi, (size_t)d->voxels * sizeof(float));
    d->band_device = harness_upload(ctx, d->band, (size_t)d->count * sizeof(int));
}

void patch_drop(patch_data *d)
{
    free(d->phi);
    free(d->band);
    free(d->want);
    free(d->want_distance);
    clv_buffer_destroy(&d->phi_device);
    clv_buffer_destroy(&d->band_device);
}

/* The band's voxels on a grid that is larger on each side, where they lie alike. */
static clv_buffer *places_of(clvox_context *ctx, const patch_problem *p, const patch_data *d, int grid[3])
{
    int *at = malloc((size_t)d->count * sizeof *at);
    for (int a = 0; a < 3; a++)
        grid[a] = p->size[a] + 2 + a;
    for (int j = 0; j < d->count; j++) {
        int i = d->band[j], x = i % p->size[0], y = i / p->size[0] % p->size[1];
        int z = i / (p->size[0] * p->size[1]);
        at[j] = ((z + 1) * grid[1] + y + 2) * grid[0] + x + 1;
    }
    clv_buffer *out = harness_upload(ctx, at, (size_t)d->count * sizeof *at);
    free(at);
    return out;
}

void patch_check(clvox_context *ctx, const patch_problem *p, const patch_data *d, patch_search search, int how,
                 bool elsewhere)
{
    size_t answers = (size_t)d->count * (size_t)p->most;
    int *got = malloc(answers * sizeof(int));
    float *distance = malloc(answers * sizeof(float));
    clv_buffer *scratch = harness_output(ctx, clv_patch_search_bytes(d->count, p->radius));
    clv_buffer *neighbours = harness_output(ctx, answers * 4), *distances = harness_output(ctx, answers * 4);
    clv_patch_search_args args = {
        .patches = {.phi = {.buffer = d->phi_device, .size = {p->size[0], p->size[1], p->size[2]}, .components = 1},
                    .band = d->band_device, .count = d->count, .radius = p->radius},
        .most = p->most, .reach = p->reach, .neighbours = neighbours, .distances = distances,
        .scratch = scratch};
    clv_buffer *places = elsewhere ? places_of(ctx, p, d, args.reach_size) : NULL;
    args.reach_band = places;
    int status = search(ctx, &args, how);
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, neighbours, got, answers * 4);
    harness_download(ctx, distances, distance, answers * 4);
    int wrong = 0;
    for (size_t i = 0; i < answers && wrong < 3; i++) {
        double slack = p->random ? 1e-5 * d->want_distance[i] + 1e-9 : 0;
        int j = (int)(i / (size_t)p->most);
        bool right = got[i] == d->want[i];
        if (!right && p->random && got[i] >= 0) /* a near tie */
            right = fabs(ref_nlm_distance(d->phi, p->size, p->radius, d->band[j], d->band[got[i]]) -
                         d->want_distance[i]) <= slack;
        if (isinf(d->want_distance[i]))
            right = right && isinf(distance[i]);
        else
            right = right && fabs((double)distance[i] - d->want_distance[i]) <= slack;
        if (!right)
            wrong++;
        assert_that(right, "voxel %d, neighbour %d: %d at %.9g, not %d at %.9g", j, (int)i % p->most, got[i],
                    (double)distance[i], d->want[i], d->want_distance[i]);
    }
    free(got);
    free(distance);
    clv_buffer_destroy(&places);
    clv_buffer_destroy(&scratch);
    clv_buffer_destroy(&neighbours);
    clv_buffer_destroy(&distances);
}
