/* SPDX-License-Identifier: Apache-2.0 */
/* Voxels, volume and centroid of each label. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "clvox/command/label_names.h"
#include "clvox/command/table.h"
#include "clvox/compare.h"
#include "clvox/files.h"

typedef struct measured {
    clvox_label_measure *row;
    char **name; /* of each row, or NULL; NULL: there is no table of names */
    int count;
    const char *table;
} measured;

static void print(FILE *to, const void *what)
{
    const measured *m = what;
    fprintf(to, "label\t%svoxels\tmm3\tx\ty\tz\n", m->name ? "name\t" : "");
    for (int i = 0; i < m->count; i++) {
        const clvox_label_measure *r = &m->row[i];
        fprintf(to, "%" PRId64 "\t", r->label);
        if (m->name) {
            clvox_table_fields(to, (const char *const[]){m->name[i] ? m->name[i] : "n/a"}, 1);
            fputc('\t', to);
        }
        fprintf(to, "%zu", r->voxels);
        clvox_table_number(to, "%.8g", r->mm3);
        for (int a = 0; a < 3; a++)
            clvox_table_number(to, "%.3f", r->centroid[a] + 0); /* no -0 */
        fputc('\n', to);
    }
}

static int show(const command *cli, const measured *m)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    print(to, m);
    const int status = fclose(to) ? clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory") : CLVOX_OK;
    if (status >= 0)
        cli_print(cli, "%s", text);
    free(text);
    return status;
}

static void log_rows(command *cli, const measured *m)
{
    cJSON *list = cJSON_AddArrayToObject(cli->log, "labels");
    for (int i = 0; i < m->count; i++) {
        const clvox_label_measure *r = &m->row[i];
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "label", (double)r->label);
        if (m->name && m->name[i])
            cJSON_AddStringToObject(one, "name", m->name[i]);
        cJSON_AddNumberToObject(one, "voxels", (double)r->voxels);
        cJSON_AddNumberToObject(one, "mm3", r->mm3);
        cJSON_AddItemToObject(one, "centroid_ras_mm", cJSON_CreateDoubleArray(r->centroid, 3));
        cJSON_AddItemToArray(list, one);
    }
}

int cmd_labels(command *cli, int argc, char **argv)
{
    measured m = {.row = NULL};
    const char *out = NULL;
    const cli_option options[] = {
        {"names", 0, CLI_TEXT, &m.table, "TABLE",
         "names of the labels: columns label (or index) and name, .tsv or .csv"},
        {"output", 'o', CLI_OUT, &out, "TABLE", "write the table to this file instead of printing it"},
        {0},
    };
    const cli_usage usage = {.options = options, .least = 1, .most = 1};
    clvox_volume *labels = NULL;
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    CLI_TRY(cli_load(cli, &(cli_input){words[0], &labels, CLI_AS_LABELS}, 1, NULL, NULL, false));
    status = clvox_labels_measure(labels, &m.row);
    if (status < 0) {
        clvox_fail_in(status, words[0]);
        goto end;
    }
    m.count = status;
    if (!m.count)
        cli_note(cli, "%s: has no label: every voxel is 0", words[0]);
    if (m.table)
        CLI_TRY(clvox_label_names_read(m.table, m.row, m.count, &m.name));
    log_rows(cli, &m);
    if (!out)
        CLI_TRY(show(cli, &m));
    if (out) {
        CLI_TRY(clvox_table_write(out, print, &m));
        cli_log_output(cli, out);
    }
    status = CLVOX_OK;
end:
    clvox_label_names_free(&m.name, m.count);
    clvox_label_measure_destroy(&m.row);
    clvox_volume_destroy(&labels);
    return status;
}
