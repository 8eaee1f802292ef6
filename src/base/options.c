/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"

int clvox_numbers_read(const char *text, clvox_numbers *out)
{
    CLV_GIVEN_OR(0, text, out);
    clvox_numbers numbers = {.unit = CLVOX_UNIT_NONE};
    for (;;) {
        char *end;
        if (numbers.count == CLVOX_MAX_NUMBERS || strspn(text, "+-.0123456789") == 0)
            return false;
        /* strtod would take the x of 0x2 for a hexadecimal number. */
        char plain[64];
        size_t length = strspn(text, "+-.0123456789eE");
        if (length >= sizeof plain)
            return false;
        memcpy(plain, text, length);
        plain[length] = 0;
        double value = strtod(plain, &end);
        if (end != plain + length || !isfinite(value))
            return false;
        numbers.value[numbers.count++] = value;
        text += length;
        if (*text != 'x')
            break;
        text++;
    }
    if (!strcasecmp(text, "mm"))
        numbers.unit = CLVOX_UNIT_MM;
    else if (!strcasecmp(text, "vox"))
        numbers.unit = CLVOX_UNIT_VOXELS;
    else if (*text)
        return false;
    *out = numbers;
    return true;
}

/* ---- a row and its field ------------------------------------------------ */

static bool is_list(const clv_option *row)
{
    return row->type == CLVOX_OPTION_INTEGERS || row->type == CLVOX_OPTION_NUMBERS;
}

static bool is_whole(const clv_option *row)
{
    return row->type != CLVOX_OPTION_NUMBER && row->type != CLVOX_OPTION_NUMBERS;
}

static int read_int(const void *values, size_t offset)
{
    int value;
    memcpy(&value, (const char *)values + offset, sizeof value);
    return value;
}

int clv_option_count(const clv_option *row, const void *values)
{
    return is_list(row) ? read_int(values, row->count) : 1;
}

double clv_option_value(const clv_option *row, const void *values, int at)
{
    double value;
    if (is_whole(row))
        return read_int(values, row->offset + (size_t)at * sizeof(int));
    memcpy(&value, (const char *)values + row->offset + (size_t)at * sizeof value, sizeof value);
    return value;
}

static void set_value(const clv_option *row, void *values, int at, double value)
{
    int whole = is_whole(row) ? (int)value : 0;
    char *field = (char *)values + row->offset;
    if (is_whole(row))
        memcpy(field + (size_t)at * sizeof whole, &whole, sizeof whole);
    else
        memcpy(field + (size_t)at * sizeof value, &value, sizeof value);
}

void clv_option_copy(const clv_option *row, const void *from, void *to)
{
    size_t each = is_whole(row) ? sizeof(int) : sizeof(double), all = each * (is_list(row) ? (size_t)row->room : 1);
    memcpy((char *)to + row->offset, (const char *)from + row->offset, all);
}

const char *clv_option_word(const clv_option *row, int at)
{
    if (row->word)
        return at < 0 ? NULL : row->word(at);
    for (int i = 0; row->words && row->words[i]; i++)
        if (i == at)
            return row->words[i];
    return NULL;
}

const clv_option *clv_option_named(const clv_option_table *table, const char *name)
{
    int i = clvox_option_find(table, name);
    return i < 0 ? NULL : &table->rows[i];
}

int clvox_option_find(const clv_option_table *table, const char *name)
{
    CLV_GIVEN_OR(-1, table, name);
    for (int i = 0; i < table->count; i++)
        if (table->rows[i].name && !strcmp(table->rows[i].name, name))
            return i;
    return -1;
}

/* ---- words -------------------------------------------------------------- */

char *clv_option_key(const clv_option *row, char *out, size_t room)
{
    snprintf(out, room, "%s", row->key ? row->key : row->name);
    for (char *c = out; !row->key && *c; c++)
        if (*c == '-')
            *c = '_';
    return out;
}

static const char *suffix(clvox_unit unit)
{
    return unit == CLVOX_UNIT_MM ? "mm" : unit == CLVOX_UNIT_VOXELS ? "vox" : "";
}

char *clv_option_argument(const clv_option *row, char *out, size_t room)
{
    size_t used = 0;
    *out = 0;
    if (row->explain)
        return row->explain(out, room);
    if (row->argument)
        snprintf(out, room, "%s", row->argument);
    else if (row->type == CLVOX_OPTION_CHOICE)
        for (int i = 0; clv_option_word(row, i) && used < room; i++)
            used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "|" : "", clv_option_word(row, i));
    else if (row->type != CLVOX_OPTION_FLAG)
        snprintf(out, room, "%s%s%s%s", row->automatic ? row->automatic : "", row->automatic ? "|" : "",
                 is_list(row) ? "NxN" : "N", suffix(row->unit));
    return out;
}

/* The value as it would be typed; "": none. */
static void show(const clv_option *row, const void *values, char *out, size_t room)
{
    size_t used = 0;
    *out = 0;
    if (row->show) {
        row->show(values, out, room);
        return;
    }
    const double first = clv_option_value(row, values, 0);
    if (row->type == CLVOX_OPTION_FLAG || row->read)
        return;
    if (row->type == CLVOX_OPTION_CHOICE)
        snprintf(out, room, "%s", clv_option_word(row, (int)first) ? clv_option_word(row, (int)first) : "");
    else if (row->automatic)
        snprintf(out, room, "%s", row->automatic);
    else if (!row->unset || first >= 0)
        for (int i = 0; i < clv_option_count(row, values) && used < room; i++)
            used += (size_t)snprintf(out + used, room - used, "%s%g", i ? "x" : "",
                                     clv_option_value(row, values, i));
    if (used && used < room)
        snprintf(out + used, room - used, "%s", suffix(row->unit));
}

char *clv_option_default(const clv_option_table *table, const clv_option *row, const void *values, char *out,
                         size_t room)
{
    char text[160] = "";
    void *own = values ? NULL : calloc(1, table->size);
    const bool felt = values && !(row->idle && row->idle(row, values, ""));
    *out = 0;
    if (own)
        table->defaults(own);
    if (felt || !table->varies || !table->varies(row, text, sizeof text)) {
        *text = 0;
        if (values || own)
            show(row, values ? values : own, text, sizeof text);
    }
    if (*text)
        snprintf(out, room, "default %s", text);
    free(own);
    return out;
}

/* ---- ranges ------------------------------------------------------------- */

/* Says what is wrong with a value, "is below 0"; NULL: nothing. */
static const char *wrong(const clv_option *row, double value, char *out, size_t room)
{
    bool above = row->open & CLV_OPTION_ABOVE, below = row->open & CLV_OPTION_BELOW, ends = row->most != 0;
    if (row->type == CLVOX_OPTION_CHOICE)
        return clv_option_word(row, (int)value) ? NULL : "is not known";
    bool low = above ? value > row->least : value >= row->least;
    bool high = !ends || (below ? value < row->most : value <= row->most);
    if (low && high && (!is_whole(row) || (value == floor(value) && fabs(value) <= INT_MAX)))
        return NULL;
    if (low && high)
        return "is not a whole number";
    if (isnan(value))
        return "is not a number";
    if (ends && isfinite(row->least))
        snprintf(out, room, "is not from %s%g to %s%g", above ? "above " : "", row->least,
                 below ? "below " : "", row->most);
    else if (!low)
        snprintf(out, room, above ? "is not above %g" : "is below %g", row->least);
    else
        snprintf(out, room, below ? "is not below %g" : "is above %g", row->most);
    return out;
}

int clv_options_sized(const void *values, size_t size)
{
    size_t own;
    memcpy(&own, values, sizeof own);
    if (own == size)
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "options: their size is given as %zu bytes, and libclvox %s has %zu; set them with the "
                      "function that ends in _defaults, and build the program with this version's headers",
                      own, clvox_version(), size);
}

int clv_options_check(const clv_option_table *table, const void *values)
{
    char key[64], text[80];
    int status = clv_options_sized(values, table->size);
    if (status < 0)
        return status;
    /* How many there are comes before what they are. */
    for (int i = 0; i < table->count; i++) {
        const clv_option *row = &table->rows[i];
        int count = clv_option_count(row, values);
        if (is_list(row) && (count < !row->none || count > row->room))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %d of them; %d to %d are possible",
                              clv_option_key(row, key, sizeof key), count, !row->none, row->room);
    }
    for (int i = 0; i < table->count; i++) {
        const clv_option *row = &table->rows[i];
        for (int k = 0; k < clv_option_count(row, values); k++) {
            double value = clv_option_value(row, values, k);
            const char *what = row->unset && value < 0 ? NULL : wrong(row, value, text, sizeof text);
            if (what)
                return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %g %s", clv_option_key(row, key, sizeof key),
                                  value, what);
        }
    }
    return CLVOX_OK;
}

/* ---- reading ------------------------------------------------------------ */

static int read_choice(const clv_option *row, const char *text, void *values)
{
    char all[256];
    for (int i = 0; clv_option_word(row, i); i++)
        if (!strcasecmp(text, clv_option_word(row, i))) {
            set_value(row, values, 0, i);
            return CLVOX_OK;
        }
    if (row->brackets && strchr(text, '['))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s", row->brackets);
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "not known; the choices are %s",
                      clv_option_argument(row, all, sizeof all));
}

static int read_numbers(const clv_option *row, const char *text, double mm, void *values)
{
    clvox_numbers numbers;
    char why[80], form[64];
    int room = is_list(row) ? row->room : 1;
    if (!clvox_numbers_read(text, &numbers))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s %s",
                          row->type == CLVOX_OPTION_INTEGER  ? "not a whole number, as"
                          : row->type == CLVOX_OPTION_NUMBER ? "not a number, as"
                                                             : "not of the form",
                          clv_option_argument(row, form, sizeof form));
    if (numbers.count > room)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d numbers; at most %d %s possible", numbers.count, room,
                          room == 1 ? "is" : "are");
    bool other = numbers.unit != CLVOX_UNIT_NONE && numbers.unit != row->unit;
    if (other && row->unit == CLVOX_UNIT_NONE)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a number without a unit is expected");
    if (other && !row->either)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a length in %s is expected, as 1.5%s",
                          row->unit == CLVOX_UNIT_MM ? "mm" : "voxels", suffix(row->unit));
    const double unit = !other ? 1 : row->unit == CLVOX_UNIT_VOXELS ? 1 / mm : mm;
    clv_option range = *row;
    if (other && !(mm > 0))
        range.most = 0; /* is in the other unit */
    for (int i = 0; i < numbers.count; i++) {
        const char *what = wrong(&range, numbers.value[i] * (other && mm > 0 ? unit : 1), why, sizeof why);
        if (what)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%g %s", numbers.value[i], what);
    }
    if (is_list(row))
        memcpy((char *)values + row->count, &numbers.count, sizeof numbers.count);
    if (other && !(mm > 0))
        return CLVOX_OK;
    for (int i = 0; i < numbers.count; i++)
        set_value(row, values, i, numbers.value[i] * unit);
    return CLVOX_OK;
}

int clv_option_read(const clv_option *row, const char *text, double mm, void *values)
{
    char context[160];
    int status = CLVOX_OK;
    if (row->automatic && !strcasecmp(text, row->automatic))
        return CLVOX_OK;
    if (row->type == CLVOX_OPTION_FLAG)
        set_value(row, values, 0, 1);
    else if (row->read)
        status = row->read(row, text, values);
    else if (row->type == CLVOX_OPTION_CHOICE)
        status = read_choice(row, text, values);
    else
        status = read_numbers(row, text, mm, values);
    if (status >= 0)
        return status;
    snprintf(context, sizeof context, "--%s %s", row->name, text);
    return clvox_fail_in(status, context);
}

/* Lists of one count that are given have as many numbers; those that are not follow. */
static int match_counts(const clv_option_table *table, const char *const *given, const void *before,
                        void *values)
{
    clvox_numbers numbers, first;
    for (int i = 0; i < table->count; i++) {
        const clv_option *row = &table->rows[i];
        if (!is_list(row))
            continue;
        const clv_option *leader = NULL;
        for (int k = 0; k < table->count && !leader; k++)
            if (is_list(&table->rows[k]) && table->rows[k].count == row->count && given[k])
                if (clvox_numbers_read(given[k], &first))
                    leader = &table->rows[k];
        if (leader && given[i] && clvox_numbers_read(given[i], &numbers) && numbers.count != first.count)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s and --%s differ in their number of levels",
                              leader->name, row->name);
        if (leader && !given[i] && row->resize)
            row->resize(before, values);
    }
    return CLVOX_OK;
}

static const clv_option *row_at(const clvox_option_table *table, int at)
{
    return at >= 0 && at < table->count ? &table->rows[at] : NULL;
}

int clvox_option_describe(const clvox_option_table *table, int at, clvox_option_text *out)
{
    CLV_GIVEN_OR(0, table, out);
    const clv_option *row = row_at(table, at);
    if (!row)
        return 0;
    memset(out, 0, sizeof *out);
    out->name = row->name;
    out->help = row->help ? row->help : "";
    out->flag = row->type == CLVOX_OPTION_FLAG;
    out->letter = row->letter;
    out->type = row->type;
    out->group = row->group;
    out->basic = row->basic;
    out->needs = row->needs;
    clv_option_key(row, out->key, sizeof out->key);
    if (row->name) {
        clv_option_argument(row, out->argument, sizeof out->argument);
        clv_option_default(table, row, NULL, out->standard, sizeof out->standard);
    }
    return 1;
}

void clvox_option_standard(const clvox_option_table *table, int at, const void *options, char out[192])
{
    CLV_GIVEN_OR(, table, out);
    const clv_option *row = row_at(table, at);
    *out = 0;
    if (row && row->name)
        clv_option_default(table, row, options, out, 192);
}

const char *clvox_option_word(const clvox_option_table *table, int at, int which)
{
    CLV_GIVEN_OR(NULL, table);
    const clv_option *row = row_at(table, at);
    return row && row->type == CLVOX_OPTION_CHOICE ? clv_option_word(row, which) : NULL;
}

int clvox_option_numbers(const clvox_option_table *table, int at, const void *options,
                         double values[CLVOX_MAX_NUMBERS])
{
    CLV_GIVEN_OR(0, table, options, values);
    const clv_option *row = row_at(table, at);
    int count = row ? clv_option_count(row, options) : 0;
    if (count > CLVOX_MAX_NUMBERS)
        count = CLVOX_MAX_NUMBERS;
    for (int i = 0; i < count; i++)
        values[i] = clv_option_value(row, options, i);
    return count;
}

const char *clvox_option_idle(const clvox_option_table *table, int at, const void *options, const char *text)
{
    CLV_GIVEN_OR(NULL, table, options);
    const clv_option *row = row_at(table, at);
    return row && row->idle && text ? row->idle(row, options, text) : NULL;
}

int clvox_options_check(const clvox_option_table *table, const void *options)
{
    CLV_GIVEN(table, options);
    return table->check ? table->check(options) : clv_options_check(table, options);
}

int clvox_options_set(const clvox_option_table *table, const char *const *names, const char *const *texts, int count,
                      double mm, void *options)
{
    CLV_GIVEN(table, options);
    const char *given[CLVOX_MAX_OPTIONS] = {NULL};
    for (int i = 0; i < count; i++) {
        int at = clvox_option_find(table, names[i]);
        if (at < 0)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no option %s", names[i]);
        given[at] = texts[i] ? texts[i] : "";
    }
    return clvox_options_read(table, given, mm, options);
}

int clvox_options_read(const clv_option_table *table, const char *const *given, double mm, void *values)
{
    CLV_GIVEN(table, given, values);
    int status = clv_options_sized(values, table->size);
    if (status < 0)
        return status;
    void *before = malloc(table->size);
    if (!before)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    memcpy(before, values, table->size);
    for (int i = 0; i < table->count; i++)
        if (given[i])
            CLV_TRY(clv_option_read(&table->rows[i], given[i], mm, values));
    CLV_TRY(match_counts(table, given, before, values));
end:
    free(before);
    return status;
}
