/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the participants. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd_bids/bids.h"
#include "cli/matrix.h"
#include "clvox/command/pair.h"
#include "clvox/command/table.h"
#include "clvox/files.h"

/* A file of the derivatives, from their folder. */
static const char *inside(const cli_bids *b, const char *path)
{
    path += strlen(b->folder);
    return path + strspn(path, "/");
}

static void print_list(FILE *to, const void *what)
{
    const cli_bids *b = what;
    char path[PATH_MAX + 4];
    fprintf(to, "image\n");
    for (int i = 0; i < b->count; i++) {
        if (access(b->prepared[i], F_OK))
            continue;
        snprintf(path, sizeof path, "../%s", inside(b, b->prepared[i]));
        clvox_table_fields(to, (const char *[]){path}, 1);
        fputc('\n', to);
    }
}

int cli_bids_list(const cli_bids *b, const char *path)
{
    const int status = clvox_folders_make(path);
    return status < 0 ? status : clvox_table_write(path, print_list, b);
}

/* ---- the group ------------------------------------------------------------- */

/* A row: the pair, its log Jacobian, and the logarithm of its affine's volume change. */
typedef struct row {
    const clvox_listed *file;
    const clvox_pair *pair;
    char image[PATH_MAX];
    double log_affine;
} row;

typedef struct table {
    const cli_bids *bids;
    row *row;
    int count;
} table;

static int add(table *t, const clvox_listed *file, const clvox_pair *pair)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    clvox_transform *affine = NULL;
    row *r = &t->row[t->count];
    *r = (row){.file = file, .pair = pair, .log_affine = NAN};
    CLI_TRY(cli_bids_path(t->bids, pair->moving, "%P%g_logjac.nii.gz", path));
    if (!access(path, F_OK))
        snprintf(r->image, sizeof r->image, "%s", inside(t->bids, path));
    CLI_TRY(clvox_transform_read(clvox_pair_path(pair->names, CLVOX_PAIR_AFFINE, path), &affine));
    r->log_affine = log(fabs(cli_matrix_determinant(CLI_MATRIX(affine->matrix))));
    t->count++;
end:
    clvox_transform_destroy(&affine);
    return status;
}

static void print_table(FILE *to, const void *what)
{
    const table *t = what;
    const clvox_list *l = t->bids->files;
    for (int c = 0; c < l->columns; c++)
        clvox_table_fields(to, (const char *[]){l->column[c], ""}, 2);
    fprintf(to, "image\tlog_affine\tncc\tmetric_before\tmetric_after\tfolded\tsuspicions\n");
    for (int i = 0; i < t->count; i++) {
        const row *r = &t->row[i];
        const clvox_pair *p = r->pair;
        for (int c = 0; c < l->columns; c++) {
            const char *field = r->file->field ? r->file->field[c] : NULL;
            clvox_table_fields(to, (const char *[]){field && *field ? field : "n/a", ""}, 2);
        }
        clvox_table_fields(to, (const char *[]){*r->image ? r->image : "n/a"}, 1);
        clvox_table_number(to, "%.6f", r->log_affine);
        clvox_table_number(to, "%.6g", p->ncc);
        clvox_table_number(to, "%.6g", p->metric_before);
        clvox_table_number(to, "%.6g", p->metric_after);
        clvox_table_number(to, "%.0f", p->folded);
        clvox_table_fields(to, (const char *[]){"", p->suspicions && *p->suspicions ? p->suspicions : "n/a"},
                           2);
        fputc('\n', to);
    }
}

int cli_bids_table(command *cli, const cli_bids *b, const clvox_pairs *pairs, const char *path)
{
    int status = CLVOX_OK;
    table t = {.bids = b, .row = calloc((size_t)pairs->count + 1, sizeof *t.row)};
    if (!t.row)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < pairs->count; i++) {
        const clvox_pair *pair = &pairs->pair[i];
        if (pair->state == CLVOX_PAIR_DONE || pair->state == CLVOX_PAIR_PRESENT)
            CLI_TRY(add(&t, b->file[i], pair));
        else
            cli_note(cli, "%s: is not in %s: %s", b->file[i]->image, path,
                     pair->message ? pair->message : "its registration is not complete");
    }
    CLI_TRY(clvox_table_write(path, print_table, &t));
    cli_log_output(cli, path);
end:
    free(t.row);
    return status;
}
