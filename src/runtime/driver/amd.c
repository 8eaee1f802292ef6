/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's ROCm. */
#include <stdio.h>
#include <string.h>

#include "runtime/device/limits.h"
#include "runtime/driver/driver.h"
#include "runtime/plan/codeobject.h"
#include "runtime/program/cache.h"

/* cl_amd_device_attribute_query, by number. */
enum { TOPOLOGY = 0x4037, BOARD = 0x4038, FREE_MEMORY = 0x4039, SIMDS = 0x4040, WAVEFRONT = 0x4043 };

static void limits(cl_device_id id, clvox_device_limits *l)
{
    l->amd_simds = (int)clv_query_uint(id, SIMDS);
    l->simd = (int)clv_query_uint(id, WAVEFRONT);
    if (!strncmp(l->name, "gfx", 3)) /* "gfx90a:sramecc+:xnack-" */
        snprintf(l->architecture, sizeof l->architecture, "%.*s", (int)strcspn(l->name, ":"), l->name);
    char board[sizeof l->name];
    clv_query_text(id, BOARD, board, sizeof board);
    if (board[0])
        memcpy(l->name, board, sizeof board);
    struct {
        cl_uint type;
        cl_char unused[17], bus, device, function;
    } topology;
    if (clv_query(id, TOPOLOGY, &topology, sizeof topology) && topology.type == 1)
        snprintf(l->pci, sizeof l->pci, "0000:%02x:%02x.%x", (unsigned)topology.bus & 0xff,
                 (unsigned)topology.device & 0x1f, (unsigned)topology.function & 7);
    size_t free_kib[2];
    if (clv_query(id, FREE_MEMORY, free_kib, sizeof free_kib) ||
        clv_query(id, FREE_MEMORY, free_kib, sizeof free_kib[0]))
        l->free_bytes = free_kib[0] * 1024;
}

static void counts_of_code(const unsigned char *data, size_t bytes, const char *kernel, clv_counts *counts)
{
    clv_code_counts found;
    if (clv_code_object_counts(data, bytes, kernel, &found))
        *counts = (clv_counts){found.vgprs, found.sgprs, found.vgpr_spills * 4};
}

const clv_driver clv_driver_amd = {
    .platforms = {"AMD Accelerated Parallel Processing"},
    .extension = "cl_amd_device_attribute_query",
    .limits = limits,
    .counts_of_code = counts_of_code,
};
