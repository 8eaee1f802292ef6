/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy against figures of the vendors' calculators and of Lee et al. (2012), table 1. */
#include "check.h"
#include "runtime/plan/codeobject.h"
#include "runtime/plan/occupancy.h"

static clvox_device_limits nvidia(int major, int minor)
{
    return (clvox_device_limits){
        .type = CLVOX_DEVICE_GPU, .capability_major = major, .capability_minor = minor, .simd = 32};
}

static clvox_device_limits amd(const char *architecture, int wavefront)
{
    clvox_device_limits l = {.type = CLVOX_DEVICE_GPU, .simd = wavefront, .amd_simds = 4};
    snprintf(l.architecture, sizeof l.architecture, "%s", architecture);
    return l;
}

typedef struct row {
    const char *what;
    clvox_device_limits limits;
    clv_footprint footprint;
    int groups;
    double fraction;
    const char *limit;
} row;

static void items_registers_bytes(void **state)
{
    const row *r = *state;
    clv_occupancy o;
    clv_occupancy_of(&r->limits, &r->footprint, &o);
    assert_that(o.groups == r->groups, "%d groups, not %d", o.groups, r->groups);
    assert_that(fabs(o.fraction - r->fraction) < 1e-9, "%g, not %g", o.fraction, r->fraction);
    assert_that(!strcmp(o.limit, r->limit), "by %s, not %s", o.limit, r->limit);
}

static void check_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        test_case_at(items_registers_bytes, TEST_OF(*r), "%s: %d items, %d registers, %zu bytes", r->what,
                     r->footprint.items, r->footprint.registers, r->footprint.local_bytes);
    }
}

#define ROWS(rows) check_rows(rows, sizeof rows / sizeof rows[0])

static void check_nvidia(void)
{
    const row rows[] = {
        {"sm_90", nvidia(9, 0), {256, 40, -1, 4000}, 6, 0.75, "registers"},
        {"sm_90", nvidia(9, 0), {512, 72, -1, 49152}, 1, 0.25, "registers"},
        {"sm_90, full", nvidia(9, 0), {256, 32, -1, 0}, 8, 1.0, "warps"},
        {"sm_90, smallest group", nvidia(9, 0), {1, 16, -1, 0}, 32, 0.5, "work-groups"},
        {"sm_90, half a warp more", nvidia(9, 0), {48, 16, -1, 0}, 32, 1.0, "warps"},
        {"sm_90, 48 KiB with the reserve", nvidia(9, 0), {128, 32, -1, 49152}, 4, 0.25, "local memory"},
        {"sm_90, more registers than there are", nvidia(9, 0), {1024, 65, -1, 0}, 0, 0.0, "registers"},
        {"sm_90, 255 registers", nvidia(9, 0), {256, 255, -1, 0}, 1, 0.125, "registers"},
        {"sm_90, 256 registers", nvidia(9, 0), {32, 256, -1, 0}, 0, 0.0, "registers"},
        {"sm_70", nvidia(7, 0), {256, 32, -1, 24576}, 4, 0.5, "local memory"},
        {"sm_75", nvidia(7, 5), {256, 32, -1, 0}, 4, 1.0, "warps"},
        {"sm_80", nvidia(8, 0), {256, 64, -1, 0}, 4, 0.5, "registers"},
        {"sm_86", nvidia(8, 6), {256, 40, -1, 0}, 6, 1.0, "warps"},
        {"sm_89, small groups", nvidia(8, 9), {32, 32, -1, 0}, 24, 0.5, "work-groups"},
        {"sm_120", nvidia(12, 0), {512, 40, -1, 0}, 3, 1.0, "warps"},
        /* Table 1: recompute with all registers, recompute with 35, reuse */
        {"GTX 480, recompute", nvidia(2, 0), {32 * 16, 63, -1, 8640}, 1, 16 / 48.0, "registers"},
        {"GTX 480, recompute, capped", nvidia(2, 0), {32 * 10, 35, -1, 4364}, 2, 20 / 48.0, "registers"},
        {"GTX 480, reuse", nvidia(2, 0), {32 * 16, 24, -1, 49152}, 1, 16 / 48.0, "local memory"},
        /* equation 1 as printed: registers by work-group */
        {"G80", nvidia(1, 0), {256, 10, -1, 4096}, 3, 1.0, "warps"},
        {"sm_11", nvidia(1, 1), {128, 16, -1, 2000}, 4, 16 / 24.0, "registers"},
        {"sm_12, an odd count of warps", nvidia(1, 2), {96, 20, -1, 1000}, 6, 18 / 32.0, "registers"},
        {"GT200", nvidia(1, 3), {192, 21, -1, 512}, 4, 24 / 32.0, "registers"},
        /* the other compute capabilities, by the rules of NVIDIA's calculator */
        {"sm_21", nvidia(2, 1), {256, 21, -1, 0}, 5, 40 / 48.0, "registers"},
        {"sm_30", nvidia(3, 0), {192, 40, -1, 0}, 8, 0.75, "registers"},
        {"sm_35", nvidia(3, 5), {1024, 32, -1, 16384}, 2, 1.0, "warps"},
        {"sm_37", nvidia(3, 7), {256, 64, -1, 20000}, 5, 0.625, "local memory"},
        {"sm_50", nvidia(5, 0), {32, 32, -1, 0}, 32, 0.5, "work-groups"},
        {"sm_52", nvidia(5, 2), {128, 40, -1, 12288}, 8, 0.5, "local memory"},
        {"sm_60, two parts", nvidia(6, 0), {320, 33, -1, 0}, 5, 50 / 64.0, "registers"},
        {"sm_61, four parts", nvidia(6, 1), {320, 33, -1, 0}, 4, 40 / 64.0, "registers"},
        {"sm_100", nvidia(10, 0), {256, 96, -1, 120000}, 1, 0.125, "local memory"},
    };
    ROWS(rows);
}

static void check_amd(void)
{
    const row rows[] = {
        {"gfx906, least", amd("gfx906", 64), {256, 24, 32, 0}, 10, 1.0, "wavefronts"},
        {"gfx906", amd("gfx906", 64), {256, 64, 40, 0}, 4, 0.4, "registers"},
        {"gfx906, scalar registers", amd("gfx906", 64), {256, 24, 102, 0}, 7, 0.7, "registers"},
        {"gfx906, local memory", amd("gfx906", 64), {256, 24, 32, 10000}, 6, 0.6, "local memory"},
        {"gfx906, all registers", amd("gfx906", 64), {256, 256, 32, 0}, 1, 0.1, "registers"},
        {"gfx90a", amd("gfx90a", 64), {256, 128, 40, 0}, 4, 0.5, "registers"},
        {"gfx90a, one wavefront", amd("gfx90a", 64), {64, 32, 40, 0}, 32, 1.0, "wavefronts"},
        {"gfx90a, barriers", amd("gfx90a", 64), {128, 32, 40, 0}, 16, 1.0, "wavefronts"},
        {"gfx950, 160 KiB", amd("gfx950", 64), {256, 32, 40, 65536}, 2, 0.25, "local memory"},
        {"gfx1010", amd("gfx1010", 32), {256, 128, -1, 0}, 2, 0.4, "registers"},
        {"gfx1030, narrow", amd("gfx1030", 32), {256, 64, -1, 0}, 4, 1.0, "wavefronts"},
        {"gfx1030, narrow, registers in sixteens", amd("gfx1030", 32), {256, 65, -1, 0}, 3, 0.75, "registers"},
        {"gfx1030, wide", amd("gfx1030", 64), {256, 64, -1, 0}, 4, 0.5, "registers"},
        {"gfx1100", amd("gfx1100", 32), {256, 96, -1, 0}, 4, 1.0, "wavefronts"},
        {"gfx1201", amd("gfx1201", 32), {256, 128, -1, 0}, 2, 0.5, "registers"},
        {"gfx900", amd("gfx900", 64), {256, 84, 90, 0}, 3, 0.3, "registers"},
        {"gfx908", amd("gfx908", 64), {512, 40, 32, 24000}, 2, 0.4, "local memory"},
        {"gfx942", amd("gfx942", 64), {256, 96, 40, 0}, 5, 0.625, "registers"},
        {"gfx1101, registers in twenty-fours", amd("gfx1101", 32), {256, 100, -1, 0}, 3, 0.75, "registers"},
        {"gfx1102", amd("gfx1102", 32), {256, 100, -1, 0}, 2, 0.5, "registers"},
        {"gfx1103", amd("gfx1103", 32), {128, 72, -1, 0}, 6, 0.75, "registers"},
        {"gfx1150", amd("gfx1150", 32), {256, 48, -1, 30000}, 2, 0.5, "local memory"},
        {"gfx1151", amd("gfx1151", 32), {192, 128, -1, 0}, 3, 18 / 32.0, "registers"},
    };
    ROWS(rows);
}

/* State that cases hand on. */
static struct {
    clv_occupancy o;
    clvox_device_limits h200, cpu, later, other, odd;
    clv_footprint built;
} shared;

static void without_registers_occupancy_is_unknown(void **state)
{
    (void)state;
    shared.h200 = nvidia(9, 0);
    shared.cpu = (clvox_device_limits){.type = CLVOX_DEVICE_CPU, .simd = 8};
    shared.later = nvidia(13, 0);
    shared.other = (clvox_device_limits){.type = CLVOX_DEVICE_GPU, .simd = 16};
    shared.odd = amd("gfx906", 32);
    clv_footprint unbuilt = {256, -1, -1, 30000};
    shared.built = (clv_footprint){256, 40, -1, 4000};
    clv_occupancy_of(&shared.h200, &unbuilt, &shared.o);
    assert_true(shared.o.groups == -1 && shared.o.fraction < 0 && !shared.o.limit[0] &&
                shared.o.by_registers == -1);
    assert_that(shared.o.by_local == 7 && fabs(shared.o.most - 7 * 8 / 64.0) < 1e-9, "%d, %g",
                shared.o.by_local, shared.o.most);
}

static void a_cpu_device_a_device_of_no_table(void **state)
{
    (void)state;
    const clvox_device_limits *all[] = {&shared.cpu, &shared.later, &shared.other, &shared.odd};
    for (int i = 0; i < 4; i++) {
        clv_occupancy_of(all[i], &shared.built, &shared.o);
        assert_true(shared.o.groups == -1 && shared.o.fraction < 0 && shared.o.most < 0 &&
                    !shared.o.limit[0]);
    }
}

static double filled_by(int items, int registers)
{
    const clvox_device_limits h200 = nvidia(9, 0);
    clv_occupancy o;
    clv_occupancy_of(&h200, &(clv_footprint){items, registers, -1, 0}, &o);
    return o.fraction;
}

/* 64 registers are 32 warps, 65 are 28; 32 are 64, 33 to 40 are 48, 41 are 40. */
static void one_register_more_makes_another_group_better(void **state)
{
    (void)state;
    assert_true(filled_by(256, 64) == filled_by(128, 64) && filled_by(256, 65) < filled_by(128, 65));
    assert_true(filled_by(512, 32) > filled_by(384, 32) && filled_by(512, 33) == filled_by(384, 33));
    assert_true(filled_by(512, 40) == filled_by(384, 40) && filled_by(512, 41) < filled_by(384, 41));
}

static void no_work_items(void **state)
{
    (void)state;
    clv_occupancy_of(&shared.h200, &(clv_footprint){0, 40, -1, 0}, &shared.o);
    assert_true(shared.o.groups == -1);
}

static void check_unknown(void)
{
    test_case(without_registers_occupancy_is_unknown,
              "without registers occupancy is unknown, and its bound is not");
    test_case(a_cpu_device_a_device_of_no_table,
              "a CPU device, a device of no table and a wavefront that it has not: unknown");
    test_case(one_register_more_makes_another_group_better,
              "where registers cross a bound the equations prefer another work-group");
    test_case(no_work_items, "the occupancy of a group without work-items is unknown");
}

static void check_private(void **state)
{
    (void)state;
    clvox_device_limits h200 = nvidia(9, 0), geforce = nvidia(8, 9), red = amd("gfx90a", 64),
                        cpu = {.type = CLVOX_DEVICE_CPU, .simd = 8, .compute_units = 16};
    h200.compute_units = 132;
    geforce.compute_units = 128;
    red.compute_units = 104;
    /* An H200's memory.used went from 527 to 77539 MiB at the first launch, of one work-item. */
    assert_that(fabs((double)clv_private_reserve(&h200, 298720) / 0x1p20 - 77012) < 400, "%zu",
                clv_private_reserve(&h200, 298720));
    assert_true(clv_private_reserve(&geforce, 1000) == (size_t)1000 * 128 * 1536);
    assert_true(clv_private_reserve(&h200, 0) == 0);
    assert_true(clv_private_reserve(&red, 1000) == 0 && clv_private_reserve(&cpu, 298720) == 0);
}

static unsigned char text[256] = "\177ELF\2\1\1";

static void check_not_code(void **state)
{
    (void)state;
    clv_code_counts counts;
    assert_true(!clv_code_object_counts(text, 0, "f", &counts));
    assert_true(!clv_code_object_counts((const unsigned char *)"BC\300\336", 4, "f", &counts));
    assert_true(!clv_code_object_counts(text, sizeof text, "f", &counts));
    memset(text + 16, 0xff, sizeof text - 16);
    assert_true(!clv_code_object_counts(text, sizeof text, "f", &counts));
}

int main(void)
{
    check_nvidia();
    check_amd();
    check_unknown();
    test_case(check_private, "private memory is set aside for every work-item that an NVIDIA GPU holds");
    test_case(check_not_code, "what is no code object holds no kernel");
    return test_run("occupancy", NULL);
}
