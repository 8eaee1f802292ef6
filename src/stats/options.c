/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/options.h"
#include "base/status.h"

#define FIELD(field) CLV_FIELD(clvox_stats_options, field)

static const char *const connectivities[] = {"6", "26", NULL};

static const char *of_tfce(const clv_option *row, const void *values, const char *text)
{
    const clvox_stats_options *o = values;
    (void)row;
    (void)text;
    return o->tfce ? NULL : "without --tfce";
}

static const char *of_one_side(const clv_option *row, const void *values, const char *text)
{
    const clvox_stats_options *o = values;
    (void)row;
    (void)text;
    return o->two_sided ? "but on the sign of t with --two-sided" : NULL;
}

static const clv_option rows[] = {
    {.name = "permutations",
     .basic = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(permutations),
     .least = 1,
     .most = 10000000,
     .help = "number of permutations; where no more than this exist, each is done once"},
    {.name = "seed", .type = CLVOX_OPTION_INTEGER, FIELD(seed), .help = "seed of the random permutations"},
    {.name = "two-sided",
     .basic = true,
     .type = CLVOX_OPTION_FLAG,
     FIELD(two_sided),
     .help = "test both directions, by |t|"},
    {.name = "less",
     .type = CLVOX_OPTION_FLAG,
     FIELD(less),
     .idle = of_one_side,
     .help = "test for a negative effect; t changes its sign"},
    {.name = "one-minus-p",
     .type = CLVOX_OPTION_FLAG,
     FIELD(one_minus_p),
     .help = "write 1 - p, as FSL does, instead of p"},
    {.name = "tfce",
     .basic = true,
     .type = CLVOX_OPTION_FLAG,
     FIELD(tfce),
     .help = "also threshold-free cluster enhancement"},
    {.name = "tfce-height",
     .key = "tfce_height",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(tfce_height),
     .most = 10,
     .idle = of_tfce,
     .help = "exponent H of the height"},
    {.name = "tfce-extent",
     .key = "tfce_extent",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(tfce_extent),
     .most = 10,
     .idle = of_tfce,
     .help = "exponent E of the extent"},
    {.name = "tfce-connectivity",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(tfce_connectivity),
     .words = connectivities,
     .idle = of_tfce,
     .help = "neighbours of a voxel in a cluster"},
    {.name = "memory",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(memory),
     .argument = "MIB",
     .help = "largest device memory to use (0: all that is free)"},
};

void clvox_stats_defaults(clvox_stats_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_stats_options){.size = sizeof *o, .permutations = 5000, .tfce_height = 2, .tfce_extent = .5};
}

static void defaults(void *values)
{
    clvox_stats_defaults(values);
}

const clv_option_table clv_stats_table = {.rows = rows,
                                          .count = sizeof rows / sizeof rows[0],
                                          .size = sizeof(clvox_stats_options),
                                          .defaults = defaults};

const clvox_option_table *clvox_stats_table(void)
{
    return &clv_stats_table;
}

#undef FIELD
#define FIELD(field) CLV_FIELD(clvox_entropy_options, field)

static const clv_option entropy_rows[] = {
    {.name = "draws",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(draws),
     .least = 1,
     .most = 1000000,
     .help = "random orders of the subjects"},
    {.name = "bins",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(bins),
     .least = 2,
     .most = 65536,
     .help = "bins of the histogram, from the smallest to the largest value of all images"},
    {.name = "seed", .type = CLVOX_OPTION_INTEGER, FIELD(seed), .help = "seed of the draws"},
};

void clvox_entropy_defaults(clvox_entropy_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_entropy_options){.size = sizeof *o, .draws = 100, .bins = 256};
}

static void entropy_defaults(void *values)
{
    clvox_entropy_defaults(values);
}

const clv_option_table clv_entropy_table = {.rows = entropy_rows,
                                            .count = sizeof entropy_rows / sizeof entropy_rows[0],
                                            .size = sizeof(clvox_entropy_options),
                                            .defaults = entropy_defaults};

const clvox_option_table *clvox_entropy_table(void)
{
    return &clv_entropy_table;
}
