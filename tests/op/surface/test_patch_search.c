/* SPDX-License-Identifier: Apache-2.0 */
#include "op/surface/patch_search.h"

#include "harness.h"
#include "ref/surface/patch_search.h"

/* A level set with a band, and what its search must give. */
typedef struct problem {
    const char *what;
    int size[3], radius, most;
    float reach;
    int kind;   /* of shape() */
    int random; /* 0: multiples of 1/64, whose sums are exact, with many ties; 1: any values */
    float delta; /* the band is |phi| <= delta; below 0: all voxels that are finite or not */
} problem;

enum { BALL, PLANE, TWO, NOISE, QUIET, HOLES };

static const problem problems[] = {
    {"a ball", {13, 11, 12}, 2, 8, 0, BALL, 0, 1.5f},
    {"a noisy ball", {14, 13, 15}, 2, 20, 0, BALL, 1, 1.5f},
    {"a plane, all ties", {9, 8, 7}, 1, 5, 0, PLANE, 0, 1},
    {"smallest patches", {12, 11, 9}, 1, 96, 0, TWO, 0, 1.2f},
    {"largest patches", {9, 8, 7}, 3, 16, 0, NOISE, 1, -1},
    {"most neighbours", {10, 9, 8}, 1, 256, 0, NOISE, 0, -1},
    {"one slice", {17, 13, 1}, 2, 7, 0, BALL, 0, 1.5f},
    {"a line", {19, 1, 1}, 2, 4, 0, NOISE, 0, -1},
    {"smaller than a patch", {2, 3, 2}, 3, 5, 0, QUIET, 0, -1},
    {"one voxel", {1, 1, 1}, 2, 3, 0, NOISE, 0, -1},
    {"fewer than neighbours", {3, 3, 2}, 1, 40, 0, NOISE, 1, -1},
    {"values that are not finite", {9, 7, 6}, 1, 6, 0, HOLES, 0, -1},
    {"within reach", {13, 11, 12}, 2, 8, 4.5f, BALL, 0, 1.5f},
    {"within one voxel", {11, 9, 7}, 1, 30, 1, NOISE, 1, -1},
    {"reach beyond the grid", {8, 9, 7}, 1, 12, 50, HOLES, 0, -1},
};
static const problem large[] = {
    {"several blocks", {19, 17, 16}, 2, 96, 0, BALL, 0, 2},
    {"several noisy blocks", {17, 16, 13}, 2, 96, 0, TWO, 1, 1},
    {"many ties", {18, 17, 8}, 1, 30, 0, PLANE, 0, 3},
    {"more in reach than a list holds", {14, 13, 11}, 1, 60, 9, NOISE, 0, -1},
};

/* For oclgrind, which is ten thousand times slower. */
static const problem tiny_problems[] = {
    {"noise", {5, 3, 1}, 1, 4, 0, QUIET, 0, -1},
    {"one voxel", {1, 1, 1}, 2, 3, 0, NOISE, 0, -1},
    {"a slice with holes", {7, 3, 1}, 1, 3, 0, HOLES, 0, -1},
    {"within reach", {4, 3, 2}, 1, 4, 1.5f, QUIET, 0, -1},
};
static const problem pair_problems[] = {
    {"a small slice", {5, 3, 1}, 1, 4, 0, QUIET, 0, -1},
    {"several subsets", {14, 13, 15}, 2, 20, 0, BALL, 1, 1.5f},
    {"largest patches, ties", {9, 8, 7}, 3, 16, 0, PLANE, 0, 2},
    {"values that are not finite", {9, 7, 6}, 1, 6, 0, HOLES, 0, -1},
};
enum { PAIRS = sizeof pair_problems / sizeof *pair_problems };

static float shape(const problem *p, int x, int y, int z, float noise)
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

typedef struct data {
    int voxels, count;
    float *phi;
    int *band, *want;
    double *want_distance;
    clv_buffer *phi_device, *band_device;
} data;

static void make(clvox_context *ctx, const problem *p, data *d)
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

static void drop(data *d)
{
    free(d->phi);
    free(d->band);
    free(d->want);
    free(d->want_distance);
    clv_buffer_destroy(&d->phi_device);
    clv_buffer_destroy(&d->band_device);
}

/* The band's voxels on a grid that is larger on each side, where they lie alike. */
static clv_buffer *places_of(clvox_context *ctx, const problem *p, const data *d, int grid[3])
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

static void check(clvox_context *ctx, const problem *p, const data *d, clv_nlm_memory memory, bool elsewhere)
{
    size_t answers = (size_t)d->count * (size_t)p->most;
    int *got = malloc(answers * sizeof(int));
    float *distance = malloc(answers * sizeof(float));
    clv_buffer *scratch = harness_output(ctx, clv_patch_search_bytes(ctx, d->count, p->radius, p->most));
    clv_buffer *neighbours = harness_output(ctx, answers * 4), *distances = harness_output(ctx, answers * 4);
    clv_nlm_patches patches = {.phi = d->phi_device, .size = {p->size[0], p->size[1], p->size[2]},
                               .band = d->band_device, .count = d->count, .radius = p->radius};
    clv_buffer *places = elsewhere ? places_of(ctx, p, d, patches.grid) : NULL;
    patches.places = places;
    int status = clv_patch_search(ctx, &patches, memory, p->most, p->reach, neighbours, distances, scratch,
                                NULL, NULL);
    CHECK_THAT(status == CLVOX_OK, "%s", clvox_message());
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
        CHECK_THAT(right, "voxel %d, neighbour %d: %d at %.9g, not %d at %.9g", j, (int)i % p->most, got[i],
                   (double)distance[i], d->want[i], d->want_distance[i]);
    }
    free(got);
    free(distance);
    clv_buffer_destroy(&places);
    clv_buffer_destroy(&scratch);
    clv_buffer_destroy(&neighbours);
    clv_buffer_destroy(&distances);
}

static void check_all(clvox_context *ctx, const problem *list, int count)
{
    for (int i = 0; i < count; i++) {
        const problem *p = &list[i];
        data d;
        int state = 0;
        make(ctx, p, &d);
        if (list == tiny_problems && i > 0) {
            CHECK_CASE("%s", p->what);
            check(ctx, p, &d, CLV_NLM_AUTO, false);
        } else if (p->reach > 0) {
            while (harness_next(ctx, &clv_entry_nlm_keep, &state, p->what))
                check(ctx, p, &d, CLV_NLM_AUTO, false);
            CHECK_CASE("%s, places given apart", p->what);
            check(ctx, p, &d, CLV_NLM_AUTO, true);
        } else
            while (harness_next(ctx, &clv_entry_patch_search, &state, p->what))
                check(ctx, p, &d, CLV_NLM_AUTO, false);
        drop(&d);
    }
}

/* The papers' forms; every tile computes the same. */
static void pairs(clvox_context *ctx, const problem *p)
{
    static const clv_nlm_memory forms[] = {CLV_NLM_CONSTANT, CLV_NLM_GLOBAL, CLV_NLM_IMAGE};
    data d;
    make(ctx, p, &d);
    for (int f = 0; f < 3; f++) {
        int state = 0;
        if (forms[f] == CLV_NLM_IMAGE && clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU)
            continue;
        while (harness_next(ctx, clv_nlm_pairs_entry(forms[f]), &state, p->what))
            check(ctx, p, &d, forms[f], false);
    }
    drop(&d);
}

static int stop(void *user, double fraction)
{
    *(double *)user = fraction;
    return 1;
}

static void refuses(clvox_context *ctx)
{
    data d;
    double done = -1;
    make(ctx, &problems[0], &d);
    size_t answers = (size_t)d.count * 8;
    clv_buffer *scratch = harness_output(ctx, clv_patch_search_bytes(ctx, d.count, 2, 8));
    clv_buffer *neighbours = harness_output(ctx, answers * 4), *distances = harness_output(ctx, answers * 4);
    clv_nlm_patches p = {.phi = d.phi_device, .size = {13, 11, 12}, .band = d.band_device,
                         .count = d.count, .radius = 2};
    CHECK_CASE("what cannot be searched");
    CHECK(clv_patch_search(ctx, &p, CLV_NLM_AUTO, 8, 0, neighbours, distances, scratch, stop, &done) ==
          CLVOX_ERROR_STOPPED);
    CHECK(done > 0 && done <= 1);
    if (clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU)
        CHECK(clv_patch_search(ctx, &p, CLV_NLM_IMAGE, 8, 0, neighbours, distances, scratch, NULL, NULL) ==
              CLVOX_ERROR_DEVICE);
    CHECK(clv_patch_search(ctx, &p, CLV_NLM_AUTO, 0, 0, neighbours, distances, scratch, NULL, NULL) ==
          CLVOX_ERROR_ARGUMENT);
    CHECK(clv_patch_search(ctx, &p, CLV_NLM_AUTO, CLV_NLM_MOST_NEIGHBOURS + 1, 0, neighbours, distances,
                         scratch, NULL, NULL) == CLVOX_ERROR_ARGUMENT);
    p.radius = 0;
    CHECK(clv_patch_search(ctx, &p, CLV_NLM_AUTO, 8, 0, neighbours, distances, scratch, NULL, NULL) ==
          CLVOX_ERROR_ARGUMENT);
    p.radius = 2;
    p.count = 0;
    CHECK(clv_patch_search(ctx, &p, CLV_NLM_AUTO, 8, 0, neighbours, distances, scratch, NULL, NULL) ==
          CLVOX_OK);
    clv_buffer_destroy(&scratch);
    clv_buffer_destroy(&neighbours);
    clv_buffer_destroy(&distances);
    drop(&d);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY") != NULL;
    if (tiny) {
        check_all(ctx, tiny_problems, sizeof tiny_problems / sizeof *tiny_problems);
    } else {
        check_all(ctx, problems, sizeof problems / sizeof *problems);
        check_all(ctx, large, sizeof large / sizeof *large);
    }
    for (int i = 0; i < PAIRS; i++)
        if (!tiny || i == 0)
            pairs(ctx, &pair_problems[i]);
    if (!tiny)
        refuses(ctx);
    clvox_context_destroy(&ctx);
    return check_end();
}
