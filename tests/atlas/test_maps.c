/* SPDX-License-Identifier: Apache-2.0 */
/* The store of maps by itself: the same bits wherever a map lies, and however often its device runs short. */
#include "atlas/maps.h"
#include "atlas/population.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "op/image/pointwise.h"
#include "runtime/device/context.h"

enum {
    MAPS = 3,
    MOVES = 3,
    NX = 7,
    NY = 5,
    NZ = 3,
    VALUES = 3 * NX * NY * NZ,
    BYTES = VALUES * 4,
    DEVICES = 2
};

static const clvox_grid GRID = {.size = {NX, NY, NZ},
                                .to_ras = {{2, 0, 0, -7}, {0, 3, 0, 5}, {0, 0, 4, 1}, {0, 0, 0, 1}}};

/* Places that a store has to find for its maps. */
static const struct place {
    const char *name;
    size_t device_bytes;
    int limit; /* bytes of a store's memory; -1: there is no store */
    bool gpu;  /* the bus is far */
    int resident;
} PLACES[] = {{"host memory", 1, -1, false, 0},
              {"the device", (size_t)1 << 40, -1, false, MAPS},
              {"the device, one subject's", 2 * BYTES + 1, -1, false, 1},
              {"files", 1, 0, false, 0},
              {"files and memory", 1, 3 * BYTES, false, 0},
              {"across a bus", 1, -1, true, 0},
              {"across a bus, in files", 1, 0, true, 0}};

typedef struct stand {
    clvox_context *ctx[DEVICES];
    clvox_device_type type[DEVICES];
    clvox_store *store;
    clv_maps *maps;
    clv_maps_moves moves;
    int passed;
} stand;

static float value(int map, int which, int voxel)
{
    return (float)(voxel % 23 - 11 + 5 * map - 3 * which);
}

/* The order of moves matters. */
static int follow(void *user, int device, int which, int number, clv_buffer *field, clv_buffer *out)
{
    const stand *s = user;
    const float add = (float)(which ? -1 - number : 1 + number);
    return clv_pointwise(s->ctx[device], CLV_POINTWISE_LINEAR, CLV_VECTORS(out, GRID.size), field, NULL, NULL,
                         (float[4]){2, 0, 0, add});
}

static float after(float v, int which, int moves)
{
    for (int number = 0; number < moves; number++)
        v = 2 * v + (float)(which ? -1 - number : 1 + number);
    return v;
}

static void count_passes(void *user, bool idle, double mark)
{
    stand *s = user;
    assert_true(mark > 0);
    s->passed += !idle;
}

static void stand_open(stand *s, const struct place *p)
{
    *s = (stand){.ctx = {population_open_others()[0], population_open_others()[1]}};
    s->moves = (clv_maps_moves){.follow = follow, .user = s};
    if (p->limit >= 0)
        assert_ok(clvox_store_create("/tmp", (size_t)p->limit, &s->store));
    for (int i = 0; i < DEVICES; i++) {
        s->type[i] = s->ctx[i]->limits.type;
        if (p->gpu)
            s->ctx[i]->limits.type = CLVOX_DEVICE_GPU;
    }
    clv_maps_setting setting = {.ctx = s->ctx,
                                .devices = DEVICES,
                                .count = MAPS,
                                .grid = GRID,
                                .store = s->store,
                                .device_bytes = p->device_bytes,
                                .passed = count_passes,
                                .user = s};
    clv_orientation_grid(&GRID, &(clv_orientation){{2, 0, 1}, {true, false, true}}, &setting.shown);
    assert_ok(clv_maps_open(&setting, &s->maps));
}

static void stand_close(stand *s)
{
    clv_maps_close(&s->maps);
    for (int i = 0; i < DEVICES; i++)
        s->ctx[i]->limits.type = s->type[i];
    clvox_store_destroy(&s->store);
}

/* A map is looked at by the device that has it. */
static int device_of(const stand *s, int map)
{
    const int has = clv_maps_device(s->maps, map);
    return has >= 0 ? has : map % DEVICES;
}

static void assert_lent(stand *s, int map, int count, int moves)
{
    float found[VALUES];
    clv_loan loan;
    const int device = device_of(s, map);
    assert_ok(clv_maps_lend(s->maps, map, device, count, &loan));
    for (int which = 0; which < count; which++) {
        assert_ok(clv_buffer_read(s->ctx[device], loan.field[which], 0, found, BYTES));
        for (int i = 0; i < VALUES; i++)
            assert_that(found[i] == after(value(map, which, i), which, moves), "map %d.%d, value %d: %g", map,
                        which, i, (double)found[i]);
    }
    assert_true(count == 2 || !loan.field[1]);
    clv_maps_return(&loan);
}

static void put_all(stand *s)
{
    float values[2 * VALUES];
    for (int map = 0; map < MAPS; map++) {
        for (int i = 0; i < 2 * VALUES; i++)
            values[i] = value(map, i / VALUES, i % VALUES);
        assert_ok(clv_maps_put(s->maps, map, map % DEVICES, values));
    }
}

static int resident(const stand *s)
{
    int count = 0;
    for (int map = 0; map < MAPS; map++)
        count += clv_maps_device(s->maps, map) >= 0;
    return count;
}

/* All moves, in the middle of which devices may run short; the volumes at the end. */
static void move_all(stand *s, int short_at, clvox_volume *to[MAPS][2])
{
    clv_maps_follow(s->maps, &s->moves);
    for (s->moves.count = 0; s->moves.count <= MOVES; s->moves.count++)
        for (int map = 0; map < MAPS; map++) {
            if (map == 1 && s->moves.count == short_at)
                for (int i = 0; i < DEVICES; i++)
                    assert_true(clv_maps_leave(s->maps, i) >= 0);
            assert_lent(s, map, 2, s->moves.count);
        }
    s->moves.count = MOVES;
    for (int map = 0; map < MAPS; map++) {
        assert_lent(s, map, 1, MOVES);
        assert_ok(clv_maps_volumes(s->maps, map, device_of(s, map),
                                   (clvox_volume * *[2]){&to[map][0], &to[map][1]}));
        assert_false(clv_maps_there(s->maps, map));
    }
}

static void in_any_place(void **state)
{
    clvox_volume *want[MAPS][2] = {{NULL}};
    (void)state;
    for (size_t k = 0; k < sizeof PLACES / sizeof *PLACES; k++)
        for (int short_at = -1; short_at < MOVES; short_at++) {
            const struct place *p = &PLACES[k];
            stand s;
            float raw[2 * VALUES];
            clvox_volume *made[MAPS][2] = {{NULL}};
            stand_open(&s, p);
            put_all(&s);
            assert_int_equal(resident(&s), p->resident);
            for (int map = 0; map < MAPS; map++) {
                assert_ok(clv_maps_get(s.maps, map, raw));
                assert_true(raw[4] == value(map, 0, 4) && raw[VALUES + 9] == value(map, 1, 9));
            }
            move_all(&s, short_at, made);
            assert_true(short_at < 0 || !resident(&s));
            assert_int_equal(s.passed > 0, p->limit >= 0);
            for (int i = 0; i < 2 * MAPS; i++) {
                clvox_volume **first = &want[i / 2][i % 2], *now = made[i / 2][i % 2];
                assert_int_equal(now->grid.size[0], NZ);
                if (*first) {
                    assert_memory_equal((*first)->data, now->data, BYTES);
                    clvox_volume_destroy(&made[i / 2][i % 2]);
                } else {
                    *first = now;
                }
            }
            stand_close(&s);
        }
    for (int i = 0; i < 2 * MAPS; i++)
        clvox_volume_destroy(&want[i / 2][i % 2]);
}

/* Moves that no map needs again are known: those on disk or across a bus take all each time. */
static void moves_that_are_done(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof PLACES / sizeof *PLACES; k++) {
        stand s;
        stand_open(&s, &PLACES[k]);
        put_all(&s);
        clv_maps_follow(s.maps, &s.moves);
        s.moves.count = 2;
        for (int map = 0; map < MAPS; map++) {
            assert_int_equal(clv_maps_moved(s.maps), 0);
            assert_lent(&s, map, 2, 2);
        }
        const bool far = PLACES[k].gpu || s.type[0] == CLVOX_DEVICE_GPU;
        assert_int_equal(clv_maps_moved(s.maps), PLACES[k].limit >= 0 || (far && PLACES[k].resident < MAPS) ? 0 : 2);
        for (int map = 0; map < MAPS; map++)
            clv_maps_drop(s.maps, map);
        assert_int_equal(clv_maps_moved(s.maps), 2);
        clv_loan loan;
        assert_ok(clv_maps_lend(s.maps, 0, 0, 2, &loan));
        assert_true(!loan.field[0] && !loan.field[1]);
        clv_maps_return(&loan);
        stand_close(&s);
    }
}

typedef struct finding {
    clvox_context *ctx;
    int map, fails, calls;
} finding;

/* Writes the map to where it is told to, unless there is no memory for so many calls. */
static int find(void *user, const clv_register_fields *to)
{
    int status = CLVOX_OK;
    finding *f = user;
    float values[VALUES];
    if (f->calls++ < f->fails)
        return clvox_fail(CLVOX_ERROR_MEMORY, "no memory at call %d", f->calls);
    for (int which = 0; which < 2; which++) {
        for (int i = 0; i < VALUES; i++)
            values[i] = value(f->map, which, i);
        assert_true(!to->buffer[which] == (to->values[which] != NULL));
        if (to->buffer[which])
            CLV_TRY(clv_buffer_write(f->ctx, to->buffer[which], 0, values, BYTES));
        else
            memcpy(to->values[which], values, BYTES);
    }
end:
    return status;
}

/* A device that is short of memory: another way is tried as long as there is one, and finds the same. */
static void found_on_short_devices(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof PLACES / sizeof *PLACES; k++)
        for (int fails = 0; fails < 5; fails++) {
            stand s;
            stand_open(&s, &PLACES[k]);
            finding f = {.ctx = s.ctx[0]};
            assert_ok(clv_maps_find(s.maps, 0, 0, find, &f)); /* which may leave the device for the second */
            f = (finding){.ctx = s.ctx[0], .map = 2, .fails = fails};
            const int status = clv_maps_find(s.maps, 2, 0, find, &f);
            assert_true(status == CLVOX_OK || status == CLVOX_ERROR_MEMORY);
            assert_int_equal(status >= 0, clv_maps_there(s.maps, 2));
            assert_that(fails || status == CLVOX_OK, "%s: %s", PLACES[k].name, clvox_message());
            assert_int_equal(f.calls, status >= 0 ? fails + 1 : f.calls);
            if (PLACES[k].resident == MAPS && fails < 3)
                assert_int_equal(status, CLVOX_OK);
            if (fails && clv_maps_there(s.maps, 2)) /* not there, where there was none */
                assert_int_equal(clv_maps_device(s.maps, 2), -1);
            assert_lent(&s, 0, 2, 0);
            assert_ok(clv_maps_find(s.maps, 1, 0, find, &(finding){.ctx = s.ctx[0], .map = 1}));
            assert_int_equal(clv_maps_device(s.maps, 1), !fails && PLACES[k].resident == MAPS ? 0 : -1);
            if (status >= 0)
                assert_lent(&s, 2, 2, 0);
            stand_close(&s);
        }
}

int main(void)
{
    harness_open();
    test_case(in_any_place, "on devices, in memory, in files, and moved between them: the same bits");
    test_case(moves_that_are_done, "a move ends when every map has taken it; without maps nothing is lent");
    test_case(found_on_short_devices,
              "where a device has less memory than it reports, maps are found elsewhere");
    return test_run("the store of maps", population_close);
}
