/* SPDX-License-Identifier: Apache-2.0 */
#include "base/own.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "clvox/files.h"

static bool owned(const struct stat *info)
{
    return info->st_uid == geteuid() || info->st_uid == 0;
}

/* Whether a group is this user's alone. */
static bool group_of(uid_t user, gid_t group)
{
    char user_room[4096], group_room[4096];
    struct passwd his, *he = NULL;
    struct group its, *it = NULL;
    if (getpwuid_r(user, &his, user_room, sizeof user_room, &he) != 0 || !he || he->pw_gid != group ||
        getgrgid_r(group, &its, group_room, sizeof group_room, &it) != 0 || !it ||
        strcmp(it->gr_name, he->pw_name) != 0)
        return false;
    for (char **member = it->gr_mem; member && *member; member++)
        if (strcmp(*member, he->pw_name) != 0)
            return false;
    return true;
}

/* Files of one folder have one group, mostly: the last answer is kept. */
static bool own_group(gid_t group)
{
    static _Thread_local struct {
        bool known, own;
        gid_t group;
    } last;
    if (!last.known || last.group != group) {
        last.own = group_of(geteuid(), group) || group_of(0, group);
        last.group = group;
        last.known = true;
    }
    return last.own;
}

/* With a list of access rights, the mode of the group is that of everybody in the list. */
static bool has_list(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

static bool others_write(int fd, const struct stat *info)
{
    return info->st_mode & S_IWOTH || (info->st_mode & S_IWGRP && (!own_group(info->st_gid) || has_list(fd)));
}

static bool say(char why[CLV_WHY], const char *path, const char *is)
{
    snprintf(why, CLV_WHY, "%.300s %s", path, is);
    return false;
}

static bool say_owner(char why[CLV_WHY], const char *path, uid_t owner)
{
    char is[64];
    snprintf(is, sizeof is, "belongs to another user (%u)", (unsigned)owner);
    return say(why, path, is);
}

static const char OPEN[] = "can be written by other users";

/* ---- a folder ------------------------------------------------------------ */

/* On the way to a folder, from the root: what is left of the path, and what has been gone through. */
typedef struct way {
    int at; /* -1: closed */
    struct stat info;
    char rest[2 * PATH_MAX], been[2 * PATH_MAX];
    int links;
    bool there; /* so far all is there */
} way;

static bool stand(way *w, int at)
{
    if (w->at >= 0)
        close(w->at);
    w->at = at;
    return at >= 0 && fstat(at, &w->info) == 0 && S_ISDIR(w->info.st_mode);
}

static bool start(way *w)
{
    w->been[0] = 0;
    return stand(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool follow(way *w, int link)
{
    enum { MOST_LINKS = 40 };
    char to[PATH_MAX], rest[sizeof w->rest];
    const ssize_t length = readlinkat(link, "", to, sizeof to - 1);
    if (length <= 0 || ++w->links > MOST_LINKS)
        return false;
    to[length] = 0;
    if (snprintf(rest, sizeof rest, "%s/%s", to, w->rest) >= (int)sizeof rest)
        return false;
    strcpy(w->rest, rest);
    return to[0] != '/' || start(w);
}

/* Cuts the next name off; false: there is none. */
static bool next_name(way *w, char name[NAME_MAX + 1])
{
    const char *from = w->rest;
    size_t length;
    do {
        from += strspn(from, "/");
        length = strcspn(from, "/");
        if (length > NAME_MAX)
            length = NAME_MAX; /* not there */
        memcpy(name, from, length);
        name[length] = 0;
        from += length;
    } while (!strcmp(name, "."));
    memmove(w->rest, from, strlen(from) + 1);
    return length > 0;
}

/* Whether others may put something of their own into the folder where the way stands. */
static bool shared(const way *w)
{
    return others_write(w->at, &w->info);
}

/* Makes what is missing if asked to, or if others could make it first. */
static bool step(way *w, const char *name, bool make, char why[CLV_WHY])
{
    struct stat info;
    const size_t been = strlen(w->been);
    int next = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    w->there = next >= 0 || errno != ENOENT;
    make = make || shared(w);
    if (!w->there && make && mkdirat(w->at, name, 0700) == 0) {
        w->there = true;
        next = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (!w->there)
        return !make;
    if (next < 0 || fstat(next, &info) < 0) {
        if (next >= 0)
            close(next);
        return false;
    }
    snprintf(w->been + been, sizeof w->been - been, "/%s", name);
    if (!owned(&info)) {
        close(next);
        return say_owner(why, w->been, info.st_uid);
    }
    if (S_ISLNK(info.st_mode)) {
        w->been[been] = 0;
        const bool leads = follow(w, next);
        close(next);
        return leads;
    }
    return stand(w, next);
}

static bool go(way *w, bool make, char why[CLV_WHY])
{
    char name[NAME_MAX + 1];
    w->there = true;
    if (!start(w))
        return false;
    if (!owned(&w->info))
        return say_owner(why, "/", w->info.st_uid);
    while (w->there && next_name(w, name)) {
        if (shared(w) && !(w->info.st_mode & S_ISVTX))
            return say(why, w->been[0] ? w->been : "/", OPEN);
        if (!step(w, name, make, why))
            return false;
    }
    return !w->there || !shared(w) || say(why, w->been[0] ? w->been : "/", OPEN);
}

/* As clv_own_folder, and leaves the way there; w->at is the caller's to close. */
static bool reach(way *w, const char *path, bool make, char why[CLV_WHY])
{
    char here[PATH_MAX] = "";
    *w = (way){.at = -1};
    why[0] = 0;
    if (!path[0] || (path[0] != '/' && !getcwd(here, sizeof here)) ||
        snprintf(w->rest, sizeof w->rest, "%s/%s", here, path) >= (int)sizeof w->rest)
        return false;
    return go(w, make, why);
}

bool clv_own_folder(const char *path, bool make, char why[CLV_WHY])
{
    way w;
    const bool own = reach(&w, path, make, why);
    if (w.at >= 0)
        close(w.at);
    return own;
}

/* ---- what lies in it ------------------------------------------------------ */

static bool others_enter(const struct stat *info)
{
    return info->st_mode & S_IXOTH || (info->st_mode & S_IXGRP && !own_group(info->st_gid));
}

/* Looking through the thousands of folders that a driver makes takes longer than many a command. Others reach
 * into a folder that they cannot enter only after its mode has changed, and with that its ctime, which nobody
 * can set: while a mark in it tells the same ctime, it holds what it held when it was looked through. */
static const char MARK[] = ".clvox-own";
enum { MARK_ROOM = 128 };

static int tell(const struct stat *folder, char text[MARK_ROOM])
{
    return snprintf(text, MARK_ROOM, "%ju %ju %jd.%09ld\n", (uintmax_t)folder->st_dev,
                    (uintmax_t)folder->st_ino, (intmax_t)folder->st_ctim.tv_sec,
                    folder->st_ctim.tv_nsec);
}

static bool is_marked(int at, const struct stat *folder)
{
    char want[MARK_ROOM], text[MARK_ROOM];
    struct stat info;
    if (folder->st_mode & (S_IXGRP | S_IXOTH))
        return false;
    const int length = tell(folder, want);
    const int fd = openat(at, MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool marked = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && owned(&info) &&
                        read(fd, text, sizeof text) == length && memcmp(text, want, (size_t)length) == 0;
    if (fd >= 0)
        close(fd);
    return marked;
}

/* A new mark changes the folder's ctime: another program looks once more, and its mark holds. While another
 * change could have the same time, a mark tells none. */
static void mark(int at, const struct stat *folder)
{
    char text[MARK_ROOM];
    const size_t length = time(NULL) - folder->st_ctim.tv_sec > 2 ? (size_t)tell(folder, text) : 0;
    if (folder->st_mode & (S_IXGRP | S_IXOTH))
        return;
    const int fd = openat(at, MARK, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, text, length) != (ssize_t)length)
        unlinkat(at, MARK, 0);
    if (fd >= 0)
        close(fd);
}

typedef struct place {
    char path[PATH_MAX];
    bool closed;  /* nobody else gets here */
    long entries; /* that have been looked at */
} place;

static bool check_entry(const place *p, const struct stat *info, char why[CLV_WHY])
{
    if (!owned(info))
        return say_owner(why, p->path, info->st_uid);
    if (!S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode))
        return say(why, p->path, "is neither a file nor a folder");
    if (info->st_mode & S_IWOTH || (!p->closed && info->st_mode & S_IWGRP && !own_group(info->st_gid)))
        return say(why, p->path, OPEN);
    return true;
}

/* Takes over the descriptor. Entries go while others of this user's programs work. */
static bool check_below(int at, place *p, char why[CLV_WHY])
{
    enum { FEW = 64 }; /* entries, which take no longer than the mark */
    bool own = true;
    struct stat here, info;
    const size_t length = strlen(p->path);
    const bool closed = p->closed;
    const long before = p->entries;
    DIR *folder = fstat(at, &here) == 0 ? fdopendir(at) : NULL;
    if (!folder) {
        close(at);
        return false;
    }
    p->closed = closed || !others_enter(&here);
    const bool known = is_marked(at, &here);
    for (const struct dirent *entry; !known && own && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        snprintf(p->path + length, sizeof p->path - length, "/%s", name);
        p->entries++;
        own = check_entry(p, &info, why);
        if (own && S_ISDIR(info.st_mode)) {
            const int below = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            own = below < 0 ? errno == ENOENT : check_below(below, p, why);
        }
        p->path[length] = 0;
    }
    if (own && p->entries - before > FEW)
        mark(at, &here);
    p->closed = closed;
    closedir(folder);
    return own;
}

bool clv_own_tree(const char *path, char why[CLV_WHY])
{
    way w;
    place p = {.closed = false};
    bool own = reach(&w, path, false, why);
    if (own && w.there) {
        snprintf(p.path, sizeof p.path, "%s", path);
        const int at = openat(w.at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        own = at >= 0 && check_below(at, &p, why);
    }
    if (w.at >= 0)
        close(w.at);
    return own;
}

/* The last folder that was found to be the user's own inside: drivers' are asked for twice by a command. */
static struct {
    pthread_mutex_t lock;
    char path[PATH_MAX];
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool was_own(const char *path)
{
    pthread_mutex_lock(&last.lock);
    const bool was = !strcmp(last.path, path);
    pthread_mutex_unlock(&last.lock);
    return was;
}

int clvox_folder_own(const char *path, bool make, bool inside, char *why, size_t size)
{
    CLV_GIVEN_OR(0, path);
    char is[CLV_WHY] = "";
    bool own = inside && path[0] == '/' && was_own(path);
    if (!own)
        own = (!make || clv_own_folder(path, true, is)) &&
              (inside ? clv_own_tree(path, is) : clv_own_folder(path, false, is));
    if (own && inside && strlen(path) < sizeof last.path) {
        pthread_mutex_lock(&last.lock);
        strcpy(last.path, path);
        pthread_mutex_unlock(&last.lock);
    }
    snprintf(why, size, "%s", own ? "" : is);
    return own;
}

/* ---- a file --------------------------------------------------------------- */

int clv_own_open(const char *path, int flags, unsigned mode)
{
    struct stat info;
    const int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    if (fd < 0 ||
        (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && owned(&info) && !others_write(fd, &info)))
        return fd;
    close(fd);
    return -1;
}
