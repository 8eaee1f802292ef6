/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, table 2.3: the product with the Helmholtz matrix by constants in the kernel and with stored
 * matrices. */
#include "bench/bench_table.h"
#include "bench/papers/lines.h"
#include "bench/papers/op/solvers/stored_matrix.h"
#include "bench/papers/ref/stored_matrix.h"

/* Values and columns are the line's own. */
static clv_stored_matrix matrix_of(const bench_data *d)
{
    return (clv_stored_matrix){.size = {d->size[0], d->size[1], d->size[2]}, .alpha = .01f, .gamma = .001f,
                               .values = d->own[0], .columns = d->own[1]};
}

static int prepare(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    (void)line;
    for (int i = 0; i < 2; i++) {
        clv_buffer_destroy(&d->own[i]);
        CLV_TRY(clv_buffer_create(d->ctx, (size_t)CLV_MATRIX_NUMBERS * 4 * (size_t)d->n, "stored matrix",
                                  &d->own[i]));
    }
    const clv_stored_matrix m = matrix_of(d);
    CLV_TRY(clv_stored_matrix_fill(d->ctx, &m));
end:
    return status;
}

static int run_form(bench_data *d, clv_matrix_form form)
{
    const clv_stored_matrix m = matrix_of(d);
    return clv_stored_matrix_multiply(d->ctx, &m, form, d->in[0], d->out[0]);
}

static int run_implicit(bench_data *d, const paper_line *line)
{
    (void)line;
    return run_form(d, CLV_MATRIX_IMPLICIT);
}

static int run_dia(bench_data *d, const paper_line *line)
{
    (void)line;
    return run_form(d, CLV_MATRIX_DIA);
}

static int run_ell(bench_data *d, const paper_line *line)
{
    (void)line;
    return run_form(d, CLV_MATRIX_ELL);
}

static int check(bench_check *c, const paper_line *line)
{
    (void)line;
    ref_matrix_multiply(c->in[0], c->data->size, (double).01f, (double).001f, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-6, 1e-6);
}

/* Operations as the thesis counts them: two for each of seven numbers. */
#define FORM(moved, times) \
    .check = check, .prepare = prepare, .devices = CLV_ON_ANY, .bytes = moved, .operations = 14, .said = times
static const paper_line lines[] = {
    {.name = "matrix, implicit",
     .run = run_implicit,
     FORM(8, "53, 59 GFLOPS"),
     .entry = &clv_entry_matrix_implicit,
     .against = PAPER_ALONE},
    {.name = "matrix, diagonals (DIA)",
     .run = run_dia,
     FORM(36, "27, 27 GFLOPS"),
     .entry = &clv_entry_matrix_dia,
     .against = 0,
     .expects = PAPER_SLOWER,
     .figure = 27. / 59,
     .conclusion = "a stored matrix is slower than constants in the kernel"},
    {.name = "matrix, rows (ELL)",
     .run = run_ell,
     FORM(64, "17, 16 GFLOPS"),
     .entry = &clv_entry_matrix_ell,
     .against = 0,
     .expects = PAPER_SLOWER,
     .figure = 16. / 59,
     .conclusion = "a stored matrix is slower than constants in the kernel"},
};

int bench_ha2011_matrices(bench_run *run, bench_data *data)
{
    const paper_table table = {"ha2011", "GTX 260 or Tesla S1070", "the thesis", lines,
                               (int)(sizeof lines / sizeof *lines)};
    fprintf(run->out, "Table 2.3, 128x128x128 and 256x256x256: products with the Helmholtz matrix of one "
                      "component, 14 operations a\n"
                      "voxel; implicit against stored diagonals (DIA) and rows (ELL)\n");
    const int status = paper_print(run, data, &table);
    for (int i = 0; i < 2; i++)
        clv_buffer_destroy(&data->own[i]);
    return status;
}
