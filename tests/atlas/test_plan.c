/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of a template's time and memory. */
#include <math.h>
#include <string.h>

#include "atlas/population.h"
#include "check.h"
#include "op/harness.h"

static clvox_atlas_costs costs(void)
{
    clvox_atlas_costs c = {.at_once = 2, .voxels = 1000, .device_bytes = 50000, .reading = 1, .writing = 3, .opening = 4,
                           .image_bytes = 8000, .label_bytes = 4000, .image_voxels = 2000, .limit = 1};
    c.work[CLVOX_ATLAS_FIRST_LINEAR] = 7;
    c.work[CLVOX_ATLAS_LINEAR] = 5;
    c.work[CLVOX_ATLAS_DEFORMABLE] = 11;
    return c;
}

static void turns_of_the_devices_count(void **state)
{
    const clvox_atlas_costs c = costs();
    clvox_atlas_options o;
    clvox_atlas_plan p = {.devices = 3, .processes = 1, .subjects = 13};
    (void)state;
    clvox_atlas_defaults(&o);
    o.linear_rounds = 3;
    o.rounds = 4;
    clvox_atlas_predict(&c, &o, NULL, 13, &p);
    /* 13 subjects on three devices, two at once on each: three turns. */
    assert_true(p.linear == 3 * (7 + 2 * 5) && p.deformable == 3 * 4 * 11);
    assert_true(p.reading == 13 && p.opening == 0 && p.writing == 39);
    assert_true(fabs(p.all - (p.reading + p.linear + p.deformable + p.writing)) < 1e-9);
    assert_true(p.state_bytes == 24 * 1000 && p.disk_bytes == 0);
    assert_true(p.kept_bytes == 13 * (8000 + 4000 + 28 * 1000 + (o.average == CLVOX_AVERAGE_MEAN ? 0 : 4 * 1000)));
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.registration.deform = CLVOX_DEFORM_NONE;
    clvox_atlas_predict(&c, &o, NULL, 13, &p);
    assert_true(p.linear == 0 && p.deformable == 0 && p.centring == 0);
}

static void subjects_without_weight_take_nothing(void **state)
{
    static const double covariate[] = {0, 0, 1, 1, 9, 9, 9, 9}, at[] = {0, 9};
    const clvox_atlas_regression along = {.covariate = covariate, .at = at, .count = 2, .bandwidth = .5};
    const clvox_atlas_costs c = costs();
    clvox_atlas_options o;
    clvox_atlas_plan p = {.devices = 2, .processes = 2, .subjects = 8};
    (void)state;
    clvox_atlas_defaults(&o);
    o.rounds = 1;
    clvox_atlas_predict(&c, &o, &along, 8, &p);
    /* For either template a process has two subjects, which its device registers at once. */
    assert_true(p.deformable == 2 * 11 && p.writing == 2 * 2 * 3);
}

/* A caller of clvox_atlas_measure sees this. */
typedef struct seen {
    int maps, settled, steps, stop_after;
    bool measuring;
} seen;

static int take_map(void *user, clvox_context *ctx, int at, int subject, clvox_atlas_map *map)
{
    seen *s = user;
    s->maps += ctx != NULL && at == 0 && subject >= 0 && map->warp != NULL;
    return CLVOX_OK;
}

static int settle(void *user)
{
    ((seen *)user)->settled++;
    return CLVOX_OK;
}

static int watch(void *user, const clvox_step *step)
{
    seen *s = user;
    s->measuring = !strcmp(step->stage, "measuring");
    return ++s->steps == s->stop_after;
}

static void a_few_subjects_tell_the_costs(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_costs c = {.at_once = 1, .reading = 5, .limit = 7, .warps = 1};
    clvox_atlas_plan p = {.devices = 2, .processes = 1, .subjects = 12};
    seen s = {.maps = 0};
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    o.map = take_map;
    o.progress = watch;
    o.user = &s;
    assert_int_equal(clvox_atlas_measure(harness_context(), all.s, all.count, NULL, &o, settle, &c),
                     CLVOX_OK);
    assert_true(s.maps == 3 && s.settled == 1 && s.measuring);
    assert_true(c.work[CLVOX_ATLAS_FIRST_LINEAR] > 0 && c.work[CLVOX_ATLAS_DEFORMABLE] > 0 && c.writing > 0);
    assert_true(c.voxels >= 8 && c.device_bytes > 0);
    assert_true(c.image_voxels == clvox_grid_voxels(&all.own[0]->grid));
    assert_true(c.at_once == 1 && c.reading == 5 && c.limit == 7 && c.warps == 1 && c.opening == 0);
    clvox_atlas_predict(&c, &o, NULL, all.count, &p);
    assert_true(p.all > p.reading && p.host_bytes > 0);
    s.stop_after = s.steps + 1;
    assert_int_equal(clvox_atlas_measure(harness_context(), all.s, all.count, NULL, &o, settle, &c),
                     CLVOX_ERROR_STOPPED);
    c.at_once = 0;
    assert_int_equal(clvox_atlas_measure(harness_context(), all.s, all.count, NULL, &o, settle, &c),
                     CLVOX_ERROR_ARGUMENT);
    population_release(&all);
}

int main(void)
{
    harness_open();
    test_case(turns_of_the_devices_count, "seconds go by the turns of the devices, bytes by the subjects");
    test_case(subjects_without_weight_take_nothing, "a regression leaves out subjects of no weight");
    test_case(a_few_subjects_tell_the_costs, "what a few subjects take is measured, the caller's costs stay");
    return test_run("plan", harness_close);
}
