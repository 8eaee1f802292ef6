/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of b-values and directions, of FSL and of MRtrix. */
#include "io/gradients.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/matrix.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/tensor.h"
#include "io/volume/mif.h"
#include "io/plain.h"

enum {
    TEXT_LIMIT = 16 << 20, /* bytes of a table */
    WEAK = 50,             /* s/mm^2: below it a volume needs no direction */
    SHELL_GAP = 80         /* s/mm^2: b-values further apart are of two shells */
};

/* ---- numbers in lines --------------------------------------------------- */

typedef struct row {
    int line, count;
    size_t first; /* in the table's values */
} row;

typedef struct table {
    const char *path; /* the caller's */
    row *rows;        /* lines without a number are none */
    int count;
    double *values;
} table;

static void table_free(table *t)
{
    free(t->rows);
    free(t->values);
    memset(t, 0, sizeof *t);
}

static bool between(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r' || c == '\v' || c == '\f';
}

/* Fills the table, whose arrays hold as many as the text can have. */
static int parse(const char *text, size_t size, table *t)
{
    const char *p = text, *last = text + size;
    size_t used = 0;
    int line = 1;
    bool fresh = true;
    if (size >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3))
        p += 3;
    while (p < last) {
        if (*p == '\n') {
            line++;
            fresh = true;
            p++;
        } else if (between(*p)) {
            p++;
        } else if (*p == '#') {
            while (p < last && *p != '\n')
                p++;
        } else {
            char *end;
            double value = strtod(p, &end);
            if (end == p || end > last || (end < last && *end != '\n' && *end != '#' && !between(*end))) {
                int length = 0;
                while (length < 20 && p + length < last && isgraph((unsigned char)p[length]))
                    length++;
                return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: \"%.*s\" is no number", t->path, line,
                                  length, p);
            }
            if (fresh)
                t->rows[t->count++] = (row){.line = line, .first = used};
            fresh = false;
            t->rows[t->count - 1].count++;
            t->values[used++] = value;
            p = end;
        }
    }
    return CLVOX_OK;
}

static int read_table(const char *path, table *t)
{
    int status;
    char *text = NULL;
    size_t size = 0;
    memset(t, 0, sizeof *t);
    t->path = path;
    CLV_TRY(clv_mif_gradients(path, &text));
    if (text)
        size = strlen(text);
    else
        CLV_TRY(clvox_file_read(path, TEXT_LIMIT, &text, &size));
    t->rows = clv_array(size / 2 + 1, sizeof *t->rows);
    t->values = clv_array(size / 2 + 1, sizeof *t->values);
    if (!t->rows || !t->values) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    clv_plain plain = clv_plain_begin();
    status = parse(text, size, t);
    clv_plain_end(plain);
    if (status >= 0 && !t->count)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s, line 1: contains no numbers", path);
end:
    free(text);
    if (status < 0)
        table_free(t);
    return status;
}

/* ---- what the numbers must be ------------------------------------------- */

static int take_b(const table *t, const row *r, int volume, double b, clvox_gradients *g)
{
    if (!isfinite(b) || b < 0)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: the b-value of volume %d is %g; it is 0 or more",
                          t->path, r->line, volume + 1, b);
    g->b[volume] = b;
    return CLVOX_OK;
}

/* Unit direction, or 0 0 0 where there is next to no weighting. */
static int take_direction(const table *t, const row *r, int volume, const double x[3], clvox_gradients *g)
{
    double *to = g->direction[volume];
    double largest = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2])));
    bool known = isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]) && largest > 0;
    to[0] = to[1] = to[2] = 0;
    if (!known && g->b[volume] >= WEAK)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s, line %d: volume %d has b = %g s/mm^2 and its direction is %g %g %g; give it a "
                          "direction or leave the volume out",
                          t->path, r->line, volume + 1, g->b[volume], x[0], x[1], x[2]);
    if (!known)
        return CLVOX_OK;
    double y[3] = {x[0] / largest, x[1] / largest, x[2] / largest};
    double length = sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
    for (int c = 0; c < 3; c++)
        to[c] = y[c] / length;
    if (g->b[volume] >= WEAK) {
        g->length[0] = g->length[1] > 0 ? fmin(g->length[0], length * largest) : length * largest;
        g->length[1] = fmax(g->length[1], length * largest);
    }
    return CLVOX_OK;
}

/* A scan is weighted by hundreds or thousands of s/mm^2; 0.7, 2 or 3 are ms/um^2, and taken as they are would
 * make every volume one without weighting. */
static int check_unit(const table *t, const clvox_gradients *g)
{
    double largest = 0;
    for (int v = 0; v < g->count; v++)
        largest = fmax(largest, g->b[v]);
    if (largest > 0 && largest < WEAK)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: its largest b-value is %g; b-values are in s/mm^2, as 1000: multiply those in "
                          "ms/um^2 by 1000",
                          t->path, largest);
    return CLVOX_OK;
}

static int create(const char *path, int volumes, clvox_gradients **out)
{
    *out = NULL;
    if (volumes < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: a DWI of %d volumes has no gradients", path, volumes);
    clvox_gradients *g = calloc(1, sizeof *g);
    if (g) {
        g->count = volumes;
        g->b = calloc((size_t)volumes, sizeof *g->b);
        g->direction = calloc((size_t)volumes, sizeof *g->direction);
    }
    if (!g || !g->b || !g->direction) {
        clvox_gradients_destroy(&g);
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    }
    *out = g;
    return CLVOX_OK;
}

void clvox_gradients_destroy(clvox_gradients **gradients)
{
    if (!gradients || !*gradients)
        return;
    free((*gradients)->b);
    free((*gradients)->direction);
    free(*gradients);
    *gradients = NULL;
}

/* ---- FSL ---------------------------------------------------------------- */

static int take_bval(const table *t, int volumes, clvox_gradients *g)
{
    int status = CLVOX_OK, across = t->rows[0].count, count = t->count == 1 ? across : t->count;
    for (int i = 0; i < t->count; i++)
        if (t->count > 1 && t->rows[i].count != 1)
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s, line %d: has %d numbers, and there are %d lines; a bval file is one line, "
                              "or one number a line",
                              t->path, t->rows[i].line, t->rows[i].count, t->count);
    if (count != volumes)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s, line %d: ends after %d b-values, but the DWI has %d volumes", t->path,
                          t->rows[t->count - 1].line, count, volumes);
    for (int v = 0; v < volumes && status >= 0; v++)
        status = take_b(t, &t->rows[t->count == 1 ? 0 : v], v, t->values[v], g);
    return status < 0 ? status : check_unit(t, g);
}

static int take_bvec(const table *t, int volumes, const double to_ras[3][3], clvox_gradients *g)
{
    int status = CLVOX_OK;
    /* Three lines of three numbers are what FSL's own files would be. */
    bool rows = t->count == 3;
    for (int i = 0; i < t->count; i++) {
        const row *r = &t->rows[i];
        if (rows && r->count != volumes)
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: has %d numbers, but the DWI has %d volumes",
                              t->path, r->line, r->count, volumes);
        if (!rows && r->count != 3)
            return clvox_fail(CLVOX_ERROR_FORMAT,
                              "%s, line %d: has %d numbers, and there are %d lines; a bvec file is three "
                              "lines of a number a volume, or a line of three numbers a volume",
                              t->path, r->line, r->count, t->count);
    }
    if (!rows && t->count != volumes)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s, line %d: ends after %d directions, but the DWI has %d volumes", t->path,
                          t->rows[t->count - 1].line, t->count, volumes);
    for (int v = 0; v < volumes && status >= 0; v++) {
        double x[3], y[3] = {0, 0, 0};
        int odd = 0; /* the line to name: that of the number which is not one */
        for (int c = 0; c < 3; c++) {
            x[c] = t->values[rows ? t->rows[c].first + (size_t)v : 3 * (size_t)v + (size_t)c];
            odd = rows && !isfinite(x[c]) ? c : odd;
        }
        status = take_direction(t, &t->rows[rows ? odd : v], v, x, g);
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 3; c++)
                y[a] += to_ras[a][c] * g->direction[v][c];
        memcpy(g->direction[v], y, sizeof y);
    }
    return status;
}

int clv_bvec_to_ras(const clvox_grid *grid, double out[3][3])
{
    double axes[4][4], spacing[3];
    double turn = clv_matrix_determinant(grid->to_ras) > 0 ? -1 : 1;
    clvox_grid_spacing(grid, spacing);
    clv_matrix_identity(axes);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            axes[i][j] = grid->to_ras[i][j] / spacing[j];
    int status = clv_matrix_rotation(CLV_MATRIX(axes), out);
    for (int i = 0; i < 3 && status >= 0; i++)
        out[i][0] *= turn;
    return status;
}

int clvox_gradients_read_fsl(const char *bval, const char *bvec, const clvox_grid *grid, int volumes,
                             clvox_gradients **out)
{
    CLV_GIVEN(bval, bvec, grid, out);
    int status;
    table values = {.path = bval}, vectors = {.path = bvec};
    clvox_gradients *g = NULL;
    double to_ras[3][3];
    *out = NULL;
    CLV_TRY(clv_bvec_to_ras(grid, to_ras));
    CLV_TRY(create(bval, volumes, &g));
    CLV_TRY(read_table(bval, &values));
    CLV_TRY(read_table(bvec, &vectors));
    CLV_TRY(take_bval(&values, volumes, g));
    CLV_TRY(take_bvec(&vectors, volumes, CLV_MATRIX3(to_ras), g));
    *out = g;
    g = NULL;
end:
    table_free(&values);
    table_free(&vectors);
    clvox_gradients_destroy(&g);
    return status;
}

/* ---- MRtrix ------------------------------------------------------------- */

int clvox_gradients_read_mrtrix(const char *path, int volumes, clvox_gradients **out)
{
    CLV_GIVEN(path, out);
    int status;
    table t = {.path = path};
    clvox_gradients *g = NULL;
    *out = NULL;
    CLV_TRY(create(path, volumes, &g));
    CLV_TRY(read_table(path, &t));
    for (int v = 0; v < t.count; v++)
        if (t.rows[v].count != 4) {
            status = clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: has %d numbers; a line is x y z b", path,
                                t.rows[v].line, t.rows[v].count);
            goto end;
        }
    if (t.count != volumes) {
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s, line %d: ends after %d directions, but the DWI has %d volumes", path,
                            t.rows[t.count - 1].line, t.count, volumes);
        goto end;
    }
    for (int v = 0; v < volumes; v++) {
        const double *x = t.values + t.rows[v].first;
        CLV_TRY(take_b(&t, &t.rows[v], v, x[3], g));
        CLV_TRY(take_direction(&t, &t.rows[v], v, x, g));
    }
    CLV_TRY(check_unit(&t, g));
    *out = g;
    g = NULL;
end:
    table_free(&t);
    clvox_gradients_destroy(&g);
    return status;
}

/* ---- shells ------------------------------------------------------------- */

int clvox_gradients_shells(const clvox_gradients *gradients, clvox_shell *out, int room)
{
    CLV_GIVEN(gradients);
    int shells = 0;
    size_t count = (size_t)gradients->count;
    double *sorted = clv_array(count + 1, sizeof *sorted);
    if (!sorted)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory for the list of shells");
    memcpy(sorted, gradients->b, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, clv_ascending);
    for (size_t i = 0, first = 0; i < count; i++) {
        if (i + 1 < count && sorted[i + 1] - sorted[i] <= SHELL_GAP)
            continue;
        double sum = 0;
        for (size_t j = first; j <= i; j++)
            sum += sorted[j];
        int volumes = (int)(i + 1 - first);
        if (shells < room)
            out[shells] = (clvox_shell){.b = 5 * round(sum / volumes / 5), .volumes = volumes};
        shells++;
        first = i + 1;
    }
    free(sorted);
    return shells;
}
