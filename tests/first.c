/* SPDX-License-Identifier: Apache-2.0 */
/* A first run on PoCL: other processes compile all that a registration launches, as it launches it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"
#include "runtime/device/context.h"
#include "runtime/program/ahead.h"
#include "runtime/program/compiler.h"

static char folder[] = "/tmp/clvox-first-XXXXXX";
static const char *program;
static clvox_context *ctx;

/* Kernels that PoCL has compiled for work-groups: a library each, wherever its cache keeps it. */
static int compiled_kernels(void)
{
    char command[128];
    int count = -1;
    snprintf(command, sizeof command, "find %s -name '*.so' | wc -l", folder);
    FILE *from = popen(command, "r");
    if (from && fscanf(from, "%d", &count) != 1)
        count = -1;
    if (from)
        pclose(from);
    return count;
}

static void no_kernel_is_compiled_by_who_launches(void **state)
{
    (void)state;
    static const int size[3] = {41, 37, 35};
    static const double spacing[3] = {3, 3, 3};
    const char *const lists[] = {"register linear mi:32", "register none lncc:2"};
    pair heads;
    clvox_register_options o;
    clvox_register_result r;
    if (!ctx)
        test_skip("%s", clvox_message());
    if (!ctx->two_steps)
        test_skip("no PoCL that keeps what it compiles");
    assert_ok(clvox_context_compilers(ctx, program, 1));
    assert_ok(clv_build_ahead(ctx, lists, 2, size));
    const int programs = ctx->compiled, ahead = compiled_kernels();
    assert_that(programs > 20 && ahead == programs && ctx->late == 0, "%d programs, %d kernels", programs,
                ahead);
    pair_make(&heads, size, spacing, false, 6, 3);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_NONE;
    clvox_register_images images = {.fixed = {heads.fixed}, .moving = {heads.moving}, .channels = 1};
    assert_ok(clvox_register(ctx, &images, &o, &r));
    clvox_register_result_destroy(&r);
    pair_free(&heads);
    assert_that(ctx->compiled == programs && compiled_kernels() == ahead,
                "%d programs, %d kernels afterwards", ctx->compiled, compiled_kernels());
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    clvox_context_destroy(&ctx);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], CLV_COMPILER_VERB))
        return clv_compiler_serve(argv[2]);
    if (!mkdtemp(folder))
        return 2;
    program = argv[0];
    setenv("POCL_CACHE_DIR", folder, 1);
    setenv("CLVOX_CACHE_DIR", "", 1);
    if (clvox_context_create(NULL, &ctx) < 0)
        ctx = NULL;
    test_case(no_kernel_is_compiled_by_who_launches,
              "what processes have built ahead is compiled for the work-groups that are launched");
    return test_run("first", tear_down);
}
