/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/occupancy.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* NVIDIA's CUDA occupancy calculator and cuda_occupancy.h 12.6, by compute
 * capability. Since 2.0 a warp's registers are allocated in units and the warps of a
 * group are dealt to the parts of a multiprocessor; before, a group's registers
 * are one allocation (equation 1 as printed). */
typedef struct nvidia_row {
    int major, minor;
    int warps, groups;      /* most on a multiprocessor */
    int registers;          /* on a multiprocessor */
    int unit;               /* registers are given out in multiples */
    int parts;              /* parts with registers of their own; 0: allocated by group */
    int most_registers;     /* a work-item */
    int group_registers;    /* a group */
    int local_kib;          /* on a multiprocessor */
    int local_unit, reserve; /* bytes */
} nvidia_row;

static const nvidia_row nvidia[] = {
    {1, 0, 24, 8, 8192, 256, 0, 124, 8192, 16, 512, 0},
    {1, 1, 24, 8, 8192, 256, 0, 124, 8192, 16, 512, 0},
    {1, 2, 32, 8, 16384, 512, 0, 124, 16384, 16, 512, 0},
    {1, 3, 32, 8, 16384, 512, 0, 124, 16384, 16, 512, 0},
    {2, 0, 48, 8, 32768, 64, 2, 63, 32768, 48, 128, 0},
    {2, 1, 48, 8, 32768, 64, 2, 63, 32768, 48, 128, 0},
    {3, 0, 64, 16, 65536, 256, 4, 63, 65536, 48, 256, 0},
    {3, 5, 64, 16, 65536, 256, 4, 255, 65536, 48, 256, 0},
    {3, 7, 64, 16, 131072, 256, 4, 255, 65536, 112, 256, 0},
    {5, 0, 64, 32, 65536, 256, 4, 255, 65536, 64, 256, 0},
    {5, 2, 64, 32, 65536, 256, 4, 255, 65536, 96, 256, 0},
    {6, 0, 64, 32, 65536, 256, 2, 255, 65536, 64, 256, 0},
    {6, 1, 64, 32, 65536, 256, 4, 255, 65536, 96, 256, 0},
    {7, 0, 64, 32, 65536, 256, 4, 255, 65536, 96, 256, 0},
    {7, 5, 32, 16, 65536, 256, 4, 255, 65536, 64, 256, 0},
    {8, 0, 64, 32, 65536, 256, 4, 255, 65536, 164, 128, 1024},
    {8, 6, 48, 16, 65536, 256, 4, 255, 65536, 100, 128, 1024},
    {8, 9, 48, 24, 65536, 256, 4, 255, 65536, 100, 128, 1024},
    {9, 0, 64, 32, 65536, 256, 4, 255, 65536, 228, 128, 1024},
    {10, 0, 64, 32, 65536, 256, 4, 255, 65536, 228, 128, 1024},
    {12, 0, 48, 24, 65536, 256, 4, 255, 65536, 100, 128, 1024},
};

/* LLVM's AMDGPUBaseInfo.cpp, Mesa's ac_gpu_info.c, Linux' kfd_queue.c. Registers are those of
 * wavefronts of 64; narrow ones (32) find twice as many, in units twice as large. */
typedef struct amd_row {
    const char *architecture;
    int waves;              /* most on a SIMD */
    int simds;              /* on a compute unit */
    int registers, unit;
    int local_kib, local_unit;
    bool narrow;            /* wavefronts of 32 exist */
    bool scalars;           /* scalar registers limit the waves */
} amd_row;

static const amd_row amd[] = {
    {"gfx900", 10, 4, 256, 4, 64, 512, false, true},
    {"gfx906", 10, 4, 256, 4, 64, 512, false, true},
    {"gfx908", 10, 4, 256, 4, 64, 512, false, true},
    {"gfx90a", 8, 4, 512, 8, 64, 512, false, true},
    {"gfx942", 8, 4, 512, 8, 64, 512, false, true},
    {"gfx950", 8, 4, 512, 8, 160, 1280, false, true},
    {"gfx101", 20, 2, 512, 4, 64, 512, true, false},
    {"gfx103", 16, 2, 512, 8, 64, 1024, true, false},
    {"gfx1102", 16, 2, 512, 8, 64, 1024, true, false},
    {"gfx1103", 16, 2, 512, 8, 64, 1024, true, false},
    {"gfx1150", 16, 2, 512, 8, 64, 1024, true, false},
    {"gfx1100", 16, 2, 768, 12, 64, 1024, true, false},
    {"gfx1101", 16, 2, 768, 12, 64, 1024, true, false},
    {"gfx1151", 16, 2, 768, 12, 64, 1024, true, false},
    {"gfx12", 16, 2, 768, 12, 64, 1024, true, false},
};

/* Groups of several wavefronts need a barrier each, and a compute unit has 16. */
enum { AMD_BARRIERS = 16 };

static long up(long n, long step)
{
    return (n + step - 1) / step * step;
}

static const nvidia_row *nvidia_find(const clvox_device_limits *limits)
{
    for (size_t i = 0; i < sizeof nvidia / sizeof nvidia[0]; i++)
        if (nvidia[i].major == limits->capability_major && nvidia[i].minor == limits->capability_minor)
            return &nvidia[i];
    return NULL;
}

static const amd_row *amd_find(const clvox_device_limits *limits)
{
    for (size_t i = 0; i < sizeof amd / sizeof amd[0]; i++)
        if (!strncmp(amd[i].architecture, limits->architecture, strlen(amd[i].architecture)))
            return &amd[i];
    return NULL;
}

static void nvidia_fill(const nvidia_row *row, const clv_footprint *f, clv_occupancy *out)
{
    long warps = up(f->items, 32) / 32, local = up((long)f->local_bytes + row->reserve, row->local_unit);
    out->by_waves = (int)(row->warps / warps);
    out->by_groups = row->groups;
    out->by_local = local ? (int)(row->local_kib * 1024L / local) : -1;
    if (f->registers < 0)
        return;
    long registers = f->registers ? f->registers : 1;
    if (registers > row->most_registers) {
        out->by_registers = 0;
    } else if (!row->parts) {
        out->by_registers = (int)(row->registers / up(up(warps, 2) * 32 * registers, row->unit));
    } else {
        long of_warp = up(32 * registers, row->unit);
        long in_part = row->registers / row->parts / of_warp;
        out->by_registers = of_warp * up(warps, row->parts) > row->group_registers
                                ? 0
                                : (int)(row->parts * in_part / warps);
    }
}

/* LLVM's getOccupancyWithNumSGPRs for gfx9: 800 scalar registers a SIMD. */
static long waves_by_scalars(int scalars)
{
    return scalars <= 80 ? 10 : scalars <= 88 ? 9 : scalars <= 100 ? 8 : 7;
}

static void amd_fill(const amd_row *row, int width, const clv_footprint *f, clv_occupancy *out)
{
    long twice = width == 32 ? 2 : 1, waves = up(f->items, width) / width;
    long local = up((long)f->local_bytes, row->local_unit);
    out->by_waves = (int)(row->waves * row->simds / waves);
    out->by_groups = waves > 1 ? AMD_BARRIERS : -1;
    out->by_local = local ? (int)(row->local_kib * 1024L / local) : -1;
    if (f->registers < 0)
        return;
    long on_simd = row->registers * twice / up(f->registers ? f->registers : 1, row->unit * twice);
    if (on_simd < 1)
        on_simd = 1;
    if (row->scalars && f->scalars >= 0 && waves_by_scalars(f->scalars) < on_simd)
        on_simd = waves_by_scalars(f->scalars);
    if (on_simd > row->waves)
        on_simd = row->waves;
    out->by_registers = (int)(on_simd * row->simds / waves);
}

void clv_occupancy_of(const clvox_device_limits *limits, const clv_footprint *f, clv_occupancy *out)
{
    *out = (clv_occupancy){-1, -1, -1, -1, -1, -1, -1, ""};
    if (limits->type == CLVOX_DEVICE_CPU || f->items < 1)
        return;
    const nvidia_row *green = limits->capability_major ? nvidia_find(limits) : NULL;
    const amd_row *red = green ? NULL : amd_find(limits);
    int width = green ? 32 : limits->simd, slots = 0;
    if (green) {
        nvidia_fill(green, f, out);
        slots = green->warps;
    } else if (red && (width == 64 || (width == 32 && red->narrow))) {
        amd_fill(red, width, f, out);
        slots = red->waves * red->simds;
    } else {
        return;
    }
    const struct {
        int groups;
        const char *name;
    } bounds[] = {{out->by_waves, green ? "warps" : "wavefronts"},
                  {out->by_registers, "registers"},
                  {out->by_local, "local memory"},
                  {out->by_groups, "work-groups"}};
    int least = INT_MAX, others = INT_MAX;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (bounds[i].groups < 0)
            continue;
        if (bounds[i].groups < least) {
            least = bounds[i].groups;
            out->limit = bounds[i].name;
        }
        if (i != 1 && bounds[i].groups < others)
            others = bounds[i].groups;
    }
    double waves = (double)(up(f->items, width) / width);
    out->most = others * waves / slots;
    if (f->registers < 0) {
        out->limit = "";
        return;
    }
    out->groups = least;
    out->fraction = least * waves / slots;
}

size_t clv_private_reserve(const clvox_device_limits *limits, size_t private_bytes)
{
    const nvidia_row *row = limits->capability_major ? nvidia_find(limits) : NULL;
    return row ? private_bytes * 32 * (size_t)row->warps * (size_t)limits->compute_units : 0;
}
