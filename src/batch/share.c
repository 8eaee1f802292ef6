/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/share.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "clvox/files.h"
#include "clvox/status.h"

int clv_shard_check(clv_shard s)
{
    if (s.shards < 0 || s.shard < (s.shards > 0) || s.shard > s.shards)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "shard %d of %d: the parts of a list are counted from 1",
                          s.shard, s.shards);
    return CLVOX_OK;
}

int clv_shard_summary(clv_shard s, const char *folder, const char *derivatives, const char *end, char **out)
{
    char path[PATH_MAX + 64], part[48] = "";
    if (s.shards)
        snprintf(part, sizeof part, "_shard-%d-of-%d", s.shard, s.shards);
    snprintf(path, sizeof path, derivatives ? "%s/logs/summary%s%s" : "%s/summary%s%s",
             derivatives ? derivatives : folder, part, end);
    return clv_text_copy(path, out);
}

/* Neighbours in a list are often alike and take as long: a shard has every shards-th row. */
int clv_shard_keep(clv_shard s, void *rows, size_t size, int count, void (*drop)(void *row))
{
    char *all = rows;
    int kept = 0;
    if (!s.shards)
        return count;
    for (int i = 0; i < count; i++)
        if (i % s.shards == s.shard - 1)
            memmove(all + size * (size_t)kept++, all + size * (size_t)i, size);
        else
            drop(all + size * (size_t)i);
    return kept;
}

static void claim_path(const char *log, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.*s.claim", PATH_MAX - 8, log);
}

/* The file's lock counts: it goes with the process, however that ends. */
int clv_claim_take(const char *log)
{
    char path[PATH_MAX];
    struct stat held, there;
    claim_path(log, path);
    for (;;) {
        const int file = clvox_folders_make(path) < 0 ? -1 : open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
        const int locked = file < 0 ? -1 : flock(file, LOCK_EX | LOCK_NB), why = errno;
        if (!locked && !fstat(file, &held) && !stat(path, &there) && held.st_ino == there.st_ino)
            return file;
        if (file >= 0)
            close(file);
        if (locked)
            return file >= 0 && why == EWOULDBLOCK ? CLV_CLAIM_TAKEN : CLV_CLAIM_NONE;
        /* Its last owner has removed it meanwhile. */
    }
}

void clv_claim_leave(const char *log, int claim)
{
    char path[PATH_MAX];
    if (claim < 0)
        return;
    claim_path(log, path);
    unlink(path);
    close(claim);
}
