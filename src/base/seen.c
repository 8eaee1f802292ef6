/* SPDX-License-Identifier: Apache-2.0 */
#include "base/seen.h"

#include <pthread.h>
#include <sys/stat.h>

enum { SEEN = 256 }; /* more than one command reads before it writes its log */

static struct {
    pthread_mutex_t lock;
    int next;
    struct stat file[SEEN];
    clvox_input_facts facts[SEEN];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The facts of a file; NULL: there are none. */
static clvox_input_facts *find(const struct stat *info)
{
    for (int i = 0; i < SEEN; i++) {
        const struct stat *file = &seen.file[i];
        if (file->st_dev == info->st_dev && file->st_ino == info->st_ino && file->st_size == info->st_size &&
            file->st_mtim.tv_sec == info->st_mtim.tv_sec && file->st_mtim.tv_nsec == info->st_mtim.tv_nsec)
            return &seen.facts[i];
    }
    return NULL;
}

void clv_seen_add(const char *path, const clvox_input_facts *more)
{
    struct stat info;
    if (stat(path, &info))
        return;
    pthread_mutex_lock(&seen.lock);
    clvox_input_facts *facts = find(&info), before = {.has_crc = false};
    if (facts) {
        before = *facts;
    } else {
        facts = &seen.facts[seen.next];
        seen.file[seen.next] = info;
        seen.next = (seen.next + 1) % SEEN;
    }
    *facts = more->has_header ? *more : before;
    facts->has_crc = before.has_crc || more->has_crc;
    facts->crc = more->has_crc ? more->crc : before.crc;
    pthread_mutex_unlock(&seen.lock);
}

void clv_seen_find(const char *path, clvox_input_facts *out)
{
    struct stat info;
    *out = (clvox_input_facts){.has_crc = false};
    if (stat(path, &info))
        return;
    pthread_mutex_lock(&seen.lock);
    const clvox_input_facts *facts = find(&info);
    if (facts)
        *out = *facts;
    pthread_mutex_unlock(&seen.lock);
    out->bytes = (double)info.st_size;
}
