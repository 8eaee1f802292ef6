/* SPDX-License-Identifier: Apache-2.0 */
/* Whole pipelines on phantoms, from host memory to host memory. */
#include "bench_table.h"
#include "clvox/registration.h"
#include "pipeline/phantom.h"

/* Bytes that an iteration must move for each voxel.
 * Unbiased: force 32, smoothing 72, rate 60, update 36.
 * Greedy: warp 20, LNCC 44, push 32, smoothing 72, longest 12, advance 36, elastic smoothing 24.
 * Symmetric: two warps 40, LNCC with both slopes 64, and the rest twice. */
static const struct {
    clvox_deform deform;
    const char *name;
    double bytes;
} models[] = {
    {CLVOX_DEFORM_UNBIASED, "unbiased", 200},
    {CLVOX_DEFORM_GREEDY, "greedy", 240},
    {CLVOX_DEFORM_SYN, "syn", 456},
};

static int time_model(clvox_context *ctx, int index, const clvox_register_images *images, double ceiling,
                      FILE *out, cJSON *rows)
{
    enum { RUNS = 4 };
    int status = CLVOX_OK;
    clvox_register_options options;
    const clvox_grid *grid = &images->fixed[0]->grid;
    double floor = 0;
    clvox_register_defaults(&options);
    options.deform = models[index].deform;
    clvox_register_preset(&options, CLVOX_PRESET_DEFAULT);
    options.tolerance = 0;
    for (int i = 0; i < options.levels; i++)
        floor += options.iterations[i] * models[index].bytes * (double)clvox_grid_voxels(grid) /
                 (options.shrink[i] * options.shrink[i] * options.shrink[i]) / ceiling;
    fprintf(out, "register %s, iterations", models[index].name);
    for (int i = 0; i < options.levels; i++)
        fprintf(out, "%s%d", i ? "x" : " ", options.iterations[i]);
    fprintf(out, ", %g bytes a voxel and iteration\n", models[index].bytes);
    for (int run = 0; run < RUNS; run++) {
        clvox_register_result r;
        CLV_TRY(clvox_register(ctx, images, &options, &r));
        fprintf(out, "%-6s %9.4f %9.4f %9.4f %9.4f %14.2f\n", run ? "warm" : "cold", r.seconds_prepare,
                r.seconds_linear, r.seconds_deform, r.seconds_finish, r.seconds_deform / floor);
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", models[index].name);
        cJSON_AddStringToObject(row, "run", run ? "warm" : "cold");
        cJSON_AddNumberToObject(row, "seconds_linear", r.seconds_linear);
        cJSON_AddNumberToObject(row, "seconds_deform", r.seconds_deform);
        cJSON_AddNumberToObject(row, "seconds_finish", r.seconds_finish);
        cJSON_AddNumberToObject(row, "floor_deform", floor);
        cJSON_AddItemToArray(rows, row);
        clvox_register_result_free(&r);
    }
end:
    return status;
}

int bench_pipelines(clvox_context *ctx, const int size[3], FILE *out, cJSON *json)
{
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    double ceiling;
    bench_data data = {0};
    clvox_grid grid;
    clv_phantom phantom = {0};
    clv_phantom_warp warp;
    clvox_volume *fixed = NULL, *moving = NULL;
    cJSON *rows = cJSON_AddArrayToObject(json, "pipelines");

    CLV_TRY(bench_data_create(ctx, size, &data));
    CLV_TRY(bench_ceiling(&data, 0.3, &ceiling));
    bench_data_release(&data);
    clv_phantom_grid(size, spacing, false, &grid);
    CLV_TRY(clv_phantom_make(CLV_PHANTOM_TEXTURED, &grid, 1, 0, &phantom));
    CLV_TRY(clv_phantom_warp_make(&grid, 0.02 * size[0], 1, &warp));
    CLV_TRY(clv_phantom_image(&phantom, &grid, NULL, &warp, 1, &fixed));
    CLV_TRY(clv_phantom_image(&phantom, &grid, NULL, NULL, 2, &moving));
    const clvox_register_images images = {.fixed = {fixed}, .moving = {moving}, .channels = 1};
    fprintf(out, "%dx%dx%d phantom on %s\n", size[0], size[1], size[2], clvox_context_limits(ctx)->name);
    fprintf(out, "%-6s %9s %9s %9s %9s %14s\n", "run", "prepare", "linear", "deform", "finish",
            "deform / floor");
    for (int i = 0; i < (int)(sizeof models / sizeof *models); i++)
        CLV_TRY(time_model(ctx, i, &images, ceiling, out, rows));
end:
    bench_data_release(&data);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    clv_phantom_free(&phantom);
    return status;
}
