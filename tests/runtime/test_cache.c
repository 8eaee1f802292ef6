/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache of built kernels: test_cache KERNELS [build]. With "build" it is one of
 * many processes that build at once. */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"
#include "runtime/cache.h"

static char folder[] = "/tmp/clvox-cache-XXXXXX";

/* Files in the folder; *path is the last one's name, *temporary counts unfinished ones. */
static int entries(char *path, size_t room, int *temporary)
{
    int count = 0;
    *temporary = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        if (strchr(e->d_name, '.'))
            (*temporary)++;
        else if (++count && path)
            snprintf(path, room, "%s/%.64s", folder, e->d_name);
    }
    if (dir)
        closedir(dir);
    return count;
}

static void clear(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/* %s/.lock*", folder, folder);
    if (system(command) != 0)
        abort();
}

/* Builds and runs the probe in a new context: returns whether it was right. */
static bool run(const char *extra, float add, const clvox_context_options *options)
{
    clvox_context *ctx;
    if (clvox_context_create(options, &ctx) < 0)
        return false;
    bool right = probe_runs(ctx, extra, add);
    clvox_context_destroy(&ctx);
    return right;
}

static void overwrite(const char *path, long at, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "r+b");
    CHECK(file && fseek(file, at, SEEK_SET) == 0 && fwrite(bytes, 1, count, file) == count);
    CHECK(file && fclose(file) == 0);
}

static void check_entries(void)
{
    unsigned char data[1000], *got = NULL;
    size_t bytes = 0;
    clv_counts counts = {40, -1, 8}, read = {0, 0, 0};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    clv_cache_key key = clv_cache_key_start(), other = key;
    clv_cache_key_add(&key, "ab");
    clv_cache_key_add(&key, "c");
    clv_cache_key_add(&other, "a");
    clv_cache_key_add(&other, "bc");
    CHECK_CASE("an entry comes back as it was stored, under its key alone");
    CHECK(memcmp(&key, &other, sizeof key) != 0);
    CHECK(!clv_cache_load(folder, key, &got, &bytes, &read));
    clv_cache_store(folder, key, data, sizeof data, &counts);
    CHECK(clv_cache_load(folder, key, &got, &bytes, &read));
    CHECK(bytes == sizeof data && got && !memcmp(got, data, bytes) && read.registers == 40 && read.spills == 8);
    free(got);
    CHECK(!clv_cache_load(folder, other, &got, &bytes, &read));

    char path[128];
    int temporary;
    CHECK_CASE("an entry with any byte changed, cut short or made longer is not there");
    CHECK(entries(path, sizeof path, &temporary) == 1 && temporary == 0);
    struct stat info;
    CHECK(stat(path, &info) == 0);
    int passed = 0;
    for (long at = 0; at < info.st_size; at += at < 80 ? 1 : 97) {
        clv_cache_store(folder, key, data, sizeof data, &counts);
        unsigned char byte = 0xA5;
        FILE *file = fopen(path, "rb");
        CHECK(file && fseek(file, at, SEEK_SET) == 0 && fread(&byte, 1, 1, file) == 1);
        fclose(file);
        byte ^= 0x10;
        overwrite(path, at, &byte, 1);
        if (clv_cache_load(folder, key, &got, &bytes, &read)) {
            passed++;
            free(got);
        }
    }
    CHECK_THAT(passed == 0, "%d damaged entries were taken", passed);
    for (long size = 0; size < info.st_size; size += 131) {
        clv_cache_store(folder, key, data, sizeof data, &counts);
        CHECK(truncate(path, size) == 0 && !clv_cache_load(folder, key, &got, &bytes, &read));
    }
    clv_cache_store(folder, key, data, sizeof data, &counts);
    CHECK(truncate(path, info.st_size + 1) == 0 && !clv_cache_load(folder, key, &got, &bytes, &read));
    clear();
}

static void check_programs(void)
{
    char path[128];
    int temporary;
    CHECK_CASE("a program is stored once and serves the next context");
    CHECK(run("-DADD=1", 1, NULL) && entries(NULL, 0, &temporary) == 1);
    CHECK(run("-DADD=1", 1, NULL) && entries(path, sizeof path, &temporary) == 1);
    CHECK_CASE("other defines are another entry");
    CHECK(run("-DADD=2", 2, NULL) && entries(NULL, 0, &temporary) == 2);
    CHECK_CASE("damaged entries are rebuilt without a word");
    struct stat before, after;
    CHECK(stat(path, &before) == 0);
    overwrite(path, 60, "damage", 6);
    CHECK(run("-DADD=1", 1, NULL) && run("-DADD=2", 2, NULL) && entries(NULL, 0, &temporary) == 2);
    CHECK(stat(path, &after) == 0 && after.st_ino != before.st_ino);
    CHECK_CASE("an entry that is whole but no program for this driver is rebuilt");
    unsigned char nonsense[300] = "POCLBIN no program at all";
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        unsigned long long word[2];
        if (sscanf(e->d_name, "%16llx%16llx", &word[0], &word[1]) == 2)
            clv_cache_store(folder, (clv_cache_key){{word[0], word[1]}}, nonsense, sizeof nonsense,
                            &(clv_counts){-1, -1, -1});
    }
    if (dir)
        closedir(dir);
    CHECK(run("-DADD=1", 1, NULL) && run("-DADD=2", 2, NULL));
    CHECK(stat(path, &after) == 0 && after.st_size != (off_t)(sizeof nonsense + 56));
    clear();
    CHECK_CASE("no_cache neither reads nor writes");
    CHECK(run("-DADD=1", 1, &(clvox_context_options){.no_cache = true}) && entries(NULL, 0, &temporary) == 0);
}

static void check_unwritable(void)
{
    int temporary;
    CHECK_CASE("a folder that cannot be made or written is no cache");
    setenv("CLVOX_CACHE_DIR", "/proc/clvox/cache", 1);
    CHECK(run("-DADD=1", 1, NULL));
    char file[64];
    snprintf(file, sizeof file, "%s/file", folder);
    FILE *made = fopen(file, "w");
    CHECK(made && fclose(made) == 0);
    setenv("CLVOX_CACHE_DIR", file, 1);
    CHECK(run("-DADD=1", 1, NULL));
    setenv("CLVOX_CACHE_DIR", "", 1);
    CHECK(run("-DADD=1", 1, NULL));
    unlink(file);
    setenv("CLVOX_CACHE_DIR", folder, 1);
    CHECK_CASE("the folder's place: CLVOX_CACHE_DIR, XDG_CACHE_HOME, HOME");
    const struct {
        const char *own, *xdg, *home, *want;
    } cases[] = {{"/a", "/b", "/c", "/a"},       {NULL, "/b", "/c", "/b/clvox"},
                 {NULL, NULL, "/c", "/c/.cache/clvox"}, {NULL, "", "/c", "/c/.cache/clvox"},
                 {"", "/b", "/c", NULL},         {NULL, NULL, NULL, NULL}};
    char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    xdg = xdg ? strdup(xdg) : NULL;
    home = home ? strdup(home) : NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cases[i].own ? setenv("CLVOX_CACHE_DIR", cases[i].own, 1) : unsetenv("CLVOX_CACHE_DIR");
        cases[i].xdg ? setenv("XDG_CACHE_HOME", cases[i].xdg, 1) : unsetenv("XDG_CACHE_HOME");
        cases[i].home ? setenv("HOME", cases[i].home, 1) : unsetenv("HOME");
        char *dir = clv_cache_dir();
        CHECK_THAT(dir && cases[i].want ? !strcmp(dir, cases[i].want) : dir == cases[i].want, "case %zu: %s", i,
                   dir ? dir : "none");
        free(dir);
    }
    setenv("CLVOX_CACHE_DIR", folder, 1);
    xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    free(xdg);
    free(home);
    (void)temporary;
}

static void check_many(const char *self, const char *kernels)
{
    enum { PROCESSES = 10 };
    pid_t children[PROCESSES];
    int temporary, good = 0;
    clear();
    CHECK_CASE("ten processes at once build right and leave one entry");
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            execl(self, self, kernels, "build", (char *)NULL);
            _exit(9);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int result;
        good += waitpid(children[i], &result, 0) == children[i] && WIFEXITED(result) && WEXITSTATUS(result) == 0;
    }
    CHECK_THAT(good == PROCESSES, "%d of %d", good, PROCESSES);
    int count = entries(NULL, 0, &temporary);
    CHECK_THAT(count == 1 && temporary == 0, "%d entries, %d unfinished", count, temporary);
    CHECK(run("-DADD=3", 3, NULL));
    clear();
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    if (argc > 2)
        return run("-DADD=3", 3, &(clvox_context_options){.verbosity = 1}) ? 0 : 1;
    if (!mkdtemp(folder))
        return 2;
    setenv("CLVOX_CACHE_DIR", folder, 1);
    check_entries();
    clvox_context *ctx;
    if (clvox_context_create(NULL, &ctx) < 0) {
        CHECK_CASE("programs");
        CHECK_SKIP("%s", clvox_message());
    } else {
        clvox_context_destroy(&ctx);
        check_programs();
        check_unwritable();
        check_many(argv[0], argv[1]);
    }
    clear();
    rmdir(folder);
    return check_end();
}
