/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of several records are one line, and how fast each is. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "bench/compare/compare.h"

static const struct {
    const char *name, *title;
    bool paper;
} groups[] = {
    {"pipelines", "Pipelines", false},
    {"kernels", "Operations", false},
    {"nlm", "Search for nearest patches", false},
    {"lee2012", "Lee et al. 2012: registration", true},
    {"moazeni2009", "Moazeni et al. 2009: total variation of tensors", true},
    {"ha2011", "Ha et al. 2011: image processing", true},
    {"mueller2008", "Mueller et al. 2008: convolution", true},
};
enum { GROUPS = sizeof groups / sizeof *groups };

static int known_group(const char *group)
{
    for (int g = 0; g < GROUPS; g++)
        if (!strcmp(groups[g].name, group))
            return g;
    return GROUPS;
}

bool compare_group_is_known(const char *group)
{
    return known_group(group) < GROUPS;
}

const char *compare_group_title(const char *group)
{
    int g = known_group(group);
    return g < GROUPS ? groups[g].title : group;
}

bool compare_group_is_paper(const char *group)
{
    int g = known_group(group);
    return g < GROUPS && groups[g].paper;
}

/* ---- lines -------------------------------------------------------------- */

/* A name within a group; which size each record has it in first. */
typedef struct entry {
    const compare_row *row; /* the first of that name, for its words */
    uint32_t hash;
    bool sizes;
    const int *size[COMPARE_MOST];
} entry;

static uint32_t mix(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return (hash ^ 0x1f) * 16777619u;
}

static uint32_t hash_of(const compare_row *row)
{
    return mix(mix(2166136261u, row->group), row->name);
}

static bool same_size(const int a[3], const int b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* The entry of the row, a new one behind the count that there are if it has none. */
static entry *find_entry(entry *entries, int *count, const compare_row *row)
{
    uint32_t hash = hash_of(row);
    for (int i = 0; i < *count; i++)
        if (entries[i].hash == hash && !strcmp(entries[i].row->name, row->name) &&
            !strcmp(entries[i].row->group, row->group))
            return &entries[i];
    entry *e = &entries[(*count)++];
    e->row = row;
    e->hash = hash;
    return e;
}

/* The line of an entry, of that size where it has several. */
static compare_line *find_line(compare_set *set, uint32_t *hashes, const entry *e, const compare_row *row)
{
    for (int i = 0; i < set->lines; i++) {
        compare_line *line = &set->line[i];
        if (hashes[i] == e->hash && !strcmp(line->name, row->name) && !strcmp(line->group, row->group) &&
            (!e->sizes || same_size(line->size, row->size)))
            return line;
    }
    hashes[set->lines] = e->hash;
    compare_line *line = &set->line[set->lines++];
    *line = (compare_line){.group = row->group, .name = row->name, .size = row->size, .sizes = e->sizes};
    return line;
}

/* Of several variants an operation is represented by the first, which the
 * planner chose; a line of a paper by the one that has the paper's figure, else
 * by the fastest, as the papers did. */
static void enter(compare_line *line, int i, const compare_row *row)
{
    const compare_row *have = line->row[i];
    if (have)
        line->more[i]++;
    if (!have || (compare_group_is_paper(row->group) &&
                  (row->paper > have->paper || (row->paper == have->paper && row->seconds < have->seconds))))
        line->row[i] = row;
}

/* ---- how fast ----------------------------------------------------------- */

double compare_cost(const compare_row *row, compare_basis basis)
{
    switch (basis) {
    case COMPARE_SECONDS: return row->seconds;
    case COMPARE_OPERATIONS: return row->seconds / row->operations;
    case COMPARE_BYTES: return row->seconds / row->bytes;
    case COMPARE_VOXELS: return row->seconds / row->size[0] / row->size[1] / row->size[2];
    default: return NAN;
    }
}

/* Of the records whose bit is set. */
static compare_basis choose_basis(const compare_line *line, int count, unsigned wanted)
{
    const compare_row *first = NULL;
    bool sizes = true, operations = true, bytes = true;
    for (int i = 0; i < count; i++) {
        const compare_row *row = line->row[i];
        if (!row || !(wanted >> i & 1))
            continue;
        first = first ? first : row;
        sizes &= same_size(row->size, first->size);
        operations &= isfinite(row->operations) != 0;
        bytes &= isfinite(row->bytes) != 0;
    }
    bool voxels = !strcmp(line->group, "kernels") || !strcmp(line->group, "pipelines");
    return sizes        ? COMPARE_SECONDS
           : operations ? COMPARE_OPERATIONS
           : bytes      ? COMPARE_BYTES
           : voxels     ? COMPARE_VOXELS
                        : COMPARE_NOTHING;
}

static void judge(compare_line *line, int count)
{
    const compare_row *first = line->row[0];
    line->basis = choose_basis(line, count, ~0u);
    if (line->basis != COMPARE_SECONDS)
        line->size = NULL;
    for (int i = 0; i < count; i++) {
        const compare_row *row = line->row[i];
        line->speed[i] = NAN;
        if (!row || !first)
            continue;
        line->by[i] = choose_basis(line, count, 1u | 1u << i);
        double cost = compare_cost(row, line->by[i]), against = compare_cost(first, line->by[i]);
        line->speed[i] = against / cost;
        double unit = cost / row->seconds, other = against / first->seconds;
        line->alike[i] =
            i && row->low * unit <= first->high * other && first->low * other <= row->high * unit;
    }
}

/* Groups in their order, those that are not known behind them as they come. */
static void sort_lines(compare_set *set, compare_line *sorted)
{
    int placed = 0;
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < set->lines; i++)
            if (known_group(set->line[i].group) == g)
                sorted[placed++] = set->line[i];
    for (int i = 0; i < set->lines; i++) {
        const char *group = set->line[i].group;
        bool new = known_group(group) == GROUPS;
        for (int k = 0; k < i && new; k++)
            new = strcmp(set->line[k].group, group) != 0;
        for (int k = i; k < set->lines && new; k++)
            if (!strcmp(set->line[k].group, group))
                sorted[placed++] = set->line[k];
    }
    free(set->line);
    set->line = sorted;
}

/* Of the lines first..last, which are a group. */
static const int *find_usual(const compare_line *first, const compare_line *last, int i)
{
    const int *best = NULL;
    int most = 0;
    for (const compare_line *line = first; line <= last; line++) {
        const compare_row *row = line->row[i];
        int alike = 0;
        if (!row || (best && same_size(best, row->size)))
            continue;
        for (const compare_line *other = line; other <= last; other++)
            alike += other->row[i] && same_size(other->row[i]->size, row->size);
        if (alike > most) {
            most = alike;
            best = row->size;
        }
    }
    return best;
}

static void find_sizes(compare_set *set)
{
    for (int k = 0, end; k < set->lines; k = end) {
        for (end = k; end < set->lines && !strcmp(set->line[end].group, set->line[k].group);)
            end++;
        for (int i = 0; i < set->count; i++) {
            const int *usual = find_usual(&set->line[k], &set->line[end - 1], i);
            for (int j = k; j < end; j++)
                set->line[j].usual[i] = usual;
        }
    }
}

int compare_match(compare_set *set)
{
    int status = CLVOX_OK, entries = 0;
    size_t most = 1;
    for (int i = 0; i < set->count; i++)
        most += (size_t)set->record[i].rows;
    entry *all = calloc(most, sizeof *all);
    uint32_t *hashes = calloc(most, sizeof *hashes);
    compare_line *sorted = calloc(most, sizeof *sorted);
    set->line = calloc(most, sizeof *set->line);
    if (!all || !hashes || !sorted || !set->line) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the comparison");
        goto end;
    }
    for (int i = 0; i < set->count; i++)
        for (int k = 0; k < set->record[i].rows; k++) {
            const compare_row *row = &set->record[i].row[k];
            entry *e = find_entry(all, &entries, row);
            if (!e->size[i])
                e->size[i] = row->size;
            e->sizes |= !same_size(e->size[i], row->size);
        }
    for (int i = 0; i < set->count; i++)
        for (int k = 0; k < set->record[i].rows; k++) {
            const compare_row *row = &set->record[i].row[k];
            enter(find_line(set, hashes, find_entry(all, &entries, row), row), i, row);
        }
    for (int i = 0; i < set->lines; i++)
        judge(&set->line[i], set->count);
    sort_lines(set, sorted);
    sorted = NULL;
    find_sizes(set);
end:
    free(all);
    free(hashes);
    free(sorted);
    return status;
}

/* ---- over many ---------------------------------------------------------- */

const char *const compare_fields[] = {"Copies and arithmetic",
                                      "Sums and histograms",
                                      "Derivatives",
                                      "Smoothing",
                                      "Warping",
                                      "Forces and metrics",
                                      "Surfaces",
                                      "Tensors",
                                      "Others",
                                      NULL};

const char *compare_field(const char *name)
{
    static const char *const words[] = {
        " copy blend pointwise ",
        " reduce statistics histogram linear affine longest ",
        " gradient sobel jacobian ",
        " gaussian smooth recursive unsharp median ",
        " warp resample downsample compose inverse advance compositive_step push metric_force ",
        " force energy likeness metric lncc fluid ",
        " redistance nlm mesh level surface ",
        " tensor mppca ",
    };
    enum { WORDS = sizeof words / sizeof *words };
    char word[32];
    snprintf(word, sizeof word, " %.*s ", (int)strcspn(name, " ,/"), name);
    for (int f = 0; f < WORDS; f++)
        if (strstr(words[f], word))
            return compare_fields[f];
    return compare_fields[WORDS];
}

double compare_mean(const compare_set *set, int i, const char *group, const char *field, int *count)
{
    double sum = 0;
    *count = 0;
    for (int k = 0; k < set->lines; k++) {
        const compare_line *line = &set->line[k];
        if (strcmp(line->group, group) || !isfinite(line->speed[i]) || compare_is_variant(line) ||
            compare_is_stage(line) || (field && strcmp(compare_field(line->name), field)))
            continue;
        sum += log(line->speed[i]);
        ++*count;
    }
    return *count ? exp(sum / *count) : NAN;
}

double compare_mean_share(const compare_set *set, int i, const char *group, int *count)
{
    double sum = 0;
    *count = 0;
    for (int k = 0; k < set->lines; k++) {
        const compare_row *row = set->line[k].row[i];
        if (!row || strcmp(row->group, group) || !isfinite(row->share) || compare_is_variant(&set->line[k]))
            continue;
        sum += log(row->share);
        ++*count;
    }
    return *count ? exp(sum / *count) : NAN;
}

const int *compare_group_size(const compare_set *set, const char *group, int i)
{
    for (int k = 0; k < set->lines; k++)
        if (!strcmp(set->line[k].group, group))
            return set->line[k].usual[i];
    return NULL;
}

const int *compare_own_size(const compare_line *line)
{
    const int *first = NULL;
    bool own = line->sizes;
    for (int i = 0; i < COMPARE_MOST; i++)
        if (line->row[i]) {
            first = first ? first : line->row[i]->size;
            own |= !same_size(line->row[i]->size, line->usual[i]);
        }
    return own ? first : NULL;
}

bool compare_is_variant(const compare_line *line)
{
    return line->name[0] == ' ';
}

bool compare_is_stage(const compare_line *line)
{
    return !strcmp(line->group, "pipelines") && strstr(line->name, ": ");
}

bool compare_has_share(const compare_line *line)
{
    bool has = false;
    for (int i = 0; i < COMPARE_MOST; i++)
        has |= line->row[i] && isfinite(line->row[i]->share);
    return has && !compare_is_variant(line) && !compare_group_is_paper(line->group);
}

const char *compare_basis_text(compare_basis basis)
{
    static const char *const text[] = {"", "time an operation", "time a byte", "time a voxel",
                                       "not comparable"};
    return text[basis];
}

void compare_set_free(compare_set *set)
{
    for (int i = 0; i < set->count; i++)
        compare_record_free(&set->record[i]);
    free(set->line);
    memset(set, 0, sizeof *set);
}

const compare_row *compare_told(const compare_set *set, const compare_line *line)
{
    for (int i = 0; i < set->count; i++)
        if (line->row[i] && line->row[i]->paper)
            return line->row[i];
    return NULL;
}
