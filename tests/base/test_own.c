/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "check.h"

enum { SOMEBODY = 65534 };

static char folder[] = "/tmp/clvox-own-XXXXXX";
static char why[CLV_WHY];

/* Runs a command in the folder. */
static void shell(const char *command)
{
    char whole[512];
    snprintf(whole, sizeof whole, "cd %s && %s", folder, command);
    assert_that(system(whole) == 0, "%s", command);
}

static bool own(const char *name, bool make)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return clv_own_folder(path, make, why);
}

static bool own_tree(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return clv_own_tree(path, why);
}

static bool opens(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = clv_own_open(path, O_RDONLY, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static unsigned mode_of(const char *name)
{
    char path[128];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &info) == 0 ? info.st_mode & 07777 : 0;
}

static void a_folder_of_the_user(void **state)
{
    (void)state;
    shell("mkdir -m 700 a && mkdir -m 755 b && ln -s b link && ln -s ../link/../a b/up && ln -s loop loop");
    assert_true(own("a", false) && own("a/", false) && own("./b//.", false));
    assert_true(own("link", false) && own("b/up", false) && own("link/up/../b", false));
    assert_true(own("a/not/there", false) && mode_of("a/not") == 0);
    assert_false(own("loop", false));
    assert_string_equal(why, "");
    shell("touch file");
    assert_false(own("file", false) || own("file/below", true));
    assert_string_equal(why, ""); /* nothing of others: there is none */
    assert_false(clv_own_folder("", true, why) || clv_own_folder("/proc/clvox/cache", true, why));
    char here[256];
    assert_true(getcwd(here, sizeof here) && chdir(folder) == 0 && clv_own_folder("a", false, why));
    shell("mkdir -m 777 wide && chmod 777 wide");
    assert_false(clv_own_folder("wide", false, why));
    assert_int_equal(chdir(here), 0);
}

static void what_is_made_is_the_users_alone(void **state)
{
    (void)state;
    shell("mkdir -m 700 a");
    const mode_t mask = umask(0);
    const bool made = own("a/new/one", true);
    umask(mask);
    assert_true(made && mode_of("a/new") == 0700 && mode_of("a/new/one") == 0700);
}

static void folders_that_others_may_write(void **state)
{
    (void)state;
    shell("mkdir -p w/below s/mine && chmod 777 w && chmod 1777 s && chmod 700 w/below s/mine && ln -s w "
          "wlink");
    static const char *const open[] = {"w", "w/below", "w/below/deeper", "wlink/below", "w/new",
                                       "s", "s/.",     "s/mine/.."};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        assert_that(!own(open[i], false) && !own(open[i], true), "%s", open[i]);
        assert_that(strstr(why, "can be written by other users"), "%s", why);
    }
    assert_true(mode_of("w/new") == 0);
    /* Among temporary files: made at once, before others can. */
    assert_true(own("s/mine", false) && own("s/new", false) && mode_of("s/new") == 0700);
}

static void what_lies_in_a_folder(void **state)
{
    (void)state;
    shell("mkdir -p t/in/deep && chmod 755 t t/in t/in/deep && touch t/in/deep/file && chmod 644 "
          "t/in/deep/file");
    assert_true(own_tree("t") && own_tree("nothing") && mode_of("nothing") == 0);
    static const char *const plants[][2] = {{"chmod 666 t/in/deep/file", "chmod 644 t/in/deep/file"},
                                            {"chmod 777 t/in", "chmod 755 t/in"},
                                            {"chmod 1777 t/in/deep", "chmod 755 t/in/deep"},
                                            {"chmod 777 t", "chmod 755 t"},
                                            {"mkfifo t/in/pipe", "rm t/in/pipe"},
                                            {"ln -s deep/file t/in/link", "rm t/in/link"}};
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        shell(plants[i][0]);
        assert_that(!own_tree("t") && why[0], "%s", plants[i][0]);
        shell(plants[i][1]);
        assert_that(own_tree("t"), "%s: %s", plants[i][1], why);
    }
}

static void a_closed_folder_of_many_is_looked_through_once(void **state)
{
    (void)state;
    /* Opened meanwhile, another entry, another folder with its mark, a mark that is none; others enter
     * the last. */
    static const char *const changes[] = {"chmod 711 a/in && chmod 700 a/in", "touch b/in/new",
                                          "cp -a c/in c/on && rm -r c/in && mv c/on c/in",
                                          "mv d/in/.clvox-own l && ln -s ../../l d/in/.clvox-own",
                                          "true"};
    enum { CHANGES = sizeof changes / sizeof *changes };
    char name[] = "a", plant[64] = "chmod 666 a/in/30; touch a/new";
    shell("mkdir -m 700 a b c d && mkdir -m 711 e && for k in a b c d e; do mkdir -m 700 $k/in && "
          "touch $(seq -f $k/in/%.0f 100); done; chmod 711 e/in");
    for (int look = 0; look < 2; look++) { /* the first makes marks, the second tells the time in them */
        for (name[0] = 'a'; name[0] < 'a' + CHANGES; name[0]++)
            assert_that(own_tree(name), "%s", why);
        if (look == 0)
            shell("sleep 4");
    }
    for (int i = 0; i < CHANGES; i++) {
        name[0] = plant[10] = plant[25] = (char)('a' + i);
        shell(plant);
        assert_that(own_tree(name) == (i < CHANGES - 1), "%s: %s", name, why);
        shell(changes[i]);
        assert_that(!own_tree(name) && why[0], "%s", changes[i]);
    }
}

static void files_are_opened_that_are_the_users_own(void **state)
{
    (void)state;
    shell("touch f wf && chmod 600 f && chmod 666 wf && mkfifo -m 600 p && ln -s f l && mkdir -m 700 d");
    assert_true(opens("f"));
    assert_false(opens("wf") || opens("p") || opens("l") || opens("d") || opens("none"));
}

/* Only root can make what a group writes or somebody else owns. */
static void others_folders_files_and_groups(void **state)
{
    (void)state;
    if (geteuid() != 0)
        test_skip("only root can give files away");
    shell("mkdir -m 700 -p x/in g && touch x/in/file && chmod 700 x x/in && chmod 600 x/in/file");
    assert_true(own("x/in", false) && own_tree("x") && opens("x/in/file"));
    shell("chown 65534 x/in/file");
    assert_false(own_tree("x") || opens("x/in/file"));
    assert_that(strstr(why, "x/in/file belongs to another user (65534)"), "%s", why);
    shell("chown 0 x/in/file && chown 65534 x");
    assert_false(own("x/in", false) || own("x", true));
    assert_that(strstr(why, "x belongs to another user (65534)"), "%s", why);
    shell("chown 0 x && ln -s x xlink && chown -h 65534 xlink");
    assert_false(own("xlink/in", false));
    shell("chown 0:65534 x && chmod 770 x");
    assert_false(own("x", false) || own("x/in", false));
    shell("chgrp 65534 x/in/file && chmod 750 x && chmod 660 x/in/file");
    assert_false(opens("x/in/file"));
    assert_true(own_tree("x")); /* nobody else gets through x/in */
    shell("chgrp 65534 x/in && chmod 750 x/in");
    assert_false(own_tree("x"));
    shell("chown 0:0 x/in x/in/file && chmod 770 x/in && chmod 660 x/in/file");
    assert_true(own("x/in", false) && own_tree("x") && opens("x/in/file")); /* root's group is root's alone */
    /* Another user trusts what belongs to root; root does not trust his. */
    shell("chmod 755 . x x/in && chmod 644 x/in/file && mkdir -m 700 his && chown 65534 his");
    assert_int_equal(seteuid(SOMEBODY), 0);
    const bool his = own("his", false), roots = own("x/in", false) && opens("x/in/file");
    assert_int_equal(seteuid(0), 0);
    assert_true(his && roots && !own("his", false));
}

static int empty_folder(void **state)
{
    (void)state;
    shell("find . -mindepth 1 -delete && chmod 700 .");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 2;
    test_after_each(empty_folder);
    test_case(a_folder_of_the_user, "a folder of the user, by links, by a relative path, and none");
    test_case(what_is_made_is_the_users_alone, "what is made is the user's alone, whatever the umask");
    test_case(folders_that_others_may_write, "folders that others may write, and folders below them");
    test_case(what_lies_in_a_folder, "what lies in a folder: files and folders of the user");
    test_case(a_closed_folder_of_many_is_looked_through_once,
              "a closed folder of many is looked through once");
    test_case(files_are_opened_that_are_the_users_own, "files are opened that are the user's own");
    test_case(others_folders_files_and_groups, "others' folders, files and groups");
    return test_run("own", tear_down);
}
