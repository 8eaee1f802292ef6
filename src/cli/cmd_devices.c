/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "clvox/kernels.h"

static const char *const types[] = {"cpu", "gpu", "accelerator"};

static void log_limits(cJSON *to, const clvox_device_limits *l)
{
    cJSON_AddStringToObject(to, "name", l->name);
    cJSON_AddStringToObject(to, "type", types[l->type]);
    cJSON_AddStringToObject(to, "vendor", l->vendor);
    cJSON_AddStringToObject(to, "platform", l->platform);
    cJSON_AddStringToObject(to, "driver", l->driver);
    cJSON_AddStringToObject(to, "version", l->version);
    cJSON_AddStringToObject(to, "architecture", l->architecture);
    cJSON_AddStringToObject(to, "pci", l->pci);
    cJSON_AddNumberToObject(to, "compute_units", l->compute_units);
    cJSON_AddNumberToObject(to, "clock_mhz", l->clock_mhz);
    cJSON_AddNumberToObject(to, "global_bytes", (double)l->global_bytes);
    cJSON_AddNumberToObject(to, "free_bytes", (double)l->free_bytes);
    cJSON_AddNumberToObject(to, "max_allocation", (double)l->max_allocation);
    cJSON_AddNumberToObject(to, "local_bytes", (double)l->local_bytes);
    cJSON_AddBoolToObject(to, "local_dedicated", l->local_dedicated);
    cJSON_AddNumberToObject(to, "max_group", (double)l->max_group);
    cJSON_AddNumberToObject(to, "simd", l->simd);
    cJSON_AddBoolToObject(to, "fp64", l->fp64);
    cJSON_AddBoolToObject(to, "shares_host_memory", l->shares_host_memory);
}

static const char *or_unknown(const char *text)
{
    return *text ? text : "unknown";
}

static void count(const command *cli, const char *name, double value, const char *unit)
{
    if (value > 0)
        cli_print(cli, "      %-22s %.0f%s\n", name, value, unit);
    else
        cli_print(cli, "      %-22s unknown\n", name);
}

static void print_limits(const command *cli, const clvox_device_limits *l)
{
    char text[32];
    cli_print(cli, "      %-22s %s\n", "vendor", or_unknown(l->vendor));
    cli_print(cli, "      %-22s %s\n", "platform", or_unknown(l->platform));
    cli_print(cli, "      %-22s %s\n", "driver", or_unknown(l->driver));
    cli_print(cli, "      %-22s %s\n", "OpenCL", or_unknown(l->version));
    cli_print(cli, "      %-22s %s\n", "architecture", or_unknown(l->architecture));
    cli_print(cli, "      %-22s %s\n", "PCI address", or_unknown(l->pci));
    count(cli, "compute units", l->compute_units, "");
    count(cli, "clock", l->clock_mhz, " MHz");
    cli_print(cli, "      %-22s %s%s\n", "memory", cli_bytes((double)l->global_bytes, text),
              l->shares_host_memory ? ", shared with the host" : "");
    cli_print(cli, "      %-22s %s\n", "free at this moment",
              l->free_bytes ? cli_bytes((double)l->free_bytes, text) : "unknown");
    cli_print(cli, "      %-22s %s\n", "largest allocation", cli_bytes((double)l->max_allocation, text));
    cli_print(cli, "      %-22s %s%s\n", "local memory", cli_bytes((double)l->local_bytes, text),
              l->local_dedicated ? "" : ", no memory of its own");
    count(cli, "largest work-group", (double)l->max_group, " work-items");
    count(cli, "SIMD width", l->simd, "");
    cli_print(cli, "      %-22s %s\n", "double precision", l->fp64 ? "yes" : "no");
}

/* ---- kernels ------------------------------------------------------------ */

typedef struct listing {
    const command *cli;
    cJSON *to;
} listing;

/* "12", "12<" where it is the bound that counts, "-" where there is none. */
static void write_bound(char out[16], int groups, bool least)
{
    if (groups < 0)
        snprintf(out, 16, "- ");
    else
        snprintf(out, 16, "%d%c", groups, least ? '<' : ' ');
}

static void add_known(cJSON *row, const char *name, double value)
{
    if (value >= 0)
        cJSON_AddNumberToObject(row, name, value);
}

static void log_kernel(cJSON *row, const clvox_kernel_variant *k)
{
    cJSON_AddItemToObject(row, "tile", cJSON_CreateIntArray(k->tile, 3));
    cJSON_AddNumberToObject(row, "march", k->march);
    cJSON_AddNumberToObject(row, "local_bytes", k->local_bytes);
    cJSON_AddStringToObject(row, "reason", k->reason);
    add_known(row, "registers", k->registers);
    add_known(row, "spill_bytes", k->spills);
    add_known(row, "groups_per_compute_unit", k->groups);
    add_known(row, "groups_by_warps", k->by_warps);
    add_known(row, "groups_by_registers", k->by_registers);
    add_known(row, "groups_by_local", k->by_local);
    add_known(row, "waves", k->waves);
    if (k->occupancy >= 0) {
        cJSON_AddNumberToObject(row, "occupancy", k->occupancy);
        cJSON_AddStringToObject(row, "limit", k->limit);
    }
}

static int print_kernel(void *user, const clvox_kernel_variant *k)
{
    const command *cli = ((const listing *)user)->cli;
    char label[64], tile[48], registers[16] = "unknown", warps[16], of_registers[16], local[16];
    char filled[16] = "-", waves[16] = "-";
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(((const listing *)user)->to, row);
    cJSON_AddStringToObject(row, "kernel", k->kernel);
    cJSON_AddStringToObject(row, "variant", k->variant);
    cJSON_AddBoolToObject(row, "chosen", !k->refused && k->chosen);
    cJSON_AddBoolToObject(row, "wisdom", !k->refused && k->wisdom);
    snprintf(label, sizeof label, "%s/%s", k->kernel, k->variant);
    if (k->refused) {
        cli_print(cli, "  %-26s does not run here: %s\n", label, k->refused);
        cJSON_AddStringToObject(row, "refused", k->refused);
        return cli_interrupted();
    }
    log_kernel(row, k);
    snprintf(tile, sizeof tile, "%dx%dx%d,%d", k->tile[0], k->tile[1], k->tile[2], k->march);
    if (k->registers >= 0)
        snprintf(registers, sizeof registers, "%d%s", k->registers, k->spills > 0 ? "+" : "");
    write_bound(warps, k->by_warps, k->by_warps == k->groups);
    write_bound(of_registers, k->by_registers, k->by_registers == k->groups);
    write_bound(local, k->by_local, k->by_local == k->groups);
    if (k->occupancy >= 0)
        snprintf(filled, sizeof filled, "%.0f%%", 100 * k->occupancy);
    if (k->waves >= 0)
        snprintf(waves, sizeof waves, k->waves < 100 ? "%.1f" : k->waves < 1e5 ? "%.0f" : "%.0fk",
                 k->waves < 1e5 ? k->waves : 1e-3 * k->waves);
    cli_print(cli, "%c %-26s %-13s %7s %6d %5s%5s%5s %4s %5s %s\n", k->chosen ? '*' : ' ', label, tile,
              registers, k->local_bytes, warps, of_registers, local, filled, waves, k->reason);
    return cli_interrupted();
}

/* Every variant that the device can run, with the planner's tile for it. */
static int print_kernels(command *cli, const int size[3])
{
    const char *missing = clvox_clfft_missing();
    cJSON_AddBoolToObject(cli->log, "clfft", !missing[0]);
    if (missing[0])
        cli_print(cli, "\nclFFT is not there (%s): other libraries do the Fourier transforms of flows.\n",
                  missing);
    else
        cli_print(cli, "\nclFFT was found.\n");
    int status = cli_open(cli);
    if (status < 0)
        return status;
    listing all = {.cli = cli, .to = cJSON_AddArrayToObject(cli->log, "kernels")};
    cli_print(cli, "\nKernels on %s, for %d x %d x %d voxels; * is what the planner takes.\n",
              clvox_context_limits(cli->ctx)->name, size[0], size[1], size[2]);
    cli_print(cli,
              "Registers of a work-item, + where more went to memory; local memory of a work-group, bytes;\n"
              "work-groups for which warps, registers and local memory have room on a compute unit, < the\n"
              "fewest; warps that they fill; rounds in which the device takes as many elements as voxels.\n"
              "  %-26s %-13s %7s %6s %4s %4s %4s  %4s %5s %s\n",
              "kernel/variant", "tile,march", "regs", "local", "warp", "reg", "loc", "fill", "waves",
              "tile by");
    return clvox_kernel_variants(cli->ctx, size, print_kernel, &all);
}

int cmd_devices(command *cli, int argc, char **argv)
{
    clvox_numbers voxels = {0};
    int size[3] = {182, 218, 182};
    const cli_option options[] = {
        {"size", 0, CLI_NUMBERS, &voxels, "XxYxZ", "voxels for -v (default 182x218x182)"},
        {0}};
    const cli_usage usage = {.options = options};
    char **rest;
    clvox_device *devices = NULL;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (voxels.count && !cli_whole_size(&voxels, 1, 800, size))
        return cli_misuse("--size: a whole number of voxels from 1 to 800 or three, such as 182x218x182");
    clvox_environment_settle(NULL, CLVOX_ENVIRONMENT_ALONE | CLVOX_ENVIRONMENT_LIST);
    int found = clvox_devices_list(&devices);
    if (found < 0)
        return found;
    cJSON *list = cJSON_AddArrayToObject(cli->log, "devices");
    int usable = 0;
    for (int i = 0; i < found; i++) {
        const clvox_device *d = &devices[i];
        char memory[32];
        usable += d->usable;
        cli_print(cli, "%2d %c %-4s %s (%s, driver %s), %d compute units, %s\n", i,
                  d->is_default ? '*' : d->usable ? ' ' : '-', types[d->limits.type], d->limits.name,
                  d->limits.platform, or_unknown(d->limits.driver), d->limits.compute_units,
                  cli_bytes((double)d->limits.global_bytes, memory));
        if (!d->usable)
            cli_print(cli, "      passed over: %s\n", d->reason);
        if (cli->verbose)
            print_limits(cli, &d->limits);
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddNumberToObject(entry, "index", i);
        cJSON_AddBoolToObject(entry, "usable", d->usable);
        cJSON_AddBoolToObject(entry, "default", d->is_default);
        if (!d->usable)
            cJSON_AddStringToObject(entry, "reason", d->reason);
        log_limits(entry, &d->limits);
        cJSON_AddItemToArray(list, entry);
    }
    clvox_devices_destroy(&devices);
    if (cli->own_driver)
        cli_remark(
            cli, 0,
            "no OpenCL driver of this system (/etc/OpenCL/vendors) finds a device, so the PoCL in clvox's "
            "folder runs on the CPU; for a GPU install its vendor's OpenCL driver\n");
    if (cli->verbose && usable)
        status = print_kernels(cli, size);
    return status;
}
