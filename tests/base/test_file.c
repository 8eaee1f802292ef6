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
#include "clvox/status.h"

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
    char *bytes;
    size_t size;
    int same = !clv_file_read_all(path, 1000, &bytes, &size) && size == strlen(text) && !strcmp(bytes, text);
    free(bytes);
    return same;
}

/* What a child process does between starting to write and being killed. */
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

int main(void)
{
    clv_file_writer *w = NULL;
    char *bytes;
    size_t size;
    if (!mkdtemp(folder))
        return 1;

    CHECK_CASE("a file appears when it is whole, under its name only");
    CHECK(clv_file_create(in("a"), &w) == 0);
    CHECK(clv_file_write_at(w, "world", 5, 6) == 0 && clv_file_write_at(w, "hello ", 6, 0) == 0);
    CHECK(access(in("a"), F_OK));
    CHECK(entries() == 1);
    CHECK(clv_file_commit(&w) == 0 && !w);
    CHECK(holds(in("a"), "hello world") && entries() == 1);

    CHECK_CASE("giving up leaves the old file and nothing else");
    CHECK(clv_file_create(in("a"), &w) == 0 && clv_file_write_at(w, "x", 1, 0) == 0);
    clv_file_discard(&w);
    CHECK(!w && holds(in("a"), "hello world") && entries() == 1);
    clv_file_discard(&w);

    CHECK_CASE("an existing file keeps its permissions, a new one follows the umask");
    struct stat info;
    CHECK(!chmod(in("a"), 0640));
    CHECK(clv_file_write_all(in("a"), "new", 3) == 0);
    CHECK(!stat(in("a"), &info) && (info.st_mode & 0777) == 0640);
    mode_t before = umask(027);
    CHECK(clv_file_write_all(in("b"), "new", 3) == 0);
    umask(before);
    CHECK(!stat(in("b"), &info) && (info.st_mode & 0777) == 0640);
    unlink(in("b"));

    CHECK_CASE("a link stays a link");
    CHECK(!symlink(in("a"), in("link")));
    CHECK(clv_file_write_all(in("link"), "linked", 6) == 0);
    CHECK(holds(in("a"), "linked") && !lstat(in("link"), &info) && S_ISLNK(info.st_mode));
    unlink(in("link"));

    CHECK_CASE("what cannot be written is said in a sentence");
    CHECK(clv_file_create(in("no/such/folder"), &w) == CLVOX_ERROR_FILE && !w &&
          strstr(clvox_message(), "No such file"));
    CHECK(clv_file_create(folder, &w) == CLVOX_ERROR_FILE && strstr(clvox_message(), "directory"));
    char longest[300];
    memset(longest, 'n', sizeof longest);
    longest[260] = 0;
    CHECK(clv_file_write_all(in(longest), "x", 1) == CLVOX_ERROR_FILE);
    longest[250] = 0;
    CHECK(clv_file_write_all(in(longest), "x", 1) == 0);
    unlink(in(longest));
    CHECK(!mkfifo(in("pipe"), 0600));
    CHECK(clv_file_create(in("pipe"), &w) == CLVOX_ERROR_FILE);
    if (geteuid()) {
        CHECK(!chmod(in("a"), 0400));
        CHECK(clv_file_create(in("a"), &w) == CLVOX_ERROR_FILE && strstr(clvox_message(), "replaced"));
        CHECK(!chmod(in("a"), 0600));
    }

    CHECK_CASE("what is no file is not read");
    CHECK(clv_file_read_all(in("pipe"), 10, &bytes, &size) == CLVOX_ERROR_FILE && !bytes);
    CHECK(clv_file_read_all(folder, 10, &bytes, &size) == CLVOX_ERROR_FILE &&
          strstr(clvox_message(), "directory"));
    CHECK(clv_file_read_all(in("none"), 10, &bytes, &size) == CLVOX_ERROR_FILE);
    CHECK(clv_file_read_all(in("a"), 3, &bytes, &size) == CLVOX_ERROR_FORMAT &&
          strstr(clvox_message(), "large"));
    unlink(in("pipe"));

    CHECK_CASE("a full device and a full disk are said, and leave the old file");
    CHECK(clv_file_write_all("/dev/null", "x", 1) == 0);
    if (!access("/dev/full", W_OK)) {
        CHECK(clv_file_write_all("/dev/full", "x", 1) == CLVOX_ERROR_FILE);
        CHECK_THAT(strstr(clvox_message(), "No space left") && strstr(clvox_message(), "make room"), "%s",
                   clvox_message());
    }
    struct rlimit unlimited, limit;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    limit = unlimited;
    limit.rlim_cur = 4;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    int status = clv_file_write_all(in("a"), "too much", 8);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    CHECK(status == CLVOX_ERROR_FILE && holds(in("a"), "linked") && entries() == 1);

    CHECK_CASE("a reader meets a file that shrinks");
    int fd;
    uint64_t length;
    char letters[6];
    CHECK(clv_file_open(in("a"), &fd, &length) == 0 && length == 6);
    CHECK(!truncate(in("a"), 2));
    CHECK(clv_file_read_at(fd, "a", letters, 6, 0) == CLVOX_ERROR_FILE && strstr(clvox_message(), "shorter"));
    close(fd);

    CHECK_CASE("an interrupted program leaves no partial file and dies of the signal");
    int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        int ends[2], result;
        char letter = 0;
        fflush(stdout);
        CHECK(!pipe(ends));
        pid_t child = fork();
        if (!child)
            write_and_wait(ends[1]);
        CHECK(read(ends[0], &letter, 1) == 1 && letter == 'g');
        CHECK(entries() == 3);
        kill(child, numbers[i]);
        CHECK(waitpid(child, &result, 0) == child && WIFSIGNALED(result) && WTERMSIG(result) == numbers[i]);
        CHECK_THAT(entries() == 1, "%d files left", entries());
        close(ends[0]);
        close(ends[1]);
    }

    CHECK_CASE("more files at once than there are slots is an error, not a leak");
    clv_file_writer *many[100] = {NULL};
    int opened = 0;
    while (opened < 100 && !clv_file_create(in("m"), &many[opened]))
        opened++;
    CHECK(opened == 64 && strstr(clvox_message(), "too many"));
    for (int i = 0; i < opened; i++)
        clv_file_discard(&many[i]);
    CHECK(entries() == 1);

    unlink(in("a"));
    rmdir(folder);
    return check_end();
}
