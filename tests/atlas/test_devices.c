/* SPDX-License-Identifier: Apache-2.0 */
/* Templates by several devices and by teams of processes: the same bits as by one. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "atlas/population.h"
#include "op/harness.h"
#include "register/pair.h"
#include "runtime/device/context.h"

static clvox_context *ctx;

/* A run that is stopped again and again, on one, two and three devices in turn and with rooms for maps in
 * turn, ends with the bits of one that is not. */
static void assert_ends_elsewhere(const population *all, clvox_atlas_options o, const size_t *room, int rooms,
                                  const clvox_atlas_result *want)
{
    clvox_atlas_result r;
    char place[] = "/tmp/atlas-devices-XXXXXX";
    int calls, status = CLVOX_ERROR_STOPPED;
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = population_stop_after;
    o.user = &calls;
    o.more = population_open_others();
    for (int attempt = 10; status == CLVOX_ERROR_STOPPED; attempt += 10) {
        calls = attempt;
        o.more_count = attempt % 3;
        o.device_bytes = room[attempt / 10 % rooms];
        status = clvox_atlas(ctx, all->s, all->count, NULL, &o, &r);
    }
    assert_ok(status);
    assert_that(r.resumed > 2, "%d registrations were taken over", r.resumed);
    population_assert_same(want, &r);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_forget(place);
}

static void several_devices(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    (void)state;
    population_make_three(&all);
    all.s[1].labels = all.own[1];
    population_options_of_bits(&o);
    population_add_channel(&all, &o);
    population_build(&all, &o, &want);
    o.more = population_open_others();
    for (o.more_count = 1; o.more_count <= 2; o.more_count++) {
        population_build(&all, &o, &r);
        population_assert_same(&want, &r);
        assert_memory_equal(want.labels->data, r.labels->data,
                            clvox_grid_voxels(&r.labels->grid) * sizeof(float));
        clvox_atlas_result_destroy(&r);
    }
    assert_ends_elsewhere(&all, o, (const size_t[1]){0}, 1, &want);
    clvox_atlas_result_destroy(&want);
    population_release(&all);
}

/* Maps on devices, one subject's of them, or in memory: the same bits, for any number of devices, and for a
 * run that goes on with them elsewhere. */
static void maps_on_devices(void **state)
{
    enum { ROOMS = 3 };
    population all = {.count = 0};
    clvox_atlas_options o;
    (void)state;
    population_make_three(&all);
    all.s[1].labels = all.own[1];
    population_options_of_bits(&o);
    o.more = population_open_others();
    const size_t of_subject = 24 * clvox_grid_voxels(&all.own[0]->grid),
                 room[ROOMS] = {1, of_subject + 1, 9 * of_subject};
    /* The context of the call knows nothing of the others, which share the device's room; where another
     * one takes a subject, the room may stay with a context that gets no further one. */
    static const int fewest[ROOMS][2] = {{0, 0}, {1, 0}, {3, 3}}, most[ROOMS][2] = {{0, 0}, {1, 2}, {3, 3}};
    for (o.average = CLVOX_AVERAGE_MEAN; o.average <= CLVOX_AVERAGE_TRIMMED; o.average++) {
        clvox_atlas_result want, r;
        o.device_bytes = 1;
        o.more_count = 0;
        population_build(&all, &o, &want);
        for (int k = 0; k < 2 * ROOMS; k++) {
            o.more_count = k % 2 * 2;
            o.device_bytes = room[k / 2];
            population_build(&all, &o, &r);
            population_assert_same(&want, &r);
            assert_memory_equal(want.labels->data, r.labels->data,
                                clvox_grid_voxels(&r.labels->grid) * sizeof(float));
            assert_that(r.resident >= fewest[k / 2][k % 2] && r.resident <= most[k / 2][k % 2],
                        "%zu bytes, %d contexts: %d maps", o.device_bytes, o.more_count + 1, r.resident);
            clvox_atlas_result_destroy(&r);
        }
        assert_ends_elsewhere(&all, o, room, ROOMS, &want);
        clvox_atlas_result_destroy(&want);
    }
    /* Maps that are found on a coarser grid. */
    clvox_atlas_result want, r;
    o.registration.levels = 1;
    o.registration.shrink[0] = 2;
    o.more_count = 0;
    o.device_bytes = 1;
    population_build(&all, &o, &want);
    o.device_bytes = room[ROOMS - 1];
    population_build(&all, &o, &r);
    assert_int_equal(r.resident, 3);
    population_assert_same(&want, &r);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&want);
    population_release(&all);
}

/* A GPU takes maps by itself, in half of what a registration leaves it, and never more than that. The
 * others lie across a bus and are moved whenever they are read: the same bits. */
static void room_of_a_gpu(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_context *gpu; /* of its own: what it chooses as a GPU is chosen for good */
    (void)state;
    assert_ok(clvox_context_create(NULL, &gpu));
    population_make_three(&all);
    population_options_of_bits(&o);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.registration.inverse = 1;
    const clvox_register_images images = {.fixed = {all.own[0]}, .moving = {all.own[1]}, .channels = 1};
    /* Beside a registration there are three fields, the maps on their way to the host and a sum; and twelve
     * while maps are moved. */
    const size_t of_subject = 24 * clvox_grid_voxels(&all.own[0]->grid), moving = 6 * of_subject,
                 beside = clvox_register_bytes(&images, &o.registration) + of_subject * 3 / 2,
                 registering = beside > moving ? beside : moving;
    gpu->limits.type = CLVOX_DEVICE_GPU;
    for (int subjects = 1; subjects <= 3; subjects += 2) {
        /* A tenth of a device's memory stays free. */
        gpu->limits.global_bytes = gpu->limits.free_bytes =
            (registering + (2 * (size_t)subjects + 1) * of_subject + of_subject / 2) * 10 / 9;
        o.device_bytes = 0;
        clvox_atlas_result some;
        assert_ok(clvox_atlas(gpu, all.s, all.count, NULL, &o, &some));
        assert_int_equal(some.resident, subjects);
        o.device_bytes = SIZE_MAX / 2;
        assert_ok(clvox_atlas(gpu, all.s, all.count, NULL, &o, &r));
        assert_int_equal(r.resident, 3);
        population_assert_same(&r, &some);
        clvox_atlas_result_destroy(&some);
        clvox_atlas_result_destroy(&r);
    }
    clvox_context_destroy(&gpu);
    population_release(&all);
}

/* Contexts on one device share its room; where a subject's maps cannot lie there, they are in memory or on
 * disk. Which context gets which subject is chance, and so whether the room is used in the end. */
static void room_in_common(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-room-XXXXXX";
    clvox_store *store = NULL;
    (void)state;
    population_make_three(&all);
    clvox_volume *nowhere = population_zeros(&all.own[0]->grid);
    population_options_of_bits(&o);
    o.device_bytes = 1;
    population_build(&all, &o, &want);
    o.more = population_open_others() + 1;
    o.more_count = POPULATION_OTHERS - 1;
    o.device_bytes = 24 * clvox_grid_voxels(&all.own[0]->grid) + 1;
    assert_non_null(mkdtemp(place));
    assert_ok(clvox_store_create(place, 0, &store));
    for (int k = 0; k < 2; k++) {
        o.store = k ? store : NULL;
        assert_ok(clvox_atlas(population_open_others()[0], all.s, 3, NULL, &o, &r));
        assert_true(r.resident <= 1);
        population_assert_same(&want, &r);
        clvox_atlas_result_destroy(&r);
    }
    clvox_atlas_result_destroy(&want);
    clvox_store_destroy(&store);
    o.store = NULL;
    /* A subject that is left out in the end gives its room back. */
    all.s[2].mask = nowhere;
    o.skip_bad = 1;
    o.more_count = 0;
    o.device_bytes = 1;
    population_build(&all, &o, &want);
    o.device_bytes = SIZE_MAX / 2;
    population_build(&all, &o, &r);
    assert_int_equal(r.resident, 2);
    assert_memory_equal(want.average->data, r.average->data,
                        clvox_grid_voxels(&r.average->grid) * sizeof(float));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&want);
    clvox_volume_destroy(&nowhere);
    rmdir(place);
    population_release(&all);
}

static void failures_on_several_devices(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    (void)state;
    population_make_three(&all);
    clvox_volume *nowhere = population_zeros(&all.own[0]->grid);
    all.s[2].mask = nowhere;
    population_options_of_bits(&o);
    o.rounds = 1;
    o.skip_bad = 1;
    population_build(&all, &o, &want);
    o.more = population_open_others(), o.more_count = 2;
    population_build(&all, &o, &r);
    assert_memory_equal(want.average->data, r.average->data,
                        clvox_grid_voxels(&r.average->grid) * sizeof(float));
    assert_non_null(strstr(r.map[2].left_out, "third: "));
    clvox_atlas_result_destroy(&r);
    o.skip_bad = 0;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "third: "));
    all.s[2].mask = NULL;
    const clvox_device_limits limits = population_open_others()[1]->limits;
    snprintf(population_open_others()[1]->limits.name, sizeof population_open_others()[1]->limits.name,
             "Another");
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_DEVICE);
    population_open_others()[1]->limits = limits;
    assert_non_null(strstr(clvox_message(), "and Another (driver"));
    assert_true(!r.average && !r.map);
    o.more = NULL;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    clvox_contexts_destroy(NULL, 1);
    clvox_atlas_result_destroy(&want);
    clvox_volume_destroy(&nowhere);
    population_release(&all);
}

/* ---- teams ---------------------------------------------------------------- */

/* Members that are threads: what processes say by MPI they say through memory. */
enum { MOST_MEMBERS = POPULATION_OTHERS + 1, MOST_SUBJECTS = 8 };
typedef struct room {
    pthread_barrier_t barrier;
    int64_t *sum[MOST_MEMBERS];
    void *bytes[MOST_MEMBERS];
    int size;
} room;

typedef struct member {
    room *room;
    clvox_team team;
    clvox_context *ctx;
    clvox_atlas_subject s[MOST_SUBJECTS];
    int count;
    clvox_atlas_options o;
    clvox_atlas_result r;
    int status;
    char sentence[512];
    pthread_t thread;
} member;

static int sum_in_room(void *user, int64_t *values, size_t count)
{
    const member *m = user;
    room *w = m->room;
    int64_t *out = malloc((count + 1) * sizeof *out);
    w->sum[m->team.rank] = values;
    pthread_barrier_wait(&w->barrier);
    for (size_t k = 0; k < count; k++) { /* as unsigned: each bit of a sum is that of any order */
        uint64_t all = 0;
        for (int i = w->size - 1; i >= 0; i--)
            all += (uint64_t)w->sum[i][k];
        out[k] = (int64_t)all;
    }
    pthread_barrier_wait(&w->barrier);
    memcpy(values, out, count * sizeof *out);
    free(out);
    return CLVOX_OK;
}

static int spread_in_room(void *user, int from, void *bytes, size_t size)
{
    const member *m = user;
    room *w = m->room;
    w->bytes[m->team.rank] = bytes;
    pthread_barrier_wait(&w->barrier);
    if (m->team.rank != from)
        memcpy(bytes, w->bytes[from], size);
    pthread_barrier_wait(&w->barrier);
    return CLVOX_OK;
}

static void *be_member(void *user)
{
    member *m = user;
    m->status = clvox_atlas(m->ctx, m->s, m->count, NULL, &m->o, &m->r);
    snprintf(m->sentence, sizeof m->sentence, "%s", clvox_message());
    return NULL;
}

/* A team of so many, each with a context and options of its own. */
static void work_together(room *w, member *m, int size, const population *all, const clvox_atlas_options *o)
{
    *w = (room){.size = size};
    pthread_barrier_init(&w->barrier, NULL, (unsigned)size);
    for (int i = 0; i < size; i++) {
        m[i] = (member){.room = w, .count = all->count, .o = *o};
        memcpy(m[i].s, all->s, (size_t)all->count * sizeof *all->s);
        m[i].team = (clvox_team){i, size, sum_in_room, spread_in_room, &m[i], 0};
        m[i].o.team = &m[i].team;
        m[i].o.user = o->user ? (int *)o->user + i : NULL;
        m[i].ctx = i ? population_open_others()[i - 1] : ctx;
    }
}

/* Each has images and masks of its own, and all the labels. */
static void part_images(const room *w, member *m)
{
    for (int k = 0; k < w->size; k++)
        for (int i = 0; i < m[k].count; i++)
            if (i % w->size != k)
                m[k].s[i].image = m[k].s[i].mask = NULL;
}

static void wait_for_all(room *w, member *m)
{
    for (int i = 0; i < w->size; i++)
        assert_int_equal(pthread_create(&m[i].thread, NULL, be_member, &m[i]), 0);
    for (int i = 0; i < w->size; i++)
        pthread_join(m[i].thread, NULL);
    pthread_barrier_destroy(&w->barrier);
}

/* The members' results together are the one of a single process: each has the averages, one has a
 * subject's warps. */
static void assert_together(const clvox_atlas_result *want, member *m, int size)
{
    for (int k = 0; k < size; k++)
        assert_that(m[k].status == CLVOX_OK, "member %d: %s", k, m[k].sentence);
    for (int i = 0; i < want->subjects; i++) {
        int holders = 0;
        for (int k = 0; k < size; k++) {
            clvox_atlas_map *map = &m[k].r.map[i];
            holders += map->warp != NULL;
            assert_true(!map->warp == !map->inverse_warp && map->share == want->map[i].share);
            if (!k || !map->warp)
                continue;
            assert_null(m[0].r.map[i].warp);
            m[0].r.map[i].warp = map->warp, m[0].r.map[i].inverse_warp = map->inverse_warp;
            m[0].r.map[i].labels = map->labels;
            map->warp = map->inverse_warp = map->labels = NULL;
        }
        assert_int_equal(holders, 1);
        assert_true(!want->map[i].labels == !m[0].r.map[i].labels);
    }
    for (int k = 1; k < size; k++)
        assert_memory_equal(m[k].r.average->data, want->average->data,
                            clvox_grid_voxels(&want->average->grid) * sizeof(float));
    population_assert_same(want, &m[0].r);
    if (want->labels)
        assert_memory_equal(want->labels->data, m[0].r.labels->data,
                            clvox_grid_voxels(&want->labels->grid) * sizeof(float));
}

static void release_members(member *m, int size)
{
    for (int i = 0; i < size; i++)
        clvox_atlas_result_destroy(&m[i].r);
}

static void teams(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want;
    room w;
    member m[MOST_MEMBERS];
    (void)state;
    population_make_three(&all);
    all.own[0]->data[0] = 1e5F; /* the scale of all sums */
    all.s[1].labels = all.own[1];
    all.s[2].labels = all.own[1];
    population_add(
        &all, population_copy(all.own[0])); /* one that is given twice has its maps where the first has */
    all.s[3].labels = all.own[2];
    population_options_of_bits(&o);
    for (int average = CLVOX_AVERAGE_MEAN; average <= CLVOX_AVERAGE_MEDIAN; average += CLVOX_AVERAGE_MEDIAN) {
        o.average = (clvox_average)average;
        o.vote = average ? CLVOX_VOTE_LOCAL : CLVOX_VOTE_MAJORITY;
        o.unsharp = average ? .5 : 0;
        if (average)
            population_add_channel(&all, &o);
        population_build(&all, &o, &want);
        for (int size = 1; size <= MOST_MEMBERS; size += average ? 3 : 1) {
            work_together(&w, m, size, &all, &o);
            for (int i = 0; size == MOST_MEMBERS && i < size;
                 i++) { /* some, and other ones, on disk or devices */
                assert_ok(clvox_store_create("/tmp", (size_t)i * 60000, &m[i].o.store));
                m[i].o.device_bytes = i % 2 ? (size_t)1 << 30 : 1;
            }
            wait_for_all(&w, m);
            assert_together(&want, m, size);
            release_members(m, size);
            for (int i = 0; i < size; i++)
                clvox_store_destroy(&m[i].o.store);
            work_together(&w, m, size, &all, &o);
            part_images(&w, m);
            wait_for_all(&w, m);
            assert_together(&want, m, size);
            release_members(m, size);
        }
        clvox_atlas_result_destroy(&want);
    }
    population_release(&all);
}

/* From the end of this member's last step on, files may have no byte. */
static void close_the_disk(void *user, clvox_atlas_work work, double seconds)
{
    struct rlimit none;
    (void)user, (void)seconds;
    if (work != CLVOX_ATLAS_HAND_OVER)
        return;
    getrlimit(RLIMIT_FSIZE, &none);
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
}

/* After all rounds, where a subject that is given twice gets its maps. */
static void team_that_fails_late(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    room w;
    member m[2];
    struct rlimit before;
    (void)state;
    population_make_three(&all);
    population_add(&all, population_copy(all.own[1]));
    population_options_of_bits(&o);
    work_together(&w, m, 2, &all, &o);
    part_images(&w, m);
    assert_ok(clvox_store_create("/tmp", 0, &m[1].o.store));
    m[1].o.timed = close_the_disk;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    wait_for_all(&w, m);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_FILE && m[i].team.agreed && !m[i].r.average, "%d: %s", i,
                    m[i].sentence);
    assert_string_equal(m[0].sentence, m[1].sentence);
    clvox_store_destroy(&m[1].o.store);
    population_release(&all);
}

static void team_that_fails(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want;
    room w;
    member m[2];
    char place[] = "/tmp/atlas-team-XXXXXX";
    int calls[2];
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    population_build(&all, &o, &want);
    /* One member is stopped: all end with that, and other numbers of members go on from there. */
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = population_stop_after;
    o.user = calls;
    calls[0] = 1000, calls[1] = 9;
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_STOPPED && m[i].team.agreed && !m[i].r.average, "%d: %s", i,
                    m[i].sentence);
    o.progress = NULL;
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    assert_together(&want, m, 2);
    assert_that(m[0].r.resumed > 1 && m[0].r.resumed == m[1].r.resumed, "%d were taken over", m[0].r.resumed);
    release_members(m, 2);
    clvox_atlas_result one;
    population_build(&all, &o, &one);
    population_assert_same(&want, &one);
    assert_int_equal(one.resumed, 9);
    clvox_atlas_result_destroy(&one);
    clvox_atlas_forget(place);
    /* Other options or subjects in one of them. */
    o.state = NULL;
    work_together(&w, m, 2, &all, &o);
    m[1].o.until = .5;
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_ARGUMENT &&
                        strstr(m[i].sentence, "process 1 has another until (0.5, not 0)"),
                    "%s", m[i].sentence);
    /* A subject that only its owner finds to be of no use. */
    clvox_volume *nowhere = population_zeros(&all.own[0]->grid);
    all.s[2].mask = nowhere;
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_DATA && strstr(m[i].sentence, "third: "), "%s", m[i].sentence);
    clvox_atlas_result_destroy(&want);
    o.skip_bad = 1;
    population_build(&all, &o, &want);
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++) {
        assert_that(m[i].status == CLVOX_OK && strstr(m[i].r.map[2].left_out, "third: "), "%s",
                    m[i].sentence);
        assert_memory_equal(m[i].r.average->data, want.average->data,
                            clvox_grid_voxels(&want.average->grid) * sizeof(float));
    }
    release_members(m, 2);
    clvox_atlas_result_destroy(&want);
    /* An image that no scale makes useful is known to all, and one that nobody has, or two have. */
    all.s[2].mask = NULL;
    all.s[2].image = nowhere;
    population_build(&all, &o, &want);
    work_together(&w, m, 2, &all, &o);
    part_images(&w, m);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++) {
        assert_that(m[i].status == CLVOX_OK && strstr(m[i].r.map[2].left_out, "one value"), "%s",
                    m[i].sentence);
        assert_memory_equal(m[i].r.average->data, want.average->data,
                            clvox_grid_voxels(&want.average->grid) * sizeof(float));
    }
    release_members(m, 2);
    clvox_atlas_result_destroy(&want);
    for (int holders = 0; holders <= 2; holders += 2) {
        work_together(&w, m, 2, &all, &o);
        part_images(&w, m);
        m[0].s[2].image = m[1].s[2].image = holders ? nowhere : NULL;
        wait_for_all(&w, m);
        for (int i = 0; i < 2; i++)
            assert_that(m[i].status == CLVOX_ERROR_ARGUMENT &&
                            strstr(m[i].sentence, "third: its image is with"),
                        "%s", m[i].sentence);
    }
    clvox_volume_destroy(&nowhere);
    population_release(&all);
}

/* ---- maps that are given as they come -------------------------------------- */

typedef struct takes {
    pthread_mutex_t lock;
    const population *all;
    const clvox_atlas_result *want;
    int taken[POPULATION_MOST], calls;
    int fail_at; /* the call that fails; 0: none */
    bool keeps;  /* the warp of each, for a while */
} takes;

static void assert_same_values(const clvox_volume *a, const clvox_volume *b)
{
    assert_true(!a == !b);
    if (a)
        assert_memory_equal(a->data, b->data,
                            clvox_grid_voxels(&a->grid) * (size_t)a->frames * sizeof(float));
}

static int take(void *user, clvox_context *context, int at, int subject, clvox_atlas_map *map)
{
    takes *t = user;
    int status = CLVOX_OK;
    pthread_mutex_lock(&t->lock);
    const clvox_atlas_map *want = &t->want->map[subject];
    assert_non_null(context);
    assert_int_equal(at, 0);
    t->taken[subject]++;
    if (++t->calls == t->fail_at)
        status = clvox_fail(CLVOX_ERROR_FILE, "no room for the map of %d", subject);
    assert_memory_equal(map->matrix, want->matrix, sizeof map->matrix);
    assert_true(map->share == want->share && map->likeness == want->likeness);
    assert_same_values(map->warp, want->warp);
    assert_same_values(map->inverse_warp, want->inverse_warp);
    assert_same_values(map->labels, want->labels);
    if (t->keeps) {
        clvox_volume_destroy(&map->warp);
        assert_null(map->warp);
    }
    pthread_mutex_unlock(&t->lock);
    return status;
}

/* The maps, those of a subject given twice too, are those of a result, which has figures alone then. */
static void maps_as_they_come(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    (void)state;
    population_make_three(&all);
    population_add(&all, population_copy(all.own[0]));
    all.s[1].labels = all.own[1];
    population_options_of_bits(&o);
    population_build(&all, &o, &want);
    takes t = {.lock = PTHREAD_MUTEX_INITIALIZER, .all = &all, .want = &want};
    o.map = take;
    o.user = &t;
    o.more = population_open_others();
    for (o.more_count = 0; o.more_count <= 2; o.more_count++) {
        t.keeps = o.more_count == 1;
        memset(t.taken, 0, sizeof t.taken);
        population_build(&all, &o, &r);
        assert_same_values(r.average, want.average);
        for (int i = 0; i < all.count; i++) {
            assert_int_equal(t.taken[i], 1);
            assert_true(r.map[i].share == want.map[i].share);
            assert_true(!r.map[i].warp && !r.map[i].inverse_warp && !r.map[i].labels);
        }
        clvox_atlas_result_destroy(&r);
    }
    o.more_count = 1;
    t.calls = 0;
    t.fail_at = 2;
    assert_int_equal(clvox_atlas(ctx, all.s, all.count, NULL, &o, &r), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "no room for the map of"));
    assert_null(r.average);
    clvox_atlas_result_destroy(&want);
    population_release(&all);
}

/* The most that the context keeps, as the last step saw it. */
static int note_spares(void *user, const clvox_step *step)
{
    (void)step;
    *(size_t *)user = ctx->spare_most;
    return 0;
}

static void buffers_kept(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    char place[] = "/tmp/atlas-spares-XXXXXX";
    clvox_store *store = NULL;
    size_t kept = 0;
    (void)state;
    if (ctx->limits.type != CLVOX_DEVICE_CPU)
        skip();
    assert_int_equal(ctx->spare_most, 0);
    population_make_three(&all);
    population_options_of_bits(&o);
    assert_non_null(mkdtemp(place));
    assert_ok(clvox_store_create(place, SIZE_MAX / 2, &store));
    o.progress = note_spares;
    o.user = &kept;
    for (int limited = 0; limited < 2; limited++) {
        o.store = limited ? store : NULL;
        population_build(&all, &o, &r);
        assert_int_equal(kept > 0, !limited);
        assert_true(!ctx->spares && !ctx->spare_most);
        clvox_atlas_result_destroy(&r);
    }
    clvox_store_destroy(&store);
    rmdir(place);
    population_release(&all);
}

int main(void)
{
    ctx = harness_open();
    test_case(several_devices,
              "one, two and three devices give the same bits, also of a run that was stopped on others");
    test_case(maps_on_devices,
              "maps on devices, some of them or none: the same bits, also of a run that was stopped");
    test_case(room_of_a_gpu, "a GPU takes maps in half of what a registration leaves");
    test_case(room_in_common,
              "contexts on one device share its room for maps, also with a store and a subject left out");
    test_case(buffers_kept,
              "a CPU's buffers are kept within a run whose memory is not limited, and given back");
    test_case(maps_as_they_come,
              "maps that are given as they come are those of the result; a refusal ends the run");
    test_case(failures_on_several_devices,
              "a failure on one device ends all; devices that differ are refused");
    test_case(teams,
              "teams of one to four, also with images of their own, give the same bits as one process");
    test_case(team_that_fails_late,
              "a member that fails when all rounds are done ends all with its sentence");
    test_case(team_that_fails,
              "what ends one member ends all with its sentence; others go on from the state");
    return test_run("templates by several devices", population_close);
}
