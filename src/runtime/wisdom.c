/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/wisdom.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/status.h"
#include "runtime/cache.h"
#include "runtime/source.h"

enum { FORM = 1, LARGEST_FILE = 64 << 20 };

static const char *const class_names[CLV_WISDOM_CLASSES] = {"small", "middle", "large"};

char *clv_wisdom_path(void)
{
    const char *set = getenv("CLVOX_WISDOM");
    char *path = NULL;
    if (set)
        return set[0] ? strdup(set) : NULL;
    char *cache = clv_cache_dir();
    size_t length = cache ? strlen(cache) : 0;
    while (length > 1 && cache[length - 1] == '/') /* beside the folder, not in it */
        length--;
    if (length > 0 && asprintf(&path, "%.*s-wisdom.json", (int)length, cache) < 0)
        path = NULL;
    free(cache);
    return path;
}

void clv_wisdom_destroy(clv_wisdom **wisdom)
{
    if (!wisdom || !*wisdom)
        return;
    free((*wisdom)->record);
    free((*wisdom)->path);
    free(*wisdom);
    *wisdom = NULL;
}

static void write_key(clv_cache_key key, char out[CLV_WISDOM_VERSION])
{
    snprintf(out, CLV_WISDOM_VERSION, "%016llx%016llx", (unsigned long long)key.word[0],
             (unsigned long long)key.word[1]);
}

/* The hash of a kernel file with its includes: asked of each of its kernels. */
static int source_key(clv_wisdom *wisdom, const char *file, clv_cache_key *key)
{
    for (int i = 0; wisdom && i < wisdom->source_count; i++)
        if (!strcmp(wisdom->source[i].file, file)) {
            *key = wisdom->source[i].key;
            return CLVOX_OK;
        }
    char *source = NULL;
    int status = clv_source_assemble(file, "", &source); /* no such kernel: all of the file */
    if (status < 0)
        return status;
    *key = clv_cache_key_start();
    clv_cache_key_add(key, source);
    free(source);
    if (wisdom && wisdom->source_count < CLV_WISDOM_SOURCES)
        wisdom->source[wisdom->source_count++] = (clv_wisdom_source){file, *key};
    return CLVOX_OK;
}

static int version_of(clv_wisdom *wisdom, const clv_entry *entry, char version[CLV_WISDOM_VERSION])
{
    char row[512];
    clv_cache_key key;
    int status = source_key(wisdom, entry->file, &key);
    if (status < 0)
        return status;
    for (int v = 0; v < entry->count; v++) {
        const clv_variant *a = &entry->variants[v];
        snprintf(row, sizeof row, "%s %s %s %d,%d,%d %d,%d,%d %d,%d,%d %d %d %d %d %d,%d,%d %d %d %d %d %d %d", a->name,
                 a->function, a->defines ? a->defines : "", a->item[0], a->item[1], a->item[2], a->group[0],
                 a->group[1], a->group[2], a->rim[0], a->rim[1], a->rim[2], a->parts,
                 a->most_groups, a->passes, a->devices, a->halo[0], a->halo[1], a->halo[2],
                 a->cell_bytes, a->planes, a->fixed_bytes, a->no_local, a->register_cap, a->optional);
        clv_cache_key_add(&key, row);
        for (int t = 0; t < CLV_MAX_TILES && a->tiles[t].x; t++) {
            snprintf(row, sizeof row, "%dx%dx%d,%d", a->tiles[t].x, a->tiles[t].y, a->tiles[t].z,
                     a->tiles[t].march);
            clv_cache_key_add(&key, row);
        }
    }
    write_key(key, version);
    return CLVOX_OK;
}

int clv_wisdom_version(const clv_entry *entry, char version[CLV_WISDOM_VERSION])
{
    return version_of(NULL, entry, version);
}

int clv_wisdom_class(const int size[3])
{
    double voxels = (double)size[0] * size[1] * size[2];
    return (voxels > 1 << 20) + (voxels > 1 << 23);
}

/* ---- the file ---- */

/* Of what the file says about devices, as it would be printed again. */
static bool checksum(const cJSON *devices, char out[17])
{
    char *text = cJSON_PrintUnformatted(devices);
    clv_cache_key key = clv_cache_key_start();
    if (text)
        clv_cache_key_add(&key, text);
    snprintf(out, 17, "%016llx", (unsigned long long)key.word[0]);
    cJSON_free(text);
    return text != NULL;
}

static const char *text_of(const cJSON *from, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, name));
    return text ? text : "";
}

static double number_of(const cJSON *from, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void integers_of(const cJSON *from, const char *name, int count, int *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from, name);
    for (int i = 0; i < count; i++) {
        const cJSON *item = cJSON_GetArrayItem(list, i);
        out[i] = cJSON_IsNumber(item) ? item->valueint : 0;
    }
}

/* The file's tree when it is whole, else NULL and what is wrong with it, which
 * is NULL where there is no file. Fails where it cannot be read. */
static int read_tree(const char *path, cJSON **out, const char **wrong)
{
    char *text = NULL, sum[17];
    size_t size = 0;
    struct stat info;
    *out = NULL;
    *wrong = NULL;
    if (stat(path, &info) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return CLVOX_OK;
    int status = clv_file_read_all(path, LARGEST_FILE, &text, &size);
    if (status < 0)
        return status;
    cJSON *tree = cJSON_ParseWithLength(text, size);
    free(text);
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(tree, "devices");
    /* What another version keeps elsewhere than in "devices" is no damage. */
    if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(tree, "wisdom")) && (int)number_of(tree, "wisdom") != FORM)
        *wrong = "is of another version of clvox";
    else if (!tree || !cJSON_IsArray(devices))
        *wrong = "is damaged";
    else if (!checksum(devices, sum) || strcmp(sum, text_of(tree, "checksum")) != 0)
        *wrong = "is damaged, or was changed by hand";
    if (*wrong)
        cJSON_Delete(tree);
    else
        *out = tree;
    return CLVOX_OK;
}

static cJSON *find_device(const cJSON *tree, const clvox_device_limits *limits)
{
    cJSON *device;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(tree, "devices"))
        if (!strcmp(text_of(device, "name"), limits->name) &&
            !strcmp(text_of(device, "platform"), limits->platform) &&
            !strcmp(text_of(device, "driver"), limits->driver) &&
            (int)number_of(device, "compute_units") == limits->compute_units)
            return device;
    return NULL;
}

/* By its name; records from before there were classes: by the size measured. */
static int class_of(const cJSON *record)
{
    int size[3];
    for (int c = 0; c < CLV_WISDOM_CLASSES; c++)
        if (!strcmp(text_of(record, "class"), class_names[c]))
            return c;
    integers_of(record, "size", 3, size);
    return clv_wisdom_class(size);
}

static clv_wisdom_record read_record(const cJSON *from)
{
    clv_wisdom_record r = {.seconds = number_of(from, "seconds"), .planned = number_of(from, "planned")};
    int tile[4];
    integers_of(from, "tile", 4, tile);
    integers_of(from, "size", 3, r.size);
    r.tile = (clv_tile){tile[0], tile[1], tile[2], tile[3]};
    r.size_class = class_of(from);
    snprintf(r.kernel, sizeof r.kernel, "%s", text_of(from, "kernel"));
    snprintf(r.build, sizeof r.build, "%s", text_of(from, "build"));
    snprintf(r.version, sizeof r.version, "%s", text_of(from, "version"));
    snprintf(r.variant, sizeof r.variant, "%s", text_of(from, "variant"));
    return r;
}

static void hash_of(clv_wisdom *wisdom)
{
    clv_cache_key key = clv_cache_key_start();
    for (int i = 0; i < wisdom->count; i++) {
        const clv_wisdom_record *r = &wisdom->record[i];
        char tile[64];
        snprintf(tile, sizeof tile, "%dx%dx%d,%d", r->tile.x, r->tile.y, r->tile.z, r->tile.march);
        const char *const parts[] = {r->kernel, r->build, class_names[r->size_class], r->version, r->variant, tile};
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
            clv_cache_key_add(&key, parts[k]);
    }
    snprintf(wisdom->hash, sizeof wisdom->hash, "%016llx", (unsigned long long)key.word[0]);
}

int clv_wisdom_load(const char *path, const clvox_device_limits *limits, clv_wisdom **out)
{
    int status = CLVOX_OK;
    cJSON *tree = NULL;
    const char *wrong = NULL;
    const cJSON *kernels, *kernel;
    clv_wisdom *wisdom = calloc(1, sizeof *wisdom);
    *out = NULL;
    if (!wisdom || (path && !(wisdom->path = strdup(path)))) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    if (path && read_tree(path, &tree, &wrong) < 0)
        snprintf(wisdom->remark, sizeof wisdom->remark, "%s", clvox_message());
    if (wrong)
        snprintf(wisdom->remark, sizeof wisdom->remark,
                 "%.280s %s: passed over; `clvox tune` writes a new one and keeps this beside it", path, wrong);
    kernels = cJSON_GetObjectItemCaseSensitive(find_device(tree, limits), "kernels");
    int room = cJSON_GetArraySize(kernels);
    wisdom->record = calloc((size_t)room + 1, sizeof *wisdom->record);
    if (!wisdom->record) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    cJSON_ArrayForEach(kernel, kernels)
        wisdom->record[wisdom->count++] = read_record(kernel);
    hash_of(wisdom);
    *out = wisdom;
    wisdom = NULL;
end:
    cJSON_Delete(tree);
    clv_wisdom_destroy(&wisdom);
    return status;
}

static cJSON *new_device(cJSON *tree, const clvox_device_limits *limits)
{
    cJSON *device = cJSON_CreateObject();
    cJSON_AddStringToObject(device, "name", limits->name);
    cJSON_AddStringToObject(device, "platform", limits->platform);
    cJSON_AddStringToObject(device, "driver", limits->driver);
    cJSON_AddNumberToObject(device, "compute_units", limits->compute_units);
    cJSON_AddArrayToObject(device, "kernels");
    if (!cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(tree, "devices"), device)) {
        cJSON_Delete(device);
        return NULL;
    }
    return device;
}

static cJSON *new_record(const clv_wisdom_record *r)
{
    cJSON *to = cJSON_CreateObject();
    cJSON_AddStringToObject(to, "kernel", r->kernel);
    cJSON_AddStringToObject(to, "build", r->build);
    cJSON_AddStringToObject(to, "class", class_names[r->size_class]);
    cJSON_AddStringToObject(to, "version", r->version);
    cJSON_AddStringToObject(to, "variant", r->variant);
    cJSON_AddItemToObject(to, "tile",
                          cJSON_CreateIntArray((int[4]){r->tile.x, r->tile.y, r->tile.z, r->tile.march}, 4));
    cJSON_AddNumberToObject(to, "seconds", r->seconds);
    cJSON_AddNumberToObject(to, "planned", r->planned);
    cJSON_AddItemToObject(to, "size", cJSON_CreateIntArray(r->size, 3));
    return to;
}

/* Puts it in the place of the one before, in the order of kernel, build and class.
 * (Debian's cJSON 1.7.15 cannot insert in the middle of a list.) */
static bool put_record(cJSON *device, const clv_wisdom_record *r)
{
    cJSON *from = cJSON_GetObjectItemCaseSensitive(device, "kernels"), *to = cJSON_CreateArray();
    cJSON *record = new_record(r), *there;
    while ((there = cJSON_DetachItemFromArray(from, 0))) {
        int order = strcmp(text_of(there, "kernel"), r->kernel);
        order = order ? order : strcmp(text_of(there, "build"), r->build);
        order = order ? order : class_of(there) - r->size_class;
        if (order >= 0 && record) {
            cJSON_AddItemToArray(to, record);
            record = NULL;
        }
        if (order == 0)
            cJSON_Delete(there);
        else
            cJSON_AddItemToArray(to, there);
    }
    if (record)
        cJSON_AddItemToArray(to, record);
    return cJSON_ReplaceItemInObjectCaseSensitive(device, "kernels", to);
}

/* The tree with the record in it, as text; NULL: out of memory. */
static char *text_with(cJSON *tree, const clvox_device_limits *limits, const clv_wisdom_record *record)
{
    char sum[17];
    cJSON *device = find_device(tree, limits);
    if (!device)
        device = new_device(tree, limits);
    if (!put_record(device, record) || !checksum(cJSON_GetObjectItemCaseSensitive(tree, "devices"), sum))
        return NULL;
    cJSON_DeleteItemFromObject(tree, "checksum");
    cJSON_AddStringToObject(tree, "checksum", sum);
    return cJSON_Print(tree);
}

static void make_folder(const char *path)
{
    char *folder = strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash && slash > folder) {
        *slash = 0;
        clv_cache_make(folder); /* what went wrong shows when the file is written */
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
    int status = length < 0 ? clv_fail(CLVOX_ERROR_MEMORY, "out of host memory") : CLVOX_OK;
    if (status >= 0 && rename(real ? real : path, aside) < 0)
        status = clv_fail(CLVOX_ERROR_FILE, "%s %s, and cannot be kept as %s (%s)", path, wrong, aside,
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

/* wrong: what is wrong with the file that is there, NULL for nothing. */
static int write_text(const char *path, const char *text, const char *wrong, char **remark)
{
    int status;
    clv_file_writer *writer = NULL;
    size_t length = strlen(text);
    CLV_TRY(clv_file_create(path, &writer));
    CLV_TRY(clv_file_write_at(writer, text, length, 0));
    CLV_TRY(clv_file_write_at(writer, "\n", 1, length));
    if (wrong)
        CLV_TRY(set_aside(path, wrong, remark)); /* now that there is one to take its place */
    status = clv_file_commit(&writer);
end:
    clv_file_discard(&writer);
    return status;
}

/* As read_tree. A file that holds something but cannot be read must not be written over;
 * of a folder, or a device, the writing says what it thinks. */
static int read_to_change(const char *path, cJSON **tree, const char **wrong)
{
    struct stat info;
    int status = read_tree(path, tree, wrong);
    return status < 0 && !stat(path, &info) && !S_ISREG(info.st_mode) ? CLVOX_OK : status;
}

int clv_wisdom_writable(const char *path)
{
    int status;
    cJSON *tree = NULL;
    const char *wrong;
    clv_file_writer *writer = NULL;
    make_folder(path);
    CLV_TRY(clv_file_create(path, &writer));
    status = read_to_change(path, &tree, &wrong);
end:
    cJSON_Delete(tree);
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

int clv_wisdom_store(const char *path, const clvox_device_limits *limits, const clv_wisdom_record *record,
                     char **remark)
{
    int status;
    const char *wrong;
    char *text = NULL, *lock_name = NULL;
    cJSON *tree = NULL;
    make_folder(path);
    int lock = take_lock(path, &lock_name);
    CLV_TRY(read_to_change(path, &tree, &wrong));
    if (!tree) {
        tree = cJSON_CreateObject();
        cJSON_AddStringToObject(tree, "program", "clvox");
        cJSON_AddNumberToObject(tree, "wisdom", FORM);
        cJSON_AddArrayToObject(tree, "devices");
    }
    text = text_with(tree, limits, record);
    status = text ? write_text(path, text, wrong, remark) : clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
end:
    if (lock >= 0)
        unlink(lock_name); /* while it is held, so that nobody's is removed but this */
    clv_cache_unlock(lock);
    free(lock_name);
    cJSON_free(text);
    cJSON_Delete(tree);
    return status;
}

/* ---- choosing ---- */

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

bool clv_wisdom_prefer(clv_wisdom *wisdom, const clv_entry *entry, const char *build, int size_class,
                       clv_candidate *candidates, int count)
{
    char version[CLV_WISDOM_VERSION] = "";
    int chosen = -1, nearest = CLV_WISDOM_CLASSES;
    bool own = false, agreed = true;
    for (int i = 0; wisdom && i < wisdom->count; i++) {
        const clv_wisdom_record *r = &wisdom->record[i];
        if (strcmp(r->kernel, entry->name) != 0)
            continue;
        if (!version[0] && version_of(wisdom, entry, version) < 0)
            return false;
        int at = strcmp(r->version, version) ? -1 : candidate_of(r, candidates, count);
        bool same = !strcmp(r->build, build);
        int away = abs(r->size_class - size_class);
        if (at < 0 || (own && !same) || (own == same && away > nearest))
            continue;
        /* Of one build as far away the later record is of larger volumes, which take longer. */
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
