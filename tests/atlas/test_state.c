/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that end early, and populations larger than memory. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "atlas/population.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

static char folder[] = "/tmp/atlas-state-XXXXXX";

static FILE *open_kept(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "r+b");
}

/* A byte in the middle of a file of the state turns over; false: there is no such file. */
static bool damage(const char *name)
{
    FILE *file = open_kept(name);
    if (!file)
        return false;
    fseek(file, 0, SEEK_END);
    const long at = ftell(file) / 2;
    fseek(file, at, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
    return true;
}

/* Rounds before the one that a file of the state is of; -1: there is no such file. */
static int round_of(const char *name)
{
    int32_t round = -1;
    FILE *file = open_kept(name);
    if (!file)
        return -1;
    fseek(file, 24, SEEK_SET);
    assert_int_equal(fread(&round, sizeof round, 1, file), 1);
    fclose(file);
    return round;
}

/* Only maps of the current round are there. */
static void assert_none_outdated(int subjects)
{
    for (int i = 0; i < subjects; i++) {
        char name[32];
        snprintf(name, sizeof name, "subject_%d", i);
        const int round = round_of(name);
        assert_that(round < 0 || round >= round_of("round"), "maps of round %d, and round %d is kept", round,
                    round_of("round"));
    }
}

/* The templates of all channels are kept; one channel less is another run. */
static void channels_resumed(void **state)
{
    static const int stops[] = {14, 21, 30};
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result whole, r;
    char place[] = "/tmp/atlas-state-XXXXXX";
    int calls;
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    population_add_channel(&all, &o);
    population_build(&all, &o, &whole);
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = population_stop_after;
    o.user = &calls;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        calls = stops[i];
        assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_STOPPED);
    }
    o.channels = 1;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_FILE);
    o.channels = 2;
    o.channel_weight[0] = 1;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "weights (0,0, not 1,0)"));
    o.channel_weight[0] = 0;
    calls = 1000;
    population_build(&all, &o, &r);
    assert_that(r.resumed > 3, "%d registrations were taken over", r.resumed);
    population_assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&whole);
    clvox_atlas_forget(place);
    population_release(&all);
}

static void stopped_and_resumed(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result whole, r;
    int calls, attempts = 0, status = CLVOX_ERROR_STOPPED;
    bool damaged = false;
    (void)state;
    population_make_three(&all);
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 3;
    population_build(&all, &o, &whole);
    assert_int_equal(whole.resumed, 0);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(rmdir(folder), 0); /* a run makes it */
    o.state = folder;
    o.progress = population_stop_after;
    o.user = &calls;
    /* One look more each time: stopped in the first mean, before, in and after registrations, between rounds.
     * */
    for (; status == CLVOX_ERROR_STOPPED && attempts < 200; attempts++) {
        calls = attempts;
        status = clvox_atlas(ctx, all.s, 3, NULL, &o, &r);
        if (attempts == 0)
            assert_true(access(folder, F_OK) < 0); /* nothing was done */
        assert_none_outdated(3);
        damaged = damaged || (attempts >= 9 && damage("subject_0"));
    }
    assert_ok(status);
    assert_that(attempts > 10, "only %d attempts", attempts);
    assert_true(damaged);
    assert_that(r.resumed > 6, "%d of 9 registrations were taken over", r.resumed);
    population_assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    /* Its last round is still there, but for what a busy disk had no time for; so are the others'
     * figures, unless they are damaged. */
    calls = 1000;
    population_build(&all, &o, &r);
    assert_that(r.resumed > 6, "%d of 9 registrations were taken over", r.resumed);
    population_assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    assert_true(damage("round"));
    population_build(&all, &o, &r);
    assert_int_equal(r.resumed, 0);
    population_assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    /* Other orders are the same subjects, other weights are not, nor other options. */
    const clvox_atlas_subject first = all.s[0];
    all.s[0] = all.s[2], all.s[2] = first;
    population_build(&all, &o, &r);
    assert_that(r.resumed > 6, "%d of 9 registrations were taken over", r.resumed);
    clvox_atlas_result_destroy(&r);
    all.s[1].weight = 2;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "another set of subjects (3"));
    all.s[1].weight = 1;
    o.registration.update_sigma += 1;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "another update_sigma ("));
    clvox_atlas_forget(folder);
    assert_true(access(folder, F_OK) < 0);
    clvox_atlas_forget(folder);
    clvox_atlas_result_destroy(&whole);
    population_release(&all);
}

/* ---- on disk -------------------------------------------------------------- */

static void assert_empty(clvox_store *store)
{
    const clvox_store_bytes left = clvox_store_measure(store);
    assert_that(left.memory == 0 && left.disk == 0, "%zu bytes in memory and %zu on disk are left",
                left.memory, left.disk);
}

/* As with `want`, but with so much memory. */
static clvox_store_bytes build_within(const population *all, clvox_atlas_options *o, size_t limit,
                                      const clvox_atlas_result *want)
{
    clvox_atlas_result r;
    assert_ok(clvox_store_create("/tmp", limit, &o->store));
    population_build(all, o, &r);
    population_assert_same(want, &r);
    assert_memory_equal(want->labels->data, r.labels->data,
                        clvox_grid_voxels(&r.labels->grid) * sizeof(float));
    const clvox_store_bytes most = clvox_store_measure(o->store);
    clvox_atlas_result_destroy(&r);
    assert_empty(o->store);
    clvox_store_destroy(&o->store);
    return most;
}

/* Wherever volumes are, the bits are the same, and memory has no more of them than it may. */
static void on_disk(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-stored-XXXXXX";
    int calls, status = CLVOX_ERROR_STOPPED;
    (void)state;
    population_make_three(&all);
    population_add(&all, population_copy(all.own[0])); /* twice */
    all.s[1].labels = all.own[1];
    all.s[2].labels = all.own[1];
    all.s[2].weight = 2;
    population_options_of_bits(&o);
    o.more = population_open_others();
    for (int average = CLVOX_AVERAGE_MEAN; average <= CLVOX_AVERAGE_MEDIAN; average++) {
        o.average = (clvox_average)average;
        o.vote = average ? CLVOX_VOTE_LOCAL : CLVOX_VOTE_MAJORITY;
        o.more_count = 0;
        population_build(&all, &o, &want);
        const size_t volume = clvox_grid_voxels(&want.average->grid) * sizeof(float);
        const clvox_store_bytes free = build_within(&all, &o, SIZE_MAX, &want);
        assert_true(free.disk == 0 && free.most_disk == 0 && free.most_memory >= 3 * 8 * volume);
        for (int k = 0; k <= 4; k += 2) { /* quarters of what it takes */
            o.more_count = k / 2;
            const clvox_store_bytes most = build_within(&all, &o, free.most_memory / 4 * (size_t)k, &want);
            assert_true(most.most_memory <= free.most_memory / 4 * (size_t)k);
            assert_true(k ? most.most_memory >= volume : most.most_disk >= free.most_memory);
        }
        if (average < CLVOX_AVERAGE_MEDIAN)
            clvox_atlas_result_destroy(&want);
    }
    /* Stopped and taken up again. */
    assert_non_null(mkdtemp(place));
    assert_ok(clvox_store_create("/tmp", 100000, &o.store));
    o.state = place;
    o.progress = population_stop_after;
    o.user = &calls;
    for (int attempt = 10; status == CLVOX_ERROR_STOPPED; attempt += 7) {
        calls = attempt;
        o.more_count = attempt % 2;
        status = clvox_atlas(ctx, all.s, all.count, NULL, &o, &r);
        if (status < 0)
            assert_empty(o.store);
    }
    assert_ok(status);
    assert_true(r.resumed > 2);
    population_assert_same(&want, &r);
    clvox_atlas_result_destroy(&r);
    assert_empty(o.store);
    clvox_store_destroy(&o.store);
    clvox_atlas_forget(place);
    clvox_atlas_result_destroy(&want);
    population_release(&all);
}

/* No room for the first image, and for the first warp. */
static void disk_full(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    struct rlimit before, small;
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    const size_t volume = clvox_grid_voxels(&all.own[0]->grid) * sizeof(float);
    assert_ok(clvox_store_create("/tmp", 0, &o.store));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        small = before;
        small.rlim_cur = i ? volume : volume - 1;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const int status = clvox_atlas(ctx, all.s, all.count, NULL, &o, &r);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, CLVOX_ERROR_FILE);
        assert_non_null(strstr(clvox_message(), "/tmp: "));
        assert_non_null(strstr(clvox_message(), "make room there, or raise the limit of memory"));
        assert_true(!r.average && !r.map);
        assert_empty(o.store);
        assert_true(!clvox_store_measure(o.store).most_disk == !i);
    }
    signal(SIGXFSZ, handler);
    clvox_store_destroy(&o.store);
    population_release(&all);
}

/* The files of the last round's last subject cannot be written. */
static int take_unkept(void *user, int at, const clvox_atlas_result *r)
{
    (void)at;
    snprintf(user, sizeof r->unkept, "%s", r->unkept);
    return CLVOX_OK;
}

static void last_file_lost(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-lost-XXXXXX", path[64], unkept[sizeof r.unkept] = "";
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.rounds = 1;
    population_build(&all, &o, &want);
    assert_int_equal(*want.unkept, 0);
    assert_non_null(mkdtemp(place));
    o.state = place;
    snprintf(path, sizeof path, "%s/subject_2", place);
    assert_int_equal(mkdir(path, 0700), 0);
    population_build(&all, &o, &r);
    population_assert_same(&want, &r);
    assert_non_null(strstr(r.unkept, path));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_forget(place);
    snprintf(path, sizeof path, "%s/subject_0", place);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_ok(clvox_atlas_regress(
        ctx, all.s, 1, NULL, &o,
        &(clvox_atlas_regression){(const double[]){5}, (const double[]){5}, 1, 1, take_unkept, unkept}));
    assert_non_null(strstr(unkept, path));
    for (int i = 0; i < 3; i += 2) {
        snprintf(path, sizeof path, "%s/subject_%d", place, i);
        rmdir(path);
    }
    clvox_atlas_forget(place);
    assert_true(access(place, F_OK) < 0);
    clvox_atlas_result_destroy(&want);
    population_release(&all);
}

int main(void)
{
    ctx = harness_open();
    test_case(channels_resumed, "a run of two channels that is stopped resumes with the same bits"),
        test_case(stopped_and_resumed, "a run that is stopped anywhere goes on and ends with the same bits");
    test_case(on_disk, "volumes in memory and on disk give the same bits, in any parts");
    test_case(disk_full, "a full disk ends a run with one sentence");
    test_case(last_file_lost,
              "where the last file of a state cannot be written the result is whole and says so");
    return test_run("state of templates", population_close);
}
