/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "runtime/queue/timing.h"

/* A batch hides the clock and the wait at its end; the spread at which a median is good enough. */
static const double BATCH = 5e-3, SMALL = 0.03;
/* From so many seconds on a first call differs from the next by little: it counts, and from so many
 * more on it is enough, without another one for the device's time. */
static const double LONG = 1, VERY_LONG = 10;
enum { LEAST = 5, SLOW_LEAST = 3, TIMED = 5 };

static int batch(bench_run *run, int (*call)(void *), void *what, int calls, double *seconds)
{
    int status = clv_finish(run->ctx);
    double start = clv_seconds();
    for (int i = 0; i < calls && status >= 0; i++)
        status = call(what);
    if (status >= 0)
        status = clv_finish(run->ctx);
    *seconds = fmax((clv_seconds() - start) / calls, 1e-9);
    return status;
}

/* The kernel to show, of what was timed last. */
static const clv_kernel *shown(const clv_timing *rows, int count, const char *entry)
{
    const clv_timing *best = NULL;
    for (int i = 0; i < count; i++) {
        if (!rows[i].kernel)
            continue;
        if (entry && !strcmp(rows[i].kernel->entry->name, entry))
            return rows[i].kernel;
        if (!best || rows[i].seconds > best->seconds)
            best = &rows[i];
    }
    return best ? best->kernel : NULL;
}

int bench_device_time(bench_run *run, int (*call)(void *), void *what, const char *entry, bench_time *out)
{
    int status = CLVOX_OK;
    record_samples samples = {0};
    double end = clv_seconds() + run->seconds;
    CLV_TRY(clv_timings_switch(run->ctx, true));
    for (int i = 0; i < TIMED && (i == 0 || clv_seconds() < end); i++) {
        const clv_timing *rows;
        double sum = 0, moved = 0;
        clv_timings_reset(run->ctx);
        CLV_TRY(call(what));
        int count = clv_timings(run->ctx, &rows);
        CLV_TRY(count);
        status = CLVOX_OK;
        for (int k = 0; k < count; k++) {
            sum += rows[k].seconds;
            moved += rows[k].kernel ? rows[k].bytes : 0;
        }
        record_add_sample(&samples, sum);
        out->kernel = shown(rows, count, entry);
        out->moved = moved;
    }
    out->device = samples.median;
end:
    if (clv_timings_switch(run->ctx, false) < 0 && status >= 0)
        status = CLVOX_ERROR_DEVICE;
    return status;
}

int bench_measure(bench_run *run, int (*call)(void *), void *what, const char *entry, bench_time *out)
{
    int status = CLVOX_OK, calls = 1;
    double once, end = clv_seconds() + run->seconds;
    memset(out, 0, sizeof *out);
    CLV_TRY(batch(run, call, what, 1, &once)); /* wakes the device; who checks first has built the kernels */
    if (once > LONG && once > 4 * run->seconds)
        record_add_sample(&out->seconds, once);
    else if (once < run->seconds)
        CLV_TRY(batch(run, call, what, 2, &once));
    if (once < BATCH)
        calls = (int)ceil(BATCH / fmax(once, 1e-6));
    while (out->seconds.count < RECORD_SAMPLES) {
        int least = once > VERY_LONG ? 1 : clv_seconds() < end ? LEAST : SLOW_LEAST;
        if (out->seconds.count >= least && (out->seconds.spread < SMALL || clv_seconds() >= end))
            break;
        CLV_TRY(batch(run, call, what, calls, &once));
        record_add_sample(&out->seconds, once);
    }
    if (run->timers && !(once > VERY_LONG))
        CLV_TRY(bench_device_time(run, call, what, entry, out));
end:
    return status;
}

void bench_complete(const bench_run *run, const bench_time *time, record_row *row, char tile[32])
{
    double copying = run->copy > 0 ? row->bytes / run->copy : 0;
    double computing = run->peak > 0 ? row->operations / run->peak : 0;
    const clv_kernel *k = time->kernel;
    double reading = run->reads > 0 ? row->reads / run->reads : 0;
    row->seconds = &time->seconds;
    row->device_seconds = time->device;
    if (copying > 0 || computing > 0) {
        row->ceiling = copying >= computing ? "copy" : "multiply-add fp32";
        row->share = fmax(copying, computing) / time->seconds.median;
    }
    if (reading > fmax(copying, computing)) {
        row->ceiling = BENCH_READS;
        row->share = reading / time->seconds.median;
    }
    if (!k)
        return;
    snprintf(tile, 32, k->tile.march > 1 ? "%dx%dx%d,%d" : "%dx%dx%d", k->tile.x, k->tile.y, k->tile.z,
             k->tile.march);
    row->tile = tile;
    row->variant = k->variant->name;
    row->registers = k->registers;
    row->occupancy = k->occupancy;
    row->limit = k->resources.limit;
}

void bench_heading(const bench_run *run, const char *what)
{
    fprintf(run->out, "%-34s %9s %6s %9s %9s %6s  %-18s %4s %5s %s\n", what, "ms", "spread", "device ms",
            "rate", "share", "kernel", "regs", "occ.", "limit");
}

void bench_line(const bench_run *run, const char *label, const record_row *row)
{
    char device[16] = "-", rate[24] = "-", share[16] = "-", kernel[64] = "", registers[16] = "-",
         occupancy[16] = "-";
    bool reads = row->ceiling && !strcmp(row->ceiling, BENCH_READS);
    bool computes = row->ceiling && !reads && strncmp(row->ceiling, "copy", 4) != 0;
    double amount = reads ? row->reads : computes ? row->operations : row->bytes;
    if (row->device_seconds > 0)
        snprintf(device, sizeof device, "%.3f", 1e3 * row->device_seconds);
    if (row->share > 0) {
        snprintf(rate, sizeof rate, "%.1f %s", 1e-9 * amount / row->seconds->median, reads ? "Gr" : computes ? "GF" : "GB");
        snprintf(share, sizeof share, "%.0f%%", 100 * row->share);
    }
    if (row->variant)
        snprintf(kernel, sizeof kernel, "%s %s", row->variant, row->tile);
    if (row->registers > 0)
        snprintf(registers, sizeof registers, "%d", row->registers);
    if (row->occupancy > 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * row->occupancy);
    fprintf(run->out, "%-34s %9.3f %5.1f%% %9s %9s %6s  %-18s %4s %5s %s\n", label,
            1e3 * row->seconds->median, 100 * row->seconds->spread, device, rate, share, kernel, registers,
            occupancy, row->limit && row->occupancy > 0 ? row->limit : "");
    fflush(run->out);
}
