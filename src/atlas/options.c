/* SPDX-License-Identifier: Apache-2.0 */
#include "atlas/options.h"
#include "base/status.h"

#include "clvox/filter.h"
#include "register/options.h"

#define FIELD(field) CLV_FIELD(clvox_atlas_options, field)

static const char *const average_words[] = {"mean", "trimmed", "median", NULL};

static const char *const vote_words[] = {"majority", "local", NULL};

static const char *of_rounds(const clv_option *row, const void *values, const char *text)
{
    return clv_of_deformation(row, &((const clvox_atlas_options *)values)->registration, text);
}

static const char *of_linear(const clv_option *row, const void *values, const char *text)
{
    return clv_of_linear(row, &((const clvox_atlas_options *)values)->registration, text);
}

static int read_clip(const clv_option *row, const char *text, void *values)
{
    clvox_atlas_options *o = values;
    (void)row;
    return clvox_quantiles_read(text, &o->clip_low, &o->clip_high);
}

static const clv_option rows[] = {
    {.key = "within", .type = CLVOX_OPTION_FLAG, FIELD(within)},
    {.name = "linear-rounds",
     .group = CLVOX_GROUP_QUALITY,
     .key = "linear_rounds",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(linear_rounds),
     .most = 1000,
     .unset = true,
     .help = "rounds of linear registration",
     .idle = of_linear},
    {.name = "rounds",
     .group = CLVOX_GROUP_QUALITY,
     .basic = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(rounds),
     .most = 1000,
     .help = "rounds with the deformation",
     .idle = of_rounds},
    {.name = "until",
     .group = CLVOX_GROUP_QUALITY,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(until),
     .help = "end when the template changes by less than this fraction",
     .idle = of_rounds},
    {.name = "average",
     .group = CLVOX_GROUP_QUALITY,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(average),
     .words = average_words,
     .help = "trimmed: leave out a tenth of the weight at either end"},
    {.name = "unsharp",
     .group = CLVOX_GROUP_QUALITY,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(unsharp),
     .most = 10,
     .help = "sharpen every new template by this amount (unsharp mask of one voxel)"},
    {.name = "vote",
     .group = CLVOX_GROUP_MASKS,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(vote),
     .words = vote_words,
     .help = "votes for labels; local: weighted by local similarity to the template"},
    {.name = "skip-bad",
     .group = CLVOX_GROUP_MANY,
     .key = "skip_bad",
     .type = CLVOX_OPTION_FLAG,
     FIELD(skip_bad),
     .help = "leave out subjects that cannot be read or registered, and name them"},
    {.name = "keep-intensities",
     .group = CLVOX_GROUP_IMAGES,
     .key = "keep_intensities",
     .type = CLVOX_OPTION_FLAG,
     FIELD(keep_intensities),
     .help = "do not scale images to common percentiles"},
    {.name = "clip",
     .group = CLVOX_GROUP_IMAGES,
     .key = "clip_low",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(clip_low),
     .most = 1,
     .argument = "LOW,HIGH",
     .read = read_clip,
     .help = "clip every image at these quantiles first, for averages and registrations"},
    {.key = "clip_high", .type = CLVOX_OPTION_NUMBER, FIELD(clip_high), .most = 1},
    {.name = "margin",
     .group = CLVOX_GROUP_RESULT,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(margin),
     .unset = true,
     .unit = CLVOX_UNIT_MM,
     .automatic = "none",
     .help = "cut the template's grid to the box of all heads and this margin"},
    {.name = "template-only",
     .group = CLVOX_GROUP_RESULT,
     .basic = true,
     .key = "template_only",
     .type = CLVOX_OPTION_FLAG,
     FIELD(template_only),
     .help = "neither warps nor Jacobians nor labels of the subjects"},
};

static void defaults(void *values)
{
    clvox_atlas_defaults(values);
}

const clv_option_table clv_atlas_table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .size = sizeof(clvox_atlas_options),
    .defaults = defaults,
};

const clvox_option_table *clvox_atlas_table(void)
{
    return &clv_atlas_table;
}

void clvox_atlas_defaults(clvox_atlas_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_atlas_options){
        .size = sizeof *options, .channels = 1, .linear_rounds = 2, .rounds = 4, .clip_high = 1,
        .margin = -1};
    clvox_register_defaults(&options->registration);
}

void clvox_atlas_within(clvox_atlas_options *options)
{
    CLV_GIVEN_OR(, options);
    options->within = options->registration.robust = 1;
    options->registration.linear = CLVOX_LINEAR_RIGID;
    options->average = CLVOX_AVERAGE_MEDIAN;
    options->linear_rounds = -1;
    options->rounds = 1;
}

int clvox_atlas_linear_rounds(const clvox_atlas_options *options, int count)
{
    CLV_GIVEN_OR(0, options);
    if (options->registration.linear == CLVOX_LINEAR_NONE)
        return 0;
    /* Of two, one has found the other; the mean of both shows what differs half as clearly. */
    return options->linear_rounds >= 0 ? options->linear_rounds : count == 2 ? 1 : 2;
}
