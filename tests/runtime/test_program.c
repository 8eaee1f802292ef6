/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: lists of what is built ahead, the cache, and processes that compile. */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "runtime/program/ahead.h"
#include "runtime/program/compiler.h"
#include "runtime/device/context.h"
#include "runtime/kernel/kernel.h"

enum { ROOM = 64 };

static const int size[3] = {19, 7, 5};
static clvox_context *opened;
static char folder[] = "/tmp/clvox-program-XXXXXX";
static const char *program, *kernels; /* this one, and the folder of its kernels */
static const char *const some[] = {"some"}, *const both[] = {"some", "more", "no such list"};

/* Whether such an entry can be built with these macros, whatever their values. */
static bool may_have(const clv_entry *entry, const char *extra)
{
    bool has = !extra[0];
    for (const char *const *build = entry->builds; build && *build && !has; build++) {
        has = true;
        for (const char *at = extra; has && (at = strstr(at, "-D")); at++) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "= "), at);
            has = strstr(*build, name) != NULL;
        }
    }
    return has;
}

static void a_list_has_its_lines_by_the_kind_of_device(void **state)
{
    (void)state;
    clv_ahead_line lines[ROOM];
    assert_true(clv_ahead_read(CLVOX_DEVICE_CPU, "some", lines, ROOM) == 5);
    assert_true(!strcmp(lines[0].entry->name, "blend") && !lines[0].extra[0] && lines[0].local_extra == 0);
    assert_true(!strcmp(lines[1].entry->name, "reduce") &&
                !strcmp(lines[1].extra, "-DKIND=0 -DHAS_WEIGHT=0"));
    assert_true(clv_ahead_read(CLVOX_DEVICE_GPU, "some", lines, ROOM) == 4);
    assert_true(clv_ahead_read(CLVOX_DEVICE_GPU, "no such list", lines, ROOM) == 0);
    assert_true(clv_ahead_read(CLVOX_DEVICE_GPU, NULL, lines, ROOM) == 13);
    assert_true(clv_ahead_read(CLVOX_DEVICE_CPU, "some", lines, 2) == 2);
}

static void what_the_programs_own_lists_hold_can(void **state)
{
    (void)state;
    static clv_ahead_line all[2048];
    unsetenv("CLVOX_KERNEL_DIR");
    for (int type = CLVOX_DEVICE_CPU; type <= CLVOX_DEVICE_GPU; type++) {
        int count = clv_ahead_read((clvox_device_type)type, NULL, all, 2048);
        assert_true(count > 100);
        for (int i = 0; i < count; i++)
            assert_that(may_have(all[i].entry, all[i].extra), "%s %s: run tools/ahead", all[i].entry->name,
                        all[i].extra);
    }
}

static void check_lists(void)
{
    test_case(a_list_has_its_lines_by_the_kind_of_device,
              "a list has its lines, by the kind of device, and what is not known is left out");
    test_case(what_the_programs_own_lists_hold_can, "what the program's own lists hold can be asked for");
}

/* Every kernel of the lists; true when all are there. */
static bool all_there(clvox_context *ctx, const char *const *lists, int count)
{
    clv_ahead_line lines[ROOM];
    bool there = true;
    int lines_count = 0;
    for (int i = 0; i < count; i++)
        lines_count += clv_ahead_read(ctx->limits.type, lists[i], lines + lines_count, ROOM - lines_count);
    for (int i = 0; i < lines_count; i++) {
        const clv_kernel *kernel;
        there = there && clv_kernel_get(ctx, lines[i].entry, lines[i].extra, size, lines[i].local_extra,
                                        &kernel) == CLVOX_OK;
    }
    return there;
}

static void what_a_list_holds_is_built_at_once_and_each(void **state)
{
    (void)state;
    assert_int_equal(clv_build_ahead(opened, some, 1, size), CLVOX_OK);
    assert_that(opened->compiled == 4 && opened->late == 0 && opened->built_count == 0, "%d",
                opened->compiled);
    assert_true(clv_build_ahead(opened, some, 1, size) == CLVOX_OK && opened->compiled == 4);
}

static void it_is_there_when_it_is_asked(void **state)
{
    (void)state;
    assert_that(all_there(opened, some, 1), "%s", clvox_message());
    assert_true(opened->compiled == 4 && opened->late == 0 && opened->built_count == 4 &&
                opened->ready_count == 0);
    assert_that(all_there(opened, both, 2), "%s", clvox_message());
    assert_that(opened->compiled == 11 && opened->late == 7, "%d %d", opened->compiled, opened->late);
}

static void one_that_does_not_build_does_not_stop(void **state)
{
    (void)state;
    clv_ahead_line line[2];
    const clv_kernel *kernel;
    assert_true(clv_ahead_read(opened->limits.type, "broken", line, 2) == 2);
    assert_int_equal(clv_build_ahead(opened, (const char *const[]){"broken"}, 1, size), CLVOX_OK);
    assert_int_equal(clv_kernel_get(opened, line[0].entry, line[0].extra, size, 0, &kernel),
                     CLVOX_ERROR_BUILD);
    assert_that(strstr(clvox_message(), "does not build"), "%s", clvox_message());
    assert_int_equal(clv_kernel_get(opened, line[1].entry, line[1].extra, size, 0, &kernel), CLVOX_OK);
}

static void a_compilers_warnings_stay_off_the_terminal(void **state)
{
    (void)state;
    char text[256], said[16], options[256];
    const char *own = opened->driver->options ? opened->driver->options(&opened->limits) : "";
    clv_code code;
    FILE *file = tmpfile();
    int terminal = dup(STDERR_FILENO);
    /* No compiler has seen this text before: what one remembers it does not warn of again. */
    snprintf(text, sizeof text,
             "__kernel void warned(__global int *x)\n{\n    if (x[0] = x[1])\n        x[2] = %d;\n}\n"
             "__kernel void clv_%s(void)\n{\n}\n",
             (int)getpid(), strrchr(folder, '-') + 1);
    assert_true(file && terminal >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    snprintf(options, sizeof options, "-cl-std=CL1.2 %s", own);
    int status = clv_code_compile(opened, text, options, &code);
    bool back = dup2(terminal, STDERR_FILENO) >= 0;
    close(terminal);
    rewind(file);
    size_t bytes = fread(said, 1, sizeof said - 1, file);
    said[bytes] = 0;
    fclose(file);
    clv_code_free(&code);
    assert_true(back && status == CLVOX_OK);
    assert_that(bytes == 0, "%s", said);
}

static int check_ahead_set_up(void **state)
{
    (void)state;
    setenv("CLVOX_KERNEL_DIR", kernels, 1);
    return 0;
}

static void check_ahead(void)
{
    test_set_up(check_ahead_set_up);
    test_case(what_a_list_holds_is_built_at_once_and_each,
              "what a list holds is built at once, and each once");
    test_case(it_is_there_when_it_is_asked,
              "it is there when it is asked for, and what is not listed is built then");
    test_case(a_compilers_warnings_stay_off_the_terminal, "a compiler's warnings stay off the terminal");
    test_case(one_that_does_not_build_does_not_stop,
              "one that does not build does not stop the others, and says so when it is asked for");
}

/* A folder of its own, so that what is in it is known. */
static int check_cache_set_up(void **state)
{
    (void)state;
    clvox_context_destroy(&opened);
    setenv("CLVOX_CACHE_DIR", folder, 1);
    return 0;
}

/* What cases leave to those after them. */
static struct {
    char command[160];
    clv_code code;
} shared;

static void what_is_built_ahead_is_kept_and_found_again(void **state)
{
    const int *given = *state;
    int pass = given[0];
    snprintf(shared.command, sizeof shared.command, "find %s -type f ! -name '.lock*' -delete", folder);
    assert_true(pass < 2 || system(shared.command) == 0);
    assert_int_equal(clvox_context_create(NULL, &opened), CLVOX_OK);
    assert_int_equal(clv_build_ahead(opened, some, 1, size), CLVOX_OK);
    assert_that(opened->compiled == (pass == 1 ? 0 : 4), "%d", opened->compiled);
    assert_that(opened->read_count == (pass == 1 ? 4 : 0), "%d read ahead", opened->read_count);
    assert_that(all_there(opened, both, 2), "%s", clvox_message());
    assert_that(opened->read_count == 0, "%d left", opened->read_count);
    assert_that(opened->late == (pass == 1 ? 0 : 7), "%d", opened->late);
    clvox_context_destroy(&opened);
}

/* PoCL knows what it has linked by its bitcode; asked to link it, it would read its library first. */
static void a_later_start_links_nothing(void **state)
{
    (void)state;
    assert_int_equal(clvox_context_create(NULL, &opened), CLVOX_OK);
    assert_that(all_there(opened, some, 1) && opened->compiled == 0, "%s", clvox_message());
    assert_int_equal(opened->linked, 0);
    clvox_context_destroy(&opened);
}

static void check_cache(void)
{
    test_set_up(check_cache_set_up);
    for (int pass = 0; pass < 3; pass++) {
        test_case_at(what_is_built_ahead_is_kept_and_found_again, TEST_AT(pass),
                     pass == 0   ? "what is built ahead is kept"
                     : pass == 1 ? "and found again, ahead and when it is asked for"
                                 : "where it is lost it is built again");
    }
    test_case(a_later_start_links_nothing, "a later start links nothing");
}

static void processes_compile_and_their_programs_run(void **state)
{
    (void)state;
    char place[64];
    setenv("CLVOX_CACHE_DIR", "", 1);
    assert_int_equal(clvox_context_create(NULL, &opened), CLVOX_OK);
    assert_true(clv_compilers_start(opened) == 0); /* none is allowed */
    snprintf(place, sizeof place, "%s/pocl", folder);
    setenv("POCL_CACHE_DIR", place, 1);         /* of processes: here PoCL has taken its own */
    const int most = opened->two_steps ? 3 : 2; /* where they do all of it, for this one, too */
    assert_true(clvox_context_compilers(opened, program, 2) == CLVOX_OK &&
                clv_compilers_start(opened) == most);
    assert_true(clv_compilers_start(opened) == most && opened->compiler_count == most);
    assert_true(clv_build_ahead(opened, both, 3, size) == CLVOX_OK && opened->compiled == 11);
    assert_that(all_there(opened, both, 2) && opened->late == 0, "%s", clvox_message());
}

/* PoCL: in the cache of the processes there is a library for each kernel that was launched. */
static void processes_launch_what_they_compile(void **state)
{
    (void)state;
    char command[160];
    int count = -1;
    if (!opened->two_steps)
        test_skip("no PoCL");
    snprintf(command, sizeof command, "find %s/pocl -name '*.so' | wc -l", folder);
    FILE *from = popen(command, "r");
    bool counted = from && fscanf(from, "%d", &count) == 1;
    assert_true(from && pclose(from) == 0 && counted);
    assert_int_equal(count, 11);
}

static void what_does_not_build_comes_back_as_nothing(void **state)
{
    (void)state;
    const char *small = "__kernel void nothing(void) { }";
    assert_true(clv_compilers_start(opened) >= 2);
    assert_true(!clv_compiler_compile(opened, 0, "-cl-std=CL1.2", "this is no OpenCL C", &shared.code));
    assert_true(clv_compiler_compile(opened, 0, "-cl-std=CL1.2", small, &shared.code) &&
                shared.code.bytes > 0 && shared.code.log);
    clv_code_free(&shared.code);
}

static void a_process_that_dies_and_one_that_cannot(void **state)
{
    (void)state;
    const char *small = "__kernel void nothing(void) { }";
    kill(opened->compilers[0].process, SIGKILL);
    assert_true(!clv_compiler_compile(opened, 0, "-cl-std=CL1.2", small, &shared.code));
    clv_compilers_end(opened);
    assert_true(opened->compiler_count == 0);
    assert_true(clvox_context_compilers(opened, "/nonexistent/clvox", 2) == CLVOX_OK &&
                clv_compilers_start(opened) == 0);
    clvox_context_destroy(&opened);
}

static void processes_start_before_the_device_is_open(void **state)
{
    (void)state;
    char place[64], entry[256];
    clvox_context_options o = {.compiler_program = program, .compilers = 2};
    assert_int_equal(clvox_context_create(&o, &opened), CLVOX_OK);
    assert_int_equal(opened->compiler_count, opened->compilers_allowed < 2 ? opened->compilers_allowed : 2);
    assert_true(clv_build_ahead(opened, both, 3, size) == CLVOX_OK && opened->compiled == 11);
    clvox_context_destroy(&opened);
    o.device = "no such device";
    assert_true(clvox_context_create(&o, &opened) == CLVOX_ERROR_DEVICE && !opened);
    o.device = NULL;
    snprintf(place, sizeof place, "%s/warm", folder);
    snprintf(entry, sizeof entry, "mkdir -p %s && touch %s/0123456789abcdef0123456789abcdef", place, place);
    assert_int_equal(system(entry), 0);
    setenv("CLVOX_CACHE_DIR", place, 1);
    assert_int_equal(clvox_context_create(&o, &opened), CLVOX_OK);
    assert_int_equal(opened->compiler_count, 0);
    clvox_context_destroy(&opened);
    setenv("CLVOX_CACHE_DIR", "", 1);
}

static void check_processes(void)
{
    test_case(processes_compile_and_their_programs_run, "processes compile, and their programs run");
    test_case(processes_launch_what_they_compile,
              "and launch them, so that PoCL keeps what it compiles then");
    test_case(what_does_not_build_comes_back_as_nothing,
              "what does not build comes back as nothing, and the process goes on");
    test_case(a_process_that_dies_and_one_that_cannot,
              "a process that dies, and one that cannot be started, are done without");
    test_case(processes_start_before_the_device_is_open,
              "where nothing is cached processes start before the device is open");
}

static void programs(void **state)
{
    (void)state;
    test_skip("%s", clvox_message());
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], CLV_COMPILER_VERB))
        return clv_compiler_serve(argv[2]);
    if (argc < 2 || !mkdtemp(folder))
        return 2;
    program = argv[0];
    kernels = argv[1];
    setenv("CLVOX_CACHE_DIR", "", 1);
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    check_lists();
    if (clvox_context_create(NULL, &opened) < 0) {
        test_case(programs, "programs");
    } else {
        check_ahead();
        check_cache();
        check_processes();
    }
    return test_run("program", tear_down);
}
