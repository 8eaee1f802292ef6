/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of the labels of one person in each scan, by the Jacobians of their maps. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/cmd_atlas/atlas.h"
#include "cli/matrix.h"
#include "clvox/command/table.h"

bool cli_atlas_has_change(const cli_atlas_request *r)
{
    return r->within && r->warps && r->with_labels;
}

void cli_atlas_change_free(cli_atlas_change *c)
{
    clvox_label_measure_destroy(&c->label);
    free(c->mm3);
    c->mm3 = NULL;
}

static int by_label(const void *a, const void *b)
{
    const int64_t x = ((const clvox_label_measure *)a)->label, y = ((const clvox_label_measure *)b)->label;
    return (x > y) - (x < y);
}

/* Adds up what a voxel of each label is in a scan, in voxels of the template. */
static void add_up(const cli_atlas_change *c, const clvox_volume *labels, const clvox_volume *log,
                   double *sum)
{
    for (size_t i = 0; i < clvox_grid_voxels(&labels->grid); i++) {
        const float value = labels->data[i];
        const clvox_label_measure wanted = {.label = isfinite(value) ? llrintf(value) : 0};
        const clvox_label_measure *row =
            wanted.label ? bsearch(&wanted, c->label, (size_t)c->labels, sizeof wanted, by_label) : NULL;
        if (row)
            sum[row - c->label] += exp((double)log->data[i]);
    }
}

int cli_atlas_change_measure(const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                             cli_atlas_change *c)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    clvox_volume *log = NULL;
    *c = (cli_atlas_change){.r = r, .result = result};
    CLI_TRY(c->labels = clvox_labels_measure(result->labels, &c->label));
    const size_t cells = (size_t)r->count * (size_t)c->labels; /* of 65536 scans and 8192 labels at most */
    c->mm3 = calloc(cells + 1, sizeof *c->mm3);
    if (!c->mm3)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; status >= 0 && i < r->count; i++) {
        const clvox_atlas_map *m = &result->map[i];
        double *sum = c->mm3 + (size_t)i * (size_t)c->labels;
        if (!(m->share > 0))
            continue;
        status = clvox_volume_read(cli_atlas_map_path(r, i, CLI_ATLAS_LOG_JACOBIAN, at, path), &log);
        if (status >= 0)
            add_up(c, result->labels, log, sum);
        clvox_volume_destroy(&log);
        for (int k = 0; status >= 0 && k < c->labels; k++)
            sum[k] *= c->label[k].mm3 / (double)c->label[k].voxels *
                      fabs(cli_matrix_determinant(CLI_MATRIX(m->matrix)));
    }
end:
    if (status < 0)
        cli_atlas_change_free(c);
    return status < 0 ? status : CLVOX_OK;
}

int cli_atlas_change_scan(const cli_atlas_change *c, bool last)
{
    int i = last ? c->r->count - 1 : 0;
    while (!(c->result->map[i].share > 0)) /* one at least has a share */
        i += last ? -1 : 1;
    return i;
}

static void print(FILE *to, const void *what)
{
    const cli_atlas_change *c = what;
    const double *first = c->mm3 + (size_t)cli_atlas_change_scan(c, false) * (size_t)c->labels;
    fprintf(to, "label\tsubject\tmm3\tchange_mm3\tchange_percent\n");
    for (int k = 0; k < c->labels; k++)
        for (int i = 0; i < c->r->count; i++) {
            const double mm3 = c->mm3[(size_t)i * (size_t)c->labels + (size_t)k];
            if (!(c->result->map[i].share > 0))
                continue;
            fprintf(to, "%" PRId64, c->label[k].label);
            clvox_table_fields(to, (const char *[]){"", c->r->entry[i].file->name}, 2);
            clvox_table_number(to, "%.3f", mm3);
            clvox_table_number(to, "%.3f", mm3 - first[k]);
            clvox_table_number(to, "%.3f", 100 * (mm3 / first[k] - 1));
            fputc('\n', to);
        }
}

int cli_atlas_change_write(const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                           const char *path)
{
    cli_atlas_change c;
    int status = cli_atlas_change_measure(r, at, result, &c);
    if (status < 0)
        return status;
    status = clvox_table_write(path, print, &c);
    cli_atlas_change_free(&c);
    return status;
}
