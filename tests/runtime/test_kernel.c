/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing, building and launching kernels, buffers, and the time that is kept. */
#include "probe.h"
#include "runtime/device/context.h"
#include "runtime/program/program.h"
#include "runtime/program/source.h"
#include "runtime/queue/timing.h"

static const int size[3] = {19, 7, 5};
static clvox_context *opened;

static void each_tile(void **state)
{
    const int *given = *state;
    int v = given[0], t = given[1];
    const clv_variant *variant = &probe_variants[v];
    assert_int_equal(clv_force_variant(opened, "probe", variant->name, t), CLVOX_OK);
    assert_that(probe_runs(opened, "-DADD=5", 5), "%s", clvox_message());
    const clv_kernel *kernel;
    assert_int_equal(clv_kernel_get(opened, &probe, "-DADD=5", size, 0, &kernel), CLVOX_OK);
    assert_true(kernel->variant == variant && !memcmp(&kernel->tile, &variant->tiles[t], sizeof(clv_tile)));
}

static void the_planners_own_choice(void **state)
{
    (void)state;
    char extra[] = "-DADD=5";
    const clv_kernel *first;
    assert_true(probe_runs(opened, NULL, 0));
    const clv_kernel *second;
    assert_true(clv_kernel_get(opened, &probe, NULL, size, 0, &first) == CLVOX_OK &&
                !first->variant->optional);
    assert_true(clv_kernel_get(opened, &probe, "", size, 0, &second) == CLVOX_OK && first == second);
    assert_true(clv_kernel_get(opened, &probe, extra, size, 0, &second) == CLVOX_OK &&
                first != second);
    extra[6] = '6'; /* the caller's string may change; what was asked for does not */
    assert_true(clv_kernel_get(opened, &probe, extra, size, 0, &first) == CLVOX_OK &&
                first != second);
    assert_true(probe_runs(opened, extra, 6) && probe_runs(opened, "-DADD=5", 5));
}

static void many_questions_are_remembered_apart(void **state)
{
    (void)state;
    const clv_kernel *first, *second;
    bool right = true;
    assert_ok(clv_kernel_get(opened, &probe, "-DADD=6", size, 0, &first));
    for (size_t local = 0; local < 300; local++)
        right = right &&
                       clv_kernel_get(opened, &probe, "-DADD=6", size, local, &second) == CLVOX_OK &&
                       second == first;
    assert_true(right);
}

static void a_known_kernel_is_found_among_the_answers(void **state)
{
    (void)state;
    const clv_kernel *first, *second;
    bool right = true;
    assert_int_equal(clv_kernel_get(opened, &probe, "-DADD=5", size, 17, &first), CLVOX_OK);
    int built = opened->built_count, answers = opened->memo_count;
    for (int i = 0; i < 1000; i++)
        right = right &&
                       clv_kernel_get(opened, &probe, "-DADD=5", size, 17, &second) == CLVOX_OK &&
                       second == first;
    assert_true(right && opened->built_count == built && opened->memo_count == answers && answers > 0);
}

static void check_variants(void)
{
    for (int v = 0; v < 4; v++) {
        const clv_variant *variant = &probe_variants[v];
        for (int t = 0; variant->tiles[t].x; t++)
            test_case_at(each_tile, TEST_AT(v, t), "%s %d", variant->name, t);
    }
    test_case(the_planners_own_choice, "the planner's own choice, and that it is remembered");
    test_case(many_questions_are_remembered_apart, "many questions are remembered apart");
    test_case(a_known_kernel_is_found_among_the_answers,
              "a known kernel is found among the answers: nothing is planned, built or remembered again");
}

static void a_kernel_that_does_not_build_file_device(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    assert_int_equal(clv_force_variant(opened, "probe", "broken", -1), CLVOX_OK);
    assert_true(clv_kernel_get(opened, &probe, NULL, size, 0, &kernel) == CLVOX_ERROR_BUILD && !kernel);
    assert_that(strstr(clvox_message(), "cl/probe.cl") && strstr(clvox_message(), opened->limits.name), "%s",
                clvox_message());
}

static void a_variant_that_does_not_exist_and_a_tile(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    assert_int_equal(clv_force_variant(opened, "probe", "nothing", -1), CLVOX_OK);
    assert_int_equal(clv_kernel_get(opened, &probe, NULL, size, 0, &kernel), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clv_force_variant(opened, "probe", "item", 7), CLVOX_OK);
    assert_int_equal(clv_kernel_get(opened, &probe, NULL, size, 0, &kernel), CLVOX_ERROR_DEVICE);
}

static void more_local_memory_than_any_variant_may(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    assert_int_equal(clv_kernel_get(opened, &probe, NULL, size, (size_t)1 << 40, &kernel),
                     CLVOX_ERROR_DEVICE);
}

static const clv_variant two_variants[] = {
    {.name = "broken", .function = "probe_broken", .devices = CLV_ON_ANY, .tiles = {{8, 1, 1, 1}}},
    {.name = "item", .function = "probe_item", .devices = CLV_ON_ANY, .tiles = {{8, 1, 1, 1}}}};

static void a_variant_that_a_driver_refuses_gives_way(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    static const clv_entry entry = CLV_ENTRY("probe", "second", two_variants, NULL);
    assert_true(clv_kernel_get(opened, &entry, NULL, size, 0, &kernel) == CLVOX_OK &&
                kernel->variant == &two_variants[1]);
}

static void a_kernel_file_that_does_not_exist(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    static const clv_entry unknown = CLV_ENTRY("nosuchfile", "third", two_variants, NULL);
    assert_int_equal(clv_kernel_get(opened, &unknown, NULL, size, 0, &kernel), CLVOX_ERROR_BUILD);
    assert_that(strstr(clvox_message(), "nosuchfile.cl"), "%s", clvox_message());
}

static void a_wrong_argument_its_number_and_kernel(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    assert_int_equal(clv_kernel_get(opened, &probe, NULL, size, 0, &kernel), CLVOX_OK);
    assert_int_equal(CLV_LAUNCH(opened, kernel, size, 0, CLV_BUF(NULL), CLV_BUF(NULL), CLV_INT(3)),
                     CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "argument 2 of kernel probe/") &&
                    strstr(clvox_message(), "CL_INVALID_ARG_SIZE"),
                "%s", clvox_message());
}

static bool item_is_wrong(const clvox_device_limits *limits, const char *function, char *why, size_t room)
{
    snprintf(why, room, "%s adds what is not there", limits->name);
    return !strcmp(function, "probe_item");
}

static void a_function_that_a_driver_miscompiles(void **state)
{
    (void)state;
    const clv_kernel *kernel;
    static const clv_variant only[] = {
        {.name = "item", .function = "probe_item", .devices = CLV_ON_ANY, .tiles = {{8, 1, 1, 1}}}};
    static const clv_entry entry = CLV_ENTRY("probe", "third", only, NULL);
    const clv_driver *own = opened->driver;
    clv_driver wrong = *own;
    wrong.miscompiles = item_is_wrong;
    opened->driver = &wrong;
    int status = clv_kernel_get(opened, &entry, NULL, size, 0, &kernel);
    opened->driver = own;
    assert_int_equal(status, CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "adds what is not there"), "%s", clvox_message());
    assert_int_equal(clv_kernel_get(opened, &entry, NULL, size, 0, &kernel), CLVOX_OK);
}

static void check_refusals(void)
{
    test_case(a_kernel_that_does_not_build_file_device,
              "a kernel that does not build: file, device and log are named");
    test_case(a_variant_that_does_not_exist_and_a_tile,
              "a variant that does not exist, and a tile that does not");
    test_case(more_local_memory_than_any_variant_may, "more local memory than any variant may have");
    test_case(a_variant_that_a_driver_refuses_gives_way,
              "a variant that a driver refuses gives way to the next");
    test_case(a_function_that_a_driver_miscompiles, "a function that a driver miscompiles is not built, and why is said");
    test_case(a_kernel_file_that_does_not_exist, "a kernel file that does not exist");
    test_case(a_wrong_argument_its_number_and_kernel, "a wrong argument: its number and kernel are named");
}

static void a_program_holds_one_kernel_its_includes(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(clv_source_assemble("probe", "probe_row", &text), CLVOX_OK);
    assert_true(text && strstr(text, "probe_row(") && !strstr(text, "probe_item") &&
                !strstr(text, "no OpenCL C"));
    assert_true(text && strstr(text, "static inline int voxel(") &&
                !strstr(text, "#include"));
    assert_true(
        text &&
        strstr(text, "__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void"));
    free(text);
}

static void a_kernel_that_is_not_found_by_its_looks(void **state)
{
    (void)state;
    char *text = NULL;
    assert_int_equal(clv_source_assemble("probe", "probe", &text), CLVOX_OK);
    assert_true(text && strstr(text, "probe_item") && strstr(text, "probe_row"));
    free(text);
}

static void nvidias_build_log(void **state)
{
    (void)state;
    clv_counts counts;
    static const char log[] =
        "ptxas info    : Function properties for other\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 4 registers, 400 bytes cmem[0]\n"
        "ptxas info    : Function properties for probe_item\n"
        "    8 bytes stack frame, 24 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 40 registers, 4000 bytes smem, 400 bytes cmem[0]\n";
    const clv_driver *driver = clv_driver_of("NVIDIA CUDA");
    const clv_counts unknown = {-1, -1, -1};
    counts = unknown;
    driver->counts_of_log(log, "probe_item", &counts);
    assert_true(counts.registers == 40 && counts.spills == 24);
    counts = unknown;
    driver->counts_of_log(log, "other", &counts);
    assert_true(counts.registers == 4 && counts.spills == 0);
    counts = unknown;
    driver->counts_of_log(log, "probe", &counts);
    assert_true(counts.registers == -1 && counts.spills == -1);
    driver->counts_of_log("", "probe_item", &counts);
    assert_true(counts.registers == -1 && counts.spills == -1);
}

static void errors_have_names(void **state)
{
    (void)state;
    assert_true(!strcmp(clv_cl_error_name(0), "CL_SUCCESS") &&
                !strcmp(clv_cl_error_name(-5), "CL_OUT_OF_RESOURCES"));
    assert_string_equal(clv_cl_error_name(-19), "CL_KERNEL_ARG_INFO_NOT_AVAILABLE");
    assert_true(!strcmp(clv_cl_error_name(-30), "CL_INVALID_VALUE") &&
                !strcmp(clv_cl_error_name(-42), "CL_INVALID_BINARY"));
    assert_string_equal(clv_cl_error_name(-68), "CL_INVALID_DEVICE_PARTITION_COUNT");
    assert_true(!strcmp(clv_cl_error_name(-69), "an unknown error") &&
                !strcmp(clv_cl_error_name(-25), "an unknown error"));
}

static void check_source(void)
{
    test_case(a_program_holds_one_kernel_its_includes,
              "a program holds one kernel, its includes and its work-group size");
    test_case(a_kernel_that_is_not_found_by_its_looks,
              "a kernel that is not found by its looks leaves the file whole");
    test_case(nvidias_build_log, "NVIDIA's build log");
    test_case(errors_have_names, "errors have names");
}

static void the_pool_takes_all_that_is_asked(void **state)
{
    (void)state;
    clv_buffer *a = NULL, *b = NULL;
    size_t before = opened->allocated;
    const clv_request fits[] = {{&a, 1 << 20, "first"}, {&b, 100, "second"}};
    assert_true(clv_pool_bytes(fits, 2) == (1 << 20) + 100 && clv_pool_take(opened, fits, 2) == CLVOX_OK);
    assert_true(a && b && opened->allocated == before + (1 << 20) + 100 &&
                opened->peak >= opened->allocated);
    clv_pool_release(fits, 2);
    assert_true(!a && !b && opened->allocated == before);
}

/* Buffers of one size are used again in the order of the queue; others go, and all where there is no room
 * for them. */
static void the_pool_keeps_what_it_gets_back(void **state)
{
    enum { BYTES = 1 << 20 };
    (void)state;
    clv_buffer *a = NULL, *b = NULL;
    const size_t before = opened->allocated, most = opened->spare_most, all = opened->limits.global_bytes;
    const clv_request two[] = {{&a, BYTES, "first"}, {&b, BYTES + 4, "second"}};
    const clv_request small[] = {{&a, 4096, "small"}};
    float written[2] = {1, 2}, read[2];
    clv_pool_spare(opened, 3 * BYTES);
    assert_int_equal(clv_pool_take(opened, two, 2), CLVOX_OK);
    const void *first = a->mem, *second = b->mem;
    assert_int_equal(clv_buffer_write(opened, b, 0, written, sizeof written), CLVOX_OK);
    clv_pool_release(two, 2);
    assert_true(!a && opened->allocated == before && opened->spares == 2 &&
                opened->spare_bytes == 2 * BYTES + 4);
    assert_int_equal(clv_pool_take(opened, two, 2), CLVOX_OK);
    assert_true(a->mem == first && b->mem == second && !opened->spares &&
                !opened->spare_bytes && opened->allocated == before + 2 * BYTES + 4);
    assert_int_equal(clv_buffer_read(opened, b, 0, read, sizeof read), CLVOX_OK);
    assert_memory_equal(read, written, sizeof read);
    clv_pool_release(two, 2);
    assert_int_equal(clv_pool_take(opened, small, 1), CLVOX_OK);
    clv_pool_release(small, 1);
    assert_int_equal(opened->spares, 2);
    for (int i = 0; i < 2 * CLV_MOST_SPARES; i++) { /* of ever other sizes, the last ones stay */
        const clv_request one = {&a, BYTES + 8 + 4 * (size_t)i, "another"};
        assert_int_equal(clv_pool_take(opened, &one, 1), CLVOX_OK);
        clv_pool_release(&one, 1);
        assert_true(opened->spare_bytes <= 3 * BYTES && opened->spares <= 2);
    }
    opened->limits.global_bytes = opened->allocated + 2 * BYTES + 4; /* enough for two without spares */
    assert_int_equal(clv_pool_take(opened, two, 2), CLVOX_OK);
    assert_int_equal(opened->spares, 0);
    opened->limits.global_bytes = all;
    clv_pool_release(two, 2);
    clv_pool_spare(opened, most);
    assert_true(opened->spare_bytes <= most && opened->allocated == before);
}

static void the_pool_refuses_more_than_there(void **state)
{
    (void)state;
    clv_buffer *a = NULL, *b = NULL;
    const size_t all = opened->limits.global_bytes;
    size_t before = opened->allocated;
    const clv_request more[] = {{&a, 4, "first"}, {&b, all, "second"}};
    assert_true(clv_pool_take(opened, more, 2) == CLVOX_ERROR_MEMORY && !a && !b &&
                opened->allocated == before);
    char needed[64];
    snprintf(needed, sizeof needed, "%.0f MiB", (double)all / 1048576);
    assert_that(strstr(clvox_message(), needed), "%s", clvox_message());
}

static void the_pool_refuses_a_piece_that_is_too_large(void **state)
{
    (void)state;
    clv_buffer *a = NULL, *b = NULL;
    size_t one = opened->limits.max_allocation;
    size_t before = opened->allocated;
    const clv_request large[] = {{&a, 4, "first"}, {&b, one + 4, "large piece"}};
    assert_true(clv_pool_take(opened, large, 2) == CLVOX_ERROR_MEMORY && !a && !b &&
                opened->allocated == before);
    assert_that(strstr(clvox_message(), "large piece"), "%s", clvox_message());
}

static void buffers_over_host_memory_lie_there_on_cpu(void **state)
{
    (void)state;
    clv_buffer *a = NULL, *b = NULL;
    size_t before = opened->allocated;
    enum { COUNT = 1 << 12 };
    float place[COUNT + 3], copy[COUNT];
    for (int i = 0; i < COUNT + 3; i++)
        place[i] = (float)i;
    const clv_request over[] = {{&a, COUNT * sizeof(float), "over memory"},
                                {&b, COUNT * sizeof(float), "alone"}};
    void *const host_of[] = {place + 3, NULL};
    assert_int_equal(clv_pool_take_over(opened, over, host_of, 2), CLVOX_OK);
    assert_true(a->host == (opened->limits.type == CLVOX_DEVICE_CPU ? (char *)(place + 3) : NULL) &&
                !b->host);
    assert_int_equal(clv_buffer_write(opened, a, 0, place + 3, COUNT * sizeof(float)), CLVOX_OK);
    assert_int_equal(clv_buffer_copy(opened, a, 0, b, 0, COUNT * sizeof(float)), CLVOX_OK);
    assert_true(clv_buffer_read(opened, b, 0, copy, sizeof copy) == CLVOX_OK &&
                !memcmp(copy, place + 3, sizeof copy));
    assert_int_equal(clv_buffer_fill(opened, a, 4 * sizeof(float), 0x40000000, 8 * sizeof(float)),
                     CLVOX_OK);
    assert_int_equal(
        clv_buffer_read(opened, a, 4 * sizeof(float), place + 7, (COUNT - 4) * sizeof(float)),
        CLVOX_OK);
    assert_true(place[2] == 2 && place[6] == 6 && place[7] == 2 && place[14] == 2 && place[15] == 15);
    assert_true(clv_buffer_read(opened, a, 0, copy, sizeof copy) == CLVOX_OK &&
                !memcmp(copy, place + 3, sizeof copy));
    clv_pool_release(over, 2);
    assert_true(!a && place[14] == 2 && opened->allocated == before);
}

static void one_buffer_that_is_too_large(void **state)
{
    (void)state;
    clv_buffer *a = NULL;
    size_t one = opened->limits.max_allocation;
    assert_true(clv_buffer_create(opened, one + 4, "the field", &a) == CLVOX_ERROR_MEMORY &&
                !a);
}

static void fill_copy_write_read_nothing_is_a_legal(void **state)
{
    (void)state;
    clv_buffer *a = NULL, *b = NULL;
    uint32_t host[8] = {0};
    assert_true(clv_buffer_create(opened, sizeof host, "a", &a) == CLVOX_OK &&
                clv_buffer_create(opened, 0, "b", &b) == CLVOX_OK);
    assert_true(b->bytes > 0);
    clv_buffer_destroy(&b);
    assert_int_equal(clv_buffer_create(opened, sizeof host, "b", &b), CLVOX_OK);
    assert_int_equal(clv_buffer_fill(opened, a, 0, 0x01020304u, sizeof host), CLVOX_OK);
    assert_int_equal(clv_buffer_write(opened, a, 4, (uint32_t[]){7}, 4), CLVOX_OK);
    assert_true(clv_buffer_copy(opened, a, 0, b, 8, 16) == CLVOX_OK &&
                clv_buffer_read(opened, b, 0, host, 24) == CLVOX_OK);
    assert_true(host[2] == 0x01020304u && host[3] == 7 && host[5] == 0x01020304u);
    assert_true(clv_buffer_fill(opened, a, 0, 0, 0) == CLVOX_OK &&
                clv_buffer_copy(opened, a, 0, b, 0, 0) == CLVOX_OK);
    assert_true(clv_buffer_read(opened, a, 0, host, 0) == CLVOX_OK &&
                clv_buffer_write(opened, a, 0, host, 0) == CLVOX_OK);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&b);
}

/* While the queue is still busy with what comes before them. */
static void many_small_writes(void **state)
{
    enum { WRITES = 20000, WORDS = 8, LARGE = 1 << 26 };
    uint32_t *read = malloc(WRITES * WORDS * sizeof *read), wrong = 0;
    clv_buffer *small = NULL, *large = NULL;
    (void)state;
    assert_non_null(read);
    assert_int_equal(clv_buffer_create(opened, WRITES * WORDS * sizeof *read, "small writes", &small),
                     CLVOX_OK);
    assert_int_equal(clv_buffer_create(opened, LARGE, "what comes before", &large), CLVOX_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(clv_buffer_fill(opened, large, 0, 1, LARGE), CLVOX_OK);
    for (uint32_t i = 0; i < WRITES; i++) {
        uint32_t words[WORDS];
        for (uint32_t k = 0; k < WORDS; k++)
            words[k] = WORDS * i + k;
        assert_int_equal(clv_buffer_write(opened, small, i * sizeof words, words, sizeof words), CLVOX_OK);
        memset(words, 255, sizeof words); /* they are ours again */
    }
    assert_int_equal(clv_buffer_read(opened, small, 0, read, WRITES * WORDS * sizeof *read), CLVOX_OK);
    for (uint32_t i = 0; i < WRITES * WORDS; i++)
        wrong += read[i] != i;
    assert_that(!wrong, "%u of %d words are wrong", wrong, WRITES * WORDS);
    clv_buffer_destroy(&small);
    clv_buffer_destroy(&large);
    free(read);
}

/* There and back, all of one direction under way before the first is waited for. */
static void transfers_that_are_under_way_at_once(void **state)
{
    enum { PIECES = 8, WORDS = 5000 };
    const size_t bytes = WORDS * sizeof(uint32_t);
    clv_transfer passing[PIECES];
    clv_pinned *there = NULL, *back = NULL;
    clv_buffer *buffer = NULL;
    (void)state;
    assert_int_equal(clv_pinned_create(opened, PIECES * bytes, &there), CLVOX_OK);
    assert_int_equal(clv_pinned_create(opened, PIECES * bytes, &back), CLVOX_OK);
    assert_int_equal(clv_buffer_create(opened, PIECES * bytes, "pieces", &buffer), CLVOX_OK);
    uint32_t *words = there->data;
    for (uint32_t i = 0; i < PIECES * WORDS; i++)
        words[i] = i;
    for (size_t k = 0; k < PIECES; k++)
        assert_int_equal(clv_transfer_begin(opened, buffer, CLV_TO_DEVICE, k * bytes, words + k * WORDS,
                                            bytes, &passing[k]),
                         CLVOX_OK);
    for (size_t k = PIECES; k-- > 0;) {
        assert_int_equal(clv_transfer_wait(&passing[k]), CLVOX_OK);
        assert_int_equal(clv_transfer_wait(&passing[k]), CLVOX_OK); /* as another thread may */
        clv_transfer_end(&passing[k]);
    }
    for (size_t k = 0; k < PIECES; k++)
        assert_int_equal(clv_transfer_begin(opened, buffer, CLV_FROM_DEVICE, k * bytes,
                                            (uint32_t *)back->data + k * WORDS, bytes, &passing[k]),
                         CLVOX_OK);
    for (size_t k = 0; k < PIECES; k++) {
        assert_int_equal(clv_transfer_wait(&passing[k]), CLVOX_OK);
        clv_transfer_end(&passing[k]);
    }
    assert_int_equal(clv_transfer_wait(&passing[0]), CLVOX_OK); /* it is over */
    assert_memory_equal(back->data, there->data, PIECES * bytes);
    assert_int_equal(
        clv_transfer_begin(opened, buffer, CLV_FROM_DEVICE, 0, back->data, 2 * PIECES * bytes, &passing[0]),
        CLVOX_ERROR_DEVICE);
    assert_int_equal(clv_transfer_wait(&passing[0]), CLVOX_OK);
    clv_buffer_destroy(&buffer);
    clv_pinned_destroy(&there);
    clv_pinned_destroy(&back);
}

/* The host's side of a transfer; the piece at `fails` cannot be read or written. */
typedef struct memory {
    char *data;
    size_t fails;
} memory;

static int fill_piece(void *user, size_t at, void *piece, size_t bytes)
{
    const memory *m = user;
    memcpy(piece, m->data + at, bytes);
    return at == m->fails ? clvox_fail(CLVOX_ERROR_FILE, "the piece at %zu", at) : CLVOX_OK;
}

static int empty_piece(void *user, size_t at, void *piece, size_t bytes)
{
    const memory *m = user;
    memcpy(m->data + at, piece, bytes);
    return at == m->fails ? clvox_fail(CLVOX_ERROR_FILE, "the piece at %zu", at) : CLVOX_OK;
}

static void check_memory_and_buffer(clv_buffer *buffer, const char *there, char *back, size_t bytes)
{
    assert_int_equal(clv_buffer_fill(opened, buffer, 0, 0, bytes), CLVOX_OK);
    memset(back, 0, bytes + 1);
    assert_int_equal(clv_buffer_send(opened, buffer, there, bytes), CLVOX_OK);
    assert_int_equal(clv_buffer_fetch(opened, buffer, back, bytes), CLVOX_OK);
    assert_memory_equal(back, there, bytes);
    assert_int_equal(back[bytes], 0);
}

static void check_passage(const char *there, char *back, size_t bytes, size_t files)
{
    clv_buffer *buffer = NULL;
    memory m = {(char *)there, SIZE_MAX};
    clv_passage p = {
        .direction = CLV_TO_DEVICE, .bytes = bytes, .files = files, .host = fill_piece, .user = &m};
    assert_int_equal(clv_buffer_create(opened, bytes, "pieces", &buffer), CLVOX_OK);
    p.buffer = buffer;
    assert_int_equal(clv_pass(opened, &p), CLVOX_OK);
    memset(back, 0, bytes + 1);
    assert_int_equal(clv_buffer_read(opened, buffer, 0, back, bytes), CLVOX_OK);
    assert_memory_equal(back, there, bytes);
    memset(back, 0, bytes + 1);
    m.data = back;
    p.direction = CLV_FROM_DEVICE;
    p.host = empty_piece;
    assert_int_equal(clv_pass(opened, &p), CLVOX_OK);
    assert_memory_equal(back, there, bytes);
    assert_int_equal(back[bytes], 0);
    m.fails = 0;
    assert_int_equal(clv_pass(opened, &p), bytes ? CLVOX_ERROR_FILE : CLVOX_OK);
    check_memory_and_buffer(buffer, there, back, bytes);
    const clvox_device_type type = opened->limits.type;
    opened->limits.type = CLVOX_DEVICE_GPU; /* in pieces, as GPUs have it */
    check_memory_and_buffer(buffer, there, back, bytes);
    opened->limits.type = type;
    clv_buffer_destroy(&buffer);
}

/* None; one; more pieces than there are threads, the last one shorter. */
static void passages(void **state)
{
    const size_t bytes[] = {0, 100, (CLV_SLOTS + 5) * (size_t)CLV_PIECE + 12};
    char *there = malloc(bytes[2] + 1), *back = malloc(bytes[2] + 1);
    (void)state;
    assert_true(there && back);
    for (size_t i = 0; i < bytes[2]; i++)
        there[i] = (char)(i / 977 * 31 + i);
    for (size_t k = 0; k < 3; k++)
        for (size_t files = 0; files <= 4; files += 2)
            check_passage(there, back, bytes[k], files);
    clv_staging_drop(opened);
    free(there);
    free(back);
}

static void a_read_beyond_the_end_is_an_error(void **state)
{
    (void)state;
    uint32_t host[250];
    clv_buffer *a;
    assert_ok(clv_buffer_create(opened, 32, "a", &a));
    assert_int_equal(clv_buffer_read(opened, a, 0, host, 1000), CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "clEnqueueReadBuffer failed with CL_INVALID_VALUE"), "%s",
                clvox_message());
    clv_buffer_destroy(&a);
}

static void check_memory(void)
{
    test_case(the_pool_takes_all_that_is_asked, "the pool takes all that is asked for and gives it back");
    test_case(the_pool_keeps_what_it_gets_back,
              "the pool keeps what it gets back for requests of the same size");
    test_case(the_pool_refuses_more_than_there,
              "the pool refuses more than there is, with both sizes, and takes nothing");
    if (opened->limits.max_allocation < opened->limits.global_bytes)
        test_case(the_pool_refuses_a_piece_that_is_too_large,
                  "the pool refuses a piece that is too large, by its name");
    test_case(buffers_over_host_memory_lie_there_on_cpu,
              "buffers over host memory lie there on CPU devices, and behave alike everywhere");
    test_case(one_buffer_that_is_too_large, "one buffer that is too large");
    test_case(fill_copy_write_read_nothing_is_a_legal, "fill, copy, write, read; nothing is a legal amount");
    test_case(many_small_writes, "many small writes from one place, more than are copied at once");
    test_case(transfers_that_are_under_way_at_once, "transfers that are under way at once");
    test_case(passages, "in pieces that several threads have, there and back");
    test_case(a_read_beyond_the_end_is_an_error, "a read beyond the end is an error with a name");
}

static const clv_timing *find_row(const clv_timing *rows, int count, const char *start)
{
    for (int i = 0; i < count; i++)
        if (!strncmp(rows[i].label, start, strlen(start)))
            return &rows[i];
    return NULL;
}

static clvox_context *timed;

static int timed_set_up(void **state)
{
    (void)state;
    return clvox_context_create(CONTEXT_OPTIONS(.profile = true), &timed);
}

static int timed_tear_down(void **state)
{
    (void)state;
    clvox_context_destroy(&timed);
    assert_true(timed == NULL);
    clvox_context_destroy(&timed);
    return 0;
}

static void with_profile_calls_seconds_and_bytes(void **state)
{
    (void)state;
    const clv_timing *rows;
    clv_timings_reset(timed);
    for (int i = 0; i < 7; i++)
        assert_true(probe_runs(timed, NULL, 0));
    int count = clv_timings(timed, &rows);
    const clv_timing *row = find_row(rows, count, "probe/"),
                     *sent = find_row(rows, count, "(to the device)");
    assert_true(row && row->calls == 7 && row->bytes == 7 * 8.0 * 665 && row->seconds > 0);
    assert_true(sent && sent->calls == 7 && sent->bytes == 7 * 4.0 * 665);
    assert_true(clv_timings(timed, &rows) == count && (row = find_row(rows, count, "probe/")) &&
                row->calls == 7);
}

static void what_a_program_is_told_of_time_and_choice(void **state)
{
    (void)state;
    clv_timings_reset(timed);
    assert_true(probe_runs(timed, NULL, 0));
    clvox_timing *rows = NULL;
    clvox_wisdom wisdom;
    double copy = 0;
    const clv_timing *own;
    const int known = clv_timings(timed, &own), count = clvox_timings(timed, &rows);
    assert_int_equal(count, known);
    for (int i = 1; i < count; i++)
        assert_true(rows[i].seconds <= rows[i - 1].seconds);
    const clv_timing *row = find_row(own, known, "probe/");
    int found = 0;
    for (int i = 0; row && i < count; i++)
        found +=
            !strcmp(rows[i].label, row->label) && rows[i].calls == row->calls && rows[i].bytes == row->bytes;
    assert_int_equal(found, count > 0);
    assert_int_equal(clvox_context_timed(timed), clv_has_timers(timed));
    clvox_timings_destroy(&rows);
    assert_null(rows);
    assert_ok(clvox_copy_bandwidth(timed, &copy));
    assert_true(copy > 0);
    clvox_context_wisdom(timed, &wisdom);
    assert_true(wisdom.hash && wisdom.remark && wisdom.choices == 0 && wisdom.used == 0);
}

static int stop_at_the_third(void *user, const clvox_kernel_variant *variant)
{
    int *seen = user;
    assert_true(variant->kernel && variant->variant &&
                (variant->refused || (variant->tile[0] > 0 && variant->limit && variant->reason[0])));
    return ++*seen == 3;
}

static void variants_are_shown_until_somebody_stops(void **state)
{
    (void)state;
    int seen = 0;
    assert_int_equal(clvox_kernel_variants(timed, (const int[]){16, 16, 16}, stop_at_the_third, &seen),
                     CLVOX_ERROR_STOPPED);
    assert_int_equal(seen, 3);
}

static void reset_starts_anew_also_with_events_pending(void **state)
{
    (void)state;
    const clv_timing *rows;
    assert_true(probe_runs(timed, NULL, 0));
    clv_timings_reset(timed);
    assert_true(clv_timings(timed, &rows) == 0);
    assert_true(probe_runs(timed, NULL, 0) && clv_timings(timed, &rows) > 0 &&
                rows[0].calls == 1);
}

static void more_events_than_may_wait(void **state)
{
    (void)state;
    const clv_timing *rows;
    clv_timings_reset(timed);
    clv_buffer *buffer;
    assert_int_equal(clv_buffer_create(timed, 64, "buffer", &buffer), CLVOX_OK);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(clv_buffer_fill(timed, buffer, 0, 0, 64), CLVOX_OK);
    assert_true(clv_timings(timed, &rows) == 1 && rows[0].calls == 10000 &&
                rows[0].bytes == 64e4);
    assert_int_equal(clv_buffer_fill(timed, buffer, 0, 0, 64), CLVOX_OK); /* pending when the context goes */
    assert_int_equal(clv_finish(timed), CLVOX_OK);
    clv_buffer_destroy(&buffer);
}

static void check_timing(void)
{
    test_set_up(timed_set_up);
    test_case(with_profile_calls_seconds_and_bytes, "with profile, calls, seconds and bytes by kernel");
    test_case(what_a_program_is_told_of_time_and_choice, "what a program is told of time and choice");
    test_case(variants_are_shown_until_somebody_stops, "variants are shown until somebody stops");
    test_case(reset_starts_anew_also_with_events_pending, "reset starts anew, also with events pending");
    test_case(more_events_than_may_wait, "more events than may wait");
    test_tear_down(timed_tear_down);
}

static void check_switch(void **state)
{
    (void)state;
    const clv_timing *rows;
    assert_true(probe_runs(opened, NULL, 0));
    if (clv_timings_switch(opened, true) < 0)
        test_skip("%s", clvox_message());
    assert_true(probe_runs(opened, NULL, 0) && clv_timings_switch(opened, true) == CLVOX_OK);
    int count = clv_timings(opened, &rows);
    const clv_timing *row = find_row(rows, count, "probe/"), *sent = find_row(rows, count, "(to the device)");
    assert_true(row && row->calls == 1 && row->kernel && !strcmp(row->kernel->label, row->label));
    assert_true(sent && sent->calls == 1 && !sent->kernel);
    assert_true(probe_runs(opened, NULL, 0) && clv_timings_switch(opened, false) == CLVOX_OK &&
                probe_runs(opened, NULL, 0));
    assert_true(clv_timings(opened, &rows) == count && (row = find_row(rows, count, "probe/")) &&
                row->calls == 2);
    clv_timings_reset(opened);
    assert_true(probe_runs(opened, NULL, 0) && clv_timings(opened, &rows) == 0);
}

enum { BYTES = 5000 };

static void check_pinned(void **state)
{
    (void)state;
    unsigned char back[BYTES];
    clv_pinned *pinned = NULL;
    clv_buffer *buffer = NULL;
    assert_true(clv_pinned_create(opened, BYTES, &pinned) == CLVOX_OK && pinned->bytes == BYTES);
    assert_int_equal(clv_buffer_create(opened, BYTES, "buffer", &buffer), CLVOX_OK);
    unsigned char *data = pinned->data;
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 % 251);
    assert_int_equal(clv_buffer_write(opened, buffer, 0, data, BYTES), CLVOX_OK);
    assert_true(clv_buffer_read(opened, buffer, 0, back, BYTES) == CLVOX_OK && !memcmp(back, data, BYTES));
    memset(data, 0, BYTES);
    assert_true(clv_buffer_read(opened, buffer, 0, data, BYTES) == CLVOX_OK && !memcmp(back, data, BYTES));
    clv_pinned_destroy(&pinned);
    assert_true(!pinned);
    clv_pinned_destroy(&pinned);
    clv_buffer_destroy(&buffer);
}

enum { LARGE = 32 << 20, FILLS = 100 };

/* Drivers whose workers still run commands of a context that is gone have crashed. */
static void check_end_of_work(void **state)
{
    (void)state;
    clvox_context *ctx;
    clv_buffer *buffer = NULL;
    cl_event last = NULL;
    cl_int reached = CL_QUEUED;
    assert_ok(clvox_context_create(NULL, &ctx));
    assert_ok(clv_buffer_create(ctx, LARGE, "buffer", &buffer));
    for (int i = 0; i < FILLS; i++)
        assert_int_equal(clv_buffer_fill(ctx, buffer, 0, (uint32_t)i, LARGE), CLVOX_OK);
    assert_true(clEnqueueMarkerWithWaitList(ctx->queue, 0, NULL, &last) == CL_SUCCESS &&
                clFlush(ctx->queue) == CL_SUCCESS);
    clv_buffer_destroy(&buffer);
    clvox_context_destroy(&ctx);
    assert_true(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof reached, &reached, NULL) ==
                CL_SUCCESS);
    assert_that(reached == CL_COMPLETE, "%d", (int)reached);
    clReleaseEvent(last);
}

static void kernels(void **state)
{
    (void)state;
    test_skip("%s", clvox_message());
}

static void what_has_no_profile_has_no_rows(void **state)
{
    (void)state;
    const clv_timing *rows;
    assert_true(probe_runs(opened, NULL, 0) && clv_timings(opened, &rows) == 0);
}

/* The planner chooses again. */
static int none_forced(void **state)
{
    (void)state;
    return clv_force_variant(opened, "probe", NULL, -1);
}

static int tear_down(void **state)
{
    (void)state;
    clvox_context_destroy(&opened);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    setenv("CLVOX_KERNEL_DIR", argv[1], 1);
    check_source();
    if (clvox_context_create(NULL, &opened) < 0) {
        test_case(kernels, "kernels");
        return test_run("kernel", NULL);
    }
    test_after_each(none_forced);
    test_case(what_has_no_profile_has_no_rows, "what has no profile has no rows");
    check_variants();
    check_refusals();
    check_memory();
    test_case(check_switch, "timers come and go with the queue, and know their kernels");
    test_case(check_pinned, "pinned memory is sent and fetched like any");
    check_timing();
    test_case(check_end_of_work, "a context goes when its work is done");
    return test_run("kernel", tear_down);
}
