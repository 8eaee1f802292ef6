/* SPDX-License-Identifier: Apache-2.0 */
#include "register/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/filter.h"
#include "op/match/mind.h"
#include "register/metric/metric.h"
#include "register/metric/words.h"
#include "register/model.h"

#define FIELD(field) CLV_FIELD(clvox_register_options, field)
#define LEVELS(field) CLV_LEVELS(clvox_register_options, field, levels)

/* Voxels; a step beyond any grid only keeps folds from being mended. */
enum { LONGEST_STEP = 1000 };

static const char *const init_words[] = {"auto", "identity", "header", "centers", "moments", "matrix", NULL};
static const char *const linear_words[] = {"none", "translation", "rigid", "similarity", "scales", "affine", NULL};
static const char *const output_words[] = {"auto", "input", "float", "double", "short", "ushort", "uchar", "int",
                                           NULL};
static const char *const warp_words[] = {"float", "rounded", NULL};
static const char *const gradient_words[] = {"true", "local", NULL};
static const char *const currents_words[] = {"exact", "mesh", "auto", NULL};
static const char *const surface_words[] = {"currents", "varifold", NULL};

static const char *deform_word(int at)
{
    return clv_model_name((clvox_deform)at);
}

/* ---- no effect ---------------------------------------------------------- */

const char *clv_of_deformation(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    (void)row;
    (void)text;
    return o->deform == CLVOX_DEFORM_NONE ? "with --deform none" : NULL;
}

/* "with --deform NAME" and what follows; holds until the next call in this thread. */
static const char *with_model(const clv_model *m, const char *more)
{
    static _Thread_local char text[96];
    snprintf(text, sizeof text, "with --deform %s%s", m->name, more);
    return text;
}

/* An option of those models alone that name it. */
static const char *of_model(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    const clv_model *m = clv_model_find(o->deform);
    if (!m)
        return clv_of_deformation(row, values, text);
    return clv_model_takes(m, row->name) ? NULL : with_model(m, "");
}

/* Options that an operator replaces. */
static const char *of_updates(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    const char *other = of_model(row, values, text);
    return other ? other : o->deform == CLVOX_DEFORM_GREEDY && o->gamma > 0 ? "with --operator" : NULL;
}

static const char *of_windows(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    const char *none = clv_of_deformation(row, values, text);
    const clv_metric_row *metric = clv_metric_find(o->metric);
    return none ? none : metric && metric->approximates ? NULL : "with a metric that has no local approximation";
}

/* MIND beside windows. */
static const char *of_mind(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    const char *other = of_model(row, values, text);
    return other ? other : o->metric != CLVOX_METRIC_LNCC ? "with a metric that is not lncc" : NULL;
}

const char *clv_of_linear(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    (void)row;
    (void)text;
    return o->linear == CLVOX_LINEAR_NONE ? "with --linear none" : NULL;
}

static const char *of_metric(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    bool still = o->linear == CLVOX_LINEAR_NONE, none = o->deform == CLVOX_DEFORM_NONE;
    (void)row;
    if (still && none)
        return "with --linear none and --deform none";
    if (!strchr(text, ','))
        return NULL;
    return still ? "on the linear part with --linear none" : none ? "on a deformation with --deform none" : NULL;
}

static const char *of_inverse(const clv_option *row, const void *values, const char *text)
{
    const clvox_register_options *o = values;
    const clv_model *m = clv_model_find(o->deform);
    return m && m->gives_inverse ? with_model(m, ", whose inverse the command always writes")
                                 : clv_of_deformation(row, values, text);
}

/* ---- what is more than a value ------------------------------------------ */

static int read_winsorize(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    (void)row;
    return clvox_quantiles_read(text, &o->winsorize_low, &o->winsorize_high);
}

static int read_restrict(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    clvox_numbers n;
    (void)row;
    if (!clvox_numbers_read(text, &n) || n.count != 3 || n.unit != CLVOX_UNIT_NONE)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "three weights, as 1x1x0");
    for (int i = 0; i < 3; i++) {
        if (!(n.value[i] >= 0 && n.value[i] <= 1))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "weights of axes are 0 to 1");
        o->restrict_axes[i] = n.value[i];
    }
    return CLVOX_OK;
}

/* One value for all levels, or one for the coarser ones and one for the last. */
static int read_step(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    clvox_numbers numbers;
    if (!clvox_numbers_read(text, &numbers) || numbers.count > 2 || numbers.unit == CLVOX_UNIT_MM)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "one length in voxels of the level, as 0.5vox, or two, as 1x1.5vox");
    o->step = numbers.value[0];
    o->finest_step = numbers.value[numbers.count - 1];
    if (!(fmin(o->step, o->finest_step) > 0 && fmax(o->step, o->finest_step) <= row->most))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "steps are above 0 and at most %g voxels", row->most);
    return CLVOX_OK;
}

/* On waves of about 11 voxels, and of half that length. */
static int read_damping(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    clvox_numbers numbers;
    (void)row;
    if (!clvox_numbers_read(text, &numbers) || numbers.count > 2 || numbers.unit != CLVOX_UNIT_NONE)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "one fraction, as 0.9, or two, as 0.95x0.8");
    o->update_damping = numbers.value[0];
    o->finer_damping = numbers.count > 1 ? numbers.value[1] : 0;
    if (!(fmin(o->update_damping, o->finer_damping) >= 0 && fmax(o->update_damping, o->finer_damping) < 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "fractions are 0 or more and below 1");
    return CLVOX_OK;
}

/* "1,2,.5" */
static int read_tissues(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    int count = 0;
    for (const char *at = text;; at++) {
        char *end;
        const double weight = strtod(at, &end);
        if (end == at || !(weight >= 0) || !isfinite(weight) || (*end && *end != ','))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "numbers of at least 0 with commas between them, as %s",
                              row->argument);
        if (count == row->room)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d numbers", row->room);
        o->tissue_weight[count++] = weight;
        at = end;
        if (!*at)
            break;
    }
    o->tissue_weights = count;
    return CLVOX_OK;
}

int clv_register_check_operator(const clvox_register_options *o)
{
    const double most = 1e15; /* its square, and that of its reciprocal, are no infinity */
    bool none = o->alpha == 0 && o->beta == 0 && o->gamma == 0;
    if (none || (o->alpha >= 0 && o->alpha <= most && o->beta >= 0 && o->beta <= most &&
                 o->gamma >= 1 / most && o->gamma <= most))
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "the operator %g,%g,%g is not positive definite in 32 bits: alpha and beta are 0 to "
                      "%g, and gamma is %g to %g",
                      o->alpha, o->beta, o->gamma, most, 1 / most, most);
}

/* "ALPHA,BETA,GAMMA" */
static int read_operator(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    double number[3];
    const char *at = text;
    char *end = NULL;
    (void)row;
    for (int i = 0; i < 3; i++, at = end + 1) {
        number[i] = strtod(at, &end);
        if (end == at || *end != (i < 2 ? ',' : 0) || !isfinite(number[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "three numbers, ALPHA,BETA,GAMMA, as 0.01,0,0.001");
    }
    if (number[2] == 0) /* with 0,0 it would stand for the default */
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "gamma is above 0: the operator must be positive definite");
    o->alpha = number[0];
    o->beta = number[1];
    o->gamma = number[2];
    return clv_register_check_operator(o);
}

/* The images meet in the middle of the flow. */
static int read_timesteps(const clv_option *row, const char *text, void *values)
{
    clvox_register_options *o = values;
    char *end = NULL;
    long count = strtol(text, &end, 10);
    if (end == text || *end || count < 2 || (double)count > row->most || count % 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "an even number from 2 to %g", row->most);
    o->timesteps = (int)count;
    return CLVOX_OK;
}

/* Levels that the preset does not have are twice as coarse each, and do what its coarsest does. */
static void resize_shrink(const void *before, void *values)
{
    const clvox_register_options *preset = before;
    clvox_register_options *o = values;
    for (int i = 0; i < o->levels; i++)
        o->shrink[i] = preset->shrink[preset->levels - 1] * ldexp(1, o->levels - 1 - i);
}

static void resize_iterations(const void *before, void *values)
{
    const clvox_register_options *preset = before;
    clvox_register_options *o = values;
    for (int i = 0; i < o->levels; i++) {
        int from = preset->levels - o->levels + i;
        o->iterations[i] = preset->iterations[from < 0 ? 0 : from];
    }
}

/* ---- values as they are typed ------------------------------------------- */

/* "0.9", or "0.9x0.8" where the second number is another than is meant by one alone. */
static void show_two(double first, double second, double alone, const char *unit, char *out, size_t room)
{
    if (second == alone)
        snprintf(out, room, "%g%s", first, unit);
    else
        snprintf(out, room, "%gx%g%s", first, second, unit);
}

static void show_step(const void *values, char *out, size_t room)
{
    const clvox_register_options *o = values;
    show_two(o->step, o->finest_step, o->step, "vox", out, room);
}

static void show_damping(const void *values, char *out, size_t room)
{
    const clvox_register_options *o = values;
    show_two(o->update_damping, o->finer_damping, 0, "", out, room);
}

/* ---- the table ---------------------------------------------------------- */

static const clv_option rows[] = {
    {.name = "init",
     .group = CLVOX_GROUP_QUALITY,
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(init),
     .words = init_words,
     .argument = "auto|identity|header|centers|moments|points|FILE",
     .help = "auto: best of header, centres, rotations; points: of --points; FILE[,-1]: affine or composite"},
    {.name = "linear",
     .group = CLVOX_GROUP_QUALITY,
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(linear),
     .words = linear_words,
     .brackets = "the number in brackets goes: the optimiser finds its steps by itself; give --linear affine",
     .help = "degrees of freedom of the linear stage"},
    {.key = "linear_metric", .type = CLVOX_OPTION_CHOICE, FIELD(linear_metric), .word = clv_metric_name},
    {.key = "linear_radius", .type = CLVOX_OPTION_INTEGER, FIELD(linear_radius), .least = 1, .most = 64},
    {.key = "linear_bins", .type = CLVOX_OPTION_INTEGER, FIELD(linear_bins), .least = 8, .most = 128},
    {.key = "linear_patch", .type = CLVOX_OPTION_INTEGER, FIELD(linear_patch), .most = CLV_MIND_MOST_RADIUS},
    {.name = "deform",
     .group = CLVOX_GROUP_QUALITY,
     .basic = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(deform),
     .word = deform_word,
     .brackets = "numbers in brackets are options here; for SyN[0.1,3,0] give --deform syn --step 0.1 "
                 "--update-sigma and --total-sigma, which are standard deviations and not variances",
     .help = "the deformation model"},
    {.name = "metric",
     .group = CLVOX_GROUP_QUALITY,
     .basic = true,
     .preset = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(metric),
     .word = clv_metric_name,
     .read = clv_metrics_read,
     .explain = clv_metrics_words,
     .show = clv_metrics_show,
     .help = "or LINEAR,DEFORM[+MORE][/NEXT]",
     .idle = of_metric},
    {.key = "radius", .preset = true, .type = CLVOX_OPTION_INTEGER, FIELD(radius), .least = 1, .most = 64},
    {.key = "bins", .preset = true, .type = CLVOX_OPTION_INTEGER, FIELD(bins), .least = 8, .most = 128},
    {.key = "patch",
     .preset = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(patch),
     .most = CLV_MIND_MOST_RADIUS},
    {.key = "besides",
     .preset = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(besides),
     .most = CLVOX_MAX_BESIDE},
    {.key = "beside",
     .preset = true,
     .type = CLVOX_OPTION_INTEGERS,
     CLV_LEVELS(clvox_register_options, beside, besides),
     .none = true},
    {.key = "beside_parameter",
     .preset = true,
     .type = CLVOX_OPTION_INTEGERS,
     CLV_LEVELS(clvox_register_options, beside_parameter, besides),
     .none = true,
     .most = 128},
    {.key = "beside_weight",
     .preset = true,
     .type = CLVOX_OPTION_NUMBERS,
     CLV_LEVELS(clvox_register_options, beside_weight, besides),
     .none = true,
     .most = 1e6},
    {.key = "channel_metrics",
     .preset = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(channel_metrics),
     .most = CLVOX_MAX_CHANNELS - 1},
    {.key = "channel_metric",
     .preset = true,
     .type = CLVOX_OPTION_INTEGERS,
     CLV_LEVELS(clvox_register_options, channel_metric, channel_metrics),
     .none = true},
    {.key = "channel_parameter",
     .preset = true,
     .type = CLVOX_OPTION_INTEGERS,
     CLV_LEVELS(clvox_register_options, channel_parameter, channel_metrics),
     .none = true,
     .most = 128},
    {.key = "by_contrast", .type = CLVOX_OPTION_FLAG, FIELD(by_contrast)},
    {.key = "sides", .type = CLVOX_OPTION_FLAG, FIELD(sides)},
    {.name = "robust",
     .group = CLVOX_GROUP_QUALITY,
     .type = CLVOX_OPTION_FLAG,
     FIELD(robust),
     .help = "linear part: what fits least does not count, as lesions in two scans of one person",
     .idle = clv_of_linear},
    {.name = "gradient",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(local_gradient),
     .words = gradient_words,
     .help = "of lncc: exact, or the usual local approximation",
     .idle = of_windows},
    {.name = "mind-weight",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(mind_weight),
     .most = 1e6,
     .help = "of lncc: so many times the gradient of mind (patches of 3 voxels) is added; syn --best: 27",
     .idle = of_mind},
    {.name = "n4",
     .group = CLVOX_GROUP_IMAGES,
     .key = "bias",
     .type = CLVOX_OPTION_FLAG,
     FIELD(bias),
     .help = "N4 bias correction of both images first, inside their masks"},
    {.name = "winsorize",
     .group = CLVOX_GROUP_IMAGES,
     .key = "winsorize_low",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(winsorize_low),
     .most = 1,
     .argument = "LOW,HIGH",
     .read = read_winsorize,
     .help = "first clip intensities at these quantiles"},
    {.key = "winsorize_high", .type = CLVOX_OPTION_NUMBER, FIELD(winsorize_high), .most = 1},
    {.name = "histogram-match",
     .group = CLVOX_GROUP_IMAGES,
     .type = CLVOX_OPTION_FLAG,
     FIELD(histogram_match),
     .help = "first match the moving image's histogram to the fixed image's"},
    {.key = "levels",
     .preset = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(levels),
     .least = 1,
     .most = CLVOX_MAX_LEVELS},
    {.name = "shrink",
     .group = CLVOX_GROUP_QUALITY,
     .preset = true,
     .type = CLVOX_OPTION_NUMBERS,
     LEVELS(shrink),
     .least = 1,
     .argument = "NxNxN",
     .help = "shrink factor of each level",
     .resize = resize_shrink,
     .idle = clv_of_deformation},
    {.name = "iterations",
     .group = CLVOX_GROUP_QUALITY,
     .preset = true,
     .type = CLVOX_OPTION_INTEGERS,
     LEVELS(iterations),
     .argument = "NxNxN",
     .most = 1e6,
     .help = "most iterations at each level",
     .resize = resize_iterations,
     .idle = clv_of_deformation},
    {.name = "smooth",
     .group = CLVOX_GROUP_QUALITY,
     .preset = true,
     .key = "smooth_voxels",
     .type = CLVOX_OPTION_NUMBERS,
     LEVELS(smooth_voxels),
     .unit = CLVOX_UNIT_VOXELS,
     .either = true,
     .unset = true,
     .argument = "NxNxNvox",
     .help = "smoothing before each level, mm or vox of FIXED (default: by --shrink)",
     .idle = clv_of_deformation},
    {.name = "update-sigma",
     .group = CLVOX_GROUP_QUALITY,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(update_sigma),
     .unit = CLVOX_UNIT_VOXELS,
     .help = "sigma of the fluid regularisation",
     .idle = of_model},
    {.name = "update-damping",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(update_damping),
     .most = 1,
     .open = CLV_OPTION_BELOW,
     .read = read_damping,
     .show = show_damping,
     .argument = "N[xM]",
     .help = "fraction of the updates' divergence that is removed, on waves of 11 and (without M: 0) of 5.5 "
             "voxels: more regular Jacobians",
     .idle = of_updates},
    {.key = "finer_damping",
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(finer_damping),
     .most = 1,
     .open = CLV_OPTION_BELOW},
    {.name = "total-sigma",
     .group = CLVOX_GROUP_QUALITY,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(total_sigma),
     .unit = CLVOX_UNIT_VOXELS,
     .help = "sigma of the elastic regularisation",
     .idle = of_model},
    {.name = "step",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(step),
     .open = CLV_OPTION_ABOVE,
     .most = LONGEST_STEP,
     .unit = CLVOX_UNIT_VOXELS,
     .read = read_step,
     .show = show_step,
     .argument = "N[xM]vox",
     .help = "longest step of an iteration, and on the last level",
     .idle = of_model},
    {.key = "finest_step",
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(finest_step),
     .open = CLV_OPTION_ABOVE,
     .most = LONGEST_STEP,
     .unit = CLVOX_UNIT_VOXELS},
    {.name = "momentum",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(momentum),
     .most = 1,
     .open = CLV_OPTION_BELOW,
     .help = "fraction of the force carried to the next iteration",
     .idle = of_model},
    {.name = "points-weight",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "points",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(points_weight),
     .idle = of_model,
     .help = "weight of the landmarks: metric per voxel for 1 mm^2 of mean squared distance; 0: only report "
             "them"},
    {.name = "points-width",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "points|surface|curves|cloud",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(points_width),
     .unit = CLVOX_UNIT_MM,
     .idle = of_model,
     .help = "sigma of the Gaussian by which a landmark or vertex pulls its surroundings; 0: three edges of "
             "a voxel of the "
             "finest level"},
    {.name = "surface-weight",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "surface",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(surface_weight),
     .idle = of_model,
     .help = "weight of the surfaces: metric per voxel for |S - T|^2 / (|S|^2 + |T|^2); 0: only carry them"},
    {.name = "surface-kind",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "surface",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(surface_kind),
     .words = surface_words,
     .idle = of_model,
     .help = "how surfaces are compared; varifolds need no consistent orientation"},
    {.name = "curves-weight",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "curves",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(curves_weight),
     .idle = of_model,
     .help = "weight of the curves, as --surface-weight; 0: only carry them"},
    {.name = "curves-kind",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "curves",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(curves_kind),
     .words = surface_words,
     .idle = of_model,
     .help = "how curves are compared; currents depend on the direction of a curve, varifolds do not"},
    {.name = "cloud-weight",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "cloud",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(cloud_weight),
     .idle = of_model,
     .help = "weight of the clouds of points, as --surface-weight; 0: only carry them"},
    {.name = "width",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "surface|curves|cloud",
     .key = "surface_width",
     .type = CLVOX_OPTION_NUMBERS,
     CLV_LEVELS(clvox_register_options, surface_width, surface_widths),
     .unit = CLVOX_UNIT_MM,
     .idle = of_model,
     .argument = "NxNmm",
     .help = "width of the kernel of surfaces, curves and clouds at each level (the last one repeats); 0: "
             "2.5 edges "
             "of the level's voxel"},
    {.name = "currents",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "surface|curves|cloud",
     .type = CLVOX_OPTION_CHOICE,
     FIELD(currents),
     .words = currents_words,
     .idle = of_model,
     .help = "sum shapes over all pairs (exact) or by a particle mesh (for large ones); auto: the faster one "
             "at "
             "each level"},
    {.name = "posteriors-weight",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "posteriors",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(posteriors_weight),
     .idle = of_model,
     .help = "weight of the posteriors: metric per voxel for a squared Hellinger distance of 1; 0: only "
             "carry them"},
    {.name = "posteriors-weights",
     .group = CLVOX_GROUP_ANATOMY,
     .needs = "posteriors",
     .key = "tissue_weight",
     .type = CLVOX_OPTION_NUMBERS,
     CLV_LEVELS(clvox_register_options, tissue_weight, tissue_weights),
     .idle = of_model,
     .read = read_tissues,
     .argument = "N,N",
     .help = "weight of each tissue in order, then of the rest; 0 ignores one, missing weights are 1"},
    {.name = "restrict",
     .group = CLVOX_GROUP_QUALITY,
     .key = "restrict_x",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(restrict_axes[0]),
     .most = 1,
     .argument = "NxNxN",
     .read = read_restrict,
     .help = "weights of the deformation along left-right, posterior-anterior and inferior-superior (the "
             "axes of "
             "FIXED nearest to these)",
     .idle = of_model},
    {.key = "restrict_y", .type = CLVOX_OPTION_NUMBER, FIELD(restrict_axes[1]), .most = 1},
    {.key = "restrict_z", .type = CLVOX_OPTION_NUMBER, FIELD(restrict_axes[2]), .most = 1},
    {.name = "lambda",
     .group = CLVOX_GROUP_QUALITY,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(lambda),
     .help = "weight of the unbiased penalty, or of the energy of a flow; larger: smoother maps (flows: "
             "0.003 / h^2, h the edge of a voxel)",
     .idle = of_model},
    {.name = "operator",
     .group = CLVOX_GROUP_EXPERT,
     .key = "alpha",
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(alpha),
     .read = read_operator,
     .argument = "ALPHA,BETA,GAMMA",
     .help = "L = -alpha Laplacian - beta grad div + gamma, in mm; greedy: instead of --update-sigma; flows: "
             "3 h^2,6 h^2,1",
     .idle = of_model},
    {.key = "beta", .preset = true, .type = CLVOX_OPTION_NUMBER, FIELD(beta)},
    {.key = "gamma", .preset = true, .type = CLVOX_OPTION_NUMBER, FIELD(gamma)},
    {.name = "timesteps",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_INTEGER,
     FIELD(timesteps),
     .most = 32,
     .read = read_timesteps,
     .help = "time steps of a flow, each a velocity; coarser levels of shooting take fewer",
     .idle = of_model},
    {.name = "tolerance",
     .group = CLVOX_GROUP_EXPERT,
     .preset = true,
     .type = CLVOX_OPTION_NUMBER,
     FIELD(tolerance),
     .help = "end a level when an iteration changes the metric by less than this fraction",
     .idle = clv_of_deformation},
    {.name = "inverse",
     .group = CLVOX_GROUP_RESULT,
     .basic = true,
     .type = CLVOX_OPTION_FLAG,
     FIELD(inverse),
     .help = "also write the inverse warp",
     .idle = of_inverse},
    {.name = "output-type",
     .group = CLVOX_GROUP_RESULT,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(output),
     .words = output_words,
     .help =
         "voxel type of the warped image; input: as in MOVING; auto: as in MOVING, but float if MOVING is "
         "scaled"},
    {.name = "warp-type",
     .group = CLVOX_GROUP_RESULT,
     .type = CLVOX_OPTION_CHOICE,
     FIELD(warp_type),
     .words = warp_words,
     .help = "numbers of the warps; rounded: to 1/128 mm, for files of half the size or less",
     .idle = clv_of_deformation},
};

static void defaults(void *values)
{
    clvox_register_defaults(values);
}

/* "2.5 unbiased, 1.25 syn" of the models that take the option, or what they all have. */
static bool varies(const clv_option *row, char *out, size_t room)
{
    size_t used = 0;
    double first = 0;
    bool same = true;
    clvox_register_options o;
    const clv_model *m;
    if ((row->idle != of_model && row->idle != of_updates) || row->type == CLVOX_OPTION_CHOICE)
        return false;
    *out = 0;
    for (int i = 1; clv_model_name((clvox_deform)i) && used < room; i++) {
        clvox_register_defaults(&o);
        o.deform = (clvox_deform)i;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        m = clv_model_find(o.deform);
        /* 0: the model goes by the voxels. */
        double value = clv_option_value(row, &o, 0);
        if (!clv_model_takes(m, row->name) || !(value > 0))
            continue;
        first = used ? first : value;
        same = same && value == first;
        used += (size_t)snprintf(out + used, room - used, "%s%g %s", used ? ", " : "", value, m->name);
    }
    if (used && strchr(out, ',') && same)
        snprintf(out, room, "%g", first);
    return used > 0;
}

const clv_option_table clv_register_table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .size = sizeof(clvox_register_options),
    .defaults = defaults,
    .varies = varies,
};

const clvox_option_table *clvox_register_table(void)
{
    return &clv_register_table;
}
