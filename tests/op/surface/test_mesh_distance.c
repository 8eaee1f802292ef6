/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/surface/mesh_distance.h"
#include "ref/surface/mesh_distance.h"

enum { TRIANGLES = 37, CELLS = 29 };

typedef struct problem {
    double corners[TRIANGLES][9];
    float records[TRIANGLES][CLV_MESH_RECORD];
    int32_t cells[CELLS + 1][4];
    int32_t list[CELLS * TRIANGLES];
    int count, triangles;
    double origin[3];
} problem;

/* Triangles of all shapes within some voxels of a to_position far from 0, each third
 * cell without a list. The same triangle twice, one listed backwards. */
static void make(problem *p, unsigned seed, double edge, double far)
{
    float random[9 * TRIANGLES];
    harness_random(random, 9 * TRIANGLES, seed, -1, 1);
    for (int k = 0; k < 3; k++)
        p->origin[k] = far * (k + 1);
    p->triangles = TRIANGLES;
    for (int t = 0; t < TRIANGLES; t++) {
        for (int k = 0; k < 9; k++)
            p->corners[t][k] = p->origin[k % 3] + 6 * random[9 * t + k % 3] +
                               (k >= 3 ? edge * random[9 * t + k] : 0);
        if (t == 5) /* a point, a line, a needle, a copy */
            for (int k = 0; k < 6; k++)
                p->corners[t][3 + k] = p->corners[t][k % 3];
        if (t == 6)
            for (int k = 0; k < 3; k++)
                p->corners[t][6 + k] = 2 * p->corners[t][3 + k] - p->corners[t][k];
        if (t == 7)
            for (int k = 0; k < 3; k++)
                p->corners[t][6 + k] = p->corners[t][k] + 1e-4 * random[k];
        if (t == 9)
            memcpy(p->corners[9], p->corners[8], sizeof p->corners[9]);
        clv_mesh_record(p->corners[t], p->origin, p->records[t]);
    }
    int n = 0;
    p->count = CELLS;
    for (int c = 0; c <= CELLS; c++) {
        const int32_t cell[4] = {2 * (c % 3) - 2, 2 * (c / 3 % 3), 2 * (c / 9) - 3, n};
        memcpy(p->cells[c], cell, sizeof cell);
        for (int t = 0; t < TRIANGLES && c % 3 != 2 && c < CELLS; t++)
            if ((t * 7 + c) % 5)
                p->list[n++] = c % 2 ? TRIANGLES - 1 - t : t;
    }
}

static const float to_position[3][4] = {{.7f, .1f, 0, -.4f}, {-.2f, 1.1f, .3f, .9f}, {.05f, 0, -1.9f, .3f}};

static void test(clvox_context *ctx, problem *p, double far)
{
    size_t n = (size_t)(8 * p->count);
    float *squared = malloc(n * sizeof *squared);
    int32_t *nearest = malloc(n * sizeof *nearest);
    clv_buffer *triangles = harness_upload(ctx, p->records, sizeof p->records);
    clv_buffer *cells = harness_upload(ctx, p->cells, sizeof p->cells);
    clv_buffer *list = harness_upload(ctx, p->list, sizeof p->list);
    clv_buffer *out[2] = {harness_output(ctx, n * 4), harness_output(ctx, n * 4)};
    clv_mesh_cells args = {.triangles = triangles, .cells = cells, .list = list, .count = p->count};
    memcpy(args.to_position, to_position, sizeof to_position);
    assert_int_equal(clv_mesh_distance(ctx, &args, out[0], out[1]), CLVOX_OK);
    harness_download(ctx, out[0], squared, n * 4);
    harness_download(ctx, out[1], nearest, n * 4);
    double worst = 0;
    for (int i = 0; i < 8 * p->count; i++) {
        const int32_t *cell = p->cells[i / 8];
        double at[3], best = INFINITY, chosen = INFINITY, l[3];
        int equal = -1, lane = i % 8;
        for (int k = 0; k < 3; k++)
            l[k] = cell[k] + (k == 0 ? lane & 1 : k == 1 ? lane >> 1 & 1 : lane >> 2);
        for (int k = 0; k < 3; k++)
            at[k] = p->origin[k] + (double)to_position[k][0] * l[0] + (double)to_position[k][1] * l[1] +
                    (double)to_position[k][2] * l[2] + (double)to_position[k][3];
        for (int k = cell[3]; k < cell[7]; k++) {
            double d = ref_triangle_squared(p->corners[p->list[k]], at);
            best = fmin(best, d);
            if (p->list[k] == nearest[i])
                chosen = d;
            if (p->list[k] == 8)
                equal = 8;
        }
        if (cell[3] == cell[7]) {
            assert_true(squared[i] == INFINITY && nearest[i] == -1);
            continue;
        }
        worst = fmax(worst, fabs(sqrt((double)squared[i]) - sqrt(best)));
        worst = fmax(worst, sqrt(chosen) - sqrt(best));
        /* The first of the two copies, if both are listed. */
        assert_true(nearest[i] != 9 || equal != 8);
    }
    assert_that(worst < 1e-5, "off by %g mm (far %g)", worst, far);
    free(squared);
    free(nearest);
    for (int i = 0; i < 2; i++)
        clv_buffer_destroy(&out[i]);
    clv_buffer_destroy(&triangles);
    clv_buffer_destroy(&cells);
    clv_buffer_destroy(&list);
}

static void mesh_distance_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    problem *p = malloc(sizeof *p);
    for (int i = 0; i < 3; i++) {
        make(p, 3 + (unsigned)i, i == 0 ? 1 : i == 1 ? 20 : .01, i == 2 ? 300 : 0);
        test(ctx, p, p->origin[0]);
        p->count = 1;
        test(ctx, p, p->origin[0]);
    }
    free(p);
}

static void no_cell(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_int_equal(clv_mesh_distance(ctx, &(clv_mesh_cells){.count = 0}, NULL, NULL), CLVOX_OK);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_mesh_distance, mesh_distance_against_the_reference, NULL, 0,
                  "against the reference");
    test_case(no_cell, "no cell");
    return test_run("mesh distance", harness_close);
}
