/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: lists of what is built ahead, the cache, and processes that compile. */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "runtime/ahead.h"
#include "runtime/compiler.h"
#include "runtime/context.h"
#include "runtime/kernel.h"

enum { ROOM = 64 };

static const int size[3] = {19, 7, 5};
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

static void check_lists(void)
{
    clv_ahead_line lines[ROOM];
    CHECK_CASE("a list has its lines, by the kind of device, and what is not known is left out");
    CHECK(clv_ahead_read(CLVOX_DEVICE_CPU, "some", lines, ROOM) == 5);
    CHECK(!strcmp(lines[0].entry->name, "blend") && !lines[0].extra[0] && lines[0].local_extra == 0);
    CHECK(!strcmp(lines[1].entry->name, "reduce") && !strcmp(lines[1].extra, "-DKIND=0 -DHAS_WEIGHT=0"));
    CHECK(clv_ahead_read(CLVOX_DEVICE_GPU, "some", lines, ROOM) == 4);
    CHECK(clv_ahead_read(CLVOX_DEVICE_GPU, "no such list", lines, ROOM) == 0);
    CHECK(clv_ahead_read(CLVOX_DEVICE_GPU, NULL, lines, ROOM) == 13);
    CHECK(clv_ahead_read(CLVOX_DEVICE_CPU, "some", lines, 2) == 2);
    CHECK_CASE("what the program's own lists hold can be asked for");
    unsetenv("CLVOX_KERNEL_DIR");
    static clv_ahead_line all[2048];
    for (int type = CLVOX_DEVICE_CPU; type <= CLVOX_DEVICE_GPU; type++) {
        int count = clv_ahead_read((clvox_device_type)type, NULL, all, 2048);
        CHECK(count > 100);
        for (int i = 0; i < count; i++)
            CHECK_THAT(may_have(all[i].entry, all[i].extra), "%s %s: run tools/ahead", all[i].entry->name,
                       all[i].extra);
    }
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

static void check_ahead(clvox_context *ctx)
{
    CHECK_CASE("what a list holds is built at once, and each once");
    CHECK(clv_build_ahead(ctx, some, 1, size) == CLVOX_OK);
    CHECK_THAT(ctx->compiled == 4 && ctx->late == 0 && ctx->built_count == 0, "%d", ctx->compiled);
    CHECK(clv_build_ahead(ctx, some, 1, size) == CLVOX_OK && ctx->compiled == 4);
    CHECK_CASE("it is there when it is asked for, and what is not listed is built then");
    CHECK_THAT(all_there(ctx, some, 1), "%s", clvox_message());
    CHECK(ctx->compiled == 4 && ctx->late == 0 && ctx->built_count == 4 && ctx->ready_count == 0);
    CHECK_THAT(all_there(ctx, both, 2), "%s", clvox_message());
    CHECK_THAT(ctx->compiled == 11 && ctx->late == 7, "%d %d", ctx->compiled, ctx->late);
    CHECK_CASE("one that does not build does not stop the others, and says so when it is asked for");
    clv_ahead_line line[2];
    const clv_kernel *kernel;
    CHECK(clv_ahead_read(ctx->limits.type, "broken", line, 2) == 2);
    CHECK(clv_build_ahead(ctx, (const char *const[]){"broken"}, 1, size) == CLVOX_OK);
    CHECK(clv_kernel_get(ctx, line[0].entry, line[0].extra, size, 0, &kernel) == CLVOX_ERROR_BUILD);
    CHECK_THAT(strstr(clvox_message(), "does not build"), "%s", clvox_message());
    CHECK(clv_kernel_get(ctx, line[1].entry, line[1].extra, size, 0, &kernel) == CLVOX_OK);
}

/* A folder of its own, so that what is in it is known. */
static void check_cache(const char *folder)
{
    clvox_context *ctx;
    char command[160];
    setenv("CLVOX_CACHE_DIR", folder, 1);
    for (int pass = 0; pass < 3; pass++) {
        CHECK_CASE(pass == 0   ? "what is built ahead is kept"
                   : pass == 1 ? "and found again, ahead and when it is asked for"
                               : "where it is lost it is built again");
        snprintf(command, sizeof command, "find %s -type f ! -name '.lock*' -delete", folder);
        CHECK(pass < 2 || system(command) == 0);
        CHECK(clvox_context_create(NULL, &ctx) == CLVOX_OK);
        CHECK(clv_build_ahead(ctx, some, 1, size) == CLVOX_OK);
        CHECK_THAT(ctx->compiled == (pass == 1 ? 0 : 4), "%d", ctx->compiled);
        CHECK_THAT(all_there(ctx, both, 2), "%s", clvox_message());
        CHECK_THAT(ctx->late == (pass == 1 ? 0 : 7), "%d", ctx->late);
        clvox_context_destroy(&ctx);
    }
}

static void check_processes(const char *program)
{
    clvox_context *ctx;
    clv_code code;
    const char *small = "__kernel void nothing(void) { }";
    setenv("CLVOX_CACHE_DIR", "", 1);
    CHECK_CASE("processes compile, and their programs run");
    CHECK(clvox_context_create(NULL, &ctx) == CLVOX_OK);
    CHECK(clv_compilers_start(ctx) == 0); /* none is allowed */
    CHECK(clv_compilers_allow(ctx, program, 2) == CLVOX_OK && clv_compilers_start(ctx) == 2);
    CHECK(clv_compilers_start(ctx) == 2 && ctx->compiler_count == 2);
    CHECK(clv_build_ahead(ctx, both, 3, size) == CLVOX_OK && ctx->compiled == 11);
    CHECK_THAT(all_there(ctx, both, 2) && ctx->late == 0, "%s", clvox_message());
    CHECK_CASE("what does not build comes back as nothing, and the process goes on");
    CHECK(clv_compilers_start(ctx) == 2);
    CHECK(!clv_compiler_compile(ctx, 0, "-cl-std=CL1.2", "this is no OpenCL C", &code));
    CHECK(clv_compiler_compile(ctx, 0, "-cl-std=CL1.2", small, &code) && code.bytes > 0 && code.log);
    clv_code_free(&code);
    CHECK_CASE("a process that dies, and one that cannot be started, are done without");
    kill(ctx->compilers[0].process, SIGKILL);
    CHECK(!clv_compiler_compile(ctx, 0, "-cl-std=CL1.2", small, &code));
    clv_compilers_end(ctx);
    CHECK(ctx->compiler_count == 0);
    CHECK(clv_compilers_allow(ctx, "/nonexistent/clvox", 2) == CLVOX_OK && clv_compilers_start(ctx) == 0);
    clvox_context_destroy(&ctx);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], CLV_COMPILER_VERB))
        return clv_compiler_serve(argv[2]);
    clvox_context *ctx;
    char folder[] = "/tmp/clvox-program-XXXXXX", command[64];
    if (argc < 2)
        return 2;
    setenv("CLVOX_CACHE_DIR", "", 1);
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    check_lists();
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    if (clvox_context_create(NULL, &ctx) < 0) {
        CHECK_CASE("programs");
        CHECK_SKIP("%s", clvox_message());
        return check_end();
    }
    check_ahead(ctx);
    clvox_context_destroy(&ctx);
    CHECK(mkdtemp(folder) != NULL);
    check_cache(folder);
    check_processes(argv[0]);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_end();
}
