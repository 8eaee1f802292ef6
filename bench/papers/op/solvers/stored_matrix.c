/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/solvers/stored_matrix.h"

static const clv_variant fill_variants[] = {
    {.name = "item", .function = "matrix_fill", .devices = CLV_ON_ANY, .tiles = {{64, 4, 1, 1}}},
};
static const clv_variant implicit_variants[] = {
    {.name = "column", .function = "product_implicit", .item = {1, 1, CLV_WHOLE}, .devices = CLV_ON_ANY,
     .tiles = {{32, 8, 1, 1}, {16, 16, 1, 1}}},
};
#define ROWS(form)                                                                              \
    {.name = "item",                                                                            \
     .function = form,                                                                          \
     .item = {CLV_MARCH},                                                                       \
     .devices = CLV_ON_GPU,                                                                     \
     .tiles = {{256, 1, 1, 1}}},                                                                \
    {                                                                                           \
        .name = "run", .function = form, .item = {CLV_MARCH}, .devices = CLV_ON_CPU, .tiles = { \
            {1, 1, 1, 4096}                                                                     \
        }                                                                                       \
    }
static const clv_variant dia_variants[] = {ROWS("product_diagonals")};
static const clv_variant ell_variants[] = {ROWS("product_rows")};
const clv_entry clv_entry_matrix_fill = CLV_ENTRY("papers/stored_matrix", "matrix_fill", fill_variants, NULL);
const clv_entry clv_entry_matrix_implicit =
    CLV_ENTRY("papers/stored_matrix", "matrix_implicit", implicit_variants, NULL);
const clv_entry clv_entry_matrix_dia = CLV_ENTRY("papers/stored_matrix", "matrix_dia", dia_variants, NULL);
const clv_entry clv_entry_matrix_ell = CLV_ENTRY("papers/stored_matrix", "matrix_ell", ell_variants, NULL);

static const struct {
    const clv_entry *entry;
    double bytes; /* a voxel */
} forms[CLV_MATRIX_FORMS] = {
    {&clv_entry_matrix_implicit, 8}, {&clv_entry_matrix_dia, 36}, {&clv_entry_matrix_ell, 64}};

int clv_stored_matrix_fill(clvox_context *ctx, const clv_stored_matrix *m)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_matrix_fill, NULL, m->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, m->size, 56. * m->size[0] * m->size[1] * m->size[2], CLV_BUF(m->values),
                       CLV_BUF(m->columns), CLV_INT4(m->size[0], m->size[1], m->size[2], 0),
                       CLV_FLOAT(m->alpha), CLV_FLOAT(m->gamma)));
end:
    return status;
}

int clv_stored_matrix_multiply(clvox_context *ctx, const clv_stored_matrix *m, clv_matrix_form form,
                               const clv_buffer *v, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = m->size[0] * m->size[1] * m->size[2], line[3] = {n, 1, 1};
    const int *over = form == CLV_MATRIX_IMPLICIT ? m->size : line;
    CLV_TRY(clv_kernel_get(ctx, forms[form].entry, NULL, over, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, over, forms[form].bytes * n, CLV_BUF(m->values), CLV_BUF(m->columns),
                       CLV_BUF(v), CLV_BUF(out), CLV_INT4(m->size[0], m->size[1], m->size[2], 0),
                       CLV_FLOAT(m->alpha), CLV_FLOAT(m->gamma)));
end:
    return status;
}

const clv_entry *const clv_operation_papers_stored_matrix[] = {
    &clv_entry_matrix_fill, &clv_entry_matrix_implicit, &clv_entry_matrix_dia, &clv_entry_matrix_ell, NULL};
