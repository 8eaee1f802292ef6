/* SPDX-License-Identifier: Apache-2.0 */
/* The planner on devices that are not here, as their limits say. */
#include "check.h"
#include "probe.h"
#include "runtime/registry.h"
#include "runtime/runtime.h"

static const clvox_device_limits devices[] = {
    {.name = "H200", .type = CLVOX_DEVICE_GPU, .architecture = "sm_90", .nvidia_major = 9, .simd = 32,
     .local_bytes = 49152, .max_group = 1024, .max_items = {1024, 1024, 64}},
    {.name = "GTX 480", .type = CLVOX_DEVICE_GPU, .architecture = "sm_20", .nvidia_major = 2, .simd = 32,
     .local_bytes = 49152, .max_group = 1024, .max_items = {1024, 1024, 64}},
    {.name = "MI210", .type = CLVOX_DEVICE_GPU, .architecture = "gfx90a", .amd_simds = 4, .simd = 64,
     .local_bytes = 65536, .max_group = 256, .max_items = {1024, 1024, 1024}},
    {.name = "RX 6800", .type = CLVOX_DEVICE_GPU, .architecture = "gfx1030", .amd_simds = 2, .simd = 32,
     .local_bytes = 65536, .max_group = 256, .max_items = {1024, 1024, 1024}},
    {.name = "8 KiB of local memory", .type = CLVOX_DEVICE_GPU, .simd = 16, .local_bytes = 8192,
     .max_group = 256, .max_items = {256, 256, 256}},
    {.name = "2 KiB of local memory", .type = CLVOX_DEVICE_GPU, .simd = 16, .local_bytes = 2048,
     .max_group = 64, .max_items = {64, 64, 64}},
    {.name = "work-groups of one", .type = CLVOX_DEVICE_GPU, .local_bytes = 16384, .max_group = 1,
     .max_items = {1, 1, 1}},
    {.name = "accelerator", .type = CLVOX_DEVICE_ACCELERATOR, .local_bytes = 16384, .max_group = 128},
    {.name = "PoCL", .type = CLVOX_DEVICE_CPU, .simd = 8, .local_bytes = 524288, .max_group = 4096,
     .max_items = {4096, 4096, 4096}},
    {.name = "a CPU with work-groups of one", .type = CLVOX_DEVICE_CPU, .simd = 4, .local_bytes = 32768,
     .max_group = 1, .max_items = {1, 1, 1}},
};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static int plan(const clvox_device_limits *limits, const clv_entry *entry, clv_candidate *out)
{
    return clv_plan_candidates(limits, entry, 0, out, CLV_MAX_CANDIDATES);
}

static const clvox_device_limits *named(const char *name)
{
    for (int i = 0; i < DEVICES; i++)
        if (!strcmp(devices[i].name, name))
            return &devices[i];
    abort();
}

static void check_probe(void)
{
    clv_candidate c[CLV_MAX_CANDIDATES];
    CHECK_CASE("H200: of the tiles with enough warps the one with the least halo");
    CHECK(plan(named("H200"), &probe, c) == 10);
    CHECK_THAT(c[0].tile.x == 64 && c[0].tile.y == 16 && c[0].automatic, "%s %d", c[0].variant->name,
               c[0].tile.x);
    CHECK_THAT(fabs(c[0].waste - 66.0 * 18 / (64 * 16)) < 1e-9, "%g", c[0].waste);
    CHECK(c[0].local_bytes == 66 * 18 * 4);
    CHECK_CASE("GTX 480: 64x16 leaves two thirds of the warps, 16x4 too few");
    CHECK(plan(named("GTX 480"), &probe, c) == 10);
    CHECK_THAT(c[0].tile.x == 64 && fabs(c[0].resources.most - 2 / 3.0) < 1e-9, "%d %g", c[0].tile.x,
               c[0].resources.most);
    CHECK_THAT(c[3].tile.x == 16 && c[3].resources.most < 0.5, "%d", c[3].tile.x);
    CHECK_CASE("MI210: the largest reported work-group is 256");
    CHECK(plan(named("MI210"), &probe, c) > 0);
    CHECK_THAT(c[0].tile.x == 32 && c[0].tile.y == 8, "%dx%d", c[0].tile.x, c[0].tile.y);
    CHECK_CASE("work-groups of one: tiles of one voxel");
    CHECK(plan(named("work-groups of one"), &probe, c) > 0);
    CHECK(c[0].tile.x == 1 && c[0].tile.y == 1 && c[0].tile.z == 1 && c[0].tile_index == -1);
    CHECK_CASE("CPU devices take rows, in the order of the table");
    CHECK(plan(named("PoCL"), &probe, c) == 10);
    CHECK(!strcmp(c[0].variant->name, "row") && c[0].tile_index == 0 && c[0].automatic);
    CHECK(!strcmp(c[1].variant->name, "row") && c[1].tile_index == 1);
    CHECK(!c[2].automatic && !c[9].automatic && c[9].variant->optional);
    CHECK_CASE("variants that are kept for comparison come last everywhere");
    for (int i = 0; i < DEVICES; i++) {
        int count = plan(&devices[i], &probe, c);
        bool after = false, ordered = true;
        for (int k = 0; k < count; k++) {
            ordered = ordered && !(after && c[k].automatic);
            after = after || !c[k].automatic;
        }
        CHECK_THAT(count > 0 && c[0].automatic && ordered, "%s", devices[i].name);
    }
    CHECK_CASE("no more candidates than there is room for");
    CHECK(clv_plan_candidates(named("H200"), &probe, 0, c, 2) == 2);
}

static void check_shrinking(void)
{
    static const clv_variant variants[] = {
        {.name = "tile", .function = "f", .devices = CLV_ON_GPU,
         .halo = {2, 2, 2}, .cell_bytes = 12, .tiles = {{32, 8, 2, 1}, {16, 8, 4, 1}}}};
    const clv_entry entry = {.file = "f", .name = "only_tiles", .variants = variants, .count = 1};
    clv_candidate c[4];
    CHECK_CASE("a tile is halved along y, x, z until it fits 8 KiB");
    CHECK(clv_plan_candidates(named("8 KiB of local memory"), &entry, 0, c, 4) == 1);
    CHECK_THAT(c[0].tile.y == 1 && c[0].tile.x == 8 && c[0].tile.z == 4 && c[0].tile_index == -1,
               "%dx%dx%d", c[0].tile.x, c[0].tile.y, c[0].tile.z);
    CHECK(c[0].local_bytes <= 8192 && clv_variant_runs(named("8 KiB of local memory"), variants, c[0].tile, 0));
    CHECK_CASE("local memory that the caller adds counts");
    CHECK(clv_plan_candidates(named("8 KiB of local memory"), &entry, 2000, c, 4) == 1);
    CHECK(c[0].local_bytes <= 8192 && c[0].local_bytes > 2000);
    CHECK(clv_plan_candidates(named("8 KiB of local memory"), &entry, 9000, c, 4) == 0);
}

static void check_groups_on_cpu(void)
{
    static const clv_variant variants[] = {
        {.name = "group", .function = "f", .group = {1, 1, 1}, .devices = CLV_ON_ANY, .cell_bytes = 8,
         .planes = 1, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}, {128, 1, 1, 1}}},
        {.name = "item", .function = "g", .devices = CLV_ON_ANY,
         .tiles = {{64, 4, 1, 1}, {32, 1, 1, 1}}}};
    const clv_entry entry = {.file = "f", .name = "groups", .variants = variants, .count = 2};
    clv_candidate c[8];
    CHECK_CASE("on a CPU an item alone, then the largest group that shares local memory, else the table's order");
    CHECK(plan(named("PoCL"), &entry, c) == 6);
    CHECK_THAT(c[0].tile.x == 1 && c[1].tile.x == 256 && c[2].tile.x == 128 && c[3].tile.x == 64, "%d %d",
               c[0].tile.x, c[1].tile.x);
    CHECK(c[4].tile.y == 4 && c[5].tile.x == 32);
    CHECK_CASE("on a GPU the table's order where all fill it");
    CHECK(plan(named("H200"), &entry, c) == 6 && c[0].tile.x == 256);
}

/* Every entry of every operation on every made-up device. */
static void check_entries(void)
{
    static clv_candidate c[CLV_MAX_CANDIDATES];
    for (int i = 0; i < DEVICES; i++) {
        CHECK_CASE("every kernel has a plan: %.60s", devices[i].name);
        const clv_entry *entry;
        for (int e = 0; (entry = clv_entry_at(e)); e++) {
            int count = plan(&devices[i], entry, c);
            CHECK_THAT(count > 0, "%s has no candidate", entry->name);
            for (int k = 0; k < count; k++)
                CHECK_THAT(clv_variant_runs(&devices[i], c[k].variant, c[k].tile, 0), "%s/%s %dx%dx%d",
                           entry->name, c[k].variant->name, c[k].tile.x, c[k].tile.y, c[k].tile.z);
        }
    }
}

int main(void)
{
    check_probe();
    check_shrinking();
    check_groups_on_cpu();
    check_entries();
    return check_end();
}
