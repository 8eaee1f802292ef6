/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"
#include "base/status.h"
#include "clvox/segment.h"

#define FIELD(field) CLV_FIELD(clvox_segment_options, field)

static const char *const method_words[] = {"majority", "local", "patch", "joint", NULL};
static const char *const preset_words[] = {"quick", "default", "regular", "best", NULL};

static const clv_option rows[] = {
    {.name = "method",
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(method),
     .words = method_words,
     .help = "how the atlases' labels are fused"},
    {.name = "preset",
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(preset),
     .words = preset_words,
     .help = "preset of the registrations, as of clvox register"},
};

static void defaults(void *values)
{
    clvox_segment_defaults(values);
}

static const clv_option_table table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .size = sizeof(clvox_segment_options),
    .defaults = defaults,
};

const clvox_option_table *clvox_segment_table(void)
{
    return &table;
}

void clvox_segment_defaults(clvox_segment_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_segment_options){
        .size = sizeof *o, .method = CLVOX_SEGMENT_JOINT, .preset = CLVOX_PRESET_DEFAULT};
}
