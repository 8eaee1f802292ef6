/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to tools/amd-compile: kernels list FOLDER        writes every program that the planner could ask for as a
 * source file; one line each: path, kernel, options, tuned or optional, work-items, label kernels occupancy ARCH W
 * reads lines "code object, kernel, work-items, label"; prints registers, spills, local memory and occupancy on
 * such a device Fields are separated by tabs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/codeobject.h"
#include "runtime/kernel/registry.h"
#include "runtime/program/source.h"

static int fail(const char *what)
{
    fprintf(stderr, "kernels: %s\n", what);
    return 1;
}

static int write_source(const char *folder, const char *file, const char *function, char *path, size_t room)
{
    char *text;
    if (clv_source_assemble(file, function, &text) < 0)
        return fail(clvox_message());
    const char *slash = strrchr(file, '/');
    snprintf(path, room, "%s/%s.%s.cl", folder, slash ? slash + 1 : file, function);
    FILE *to = fopen(path, "w");
    int bad = !to || fputs(text, to) < 0;
    if (to && fclose(to) != 0)
        bad = 1;
    free(text);
    return bad ? fail("cannot write the sources") : 0;
}

static int list(const char *folder)
{
    static const char *const plain[] = {"", NULL};
    const clv_entry *entry;
    for (int e = 0; (entry = clv_entry_at(e)); e++) {
        const char *const *builds = entry->builds ? entry->builds : plain;
        for (int v = 0; v < entry->count; v++) {
            const clv_variant *variant = &entry->variants[v];
            char path[512], options[768];
            if (write_source(folder, entry->file, variant->function, path, sizeof path))
                return 1;
            for (int t = 0; t < CLV_MAX_TILES && variant->tiles[t].x; t++)
                for (int b = 0; builds[b]; b++) {
                    clv_tile tile = variant->tiles[t];
                    if (clv_program_options(false, variant, tile, builds[b], options, sizeof options) < 0)
                        return fail(clvox_message());
                    printf("%s\t%s\t%s\t%s\t%d\t%s/%s %dx%dx%d,%d %s\n", path, variant->function, options,
                           variant->optional || !(variant->devices & CLV_ON_GPU) ? "optional" : "tuned",
                           tile.x * tile.y * tile.z, entry->name, variant->name, tile.x, tile.y, tile.z,
                           tile.march, builds[b]);
                }
        }
    }
    return 0;
}

static unsigned char *read_file(const char *path, size_t *bytes)
{
    unsigned char *data = NULL;
    FILE *from = fopen(path, "rb");
    if (from && fseek(from, 0, SEEK_END) == 0) {
        long size = ftell(from);
        rewind(from);
        data = size > 0 ? malloc((size_t)size) : NULL;
        *bytes = data ? fread(data, 1, (size_t)size, from) : 0;
    }
    if (from)
        fclose(from);
    return data;
}

static int occupancy(const char *architecture, int wavefront)
{
    clvox_device_limits limits = {.type = CLVOX_DEVICE_GPU, .simd = wavefront};
    snprintf(limits.architecture, sizeof limits.architecture, "%s", architecture);
    char line[2048], path[512], function[64], label[256];
    int items;
    while (fgets(line, sizeof line, stdin)) {
        size_t bytes = 0;
        clv_code_counts code;
        if (sscanf(line, "%511[^\t]\t%63[^\t]\t%d\t%255[^\n]", path, function, &items, label) != 4)
            return fail("a line is not \"path, kernel, work-items, label\"");
        unsigned char *data = read_file(path, &bytes);
        int found = data && clv_code_object_counts(data, bytes, function, &code);
        free(data);
        if (!found)
            return fail("a code object does not hold its kernel");
        clv_occupancy o;
        clv_footprint footprint = {items, code.vgprs, code.sgprs, (size_t)code.local_bytes};
        clv_occupancy_of(&limits, &footprint, &o);
        printf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.3f\t%s\n", label, code.vgprs, code.sgprs, code.vgpr_spills,
               code.sgpr_spills, code.local_bytes, code.private_bytes, o.groups, o.fraction, o.limit);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "list"))
        return list(argv[2]);
    if (argc == 4 && !strcmp(argv[1], "occupancy"))
        return occupancy(argv[2], atoi(argv[3]));
    return fail("usage: kernels list FOLDER | kernels occupancy ARCHITECTURE WAVEFRONT");
}
