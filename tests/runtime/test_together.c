/* SPDX-License-Identifier: Apache-2.0 */
/* Many kernels as one program: names, and that every kernel of every operation
 * can be a part of one. */
#include <signal.h>
#include <unistd.h>

#include "probe.h"
#include "runtime/compose.h"
#include "runtime/context.h"
#include "runtime/helper.h"
#include "runtime/program.h"
#include "runtime/registry.h"
#include "runtime/source.h"

static const int size[3] = {19, 7, 5};

/* The unit of a source text; the caller frees it. */
static char *unit_of(const char *source, const char *options)
{
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    CHECK(clv_compose_unit(source, options, "__1", to) == CLVOX_OK);
    fclose(to);
    return text;
}

static bool renames(const char *text, const char *name)
{
    char line[160];
    snprintf(line, sizeof line, "#define %s %s__1\n", name, name);
    return strstr(text, line) != NULL;
}

static bool forgets(const char *text, const char *name)
{
    char line[160];
    snprintf(line, sizeof line, "#undef %s\n", name);
    return strstr(text, line) != NULL;
}

static void check_names(void)
{
    static const char source[] =
        "#ifndef GUARD\n#define GUARD\n"
        "#define PASTED(N, T) \\\n    static inline T made##N(T a) \\\n    { \\\n"
        "        return a; \\\n    }\n"
        "#define NAMED(name) name##_wide\n"
        "#define GROUP __attribute__((reqd_work_group_size(TILE_X, 1, 1)))\n"
        "typedef struct __attribute__((packed)) tag { float inner; } type; // void comment(void) {\n"
        "typedef float lines[4][8], *unused;\ntypedef float8 free8 __attribute__((aligned(4)));\n"
        "enum { FIRST = 3, SECOND };\n/* static void hidden(int a) { } */\n"
        "__constant float table[2] = {1.0f, 2e3f};\n"
        "static float helper(float a, __local float *b);\n"
        "#if WIDE\nstatic void either(int a) {\n#else\nstatic void either(float a) {\n#endif\n"
        "    if (a) {\n    }\n}\n"
        "#if LANES\nstatic int one_of(int a) { return a; }\n#else\n#define one_of abs\n#endif\n"
        "PASTED(8, float8)\nstatic void NAMED(step)(int a)\n{\n    int local_name = a;\n}\n"
        "__kernel GROUP void run(__global float *p)\n{\n    p[0] = table[1];\n}\n#endif\n";
    static const char *const found[] = {"tag", "type", "lines", "free8", "FIRST", "SECOND", "table", "helper",
                                        "either", "made8", "step_wide", "run", "one_of"};
    static const char *const others[] = {"inner", "hidden", "comment", "local_name",
                                         "a",     "p",      "NAMED",   "GROUP"};
    static const char *const macros[] = {"GUARD", "PASTED", "NAMED", "GROUP", "TILE_X", "WIDE"};
    char *text = unit_of(source, "-cl-std=CL1.2 -DTILE_X=64 -DWIDE -cl-nv-verbose"), common[64];
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        CHECK_CASE("%s gets a name of its own", found[i]);
        CHECK(renames(text, found[i]) && forgets(text, found[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_CASE("%s keeps its name", others[i]);
        CHECK(!renames(text, others[i]));
    }
    CHECK_CASE("macros and the options' defines end with the unit");
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        CHECK_THAT(forgets(text, macros[i]), "%s", macros[i]);
    CHECK_CASE("a name that is a function in one branch and a macro in another");
    CHECK(strstr(text, "#else\n#undef one_of\n#define one_of abs\n"));
    CHECK(strstr(text, "#define TILE_X 64\n") && strstr(text, "#define WIDE 1\n"));
    clv_compose_common("-cl-std=CL1.2 -DTILE_X=64  -DWIDE -cl-nv-verbose", common, sizeof common);
    CHECK_THAT(!strcmp(common, "-cl-std=CL1.2 -cl-nv-verbose"), "%s", common);
    free(text);
}

/* The units of every variant of every entry with its first tile and, where there are several,
 * its second define string. */
static int units_of(clvox_context *ctx, clv_unit *units, int room)
{
    int count = 0;
    char options[768];
    const clv_entry *entry;
    for (int e = 0; (entry = clv_entry_at(e)); e++) {
        const char *extra = NULL;
        for (int b = 0; entry->builds && entry->builds[b] && b < 2; b++)
            extra = entry->builds[b];
        for (int v = 0; v < entry->count && count < room; v++) {
            const clv_variant *variant = &entry->variants[v];
            if (!clv_variant_runs(&ctx->limits, variant, variant->tiles[0], 0))
                continue;
            CHECK(clv_program_options(ctx->packed, variant, variant->tiles[0], extra, options,
                                      sizeof options) == CLVOX_OK);
            CHECK(clv_unit_make(ctx, variant, entry->file, options, &units[count++]) == CLVOX_OK);
        }
    }
    return count;
}

static void check_all(clvox_context *ctx)
{
    enum { ROOM = 400 };
    static clv_unit units[ROOM];
    static clv_program programs[ROOM];
    int count = units_of(ctx, units, ROOM), before = ctx->compiled;
    CHECK_CASE("all kernels at once");
    CHECK(count > 100 && clv_units_build(ctx, units, count, programs) == CLVOX_OK);
    printf("# %d kernels, %d programs\n", count, ctx->compiled - before);
    /* NVIDIA's log tells of twelve kernels a program. */
    CHECK(ctx->compiled - before < (ctx->limits.nvidia_major > 0 ? 4 + count / 12 : 12));
    for (int i = 0; i < count; i++) {
        cl_int error = CL_INVALID_PROGRAM;
        cl_kernel kernel = NULL;
        if (programs[i].program)
            kernel = clCreateKernel(programs[i].program, programs[i].function, &error);
        CHECK_THAT(error == CL_SUCCESS && strcmp(programs[i].function, units[i].function) != 0,
                   "cl/%s.cl %s: %s %s", units[i].file, units[i].function, clv_cl_error_name(error),
                   programs[i].function);
        if (kernel)
            clReleaseKernel(kernel);
        if (programs[i].program)
            clReleaseProgram(programs[i].program);
        clv_unit_free(&units[i]);
    }
}

/* Asks for the probe in all its shapes, with two defines, and for one that does not build. */
static void ask(clvox_context *ctx, bool broken)
{
    static const char *const adds[] = {"-DADD=1", "-DADD=2"};
    for (int v = 0; v < (broken ? 5 : 4); v++)
        for (int a = 0; a < 2; a++) {
            const clv_kernel *kernel;
            CHECK(clv_force_variant(ctx, "probe", probe_variants[v].name, 0) == CLVOX_OK);
            CHECK(clv_kernel_get(ctx, &probe, adds[a], size, 0, &kernel) == CLVOX_OK &&
                  kernel->variant == &probe_variants[v]);
        }
    CHECK(clv_force_variant(ctx, "probe", NULL, -1) == CLVOX_OK);
}

static bool all_run(clvox_context *ctx)
{
    bool right = true;
    for (int v = 0; v < 4; v++) {
        right = right && clv_force_variant(ctx, "probe", probe_variants[v].name, 0) == CLVOX_OK;
        right = right && probe_runs(ctx, "-DADD=1", 1) && probe_runs(ctx, "-DADD=2", 2);
    }
    return right;
}

static void check_rehearsal(clvox_context *ctx)
{
    float seen[5] = {0};
    clv_buffer *buffer;
    CHECK_CASE("a rehearsal builds nothing until it ends, then all together");
    CHECK(clv_buffer_create(ctx, sizeof seen, "buffer", &buffer) == CLVOX_OK);
    CHECK(clv_buffer_fill(ctx, buffer, 0, 0x40400000u, sizeof seen) == CLVOX_OK);
    CHECK(!clv_rehearsing(ctx) && clv_rehearsal_begin(ctx) == CLVOX_OK && clv_rehearsing(ctx));
    ask(ctx, false);
    CHECK(clv_rehearsal_begin(ctx) == CLVOX_OK);
    ask(ctx, false);
    CHECK(clv_rehearsal_end(ctx) == CLVOX_OK && clv_rehearsing(ctx) && ctx->built_count == 0);
    CHECK(!probe_runs(ctx, "-DADD=1", 1)); /* nothing is launched */
    CHECK(clv_buffer_fill(ctx, buffer, 0, 0, sizeof seen) == CLVOX_OK);
    CHECK(clv_buffer_read(ctx, buffer, 0, seen, sizeof seen) == CLVOX_OK);
    CHECK(seen[0] == 1 && seen[1] == 2 && seen[4] == 1 && ctx->compiled == 0);
    CHECK(clv_rehearsal_end(ctx) == CLVOX_OK && !clv_rehearsing(ctx));
    CHECK_THAT(ctx->alone == 0 && ctx->compiled >= 1 && ctx->compiled <= 2 + (ctx->limits.nvidia_major > 0),
               "%d programs", ctx->compiled);
    CHECK_CASE("its kernels are right, and buffers as they were");
    int programs = ctx->compiled;
    CHECK_THAT(all_run(ctx), "%s", clvox_message());
    CHECK(ctx->compiled == programs && ctx->alone == 0);
    CHECK(clv_buffer_read(ctx, buffer, 0, seen, sizeof seen) == CLVOX_OK && seen[0] == 3 && seen[4] == 3);
    CHECK_CASE("one of nothing, one of what is there, and an end without a beginning");
    CHECK(clv_rehearsal_begin(ctx) == CLVOX_OK && clv_rehearsal_end(ctx) == CLVOX_OK);
    CHECK(clv_rehearsal_begin(ctx) == CLVOX_OK);
    ask(ctx, false);
    CHECK(clv_rehearsal_end(ctx) == CLVOX_OK && ctx->compiled == programs);
    CHECK(clv_rehearsal_end(ctx) == CLVOX_OK && !clv_rehearsing(ctx));
    clv_buffer_destroy(&buffer);
}

/* A folder of its own, so that what is in it is known. */
static void check_cache(const char *folder)
{
    clvox_context *ctx;
    char command[160];
    setenv("CLVOX_CACHE_DIR", folder, 1);
    for (int pass = 0; pass < 3; pass++) {
        CHECK_CASE(pass == 0   ? "kernels built together are kept"
                   : pass == 1 ? "and found again, also one by one"
                               : "where their program is lost they are built by themselves");
        if (pass == 2) { /* the program of many is larger than a reference to it */
            snprintf(command, sizeof command, "find %s -type f -size +1k -delete", folder);
            CHECK(system(command) == 0);
        }
        CHECK(clvox_context_create(NULL, &ctx) == CLVOX_OK);
        if (pass == 0) {
            CHECK(clv_rehearsal_begin(ctx) == CLVOX_OK);
            ask(ctx, false);
            CHECK(clv_rehearsal_end(ctx) == CLVOX_OK && ctx->compiled >= 1);
        }
        CHECK_THAT(all_run(ctx), "%s", clvox_message());
        CHECK_THAT(pass == 0 ? ctx->alone == 0 : ctx->alone == 8, "%d", ctx->alone);
        CHECK_THAT(pass == 0 || ctx->compiled == (pass == 1 ? 0 : 8), "%d", ctx->compiled);
        clvox_context_destroy(&ctx);
    }
    CHECK_CASE("one that does not build does not stop the others");
    CHECK(clvox_context_create(NULL, &ctx) == CLVOX_OK && clv_rehearsal_begin(ctx) == CLVOX_OK);
    snprintf(command, sizeof command, "rm -rf %s/*", folder);
    CHECK(system(command) == 0);
    ask(ctx, true);
    CHECK(clv_rehearsal_end(ctx) == CLVOX_OK);
    CHECK_THAT(all_run(ctx), "%s", clvox_message());
    clvox_context_destroy(&ctx);
    CHECK(system(command) == 0);
}

static void check_helpers(const char *program)
{
    clvox_context *ctx;
    unsigned char *binary = NULL;
    char *log = NULL;
    const char *small = "__kernel void nothing(void) { }";
    size_t bytes = 0;
    setenv("CLVOX_CACHE_DIR", "", 1);
    CHECK_CASE("helpers compile, and their programs run");
    CHECK(clvox_context_create(NULL, &ctx) == CLVOX_OK);
    CHECK(clv_helpers_start(ctx) == 0); /* none is allowed */
    CHECK(clv_helpers_allow(ctx, program, 2) == CLVOX_OK && clv_helpers_start(ctx) == 2);
    CHECK(clv_helpers_start(ctx) == 2 && ctx->helper_count == 2);
    CHECK(clv_rehearsal_begin(ctx) == CLVOX_OK);
    ask(ctx, false);
    CHECK(clv_rehearsal_end(ctx) == CLVOX_OK && ctx->alone == 0 && ctx->compiled >= 2);
    CHECK_THAT(all_run(ctx), "%s", clvox_message());
    CHECK_CASE("what does not build comes back as nothing, and the helper goes on");
    CHECK(!clv_helper_compile(ctx, 0, "-cl-std=CL1.2", "this is no OpenCL C", &binary, &bytes, &log));
    CHECK(clv_helper_compile(ctx, 0, "-cl-std=CL1.2", small, &binary, &bytes, &log));
    CHECK(binary && bytes > 0 && log);
    free(binary);
    free(log);
    CHECK_CASE("a helper that dies, and one that cannot be started, are done without");
    kill(ctx->helpers[0].process, SIGKILL);
    CHECK(!clv_helper_compile(ctx, 0, "-cl-std=CL1.2", small, &binary, &bytes, &log));
    clv_helpers_end(ctx);
    CHECK(ctx->helper_count == 0);
    clv_rehearsals_over(ctx);
    CHECK(clv_helpers_allow(ctx, "/nonexistent/clvox", 2) == CLVOX_OK && clv_helpers_start(ctx) == 0);
    clvox_context_destroy(&ctx);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], CLV_HELPER_VERB))
        return clv_helper_serve(argv[2]);
    clvox_context *ctx;
    char folder[] = "/tmp/clvox-together-XXXXXX";
    if (argc < 2)
        return 2;
    setenv("CLVOX_CACHE_DIR", "", 1);
    check_names();
    if (clvox_context_create(&(clvox_context_options){.verbosity = 1}, &ctx) < 0) {
        CHECK_CASE("programs");
        CHECK_SKIP("%s", clvox_message());
        return check_end();
    }
    check_all(ctx);
    clvox_context_destroy(&ctx);
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    CHECK(clvox_context_create(NULL, &ctx) == CLVOX_OK);
    check_rehearsal(ctx);
    clvox_context_destroy(&ctx);
    CHECK(mkdtemp(folder) != NULL);
    check_cache(folder);
    check_helpers(argv[0]);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_end();
}
