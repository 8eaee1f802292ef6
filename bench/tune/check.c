/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tune/check.h"

#include <stdlib.h>
#include <string.h>

#include "bench/tune/tune.h"

enum { BUFFERS = BENCH_OUT + 4 };

typedef struct tune_place {
    clv_buffer *buffer;
    float *start, *want, *got;
} tune_place;

struct tune_check {
    bench_data data;
    tune_place place[BUFFERS];
    int count;
};

static void add(tune_check *check, clv_buffer *buffer)
{
    if (buffer)
        check->place[check->count++] = (tune_place){.buffer = buffer};
}

int tune_check_create(clvox_context *ctx, tune_check **out)
{
    static const int size[3] = {67, 46, 35}; /* with room for the search of patches */
    int status = CLVOX_OK;
    tune_check *check = calloc(1, sizeof *check);
    *out = NULL;
    if (!check)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(bench_data_create(ctx, size, true, &check->data));
    for (int i = 0; i < BENCH_OUT; i++)
        add(check, check->data.out[i]);
    add(check, check->data.field[0]);
    add(check, check->data.field[1]);
    add(check, check->data.nine);
    add(check, check->data.state);
    for (int i = 0; i < check->count; i++) {
        tune_place *p = &check->place[i];
        p->start = malloc(p->buffer->bytes + 1);
        p->want = malloc(p->buffer->bytes + 1);
        p->got = malloc(p->buffer->bytes + 1);
        if (!p->start || !p->want || !p->got) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
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

/* Its own rows have scratch in nine. */
static bool is_scratch(const tune_check *check, const bench_row *row, const clv_buffer *buffer)
{
    bool own = false;
    for (const bench_row *r = tune_rows; r->name; r++)
        own |= r == row;
    return own && buffer == check->data.nine;
}

int tune_check_run(tune_check *check, const bench_row *row, bool *same)
{
    int status = run(check, row, false);
    *same = true;
    for (int i = 0; i < check->count && status >= 0; i++) {
        const tune_place *p = &check->place[i];
        *same = *same && (is_scratch(check, row, p->buffer) || !memcmp(p->want, p->got, p->buffer->bytes));
    }
    return status;
}
