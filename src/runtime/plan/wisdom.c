/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "runtime/program/cache.h"
#include "runtime/program/source.h"

enum { LARGEST_FILE = 64 << 20, LONGEST_LINE = 1024, LONGEST_KEY = 800 };

/* Whether others have no hand in a file that nobody named, or in one that is not there yet. */
static bool is_own(const char *cache, const char *path)
{
    char why[CLV_WHY];
    struct stat info;
    const int fd = clv_own_open(path, O_RDONLY, 0);
    if (fd >= 0)
        close(fd);
    return clv_own_folder(cache, false, why) ? fd >= 0 || lstat(path, &info) < 0 : !why[0];
}

char *clv_wisdom_path(void)
{
    const char *set = getenv("CLVOX_WISDOM");
    char *path = NULL;
    if (set)
        return set[0] ? strdup(set) : NULL;
    char *cache = clv_cache_place();
    size_t length = cache ? strlen(cache) : 0;
    while (length > 1 && cache[length - 1] == '/') /* beside the folder, not in it */
        length--;
    if (length > 0 && asprintf(&path, "%.*s-wisdom.txt", (int)length, cache) < 0)
        path = NULL;
    if (path && !is_own(cache, path)) {
        free(path);
        path = NULL;
    }
    free(cache);
    return path;
}

void clv_wisdom_destroy(clv_wisdom **wisdom)
{
    if (!wisdom || !*wisdom)
        return;
    free((*wisdom)->record);
    free((*wisdom)->cost);
    free((*wisdom)->path);
    free(*wisdom);
    *wisdom = NULL;
}

int clv_wisdom_class(const int size[3])
{
    double voxels = (double)size[0] * size[1] * size[2];
    return (voxels > 1 << 20) + (voxels > 1 << 23);
}

/* ---- the file: a head, and by line what a record holds for and what it is ----
 * Fields are parted by tabs: device, platform, compute units, driver; then "kernel",
 * name, defines, class; variant, tile, or "cost", name; seconds. */

static const char KERNEL[] = "kernel\t", COST[] = "cost\t";

/* A line to be stored; its first bytes, `key` of them, say for what. */
typedef struct fresh_line {
    char text[LONGEST_LINE];
    size_t key;
} fresh_line;

static int write_head(char out[LONGEST_LINE])
{
    char sources[17];
    int status = clv_sources_version(sources);
    snprintf(out, LONGEST_LINE, "clvox wisdom 3, kernels %s", sources);
    return status;
}

/* The fields that name the device; names have no tabs, or they are blanks here. */
static int write_device(const clvox_device_limits *limits, char out[LONGEST_KEY])
{
    int length = snprintf(out, LONGEST_KEY, "%s\t%s\t%d\t%s\t", limits->name, limits->platform,
                          limits->compute_units, limits->driver);
    return length < LONGEST_KEY - 300 ? length : LONGEST_KEY - 300;
}

static void write_choice(const clvox_device_limits *limits, const clv_wisdom_record *r, fresh_line *out)
{
    int length = write_device(limits, out->text);
    length += snprintf(out->text + length, sizeof out->text - (size_t)length, "%s%s\t%s\t%d\t", KERNEL,
                       r->kernel, r->build, r->size_class);
    out->key = (size_t)length;
    snprintf(out->text + length, sizeof out->text - (size_t)length, "%s\t%d %d %d %d", r->variant, r->tile.x,
             r->tile.y, r->tile.z, r->tile.march);
}

/* Six digits and an exponent, as 412350e-17: every locale reads and writes numbers without a point alike. */
static void write_cost(const clvox_device_limits *limits, const clv_wisdom_cost *c, fresh_line *out)
{
    const int power = (int)floor(log10(c->seconds)) - 5;
    int length = write_device(limits, out->text);
    length += snprintf(out->text + length, sizeof out->text - (size_t)length, "%s%s\t", COST, c->name);
    out->key = (size_t)length;
    snprintf(out->text + length, sizeof out->text - (size_t)length, "%llde%d",
             llround(c->seconds / pow(10, power)), power);
}

/* The fields of a line behind the device's; false where they are no choice. */
static bool read_choice(const char *text, clv_wisdom_record *r)
{
    int end = 0;
    if (strncmp(text, KERNEL, strlen(KERNEL)) != 0)
        return false;
    text += strlen(KERNEL);
    const char *build = strchr(text, '\t'), *rest = build ? strchr(build + 1, '\t') : NULL;
    if (!rest || build - text >= (long)sizeof r->kernel || rest - build - 1 >= (long)sizeof r->build)
        return false;
    *r = (clv_wisdom_record){.size_class = -1};
    memcpy(r->kernel, text, (size_t)(build - text));
    memcpy(r->build, build + 1, (size_t)(rest - build - 1));
    return sscanf(rest, "\t%d\t%31[^\t]\t%d %d %d %d%n", &r->size_class, r->variant, &r->tile.x, &r->tile.y,
                  &r->tile.z, &r->tile.march, &end) == 6 &&
           !rest[end] && r->size_class >= 0 && r->size_class < CLV_WISDOM_CLASSES;
}

static bool read_cost(const char *text, clv_wisdom_cost *c)
{
    char *end;
    if (strncmp(text, COST, strlen(COST)) != 0)
        return false;
    text += strlen(COST);
    const size_t length = strcspn(text, "\t");
    if (!text[length] || length == 0 || length >= sizeof c->name)
        return false;
    *c = (clv_wisdom_cost){.seconds = strtod(text + length + 1, &end)};
    memcpy(c->name, text, length);
    return end > text + length + 1 && !*end && c->seconds > 0 && isfinite(c->seconds);
}

/* A file's lines, behind its head, in one allocation. */
typedef struct lines {
    char *text, **line;
    int count, room;
} lines;

static void free_lines(lines *l)
{
    free(l->text);
    free(l->line);
    *l = (lines){.text = NULL};
}

static bool is_whole(const char *line)
{
    clv_wisdom_record r;
    clv_wisdom_cost c;
    for (int field = 0; field < 4 && line; field++)
        line = strchr(line, '\t') ? strchr(line, '\t') + 1 : NULL;
    return line && (read_choice(line, &r) || read_cost(line, &c));
}

/* *wrong: what is wrong with the file; NULL: nothing, or there is none. A file
 * with something wrong has no lines. Fails where it cannot be read. */
static int read_lines(const char *path, lines *out, const char **wrong)
{
    int status = CLVOX_OK;
    char head[LONGEST_LINE];
    size_t size = 0;
    struct stat info;
    *out = (lines){.text = NULL};
    *wrong = NULL;
    if (stat(path, &info) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return CLVOX_OK;
    CLV_TRY(clvox_file_read(path, LARGEST_FILE, &out->text, &size));
    CLV_TRY(write_head(head));
    size_t length = strcspn(out->text, "\n");
    if (strncmp(out->text, "clvox wisdom", 12) != 0 && out->text[0] != '{')
        *wrong = "is damaged";
    else if (length != strlen(head) || strncmp(out->text, head, length) != 0)
        *wrong = "is of another version of clvox";
    else if (strlen(out->text) != size || out->text[size - 1] != '\n')
        *wrong = "is damaged";
    for (char *rest = out->text + length + 1; !*wrong && *rest;) {
        char *line = strsep(&rest, "\n"), **grown;
        if (!is_whole(line)) {
            *wrong = "is damaged";
            break;
        }
        if (!(grown = clv_grown(out->line, out->count, &out->room, sizeof *grown))) {
            status = CLVOX_ERROR_MEMORY;
            break;
        }
        out->line = grown;
        grown[out->count++] = line;
    }
end:
    if (status < 0 || *wrong)
        free_lines(out);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int clv_wisdom_load(const char *path, const clvox_device_limits *limits, clv_wisdom **out)
{
    int status = CLVOX_OK;
    lines l = {.text = NULL};
    const char *wrong = NULL;
    char device[LONGEST_KEY];
    size_t length = (size_t)write_device(limits, device);
    clv_cache_key hash = clv_cache_key_start();
    clv_wisdom *wisdom = calloc(1, sizeof *wisdom);
    *out = NULL;
    if (!wisdom || (path && !(wisdom->path = strdup(path)))) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    if (path && read_lines(path, &l, &wrong) < 0)
        snprintf(wisdom->remark, sizeof wisdom->remark, "%s", clvox_message());
    if (wrong)
        snprintf(wisdom->remark, sizeof wisdom->remark,
                 "%.280s %s: passed over; `clvox tune` writes a new one and keeps this beside it", path, wrong);
    wisdom->record = calloc((size_t)l.count + 1, sizeof *wisdom->record);
    wisdom->cost = calloc((size_t)l.count + 1, sizeof *wisdom->cost);
    if (!wisdom->record || !wisdom->cost) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    if (l.count)
        qsort(l.line, (size_t)l.count, sizeof *l.line, by_text);
    for (int i = 0; i < l.count; i++) {
        const char *text = l.line[i] + length;
        if (strncmp(l.line[i], device, length) != 0)
            continue;
        clv_cache_key_add(&hash, text);
        if (read_choice(text, &wisdom->record[wisdom->count]))
            wisdom->count++;
        else if (read_cost(text, &wisdom->cost[wisdom->costs]))
            wisdom->costs++;
    }
    if (wisdom->count + wisdom->costs > 0)
        snprintf(wisdom->hash, sizeof wisdom->hash, "%016llx", (unsigned long long)hash.word[0]);
    *out = wisdom;
    wisdom = NULL;
end:
    free_lines(&l);
    clv_wisdom_destroy(&wisdom);
    return status;
}

static void make_folder(const char *path)
{
    char why[CLV_WHY], *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash && slash > folder) {
        *slash = 0;
        if (!clv_own_folder(folder, true, why))
            clvox_folders_make(path); /* what went wrong shows when the file is written */
    }
    free(folder);
}

/* Renames the file, which is not whole, to a name that is free. */
static int set_aside(const char *path, const char *wrong, char **remark)
{
    char *real = realpath(path, NULL), *aside = NULL, *sentence = NULL;
    struct stat info;
    int number = 1, length;
    do {
        free(aside);
        length = number == 1 ? asprintf(&aside, "%s.old", real ? real : path)
                             : asprintf(&aside, "%s.old%d", real ? real : path, number);
    } while (length >= 0 && lstat(aside, &info) == 0 && number++ < 1000);
    int status = length < 0 ? clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory") : CLVOX_OK;
    if (status >= 0 && rename(real ? real : path, aside) < 0)
        status = clvox_fail(CLVOX_ERROR_FILE, "%s %s, and cannot be kept as %s (%s)", path, wrong, aside,
                            strerror(errno));
    if (status >= 0 && remark && asprintf(&sentence, "%s %s: kept as %s, and begun anew", path, wrong, aside) >= 0) {
        free(*remark);
        *remark = sentence;
    }
    if (length >= 0)
        free(aside);
    free(real);
    return status;
}

/* As read_lines. A file that holds something but cannot be read must not be written over;
 * of a folder, or a device, the writing says what it thinks. */
static int read_to_change(const char *path, lines *out, const char **wrong)
{
    struct stat info;
    int status = read_lines(path, out, wrong);
    return status < 0 && !stat(path, &info) && !S_ISREG(info.st_mode) ? CLVOX_OK : status;
}

int clv_wisdom_writable(const char *path)
{
    int status;
    lines l = {.text = NULL};
    const char *wrong;
    clv_file_writer *writer = NULL;
    make_folder(path);
    CLV_TRY(clv_file_create(path, &writer));
    status = read_to_change(path, &l, &wrong);
end:
    free_lines(&l);
    clv_file_discard(&writer);
    return status;
}

/* Without a lock, where there can be none, the writing says why or one writer is alone. */
static int take_lock(const char *path, char **name)
{
    char *real = realpath(path, NULL); /* one file by two names has one lock */
    if (asprintf(name, "%s.lock", real ? real : path) < 0)
        *name = NULL;
    free(real);
    return *name ? clv_cache_lock_file(*name, 0666) : -1;
}

/* The lines with the fresh ones in the place of those of the same keys, as text. */
static char *text_with(lines *l, fresh_line *fresh, int count, size_t *size)
{
    char head[LONGEST_LINE], *text = NULL;
    int kept = 0;
    for (int i = 0; i < l->count; i++) {
        bool stays = true;
        for (int k = 0; k < count; k++)
            stays = stays && strncmp(l->line[i], fresh[k].text, fresh[k].key) != 0;
        if (stays)
            l->line[kept++] = l->line[i];
    }
    l->count = kept;
    for (int k = 0; k < count; k++) {
        char **grown = clv_grown(l->line, l->count, &l->room, sizeof *grown);
        if (!grown)
            return NULL;
        l->line = grown;
        grown[l->count++] = fresh[k].text;
    }
    FILE *to = write_head(head) >= 0 ? open_memstream(&text, size) : NULL;
    if (!to)
        return NULL;
    qsort(l->line, (size_t)l->count, sizeof *l->line, by_text);
    fprintf(to, "%s\n", head);
    for (int i = 0; i < l->count; i++)
        fprintf(to, "%s\n", l->line[i]);
    fclose(to);
    return text;
}

static int store_lines(const char *path, fresh_line *fresh, int count, char **remark)
{
    int status;
    const char *wrong = NULL;
    char *text = NULL, *lock_name = NULL;
    size_t size = 0;
    lines l = {.text = NULL};
    clv_file_writer *writer = NULL;
    make_folder(path);
    int lock = take_lock(path, &lock_name);
    CLV_TRY(read_to_change(path, &l, &wrong));
    text = text_with(&l, fresh, count, &size);
    if (!text) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_file_create(path, &writer));
    CLV_TRY(clv_file_write_at(writer, text, size, 0));
    if (wrong)
        CLV_TRY(set_aside(path, wrong, remark)); /* now that there is one to take its place */
    status = clv_file_commit(&writer);
end:
    clv_file_discard(&writer);
    if (lock >= 0)
        unlink(lock_name); /* while it is held, so that nobody's is removed but this */
    clv_cache_unlock(lock);
    free(lock_name);
    free(text);
    free_lines(&l);
    return status;
}

int clv_wisdom_store(const char *path, const clvox_device_limits *limits, const clv_wisdom_record *record,
                     char **remark)
{
    fresh_line fresh;
    write_choice(limits, record, &fresh);
    return store_lines(path, &fresh, 1, remark);
}

int clv_wisdom_store_costs(const char *path, const clvox_device_limits *limits, const clv_wisdom_cost *costs,
                           int count, char **remark)
{
    fresh_line *fresh = calloc((size_t)count + 1, sizeof *fresh);
    if (!fresh)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < count; i++)
        write_cost(limits, &costs[i], &fresh[i]);
    const int status = store_lines(path, fresh, count, remark);
    free(fresh);
    return status;
}

/* ---- choosing ---- */

double clv_wisdom_seconds(const clv_wisdom *wisdom, const char *name)
{
    for (int i = 0; wisdom && i < wisdom->costs; i++)
        if (!strcmp(wisdom->cost[i].name, name))
            return wisdom->cost[i].seconds;
    return 0;
}

/* The candidate that a record means; -1: the device cannot run it, or the
 * planner may not choose it by itself. */
static int candidate_of(const clv_wisdom_record *r, const clv_candidate *candidates, int count)
{
    for (int i = 0; i < count; i++)
        if (candidates[i].automatic && candidates[i].tile_index >= 0 &&
            !strcmp(candidates[i].variant->name, r->variant) &&
            !memcmp(&candidates[i].tile, &r->tile, sizeof r->tile))
            return i;
    return -1;
}

bool clv_wisdom_prefer(const clv_wisdom *wisdom, const clv_entry *entry, const char *build, int size_class,
                       clv_candidate *candidates, int count)
{
    int chosen = -1, nearest = CLV_WISDOM_CLASSES;
    bool own = false, agreed = true;
    for (int i = 0; wisdom && i < wisdom->count; i++) {
        const clv_wisdom_record *r = &wisdom->record[i];
        if (strcmp(r->kernel, entry->name) != 0)
            continue;
        int at = candidate_of(r, candidates, count);
        bool same = !strcmp(r->build, build);
        int away = abs(r->size_class - size_class);
        if (at < 0 || (own && !same) || (own == same && away > nearest))
            continue;
        /* Among records of one build as far away the later one is of larger volumes, which take longer. */
        agreed = same || own || away < nearest || (agreed && chosen == at);
        chosen = at;
        nearest = away;
        own = same;
    }
    if (chosen < 0 || !agreed)
        return false;
    clv_candidate first = candidates[chosen];
    memmove(candidates + 1, candidates, (size_t)chosen * sizeof *candidates);
    candidates[0] = first;
    return true;
}
