/* SPDX-License-Identifier: Apache-2.0 */
#include "atlas/population.h"

#include <stdio.h>
#include <stdlib.h>

#include "clvox/apply.h"
#include "op/harness.h"
#include "register/pair.h"

const int POPULATION_SIZE[3] = {25, 23, 21};
const double POPULATION_EDGE[3] = {2, 2, 2.5};

void population_add(population *p, clvox_volume *image)
{
    static const char *const names[POPULATION_MOST] = {"first",  "second", "third",
                                                       "fourth", "fifth",  "sixth"};
    p->own[p->count] = image;
    p->s[p->count] = (clvox_atlas_subject){.image = image, .weight = 1, .name = names[p->count]};
    p->count++;
}

void population_release(population *p)
{
    for (int i = 0; i < p->count; i++)
        clvox_volume_destroy(&p->own[i]);
    p->count = 0;
}

clvox_volume *population_zeros(const clvox_grid *grid)
{
    clvox_volume *v = NULL;
    assert_int_equal(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    return v;
}

clvox_volume *population_pull(const clvox_volume *image, clvox_volume *u)
{
    clvox_volume *out = NULL;
    clvox_transform warp = {.is_warp = 1, .warp = u};
    assert_int_equal(clvox_apply(harness_context(), image, &image->grid, &(clvox_link){&warp, 0}, 1,
                                 CLVOX_INTERPOLATE_BSPLINE, 0, &out),
                     CLVOX_OK);
    return out;
}

clvox_volume *population_copy(const clvox_volume *v)
{
    clvox_volume *out = NULL;
    assert_int_equal(clvox_volume_create(&v->grid, v->frames, v->kind, &out), CLVOX_OK);
    memcpy(out->data, v->data, clvox_grid_voxels(&v->grid) * (size_t)v->frames * sizeof(float));
    return out;
}

void population_options(clvox_atlas_options *o, clvox_deform deform)
{
    clvox_atlas_defaults(o);
    pair_options(&o->registration, deform, CLVOX_METRIC_LNCC);
    o->registration.linear = CLVOX_LINEAR_AFFINE;
    o->linear_rounds = 1;
    o->rounds = 2;
}

void population_options_of_bits(clvox_atlas_options *o)
{
    population_options(o, CLVOX_DEFORM_GREEDY);
    o->registration.linear = CLVOX_LINEAR_TRANSLATION;
    o->registration.iterations[0] = o->registration.iterations[1] = 3;
}

void population_build(const population *p, const clvox_atlas_options *o, clvox_atlas_result *r)
{
    assert_that(clvox_atlas(harness_context(), p->s, p->count, NULL, o, r) == CLVOX_OK, "%s",
                clvox_message());
}

double population_apart(const clvox_volume *a, const clvox_volume *b)
{
    double sum = 0, all = 0;
    assert_true(clvox_grid_equal(&a->grid, &b->grid));
    for (size_t i = 0; i < clvox_grid_voxels(&a->grid); i++) {
        double d = (double)a->data[i] - (double)b->data[i];
        sum += d * d, all += (double)b->data[i] * (double)b->data[i];
    }
    return sqrt(sum / all);
}

void population_make_three(population *all)
{
    for (int i = 0; i < 3; i++) {
        pair p;
        pair_make(&p, POPULATION_SIZE, POPULATION_EDGE, false, 2, 7);
        /* One texture by three warps. */
        clv_phantom_warp warp;
        clvox_volume *u = NULL;
        assert_int_equal(clv_phantom_warp_make(&p.fixed_grid, 2.5, (uint64_t)(20 + i), &warp), CLVOX_OK);
        assert_int_equal(clv_phantom_warp_sample(&warp, &p.fixed_grid, false, &u), CLVOX_OK);
        population_add(all, population_pull(p.fixed, u));
        clvox_volume_destroy(&u);
        pair_free(&p);
    }
}

void population_add_channel(population *p, clvox_atlas_options *o)
{
    o->channels = 2;
    for (int i = 0; i < p->count; i++)
        p->s[i].further[0] = p->s[(i + 1) % p->count].image;
}

int population_stop_after(void *user, const clvox_step *step)
{
    (void)step;
    return (*(int *)user)-- <= 0;
}

void population_assert_same(const clvox_atlas_result *a, const clvox_atlas_result *b)
{
    size_t bytes = clvox_grid_voxels(&a->average->grid) * sizeof(float);
    assert_memory_equal(a->average->data, b->average->data, bytes);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++) {
        assert_true(!a->further[c - 1] == !b->further[c - 1]);
        if (a->further[c - 1])
            assert_memory_equal(a->further[c - 1]->data, b->further[c - 1]->data, bytes);
    }
    assert_int_equal(a->rounds, b->rounds);
    for (int i = 0; i < a->rounds; i++) { /* of which one may be NaN, and between which bytes may lie */
        const clvox_atlas_round *x = &a->round[i], *y = &b->round[i];
        assert_int_equal(x->deformable, y->deformable);
        assert_memory_equal(&x->removed_voxels, &y->removed_voxels,
                            sizeof *x - offsetof(clvox_atlas_round, removed_voxels));
    }
    for (int i = 0; i < a->subjects; i++) {
        assert_memory_equal(a->map[i].matrix, b->map[i].matrix, sizeof a->map[i].matrix);
        assert_memory_equal(a->map[i].warp->data, b->map[i].warp->data, 3 * bytes);
        assert_memory_equal(a->map[i].inverse_warp->data, b->map[i].inverse_warp->data, 3 * bytes);
        assert_true(a->map[i].likeness == b->map[i].likeness);
        const clvox_volume *own = a->map[i].labels, *other = b->map[i].labels;
        if (own && other)
            assert_memory_equal(own->data, other->data, clvox_grid_voxels(&own->grid) * sizeof(float));
    }
}

clvox_volume *population_ball(const int size[3], double radius)
{
    clvox_grid grid;
    clvox_phantom_grid(size, (const double[3]){2, 2, 2}, false, &grid);
    clvox_volume *v = population_zeros(&grid);
    for (int k = 0; k < (int)clvox_grid_voxels(&grid); k++) {
        const double at[3] = {k % size[0] - size[0] / 2, k / size[0] % size[1] - size[1] / 2,
                              k / (size[0] * size[1]) - size[2] / 2};
        double distance = 2 * sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]) - radius;
        v->data[k] = (float)(100 / (1 + exp(distance / 1.2)));
    }
    return v;
}

double population_radius(const clvox_volume *v)
{
    double volume = 0;
    for (size_t k = 0; k < clvox_grid_voxels(&v->grid); k++)
        volume += (double)v->data[k] / 100 * 8;
    return cbrt(volume * 3 / (4 * 3.14159265358979));
}

void population_options_of_balls(clvox_atlas_options *o)
{
    clvox_atlas_defaults(o);
    o->registration.deform = CLVOX_DEFORM_GREEDY;
    o->registration.linear = CLVOX_LINEAR_NONE;
    clvox_register_preset(&o->registration, CLVOX_PRESET_QUICK);
    o->registration.metric = CLVOX_METRIC_SSD;
}

static clvox_context **others;

clvox_context **population_open_others(void)
{
    const char *device = getenv("CLVOX_DEVICE");
    char list[512];
    device = device && *device ? device : "0";
    snprintf(list, sizeof list, "%s,%s,%s", device, device, device);
    if (!others)
        assert_int_equal(clvox_contexts_create(CONTEXT_OPTIONS(.device = list), &others),
                         POPULATION_OTHERS);
    return others;
}

int population_close(void **state)
{
    clvox_contexts_destroy(&others, POPULATION_OTHERS);
    return harness_close(state);
}
