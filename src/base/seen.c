/* SPDX-License-Identifier: Apache-2.0 */
#include "base/seen.h"

#include <pthread.h>
#include <sys/stat.h>

enum { SEEN = 256 }; /* more than one command reads before it writes its log */

typedef struct seen {
    struct stat info;
    bool crc, header;
    clvox_input_facts facts;
} seen;

static struct {
    pthread_mutex_t lock;
    int next;
    seen file[SEEN];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* NULL: nothing is known of it. */
static seen *find(const struct stat *info)
{
    for (int i = 0; i < SEEN; i++)
        if ((all.file[i].crc || all.file[i].header) && is_same(&all.file[i].info, info))
            return &all.file[i];
    return NULL;
}

/* Enters what one reader knows; header NULL: the CRC-32. */
static void enter(const char *path, const clvox_input_facts *header, uint32_t crc)
{
    struct stat info;
    if (stat(path, &info))
        return;
    pthread_mutex_lock(&all.lock);
    seen *one = find(&info);
    if (!one) {
        one = &all.file[all.next];
        all.next = (all.next + 1) % SEEN;
        *one = (seen){.info = info};
    }
    const uint32_t known = one->facts.crc;
    if (header)
        one->facts = *header;
    one->facts.crc = header ? known : crc;
    one->header |= header != NULL;
    one->crc |= !header;
    pthread_mutex_unlock(&all.lock);
}

void clv_seen_crc(const char *path, uint32_t crc)
{
    enter(path, NULL, crc);
}

void clv_seen_header(const char *path, const clvox_input_facts *facts)
{
    enter(path, facts, 0);
}

void clv_seen_find(const char *path, clvox_input_facts *facts, bool *crc, bool *header)
{
    struct stat info;
    *facts = (clvox_input_facts){.bytes = 0};
    *crc = *header = false;
    if (stat(path, &info))
        return;
    pthread_mutex_lock(&all.lock);
    const seen *one = find(&info);
    if (one) {
        *facts = one->facts;
        *crc = one->crc;
        *header = one->header;
    }
    pthread_mutex_unlock(&all.lock);
    facts->bytes = (double)info.st_size;
}
