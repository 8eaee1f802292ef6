/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "clvox/kernels.h"
#include "runtime/program/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "CLVOXP3";

typedef struct header {
    char magic[8];
    clv_cache_key key;
    uint64_t bytes;
    uint64_t checksum; /* of counts and data */
    clv_counts counts;
    uint32_t none; /* 0, in the place of padding */
} header;

/* FNV-1a; the two words of a key differ in their start. */
static const uint64_t PRIME = 0x100000001b3ull;

static uint64_t hash(uint64_t h, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ data[i]) * PRIME;
    return h;
}

clv_cache_key clv_cache_key_start(void)
{
    return (clv_cache_key){{0xcbf29ce484222325ull, 0x9e3779b97f4a7c15ull}};
}

void clv_cache_key_add(clv_cache_key *key, const char *text)
{
    const size_t bytes = strlen(text) + 1;                /* with its end, so that "ab","c" is not "a","bc" */
    uint64_t first = key->word[0], second = key->word[1]; /* neither waits for the other */
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char one = (unsigned char)text[i];
        first = (first ^ one) * PRIME;
        second = (second ^ one) * PRIME;
    }
    key->word[0] = first, key->word[1] = second;
}

char *clv_cache_place(void)
{
    char *dir = NULL, here[PATH_MAX] = "";
    const char *set = getenv("CLVOX_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (set && (!set[0] || (set[0] != '/' && !getcwd(here, sizeof here))))
        return NULL;
    const int made = set                      ? asprintf(&dir, "%s%s%s", here, here[0] ? "/" : "", set)
                     : xdg && xdg[0] == '/'   ? asprintf(&dir, "%s/clvox", xdg)
                     : home && home[0] == '/' ? asprintf(&dir, "%s/.cache/clvox", home)
                                              : -1;
    return made < 0 ? NULL : dir;
}

char *clv_cache_dir(char remark[CLV_WHY + 200])
{
    static const char cure[] = "set CLVOX_CACHE_DIR to a folder that only you can write";
    char why[CLV_WHY] = "neither XDG_CACHE_HOME nor HOME names a folder", *dir = clv_cache_place();
    remark[0] = 0;
    if (dir ? clv_own_folder(dir, false, why) : getenv("CLVOX_CACHE_DIR") != NULL)
        return dir;
    free(dir);
    if (why[0])
        snprintf(remark, CLV_WHY + 200, "built kernels are not kept, as %s; %s", why, cure);
    return NULL;
}

static uint64_t checksum(const clv_counts *counts, const unsigned char *data, size_t bytes)
{
    uint64_t h = hash(0xcbf29ce484222325ull, (const unsigned char *)counts, sizeof *counts);
    return hash(h, data, bytes);
}

static char *entry_path(const char *dir, clv_cache_key key)
{
    char *path = NULL;
    int made = asprintf(&path, "%s/%016llx%016llx", dir, (unsigned long long)key.word[0],
                        (unsigned long long)key.word[1]);
    return made < 0 ? NULL : path;
}

bool clv_cache_load(const char *dir, clv_cache_key key, unsigned char **data, size_t *bytes,
                    clv_counts *counts)
{
    bool whole = false;
    unsigned char *content = NULL;
    header head;
    struct stat info;
    char *path = entry_path(dir, key);
    const int fd = path ? clv_own_open(path, O_RDONLY, 0) : -1;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file || fread(&head, sizeof head, 1, file) != 1 || memcmp(head.magic, magic, sizeof magic) ||
        memcmp(&head.key, &key, sizeof key) || head.none || fstat(fileno(file), &info) < 0 ||
        head.bytes == 0 || (uint64_t)info.st_size != sizeof head + head.bytes)
        goto end;
    content = malloc(head.bytes);
    if (!content || fread(content, 1, head.bytes, file) != head.bytes ||
        checksum(&head.counts, content, head.bytes) != head.checksum)
        goto end;
    *data = content;
    *bytes = head.bytes;
    *counts = head.counts;
    content = NULL;
    whole = true;
end:
    free(content);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    free(path);
    return whole;
}

int clvox_cache_empty(char *folder, size_t room)
{
    enum { NAME = 32 }; /* of an entry */
    char remark[CLV_WHY + 200], *dir = clv_cache_dir(remark);
    bool empty = dir != NULL;
    DIR *open = dir ? opendir(dir) : NULL;
    for (const struct dirent *entry; open && empty && (entry = readdir(open));)
        empty = strlen(entry->d_name) != NAME;
    if (open)
        closedir(open);
    if (empty && folder)
        snprintf(folder, room, "%s", dir);
    free(dir);
    return empty;
}

void clv_cache_store(const char *dir, clv_cache_key key, const unsigned char *data, size_t bytes,
                     const clv_counts *counts)
{
    char why[CLV_WHY];
    header head = {.key = key, .bytes = bytes, .counts = *counts};
    memcpy(head.magic, magic, sizeof magic);
    head.checksum = checksum(counts, data, bytes);
    char *path = NULL, *temporary = NULL;
    FILE *file = NULL;
    bool written = false;
    if (!clv_own_folder(dir, true, why) || !(path = entry_path(dir, key)))
        goto end;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
        temporary = NULL;
        goto end;
    }
    int descriptor = mkstemp(temporary);
    if (descriptor < 0)
        goto end;
    file = fdopen(descriptor, "wb");
    if (!file) {
        close(descriptor);
        unlink(temporary);
        goto end;
    }
    written = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(data, 1, bytes, file) == bytes;
    if (fclose(file) != 0)
        written = false;
    if (!written || rename(temporary, path) < 0)
        unlink(temporary);
end:
    free(temporary);
    free(path);
}

double clv_cache_patience = 10;

/* False where others still hold it after so many seconds; below 0: waits as long as it takes. */
static bool lock_within(int lock, double patience)
{
    static const struct timespec moment = {.tv_nsec = 2000000};
    const double start = clv_seconds();
    int held;
    while ((held = flock(lock, patience < 0 ? LOCK_EX : LOCK_EX | LOCK_NB)) < 0 &&
           (errno == EINTR || (errno == EWOULDBLOCK && clv_seconds() - start < patience)))
        if (errno == EWOULDBLOCK)
            nanosleep(&moment, NULL);
    return held == 0 || errno != EWOULDBLOCK; /* a file system without locks keeps nobody out */
}

static int lock_file(const char *path, unsigned mode, double patience, long *holder)
{
    struct stat info;
    for (;;) {
        char number[24] = "";
        int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
        if (lock < 0)
            return -1;
        if (fstat(lock, &info) < 0 || !S_ISREG(info.st_mode)) {
            close(lock);
            return -1;
        }
        if (!lock_within(lock, patience)) {
            *holder = pread(lock, number, sizeof number - 1, 0) > 0 ? atol(number) : 0;
            close(lock);
            return CLV_CACHE_BUSY;
        }
        /* One that was removed while this waited for it keeps nobody out. */
        if (fstat(lock, &info) < 0 || info.st_nlink > 0)
            return lock;
        close(lock);
    }
}

int clv_cache_lock_file(const char *path, unsigned mode)
{
    long nobody;
    return lock_file(path, mode, -1, &nobody);
}

int clv_cache_lock(const char *dir, const char *name, double patience, long *holder)
{
    char *path = NULL, why[CLV_WHY], number[24];
    if (!clv_own_folder(dir, true, why) || asprintf(&path, "%s/.lock%s", dir, name) < 0)
        return -1;
    int lock = lock_file(path, 0600, patience, holder);
    const int length = snprintf(number, sizeof number, "%ld\n", (long)getpid());
    if (lock >= 0 && (ftruncate(lock, 0) < 0 || pwrite(lock, number, (size_t)length, 0) < 0))
        number[0] = 0; /* a full disk: nobody learns who holds it */
    free(path);
    return lock;
}

void clv_cache_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}
