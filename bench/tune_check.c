/* SPDX-License-Identifier: Apache-2.0 */
#include "tune_check.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = BENCH_OUT + 4 };

/* Of the largest value that a buffer holds. Schemes of tensors' descent that wait
 * for nobody differ by the size of their blocks. */
static const double tolerance = 2e-2;

typedef struct tune_place {
    clv_buffer *buffer;
    const char *name;
    float *start, *want, *got;
} tune_place;

struct tune_check {
    bench_data data;
    tune_place place[BUFFERS];
    int count;
};

static void add(tune_check *check, clv_buffer *buffer, const char *name)
{
    if (buffer)
        check->place[check->count++] = (tune_place){.buffer = buffer, .name = name};
}

int tune_check_create(clvox_context *ctx, tune_check **out)
{
    static const int size[3] = {67, 46, 35}; /* with room for the search of patches */
    static const char *const names[BENCH_OUT] = {"the first volume", "the second volume", "the third volume"};
    int status = CLVOX_OK;
    tune_check *check = calloc(1, sizeof *check);
    *out = NULL;
    if (!check)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(bench_data_create(ctx, size, true, &check->data));
    for (int i = 0; i < BENCH_OUT; i++)
        add(check, check->data.out[i], names[i]);
    add(check, check->data.field[0], "the first field");
    add(check, check->data.field[1], "the second field");
    add(check, check->data.nine, "the volume of nine");
    add(check, check->data.state, "the state");
    for (int i = 0; i < check->count; i++) {
        tune_place *p = &check->place[i];
        p->start = malloc(p->buffer->bytes + 1);
        p->want = malloc(p->buffer->bytes + 1);
        p->got = malloc(p->buffer->bytes + 1);
        if (!p->start || !p->want || !p->got) {
            status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
            goto end;
        }
        CLV_TRY(clv_buffer_read(ctx, p->buffer, 0, p->start, p->buffer->bytes));
    }
    *out = check;
    check = NULL;
end:
    tune_check_destroy(&check);
    return status;
}

void tune_check_destroy(tune_check **check)
{
    if (!check || !*check)
        return;
    for (int i = 0; i < (*check)->count; i++) {
        free((*check)->place[i].start);
        free((*check)->place[i].want);
        free((*check)->place[i].got);
    }
    bench_data_release(&(*check)->data);
    free(*check);
    *check = NULL;
}

static int run(tune_check *check, const bench_row *row, bool expected)
{
    int status = CLVOX_OK;
    clvox_context *ctx = check->data.ctx;
    for (int i = 0; i < check->count; i++)
        CLV_TRY(clv_buffer_write(ctx, check->place[i].buffer, 0, check->place[i].start,
                                 check->place[i].buffer->bytes));
    if (row->begin)
        CLV_TRY(row->begin(&check->data));
    CLV_TRY(row->run(&check->data));
    for (int i = 0; i < check->count; i++)
        CLV_TRY(clv_buffer_read(ctx, check->place[i].buffer, 0,
                                expected ? check->place[i].want : check->place[i].got,
                                check->place[i].buffer->bytes));
end:
    return status;
}

int tune_check_expect(tune_check *check, const bench_row *row)
{
    return run(check, row, true);
}

/* The largest difference over the largest value; whole numbers that are no
 * floats must be equal. */
static double difference(const float *want, const float *got, size_t count)
{
    double largest = 0, worst = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(want[i]))
            largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < count; i++) {
        if (!memcmp(&want[i], &got[i], sizeof want[i]) || (isnan(want[i]) && isnan(got[i])))
            continue;
        if (!isfinite(want[i]) || !isfinite(got[i]) || largest == 0)
            return INFINITY;
        worst = fmax(worst, fabs((double)want[i] - (double)got[i]) / largest);
    }
    return worst;
}

int tune_check_run(tune_check *check, const bench_row *row, bool *same)
{
    int status = run(check, row, false);
    *same = true;
    for (int i = 0; i < check->count && status >= 0; i++) {
        const tune_place *p = &check->place[i];
        if (!row->check && p->buffer == check->data.nine)
            continue; /* scratch of these rows */
        *same = *same && !memcmp(p->want, p->got, p->buffer->bytes);
        double far = row->check ? 0 : difference(p->want, p->got, p->buffer->bytes / sizeof(float));
        if (!(far <= tolerance))
            status = clv_fail(CLVOX_ERROR_DATA, "%s on %s: %s differs by %.2g of its largest value from what the "
                              "planner's own choice computes; please report it with the output of `clvox devices -v`",
                              row->name, clvox_context_limits(check->data.ctx)->name, p->name, far);
    }
    return status;
}
