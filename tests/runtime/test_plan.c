/* SPDX-License-Identifier: Apache-2.0 */
/* The planner on devices that are not here, as their limits say. */
#include "check.h"
#include "probe.h"
#include "runtime/kernel/registry.h"
#include "runtime/program/source.h"
#include "runtime/runtime.h"

static const clvox_device_limits devices[] = {
    {.name = "H200", .type = CLVOX_DEVICE_GPU, .architecture = "sm_90", .capability_major = 9, .simd = 32,
     .local_bytes = 49152, .max_group = 1024, .max_items = {1024, 1024, 64}},
    {.name = "GTX 480", .type = CLVOX_DEVICE_GPU, .architecture = "sm_20", .capability_major = 2, .simd = 32,
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

static void h200_of_the_tiles_with_enough_warps(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("H200"), &probe, c) == 10);
    assert_that(c[0].tile.x == 64 && c[0].tile.y == 16 && c[0].automatic, "%s %d",
                c[0].variant->name, c[0].tile.x);
    assert_that(fabs(c[0].waste - 66.0 * 18 / (64 * 16)) < 1e-9, "%g", c[0].waste);
    assert_true(c[0].local_bytes == 66 * 18 * 4);
}

static void gtx_480_64x16_leaves_two_thirds(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("GTX 480"), &probe, c) == 10);
    assert_that(c[0].tile.x == 64 && fabs(c[0].resources.most - 2 / 3.0) < 1e-9, "%d %g",
                c[0].tile.x, c[0].resources.most);
    assert_that(c[3].tile.x == 16 && c[3].resources.most < 0.5, "%d", c[3].tile.x);
}

static void mi210_the_largest_reported_work_group(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("MI210"), &probe, c) > 0);
    assert_that(c[0].tile.x == 32 && c[0].tile.y == 8, "%dx%d", c[0].tile.x,
                c[0].tile.y);
}

static void work_groups_of_one_tiles_of_one_voxel(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("work-groups of one"), &probe, c) > 0);
    assert_true(c[0].tile.x == 1 && c[0].tile.y == 1 && c[0].tile.z == 1 &&
                c[0].tile_index == -1);
}

static void cpu_devices_take_rows_in_the_order(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("PoCL"), &probe, c) == 10);
    assert_true(!strcmp(c[0].variant->name, "row") && c[0].tile_index == 0 &&
                c[0].automatic);
    assert_true(!strcmp(c[1].variant->name, "row") && c[1].tile_index == 1);
    assert_true(!c[2].automatic && !c[9].automatic && c[9].variant->optional);
}

static void variants_that_are_kept_for_comparison_come(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    for (int i = 0; i < DEVICES; i++) {
        int count = plan(&devices[i], &probe, c);
        bool after = false, ordered = true;
        for (int k = 0; k < count; k++) {
            ordered = ordered && !(after && c[k].automatic);
            after = after || !c[k].automatic;
        }
        assert_that(count > 0 && c[0].automatic && ordered, "%s", devices[i].name);
    }
}

static void no_more_candidates_than_there_is_room(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(clv_plan_candidates(named("H200"), &probe, 0, c, 2) == 2);
}

static void check_probe(void)
{
    test_case(h200_of_the_tiles_with_enough_warps,
              "H200: of the tiles with enough warps the one with the least halo");
    test_case(gtx_480_64x16_leaves_two_thirds, "GTX 480: 64x16 leaves two thirds of the warps, 16x4 too few");
    test_case(mi210_the_largest_reported_work_group, "MI210: the largest reported work-group is 256");
    test_case(work_groups_of_one_tiles_of_one_voxel, "work-groups of one: tiles of one voxel");
    test_case(cpu_devices_take_rows_in_the_order, "CPU devices take rows, in the order of the table");
    test_case(variants_that_are_kept_for_comparison_come,
              "variants that are kept for comparison come last everywhere");
    test_case(no_more_candidates_than_there_is_room, "no more candidates than there is room for");
}

static const clv_variant tile_variants[] = {
    {.name = "tile", .function = "f", .devices = CLV_ON_GPU,
     .halo = {2, 2, 2}, .cell_bytes = 12, .tiles = {{32, 8, 2, 1}, {16, 8, 4, 1}}}};
static const clv_entry tiles = CLV_ENTRY("f", "only_tiles", tile_variants, NULL);

static void a_tile_is_halved_along_y_x_z_until_it_fits(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(clv_plan_candidates(named("8 KiB of local memory"), &tiles, 0,
                                    c, CLV_MAX_CANDIDATES) == 1);
    assert_that(c[0].tile.y == 1 && c[0].tile.x == 8 &&
                    c[0].tile.z == 4 && c[0].tile_index == -1,
                "%dx%dx%d", c[0].tile.x, c[0].tile.y,
                c[0].tile.z);
    assert_true(
        c[0].local_bytes <= 8192 &&
        clv_variant_runs(named("8 KiB of local memory"), tile_variants, c[0].tile, 0));
}

static void local_memory_that_the_caller_adds_counts(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(clv_plan_candidates(named("8 KiB of local memory"), &tiles, 2000,
                                    c, CLV_MAX_CANDIDATES) == 1);
    assert_true(c[0].local_bytes <= 8192 &&
                c[0].local_bytes > 2000);
    assert_true(clv_plan_candidates(named("8 KiB of local memory"), &tiles, 9000,
                                    c, CLV_MAX_CANDIDATES) == 0);
}

static void check_shrinking(void)
{
    test_case(a_tile_is_halved_along_y_x_z_until_it_fits,
              "a tile is halved along y, x, z until it fits 8 KiB");
    test_case(local_memory_that_the_caller_adds_counts, "local memory that the caller adds counts");
}

static const clv_variant group_variants[] = {
    {.name = "group", .function = "f", .group = {1, 1, 1}, .devices = CLV_ON_ANY, .cell_bytes = 8,
     .planes = 1, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}, {128, 1, 1, 1}}},
    {.name = "item", .function = "g", .devices = CLV_ON_ANY,
     .tiles = {{64, 4, 1, 1}, {32, 1, 1, 1}}}};
static const clv_entry groups = CLV_ENTRY("f", "groups", group_variants, NULL);

static void on_a_cpu_an_item_alone_then_the_largest(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("PoCL"), &groups, c) == 6);
    assert_that(
        c[0].tile.x == 1 && c[1].tile.x == 256 &&
            c[2].tile.x == 128 && c[3].tile.x == 64,
        "%d %d", c[0].tile.x, c[1].tile.x);
    assert_true(c[4].tile.y == 4 && c[5].tile.x == 32);
}

static void on_a_gpu_the_tables_order_where_all_fill(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    assert_true(plan(named("H200"), &groups, c) == 6 &&
                c[0].tile.x == 256);
}

static const clv_variant image_variants[] = {
    {.name = "image", .function = "f", .devices = CLV_ON_GPU, .image = true, .tiles = {{64, 1, 1, 1}}},
    {.name = "buffer", .function = "g", .devices = CLV_ON_ANY, .tiles = {{64, 1, 1, 1}}}};
static const clv_entry images = CLV_ENTRY("f", "images", image_variants, NULL);

/* AMD's MI300 is such a GPU. */
static void no_variant_reads_images_where_there_are_none(void **state)
{
    (void)state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    clvox_device_limits gpu = *named("H200");
    gpu.images = true;
    assert_true(plan(&gpu, &images, c) == 2 && c[0].variant->image);
    gpu.images = false;
    assert_true(plan(&gpu, &images, c) == 1 && !c[0].variant->image);
    gpu.images = true;
    gpu.type = CLVOX_DEVICE_CPU;
    assert_true(plan(&gpu, &images, c) == 2 && !c[0].variant->image);
}

static void check_groups_on_cpu(void)
{
    test_case(
        on_a_cpu_an_item_alone_then_the_largest,
        "on a CPU an item alone, then the largest group that shares local memory, else the table's order");
    test_case(on_a_gpu_the_tables_order_where_all_fill, "on a GPU the table's order where all fill it");
    test_case(no_variant_reads_images_where_there_are_none,
              "no variant reads images where a device has none");
}

static const clv_variant reason_variants[] = {
    {.name = "halo", .function = "f", .halo = {1, 1, 0}, .devices = CLV_ON_ANY,
     .tiles = {{16, 16, 1, 1}, {32, 32, 1, 1}}},
    {.name = "fill", .function = "f", .devices = CLV_ON_GPU, .tiles = {{64, 1, 1, 1}, {32, 16, 1, 1}}},
    {.name = "small", .function = "f", .devices = CLV_ON_GPU, .tiles = {{32, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "order", .function = "f", .devices = CLV_ON_GPU, .tiles = {{256, 1, 1, 1}, {512, 1, 1, 1}}},
    {.name = "one", .function = "f", .devices = CLV_ON_GPU, .tiles = {{256, 1, 1, 1}}},
    {.name = "large", .function = "f", .group = {1, 1, 1}, .devices = CLV_ON_CPU, .fixed_bytes = 64,
     .tiles = {{64, 1, 1, 1}, {256, 1, 1, 1}}},
    {.name = "alone", .function = "f", .group = {1, 1, 1}, .devices = CLV_ON_CPU, .fixed_bytes = 64,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
};
static const clv_entry reasons = CLV_ENTRY("f", "reasons", reason_variants, NULL);

/* The rule of the first tile that a device has for a variant; of the second where second is set. */
static const char *reason(const char *device, const clv_entry *entry, const char *variant, bool second)
{
    clv_candidate c[CLV_MAX_CANDIDATES];
    const int count = plan(named(device), entry, c);
    int at = 0;
    while (at < count && strcmp(c[at].variant->name, variant) != 0)
        at++;
    assert_true(at < count);
    return clv_plan_reason(named(device), c, count, c[at].variant, c[at + second].tile);
}

static void each_rule_of_the_planner_is_named(void **state)
{
    (void)state;
    assert_string_equal(reason("H200", &reasons, "halo", false), "least halo");
    assert_string_equal(reason("PoCL", &reasons, "halo", false), "least halo");
    assert_string_equal(reason("GTX 480", &reasons, "fill", false), "fills half");
    assert_string_equal(reason("GTX 480", &reasons, "small", false), "fills most");
    assert_string_equal(reason("H200", &reasons, "order", false), "table order");
    assert_string_equal(reason("H200", &reasons, "order", true), "next choice");
    assert_string_equal(reason("H200", &reasons, "one", false), "only tile");
    assert_string_equal(reason("PoCL", &reasons, "large", false), "most items");
    assert_string_equal(reason("PoCL", &reasons, "alone", false), "item alone");
    assert_string_equal(reason("8 KiB of local memory", &tiles, "tile", false), "made to fit");
}

/* What grows with the compute units is taken where these are few, and still runs elsewhere. */
static void few_units_take_what_grows_with_them(void **state)
{
    (void)state;
    static const clv_variant unit_variants[] = {
        {.name = "slab", .function = "f", .devices = CLV_ON_CPU, .most_units = 4, .tiles = {{1, 1, 1, 1}}},
        {.name = "row", .function = "f", .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
    };
    static const clv_entry units = CLV_ENTRY("f", "units", unit_variants, NULL);
    clvox_device_limits cpu = *named("PoCL");
    for (cpu.compute_units = 4; cpu.compute_units <= 5; cpu.compute_units++) {
        clv_candidate c[CLV_MAX_CANDIDATES];
        assert_true(plan(&cpu, &units, c) == 2 && c[0].automatic);
        assert_string_equal(c[0].variant->name, cpu.compute_units == 4 ? "slab" : "row");
        assert_true(c[1].automatic == (cpu.compute_units == 4));
    }
}

/* Rounds of the device's groups over 182x218x182 voxels, and over as many elements in a row. */
static void waves_count_groups_over_the_device(void **state)
{
    (void)state;
    static const int size[3] = {182, 218, 182};
    static const clv_variant row_variants[] = {{.name = "row", .function = "f", .tiles = {{256, 1, 1, 1}}}};
    static const clv_entry row = CLV_ENTRY("f", "row", row_variants, NULL);
    clvox_device_limits h200 = *named("H200"), cpu = *named("PoCL");
    clv_kernel k = {.entry = &probe, .variant = &probe_variants[0], .group = {32, 8, 8}};
    h200.compute_units = 132;
    cpu.compute_units = 4;
    clv_occupancy_of(&h200, &(clv_footprint){256, 40, -1, 0}, &k.resources);
    assert_true(fabs(clv_launch_waves(&h200, &k, size) - 6 * 28 * 23 / 6.0 / 132) < 1e-12);
    assert_true(fabs(clv_launch_waves(&cpu, &k, size) - 6 * 28 * 23 / 4.0) < 1e-12);
    clv_kernel flat = {
        .entry = &row, .variant = row_variants, .group = {256, 1, 1}, .resources = k.resources};
    assert_true(fabs(clv_launch_waves(&h200, &flat, size) - 28208 / 6.0 / 132) < 1e-12);
    flat.resources.groups = -1;
    assert_true(clv_launch_waves(&h200, &flat, size) < 0);
    clv_kernel shares = k;
    shares.tile = (clv_tile){256, 1, 1, 1};
    shares.group[0] = shares.group[1] = shares.group[2] = 1;
    assert_true(clv_launch_waves(&h200, &shares, size) < 0);
}

static void check_reasons(void)
{
    test_case(each_rule_of_the_planner_is_named, "each rule by which a tile is taken has its name");
    test_case(few_units_take_what_grows_with_them, "what grows with the compute units is taken where they are few");
    test_case(waves_count_groups_over_the_device, "waves count work-groups over the device");
}

/* Every entry of every operation on every made-up device. */
static void every_kernel_has_a_plan(void **state)
{
    const int *given = *state;
    clv_candidate c[CLV_MAX_CANDIDATES];
    int i = given[0];
    const clv_entry *entry;
    for (int e = 0; (entry = clv_entry_at(e)); e++) {
        int count = plan(&devices[i], entry, c);
        assert_that(count > 0, "%s has no candidate", entry->name);
        for (int k = 0; k < count; k++)
            assert_that(clv_variant_runs(&devices[i], c[k].variant, c[k].tile, 0),
                        "%s/%s %dx%dx%d", entry->name, c[k].variant->name, c[k].tile.x,
                        c[k].tile.y, c[k].tile.z);
    }
}

/* Drivers may run no more than a few items of a kernel whose work-group they do not know (Mesa: 32). */
static void every_kernel_says_its_work_group(void **state)
{
    (void)state;
    const clv_entry *entry;
    for (int e = 0; (entry = clv_entry_at(e)); e++)
        for (int v = 0; v < entry->count; v++) {
            const char *name = entry->variants[v].function;
            char *text, word[96];
            bool found = false;
            assert_ok(clv_source_assemble(entry->file, name, &text));
            snprintf(word, sizeof word, "%s(", name);
            for (char *at = text; (at = strstr(at, word)); at++) {
                char *start = at, first = *at;
                while (start > text && at - start < 300 && strncmp(start, "__kernel", 8) != 0)
                    start--;
                *at = 0;
                found = found || (!strncmp(start, "__kernel", 8) && strstr(start, "reqd_work_group_size"));
                *at = first;
            }
            free(text);
            assert_that(found, "cl/%s.cl: %s", entry->file, name);
        }
}

static void check_entries(void)
{
    test_case(every_kernel_says_its_work_group, "every kernel tells the compiler its work-group");
    for (int i = 0; i < DEVICES; i++)
        test_case_at(every_kernel_has_a_plan, TEST_AT(i), "every kernel has a plan: %.60s", devices[i].name);
}

int main(void)
{
    check_probe();
    check_shrinking();
    check_groups_on_cpu();
    check_reasons();
    check_entries();
    return test_run("plan", NULL);
}
