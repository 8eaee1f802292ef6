/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: compiled once, kept, and found again by what they were built from. */
#include <unistd.h>

#include "check.h"
#include "runtime/device/context.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/registry.h"
#include "runtime/program/program.h"

static const struct {
    const char *entry, *extra;
} asked[] = {{"blend", ""},
             {"reduce", "-DKIND=0 -DHAS_WEIGHT=0"},
             {"reduce", "-DKIND=1 -DHAS_WEIGHT=0"},
             {"reduce", "-DKIND=0 -DHAS_WEIGHT=0"},
             {"jacobian", "-DLOG=1"}};
enum { ASKED = sizeof asked / sizeof *asked, PROGRAMS = ASKED - 1 };

static char folder[] = "/tmp/clvox-program-XXXXXX";
static clvox_context *ctx;

static void clear(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s && mkdir -m 700 %s", folder, folder);
    assert_int_equal(system(command), 0);
}

static int close_context(void **state)
{
    (void)state;
    clvox_context_destroy(&ctx);
    return 0;
}

static void ask_all(void)
{
    static const int size[3] = {19, 7, 5};
    const clv_kernel *kernel;
    clvox_context_destroy(&ctx);
    assert_ok(clvox_context_create(NULL, &ctx));
    for (int i = 0; i < ASKED; i++) {
        const clv_entry *entry;
        for (int at = 0; (entry = clv_entry_at(at)) && strcmp(entry->name, asked[i].entry) != 0; at++)
            ;
        assert_non_null(entry);
        assert_ok(clv_kernel_get(ctx, entry, asked[i].extra, size, 0, &kernel));
    }
}

static void what_is_built_is_kept_and_found_again(void **state)
{
    char command[160];
    (void)state;
    clear();
    ask_all();
    assert_int_equal(ctx->compiled, PROGRAMS);
    ask_all();
    assert_int_equal(ctx->compiled, 0);
    /* PoCL knows what it has linked by its bitcode; asked to link it, it would read its library first. */
    assert_int_equal(ctx->linked, 0);
    snprintf(command, sizeof command, "find %s -type f ! -name '.lock*' -delete", folder);
    assert_int_equal(system(command), 0);
    ask_all();
    assert_int_equal(ctx->compiled, PROGRAMS);
}

static void a_cache_is_empty_until_something_is_kept(void **state)
{
    (void)state;
    char named[64] = "";
    clear();
    assert_true(clvox_cache_empty(named, sizeof named));
    assert_string_equal(named, folder);
    ask_all();
    assert_false(clvox_cache_empty(NULL, 0));
    setenv("CLVOX_CACHE_DIR", "", 1);
    assert_false(clvox_cache_empty(NULL, 0)); /* nothing is kept */
    setenv("CLVOX_CACHE_DIR", folder, 1);
}

static void a_compilers_warnings_stay_off_the_terminal(void **state)
{
    (void)state;
    char text[256], said[16];
    clv_program program;
    FILE *file = tmpfile();
    int terminal = dup(STDERR_FILENO);
    /* No compiler has seen this text before: what one remembers it does not warn of again. */
    snprintf(text, sizeof text,
             "__kernel void warned(__global int *x)\n{\n    if (x[0] = x[1])\n        x[2] = %d;\n}\n"
             "__kernel void clv_%s(void)\n{\n}\n",
             (int)getpid(), strrchr(folder, '-') + 1);
    clv_program_request request = {.file = "*", .function = "warned", .source = text};
    assert_ok(clvox_context_create(NULL, &ctx));
    const char *own = ctx->driver->options ? ctx->driver->options(&ctx->limits) : "";
    snprintf(request.options, sizeof request.options, "-cl-std=CL1.2 %s", own);
    assert_true(file && terminal >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    int status = clv_program_build(ctx, &request, &program);
    bool back = dup2(terminal, STDERR_FILENO) >= 0;
    close(terminal);
    rewind(file);
    size_t bytes = fread(said, 1, sizeof said - 1, file);
    said[bytes] = 0;
    fclose(file);
    assert_true(back && status == CLVOX_OK);
    clReleaseProgram(program.program);
    assert_that(bytes == 0, "%s", said);
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
    setenv("CLVOX_CACHE_DIR", folder, 1);
    if (clvox_context_create(NULL, &ctx) < 0)
        return test_skip_all("%s", clvox_message());
    clvox_context_destroy(&ctx);
    test_after_each(close_context);
    test_case(what_is_built_is_kept_and_found_again,
              "what is built is kept and found again, and where it is lost it is built again");
    test_case(a_cache_is_empty_until_something_is_kept, "a cache is empty until something is kept");
    test_case(a_compilers_warnings_stay_off_the_terminal, "a compiler's warnings stay off the terminal");
    return test_run("program", tear_down);
}
