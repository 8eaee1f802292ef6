/* SPDX-License-Identifier: Apache-2.0 */
/* The gate to a device's memory, and contexts that share one. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"
#include "runtime/device/gate.h"
#include "runtime/device/part.h"
#include "runtime/device/select.h"

typedef struct visitor {
    clv_gate *gate;
    size_t bytes;
    atomic_int id; /* of the thread, once it is at the gate */
    atomic_bool inside;
    pthread_t thread;
} visitor;

static void *visit(void *user)
{
    visitor *v = user;
    atomic_store(&v->id, (int)gettid());
    clv_gate_enter(v->gate, v->bytes);
    atomic_store(&v->inside, true);
    return NULL;
}

/* The state of a thread of this process, as in ps: S where it sleeps. */
static char state_of(int id)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (file)
        fclose(file);
    return state;
}

/* Whether the visitor sleeps at the gate; false where it has gone in, or does neither within a minute. */
static bool waits(visitor *v)
{
    for (int ms = 0; ms < 60000 && !atomic_load(&v->inside); ms++) {
        const int id = atomic_load(&v->id);
        if (id && state_of(id) == 'S')
            return !atomic_load(&v->inside);
        usleep(1000);
    }
    return false;
}

static void check_waits(void **state)
{
    (void)state;
    clv_gate *gate = clv_gate_create(100);
    visitor late = {.gate = gate, .bytes = 40};
    clv_gate_enter(gate, 60);
    clv_gate_enter(gate, 30);
    assert_int_equal(pthread_create(&late.thread, NULL, visit, &late), 0);
    assert_true(waits(&late));
    clv_gate_leave(gate, 30);
    assert_int_equal(pthread_join(late.thread, NULL), 0);
    clv_gate_leave(gate, 60);
    clv_gate_leave(gate, 40);
    clv_gate_release(&gate);
    assert_null(gate);
}

static void check_alone(void **state)
{
    (void)state;
    clv_gate *gate = clv_gate_create(100);
    visitor large = {.gate = gate, .bytes = (size_t)-1};
    clv_gate_enter(gate, 1);
    assert_int_equal(pthread_create(&large.thread, NULL, visit, &large), 0);
    assert_true(waits(&large));
    clv_gate_leave(gate, 1);
    assert_int_equal(pthread_join(large.thread, NULL), 0);
    visitor small = {.gate = gate, .bytes = 1};
    assert_int_equal(pthread_create(&small.thread, NULL, visit, &small), 0);
    assert_true(waits(&small));
    clv_gate_leave(gate, large.bytes);
    assert_int_equal(pthread_join(small.thread, NULL), 0);
    clv_gate_release(&gate);
}

enum { THREADS = 6, TURNS = 200, ROOM = 10 };
static atomic_int within, most;

static void *come_and_go(void *user)
{
    clv_gate *gate = user;
    for (int i = 0; i < TURNS; i++) {
        const int bytes = 1 + i % 5;
        clv_gate_enter(gate, (size_t)bytes);
        const int now = atomic_fetch_add(&within, bytes) + bytes;
        for (int before = atomic_load(&most);
             before < now && !atomic_compare_exchange_weak(&most, &before, now);)
            ;
        sched_yield(); /* so that others come while this one is inside */
        atomic_fetch_sub(&within, bytes);
        clv_gate_leave(gate, (size_t)bytes);
    }
    clv_gate_release(&gate);
    return NULL;
}

static void check_many(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    clv_gate *gate = clv_gate_create(ROOM);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, clv_gate_hold(gate)), 0);
    clv_gate_release(&gate);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    assert_true(atomic_load(&most) > 0 && atomic_load(&most) <= ROOM);
    assert_int_equal(atomic_load(&within), 0);
}

static void check_none(void **state)
{
    (void)state;
    clv_gate *gate = NULL;
    assert_null(clv_gate_hold(gate));
    clv_gate_enter(gate, 1);
    clv_gate_leave(gate, 1);
    clv_gate_release(&gate);
    clv_gate_release(NULL);
}

static void check_contexts(void **state)
{
    (void)state;
    clvox_context **contexts;
    clvox_context_options options = {.size = sizeof options, .at_once = 3};
    assert_int_equal(clvox_contexts_create(&options, &contexts), 3);
    assert_non_null(clv_context_gate(contexts[0]));
    for (int i = 1; i < 3; i++) {
        assert_ptr_not_equal(contexts[i], contexts[0]);
        assert_ptr_equal(clv_context_gate(contexts[i]), clv_context_gate(contexts[0]));
    }
    clvox_contexts_destroy(&contexts, 3);
    options.at_once = 0;
    assert_int_equal(clvox_contexts_create(&options, &contexts), 1);
    assert_null(clv_context_gate(contexts[0]));
    const clvox_device_limits own = *clvox_context_limits(contexts[0]);
    clvox_contexts_destroy(&contexts, 1);
    static const clvox_context_options wishes[] = {
        {.size = sizeof *wishes, .at_once = CLVOX_AT_ONCE_GPUS},
        {.size = sizeof *wishes, .at_once = CLVOX_AT_ONCE_ALL},
        {.size = sizeof *wishes, .at_once = CLVOX_AT_ONCE_ALL, .most_at_once = 2},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        const int count = clvox_contexts_create(&wishes[i], &contexts);
        assert_int_equal(count, clvox_at_once(&wishes[i], &own));
        clvox_contexts_destroy(&contexts, count);
    }
}

static void check_twice(void **state)
{
    (void)state;
    const char *device = getenv("CLVOX_DEVICE");
    char list[512];
    clvox_context **contexts;
    device = device && *device ? device : "0";
    snprintf(list, sizeof list, "%s,%s", device, device);
    clvox_context_options options = {.size = sizeof options, .device = list, .at_once = 2};
    assert_int_equal(clvox_contexts_create(&options, &contexts), 4);
    assert_non_null(clv_context_gate(contexts[0]));
    for (int i = 1; i < 4; i++)
        assert_ptr_equal(clv_context_gate(contexts[i]), clv_context_gate(contexts[0]));
    clvox_contexts_destroy(&contexts, 4);
}

static cl_uint cores_of(cl_device_id device)
{
    cl_uint cores = 0;
    assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof cores, &cores, NULL),
                     CL_SUCCESS);
    return cores;
}

/* By numbers of cores. */
static bool divides(cl_device_id device)
{
    cl_device_partition_property ways[8] = {0};
    bool found = false;
    clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, sizeof ways, ways, NULL);
    for (int i = 0; i < 8; i++)
        found = found || ways[i] == CL_DEVICE_PARTITION_BY_COUNTS;
    return found;
}

static void check_parts(void **state)
{
    (void)state;
    clvox_device *list;
    const int count = clvox_devices_list(&list), used = clv_device_select(list, count, NULL);
    assert_that(used >= 0 && used < count, "%d of %d", used, count);
    cl_device_id whole = list[used].device_id;
    const int cores = (int)cores_of(whole), largest = divides(whole) ? (cores < 4 ? cores : 4) : 0;
    for (int parts = 2; parts <= largest; parts++) {
        cl_uint all = 0;
        for (int i = 0; i < parts; i++) {
            cl_device_id part = clv_device_part(whole, i, parts);
            assert_non_null(part);
            const cl_uint its = cores_of(part);
            assert_that(its >= (cl_uint)(cores / parts) && its <= (cl_uint)(cores / parts + 1), "%u", its);
            all += its;
            assert_int_equal(clReleaseDevice(part), CL_SUCCESS);
        }
        assert_int_equal(all, cores);
    }
    assert_null(clv_device_part(whole, 0, 1));
    assert_null(clv_device_part(whole, 0, cores + 1));
    clvox_devices_destroy(&list);
}

static void check_worth(void **state)
{
    (void)state;
    clvox_context_options o = {.size = sizeof o, .at_once = CLVOX_AT_ONCE_ALL};
    clvox_device_limits l = {.type = CLVOX_DEVICE_GPU, .global_bytes = (size_t)16 << 30};
    assert_int_equal(clvox_at_once(&o, &l), 4);
    o.most_at_once = 2;
    assert_int_equal(clvox_at_once(&o, &l), 2);
    o.most_at_once = 0;
    l.global_bytes = (size_t)8 << 30;
    assert_int_equal(clvox_at_once(&o, &l), 1);
    l = (clvox_device_limits){
        .type = CLVOX_DEVICE_CPU, .global_bytes = (size_t)64 << 30, .compute_units = 16};
    assert_int_equal(clvox_at_once(&o, &l), 4);
    l.compute_units = 2;
    assert_int_equal(clvox_at_once(&o, &l), 2);
    l.compute_units = 1;
    assert_int_equal(clvox_at_once(&o, &l), 1);
    l.global_bytes = (size_t)9 << 30;
    l.compute_units = 16;
    assert_int_equal(clvox_at_once(&o, &l), 2);
    l.global_bytes = 0;
    assert_int_equal(clvox_at_once(&o, &l), 1);
    l.type = CLVOX_DEVICE_ACCELERATOR;
    l.global_bytes = (size_t)64 << 30;
    assert_int_equal(clvox_at_once(&o, &l), 1);
    l.type = CLVOX_DEVICE_CPU;
    o.at_once = CLVOX_AT_ONCE_GPUS;
    assert_int_equal(clvox_at_once(&o, &l), 1);
    o.at_once = 7;
    assert_int_equal(clvox_at_once(&o, &l), 7);
    assert_int_equal(clvox_at_once(NULL, &l), 1);
}

int main(void)
{
    test_case(check_waits, "work waits at the gate until there is room for it");
    test_case(check_alone, "what needs more than there is goes in alone, and nothing beside it");
    test_case(check_many, "threads that come and go never hold more than there is");
    test_case(check_none, "without a gate nothing waits");
    test_case(check_contexts, "several contexts on a device share its gate");
    test_case(check_twice, "so do those of a device that a list names twice");
    test_case(check_parts, "parts of a processor share out its cores; what cannot be divided has none");
    test_case(check_worth, "several contexts pay on a GPU, and on cores, with memory for them");
    return test_run("gate", NULL);
}
