/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "runtime/program/cache.h"
#include "runtime/kernel/registry.h"

enum { DEEPEST_INCLUDE = 16 };

static char *read_text(const char *dir, const char *name)
{
    char path[1024], *text = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *from = fopen(path, "rb"), *to = from ? open_memstream(&text, &length) : NULL;
    if (to) {
        char block[4096];
        for (size_t got; (got = fread(block, 1, sizeof block, from)) > 0;)
            fwrite(block, 1, got, to);
        fclose(to);
    }
    if (from)
        fclose(from);
    return text;
}

char *clv_source_text(const char *name)
{
    const char *dir = getenv("CLVOX_KERNEL_DIR");
    char *text = dir && dir[0] ? read_text(dir, name) : NULL;
    const char *embedded = text ? NULL : clv_source_embedded(name);
    return embedded ? strdup(embedded) : text;
}

int clv_sources_version(char version[17])
{
    clv_cache_key key = clv_cache_key_start();
    for (const clv_source *s = clv_library_kernels.sources; s->name; s++) {
        char *text = clv_source_text(s->name);
        if (!text)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        clv_cache_key_add(&key, text);
        free(text);
    }
    snprintf(version, 17, "%016llx", (unsigned long long)key.word[0]);
    return CLVOX_OK;
}

static size_t line_length(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? (size_t)(end - line) + 1 : strlen(line);
}

/* Pastes #include "x.clh" so that a program is one string; #line keeps the
 * compiler's messages pointing into the files. */
static int paste(const char *name, FILE *to, int depth)
{
    int status = CLVOX_OK, number = 0;
    char *text = depth < DEEPEST_INCLUDE ? clv_source_text(name) : NULL;
    if (!text)
        return clvox_fail(CLVOX_ERROR_BUILD,
                          "the kernel file %s is not known; list its operation in cl/meson.build", name);
    fprintf(to, "#line 1 \"%s\"\n", name);
    for (const char *line = text; *line; line += line_length(line)) {
        char inner[64];
        number++;
        /* sscanf looks for the end of all that follows. */
        if (line[0] == '#' && !strncmp(line, "#include \"", 10) &&
            sscanf(line, "#include \"%63[^\"\n]\"", inner) == 1) {
            CLV_TRY(paste(inner, to, depth + 1));
            fprintf(to, "\n#line %d \"%s\"\n", number + 1, name);
        } else {
            fwrite(line, 1, line_length(line), to);
        }
    }
end:
    free(text);
    return status;
}

static bool starts_kernel(const char *line)
{
    size_t word = !strncmp(line, "__kernel", 8) ? 8 : !strncmp(line, "kernel", 6) ? 6 : 0;
    return word && (isspace((unsigned char)line[word]) || line[word] == '(');
}

/* Whether the kernel whose text starts here is called name: the word after "void". */
static bool is_called(const char *kernel, const char *name)
{
    const char *at = strstr(kernel, "void");
    if (!at)
        return false;
    at += 4;
    at += strspn(at, " \t\n");
    size_t length = strlen(name);
    return !strncmp(at, name, length) && !isalnum((unsigned char)at[length]) && at[length] != '_';
}

/* A kernel starts with __kernel in the first column and ends with the first
 * line that is "}". One that a macro makes does not look so and is kept. */
static int keep_one(const char *text, const char *function, FILE *to)
{
    bool found = false, continued = false, skipping = false;
    for (const char *line = text; *line; line += line_length(line)) {
        size_t length = line_length(line);
        if (!continued && !skipping && starts_kernel(line)) {
            skipping = !is_called(line, function);
            if (!skipping) {
                found = true;
                size_t word = strcspn(line, " \t\n(");
                const char *body = strchr(line, '{'), *size = strstr(line, "reqd_work_group_size");
                fwrite(line, 1, word, to);
                if (!size || (body && size > body))
                    fputs(" __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))", to);
                fwrite(line + word, 1, length - word, to);
                continue;
            }
        }
        continued = length > 1 && line[length - 1] == '\n' && line[length - 2] == '\\';
        if (!skipping)
            fwrite(line, 1, length, to);
        else
            fputc('\n', to);
        if (line[0] == '}')
            skipping = false;
    }
    return found;
}

int clv_source_assemble(const char *file, const char *function, char **text)
{
    int status = CLVOX_OK;
    char name[64], *whole = NULL, *one = NULL;
    size_t whole_length = 0, one_length = 0;
    bool found = false;
    *text = NULL;
    snprintf(name, sizeof name, "%s.cl", file);
    FILE *to = open_memstream(&whole, &whole_length);
    if (!to)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    status = paste(name, to, 0);
    fclose(to);
    if (status < 0)
        goto end;
    to = open_memstream(&one, &one_length);
    if (!to) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    found = keep_one(whole, function, to);
    fclose(to);
    *text = found ? one : whole;
    if (found)
        one = NULL;
    else
        whole = NULL;
end:
    free(whole);
    free(one);
    return status;
}

int clv_program_options(bool fields_packed, const clv_variant *variant, clv_tile tile,
                        const char *extra, char *options, size_t room)
{
    int item[3], group[3];
    clv_variant_covers(variant, tile, item, group);
    int length = snprintf(options, room,
                          "-cl-std=CL1.2 -DFIELD_PACKED=%d -DTILE_X=%d -DTILE_Y=%d -DTILE_Z=%d "
                          "-DMARCH=%d -DITEM_X=%d -DITEM_Y=%d -DITEM_Z=%d -DGROUP_X=%d -DGROUP_Y=%d -DGROUP_Z=%d "
                          "%s %s",
                          fields_packed, tile.x, tile.y, tile.z, tile.march, item[0], item[1], item[2], group[0],
                          group[1], group[2],
                          variant->defines ? variant->defines : "", extra ? extra : "");
    if (length < 0 || (size_t)length >= room)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the build options of kernel %s are too long",
                          variant->function);
    return CLVOX_OK;
}
