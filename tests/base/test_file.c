/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "interrupts.h"
#include "clvox/files.h"

static char folder[] = "/tmp/clvox-file-XXXXXX";

static const char *in(const char *name)
{
    static char path[4][512];
    static int turn;
    char *out = path[turn++ % 4];
    snprintf(out, 512, "%s/%s", folder, name);
    return out;
}

static int entries(void)
{
    int count = -2;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static int holds(const char *path, const char *text)
{
    char *bytes, *again = NULL;
    size_t size;
    int same = !clvox_file_read(path, 1000, &bytes, &size) && size == strlen(text) && !strcmp(bytes, text) &&
               !clvox_file_read(path, 1000, &again, NULL) && !strcmp(again, text);
    free(bytes);
    free(again);
    return same;
}

/* Part of a child process between starting to write and being killed. */
static void write_and_wait(int pipe_end)
{
    clv_file_writer *a, *b, *c;
    interrupts_guard();
    int bad = clv_file_create(in("x"), &a) < 0 || clv_file_create(in("y"), &b) < 0 ||
              clv_file_create(in("z"), &c) < 0 || clv_file_write_at(a, "half", 4, 0) < 0;
    clv_file_discard(&c);
    if (write(pipe_end, bad ? "b" : "g", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* The file "a", with this in it. */
static void given(const char *text)
{
    assert_ok(clvox_file_write(in("a"), text, strlen(text)));
}

static void a_file_appears_when_it_is_whole_under(void **state)
{
    (void)state;
    clv_file_writer *w = NULL;
    assert_true(clv_file_create(in("a"), &w) == 0);
    assert_true(clv_file_write_at(w, "world", 5, 6) == 0 &&
                clv_file_write_at(w, "hello ", 6, 0) == 0);
    assert_true(access(in("a"), F_OK));
    assert_true(entries() == 1);
    assert_true(clv_file_commit(&w) == 0 && !w);
    assert_true(holds(in("a"), "hello world") && entries() == 1);
}

static void giving_up_leaves_the_old_file_and_nothing(void **state)
{
    (void)state;
    given("hello world");
    clv_file_writer *w = NULL;
    assert_true(clv_file_create(in("a"), &w) == 0 && clv_file_write_at(w, "x", 1, 0) == 0);
    clv_file_discard(&w);
    assert_true(!w && holds(in("a"), "hello world") && entries() == 1);
    clv_file_discard(&w);
}

static void an_existing_file_keeps_its_permissions(void **state)
{
    (void)state;
    given("old");
    struct stat info;
    assert_true(!chmod(in("a"), 0640));
    assert_true(clvox_file_write(in("a"), "new", 3) == 0);
    assert_true(!stat(in("a"), &info) && (info.st_mode & 0777) == 0640);
    mode_t before = umask(027);
    assert_true(clvox_file_write(in("b"), "new", 3) == 0);
    umask(before);
    assert_true(!stat(in("b"), &info) && (info.st_mode & 0777) == 0640);
    unlink(in("b"));
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    given("old");
    struct stat info;
    assert_true(!symlink(in("a"), in("link")));
    assert_true(clvox_file_write(in("link"), "linked", 6) == 0);
    assert_true(holds(in("a"), "linked") && !lstat(in("link"), &info) && S_ISLNK(info.st_mode));
    unlink(in("link"));
}

static void what_cannot_be_written_is_said(void **state)
{
    (void)state;
    given("old");
    clv_file_writer *w = NULL;
    assert_true(clv_file_create(in("no/such/folder"), &w) == CLVOX_ERROR_FILE && !w &&
                strstr(clvox_message(), "No such file"));
    assert_true(clv_file_create(folder, &w) == CLVOX_ERROR_FILE &&
                strstr(clvox_message(), "directory"));
    char longest[300];
    memset(longest, 'n', sizeof longest);
    longest[260] = 0;
    assert_int_equal(clvox_file_write(in(longest), "x", 1), CLVOX_ERROR_FILE);
    longest[250] = 0;
    assert_true(clvox_file_write(in(longest), "x", 1) == 0);
    unlink(in(longest));
    assert_true(!mkfifo(in("pipe"), 0600));
    assert_int_equal(clv_file_create(in("pipe"), &w), CLVOX_ERROR_FILE);
    assert_int_equal(clvox_file_probe(in("pipe")), CLVOX_ERROR_FILE);
    int before = entries();
    assert_true(clvox_file_probe(in("new")) == 0 && entries() == before);
    if (geteuid()) {
        assert_true(!chmod(in("a"), 0400));
        assert_true(clv_file_create(in("a"), &w) == CLVOX_ERROR_FILE &&
                    strstr(clvox_message(), "replaced"));
        assert_true(!chmod(in("a"), 0600));
    }
}

static void what_is_no_file_is_not_read(void **state)
{
    (void)state;
    given("linked");
    char *bytes;
    size_t size;
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    assert_true(clvox_file_read(in("pipe"), 10, &bytes, &size) == CLVOX_ERROR_FILE && !bytes);
    assert_true(clvox_file_read(folder, 10, &bytes, &size) == CLVOX_ERROR_FILE &&
                strstr(clvox_message(), "directory"));
    assert_int_equal(clvox_file_read(in("none"), 10, &bytes, &size), CLVOX_ERROR_FILE);
    assert_true(clvox_file_read(in("a"), 3, &bytes, &size) == CLVOX_ERROR_FORMAT &&
                strstr(clvox_message(), "large"));
}

static void a_full_device_and_a_full_disk_are_said(void **state)
{
    (void)state;
    given("linked");
    assert_true(clvox_file_write("/dev/null", "x", 1) == 0);
    if (!access("/dev/full", W_OK)) {
        assert_true(!clvox_files_full());
        assert_int_equal(clvox_file_write("/dev/full", "x", 1), CLVOX_ERROR_FILE);
        assert_true(!strcmp(clvox_files_full(), "/dev/full"));
        assert_that(strstr(clvox_message(), "No space left") && strstr(clvox_message(), "make room"), "%s",
                    clvox_message());
    }
    struct rlimit unlimited, limit;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    limit = unlimited;
    limit.rlim_cur = 4;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    int status = clvox_file_write(in("a"), "too much", 8);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    assert_true(status == CLVOX_ERROR_FILE && holds(in("a"), "linked") && entries() == 1);
}

static void a_reader_meets_a_file_that_shrinks(void **state)
{
    (void)state;
    given("linked");
    int fd;
    uint64_t length;
    char letters[6];
    assert_true(clv_file_open(in("a"), &fd, &length) == 0 && length == 6);
    assert_true(!truncate(in("a"), 2));
    assert_true(clv_file_read_at(fd, "a", letters, 6, 0) == CLVOX_ERROR_FILE &&
                strstr(clvox_message(), "shorter"));
    close(fd);
}

/* A child process that does so and has begun. */
static pid_t begin_to_write(void)
{
    int ends[2];
    char letter = 0;
    fflush(stdout);
    assert_true(!pipe(ends));
    const pid_t child = fork();
    if (!child)
        write_and_wait(ends[1]);
    assert_true(read(ends[0], &letter, 1) == 1 && letter == 'g');
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void an_interrupted_program_leaves_no_partial(void **state)
{
    (void)state;
    given("old");
    int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        int result;
        const pid_t child = begin_to_write();
        assert_true(entries() == 3);
        kill(child, numbers[i]);
        assert_true(waitpid(child, &result, 0) == child && WIFSIGNALED(result) &&
                    WTERMSIG(result) == numbers[i]);
        assert_that(entries() == 1, "%d files left", entries());
    }
}

/* The name of an unfinished file; "" where there is none. */
static void find_unfinished(char name[64])
{
    DIR *dir = opendir(folder);
    *name = 0;
    for (const struct dirent *one; dir && (one = readdir(dir));)
        if (!strncmp(one->d_name, ".clvox-", 7))
            snprintf(name, 64, "%.63s", one->d_name);
    closedir(dir);
}

/* Sweeps the files of a dead process on this machine: neither a living one's, nor another machine's, nor what is
 * merely named alike. */
static void what_the_killed_left_is_swept(void **state)
{
    (void)state;
    char left[64], other[4][80], scratch[2][PATH_MAX], short_one[8];
    int result;
    clv_file_writer *own;
    const int before = entries();
    const pid_t child = begin_to_write();
    clvox_files_sweep(in("a"));
    assert_true(entries() == before + 2);
    kill(child, SIGKILL);
    assert_true(waitpid(child, &result, 0) == child && WIFSIGNALED(result) && entries() == before + 2);
    find_unfinished(left);
    snprintf(scratch[0], sizeof scratch[0], "%s.gz", in(left)); /* as of clvox_file_scratch */
    assert_ok(clvox_file_scratch(folder, ".gz", scratch[1], sizeof scratch[1]));
    assert_true(!strncmp(scratch[1], in(".clvox-"), strlen(in(".clvox-"))) &&
                !strcmp(scratch[1] + strlen(scratch[1]) - 3, ".gz"));
    assert_int_equal(clvox_file_scratch(folder, ".gz", short_one, sizeof short_one), CLVOX_ERROR_FILE);
    for (int i = 0; i < 2; i++)
        assert_ok(clvox_file_write(scratch[i], "x", 1));
    snprintf(other[0], sizeof other[0], ".clvox-%s", left + 8); /* its machine with a digit less */
    snprintf(other[1], sizeof other[1], "%ss", left);
    snprintf(other[2], sizeof other[2], "part");
    snprintf(other[3], sizeof other[3], ".clvox-x-1.part");
    for (int i = 0; i < 4; i++)
        assert_ok(clvox_file_write(in(other[i]), "x", 1));
    assert_ok(clv_file_create(in("own"), &own));
    clvox_files_sweep(in("a"));
    assert_true(entries() == before + 6 && access(in(left), F_OK) && access(scratch[0], F_OK));
    assert_true(!unlink(scratch[1]));
    clv_file_discard(&own);
    clvox_files_sweep("/nowhere/a");
    for (int i = 0; i < 4; i++)
        assert_true(!unlink(in(other[i])));
}

static void folders_that_were_made_in_vain_are_removed(void **state)
{
    (void)state;
    const int before = entries();
    assert_ok(clvox_folders_make(in("x/y/file")));
    assert_ok(clvox_file_write(in("x/z"), "z", 1));
    assert_true(clvox_file_same(in("x/y/../z"), in("x/z")) && !clvox_file_same(in("x/z"), in("x/y/z")));
    clvox_folders_remove();
    assert_true(entries() == before + 1 && access(in("x/y"), F_OK) && !access(in("x/z"), F_OK));
    unlink(in("x/z"));
    rmdir(in("x"));
}

static void more_files_at_once_than_there_are_slots(void **state)
{
    (void)state;
    clv_file_writer *many[100] = {NULL};
    int opened = 0;
    while (opened < 100 && !clv_file_create(in("m"), &many[opened]))
        opened++;
    assert_true(opened == 64 && strstr(clvox_message(), "too many"));
    for (int i = 0; i < opened; i++)
        clv_file_discard(&many[i]);
    assert_true(entries() == 0);
}

static int empty_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "find %s -mindepth 1 -delete", folder);
    return system(command);
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_after_each(empty_folder);
    test_case(a_file_appears_when_it_is_whole_under, "a file appears when it is whole, under its name only");
    test_case(giving_up_leaves_the_old_file_and_nothing, "giving up leaves the old file and nothing else");
    test_case(an_existing_file_keeps_its_permissions,
              "an existing file keeps its permissions, a new one follows the umask");
    test_case(a_link_stays_a_link, "a link stays a link");
    test_case(what_cannot_be_written_is_said, "what cannot be written is refused in a sentence");
    test_case(what_is_no_file_is_not_read, "what is no file is not read");
    test_case(a_full_device_and_a_full_disk_are_said,
              "a full device and a full disk are reported, and leave the old file");
    test_case(a_reader_meets_a_file_that_shrinks, "a reader meets a file that shrinks");
    test_case(an_interrupted_program_leaves_no_partial,
              "an interrupted program leaves no partial file and dies of the signal");
    test_case(what_the_killed_left_is_swept, "what killed processes left is swept, and nothing else");
    test_case(folders_that_were_made_in_vain_are_removed, "folders that were made in vain are removed");
    test_case(more_files_at_once_than_there_are_slots,
              "more files at once than there are slots is an error, not a leak");
    return test_run("file", tear_down);
}
