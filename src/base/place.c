/* SPDX-License-Identifier: Apache-2.0 */
#include "base/place.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "clvox/files.h"

char *clv_place_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* A folder that is not there yet is no link: its . and .. are what they look like. */
char *clv_place(const char *path)
{
    char *there = realpath(path, NULL), *out = NULL;
    if (there)
        return there;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *before = clv_place_folder(path);
    char *folder = before ? (*path && strcmp(path, ".") ? clv_place(before) : strdup("/")) : NULL;
    free(before);
    if (!folder || !*name || !strcmp(name, "."))
        return folder;
    if (!strcmp(name, "..")) {
        char *last = strrchr(folder, '/');
        last[last == folder] = 0;
        return folder;
    }
    if (asprintf(&out, "%s/%s", strcmp(folder, "/") ? folder : "", name) < 0)
        out = NULL;
    free(folder);
    return out;
}

/* Target of a link, as a name from here; NULL: path is no link. */
static char *next_link(const char *path)
{
    char to[PATH_MAX];
    ssize_t length = readlink(path, to, sizeof to - 1);
    const char *slash = strrchr(path, '/');
    if (length < 0)
        return NULL;
    to[length] = 0;
    size_t folder = *to != '/' && slash ? (size_t)(slash - path) + 1 : 0;
    char *out = malloc(folder + (size_t)length + 1);
    if (out) {
        memcpy(out, path, folder);
        memcpy(out + folder, to, (size_t)length + 1);
    }
    return out;
}

char *clv_place_target(const char *path)
{
    enum { MOST_LINKS = 40 };
    char *at = strdup(path), *next;
    for (int i = 0; at && i < MOST_LINKS && (next = next_link(at)) != NULL; i++) {
        free(at);
        at = next;
    }
    if (!at)
        clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    return at;
}

/* A file that is there is its device and inode; one that is not, those of its folder and its name. */
typedef struct place {
    bool known;
    struct stat info;
    char name[NAME_MAX + 1];
} place;

static place place_of(const char *path)
{
    place p = {.known = false};
    char *target = clv_place_target(path), *folder = target ? clv_place_folder(target) : NULL;
    if (folder && !stat(target, &p.info)) {
        p.known = S_ISREG(p.info.st_mode);
    } else if (folder && !stat(folder, &p.info)) {
        const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
        p.known = strlen(name) < sizeof p.name;
        if (p.known)
            strcpy(p.name, name);
    }
    free(target);
    free(folder);
    return p;
}

static bool is_same(const place *x, const place *y)
{
    return x->known && y->known && x->info.st_dev == y->info.st_dev && x->info.st_ino == y->info.st_ino &&
           !strcmp(x->name, y->name);
}

int clvox_file_same(const char *a, const char *b)
{
    CLV_GIVEN_OR(0, a, b);
    const place x = place_of(a), y = place_of(b);
    return is_same(&x, &y);
}

int clv_place_check(const char *path)
{
    int status = CLVOX_OK;
    struct stat info;
    char *target = clv_place_target(path), *folder = target ? clv_place_folder(target) : NULL;
    if (!folder)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    bool exists = !stat(target, &info);
    if (exists && S_ISDIR(info.st_mode))
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: is a directory, name a file in it", path);
    else if (exists && access(target, W_OK))
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be replaced (%s)", path, strerror(errno));
    else if (exists && !S_ISREG(info.st_mode))
        status = CLVOX_OK; /* /dev/null and the like need no folder */
    else if (stat(folder, &info))
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written: the folder %s does not exist (%s)",
                            path, folder, strerror(errno));
    else if (!S_ISDIR(info.st_mode))
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written: %s is no folder", path, folder);
    else if (access(folder, W_OK | X_OK))
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written: nor can its folder %s (%s)", path,
                            folder, strerror(errno));
    free(target);
    free(folder);
    return status;
}

static place *places_of(const char *const *paths, int count)
{
    place *p = calloc((size_t)count + 1, sizeof *p);
    for (int i = 0; p && i < count; i++)
        if (paths[i])
            p[i] = place_of(paths[i]);
    return p;
}

int clvox_outputs_check(const char *const *inputs, int input_count, const char *const *outputs,
                        int output_count)
{
    if (input_count > 0)
        CLV_GIVEN(inputs);
    if (output_count > 0)
        CLV_GIVEN(outputs);
    int status = CLVOX_OK;
    place *in = places_of(inputs, input_count), *out = places_of(outputs, output_count);
    if (!in || !out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < output_count; i++) {
        if (!outputs[i])
            continue;
        CLV_TRY(clv_place_check(outputs[i]));
        for (int k = 0; k < input_count && status >= 0; k++)
            if (is_same(&out[i], &in[k])) {
                const bool spelt = strcmp(outputs[i], inputs[k]) != 0;
                status =
                    clvox_fail(CLVOX_ERROR_FILE,
                               "%s: would be overwritten, and is an input%s%s; give the results another name",
                               outputs[i], spelt ? ": " : "", spelt ? inputs[k] : "");
            }
        for (int k = 0; k < i && status >= 0; k++)
            if (is_same(&out[i], &out[k]))
                status = clvox_fail(CLVOX_ERROR_FILE,
                                    "%s: two results would have this name (%s); give one another", outputs[i],
                                    outputs[k]);
        CLV_TRY(status);
    }
end:
    free(in);
    free(out);
    return status;
}

/* ---- folders ------------------------------------------------------------ */

/* For the signal handler, which may neither lock nor allocate. */
enum { MOST_MADE = 32 };
static struct {
    char name[PATH_MAX];
    atomic_bool there;
} made[MOST_MADE];
static atomic_int made_count;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static int make_folder(const char *path, const char *folder)
{
    if (!mkdir(folder, 0777)) {
        pthread_mutex_lock(&making); /* pairs of a list make theirs side by side */
        int at = atomic_load(&made_count);
        if (at < MOST_MADE && strlen(folder) < PATH_MAX) {
            strcpy(made[at].name, folder);
            atomic_store(&made[at].there, true);
            atomic_store(&made_count, at + 1);
        }
        pthread_mutex_unlock(&making);
        return CLVOX_OK;
    }
    struct stat info;
    const int why = errno;
    if (!stat(folder, &info) && S_ISDIR(info.st_mode))
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written: the folder %s cannot be made (%s)", path,
                      folder, strerror(why));
}

int clvox_folders_make(const char *path)
{
    CLV_GIVEN(path);
    int status = CLVOX_OK;
    char *at = strdup(path);
    if (!at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    for (char *slash = strchr(at + (*at == '/'), '/'); status >= 0 && slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        status = make_folder(path, at);
        *slash = '/';
    }
    free(at);
    return status;
}

void clvox_folders_remove(void)
{
    for (int i = atomic_load(&made_count) - 1; i >= 0; i--)
        if (atomic_exchange(&made[i].there, false))
            rmdir(made[i].name); /* one that is not empty stays */
}
