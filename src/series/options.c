/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "register/metric/metric.h"
#include "series/series.h"

#define FIELD(field) CLV_FIELD(clvox_series_options, field)

static const char *const target_words[] = {"reference", "mean", NULL};
/* In the order of their enumerations, of which not all apply: clvox_register_series refuses the others. */
static const char *const linear_words[] = {"none", "translation", "rigid", "similarity", "scales", "affine", NULL};
static const char *const interpolation_words[] = {"auto", "nearest", "linear", "cubic", "label", "bspline", "lanczos",
                                                  NULL};
static const char *const output_words[] = {"auto", "input", "float", "double", "short", "ushort", "uchar", "int",
                                           NULL};

/* A word of a longer list. */
static int read_some(const clv_option *row, const char *text, void *values, const char *const *words,
                     const char *const *some, const char *all)
{
    for (int i = 0; words[i]; i++)
        for (int k = 0; some[k]; k++)
            if (!strcasecmp(words[i], text) && !strcmp(words[i], some[k])) {
                memcpy((char *)values + row->offset, &i, sizeof i);
                return CLVOX_OK;
            }
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "not known; the choices are %s", all);
}

#define LINEAR_CHOICES "translation|rigid|similarity|affine"
static int read_linear(const clv_option *row, const char *text, void *values)
{
    static const char *const some[] = {"translation", "rigid", "similarity", "affine", NULL};
    return read_some(row, text, values, linear_words, some, LINEAR_CHOICES);
}

#define INTERPOLATION_CHOICES "linear|cubic|bspline|lanczos"
static int read_interpolation(const clv_option *row, const char *text, void *values)
{
    static const char *const some[] = {"linear", "cubic", "bspline", "lanczos", NULL};
    return read_some(row, text, values, interpolation_words, some, INTERPOLATION_CHOICES);
}

static const char *of_ringing(const clv_option *row, const void *values, const char *text)
{
    const clvox_series_options *o = values;
    (void)row;
    (void)text;
    return o->interpolation == CLVOX_INTERPOLATE_LINEAR ? "with --interp linear" : NULL;
}

static const clv_option rows[] = {
    {.name = "to",
     .basic = true,
     .key = "target",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(target),
     .words = target_words,
     .help = "register to the reference, or then once more to the mean of all frames"},
    {.key = "reference", .type = CLVOX_OPTION_INTEGER, FIELD(reference), .unset = true},
    {.name = "linear",
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(linear),
     .words = linear_words,
     .argument = LINEAR_CHOICES,
     .read = read_linear,
     .help = "degrees of freedom (default rigid)"},
    {.name = "metric",
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(metric),
     .word = clv_metric_name,
     .help = "metric; mi if REFERENCE has another contrast; DWI: between frames of one weighting"},
    {.name = "bins",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(bins),
     .least = 8,
     .most = 128,
     .help = "bins of mi"},
    {.name = "smooth",
     .key = "smooth_voxels",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(smooth_voxels),
     .most = 10,
     .unit = CLVOX_UNIT_VOXELS,
     .help = "smoothing before comparison; mi uses half of it"},
    {.name = "interp",
     .basic = true,
     .key = "interpolation",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(interpolation),
     .words = interpolation_words,
     .argument = INTERPOLATION_CHOICES,
     .read = read_interpolation,
     .help = "interpolation of the corrected series (default lanczos)"},
    {.name = "ringing",
     .type = CLVOX_OPTION_FLAG,
     FIELD(ringing),
     .help = "keep interpolated values below a frame's minimum (or 0)",
     .idle = of_ringing},
    {.name = "head-radius",
     .key = "head_mm",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(head_mm),
     .unit = CLVOX_UNIT_MM,
     .open = CLV_OPTION_ABOVE,
     .help = "radius that converts rotations to mm in framewise_displacement"},
    {.name = "outlier",
     .key = "outlier_mm",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(outlier_mm),
     .unit = CLVOX_UNIT_MM,
     .open = CLV_OPTION_ABOVE,
     .help = "framewise displacement above which a frame is an outlier"},
    {.name = "output-type",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(output),
     .words = output_words,
     .help = "type of the corrected series; input: as SERIES; auto: the same, but float if that was scaled"},
};

static void defaults(void *values)
{
    clvox_series_defaults(values);
}

const clv_option_table clv_series_table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .size = sizeof(clvox_series_options),
    .defaults = defaults,
};

const clvox_option_table *clvox_series_table(void)
{
    return &clv_series_table;
}
