/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements kept in a file and found again by the planner. */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "probe.h"
#include "runtime/device/context.h"
#include "runtime/plan/wisdom.h"

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
    assert_int_equal(clv_wisdom_store(path, &gpu, &r, NULL), CLVOX_OK);
}

static void store(const char *build, const char *variant, clv_tile tile)
{
    store_class(build, 0, variant, tile);
}

static clv_wisdom *load(const clvox_device_limits *limits)
{
    clv_wisdom *wisdom = NULL;
    assert_ok(clv_wisdom_load(path, limits, &wisdom));
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

/* Three builds of which the variant is known. */
static void store_usual(void)
{
    store("", "march", march);
    store("-DB=1", "march", march);
    store("-DC=1", "march", march);
}

static void no_file_nothing_is_known(void **state)
{
    (void)state;
    clv_wisdom *wisdom;
    wisdom = load(&gpu);
    assert_true(wisdom && wisdom->count == 0 && !wisdom->remark[0]);
    clv_wisdom_destroy(&wisdom);
    assert_true(wisdom == NULL);
    assert_ok(clv_wisdom_load(NULL, &gpu, &wisdom));
    assert_true(wisdom->count == 0 && !wisdom->path && !wisdom->remark[0]);
    clv_wisdom_destroy(&wisdom);
    clv_wisdom_destroy(&wisdom);
}

static void a_record_comes_back_as_it_was_stored(void **state)
{
    (void)state;
    const clv_wisdom_record r = record_of("-DB=1", "item", item);
    store("-DC=1", "march", march);
    store("-DB=1", "march", march);
    store("", "march", march);
    store("-DB=1", "item", item); /* replaces */
    clv_wisdom *wisdom = load(&gpu);
    assert_that(wisdom->count == 3 && !wisdom->remark[0], "%d %s", wisdom->count,
                wisdom->remark);
    const clv_wisdom_record *got = &wisdom->record[1];
    assert_true(!strcmp(got->kernel, r.kernel) && !strcmp(got->build, r.build) &&
                got->size_class == r.size_class);
    assert_true(!strcmp(got->variant, r.variant) &&
                !memcmp(&got->tile, &r.tile, sizeof r.tile));
    assert_true(!strcmp(wisdom->record[0].build, "") &&
                !strcmp(wisdom->record[2].build, "-DC=1"));
    clv_wisdom_destroy(&wisdom);
}

static void the_hash_follows_choices(void **state)
{
    (void)state;
    char hash[17];
    store_usual();
    clv_wisdom *wisdom = load(&gpu);
    memcpy(hash, wisdom->hash, sizeof hash);
    clv_wisdom_destroy(&wisdom);
    store("-DB=1", "march", march);
    wisdom = load(&gpu);
    assert_true(wisdom->count == 3 && !strcmp(hash, wisdom->hash));
    clv_wisdom_destroy(&wisdom);
    store("-DB=1", "item", item);
    wisdom = load(&gpu);
    assert_true(wisdom->count == 3 && strcmp(hash, wisdom->hash) != 0);
    clv_wisdom_destroy(&wisdom);
}

static void check_file(void)
{
    test_case(no_file_nothing_is_known, "no file: nothing is known, and that is no fault");
    test_case(a_record_comes_back_as_it_was_stored, "a record comes back as it was stored, in sorted order");
    test_case(the_hash_follows_choices, "the hash follows choices");
}

static void the_planners_first_is_what_was_measured(void **state)
{
    (void)state;
    store_usual();
    store("-DB=1", "item", item);
    assert_true(prefers(&gpu, "-DB=1", "item", item) && prefers(&gpu, "", "march", march));
}

static void another_build_goes_by_what_all_others_agree(void **state)
{
    (void)state;
    store_usual();
    store("-DB=1", "item", item);
    assert_true(prefers(&gpu, "-DD=1", NULL, item));
    store("-DB=1", "march", march);
    assert_true(prefers(&gpu, "-DD=1", "march", march));
}

static void another_driver_another_number_of_compute(void **state)
{
    (void)state;
    clvox_device_limits other;
    store_usual();
    assert_true(prefers(&gpu, "", "march", march));
    other = gpu;
    strcpy(other.driver, "1.2.4");
    assert_true(prefers(&other, "", NULL, march));
    other = gpu;
    other.compute_units = 21;
    assert_true(prefers(&other, "", NULL, march));
    other = gpu;
    strcpy(other.name, "A GPU 2");
    assert_true(prefers(&other, "", NULL, march));
}

static void several_devices_live_in_one_file(void **state)
{
    (void)state;
    clvox_device_limits other = gpu;
    strcpy(other.name, "A GPU 2");
    store_usual();
    clv_wisdom_record r = record_of("", "item", item);
    assert_int_equal(clv_wisdom_store(path, &other, &r, NULL), CLVOX_OK);
    assert_true(prefers(&other, "", "item", item) && prefers(&gpu, "", "march", march));
}

static void what_the_device_cannot_run_what_is_no_tile(void **state)
{
    (void)state;
    store_usual();
    clvox_device_limits small = gpu;
    small.max_group = 128;
    assert_true(prefers(&small, "", NULL, march));
    store("", "march", (clv_tile){32, 9, 1, 8});
    assert_true(prefers(&gpu, "", "march", march));
    store("", "line", (clv_tile){64, 1, 1, 4});
    assert_true(prefers(&gpu, "", "march", march));
    store("", "row", (clv_tile){1, 1, 1, 1});
    assert_true(prefers(&gpu, "", "march", march));
}

static void check_choice(void)
{
    test_case(the_planners_first_is_what_was_measured,
              "the planner's first is what was measured for the build");
    test_case(another_build_goes_by_what_all_others_agree,
              "another build goes by what all others agree on, else by the planner's order");
    test_case(another_driver_another_number_of_compute,
              "another driver, another number of compute units, another device: nothing is known");
    test_case(several_devices_live_in_one_file, "several devices live in one file");
    test_case(what_the_device_cannot_run_what_is_no_tile,
              "what the device cannot run, what is no tile of the table, what the planner never takes");
}

static void classes_of_volumes(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1}, {128, 128, 64}, {129, 128, 64}, {182, 218, 182}, {8192, 1, 1024},
                                   {256, 256, 256}, {2000, 2000, 2000}};
    static const int classes[] = {0, 0, 1, 1, 1, 2, 2};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        assert_that(clv_wisdom_class(sizes[i]) == classes[i], "%zu", i);
}

static void each_class_has_a_record_of_its_own(void **state)
{
    (void)state;
    store_class("", 2, "march", march);
    for (int c = 0; c < CLV_WISDOM_CLASSES; c++)
        assert_that(prefers_class(&gpu, "", c, "march", march), "%d", c);
    store_class("", 0, "item", item);
    assert_true(prefers_class(&gpu, "", 0, "item", item) && prefers_class(&gpu, "", 2, "march", march));
    assert_true(prefers_class(&gpu, "", 1, "march", march));
    store_class("", 1, "item", item);
    assert_true(prefers_class(&gpu, "", 1, "item", item));
    clv_wisdom *wisdom = load(&gpu);
    assert_true(wisdom->count == 3 && wisdom->record[0].size_class == 0 && wisdom->record[2].size_class == 2);
    clv_wisdom_destroy(&wisdom);
}

static void another_build_goes_by_the_nearest_class(void **state)
{
    (void)state;
    store_class("", 0, "item", item);
    store_class("", 1, "item", item);
    store_class("", 2, "march", march);
    assert_true(prefers_class(&gpu, "-DB=1", 0, "item", item) &&
                prefers_class(&gpu, "-DB=1", 2, "march", march));
    store_class("-DB=1", 2, "march", march);
    assert_true(prefers_class(&gpu, "-DB=1", 0, "march", march) && prefers_class(&gpu, "", 0, "item", item));
    assert_true(prefers_class(&gpu, "-DC=1", 2, "march", march) &&
                prefers_class(&gpu, "-DC=1", 0, "item", item));
    store_class("-DB=1", 0, "march", march);
    assert_true(prefers_class(&gpu, "-DC=1", 0, NULL, item));
}

static void check_sizes(void)
{
    test_case(classes_of_volumes, "volumes are classed at 2^20 and 2^23 voxels");
    test_case(each_class_has_a_record_of_its_own,
              "each class has a record of its own; one without goes by the nearest, of two by the larger");
    test_case(another_build_goes_by_the_nearest_class,
              "another build goes by the nearest class, and by its own records first of all");
}

/* The file with the first `from` in it made `to`. */
static void edit(const char *from, const char *to)
{
    char *text = NULL, *at;
    size_t size;
    assert_ok(clvox_file_read(path, 1 << 20, &text, &size));
    at = strstr(text, from);
    assert_true(at && strlen(from) == strlen(to));
    if (at)
        memcpy(at, to, strlen(to));
    assert_ok(clvox_file_write(path, text, size));
    free(text);
}

static void is_passed_over(const char *why)
{
    clv_wisdom *wisdom = load(&gpu);
    assert_that(wisdom->count == 0 && strstr(wisdom->remark, why) && strstr(wisdom->remark, "clvox tune"),
                "%d %s", wisdom->count, wisdom->remark);
    clv_wisdom_destroy(&wisdom);
    assert_true(prefers(&gpu, "", NULL, march));
    assert_int_equal(unlink(path), 0);
    store("", "march", march);
    assert_true(prefers(&gpu, "", "march", march));
}

enum { WRITERS = 4, RECORDS = 12 };

/* Processes that each add records of their own to one file: none may be lost. */
static void check_together(void **state)
{
    (void)state;
    int left = 0, result;
    store("", "march", march); /* the folder is there */
    assert_int_equal(unlink(path), 0);
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
    assert_that(left == 0 && wisdom->count == WRITERS * RECORDS, "%d of %d, %d failed: %s", wisdom->count,
                WRITERS * RECORDS, left, wisdom->remark);
    clv_wisdom_destroy(&wisdom);
    char lock[80];
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_true(access(lock, F_OK) < 0);
}

/* Checks the file with this ending: `size` bytes that begin with `text`. Removes it. */
static void is_kept(const char *end, const char *text, size_t size)
{
    char name[80], *got = NULL;
    size_t length = 0;
    snprintf(name, sizeof name, "%s%s", path, end);
    assert_that(clvox_file_read(name, 1 << 20, &got, &length) == CLVOX_OK && length == size &&
                    !memcmp(got, text, strlen(text)),
                "%s", end);
    free(got);
    unlink(name);
}

static const char later[] = "clvox wisdom 3, kernels 0\n";

static void tuning_puts_a_new_file_in_the_place(void **state)
{
    (void)state;
    const clv_wisdom_record r = record_of("", "item", item);
    char *remark = NULL;
    store("", "march", march);
    assert_ok(clvox_file_write(path, "hello", 5));
    assert_true(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK &&
                prefers(&gpu, "", "item", item));
    assert_that(remark && strstr(remark, "is damaged: kept as ") &&
                    strstr(remark, "w.txt.old,"),
                "%s", remark);
    free(remark);
    is_kept(".old", "hello", 5);
}

static void another_one_is_kept_beside_it_and_a_whole(void **state)
{
    (void)state;
    const clv_wisdom_record r = record_of("", "item", item);
    char *remark = NULL;
    store("", "march", march);
    assert_ok(clvox_file_write(path, "hello", 5));
    assert_ok(clv_wisdom_store(path, &gpu, &r, NULL));
    assert_ok(clvox_file_write(path, "good day", 8));
    assert_true(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK &&
                prefers(&gpu, "", "item", item));
    assert_that(remark && strstr(remark, "w.txt.old2,"), "%s", remark);
    free(remark);
    remark = NULL;
    assert_true(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK && !remark);
    is_kept(".old", "hello", 5);
    is_kept(".old2", "good day", 8);
}

static void the_file_of_another_version_is_kept_through(void **state)
{
    (void)state;
    const clv_wisdom_record r = record_of("", "item", item);
    char *remark = NULL;
    store("", "march", march);
    char real[80];
    snprintf(real, sizeof real, "%s.real", path);
    unlink(path);
    assert_ok(clvox_file_write(real, later, sizeof later - 1));
    assert_true(symlink(real, path) == 0);
    assert_true(clv_wisdom_store(path, &gpu, &r, &remark) == CLVOX_OK &&
                prefers(&gpu, "", "item", item));
    assert_that(remark && strstr(remark, "another version") &&
                    strstr(remark, "w.txt.real.old,"),
                "%s", remark);
    free(remark);
    struct stat info;
    assert_true(lstat(path, &info) == 0 && S_ISLNK(info.st_mode));
    is_kept(".real.old", later, sizeof later - 1);
}

static void check_kept(void)
{
    test_case(tuning_puts_a_new_file_in_the_place,
              "tuning puts a new file in the place of a damaged one, which is kept");
    test_case(another_one_is_kept_beside_it_and_a_whole,
              "another one is kept beside it, and a whole one needs no remark");
    test_case(the_file_of_another_version_is_kept_through,
              "the file of another version is kept; through a link too");
}

static const char nowhere[] = "/proc/no/such/folder/w.txt";

static void a_choice_may_be_changed_by_hand(void **state)
{
    (void)state;
    store("", "march", march);
    edit("32 8 1 8", "16 4 1 4");
    assert_true(prefers(&gpu, "", "march", (clv_tile){16, 4, 1, 4}));
}

static void half_a_file_and_a_line_that_says_something(void **state)
{
    (void)state;
    store("", "march", march);
    char *text;
    size_t size;
    assert_ok(clvox_file_read(path, 1 << 20, &text, &size));
    free(text);
    assert_ok(truncate(path, (off_t)size - 3));
    is_passed_over("damaged");
    edit("32 8", "32 x");
    is_passed_over("damaged");
}

/* Beside choices, of which they are none, each in the place of the one of its name. */
static void costs_are_seconds_under_a_name(void **state)
{
    static const clv_wisdom_cost costs[] = {{"walk pair", 1.2345678e-15}, {"walk", 7}, {"run", 123456}},
                                 again = {"walk", 2.5e-3};
    (void)state;
    unlink(path);
    store("", "march", march);
    clv_wisdom *wisdom = load(&gpu);
    assert_true(clv_wisdom_seconds(wisdom, "walk") == 0 && clv_wisdom_seconds(NULL, "walk") == 0);
    clv_wisdom_destroy(&wisdom);
    assert_ok(clv_wisdom_store_costs(path, &gpu, costs, 3, NULL));
    assert_ok(clv_wisdom_store_costs(path, &gpu, &again, 1, NULL));
    wisdom = load(&gpu);
    assert_that(wisdom->count == 1 && wisdom->costs == 3, "%s", wisdom->remark);
    for (int i = 0; i < 3; i++) {
        const double expected = i == 1 ? again.seconds : costs[i].seconds;
        const double found = clv_wisdom_seconds(wisdom, costs[i].name);
        assert_that(fabs(found / expected - 1) < 1e-5, "%s: %g", costs[i].name, found);
    }
    clv_wisdom_destroy(&wisdom);
    clvox_device_limits other = gpu;
    other.driver[0] = '2';
    wisdom = load(&other);
    assert_true(wisdom->costs == 0 && !wisdom->hash[0]);
    clv_wisdom_destroy(&wisdom);
    assert_true(prefers(&gpu, "", "march", march));
    static const char *const wrong[][2] = {{"\t250000e-8", "\t-50000e-8"}, {"\t250000e-8", "\t25000,e-8"},
                                           {"\t250000e-8", "\t000000e-8"}, {"\tcost\twalk", "\tcosts\talk"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        edit(wrong[i][0], wrong[i][1]);
        is_passed_over("damaged");
        assert_ok(clv_wisdom_store_costs(path, &gpu, &again, 1, NULL));
    }
}

static void no_wisdom_at_all_and_nothing(void **state)
{
    (void)state;
    store("", "march", march);
    assert_ok(clvox_file_write(path, "hello", 5));
    is_passed_over("damaged");
    assert_ok(clvox_file_write(path, "", 0));
    is_passed_over("damaged");
}

static void a_file_of_another_form_of_an_earlier(void **state)
{
    (void)state;
    store("", "march", march);
    edit("clvox wisdom 3", "clvox wisdom 9");
    is_passed_over("another version");
    static const char json[] = "{\"wisdom\": 1, \"devices\": []}";
    assert_ok(clvox_file_write(path, json, sizeof json - 1));
    is_passed_over("another version");
    edit("kernels ", "kernels_");
    is_passed_over("another version");
}

static void a_folder_in_the_files_place(void **state)
{
    (void)state;
    clv_wisdom *wisdom;
    assert_ok(clv_wisdom_load(folder, &gpu, &wisdom));
    assert_true(wisdom->count == 0 && wisdom->remark[0]);
    clv_wisdom_destroy(&wisdom);
    const clv_wisdom_record r = record_of("", "item", item);
    assert_true(clv_wisdom_store(folder, &gpu, &r, NULL) == CLVOX_ERROR_FILE &&
                strstr(clvox_message(), "is a directory"));
    assert_true(clv_wisdom_writable(folder) == CLVOX_ERROR_FILE && strstr(clvox_message(), "is a directory"));
    assert_int_equal(clv_wisdom_store(nowhere, &gpu, &r, NULL), CLVOX_ERROR_FILE);
    assert_that(strstr(clvox_message(), "w.txt: cannot be written"), "%s", clvox_message());
    assert_true(clv_wisdom_writable(nowhere) == CLVOX_ERROR_FILE &&
                strstr(clvox_message(), "w.txt: cannot be written"));
}

static void what_can_be_written_and_that_asking_changes(void **state)
{
    (void)state;
    const clv_wisdom_record r = record_of("", "item", item);
    store("", "march", march);
    assert_int_equal(unlink(path), 0);
    assert_true(clv_wisdom_writable(path) == CLVOX_OK && access(path, F_OK) < 0);
    assert_ok(clvox_file_write(path, "hello", 5));
    assert_int_equal(clv_wisdom_writable(path), CLVOX_OK);
    is_kept("", "hello", 5);
    assert_true(clv_wisdom_writable("/dev/null") == CLVOX_OK &&
                clv_wisdom_store("/dev/null", &gpu, &r, NULL) == CLVOX_OK);
}

static void check_damage(void)
{
    test_case(a_choice_may_be_changed_by_hand, "a choice may be changed by hand");
    test_case(half_a_file_and_a_line_that_says_something, "half a file, and a line that says something else");
    test_case(costs_are_seconds_under_a_name, "costs are seconds under a name");
    test_case(no_wisdom_at_all_and_nothing, "no wisdom at all, and nothing");
    test_case(a_file_of_another_form_of_an_earlier,
              "a file of another form, of an earlier one, and of other kernels");
    test_case(a_folder_in_the_files_place, "a folder in the file's place, and no permission to write");
    test_case(what_can_be_written_and_that_asking_changes,
              "what can be written, and that asking changes nothing");
}

static void check_place(void **state)
{
    (void)state;
    char *got;
    setenv("CLVOX_WISDOM", "/some/where.txt", 1);
    assert_true((got = clv_wisdom_path()) && !strcmp(got, "/some/where.txt"));
    free(got);
    setenv("CLVOX_WISDOM", "", 1);
    assert_true(!clv_wisdom_path());
    unsetenv("CLVOX_WISDOM");
    setenv("CLVOX_CACHE_DIR", "/a/cache", 1);
    assert_true((got = clv_wisdom_path()) && !strcmp(got, "/a/cache-wisdom.txt"));
    free(got);
    setenv("CLVOX_CACHE_DIR", "", 1);
    assert_true(!clv_wisdom_path());
    setenv("CLVOX_CACHE_DIR", "/a/cache//", 1);
    assert_true((got = clv_wisdom_path()) && !strcmp(got, "/a/cache-wisdom.txt"));
    free(got);
    /* One that nobody named is the user's own, or there is none. */
    char own[] = "/tmp/clvox-wisdom-XXXXXX", cache[64], file[64];
    assert_true(mkdtemp(own) != NULL);
    snprintf(cache, sizeof cache, "%s/cache", own);
    snprintf(file, sizeof file, "%s/cache-wisdom.txt", own);
    setenv("CLVOX_CACHE_DIR", cache, 1);
    FILE *made = fopen(file, "w");
    assert_true(made && fclose(made) == 0 && chmod(file, 0600) == 0);
    assert_true((got = clv_wisdom_path()) && !strcmp(got, file));
    free(got);
    assert_true(chmod(file, 0666) == 0 && !clv_wisdom_path());
    assert_true(unlink(file) == 0 && mkfifo(file, 0600) == 0 && !clv_wisdom_path());
    assert_true(unlink(file) == 0 && chmod(own, 0777) == 0 && !clv_wisdom_path());
    rmdir(own);
}

static clvox_context *opened;
static const int planner_size[3] = {19, 7, 5};

/* The planner's candidates for the probe, and one behind the first that was measured as the best. */
typedef struct measured {
    clv_candidate first, best;
} measured;

/* Opens the context anew, which reads the wisdom then. */
static void open_again(void)
{
    clvox_context_destroy(&opened);
    assert_ok(clvox_context_create(NULL, &opened));
}

static bool chosen(const clv_kernel *kernel, const clv_candidate *c)
{
    return kernel->variant == c->variant && !memcmp(&kernel->tile, &c->tile, sizeof kernel->tile);
}

static measured measure(void)
{
    clv_candidate c[CLV_MAX_CANDIDATES];
    int best = 0;
    setenv("CLVOX_WISDOM", path, 1);
    open_again();
    const int count = clv_plan_candidates(&opened->limits, &probe, 0, c, CLV_MAX_CANDIDATES);
    for (int i = 1; i < count && !best; i++)
        if (c[i].automatic && c[i].tile_index >= 0)
            best = i;
    assert_true(best > 0);
    const clv_wisdom_record r = record_of("", c[best].variant->name, c[best].tile);
    assert_ok(clv_wisdom_store(path, &opened->limits, &r, NULL));
    open_again();
    return (measured){c[0], c[best]};
}

static void kernels_take_the_tile_that_was_measured(void **state)
{
    (void)state;
    const clv_kernel *kernel = NULL;
    assert_ok(clvox_context_create(CONTEXT_OPTIONS(.no_wisdom = true), &opened));
    assert_true(clv_context_wisdom(opened) == NULL &&
                clv_kernel_get(opened, &probe, NULL, planner_size, 0, &kernel) == CLVOX_OK);
    assert_true(kernel && !kernel->wisdom && clv_context_wisdom_used(opened) == 0);
    const measured m = measure();
    assert_ok(clv_kernel_get(opened, &probe, NULL, planner_size, 0, &kernel));
    assert_that(kernel->wisdom && chosen(kernel, &m.best), "%s", kernel->label);
    assert_true(clv_context_wisdom(opened)->count == 1 && clv_context_wisdom_used(opened) == 1 &&
                probe_runs(opened, NULL, 0));
}

static void what_is_forced_goes_before_what_was(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    const measured m = measure();
    assert_int_equal(clv_force_variant(opened, "probe", m.first.variant->name, m.first.tile_index), CLVOX_OK);
    assert_true(clv_kernel_get(opened, &probe, NULL, planner_size, 0, &kernel) == CLVOX_OK &&
                chosen(kernel, &m.first));
}

static void what_was_asked_for_can_be_listed(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    clv_asked asked[4];
    measure();
    assert_ok(clv_kernel_get(opened, &probe, NULL, planner_size, 0, &kernel));
    assert_int_equal(clv_force_variant(opened, "probe", NULL, -1), CLVOX_OK); /* forgets what was asked */
    assert_int_equal(clv_kernels_asked(opened, asked, 4), 0);
    assert_true(clv_kernel_get(opened, &probe, NULL, planner_size, 0, &kernel) == CLVOX_OK &&
                clv_kernels_asked(opened, asked, 4) == 1);
    assert_true(asked[0].entry == &probe && !strcmp(asked[0].extra, "") && asked[0].kernel == kernel);
}

static void volumes_of_another_class_take_the_tile(void **state)
{
    (void)state;
    static const int large[3] = {300, 300, 300};
    const clv_kernel *kernel;
    clv_asked asked[4];
    const measured m = measure();
    clv_wisdom_record r = record_of("", m.first.variant->name, m.first.tile);
    r.size_class = 2;
    assert_ok(clv_wisdom_store(path, &opened->limits, &r, NULL));
    open_again();
    for (int round = 0; round < 2; round++) {
        assert_true(clv_kernel_get(opened, &probe, NULL, large, 0, &kernel) == CLVOX_OK &&
                    chosen(kernel, &m.first));
        assert_true(clv_kernel_get(opened, &probe, NULL, planner_size, 0, &kernel) == CLVOX_OK &&
                    kernel->wisdom && chosen(kernel, &m.best));
    }
    assert_true(clv_kernels_asked(opened, asked, 4) == 2 && asked[0].size_class + asked[1].size_class == 2);
}

static void a_measured_variant_that_does_not_build_any(void **state)
{
    (void)state;
    static const clv_variant variants[] = {
        {.name = "item", .function = "probe_item", .devices = CLV_ON_ANY,
         .tiles = {{8, 1, 1, 1}}},
        {.name = "broken", .function = "probe_broken", .devices = CLV_ON_ANY,
         .tiles = {{8, 1, 1, 1}}}};
    const clv_entry entry = CLV_ENTRY("probe", "second", variants, NULL);
    const clv_wisdom_record r = {.kernel = "second", .variant = "broken", .tile = {8, 1, 1, 1}};
    const clv_kernel *kernel;
    setenv("CLVOX_WISDOM", path, 1);
    open_again();
    assert_ok(clv_wisdom_store(path, &opened->limits, &r, NULL));
    open_again();
    assert_true(clv_kernel_get(opened, &entry, NULL, planner_size, 0, &kernel) == CLVOX_OK &&
                kernel->variant == &variants[0]);
    assert_true(!kernel->wisdom);
}

static void check_planner(void)
{
    test_case(kernels_take_the_tile_that_was_measured, "kernels take the tile that was measured");
    test_case(what_is_forced_goes_before_what_was, "what is forced goes before what was measured");
    test_case(what_was_asked_for_can_be_listed, "what was asked for can be listed");
    test_case(volumes_of_another_class_take_the_tile,
              "volumes of another class take the tile that was measured for them");
    test_case(a_measured_variant_that_does_not_build_any,
              "a measured variant that does not build any more gives way");
}

static void no_device(void **state)
{
    (void)state;
    test_skip("%s", clvox_message());
}

/* Nothing is known, no context is open. */
static int fresh(void **state)
{
    (void)state;
    char command[96];
    clvox_context_destroy(&opened);
    setenv("CLVOX_CACHE_DIR", "", 1);
    unsetenv("CLVOX_WISDOM");
    snprintf(command, sizeof command, "find %s -mindepth 1 -delete", folder);
    return system(command);
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    clvox_device *devices = NULL;
    if (argc < 2 || !mkdtemp(folder))
        return 2;
    snprintf(path, sizeof path, "%s/sub/w.txt", folder); /* the folder is made when it is needed */
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    test_after_each(fresh);
    test_case(check_place, "the file: CLVOX_WISDOM, else beside the cache's folder");
    check_file();
    check_choice();
    check_sizes();
    check_damage();
    check_kept();
    test_case(check_together, "writers at the same time keep all that each stores");
    if (clvox_devices_list(&devices) > 0) {
        check_planner();
    } else {
        test_case(no_device, "kernels take the tile that was measured");
    }
    clvox_devices_destroy(&devices);
    return test_run("wisdom", tear_down);
}
