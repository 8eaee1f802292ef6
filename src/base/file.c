/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/place.h"
#include "base/seen.h"
#include "base/status.h"
#include "clvox/files.h"

/* Names of temporary files, for the signal handler, which may neither lock nor
 * allocate: a slot is free, being filled or removed, or in use. */
enum { SLOTS = 64, SLOT_FREE = 0, SLOT_BUSY, SLOT_USED };
static struct {
    atomic_int state;
    char name[PATH_MAX];
} unfinished[SLOTS];

struct clv_file_writer {
    int fd;
    int slot;       /* in unfinished; -1: written in place (a device) */
    char *path;     /* as the caller named it, for messages */
    char *target;   /* path with links resolved */
    char name[PATH_MAX];
};

int clv_file_open(const char *path, int *fd, uint64_t *size)
{
    struct stat info;
    *fd = -1;
    /* O_NONBLOCK: opening a pipe must not wait for a writer. */
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0)
        return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be opened (%s)", path, strerror(errno));
    if (fstat(opened, &info) || !S_ISREG(info.st_mode)) {
        close(opened);
        return clvox_fail(CLVOX_ERROR_FILE, "%s: is %s, not a file", path,
                          S_ISDIR(info.st_mode) ? "a directory" : "a pipe or a device");
    }
    *fd = opened;
    *size = (uint64_t)info.st_size;
    return CLVOX_OK;
}

int clv_file_read_at(int fd, const char *path, void *bytes, size_t size, uint64_t offset)
{
    char *to = bytes;
    while (size) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be read (%s)", path, strerror(errno));
        if (!got)
            return clvox_fail(CLVOX_ERROR_FILE, "%s: became shorter while it was read", path);
        to += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return CLVOX_OK;
}

void clvox_text_destroy(char **text)
{
    if (!text)
        return;
    free(*text);
    *text = NULL;
}

int clvox_file_read(const char *path, size_t limit, char **out, size_t *size)
{
    CLV_GIVEN(path, out);
    int status, fd = -1;
    uint64_t bytes = 0;
    char *text = NULL;
    *out = NULL;
    if (size)
        *size = 0;
    CLV_TRY(clv_file_open(path, &fd, &bytes));
    if (bytes > limit) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is too large (%llu bytes) for a file of this kind", path,
                            (unsigned long long)bytes);
        goto end;
    }
    text = malloc((size_t)bytes + 1);
    if (!text) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    CLV_TRY(clv_file_read_at(fd, path, text, (size_t)bytes, 0));
    text[bytes] = 0;
    clv_seen_add(path,
                 &(clvox_input_facts){.has_crc = true, .crc = libdeflate_crc32(0, text, (size_t)bytes)});
    *out = text;
    if (size)
        *size = (size_t)bytes;
    text = NULL;
end:
    free(text);
    if (fd >= 0)
        close(fd);
    return status;
}

static int take_slot(void)
{
    for (int i = 0; i < SLOTS; i++) {
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&unfinished[i].state, &expected, SLOT_BUSY))
            return i;
    }
    return -1;
}

static void release(clv_file_writer **writer)
{
    clv_file_writer *w = *writer;
    if (w->fd >= 0)
        close(w->fd);
    if (w->slot >= 0)
        atomic_store(&unfinished[w->slot].state, SLOT_FREE);
    free(w->path);
    free(w->target);
    free(w);
    *writer = NULL;
}

/* Number of this machine: folders may be shared, and process numbers are unique only within a machine. */
static unsigned machine(void)
{
    struct utsname name;
    unsigned hash = 2166136261;
    for (const char *at = uname(&name) < 0 ? "" : name.nodename; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619;
    return hash;
}

/* `.clvox-MACHINE-PROCESS-NUMBER.part` and an ending behind so many characters of a path; the length. */
static int name_temporary(char *name, size_t size, int folder, const char *path, const char *ending)
{
    static atomic_uint serial;
    return snprintf(name, size, "%.*s.clvox-%x-%ld-%u.part%s", folder, path, machine(), (long)getpid(),
                    atomic_fetch_add(&serial, 1), ending);
}

int clvox_file_scratch(const char *folder, const char *ending, char *path, size_t size)
{
    CLV_GIVEN(folder, ending, path);
    char in[PATH_MAX];
    const int length = snprintf(in, sizeof in, "%s/", folder);
    if (length >= (int)sizeof in || name_temporary(path, size, length, in, ending) >= (int)size)
        return clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", folder);
    return CLVOX_OK;
}

/* The first file that there was no room for. */
static struct {
    atomic_int state; /* of a slot */
    char path[PATH_MAX];
} full;

static int cannot_write(const char *path, int error)
{
    const bool no_room = error == ENOSPC || error == EDQUOT;
    int state = SLOT_FREE;
    if (no_room && atomic_compare_exchange_strong(&full.state, &state, SLOT_BUSY)) {
        snprintf(full.path, sizeof full.path, "%s", path);
        atomic_store(&full.state, SLOT_USED);
    }
    return clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written (%s)%s", path, strerror(error),
                      no_room ? "; make room or write elsewhere" : "");
}

const char *clvox_files_full(void)
{
    return atomic_load(&full.state) == SLOT_USED ? full.path : NULL;
}

/* Opens a new file beside the target. The name is short, because that of the
 * target may be as long as the file system allows. */
static int open_temporary(clv_file_writer *w, mode_t mode)
{
    const char *slash = strrchr(w->target, '/');
    int folder = slash ? (int)(slash - w->target + 1) : 0;
    for (int attempt = 0; attempt < 100; attempt++) {
        int length = name_temporary(w->name, sizeof w->name, folder, w->target, "");
        if (length >= (int)sizeof w->name)
            return clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", w->path);
        /* In use before it exists, so that a signal finds it as soon as it does. One that is there
         * already was left by a process of this number that is no more. */
        memcpy(unfinished[w->slot].name, w->name, (size_t)length + 1);
        atomic_store(&unfinished[w->slot].state, SLOT_USED);
        w->fd = open(w->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (w->fd >= 0)
            return CLVOX_OK;
        atomic_store(&unfinished[w->slot].state, SLOT_BUSY);
        if (errno != EEXIST)
            break;
    }
    const int why = errno;
    return clv_place_check(w->path) < 0 ? CLVOX_ERROR_FILE : cannot_write(w->path, why);
}

int clv_file_create(const char *path, clv_file_writer **out)
{
    int status = CLVOX_OK;
    struct stat info;
    *out = NULL;
    clv_file_writer *w = calloc(1, sizeof *w);
    if (!w)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    w->fd = w->slot = -1;
    w->path = strdup(path);
    bool exists = !stat(path, &info);
    w->target = exists ? realpath(path, NULL) : clv_place_target(path);
    if (!w->path || !w->target) {
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be written (%s)", path, strerror(errno));
        goto end;
    }
    if (exists && S_ISDIR(info.st_mode)) {
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: is a directory, name a file in it", path);
    } else if (exists && S_ISCHR(info.st_mode)) {
        w->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (w->fd < 0)
            status = cannot_write(path, errno);
    } else if (exists && !S_ISREG(info.st_mode)) {
        status =
            clvox_fail(CLVOX_ERROR_FILE, "%s: is neither a file nor free for one, choose another name", path);
    } else if (exists && access(path, W_OK)) {
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot be replaced (%s)", path, strerror(errno));
    } else if ((w->slot = take_slot()) < 0) {
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: too many files are being written at once", path);
    } else {
        CLV_TRY(open_temporary(w, 0666));
        if (exists && fchmod(w->fd, info.st_mode & 07777))
            status = clvox_fail(CLVOX_ERROR_FILE, "%s: cannot take over the permissions (%s)", path,
                                strerror(errno));
    }
    if (status < 0)
        goto end;
    *out = w;
    w = NULL;
end:
    clv_file_discard(&w);
    return status;
}

int clv_file_write_at(clv_file_writer *writer, const void *bytes, size_t size, uint64_t offset)
{
    const char *from = bytes;
    while (size) {
        ssize_t put = pwrite(writer->fd, from, size, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return cannot_write(writer->path, errno);
        from += put;
        size -= (size_t)put;
        offset += (uint64_t)put;
    }
    return CLVOX_OK;
}

int clv_file_commit(clv_file_writer **writer)
{
    clv_file_writer *w = *writer;
    int status = CLVOX_OK, fd = w->fd;
    w->fd = -1;
    /* A network file system may find only now that there is no room. */
    if (close(fd) || (w->slot >= 0 && rename(w->name, w->target)))
        status = cannot_write(w->path, errno);
    if (status < 0)
        clv_file_discard(writer);
    else
        release(writer);
    return status;
}

void clv_file_discard(clv_file_writer **writer)
{
    if (!writer || !*writer)
        return;
    clv_file_writer *w = *writer;
    if (w->slot >= 0 && w->name[0])
        unlink(w->name);
    release(writer);
}

int clvox_file_write(const char *path, const void *bytes, size_t size)
{
    CLV_GIVEN(path);
    int status;
    clv_file_writer *writer = NULL;
    CLV_TRY(clv_file_create(path, &writer));
    CLV_TRY(clv_file_write_at(writer, bytes, size, 0));
    status = clv_file_commit(&writer);
end:
    clv_file_discard(&writer);
    return status;
}

void clvox_files_abandon(void)
{
    for (int i = 0; i < SLOTS; i++)
        if (atomic_load(&unfinished[i].state) == SLOT_USED)
            unlink(unfinished[i].name);
}

void clvox_files_sweep(const char *path)
{
    CLV_GIVEN_OR(, path);
    char *name = clv_place_folder(path);
    DIR *folder = name ? opendir(name) : NULL;
    for (const struct dirent *one; folder && (one = readdir(folder));) {
        unsigned of;
        long process;
        int end = 0;
        if (sscanf(one->d_name, ".clvox-%x-%ld-%*u.part%n", &of, &process, &end) == 2 && end &&
            (!one->d_name[end] || one->d_name[end] == '.') && of == machine() && process > 0 &&
            kill((pid_t)process, 0) && errno == ESRCH)
            unlinkat(dirfd(folder), one->d_name, 0);
    }
    if (folder)
        closedir(folder);
    free(name);
}

int clvox_file_probe(const char *path)
{
    CLV_GIVEN(path);
    clv_file_writer *writer = NULL;
    int status = clv_file_create(path, &writer);
    clv_file_discard(&writer);
    return status;
}
