/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/options.h"

#include <math.h>

#include "base/status.h"

#define FIELD(field) CLV_FIELD(clvox_denoise_options, field)

static const char *const update_words[] = {"patches", "paper", NULL};
static const char *const search_words[] = {"global", "radius", NULL};
static const char *const topology_words[] = {"auto", "keep", "free", NULL};

void clvox_denoise_defaults(clvox_denoise_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_denoise_options){.size = sizeof *o, .patch = 5, .neighbours = 96, .band = 2, .planes = 1,
                                 .radius = 12, .steps = 20, .interval = 5};
}

static void defaults(void *values)
{
    clvox_denoise_defaults(values);
}

/* ---- no effect ---------------------------------------------------------- */

static const char *of_patches(const clv_option *row, const void *values, const char *text)
{
    const clvox_denoise_options *o = values;
    (void)row;
    (void)text;
    return o->update == CLVOX_DENOISE_PAPER ? "with --update paper" : NULL;
}

static const char *of_paper(const clv_option *row, const void *values, const char *text)
{
    const clvox_denoise_options *o = values;
    (void)row;
    (void)text;
    return o->update == CLVOX_DENOISE_PAPER ? NULL : "without --update paper";
}

static const char *of_near(const clv_option *row, const void *values, const char *text)
{
    const clvox_denoise_options *o = values;
    (void)row;
    (void)text;
    return o->search == CLVOX_DENOISE_NEAR ? NULL : "without --search radius";
}

/* ---- what is more than a value ------------------------------------------ */

static int read_patch(const clv_option *row, const char *text, void *values)
{
    clvox_denoise_options *o = values;
    clvox_numbers numbers;
    (void)row;
    if (!clvox_numbers_read(text, &numbers) || numbers.count > 1 || numbers.unit != CLVOX_UNIT_NONE ||
        (numbers.value[0] != 3 && numbers.value[0] != 5 && numbers.value[0] != 7))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "3, 5 or 7 voxels are possible");
    o->patch = (int)numbers.value[0];
    return CLVOX_OK;
}

/* A width whose 0 stands for "by itself": typed, it is above 0. */
static int read_width(const clv_option *row, const char *text, void *values)
{
    clvox_numbers numbers;
    if (!clvox_numbers_read(text, &numbers) || numbers.count > 1 || numbers.unit != CLVOX_UNIT_NONE)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "not a number");
    if (!(numbers.value[0] > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "not above 0");
    *(double *)((char *)values + row->offset) = numbers.value[0];
    return CLVOX_OK;
}

/* ---- the table ---------------------------------------------------------- */

static const clv_option rows[] = {
    {.name = "patch",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(patch),
     .least = 3,
     .most = 7,
     .read = read_patch,
     .argument = "3|5|7",
     .help = "edge of a patch in voxels (default 5)"},
    {.name = "neighbours",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(neighbours),
     .least = 1,
     .most = 256,
     .argument = "M",
     .help = "similar patches averaged, up to 256"},
    {.name = "band",
     .key = "band_voxels",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(band),
     .most = 16,
     .open = CLV_OPTION_ABOVE,
     .unit = CLVOX_UNIT_VOXELS,
     .either = true,
     .argument = "Nvox|Nmm",
     .help = "half width of the band around the surface"},
    {.name = "c1",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(c1),
     .read = read_width,
     .argument = "VOX2",
     .help = "let weights fall with distance, as exp(-|x-y|^2/c1) (default: distance does not count)"},
    {.name = "c2",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(c2),
     .read = read_width,
     .argument = "VOX2",
     .help = "and with patch difference as exp(-D/c2) (default: from the noise)"},
    {.name = "update",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(update),
     .words = update_words,
     .help = "average whole patches, or the steps of Lee et al. 2012"},
    {.name = "rounds",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(rounds),
     .most = CLVOX_DENOISE_MOST_ROUNDS,
     .automatic = "auto",
     .idle = of_patches,
     .help = "patches: number of rounds; auto: from the noise"},
    {.name = "steps",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(steps),
     .least = 1,
     .idle = of_paper,
     .help = "paper: number of steps"},
    {.name = "search",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(search),
     .words = search_words,
     .help = "search the whole band, or nearby only (slightly worse)"},
    {.name = "radius",
     .key = "radius_voxels",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(radius),
     .open = CLV_OPTION_ABOVE,
     .unit = CLVOX_UNIT_VOXELS,
     .either = true,
     .idle = of_near,
     .argument = "Nvox|Nmm",
     .help = "search radius"},
    {.name = "topology",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(topology),
     .words = topology_words,
     .help = "of components, handles and cavities; auto: keep, fewer in strong noise"},
    {.name = "free-volume",
     .type = CLVOX_OPTION_FLAG,
     FIELD(free_volume),
     .most = 1,
     .help = "do not preserve the volume"},
    {.key = "strength", .type = CLVOX_OPTION_NUMBER, FIELD(strength)},
    {.key = "planes", .type = CLVOX_OPTION_FLAG, FIELD(planes), .most = 1},
    {.key = "interval", .type = CLVOX_OPTION_INTEGER, FIELD(interval), .least = 1},
    {.key = "distance", .type = CLVOX_OPTION_FLAG, FIELD(distance), .most = 1},
};

const clv_option_table clv_denoise_table = {
    .rows = rows,
    .count = (int)(sizeof rows / sizeof *rows),
    .size = sizeof(clvox_denoise_options),
    .defaults = defaults,
};

const clvox_option_table *clvox_denoise_table(void)
{
    return &clv_denoise_table;
}
