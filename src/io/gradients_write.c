/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "clvox/tensor.h"
#include "io/gradients.h"
#include "io/plain.h"

/* Closes the stream of open_memstream and writes its text. */
static int finish(FILE *stream, char **text, const size_t *size, const char *path)
{
    int status = fclose(stream) ? clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path)
                                : clvox_file_write(path, *text, *size);
    free(*text);
    return status;
}

static FILE *start(char **text, size_t *size, const char *path)
{
    FILE *stream = open_memstream(text, size);
    if (!stream)
        clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    return stream;
}

static int write_fsl(const clvox_gradients *g, const double to_ras[3][3], const char *bval, const char *bvec)
{
    char *text;
    size_t size;
    FILE *stream = start(&text, &size, bval);
    if (!stream)
        return CLVOX_ERROR_MEMORY;
    for (int v = 0; v < g->count; v++)
        fprintf(stream, "%.10g%c", g->b[v], v + 1 < g->count ? ' ' : '\n');
    int status = finish(stream, &text, &size, bval);
    if (status < 0)
        return status;
    stream = start(&text, &size, bvec);
    if (!stream)
        return CLVOX_ERROR_MEMORY;
    for (int a = 0; a < 3; a++)
        for (int v = 0; v < g->count; v++) {
            const double *x = g->direction[v];
            /* 0.0 + ... turns -0 into 0. */
            double y = 0.0 + to_ras[0][a] * x[0] + to_ras[1][a] * x[1] + to_ras[2][a] * x[2];
            fprintf(stream, "%.10g%c", y, v + 1 < g->count ? ' ' : '\n');
        }
    return finish(stream, &text, &size, bvec);
}

int clvox_gradients_write_fsl(const clvox_gradients *gradients, const clvox_grid *grid, const char *bval,
                              const char *bvec)
{
    CLV_GIVEN(gradients, grid, bval, bvec);
    double to_ras[3][3];
    int status = clv_bvec_to_ras(grid, to_ras);
    if (status < 0)
        return status;
    clv_plain plain = clv_plain_begin();
    status = write_fsl(gradients, CLV_MATRIX3(to_ras), bval, bvec);
    clv_plain_end(plain);
    return status;
}

int clvox_gradients_write_mrtrix(const clvox_gradients *gradients, const char *path)
{
    CLV_GIVEN(gradients, path);
    char *text;
    size_t size;
    clv_plain plain = clv_plain_begin();
    FILE *stream = start(&text, &size, path);
    for (int v = 0; stream && v < gradients->count; v++) {
        const double *x = gradients->direction[v];
        fprintf(stream, "%.10g %.10g %.10g %.10g\n", x[0], x[1], x[2], gradients->b[v]);
    }
    int status = stream ? finish(stream, &text, &size, path) : CLVOX_ERROR_MEMORY;
    clv_plain_end(plain);
    return status;
}
