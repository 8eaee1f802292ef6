/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "clvox/command/results.h"
#include "clvox/files.h"
#include "clvox/threads.h"
#include "clvox/transform.h"

static int write_volume(const void *what, int how, const char *path)
{
    (void)how;
    return clvox_volume_write(what, path);
}

static int write_warp(const void *what, int how, const char *path)
{
    (void)how;
    return clvox_warp_write(what, path);
}

static int write_tensor(const void *what, int how, const char *path)
{
    return clvox_tensor_write(what, (clvox_tensor_order)how, path);
}

int clvox_results_add(clvox_results *r, clvox_writer write, const void *what, int how, const char *prefix,
                      const char *end)
{
    char *path = r->count < CLVOX_MAX_RESULTS ? malloc(strlen(prefix) + strlen(end) + 1) : NULL;
    if (!path)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    strcat(strcpy(path, prefix), end);
    r->item[r->count++] = (clvox_result_file){write, what, how, path, false};
    return CLVOX_OK;
}

int clvox_results_volume(clvox_results *r, const clvox_volume *volume, const char *prefix, const char *end)
{
    return clvox_results_add(r, write_volume, volume, 0, prefix, end);
}

int clvox_results_warp(clvox_results *r, const clvox_volume *warp, const char *prefix, const char *end)
{
    return clvox_results_add(r, write_warp, warp, 0, prefix, end);
}

int clvox_results_tensor(clvox_results *r, const clvox_volume *tensor, clvox_tensor_order order,
                         const char *prefix, const char *end)
{
    return clvox_results_add(r, write_tensor, tensor, (int)order, prefix, end);
}

void clvox_results_free(clvox_results *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->item[i].path);
    r->count = 0;
}

static int write_one(void *user, size_t index, int worker)
{
    clvox_result_file *one = &((clvox_results *)user)->item[index];
    (void)worker;
    int status = one->write(one->what, one->how, one->path);
    one->written = status >= 0;
    return status;
}

/* Half a result is none. A link stays, as what it leads to was written. */
static void remove_written(const clvox_results *r)
{
    for (int i = 0; i < r->count; i++) {
        char *file = r->item[i].written ? realpath(r->item[i].path, NULL) : NULL;
        if (file)
            unlink(file);
        free(file);
    }
}

int clvox_results_write(clvox_results *r)
{
    const int status = clvox_parallel((size_t)r->count, write_one, r);
    if (status < 0)
        remove_written(r);
    return status;
}

/* ---- what was there before ------------------------------------------------ */

void clvox_before_read(clvox_before *b, const char *path)
{
    enum { MOST = 1 << 28 };
    char *text = NULL;
    struct stat info;
    if (b->log || stat(path, &info) || clvox_file_read(path, MOST, &text, NULL) < 0)
        return;
    b->log = cJSON_Parse(text);
    b->logged_at = (double)info.st_mtime;
    free(text);
}

void clvox_before_free(clvox_before *b)
{
    cJSON_Delete(b->log);
    *b = (clvox_before){.log = NULL};
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the earlier run wrote this file and nobody has since. */
static bool is_leftover(const clvox_before *b, const char *path, const struct stat *info)
{
    const cJSON *one;
    if ((double)info->st_mtime > b->logged_at + 2)
        return false;
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(b->log, "outputs"))
    {
        if (cJSON_IsString(one) && !strcmp(last_part(one->valuestring), last_part(path)))
            return true;
    }
    return false;
}

clvox_leftover clvox_before_settle(const clvox_before *b, const char *path, cJSON *log)
{
    struct stat info;
    if (lstat(path, &info) || !S_ISREG(info.st_mode))
        return CLVOX_LEFT_NOTHING;
    const bool removed = is_leftover(b, path, &info) && !unlink(path);
    const char *list = removed ? "removed" : "left_from_before";
    cJSON *to = cJSON_GetObjectItem(log, list);
    cJSON_AddItemToArray(to ? to : cJSON_AddArrayToObject(log, list), cJSON_CreateString(path));
    return removed ? CLVOX_LEFT_REMOVED : CLVOX_LEFT_STRANGE;
}

void clvox_sweep_beside(const char *path, char swept[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 2, slash ? path : "./");
    if (!strcmp(folder, swept))
        return;
    clvox_files_sweep(path);
    memcpy(swept, folder, sizeof folder);
}
