/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects of a test: the table, its columns, the maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_stats/stats.h"

int cli_stats_read_covariates(cli_stats_request *r, const char *text)
{
    char *rest = r->names = strdup(text);
    if (!rest)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (char *one; (one = strsep(&rest, ","));) {
        if (!*one)
            return cli_misuse("--covariates %s: names of columns with commas between them are needed", text);
        if (r->covariates == CLI_STATS_COVARIATES)
            return cli_misuse("--covariates: more than %d columns", CLI_STATS_COVARIATES);
        if (!r->of_mean && !strcmp(one, r->test))
            return cli_misuse("--covariates %s: %s is the tested column", text, one);
        r->column[++r->covariates].name = one;
    }
    return CLVOX_OK;
}

/* ---- the table ----------------------------------------------------------- */

/* The fields of the tested column and the covariates, which follow that of the image, if there is one. */
static int read_row(void *user, int line, const char *const *text)
{
    cli_stats_request *r = user;
    const size_t room = (size_t)r->subjects + 1;
    if (!r->image) {
        char **grown = reallocarray(r->path, room, sizeof *grown);
        if (!grown)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        r->path = grown;
        if (!(r->path[r->subjects] = clvox_table_path(r->list, *text++)))
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s, line %d: there is no image", r->list, line);
        r->maps++;
    }
    for (int c = r->of_mean; c <= r->covariates; c++, text++) {
        cli_stats_column *column = &r->column[c];
        char **grown = reallocarray(column->word, room, sizeof *grown);
        if (!grown)
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        column->word = grown;
        column->word[r->subjects] = NULL;
        if (!strcmp(*text, "n/a"))
            return clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s, line %d: %s is not known (n/a); leave the subject out, or fill it in",
                            r->list, line, column->name);
        if (!(column->word[r->subjects] = strdup(*text)))
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    r->subjects++;
    return CLVOX_OK;
}

static bool is_number(const char *word, double *out)
{
    char *end;
    *out = strtod(word, &end);
    return end != word && !*end && isfinite(*out);
}

/* By value for numbers ("10" is after "9", and "1.0" is "1"), else by the alphabet. */
static int order(const char *a, const char *b, bool numbers)
{
    double x = 0, y = 0;
    if (!numbers)
        return strcmp(a, b);
    is_number(a, &x);
    is_number(b, &y);
    return (x > y) - (x < y);
}

/* Makes numbers of a column's words. */
static int settle_column(const cli_stats_request *r, cli_stats_column *c, double *value)
{
    bool numbers = true, two = true;
    int word = -1;
    c->value = value;
    for (int i = 0; i < r->subjects; i++)
        if (!is_number(c->word[i], &value[i])) {
            numbers = false;
            word = word < 0 ? i : word;
        }
    c->group[0] = c->word[0];
    for (int i = 1; i < r->subjects && two; i++) {
        if (!order(c->word[i], c->group[0], numbers) ||
            (c->group[1] && !order(c->word[i], c->group[1], numbers)))
            continue;
        two = !c->group[1];
        c->group[1] = c->group[1] ? c->group[1] : c->word[i];
    }
    if (!numbers && !two)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                        "%s: the column %s has neither numbers nor two words (%s is no number, and there are "
                        "more than two "
                        "values)",
                        r->list, c->name, c->word[word]);
    if (!c->group[1])
        return clvox_fail(CLVOX_ERROR_DATA,
                        "%s: the column %s has one value, %s, in all rows; there is nothing to compare",
                        r->list, c->name, c->word[0]);
    if (!two) {
        c->group[0] = c->group[1] = NULL;
        return CLVOX_OK;
    }
    if (order(c->group[0], c->group[1], numbers) > 0) {
        const char *other = c->group[0];
        c->group[0] = c->group[1];
        c->group[1] = other;
    }
    for (int i = 0; i < r->subjects; i++) {
        value[i] = order(c->word[i], c->group[1], numbers) == 0;
        c->count[value[i] > 0]++;
    }
    return CLVOX_OK;
}

int cli_stats_read_list(cli_stats_request *r)
{
    int status = CLVOX_OK, count = 0;
    const char *names[CLVOX_TABLE_COLUMNS] = {NULL};
    if (!r->image)
        names[count++] = "image";
    for (int c = r->of_mean; c <= r->covariates; c++)
        names[count++] = r->column[c].name;
    CLI_TRY(clvox_table_read(&(clvox_table){r->list, names, count, read_row, r}));
    if (!r->subjects) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no subject in it", r->list);
        goto end;
    }
    r->values = calloc((size_t)(r->covariates + 1) * (size_t)r->subjects, sizeof *r->values);
    if (!r->values) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int c = r->of_mean; c <= r->covariates; c++)
        CLI_TRY(settle_column(r, &r->column[c], r->values + (size_t)c * (size_t)r->subjects));
end:
    return status;
}

/* ---- the maps ------------------------------------------------------------ */

static int check_map(const cli_stats_request *r, const char *path, const clvox_volume *v)
{
    if (v->kind != CLVOX_KIND_SCALAR)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: a map has one value a voxel, such as FA or a log Jacobian",
                        path);
    if (!r->image && v->frames != 1)
        return clvox_fail(CLVOX_ERROR_DATA,
                        "%s: has %d volumes; the map of a subject has one (-i takes all in one file)", path,
                        v->frames);
    if (r->image && r->list && v->frames != r->subjects)
        return clvox_fail(CLVOX_ERROR_DATA, "%s: has %d volumes, and %s has %d rows; one for each is needed",
                        path, v->frames, r->list, r->subjects);
    return CLVOX_OK;
}

/* Once the first map is there. The test holds the residuals of the maps beside them. */
static void say_plan(const command *cli, const cli_stats_request *r)
{
    const clvox_volume *v = r->map[0];
    const int *size = v->grid.size, maps = r->image ? v->frames : r->maps;
    char bytes[32];
    cli_remark(cli, 0, "plan     %d maps of %d x %d x %d voxels; up to %s of host memory\n", maps, size[0],
               size[1], size[2], cli_bytes(8. * maps * (double)clvox_grid_voxels(&v->grid), bytes));
}

int cli_stats_load(command *cli, cli_stats_request *r)
{
    int status = CLVOX_OK;
    r->maps = r->image ? 1 : r->subjects;
    r->map = calloc((size_t)r->maps, sizeof *r->map);
    if (!r->map)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    const char *first = r->image ? r->image : r->path[0];
    for (int i = 0; i < r->maps; i++) {
        const char *path = r->image ? r->image : r->path[i];
        CLI_TRY(cli_claim_input(cli, path));
        CLI_TRY(cli_load(cli, &(cli_input){path, &r->map[i], 0}, 1, NULL, NULL, false));
        CLI_TRY(check_map(r, path, r->map[i]));
        CLI_TRY(cli_on_grid(path, r->map[i], first, r->map[0]));
        if (i == 0)
            say_plan(cli, r);
    }
    r->subjects = r->image ? r->map[0]->frames : r->subjects;
    CLI_TRY(cli_load(cli, &(cli_input){r->mask, &r->mask_volume, CLI_AS_MASK}, 1, NULL, NULL, false));
    CLI_TRY(cli_on_grid(r->mask, r->mask_volume, first, r->map[0]));
    CLI_TRY(cli_load(cli, &(cli_input){r->template, &r->template_volume, 0}, 1, NULL, NULL, false));
end:
    return status;
}

void cli_stats_free(cli_stats_request *r)
{
    for (int i = 0; i < r->maps; i++) {
        if (r->map)
            clvox_volume_destroy(&r->map[i]);
        if (r->path)
            free(r->path[i]);
    }
    for (int c = 0; c <= r->covariates; c++) {
        for (int i = 0; r->column[c].word && i < r->subjects; i++)
            free(r->column[c].word[i]);
        free(r->column[c].word);
    }
    free(r->map);
    free(r->path);
    free(r->names);
    free(r->values);
    clvox_volume_destroy(&r->mask_volume);
    clvox_volume_destroy(&r->template_volume);
}
