/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache of built kernels: test_cache KERNELS [build]. With "build" it is one of
 * many processes that build at once. */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"
#include "runtime/program/cache.h"

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
    assert_true(file && fseek(file, at, SEEK_SET) == 0 && fwrite(bytes, 1, count, file) == count);
    assert_true(file && fclose(file) == 0);
}

/* Content of these cases' entries, and their key. */
static unsigned char data[1000];
static const clv_counts counts = {40, -1, 8};

static clv_cache_key key_of(const char *first, const char *second)
{
    clv_cache_key key = clv_cache_key_start();
    clv_cache_key_add(&key, first);
    clv_cache_key_add(&key, second);
    return key;
}

/* Stores it; the name of its file is for the caller. */
static void store(char path[128])
{
    int temporary;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    clv_cache_store(folder, key_of("ab", "c"), data, sizeof data, &counts);
    assert_int_equal(entries(path, 128, &temporary), 1);
    assert_int_equal(temporary, 0);
}

static bool loads(void)
{
    unsigned char *got = NULL;
    size_t bytes = 0;
    clv_counts read;
    const bool loaded = clv_cache_load(folder, key_of("ab", "c"), &got, &bytes, &read);
    if (loaded)
        free(got);
    return loaded;
}

static void an_entry_comes_back_as_it_was_stored_under(void **state)
{
    (void)state;
    const clv_cache_key key = key_of("ab", "c"), other = key_of("a", "bc");
    unsigned char *got = NULL;
    size_t bytes = 0;
    clv_counts read = {0, 0, 0};
    char path[128];
    assert_true(memcmp(&key, &other, sizeof key) != 0);
    assert_true(!clv_cache_load(folder, key, &got, &bytes, &read));
    store(path);
    assert_true(clv_cache_load(folder, key, &got, &bytes, &read));
    assert_true(bytes == sizeof data && got && !memcmp(got, data, bytes) && read.registers == 40 &&
                read.spills == 8);
    free(got);
    assert_true(!clv_cache_load(folder, other, &got, &bytes, &read));
}

static void an_entry_with_any_byte_changed_cut_short(void **state)
{
    (void)state;
    char path[128];
    struct stat info;
    int passed = 0;
    store(path);
    assert_true(stat(path, &info) == 0);
    for (long at = 0; at < info.st_size; at += at < 80 ? 1 : 97) {
        store(path);
        unsigned char byte = 0xA5;
        FILE *file = fopen(path, "rb");
        assert_true(file && fseek(file, at, SEEK_SET) == 0 && fread(&byte, 1, 1, file) == 1);
        fclose(file);
        byte ^= 0x10;
        overwrite(path, at, &byte, 1);
        passed += loads();
    }
    assert_that(passed == 0, "%d damaged entries were taken", passed);
    for (long size = 0; size < info.st_size; size += 131) {
        store(path);
        assert_true(truncate(path, size) == 0 && !loads());
    }
    store(path);
    assert_true(truncate(path, info.st_size + 1) == 0 && !loads());
}

/* All of them right to the last bit. */
static void an_entry_that_others_could_have_written(void **state)
{
    (void)state;
    char path[128], real[160];
    struct stat info;
    const mode_t mask = umask(0);
    store(path);
    umask(mask);
    assert_true(stat(path, &info) == 0 && (info.st_mode & 07777) == 0600 && loads());
    assert_true(chmod(path, 0606) == 0 && !loads());
    assert_true(chmod(path, 0600) == 0 && loads());
    if (geteuid() == 0) {
        assert_true(chown(path, 65534, (gid_t)-1) == 0 && !loads());
        assert_true(chown(path, 0, (gid_t)-1) == 0 && loads());
    }
    snprintf(real, sizeof real, "%s.real", path);
    assert_true(rename(path, real) == 0 && symlink(real, path) == 0 && !loads());
    assert_true(unlink(path) == 0 && unlink(real) == 0 && mkfifo(path, 0600) == 0 && !loads());
    store(path);
    assert_true(loads());
}

static void a_pipe_in_the_place_of_a_lock(void **state)
{
    (void)state;
    char path[160];
    long holder;
    snprintf(path, sizeof path, "%s/.lock-test", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(clv_cache_lock(folder, "-test", 0, &holder), -1);
    assert_int_equal(unlink(path), 0);
    const int lock = clv_cache_lock(folder, "-test", 0, &holder);
    struct stat info;
    assert_true(lock >= 0 && stat(path, &info) == 0 && (info.st_mode & 07777) == 0600);
    clv_cache_unlock(lock);
}

/* A child that holds all locks that a program may want, and has stopped itself. */
static pid_t stopped_holder(void)
{
    int how;
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 256; i++) {
            char name[8];
            long nobody;
            snprintf(name, sizeof name, "%02x", i);
            if (clv_cache_lock(folder, name, 0, &nobody) < 0)
                _exit(1);
        }
        raise(SIGSTOP);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &how, WUNTRACED) == child && WIFSTOPPED(how));
    return child;
}

static void end_holder(pid_t child)
{
    kill(child, SIGKILL);
    assert_true(waitpid(child, NULL, 0) == child);
}

static void a_lock_that_a_stopped_process_holds(void **state)
{
    (void)state;
    long holder = 0;
    const double patience = clv_cache_patience;
    const pid_t child = stopped_holder();
    const int busy = clv_cache_lock(folder, "00", .01, &holder);
    clv_cache_patience = .01;
    const bool right = run("-DADD=5", 5, NULL);
    clv_cache_patience = patience;
    end_holder(child);
    assert_true(busy == CLV_CACHE_BUSY && holder == child && right);
    const int lock = clv_cache_lock(folder, "00", 0, &holder);
    assert_true(lock >= 0);
    clv_cache_unlock(lock);
}

static void a_rehearsal_leaves_out_what_others_build(void **state)
{
    (void)state;
    int left_out = 0, temporary;
    const clvox_context_options rehearsal = {.size = sizeof rehearsal, .left_out = &left_out};
    const pid_t child = stopped_holder();
    const bool right = run("-DADD=5", 5, &rehearsal);
    end_holder(child);
    assert_true(!right && left_out > 0 && entries(NULL, 0, &temporary) == 0);
    left_out = 0;
    assert_true(run("-DADD=5", 5, &rehearsal) && left_out == 0 && entries(NULL, 0, &temporary) > 0);
}

static void a_folder_that_others_could_write(void **state)
{
    (void)state;
    int temporary;
    char below[160], remark[CLV_WHY + 200];
    snprintf(below, sizeof below, "%s/below", folder);
    setenv("CLVOX_CACHE_DIR", below, 1);
    char *dir = clv_cache_dir(remark);
    assert_true(dir && !strcmp(dir, below) && !remark[0]);
    free(dir);
    for (int parent = 0; parent < 2; parent++) {
        assert_int_equal(chmod(folder, 0777), 0);
        setenv("CLVOX_CACHE_DIR", parent ? below : folder, 1);
        assert_null(clv_cache_dir(remark));
        assert_that(strstr(remark, "built kernels are not kept, as ") &&
                        strstr(remark, "written by other users; set"),
                    "%s", remark);
        clv_cache_store(parent ? below : folder, key_of("ab", "c"), data, sizeof data, &counts);
        assert_true(entries(NULL, 0, &temporary) == 0);
        assert_int_equal(chmod(folder, 0700), 0);
    }
    setenv("CLVOX_CACHE_DIR", "", 1);
    assert_null(clv_cache_dir(remark));
    assert_string_equal(remark, ""); /* nobody wants one */
}

static void check_entries(void)
{
    test_case(an_entry_comes_back_as_it_was_stored_under,
              "an entry comes back as it was stored, under its key alone");
    test_case(an_entry_with_any_byte_changed_cut_short,
              "an entry with any byte changed, cut short or made longer is not there");
    test_case(an_entry_that_others_could_have_written,
              "an entry that others could have written, a link or a pipe is not there");
    test_case(a_pipe_in_the_place_of_a_lock, "a pipe in the place of a lock is none");
    test_case(a_lock_that_a_stopped_process_holds,
              "a lock that a stopped process holds says whose it is, and is passed over");
    test_case(a_rehearsal_leaves_out_what_others_build,
              "a rehearsal leaves out what another process builds, and builds what none does");
    test_case(a_folder_that_others_could_write, "a folder that others could write is no cache");
}

/* Beside the probe's: that of the kernel by which reads are checked. */
enum { STARTS = 2, WITNESS = 1 };

static unsigned char nonsense[300] = "POCLBIN no program at all";

/* Two programs and the kernel that checks reads; the name of one's file is for the caller. */
static void build_two(char path[128])
{
    int temporary;
    assert_true(run("-DADD=1", 1, NULL) && run("-DADD=2", 2, NULL));
    assert_int_equal(entries(path, 128, &temporary), 2 + WITNESS);
}

static void a_program_is_stored_once_and_serves(void **state)
{
    (void)state;
    int temporary;
    for (int start = 0; start <= STARTS; start++)
        assert_true(run("-DADD=1", 1, NULL) && entries(NULL, 0, &temporary) == 1 + WITNESS);
}

static void other_defines_are_another_entry(void **state)
{
    (void)state;
    char path[128];
    build_two(path);
}

static void damaged_entries_are_rebuilt_without_a_word(void **state)
{
    (void)state;
    char path[128], found[7] = "";
    build_two(path);
    overwrite(path, 60, "damage", 6);
    for (int start = 0; start < STARTS; start++)
        build_two(path);
    FILE *file = fopen(path, "rb");
    assert_true(file && fseek(file, 60, SEEK_SET) == 0 && fread(found, 1, 6, file) == 6);
    fclose(file);
    assert_true(strcmp(found, "damage") != 0);
}

static void an_entry_that_is_whole_but_no_program(void **state)
{
    (void)state;
    char path[128];
    struct stat after;
    build_two(path);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        unsigned long long word[2];
        if (sscanf(e->d_name, "%16llx%16llx", &word[0], &word[1]) == 2)
            clv_cache_store(folder, (clv_cache_key){{word[0], word[1]}}, nonsense, sizeof nonsense,
                            &(clv_counts){-1, -1, -1});
    }
    if (dir)
        closedir(dir);
    for (int start = 0; start < STARTS; start++)
        assert_true(run("-DADD=1", 1, NULL) && run("-DADD=2", 2, NULL));
    assert_true(stat(path, &after) == 0 && after.st_size != (off_t)(sizeof nonsense + 56));
}

static void no_cache_neither_reads_nor_writes(void **state)
{
    (void)state;
    int temporary;
    assert_true(run("-DADD=1", 1, CONTEXT_OPTIONS(.no_cache = true)) &&
                entries(NULL, 0, &temporary) == 0);
}

static void check_programs(void)
{
    test_case(a_program_is_stored_once_and_serves, "a program is stored once and serves the next context");
    test_case(other_defines_are_another_entry, "other defines are another entry");
    test_case(damaged_entries_are_rebuilt_without_a_word, "damaged entries are rebuilt without a word");
    test_case(an_entry_that_is_whole_but_no_program,
              "an entry that is whole but no program for this driver is rebuilt");
    test_case(no_cache_neither_reads_nor_writes, "no_cache neither reads nor writes");
}

static void a_folder_that_cannot_be_made_or_written(void **state)
{
    (void)state;
    setenv("CLVOX_CACHE_DIR", "/proc/clvox/cache", 1);
    assert_true(run("-DADD=1", 1, NULL));
    char file[64];
    snprintf(file, sizeof file, "%s/file", folder);
    FILE *made = fopen(file, "w");
    assert_true(made && fclose(made) == 0);
    setenv("CLVOX_CACHE_DIR", file, 1);
    assert_true(run("-DADD=1", 1, NULL));
    setenv("CLVOX_CACHE_DIR", "", 1);
    assert_true(run("-DADD=1", 1, NULL));
}

static void the_folders_place_clvox_cache_dir_xdg_cache(void **state)
{
    (void)state;
    const struct {
        const char *own, *xdg, *home, *want;
    } cases[] = {{"/a", "/b", "/c", "/a"},
                 {NULL, "/b", "/c", "/b/clvox"},
                 {NULL, NULL, "/c", "/c/.cache/clvox"},
                 {NULL, "", "/c", "/c/.cache/clvox"},
                 {NULL, "b", "/c", "/c/.cache/clvox"},
                 {NULL, "b", "c", NULL},
                 {NULL, NULL, "", NULL},
                 {"", "/b", "/c", NULL},
                 {NULL, NULL, NULL, NULL}};
    char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    xdg = xdg ? strdup(xdg) : NULL;
    home = home ? strdup(home) : NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cases[i].own ? setenv("CLVOX_CACHE_DIR", cases[i].own, 1) : unsetenv("CLVOX_CACHE_DIR");
        cases[i].xdg ? setenv("XDG_CACHE_HOME", cases[i].xdg, 1) : unsetenv("XDG_CACHE_HOME");
        cases[i].home ? setenv("HOME", cases[i].home, 1) : unsetenv("HOME");
        char *dir = clv_cache_place();
        assert_that(dir && cases[i].want ? !strcmp(dir, cases[i].want) : dir == cases[i].want, "case %zu: %s",
                    i, dir ? dir : "none");
        free(dir);
    }
    xdg ? setenv("XDG_CACHE_HOME", xdg, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    free(xdg);
    free(home);
}

static void check_unwritable(void)
{
    test_case(a_folder_that_cannot_be_made_or_written, "a folder that cannot be made or written is no cache");
    test_case(the_folders_place_clvox_cache_dir_xdg_cache,
              "the folder's place: CLVOX_CACHE_DIR, XDG_CACHE_HOME, HOME");
}

enum { PROCESSES = 10 };

typedef struct many_given {
    const char *self;
    const char *kernels;
} many_given;

static void ten_processes_at_once_build_right_and_leave(void **state)
{
    const many_given *given = *state;
    const char *self = given->self;
    const char *kernels = given->kernels;
    pid_t children[PROCESSES];
    int temporary, good = 0;
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
    assert_that(good == PROCESSES, "%d of %d", good, PROCESSES);
    int count = entries(NULL, 0, &temporary);
    assert_that(count == 1 + WITNESS && temporary == 0, "%d entries, %d unfinished", count, temporary);
    assert_true(run("-DADD=3", 3, NULL));
}

static void check_many(const char *self, const char *kernels)
{
    test_case_at(ten_processes_at_once_build_right_and_leave, TEST_OF(((many_given){self, kernels})),
                 "ten processes at once build right and leave one entry");
}

static void programs(void **state)
{
    (void)state;
    test_skip("%s", clvox_message());
}

/* The cache is there and empty. */
static int fresh(void **state)
{
    (void)state;
    char command[96];
    setenv("CLVOX_CACHE_DIR", folder, 1);
    snprintf(command, sizeof command, "find %s -mindepth 1 -delete && chmod 700 %s", folder, folder);
    return system(command);
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    if (argc > 2)
        return run("-DADD=3", 3, CONTEXT_OPTIONS(.verbosity = 1)) ? 0 : 1;
    if (!mkdtemp(folder))
        return 2;
    setenv("CLVOX_CACHE_DIR", folder, 1);
    test_after_each(fresh);
    check_entries();
    clvox_context *ctx;
    if (clvox_context_create(NULL, &ctx) < 0) {
        test_case(programs, "programs");
    } else {
        clvox_context_destroy(&ctx);
        fresh(NULL);
        check_programs();
        check_unwritable();
        check_many(argv[0], argv[1]);
    }
    return test_run("cache", tear_down);
}
