/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured, kept in a file and found again by the planner. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "probe.h"
#include "runtime/context.h"
#include "runtime/wisdom.h"

static const clvox_device_limits gpu = {
    .name = "A GPU", .platform = "Vendor", .driver = "1.2.3", .type = CLVOX_DEVICE_GPU, .simd = 32,
    .compute_units = 20, .local_bytes = 49152, .max_group = 1024, .max_items = {1024, 1024, 64}};

static char folder[] = "/tmp/test_wisdom_XXXXXX", path[64];

static clv_wisdom_record record_of(const char *build, const char *variant, clv_tile tile)
{
    clv_wisdom_record r = {.kernel = "probe", .tile = tile};
    snprintf(r.build, sizeof r.build, "%s", build);
    snprintf(r.variant, sizeof r.variant, "%s", variant);
    return r;
}

static void store_class(const char *build, int size_class, const char *variant, clv_tile tile)
{
    clv_wisdom_record r = record_of(build, variant, tile);
    r.size_class = size_class;
    CHECK(clv_wisdom_store(path, &gpu, &r, NULL) == CLVOX_OK);
}

static void store(const char *build, const char *variant, clv_tile tile)
{
    store_class(build, 0, variant, tile);
}

static clv_wisdom *load(const clvox_device_limits *limits)
{
    clv_wisdom *wisdom = NULL;
    check_must(clv_wisdom_load(path, limits, &wisdom));
    return wisdom;
}

/* Whether the first candidate for the build and class is this after wisdom, the others as they were. */
static bool prefers_class(const clvox_device_limits *limits, const char *build, int size_class, const char *variant,
                          clv_tile tile)
{
    clv_candidate before[CLV_MAX_CANDIDATES], after[CLV_MAX_CANDIDATES];
    clv_wisdom *wisdom = load(limits);
    int count = clv_plan_candidates(limits, &probe, 0, before, CLV_MAX_CANDIDATES);
    memcpy(after, before, sizeof after);
    bool told = clv_wisdom_prefer(wisdom, &probe, build, size_class, after, count);
    bool right = told ? variant && !strcmp(after[0].variant->name, variant) && !memcmp(&after[0].tile, &tile, sizeof tile)
                      : !variant;
    for (int i = 0, k = told; i < count; i++)
        if (!told || memcmp(&before[i].tile, &after[0].tile, sizeof tile) || before[i].variant != after[0].variant)
            right = right && !memcmp(&before[i].tile, &after[k++].tile, sizeof tile);
    clv_wisdom_destroy(&wisdom);
    return right;
}

static bool prefers(const clvox_device_limits *limits, const char *build, const char *variant, clv_tile tile)
{
    return prefers_class(limits, build, 0, variant, tile);
}

static const clv_tile item = {4, 4, 4, 1}, march = {32, 8, 1, 8};

static void check_file(void)
{
    CHECK_CASE("no file: nothing is known, and that is no fault");
    clv_wisdom *wisdom = load(&gpu);
    CHECK(wisdom && wisdom->count == 0 && !wisdom->remark[0]);
    clv_wisdom_destroy(&wisdom);
    CHECK(wisdom == NULL);
    check_must(clv_wisdom_load(NULL, &gpu, &wisdom));
    CHECK(wisdom->count == 0 && !wisdom->path && !wisdom->remark[0]);
    clv_wisdom_destroy(&wisdom);
    clv_wisdom_destroy(&wisdom);
    CHECK_CASE("a record comes back as it was stored, in sorted order");
    const clv_wisdom_record r = record_of("-DB=1", "item", item);
    store("-DC=1", "march", march);
    store("-DB=1", "march", march);
    store("", "march", march);
    store("-DB=1", "item", item); /* replaces */
    wisdom = load(&gpu);
    CHECK_THAT(wisdom->count == 3 && !wisdom->remark[0], "%d %s", wisdom->count, wisdom->remark);
    const clv_wisdom_record *got = &wisdom->record[1];
    CHECK(!strcmp(got->kernel, r.kernel) && !strcmp(got->build, r.build) && got->size_class == r.size_class);
    CHECK(!strcmp(got->variant, r.variant) && !memcmp(&got->tile, &r.tile, sizeof r.tile));
    CHECK(!strcmp(wisdom->record[0].build, "") && !strcmp(wisdom->record[2].build, "-DC=1"));
    CHECK_CASE("the hash follows choices");
    char hash[17];
    memcpy(hash, wisdom->hash, sizeof hash);
    clv_wisdom_destroy(&wisdom);
    CHECK(clv_wisdom_store(path, &gpu, &r, NULL) == CLVOX_OK);
    wisdom = load(&gpu);
    CHECK(wisdom->count == 3 && !strcmp(hash, wisdom->hash));
    clv_wisdom_destroy(&wisdom);
    store("-DB=1", "march", march);
    wisdom = load(&gpu);
    CHECK(strcmp(hash, wisdom->hash) != 0);
    clv_wisdom_destroy(&wisdom);
    store("-DB=1", "item", item);
}

static void check_choice(void)
{
    CHECK_CASE("the planner's first is what was measured for the build");
    CHECK(prefers(&gpu, "-DB=1", "item", item) && prefers(&gpu, "", "march", march));
    CHECK_CASE("another build goes by what all others agree on, else by the planner's order");
    CHECK(prefers(&gpu, "-DD=1", NULL, item));
    store("-DB=1", "march", march);
    CHECK(prefers(&gpu, "-DD=1", "march", march));
    CHECK_CASE("another driver, another number of compute units, another device: nothing is known");
    clvox_device_limits other = gpu;
    strcpy(other.driver, "1.2.4");
    CHECK(prefers(&other, "", NULL, march));
    other = gpu;
    other.compute_units = 21;
    CHECK(prefers(&other, "", NULL, march));
    other = gpu;
    strcpy(other.name, "A GPU 2");
    CHECK(prefers(&other, "", NULL, march));
    CHECK_CASE("several devices live in one file");
    clv_wisdom_record r = record_of("", "item", item);
    CHECK(clv_wisdom_store(path, &other, &r, NULL) == CLVOX_OK);
    CHECK(prefers(&other, "", "item", item) && prefers(&gpu, "", "march", march));
    CHECK_CASE("what the device cannot run, what is no tile of the table, what the planner never takes");
    clvox_device_limits small = gpu;
    small.max_group = 128;
    store("", "march", march);
    CHECK(prefers(&small, "", NULL, march));
    store("", "march", (clv_tile){32, 9, 1, 8});
    CHECK(prefers(&gpu, "", "march", march));
    store("", "line", (clv_tile){64, 1, 1, 4});
    CHECK(prefers(&gpu, "", "march", march));
    store("", "row", (clv_tile){1, 1, 1, 1});
    CHECK(prefers(&gpu, "", "march", march));
    store("", "march", march);
}

static void check_sizes(void)
{
    static const int sizes[][3] = {{1, 1, 1}, {128, 128, 64}, {129, 128, 64}, {182, 218, 182}, {8192, 1, 1024},
                                   {256, 256, 256}, {2000, 2000, 2000}};
    static const int classes[] = {0, 0, 1, 1, 1, 2, 2};
    CHECK_CASE("classes of volumes");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        CHECK_THAT(clv_wisdom_class(sizes[i]) == classes[i], "%zu", i);
    CHECK_CASE("each class has a record of its own; one without goes by the nearest, of two by the larger");
    unlink(path);
    store_class("", 2, "march", march);
    for (int c = 0; c < CLV_WISDOM_CLASSES; c++)
        CHECK_THAT(prefers_class(&gpu, "", c, "march", march), "%d", c);
    store_class("", 0, "item", item);
    CHECK(prefers_class(&gpu, "", 0, "item", item) && prefers_class(&gpu, "", 2, "march", march));
    CHECK(prefers_class(&gpu, "", 1, "march", march));
    store_class("", 1, "item", item);
    CHECK(prefers_class(&gpu, "", 1, "item", item));
    clv_wisdom *wisdom = load(&gpu);
    CHECK(wisdom->count == 3 && wisdom->record[0].size_class == 0 && wisdom->record[2].size_class == 2);
    clv_wisdom_destroy(&wisdom);
    CHECK_CASE("another build goes by the nearest class, and by its own records first of all");
    CHECK(prefers_class(&gpu, "-DB=1", 0, "item", item) && prefers_class(&gpu, "-DB=1", 2, "march", march));
    store_class("-DB=1", 2, "march", march);
    CHECK(prefers_class(&gpu, "-DB=1", 0, "march", march) && prefers_class(&gpu, "", 0, "item", item));
    CHECK(prefers_class(&gpu, "-DC=1", 2, "march", march) && prefers_class(&gpu, "-DC=1", 0, "item", item));
    store_class("-DB=1", 0, "march", march);
    CHECK(prefers_class(&gpu, "-DC=1", 0, NULL, item));
    unlink(path);
    store("", "march", march);
}

/* The file with the first `from` in it made `to`. */
static void edit(const char *from, const char *to)
{
    char *text = NULL, *at;
    size_t size;
    check_must(clv_file_read_all(path, 1 << 20, &text, &size));
    at = strstr(text, from);
    CHECK(at && strlen(from) == strlen(to));
    if (at)
        memcpy(at, to, strlen(to));
    check_must(clv_file_write_all(path, text, size));
    free(text);
}

static void is_passed_over(const char *why)
{
    clv_wisdom *wisdom = load(&gpu);
    CHECK_THAT(wisdom->count == 0 && strstr(wisdom->remark, why) && strstr(wisdom->remark, "clvox tune"),
               "%d %s", wisdom->count, wisdom->remark);
    clv_wisdom_destroy(&wisdom);
    CHECK(prefers(&gpu, "", NULL, march));
    unlink(path);
    store("", "march", march);
    CHECK(prefers(&gpu, "", "march", march));
}

/* Processes that each add records of their own to one file: none may be lost. */
static void check_together(void)
{
    enum { WRITERS = 4, RECORDS = 12 };
    int left = 0, result;
    CHECK_CASE("writers at the same time keep all that each stores");
    unlink(path);
    fflush(stdout);
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            int bad = 0;
            for (int i = 0; i < RECORDS; i++) {
                char build[32];
                snprintf(build, sizeof build, "-DW=%d -DI=%d", w, i);
                clv_wisdom_record r = record_of(build, "item", item);
                bad |= clv_wisdom_store(path, &gpu, &r, NULL) != CLVOX_OK;
            }
            _exit(bad);
        }
    for (int w = 0; w < WRITERS; w++)
        left += wait(&result) < 0 || !WIFEXITED(result) || WEXITSTATUS(result);
    clv_wisdom *wisdom = load(&gpu);
    CHECK_THAT(left == 0 && wisdom->count == WRITERS * RECORDS, "%d of %d, %d failed: %s", wisdom->count,
               WRITERS * RECORDS, left, wisdom->remark);
    clv_wisdom_destroy(&wisdom);
    char lock[80];
    snprintf(lock, sizeof lock, "%s.lock", path);
    CHECK(access(lock, F_OK) < 0);
    unlink(path);
    store("", "march", march);
}

/* What is under the name with this end: `size` bytes that begin with `text`. It is removed. */
static void is_kept(const char *end, const char *text, size_t size)
{
    char name[80], *got = NULL;
    size_t length = 0;
    snprintf(name, sizeof name, "%s%s", path, end);
    CHECK_THAT(clv_file_read_all(name, 1 << 20, &got, &length) == CLVOX_OK && length == size &&
               !memcmp(got, text, strlen(text)), "%s", end);
    free(got);
    unlink(name);
}

static void check_kept(void)
{
    clv_wisdom_record r = record_of("", "item", item);
    char *remark = NULL, real[80];
    CHECK_CASE("tuning puts a new file in the place of a damaged one, which is kept");
    check_must(clv_file_write_all(path, "hello", 5));
    CHECK(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK && prefers(&gpu, "", "item", item));
    CHECK_THAT(remark && strstr(remark, "is damaged: kept as ") && strstr(remark, "w.txt.old,"), "%s", remark);
    CHECK_CASE("another one is kept beside it, and a whole one needs no remark");
    check_must(clv_file_write_all(path, "good day", 8));
    CHECK(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK && prefers(&gpu, "", "item", item));
    CHECK_THAT(remark && strstr(remark, "w.txt.old2,"), "%s", remark);
    free(remark);
    remark = NULL;
    CHECK(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK && !remark);
    is_kept(".old", "hello", 5);
    is_kept(".old2", "good day", 8);
    CHECK_CASE("the file of another version is kept; through a link too");
    static const char later[] = "clvox wisdom 3, kernels 0\n";
    snprintf(real, sizeof real, "%s.real", path);
    unlink(path);
    check_must(clv_file_write_all(real, later, sizeof later - 1));
    CHECK(symlink(real, path) == 0);
    CHECK(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK && prefers(&gpu, "", "item", item));
    CHECK_THAT(remark && strstr(remark, "another version") && strstr(remark, "w.txt.real.old,"), "%s", remark);
    free(remark);
    struct stat info;
    CHECK(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    is_kept(".real.old", later, sizeof later - 1);
    unlink(path);
    unlink(real);
}

static void check_damage(void)
{
    CHECK_CASE("a choice may be changed by hand");
    edit("32 8 1 8", "16 4 1 4");
    CHECK(prefers(&gpu, "", "march", (clv_tile){16, 4, 1, 4}));
    CHECK_CASE("half a file, and a line that says something else");
    char *text;
    size_t size;
    check_must(clv_file_read_all(path, 1 << 20, &text, &size));
    free(text);
    check_must(truncate(path, (off_t)size - 3));
    is_passed_over("damaged");
    edit("32 8", "32 x");
    is_passed_over("damaged");
    CHECK_CASE("no wisdom at all, and nothing");
    check_must(clv_file_write_all(path, "hello", 5));
    is_passed_over("damaged");
    check_must(clv_file_write_all(path, "", 0));
    is_passed_over("damaged");
    CHECK_CASE("a file of another form, of an earlier one, and of other kernels");
    edit("clvox wisdom 2", "clvox wisdom 9");
    is_passed_over("another version");
    static const char json[] = "{\"wisdom\": 1, \"devices\": []}";
    check_must(clv_file_write_all(path, json, sizeof json - 1));
    is_passed_over("another version");
    edit("kernels ", "kernels_");
    is_passed_over("another version");
    CHECK_CASE("a folder in the file's place, and no permission to write");
    clv_wisdom *wisdom;
    check_must(clv_wisdom_load(folder, &gpu, &wisdom));
    CHECK(wisdom->count == 0 && wisdom->remark[0]);
    clv_wisdom_destroy(&wisdom);
    const clv_wisdom_record r = record_of("", "item", item);
    static const char nowhere[] = "/proc/no/such/folder/w.txt";
    CHECK(clv_wisdom_store(folder, &gpu, &r, NULL) == CLVOX_ERROR_FILE && strstr(clvox_message(), "is a directory"));
    CHECK(clv_wisdom_writable(folder) == CLVOX_ERROR_FILE && strstr(clvox_message(), "is a directory"));
    CHECK(clv_wisdom_store(nowhere, &gpu, &r, NULL) == CLVOX_ERROR_FILE);
    CHECK_THAT(strstr(clvox_message(), "w.txt: cannot be written ("), "%s", clvox_message());
    CHECK(clv_wisdom_writable(nowhere) == CLVOX_ERROR_FILE && strstr(clvox_message(), "w.txt: cannot be written ("));
    CHECK_CASE("what can be written, and that asking changes nothing");
    unlink(path);
    CHECK(clv_wisdom_writable(path) == CLVOX_OK && access(path, F_OK) < 0);
    check_must(clv_file_write_all(path, "hello", 5));
    CHECK(clv_wisdom_writable(path) == CLVOX_OK);
    is_kept("", "hello", 5);
    CHECK(clv_wisdom_writable("/dev/null") == CLVOX_OK && clv_wisdom_store("/dev/null", &gpu, &r, NULL) == CLVOX_OK);
}

static void check_place(void)
{
    CHECK_CASE("the file: CLVOX_WISDOM, else beside the cache's folder");
    char *got;
    setenv("CLVOX_WISDOM", "/some/where.txt", 1);
    CHECK((got = clv_wisdom_path()) && !strcmp(got, "/some/where.txt"));
    free(got);
    setenv("CLVOX_WISDOM", "", 1);
    CHECK(!clv_wisdom_path());
    unsetenv("CLVOX_WISDOM");
    setenv("CLVOX_CACHE_DIR", "/a/cache", 1);
    CHECK((got = clv_wisdom_path()) && !strcmp(got, "/a/cache-wisdom.txt"));
    free(got);
    setenv("CLVOX_CACHE_DIR", "", 1);
    CHECK(!clv_wisdom_path());
    setenv("CLVOX_CACHE_DIR", "/a/cache//", 1);
    CHECK((got = clv_wisdom_path()) && !strcmp(got, "/a/cache-wisdom.txt"));
    free(got);
    setenv("CLVOX_CACHE_DIR", "", 1);
}

static void check_planner(void)
{
    static const int size[3] = {19, 7, 5};
    const clv_kernel *kernel = NULL, *planned = NULL;
    clvox_context *ctx = NULL;
    setenv("CLVOX_WISDOM", path, 1);
    CHECK_CASE("kernels take the tile that was measured");
    check_must(clvox_context_create(&(clvox_context_options){.no_wisdom = true}, &ctx));
    CHECK(clv_context_wisdom(ctx) == NULL && clv_kernel_get(ctx, &probe, NULL, size, 0, &planned) == CLVOX_OK);
    CHECK(planned && !planned->wisdom && clv_context_wisdom_used(ctx) == 0);
    clv_candidate c[CLV_MAX_CANDIDATES];
    int count = clv_plan_candidates(&ctx->limits, &probe, 0, c, CLV_MAX_CANDIDATES), other = 0;
    for (int i = 1; i < count && !other; i++)
        if (c[i].automatic && c[i].tile_index >= 0)
            other = i;
    CHECK(other > 0);
    clv_wisdom_record r = record_of("", c[other].variant->name, c[other].tile);
    check_must(clv_wisdom_store(path, &ctx->limits, &r, NULL));
    clvox_context_destroy(&ctx);
    check_must(clvox_context_create(NULL, &ctx));
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_OK && kernel->wisdom);
    CHECK_THAT(kernel->variant == c[other].variant && !memcmp(&kernel->tile, &c[other].tile, sizeof kernel->tile),
               "%s", kernel->label);
    CHECK(clv_context_wisdom(ctx)->count == 1 && clv_context_wisdom_used(ctx) == 1 && probe_runs(ctx, NULL, 0));
    CHECK_CASE("what is forced goes before what was measured");
    CHECK(clv_force_variant(ctx, "probe", c[0].variant->name, c[0].tile_index) == CLVOX_OK);
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_OK && kernel->variant == c[0].variant &&
          !memcmp(&kernel->tile, &c[0].tile, sizeof kernel->tile));
    CHECK(clv_force_variant(ctx, "probe", NULL, -1) == CLVOX_OK);
    CHECK_CASE("what was asked for can be listed");
    clv_asked asked[4];
    CHECK(clv_kernels_asked(ctx, asked, 4) == 0);
    CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_OK && clv_kernels_asked(ctx, asked, 4) == 1);
    CHECK(asked[0].entry == &probe && !strcmp(asked[0].extra, "") && asked[0].kernel == kernel);
    clvox_context_destroy(&ctx);
    CHECK_CASE("volumes of another class take the tile that was measured for them");
    static const int large[3] = {300, 300, 300};
    r = record_of("", c[0].variant->name, c[0].tile);
    r.size_class = 2;
    check_must(clvox_context_create(NULL, &ctx));
    check_must(clv_wisdom_store(path, &ctx->limits, &r, NULL));
    clvox_context_destroy(&ctx);
    check_must(clvox_context_create(NULL, &ctx));
    for (int round = 0; round < 2; round++) {
        CHECK(clv_kernel_get(ctx, &probe, NULL, large, 0, &kernel) == CLVOX_OK && kernel->variant == c[0].variant &&
              !memcmp(&kernel->tile, &c[0].tile, sizeof kernel->tile));
        CHECK(clv_kernel_get(ctx, &probe, NULL, size, 0, &kernel) == CLVOX_OK && kernel->wisdom &&
              kernel->variant == c[other].variant && !memcmp(&kernel->tile, &c[other].tile, sizeof kernel->tile));
    }
    CHECK(clv_kernels_asked(ctx, asked, 4) == 2 && asked[0].size_class + asked[1].size_class == 2);
    clvox_context_destroy(&ctx);
    CHECK_CASE("a measured variant that does not build any more gives way");
    static const clv_variant variants[] = {
        {.name = "item", .function = "probe_item", .devices = CLV_ON_ANY,
         .tiles = {{8, 1, 1, 1}}},
        {.name = "broken", .function = "probe_broken", .devices = CLV_ON_ANY,
         .tiles = {{8, 1, 1, 1}}}};
    const clv_entry entry = {.file = "probe", .name = "second", .variants = variants, .count = 2};
    r = (clv_wisdom_record){.kernel = "second", .variant = "broken", .tile = {8, 1, 1, 1}};
    check_must(clvox_context_create(NULL, &ctx));
    check_must(clv_wisdom_store(path, &ctx->limits, &r, NULL));
    clvox_context_destroy(&ctx);
    check_must(clvox_context_create(NULL, &ctx));
    CHECK(clv_kernel_get(ctx, &entry, NULL, size, 0, &kernel) == CLVOX_OK && kernel->variant == &variants[0]);
    CHECK(!kernel->wisdom);
    clvox_context_destroy(&ctx);
    unlink(path);
}

int main(int argc, char **argv)
{
    clvox_device *devices = NULL;
    if (argc < 2 || !mkdtemp(folder))
        return 2;
    snprintf(path, sizeof path, "%s/sub/w.txt", folder); /* the folder is made when it is needed */
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    check_place();
    check_file();
    check_choice();
    check_sizes();
    check_damage();
    check_kept();
    check_together();
    unlink(path);
    if (clvox_devices_list(&devices) > 0) {
        check_planner();
    } else {
        CHECK_CASE("kernels take the tile that was measured");
        CHECK_SKIP("%s", clvox_message());
    }
    clvox_devices_free(&devices);
    snprintf(path, sizeof path, "%s/sub", folder);
    rmdir(path);
    rmdir(folder);
    return check_end();
}
