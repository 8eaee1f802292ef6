/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/rows/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Odd sides, which no tile divides and of which one is prime; even ones, of which kernels take whole
 * vectors, with the factors 2 to 5 of Fourier transforms; and for sums more voxels than a chunk of any
 * device has. */
enum { SMALL = 2, ALL = 3 };
static const int SIZES[ALL][3] = {{23, 14, 11}, {32, 20, 12}, {64, 40, 30}};

int bench_wrong(const clvox_context *ctx, const char *what, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return clvox_fail(CLVOX_ERROR_DATA,
                      "%s: the result on %s is wrong (%s), so its time would mean nothing; please "
                      "report it with what `clvox devices -v` says",
                      what, clvox_context_limits(ctx)->name, why);
}

int check_values(bench_check *c, const float *got, const double *want, size_t count, double absolute,
                 double relative)
{
    double worst = 1;
    size_t at = count;
    for (size_t i = 0; i < count; i++) {
        double error;
        if (c->unsure[i % c->n])
            continue;
        if (isnan(got[i]) || isnan(want[i]))
            error = isnan(got[i]) && isnan(want[i]) ? 0 : INFINITY;
        else
            error = fabs((double)got[i] - want[i]) / (absolute + relative * fabs(want[i]));
        if (error > worst) {
            worst = error;
            at = i;
        }
    }
    return at == count ? CLVOX_OK
                       : bench_wrong(c->data->ctx, c->label, "value %zu is %.7g and should be %.7g", at,
                                     (double)got[at], want[at]);
}

int check_buffer(bench_check *c, const clv_buffer *buffer, const double *want, size_t count, double absolute,
                 double relative)
{
    int status = clv_buffer_read(c->data->ctx, buffer, 0, c->got, count * sizeof(float));
    return status < 0 ? status : check_values(c, c->got, want, count, absolute, relative);
}

int check_read_field(bench_check *c, const clv_buffer *field, float *planar)
{
    float *device = c->got + 9 * c->n;
    int status = clv_buffer_read(c->data->ctx, field, 0, device, 3 * c->n * sizeof(float));
    bool packed = clv_fields_packed(c->data->ctx);
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < 3; k++)
            planar[k * c->n + i] = packed ? device[3 * i + k] : device[k * c->n + i];
    return status;
}

int check_field(bench_check *c, const clv_buffer *field, const double *want, double absolute, double relative)
{
    int status = check_read_field(c, field, c->got);
    return status < 0 ? status : check_values(c, c->got, want, 3 * c->n, absolute, relative);
}

int check_number(bench_check *c, double got, double want, double absolute)
{
    return fabs(got - want) <= absolute
               ? CLVOX_OK
               : bench_wrong(c->data->ctx, c->label, "%.9g should be %.9g", got, want);
}

double check_largest(const double *values, size_t count)
{
    double most = 1e-30;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

static int create(bench_check *c, bench_data *data)
{
    int status = CLVOX_OK;
    size_t n = (size_t)data->n, floats = (BENCH_IN + 2 + 3 + 3 + 12 + 6 + 3 + 12) * n;
    float *room = calloc(floats, sizeof *room);
    c->data = data;
    c->n = n;
    c->in[0] = room; /* what is to be freed */
    c->want = calloc(3 * 27 * n, sizeof *c->want);
    c->unsure = calloc(n, sizeof *c->unsure);
    if (!room || !c->want || !c->unsure)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
    c->in[1] = room + n;
    c->labels = room + 2 * n;
    c->level = room + 3 * n;
    c->u = room + 4 * n;
    c->v = room + 7 * n;
    c->tensor = room + 10 * n;
    c->tensor_data = room + 16 * n;
    c->dwi = room + 22 * n;
    c->field = room + 28 * n;
    c->got = room + 31 * n;
    c->more = c->want + 27 * n;
    c->most = c->want + 54 * n;
    CLV_TRY(clv_buffer_read(data->ctx, data->in[0], 0, c->in[0], n * sizeof *room));
    CLV_TRY(clv_buffer_read(data->ctx, data->in[1], 0, c->in[1], n * sizeof *room));
    CLV_TRY(clv_buffer_read(data->ctx, data->labels, 0, c->labels, n * sizeof *room));
    CLV_TRY(clv_buffer_read(data->ctx, data->level, 0, c->level, n * sizeof *room));
    CLV_TRY(check_read_field(c, data->u, c->u));
    CLV_TRY(check_read_field(c, data->v, c->v));
    CLV_TRY(clv_buffer_read(data->ctx, data->tensor, 0, c->tensor, 6 * n * sizeof *room));
    CLV_TRY(clv_buffer_read(data->ctx, data->tensor_data, 0, c->tensor_data, 6 * n * sizeof *room));
    CLV_TRY(clv_buffer_read(data->ctx, data->dwi, 0, c->dwi,
                            BENCH_VOLUMES * (size_t)bench_scan(data) * sizeof *room));
    CLV_TRY(check_read_field(c, data->field[1], c->field));
end:
    return status;
}

static int verify_at(clvox_context *ctx, const int size[3], const char *label,
                     int (*run)(bench_data *, const void *), int (*check)(bench_check *, const void *),
                     const void *what)
{
    int status = CLVOX_OK;
    bench_data data;
    bench_check c = {.label = label};
    CLV_TRY(bench_data_create(ctx, size, true, &data));
    CLV_TRY(create(&c, &data));
    CLV_TRY(run(&data, what));
    CLV_TRY(check(&c, what));
end:
    free(c.in[0]);
    free(c.want);
    free(c.unsure);
    bench_data_release(&data);
    return status;
}

int bench_verify_small(clvox_context *ctx, const char *label, int (*run)(bench_data *, const void *),
                       int (*check)(bench_check *, const void *), const void *what)
{
    int status = CLVOX_OK;
    for (int i = 0; i < SMALL && status >= 0; i++)
        status = verify_at(ctx, SIZES[i], label, run, check, what);
    return status;
}

static int run_row(bench_data *data, const void *what)
{
    const bench_row *row = what;
    int status = row->begin ? row->begin(data) : CLVOX_OK;
    return status < 0 ? status : row->run(data);
}

static int check_row(bench_check *c, const void *what)
{
    return ((const bench_row *)what)->check(c);
}

/* Numbers of a whole volume, whose chunks are put together at the end. */
static bool of_chunks(const bench_row *row)
{
    static int (*const checks[])(bench_check *) = {
        check_sum,   check_dot,  check_longest, check_statistics,       check_histogram,   check_rate,
        check_ssd,  check_ncc,     check_mi,               check_linear_sums, check_energy,
        check_lncc,  check_conjugate,           check_smooth_longest,   check_tv_sums,
        check_linear_histogram, check_mind_points,
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (row->check == checks[i])
            return true;
    return false;
}

int bench_verify(clvox_context *ctx, const bench_row *row, const char *label)
{
    int status = CLVOX_OK, count = of_chunks(row) ? ALL : SMALL, compared = 0;
    for (int i = 0; i < count; i++) {
        status = verify_at(ctx, SIZES[i], label, run_row, check_row, row);
        if (status >= 0)
            compared++;
        else if (status != CLVOX_ERROR_DEVICE) /* a size that this form does not take */
            return status;
    }
    return compared > 0 ? CLVOX_OK : status;
}
