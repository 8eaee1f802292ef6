/* SPDX-License-Identifier: Apache-2.0 */
/* Reads records. They may come from anybody: every member is checked, and text
 * that could steer a terminal is made harmless here, once for all outputs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/status.h"
#include "bench/compare/compare.h"
#include "bench/record.h"

enum { FILE_MOST = 64 << 20, ROWS_MOST = 10000, CEILINGS_MOST = 1000, NAME_MOST = 120, TEXT_MOST = 1000 };

/* ---- text --------------------------------------------------------------- */

/* The length of the valid UTF-8 character at s, 0 where there is none. */
static int character(const unsigned char *s, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
    if (!length)
        return 0;
    *code = length == 1 ? *s : *s & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    return *code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : length;
}

/* Controls, and marks that turn the direction of writing round. */
static bool harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c & 0xfffe) == 0xfffe;
}

/* Puts ? for each byte of what is no text, and cuts what is endless. */
static void clean(char *text, size_t most)
{
    unsigned char *s = (unsigned char *)text;
    size_t at = 0;
    while (s[at]) {
        uint32_t code = 0;
        int length = character(s + at, &code);
        if (at + (size_t)length > most) {
            s[at] = 0;
            return;
        }
        if (!length || harmful(code))
            memset(s + at, '?', length ? (size_t)length : 1);
        at += length ? (size_t)length : 1;
    }
}

/* ---- members ------------------------------------------------------------ */

/* Where a member stands, for messages. */
typedef struct place {
    const char *path, *part; /* "rows" */
    int number; /* in it; -1: none */
    const char *inner; /* an object in that, or NULL */
} place;

static int wrong(const place *at, const char *name, const char *what)
{
    char where[64] = "";
    if (at->number >= 0)
        snprintf(where, sizeof where, "%s[%d].%s%s", at->part, at->number, at->inner ? at->inner : "",
                 at->inner ? "." : "");
    else if (*at->part)
        snprintf(where, sizeof where, "%s.", at->part);
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: %s%s is %s; the record is damaged, or was changed by hand",
                      at->path, where, name, what);
}

/* NULL and CLVOX_OK where the record leaves it out and may. */
static int member(const place *at, const cJSON *from, const char *name, bool needed, cJSON **out)
{
    *out = cJSON_GetObjectItemCaseSensitive(from, name);
    return *out || !needed ? CLVOX_OK : wrong(at, name, "missing");
}

static int read_text(const place *at, const cJSON *from, const char *name, bool needed, const char **out)
{
    cJSON *item;
    int status = member(at, from, name, needed, &item);
    *out = "";
    if (status < 0 || !item)
        return status;
    if (!cJSON_IsString(item))
        return wrong(at, name, "not text");
    clean(item->valuestring, strcmp(name, "remark") && strcmp(name, "conclusion") ? NAME_MOST : TEXT_MOST);
    *out = item->valuestring;
    return CLVOX_OK;
}

/* The same, not empty. */
static int read_word(const place *at, const cJSON *from, const char *name, const char **out)
{
    int status = read_text(at, from, name, true, out);
    return status < 0 || **out ? status : wrong(at, name, "empty");
}

/* A finite number from least on. */
static int read_number(const place *at, const cJSON *from, const char *name, bool needed, double least,
                       double *out)
{
    cJSON *item;
    int status = member(at, from, name, needed, &item);
    *out = NAN;
    if (status < 0 || !item)
        return status;
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || !(item->valuedouble >= least))
        return wrong(at, name, least > 0 ? "not a number above 0" : "not a number from 0 on");
    *out = item->valuedouble;
    return CLVOX_OK;
}

#define ABOVE_0 1e-300

static int read_whole(const place *at, const cJSON *from, const char *name, bool needed, int least, double *out)
{
    int status = read_number(at, from, name, needed, least, out);
    return status < 0 || isnan(*out) || *out == floor(*out) ? status : wrong(at, name, "not a whole number");
}

static int read_truth(const place *at, const cJSON *from, const char *name, bool *out)
{
    cJSON *item;
    int status = member(at, from, name, true, &item);
    if (status >= 0 && !cJSON_IsBool(item))
        return wrong(at, name, "neither true nor false");
    *out = status >= 0 && cJSON_IsTrue(item);
    return status;
}

static int read_size(const place *at, const cJSON *from, int size[3])
{
    cJSON *item, *edge;
    int status = member(at, from, "size", true, &item), count = 0;
    if (status < 0)
        return status;
    cJSON_ArrayForEach (edge, item) {
        double value = edge->valuedouble;
        if (count == 3 || !cJSON_IsNumber(edge) || !(value >= 1 && value <= INT32_MAX) ||
            value != floor(value))
            return wrong(at, "size", "not three whole numbers above 0");
        size[count++] = (int)value;
    }
    return count == 3 && cJSON_IsArray(item) ? CLVOX_OK
                                             : wrong(at, "size", "not three whole numbers above 0");
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What samples come to. */
typedef struct quartiles {
    double low, high;
    int count;
} quartiles;

/* Those of `of`, whose value must be their median. */
static int read_samples(const place *at, const cJSON *from, const char *of, double value, quartiles *out)
{
    static const char *const what = "not a list of numbers above 0";
    cJSON *item, *sample;
    int status = member(at, from, "samples", true, &item), count = 0;
    if (status < 0)
        return status;
    int most = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;
    if (!most)
        return wrong(at, "samples", what);
    double *values = malloc((size_t)most * sizeof *values);
    if (!values)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", at->path);
    cJSON_ArrayForEach (sample, item) {
        if (!cJSON_IsNumber(sample) || !isfinite(sample->valuedouble) || !(sample->valuedouble > 0)) {
            status = wrong(at, "samples", what);
            goto end;
        }
        values[count++] = sample->valuedouble;
    }
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    *out = (quartiles){record_quantile(values, count, 0.25), record_quantile(values, count, 0.75), count};
    if (!(fabs(record_quantile(values, count, 0.5) - value) <= 1e-6 * value))
        status = wrong(at, of, "not the median of its samples");
end:
    free(values);
    return status;
}

/* ---- forms -------------------------------------------------------------- */

/* Whether text is of the form: 9 stands for a digit, + for one or more, all else for itself. */
static bool is_of_form(const char *text, const char *form)
{
    for (; *form; form++) {
        bool digits = *form == '9' || *form == '+';
        if (digits ? *text < '0' || *text > '9' : *text != *form)
            return false;
        text++;
        while (*form == '+' && *text >= '0' && *text <= '9')
            text++;
    }
    return !*text;
}

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(text, *words))
        words++;
    return *words != NULL;
}

/* ---- parts -------------------------------------------------------------- */

static int read_paper(const place *at, const cJSON *from, compare_row *r)
{
    int status = CLVOX_OK;
    r->paper = true;
    CLV_TRY(read_number(at, from, "value", false, 0, &r->paper_value));
    r->paper_value = r->paper_value > 0 ? r->paper_value : NAN;
    CLV_TRY(read_number(at, from, "here", false, ABOVE_0, &r->paper_here));
    CLV_TRY(read_text(at, from, "unit", true, &r->paper_unit));
    CLV_TRY(read_text(at, from, "device", true, &r->paper_device));
    CLV_TRY(read_text(at, from, "conclusion", true, &r->paper_conclusion));
    CLV_TRY(read_truth(at, from, "holds", &r->paper_holds));
end:
    return status;
}

/* What the members of a row say of one another, and words that are not free. */
static int check_row(const place *at, const compare_row *r)
{
    if (!compare_group_is_known(r->group))
        return wrong(at, "group", "none that this version knows");
    if (*r->tile && !is_of_form(r->tile, "+x+x+") && !is_of_form(r->tile, "+x+x+,+"))
        return wrong(at, "tile", "not of the form 32x8x1 or 32x8x1,16");
    if (isfinite(r->share) && !*r->ceiling)
        return wrong(at, "share", "without a ceiling");
    if (r->occupancy > 1)
        return wrong(at, "occupancy", "above 1");
    return CLVOX_OK;
}

static int read_row(const place *at, const cJSON *from, compare_row *r)
{
    int status = CLVOX_OK;
    quartiles samples = {0};
    cJSON *paper;
    CLV_TRY(read_word(at, from, "group", &r->group));
    CLV_TRY(read_word(at, from, "name", &r->name));
    CLV_TRY(read_size(at, from, r->size));
    CLV_TRY(read_text(at, from, "variant", false, &r->variant));
    CLV_TRY(read_text(at, from, "tile", false, &r->tile));
    CLV_TRY(read_number(at, from, "seconds", true, ABOVE_0, &r->seconds));
    CLV_TRY(read_number(at, from, "spread", true, 0, &r->spread));
    CLV_TRY(read_samples(at, from, "seconds", r->seconds, &samples));
    r->low = samples.low;
    r->high = samples.high;
    r->samples = samples.count;
    CLV_TRY(read_number(at, from, "device_seconds", false, ABOVE_0, &r->device_seconds));
    CLV_TRY(read_number(at, from, "bytes", false, ABOVE_0, &r->bytes));
    CLV_TRY(read_number(at, from, "operations", false, ABOVE_0, &r->operations));
    CLV_TRY(read_text(at, from, "ceiling", false, &r->ceiling));
    CLV_TRY(read_number(at, from, "share", false, ABOVE_0, &r->share));
    CLV_TRY(read_whole(at, from, "registers", false, 1, &r->registers));
    CLV_TRY(read_number(at, from, "occupancy", false, ABOVE_0, &r->occupancy));
    CLV_TRY(read_text(at, from, "limit", false, &r->limit));
    CLV_TRY(read_truth(at, from, "verified", &r->verified));
    CLV_TRY(read_text(at, from, "remark", false, &r->remark));
    CLV_TRY(member(at, from, "paper", false, &paper));
    if (paper)
        CLV_TRY(read_paper(&(place){at->path, at->part, at->number, "paper"}, paper, r));
    status = check_row(at, r);
end:
    return status;
}

static int read_ceiling(const place *at, const cJSON *from, compare_ceiling *c)
{
    static const char *const units[] = {"B/s", "FLOP/s", "s", "1/s", NULL};
    int status = CLVOX_OK;
    quartiles samples;
    CLV_TRY(read_word(at, from, "name", &c->name));
    CLV_TRY(read_text(at, from, "unit", true, &c->unit));
    CLV_TRY(read_number(at, from, "value", true, ABOVE_0, &c->value));
    CLV_TRY(read_samples(at, from, "value", c->value, &samples));
    if (!is_one_of(c->unit, units))
        status = wrong(at, "unit", "none of B/s, FLOP/s, s and 1/s");
end:
    return status;
}

static int read_device(const place *at, const cJSON *from, compare_device *d)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator", NULL};
    int status = CLVOX_OK;
    CLV_TRY(read_text(at, from, "name", true, &d->name));
    CLV_TRY(read_text(at, from, "vendor", true, &d->vendor));
    CLV_TRY(read_text(at, from, "platform", true, &d->platform));
    CLV_TRY(read_text(at, from, "driver", true, &d->driver));
    CLV_TRY(read_text(at, from, "version", true, &d->version));
    CLV_TRY(read_text(at, from, "architecture", true, &d->architecture));
    CLV_TRY(read_text(at, from, "type", true, &d->type));
    CLV_TRY(read_whole(at, from, "compute_units", true, 0, &d->compute_units));
    CLV_TRY(read_whole(at, from, "clock_mhz", true, 0, &d->clock_mhz));
    CLV_TRY(read_whole(at, from, "global_bytes", true, 0, &d->global_bytes));
    CLV_TRY(read_whole(at, from, "local_bytes", true, 0, &d->local_bytes));
    if (!is_one_of(d->type, types))
        status = wrong(at, "type", "none of cpu, gpu and accelerator");
    if (!*d->name)
        d->name = "nameless device";
end:
    return status;
}

/* Whether this is a record, and one that this version understands. */
static int check_kind(const char *path, const cJSON *tree, const char **version)
{
    const cJSON *program = cJSON_GetObjectItemCaseSensitive(tree, "program");
    const cJSON *verb = cJSON_GetObjectItemCaseSensitive(tree, "verb");
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(tree, "schema");
    const place top = {path, "", -1, NULL};
    if (!cJSON_IsString(program) || strcmp(program->valuestring, "clvox"))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is JSON, but not from clvox; `clvox bench --json FILE` writes records", path);
    if (!cJSON_IsString(verb) || strcmp(verb->valuestring, "bench"))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is the log of another verb of clvox; `clvox bench --json FILE` writes records",
                          path);
    if (cJSON_GetObjectItemCaseSensitive(tree, "comparison"))
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is a comparison of records, not a record; name what it compared", path);
    int status = read_text(&top, tree, "version", true, version);
    if (status < 0)
        return status;
    if (!schema)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: was made by clvox bench before records had a schema (version %s); run the bench again", path,
            *version);
    if (!cJSON_IsNumber(schema) || schema->valuedouble != RECORD_SCHEMA)
        return clvox_fail(
            CLVOX_ERROR_FORMAT, "%s: has schema %.6g, from clvox %s; this is clvox %s, which reads schema %d",
            path, cJSON_IsNumber(schema) ? schema->valuedouble : 0, *version, clvox_version(), RECORD_SCHEMA);
    return CLVOX_OK;
}

/* A list of objects, of at most so many. */
static int check_list(const char *path, const cJSON *tree, const char *name, int most, const cJSON **list)
{
    const place top = {path, "", -1, NULL};
    *list = cJSON_GetObjectItemCaseSensitive(tree, name);
    if (!cJSON_IsArray(*list))
        return wrong(&top, name, "not a list");
    if (cJSON_GetArraySize(*list) > most)
        return wrong(&top, name, "endless");
    const cJSON *item;
    cJSON_ArrayForEach (item, *list)
        if (!cJSON_IsObject(item))
            return wrong(&top, name, "not a list of objects");
    return CLVOX_OK;
}

/* Sentences; a record without any leaves them out. */
static int read_remarks(const char *path, const cJSON *tree, compare_record *r)
{
    const place top = {path, "", -1, NULL};
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(tree, "remarks"), *item;
    if (!list)
        return CLVOX_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CEILINGS_MOST)
        return wrong(&top, "remarks", "not a list");
    r->remark = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *r->remark);
    if (!r->remark)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item))
            return wrong(&top, "remarks", "not a list of sentences");
        clean(item->valuestring, TEXT_MOST);
        r->remark[r->remarks++] = item->valuestring;
    }
    return CLVOX_OK;
}

static int read_parts(compare_record *r)
{
    int status = CLVOX_OK;
    const char *path = r->path;
    const place top = {path, "", -1, NULL};
    const cJSON *ceilings, *rows, *item;
    cJSON *device;
    CLV_TRY(check_kind(path, r->tree, &r->version));
    CLV_TRY(read_word(&top, r->tree, "version", &r->version));
    CLV_TRY(read_text(&top, r->tree, "sources", false, &r->sources));
    if (*r->sources && (strlen(r->sources) != 16 || strspn(r->sources, "0123456789abcdef") != 16)) {
        status = wrong(&top, "sources", "not 16 hexadecimal digits");
        goto end;
    }
    CLV_TRY(read_text(&top, r->tree, "date", true, &r->date));
    if (!is_of_form(r->date, "9999-99-99T99:99:99Z")) {
        status = wrong(&top, "date", "not of the form 2026-11-22T18:00:00Z");
        goto end;
    }
    CLV_TRY(member(&top, r->tree, "device", true, &device));
    CLV_TRY(read_device(&(place){path, "device", -1, NULL}, device, &r->device));
    CLV_TRY(read_remarks(path, r->tree, r));
    CLV_TRY(check_list(path, r->tree, "ceilings", CEILINGS_MOST, &ceilings));
    CLV_TRY(check_list(path, r->tree, "rows", ROWS_MOST, &rows));
    r->ceiling = calloc((size_t)cJSON_GetArraySize(ceilings) + 1, sizeof *r->ceiling);
    r->row = calloc((size_t)cJSON_GetArraySize(rows) + 1, sizeof *r->row);
    if (!r->ceiling || !r->row) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    cJSON_ArrayForEach (item, ceilings) {
        const place at = {path, "ceilings", r->ceilings, NULL};
        CLV_TRY(read_ceiling(&at, item, &r->ceiling[r->ceilings]));
        if (compare_find_ceiling(r, r->ceiling[r->ceilings].name)) {
            status = wrong(&at, "name", "that of another ceiling as well");
            goto end;
        }
        r->ceilings++;
    }
    cJSON_ArrayForEach (item, rows) {
        CLV_TRY(read_row(&(place){path, "rows", r->rows, NULL}, item, &r->row[r->rows]));
        r->rows++;
    }
    if (!r->rows && !r->ceilings)
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: holds neither ceilings nor rows; was the bench interrupted?", path);
end:
    return status;
}

int compare_record_read(const char *path, compare_record *out)
{
    int status = CLVOX_OK;
    char *text = NULL;
    size_t size;
    memset(out, 0, sizeof *out);
    out->path = path;
    CLV_TRY(clvox_file_read(path, FILE_MOST, &text, &size));
    out->tree = strlen(text) == size ? cJSON_ParseWithOpts(text, NULL, true) : NULL;
    if (!cJSON_IsObject(out->tree)) {
        status = clvox_fail(CLVOX_ERROR_FORMAT,
                            "%s: is not a JSON object, or was cut off; `clvox bench --json FILE` "
                            "writes records",
                            path);
        goto end;
    }
    const char *slash = strrchr(path, '/');
    out->file = out->file_text = strdup(slash && slash[1] ? slash + 1 : path);
    if (!out->file_text) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
        goto end;
    }
    clean(out->file_text, NAME_MOST);
    CLV_TRY(read_parts(out));
end:
    free(text);
    if (status < 0)
        compare_record_free(out);
    return status;
}

void compare_record_free(compare_record *record)
{
    cJSON_Delete(record->tree);
    free(record->file_text);
    free(record->ceiling);
    free(record->row);
    free(record->remark);
    memset(record, 0, sizeof *record);
}

const compare_ceiling *compare_find_ceiling(const compare_record *record, const char *name)
{
    for (int i = 0; i < record->ceilings; i++)
        if (!strcmp(record->ceiling[i].name, name))
            return &record->ceiling[i];
    return NULL;
}
