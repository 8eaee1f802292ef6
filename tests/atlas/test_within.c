/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of one person's scans, whose maps are known. */
#include "atlas/population.h"
#include "base/matrix.h"
#include "op/harness.h"
#include "phantom/phantom.h"

static clvox_context *ctx;

/* A head, and the same head moved by a rigid map, of which a part has moved by another 6 mm. */
typedef struct scans {
    population all;
    clvox_volume *head; /* voxels of the first image that count: the rest of the head */
    double truth[4][4];
} scans;

enum { PART = 14 }; /* slices */

static void make_scans(scans *s, bool changed)
{
    clvox_grid grid;
    clv_phantom phantom;
    clvox_volume *still = NULL, *moved = NULL, *also = NULL;
    double other[4][4];
    const double c = cos(.06), d = sin(.06);
    const double back[4][4] = {{c, -d, 0, 3.3}, {d, c, 0, -2.1}, {0, 0, 1, 1.7}, {0, 0, 0, 1}};
    *s = (scans){.head = NULL};
    clvox_phantom_grid((int[3]){47, 53, 41}, (double[3]){4, 4, 4}, false, &grid);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &grid, 7, 0, &phantom));
    assert_ok(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &still));
    assert_ok(clv_phantom_labels(&phantom, &grid, NULL, NULL, &s->head));
    assert_ok(clv_phantom_image(&phantom, &grid, back, NULL, 2, &moved));
    clv_matrix_copy(back, other);
    other[1][3] += 6;
    assert_ok(clv_phantom_image(&phantom, &grid, CLV_MATRIX(other), NULL, 2, &also));
    const size_t slice = (size_t)grid.size[0] * (size_t)grid.size[1];
    if (changed)
        memcpy(moved->data, also->data, PART * slice * sizeof(float));
    memset(s->head->data, 0, (PART + 2) * slice * sizeof(float));
    clv_phantom_free(&phantom);
    clvox_volume_destroy(&also);
    population_add(&s->all, still);
    population_add(&s->all, moved);
    assert_int_equal(clv_matrix_invert(back, s->truth), 0);
}

static void free_scans(scans *s)
{
    population_release(&s->all);
    clvox_volume_destroy(&s->head);
}

/* rms distance in mm, over the rest of the head, of the map from the first scan to the second from the
 * truth. */
static double error_of(const scans *s, const clvox_atlas_result *r)
{
    double map[4][4], sum = 0, n = 0;
    const clvox_grid *g = &s->head->grid;
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(r->map[0].matrix), map), 0);
    clv_matrix_multiply(CLV_MATRIX(r->map[1].matrix), CLV_MATRIX(map), map);
    for (size_t i = 0; i < clvox_grid_voxels(g); i++) {
        const size_t nx = (size_t)g->size[0], ny = (size_t)g->size[1];
        const double at[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / (nx * ny))};
        double x[3], y[3], z[3];
        if (!(s->head->data[i] > 0))
            continue;
        clv_matrix_apply(CLV_MATRIX(g->to_ras), at, x);
        clv_matrix_apply(CLV_MATRIX(map), x, y);
        clv_matrix_apply(CLV_MATRIX(s->truth), x, z);
        for (int k = 0; k < 3; k++)
            sum += (y[k] - z[k]) * (y[k] - z[k]);
        n++;
    }
    return sqrt(sum / n);
}

static void options_of(clvox_atlas_options *o)
{
    clvox_atlas_defaults(o);
    clvox_atlas_within(o);
    o->registration.deform = CLVOX_DEFORM_NONE;
}

static void change_does_not_pull(void **state)
{
    scans s;
    clvox_atlas_options o;
    clvox_atlas_result r;
    double error[2];
    (void)state;
    options_of(&o);
    make_scans(&s, true);
    for (int robust = 0; robust < 2; robust++) {
        o.registration.robust = robust;
        population_build(&s.all, &o, &r);
        error[robust] = error_of(&s, &r);
        clvox_atlas_result_destroy(&r);
    }
    assert_that(error[1] < .15 && error[1] < .15 * error[0], "%.3f mm, %.3f where all counts alike", error[1],
                error[0]);
    free_scans(&s);
}

/* The template lies half-way, and the maps are those of the scans in another order, bit for bit. */
static void exchanged_scans(void **state)
{
    scans s;
    clvox_atlas_options o;
    clvox_atlas_result r, exchanged;
    double both[4][4];
    (void)state;
    options_of(&o);
    make_scans(&s, false);
    population_build(&s.all, &o, &r);
    assert_int_equal(r.rounds, 1);
    assert_that(error_of(&s, &r) < .05, "%.3f mm", error_of(&s, &r));
    clv_matrix_multiply(CLV_MATRIX(r.map[0].matrix), CLV_MATRIX(r.map[1].matrix), both);
    for (int i = 0; i < 16; i++)
        assert_that(fabs(both[i / 4][i % 4] - (i % 5 == 0)) < 1e-9, "entry %d of there and back: %g", i,
                    both[i / 4][i % 4]);
    const clvox_atlas_subject first = s.all.s[0];
    s.all.s[0] = s.all.s[1];
    s.all.s[1] = first;
    population_build(&s.all, &o, &exchanged);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(r.map[i].matrix, exchanged.map[1 - i].matrix, sizeof r.map[i].matrix);
    assert_that(population_apart(exchanged.average, r.average) == 0, "another template");
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&exchanged);
    free_scans(&s);
}

static void equal_scans(void **state)
{
    scans s;
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    options_of(&o);
    o.keep_intensities = 1;
    make_scans(&s, false);
    clvox_volume *copy = population_copy(s.all.own[0]);
    copy->data[0] += 1e-3f; /* so that it is registered by itself */
    population_add(&s.all, copy);
    s.all.s[1] = s.all.s[2];
    s.all.count = 2;
    o.linear_rounds = 2; /* what is asked is done */
    population_build(&s.all, &o, &r);
    assert_int_equal(r.rounds, 2);
    double most = 0;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 16; k++)
            most = fmax(most, fabs(r.map[i].matrix[k / 4][k % 4] - (k % 5 == 0)));
    assert_that(most < 1e-3, "equal scans are %g apart", most);
    s.all.count = 3;
    clvox_atlas_result_destroy(&r);
    free_scans(&s);
}

/* Nothing says what differs between images of other contrasts. */
static void other_contrast(void **state)
{
    scans s;
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    options_of(&o);
    make_scans(&s, false);
    for (size_t i = 0; i < clvox_grid_voxels(&s.head->grid); i++)
        s.all.own[1]->data[i] = (float)(i * 2654435761u >> 12 & 255);
    assert_int_equal(clvox_atlas(ctx, s.all.s, 2, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "correlate too little"));
    free_scans(&s);
}

int main(void)
{
    ctx = harness_open();
    test_case(change_does_not_pull, "a part that moved by itself does not pull the map");
    test_case(exchanged_scans, "two scans meet half-way, in either order");
    test_case(equal_scans, "equal scans give the identity");
    test_case(other_contrast, "images of another contrast are refused");
    return test_run("within", harness_close);
}
