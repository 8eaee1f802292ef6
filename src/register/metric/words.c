/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as they are typed: "mi,lncc:4", "0.7lncc+0.3mi", "lncc/mi". */
#include "register/metric/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "register/metric/metric.h"
#include "register/model.h"
#include "register/options.h"

char *clv_metrics_words(char *out, size_t room)
{
    size_t used = 0;
    for (int i = 0; clv_metric_name(i) && used < room; i++) {
        const char *parameter = clv_metric_find((clvox_metric)i)->parameter;
        used += (size_t)snprintf(out + used, room - used, "%s%s%s%s%s", i ? "|" : "", clv_metric_name(i),
                                 parameter ? "[:" : "", parameter ? parameter : "", parameter ? "]" : "");
    }
    return out;
}

/* The row of a metric's number in either stage, which states its range. */
static const clv_option *row_of(size_t field)
{
    for (int i = 0; i < clv_register_table.count; i++)
        if (clv_register_table.rows[i].key && clv_register_table.rows[i].offset == field)
            return &clv_register_table.rows[i];
    return NULL;
}

/* "lncc" or "lncc:4": the metric, and its number where one is given, else *number stays. */
static int read_metric(const char *text, bool linear, const clv_metric_row **metric, int *number)
{
    size_t length = strcspn(text, ":");
    const clv_metric_row *row = NULL;
    char words[128], *end = NULL;
    for (int i = 0; clv_metric_name(i); i++) {
        const clv_metric_row *one = clv_metric_find((clvox_metric)i);
        const char *const names[] = {one->name, one->also};
        for (int k = 0; k < 2 && names[k]; k++)
            if (strlen(names[k]) == length && !strncasecmp(names[k], text, length))
                row = one;
    }
    if (!row && strchr(text, '['))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "values in brackets are options here; for CC[f.nii,m.nii,1,4] give -f f.nii "
                          "-m m.nii --metric lncc:4, and --weight for the third of several channels");
    if (!row || (text[length] && !row->parameter))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "not known; the choices are %s",
                          clv_metrics_words(words, sizeof words));
    *metric = row;
    if (!text[length])
        return CLVOX_OK;
    const clv_option *range = row_of(linear ? row->linear_field : row->field);
    long value = strtol(text + length + 1, &end, 10);
    if (!text[length + 1] || *end || value < range->least || value > range->most)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s:%s takes %g to %g", row->name, row->parameter,
                          range->least, range->most);
    *number = (int)value;
    return CLVOX_OK;
}

/* A metric of either stage with the number that the options give it, which may be given anew. */
static int read_stage(const char *text, bool linear, clvox_register_options *o)
{
    const clv_metric_row *row = NULL;
    int number = -1, status = read_metric(text, linear, &row, &number);
    if (status < 0)
        return status;
    *(linear ? &o->linear_metric : &o->metric) = row->metric;
    if (number >= 0)
        *(int *)(void *)((char *)o + (linear ? row->linear_field : row->field)) = number;
    return CLVOX_OK;
}

/* The weight before a metric's name, 1 where there is none; *text moves on to the name. */
static double read_weight(const char **text)
{
    const size_t digits = strspn(*text, "0123456789.");
    const double weight = digits ? strtod(*text, NULL) : 1;
    *text += digits;
    return weight;
}

/* "0.7lncc:4+0.3mi" of the deformation. */
static int read_sum(const char *text, clvox_register_options *o)
{
    int status = CLVOX_OK;
    double first = 1;
    o->besides = 0;
    for (int k = -1; text; k++) {
        const clv_metric_row *row = NULL;
        const char *plus = strchr(text, '+'), *name;
        char one[64];
        int number = -1;
        if (k == CLVOX_MAX_BESIDE)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d metrics", CLVOX_MAX_BESIDE + 1);
        snprintf(one, sizeof one, "%.*s", plus ? (int)(plus - text) : 60, text);
        text = plus ? plus + 1 : NULL;
        name = one;
        const double weight = read_weight(&name);
        if (!(weight > 0))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "weights of metrics are above 0, as in 0.7lncc+0.3mi");
        if (k < 0) {
            first = weight;
            CLV_TRY(read_stage(name, false, o));
            continue;
        }
        CLV_TRY(read_metric(name, false, &row, &number));
        o->beside[k] = row->metric;
        o->beside_parameter[k] = number < 0 ? clv_metric_parameter(row, o, false) : number;
        o->beside_weight[k] = weight / first;
        o->besides = k + 1;
    }
end:
    return status;
}

/* "lncc+mi/ssd": the sum for the first channel, and a metric for each further one. */
static int read_each(const char *text, clvox_register_options *o)
{
    int status = CLVOX_OK;
    char one[256];
    const char *slash = strchr(text, '/');
    o->channel_metrics = 0;
    snprintf(one, sizeof one, "%.*s", (int)strcspn(text, "/"), text);
    CLV_TRY(read_sum(one, o));
    for (; slash; slash = strchr(slash + 1, '/')) {
        const int at = o->channel_metrics;
        const clv_metric_row *row = NULL;
        int number = -1;
        if (at == CLVOX_MAX_CHANNELS - 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "metrics for more than %d channels", CLVOX_MAX_CHANNELS);
        snprintf(one, sizeof one, "%.*s", (int)strcspn(slash + 1, "/"), slash + 1);
        CLV_TRY(read_metric(one, false, &row, &number));
        o->channel_metric[at] = row->metric;
        o->channel_parameter[at] = number < 0 ? clv_metric_parameter(row, o, false) : number;
        o->channel_metrics = at + 1;
    }
end:
    return status;
}

int clv_metrics_read(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    char first[64], takes[64] = "";
    const char *comma = strchr(text, ','), *second = comma ? comma + 1 : text, *linear = text;
    int status = CLVOX_OK;
    (void)row;
    o->by_contrast = 0; /* what is asked for stays */
    if (!comma)
        read_weight(&linear);
    if (comma && strcspn(text, "+/") < (size_t)(comma - text))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the linear stage compares by one metric, as in mi,lncc+mi");
    snprintf(first, sizeof first, "%.*s", (int)strcspn(linear, comma ? "," : "+/"), linear);
    CLV_TRY(read_stage(first, true, o));
    CLV_TRY(read_each(second, o));
    if (clv_model_compares(o->deform, o->metric))
        return clv_register_check_metrics(o);
    for (int i = 0; clv_metric_name(i); i++)
        if (clv_model_compares(o->deform, (clvox_metric)i))
            snprintf(takes + strlen(takes), sizeof takes - strlen(takes), "%s%s", *takes ? " or " : "",
                     clv_metric_name(i));
    status = clvox_fail(CLVOX_ERROR_ARGUMENT, "the %s deformation compares by %s", clv_model_name(o->deform),
                        takes);
end:
    return status;
}

/* A metric beside the options' own, or of a further channel. */
static int check_further(const char *field, clvox_metric which, int parameter)
{
    const clv_metric_row *metric = clv_metric_find(which);
    const clv_option *range = metric && metric->parameter ? row_of(metric->field) : NULL;
    if (!metric)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: %d is no metric", field, (int)which);
    if (range && !(parameter >= range->least && parameter <= range->most))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s:%s takes %g to %g, not %d", metric->name,
                          metric->parameter, range->least, range->most, parameter);
    return CLVOX_OK;
}

int clv_register_check_metrics(const clvox_register_options *o)
{
    int status = CLVOX_OK;
    const clv_model *m = clv_model_find(o->deform);
    if (!clv_model_compares(o->deform, o->metric))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the %s model cannot compare by the metric asked for",
                          clv_model_name(o->deform));
    if (m && m->one_channel && o->besides + o->channel_metrics > 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the %s model compares by one metric; choose another model",
                          m->name);
    for (int i = 0; i < o->besides; i++)
        CLV_TRY(check_further("beside", o->beside[i], o->beside_parameter[i]));
    for (int i = 0; i < o->channel_metrics; i++)
        CLV_TRY(check_further("channel_metric", o->channel_metric[i], o->channel_parameter[i]));
end:
    return status;
}

void clv_metrics_show(const void *values, char *out, size_t room)
{
    const clvox_register_options *o = values;
    const clvox_metric metric[] = {o->linear_metric, o->metric};
    size_t used = 0;
    for (int i = 0; i < 2 && used < room; i++) {
        const clv_metric_row *row = clv_metric_find(metric[i]);
        const size_t field = i ? row->field : row->linear_field;
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? "," : "", row->name);
        if (row->parameter && used < room)
            used += (size_t)snprintf(out + used, room - used, ":%d",
                                     *(const int *)(const void *)((const char *)o + field));
    }
}
