/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/register_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "register/register.h"

const char *const cli_register_metric_names[4] = {"ssd", "ncc", "lncc", "mi"};
static const clvox_deform all_models[] = {CLVOX_DEFORM_NONE, CLVOX_DEFORM_UNBIASED, CLVOX_DEFORM_GREEDY,
                                          CLVOX_DEFORM_SYN};
enum { MODELS = sizeof all_models / sizeof *all_models };

char *cli_register_metric(clvox_metric metric, int radius, int bins, char *out)
{
    if (metric == CLVOX_METRIC_LNCC)
        snprintf(out, 32, "lncc (radius %d)", radius);
    else if (metric == CLVOX_METRIC_MI)
        snprintf(out, 32, "mi (%d bins)", bins);
    else
        snprintf(out, 32, "%s", cli_register_metric_names[metric]);
    return out;
}

/* ---- what each word means ----------------------------------------------- */

static int read_init(command *cli, const char *text, clvox_register_options *o)
{
    static const char *const words[] = {"auto", "identity", "header", "centers", "moments"};
    static const clvox_init values[] = {CLVOX_INIT_AUTO, CLVOX_INIT_IDENTITY, CLVOX_INIT_HEADER,
                                        CLVOX_INIT_CENTERS, CLVOX_INIT_MOMENTS};
    for (int i = 0; i < 5; i++)
        if (!strcmp(text, words[i])) {
            o->init = values[i];
            return CLVOX_OK;
        }
    if (access(text, F_OK) != 0)
        return cli_misuse("--init %s: neither a file nor one of auto, identity, header, centers and moments",
                          text);
    clvox_transform *transform = NULL;
    int status = cli_read_transform(cli, text, &transform);
    if (status < 0)
        return status;
    if (transform->is_warp)
        status = clv_fail(CLVOX_ERROR_ARGUMENT, "%s: is a warp; --init takes an affine", text);
    else
        clv_matrix_copy(CLV_MATRIX(transform->matrix), o->matrix);
    o->init = CLVOX_INIT_MATRIX;
    clvox_transform_destroy(&transform);
    return status;
}

/* "none, unbiased and syn": the models of this version. */
static void list_models(const char *joint, char *out, size_t room)
{
    const char *names[MODELS];
    int count = 0, used = 0;
    for (int i = 0; i < MODELS; i++)
        if (clv_register_deform_name(all_models[i]))
            names[count++] = clv_register_deform_name(all_models[i]);
    for (int i = 0; i < count; i++)
        used += snprintf(out + used, room - (size_t)used, "%s%s",
                         !i ? "" : *joint == '|' ? joint : i + 1 < count ? ", " : joint, names[i]);
}

static int read_deform(const char *text, clvox_register_options *o)
{
    char known[96];
    if (!text)
        return CLVOX_OK;
    for (int i = 0; i < MODELS; i++) {
        const char *name = clv_register_deform_name(all_models[i]);
        if (name && !strcmp(name, text)) {
            o->deform = all_models[i];
            return CLVOX_OK;
        }
    }
    list_models(" and ", known, sizeof known);
    return cli_misuse("--deform %s: not in this version; the choices are %s", text, known);
}

/* One metric, "lncc" or "lncc:4"; what is not given stays. */
static int read_metric(const char *text, clvox_metric *metric, int *radius, int *bins)
{
    size_t length = strcspn(text, ":");
    char *end = NULL;
    for (int i = 0; i < 4; i++) {
        const char *name = cli_register_metric_names[i];
        if (strlen(name) != length || memcmp(name, text, length) != 0)
            continue;
        *metric = (clvox_metric)i;
        if (!text[length])
            return CLVOX_OK;
        long value = strtol(text + length + 1, &end, 10);
        bool number = text[length + 1] && !*end;
        if (i == CLVOX_METRIC_LNCC && number && value >= 1 && value <= 64)
            *radius = (int)value;
        else if (i == CLVOX_METRIC_MI && number && value >= 8 && value <= 128)
            *bins = (int)value;
        else
            return cli_misuse("--metric %s: lncc:RADIUS takes 1 to 64 voxels, mi:BINS 8 to 128", text);
        return CLVOX_OK;
    }
    return cli_misuse("--metric %s: not known; the choices are ssd, ncc, lncc[:RADIUS] and mi[:BINS]", text);
}

/* One for both stages, or LINEAR,DEFORM. */
static int read_metrics(const char *text, clvox_register_options *o)
{
    char first[64];
    const char *comma = text ? strchr(text, ',') : NULL, *second = comma ? comma + 1 : text;
    int status = CLVOX_OK;
    if (!text)
        return CLVOX_OK;
    snprintf(first, sizeof first, "%.*s", comma ? (int)(comma - text) : 60, text);
    CLV_TRY(read_metric(first, &o->linear_metric, &o->linear_radius, &o->linear_bins));
    CLV_TRY(read_metric(second, &o->metric, &o->radius, &o->bins));
    if (!clv_register_takes(o->deform, o->metric)) {
        char takes[64] = "";
        for (int i = 0; i < 4; i++)
            if (clv_register_takes(o->deform, (clvox_metric)i))
                snprintf(takes + strlen(takes), sizeof takes - strlen(takes), "%s%s", *takes ? " or " : "",
                         cli_register_metric_names[i]);
        return cli_misuse("--metric %s: the %s deformation compares by %s", text,
                          clv_register_deform_name(o->deform), takes);
    }
end:
    return status;
}

/* One length in voxels; mm would differ from level to level. */
static int read_voxels(const clv_numbers *numbers, const char *name, double *out)
{
    if (!numbers->count)
        return CLVOX_OK;
    if (numbers->count != 1 || numbers->unit == CLV_UNIT_MM || numbers->value[0] < 0)
        return cli_misuse("--%s: one length in voxels of the level, as 1.7vox", name);
    *out = numbers->value[0];
    return CLVOX_OK;
}

static int read_levels(const cli_register_request *r, clvox_register_options *o)
{
    if (r->shrink.count || r->iterations.count || r->smooth.count) {
        const clvox_register_options preset = *o;
        int levels = r->shrink.count       ? r->shrink.count
                     : r->iterations.count ? r->iterations.count
                                           : r->smooth.count;
        if (levels > CLVOX_MAX_LEVELS)
            return cli_misuse("%d levels; at most %d are possible", levels, CLVOX_MAX_LEVELS);
        if ((r->iterations.count && r->iterations.count != levels) ||
            (r->smooth.count && r->smooth.count != levels))
            return cli_misuse("--shrink, --iterations and --smooth differ in their number of levels");
        o->levels = levels;
        /* What is not given follows the preset, counted from the finest. */
        for (int i = 0; i < levels; i++) {
            int from = preset.levels - levels + i;
            o->shrink[i] = preset.shrink[preset.levels - 1] * ldexp(1, levels - 1 - i);
            o->iterations[i] = preset.iterations[from < 0 ? 0 : from];
        }
    }
    if (r->shrink.unit != CLV_UNIT_NONE || r->iterations.unit != CLV_UNIT_NONE)
        return cli_misuse("--shrink and --iterations are plain numbers, as 4x2x1 and 100x50x25");
    for (int i = 0; i < r->shrink.count; i++) {
        o->shrink[i] = r->shrink.value[i];
        if (!(o->shrink[i] >= 1))
            return cli_misuse("--shrink: %g is below 1", o->shrink[i]);
    }
    for (int i = 0; i < r->iterations.count; i++) {
        double n = r->iterations.value[i];
        if (!(n >= 0 && n <= 1e6) || n != floor(n))
            return cli_misuse("--iterations: %g is not a whole number from 0 to 1000000", n);
        o->iterations[i] = (int)n;
    }
    return CLVOX_OK;
}

/* As many fixed as moving images, and a weight for each or none. */
static int read_channels(cli_register_request *r)
{
    double sum = 0;
    if (r->fixed.count != r->moving.count)
        return cli_misuse("%d fixed and %d moving images; a channel is one of each", r->fixed.count,
                          r->moving.count);
    if (r->fixed.count > CLVOX_MAX_CHANNELS)
        return cli_misuse("%d channels; at most %d are possible", r->fixed.count, CLVOX_MAX_CHANNELS);
    if (r->weights.count && r->weights.count != r->fixed.count)
        return cli_misuse("%d weights for %d channels; give --weight once for each or not at all",
                          r->weights.count, r->fixed.count);
    for (int i = 0; i < r->fixed.count; i++) {
        char *end = NULL;
        r->weight[i] = r->weights.count ? strtod(r->weights.item[i], &end) : 1;
        if ((end && *end) || !(r->weight[i] >= 0) || !isfinite(r->weight[i]))
            return cli_misuse("--weight %s: not a number of at least 0", r->weights.item[i]);
        sum += r->weight[i];
    }
    if (!(sum > 0))
        return cli_misuse("--weight: at least one must be above 0");
    return CLVOX_OK;
}

static int read_linear(cli_register_request *r, clvox_register_options *o)
{
    static const int freedom[] = {0, 3, 6, 7, 12};
    int by_dof = -1;
    for (int i = 0; i < 5; i++)
        if (r->dof == freedom[i])
            by_dof = i;
    if (r->dof >= 0 && by_dof < 0)
        return cli_misuse("--dof %d: the choices are 0, 3, 6, 7 and 12", r->dof);
    if (by_dof >= 0 && r->linear >= 0 && by_dof != r->linear)
        return cli_misuse("--dof %d and --linear contradict each other; one of them is enough", r->dof);
    if (by_dof >= 0)
        r->linear = by_dof;
    if (r->linear >= 0)
        o->linear = (clvox_linear)r->linear;
    return CLVOX_OK;
}

/* The longest step of all levels, or one of the coarser levels and one of the last. */
static int read_step(const clv_numbers *numbers, clvox_register_options *o)
{
    if (!numbers->count)
        return CLVOX_OK;
    if (numbers->count > 2 || numbers->unit == CLV_UNIT_MM)
        return cli_misuse("--step: one length in voxels of the level, as 0.5vox, or two, as 1x1.5vox");
    o->step = numbers->value[0];
    o->finest_step = numbers->value[numbers->count - 1];
    return CLVOX_OK;
}

static int read_options(command *cli, cli_register_request *r, clvox_register_options *o)
{
    static const clvox_force forces[] = {CLVOX_FORCE_AUTO, CLVOX_FORCE_RECOMPUTE, CLVOX_FORCE_REUSE,
                                         CLVOX_FORCE_CAPPED, CLVOX_FORCE_TWOPASS};
    int status = CLVOX_OK;
    if (r->quick && r->best)
        return cli_misuse("--quick and --best contradict each other");
    CLV_TRY(read_deform(r->deform, o));
    /* One-sided steps take half the time of symmetric ones. */
    if (r->quick && !r->deform)
        o->deform = CLVOX_DEFORM_GREEDY;
    clvox_register_preset(o, r->quick  ? CLVOX_PRESET_QUICK
                             : r->best ? CLVOX_PRESET_BEST
                                       : CLVOX_PRESET_DEFAULT);
    CLV_TRY(read_linear(r, o));
    CLV_TRY(read_metrics(r->metric, o));
    CLV_TRY(read_levels(r, o));
    CLV_TRY(read_voxels(&r->update_sigma, "update-sigma", &o->update_sigma));
    CLV_TRY(read_voxels(&r->total_sigma, "total-sigma", &o->total_sigma));
    CLV_TRY(read_step(&r->step, o));
    o->force = forces[r->kernel < 0 ? 0 : r->kernel];
    if (r->gradient >= 0)
        o->local_gradient = r->gradient;
    if (!isnan(r->momentum))
        o->momentum = r->momentum;
    if (!isnan(r->lambda))
        o->lambda = r->lambda;
    if (!isnan(r->tolerance))
        o->tolerance = r->tolerance;
    o->inverse = r->inverse || o->deform == CLVOX_DEFORM_SYN;
    if (!(o->step > 0 && o->finest_step > 0) && o->deform != CLVOX_DEFORM_NONE)
        return cli_misuse("--step: must be above 0");
    if (!(o->momentum >= 0 && o->momentum < 1))
        return cli_misuse("--momentum %g: 0 or more, below 1", o->momentum);
    if (!(o->lambda >= 0))
        return cli_misuse("--lambda %g: must not be negative", o->lambda);
    if (!(o->tolerance >= 0))
        return cli_misuse("--tolerance %g: must not be negative", o->tolerance);
    status = read_init(cli, r->init, o);
end:
    return status;
}

/* ---- the table ---------------------------------------------------------- */

/* "0.4 unbiased, 0.25 syn" of a number that the presets decide. */
static char *defaults_of(size_t offset, double unused, char *out, size_t room)
{
    int used = 0;
    *out = 0;
    for (int i = 1; i < MODELS; i++) {
        clvox_register_options o;
        clvox_register_defaults(&o);
        o.deform = all_models[i];
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        double value = *(const double *)((const char *)&o + offset);
        if (clv_register_deform_name(o.deform) && value != unused)
            used += snprintf(out + used, room - (size_t)used, "%s%g %s", used ? ", " : "", value,
                             clv_register_deform_name(o.deform));
    }
    return out;
}

int cli_register_parse(command *cli, int argc, char **argv, cli_register_request *r,
                       clvox_register_options *o)
{
    static const char about[] =
        "Registers MOVING to FIXED: a linear part, then a deformation from coarse to fine that never\n"
        "folds. Writes\n"
        "  PREFIX_affine.txt            ITK affine\n"
        "  PREFIX_warp.nii.gz           ITK displacement, applied as\n"
        "                               `-t PREFIX_warp.nii.gz -t PREFIX_affine.txt`\n"
        "  PREFIX_inverse_warp.nii.gz   with --inverse (syn: always); from MOVING's side applied as\n"
        "                               `-t PREFIX_affine.txt,-1 -t PREFIX_inverse_warp.nii.gz`\n"
        "  PREFIX_warped.nii.gz         MOVING on the grid of FIXED\n"
        "  PREFIX_labels.nii.gz         with --labels\n"
        "  PREFIX.png                   three planes: fixed, warped, labels or edges, squares, log-Jacobian\n"
        "  PREFIX.json                  versions, options, inputs, timings, metric by iteration\n"
        "Exchanging -f and -m gives the inverse: of the linear part always, of the whole map with syn\n"
        "where both grids have about as many voxels of about one volume (within a factor of 1.5; else\n"
        "syn, like the others, works on the grid of FIXED). The results are on the grid of FIXED.";
    char models[96], deform[96], update[160], total[160], step[200], momentum[160], lambda[160],
        tolerance[160], text[160];
    clvox_register_defaults(o);
    *r = (cli_register_request){.init = "auto", .linear = -1, .dof = -1, .kernel = -1, .gradient = -1,
                                .momentum = NAN, .lambda = NAN, .tolerance = NAN};
    list_models("|", models, sizeof models);
    snprintf(deform, sizeof deform, "the deformation model (default %s)",
             clv_register_deform_name(o->deform));
    snprintf(update, sizeof update, "of the fluid regulariser (%s)",
             defaults_of(offsetof(clvox_register_options, update_sigma), 0, text, sizeof text));
    snprintf(total, sizeof total, "of the elastic regulariser (%s)",
             defaults_of(offsetof(clvox_register_options, total_sigma), 0, text, sizeof text));
    snprintf(step, sizeof step, "longest displacement of an iteration, and of one on the last level (%s)",
             defaults_of(offsetof(clvox_register_options, step), 0, text, sizeof text));
    snprintf(momentum, sizeof momentum, "share of the force kept from one iteration to the next (%s)",
             defaults_of(offsetof(clvox_register_options, momentum), 0, text, sizeof text));
    snprintf(lambda, sizeof lambda, "weight of the unbiased penalty (%s)",
             defaults_of(offsetof(clvox_register_options, lambda), 0, text, sizeof text));
    snprintf(tolerance, sizeof tolerance, "end a level when an iteration changes less than this share (%s)",
             defaults_of(offsetof(clvox_register_options, tolerance), 0, text, sizeof text));
    const cli_option options[] = {
        {"fixed", 'f', CLI_REPEAT, &r->fixed, "FILE",
         "the fixed image: its grid carries the warp; repeat for channels"},
        {"moving", 'm', CLI_REPEAT, &r->moving, "FILE", "the moving image; as many as -f"},
        {"weight", 0, CLI_REPEAT, &r->weights, "N", "of each channel, in their order (default: equal)"},
        {"output", 'o', CLI_TEXT, &r->prefix, "PREFIX", "beginning of the names of the results"},
        {"quick", 0, CLI_FLAG, &r->quick, NULL, "for people in a hurry: greedy unless --deform says otherwise, and fewer iterations"},
        {"best", 0, CLI_FLAG, &r->best, NULL, "for those who measure on the map: calmer, more iterations; less overlap than the default"},
        {"init", 0, CLI_TEXT, &r->init, "auto|identity|header|centers|moments|FILE",
         "where to start; auto: headers, centres and turns about these, the best of them"},
        {"linear", 0, CLI_CHOICE, &r->linear, "none|translation|rigid|similarity|affine",
         "what the linear part may do (default affine)"},
        {"dof", 0, CLI_INTEGER, &r->dof, "0|3|6|7|12", "the same by degrees of freedom"},
        {"deform", 0, CLI_TEXT, &r->deform, models, deform},
        {"metric", 0, CLI_TEXT, &r->metric, "ssd|ncc|lncc[:RADIUS]|mi[:BINS]",
         "of both stages, or LINEAR,DEFORM"},
        {"gradient", 0, CLI_CHOICE, &r->gradient, "true|local",
         "of lncc: its own, or the usual local approximation"},
        {"shrink", 0, CLI_NUMBERS, &r->shrink, "4x2x1", "how much coarser each level is"},
        {"iterations", 0, CLI_NUMBERS, &r->iterations, "100x100x50", "at most, at each level"},
        {"smooth", 0, CLI_NUMBERS, &r->smooth, "2x1x0vox",
         "sigma before each level, mm or vox of FIXED (default: by --shrink)"},
        {"update-sigma", 0, CLI_NUMBERS, &r->update_sigma, "Nvox", update},
        {"total-sigma", 0, CLI_NUMBERS, &r->total_sigma, "Nvox", total},
        {"step", 0, CLI_NUMBERS, &r->step, "N[xM]vox", step},
        {"momentum", 0, CLI_NUMBER, &r->momentum, "N", momentum},
        {"lambda", 0, CLI_NUMBER, &r->lambda, "N", lambda},
        {"kernel", 0, CLI_CHOICE, &r->kernel, "auto|recompute|reuse|capped|twopass",
         "how the unbiased force is computed"},
        {"fixed-mask", 0, CLI_TEXT, &r->fixed_mask, "FILE", "where the fixed image counts (above 0)"},
        {"moving-mask", 0, CLI_TEXT, &r->moving_mask, "FILE", "where the moving image counts"},
        {"labels", 0, CLI_TEXT, &r->labels, "FILE",
         "a label map of the moving image to carry to the fixed grid"},
        {"tolerance", 0, CLI_NUMBER, &r->tolerance, "N", tolerance},
        {"inverse", 0, CLI_FLAG, &r->inverse, NULL, "also write the inverse warp"},
        {"strict", 0, CLI_FLAG, &r->strict, NULL, "exit with 1 when the result looks wrong"},
        {"no-picture", 0, CLI_FLAG, &r->no_picture, NULL, "do not draw PREFIX.png"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "-f FIXED -m MOVING -o PREFIX [options]",
        .about = about,
        .example = "  clvox register -f subject.nii.gz -m atlas.nii.gz -o result \\\n"
                   "      --fixed-mask subject_brain.nii.gz --moving-mask atlas_brain.nii.gz \\\n"
                   "      --labels atlas_labels.nii.gz",
        .options = options,
    };
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!r->fixed.count)
        return cli_misuse("-f FIXED is missing");
    if (!r->moving.count)
        return cli_misuse("-m MOVING is missing");
    CLV_TRY(read_channels(r));
    if (!r->prefix)
        return cli_misuse("-o PREFIX is missing");
    status = read_options(cli, r, o);
end:
    return status;
}

int cli_register_smoothing(const cli_register_request *r, const clvox_grid *fixed, clvox_register_options *o)
{
    double edge[3];
    clvox_grid_spacing(fixed, edge);
    for (int i = 0; i < r->smooth.count; i++) {
        if (!(r->smooth.value[i] >= 0))
            return cli_misuse("--smooth: %g is negative", r->smooth.value[i]);
        o->smooth_voxels[i] = r->smooth.value[i];
        if (r->smooth.unit == CLV_UNIT_MM)
            o->smooth_voxels[i] /= cbrt(edge[0] * edge[1] * edge[2]);
    }
    return CLVOX_OK;
}

/* ---- remarks and log ---------------------------------------------------- */

void cli_register_remarks(const command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    const bool none = o->deform == CLVOX_DEFORM_NONE, unbiased = o->deform == CLVOX_DEFORM_UNBIASED;
    const bool lncc = o->metric == CLVOX_METRIC_LNCC;
    const char *why_none = "with --deform none", *comma = r->metric ? strchr(r->metric, ',') : NULL;
    const char *model = unbiased ? "with --deform unbiased" : none ? why_none : "but with --deform unbiased";
    const struct {
        bool given, unused;
        const char *name, *why;
    } all[] = {
        {r->weights.count > 0, r->weights.count == 1, "--weight", "with one channel"},
        {r->quick, none, "--quick", why_none},
        {r->best, none, "--best", why_none},
        {comma != NULL, o->linear == CLVOX_LINEAR_NONE, "the linear part's metric", "with --linear none"},
        {comma != NULL, none, "the deformation's metric", why_none},
        {r->metric && !comma, none && o->linear == CLVOX_LINEAR_NONE, "--metric",
         "with --linear none and --deform none"},
        {r->gradient >= 0, none || !lncc, "--gradient", none ? why_none : "with a metric other than lncc"},
        {r->shrink.count > 0, none, "--shrink", why_none},
        {r->iterations.count > 0, none, "--iterations", why_none},
        {r->smooth.count > 0, none, "--smooth", why_none},
        {r->update_sigma.count > 0, none, "--update-sigma", why_none},
        {r->total_sigma.count > 0, none || unbiased, "--total-sigma", model},
        {r->step.count > 0, none, "--step", why_none},
        {!isnan(r->momentum), none || unbiased, "--momentum", model},
        {!isnan(r->lambda), !unbiased, "--lambda", model},
        {r->kernel >= 0, !unbiased, "--kernel", model},
        {!isnan(r->tolerance), none, "--tolerance", why_none},
        {r->inverse, none || o->deform == CLVOX_DEFORM_SYN, "--inverse",
         none ? why_none : "with --deform syn, which always writes it"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given && all[i].unused)
            cli_remark(cli, 0, "%s has no effect %s\n", all[i].name, all[i].why);
}

void cli_register_log_options(command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    static const char *const inits[] = {"auto", "identity", "header", "centers", "moments", "matrix"};
    static const char *const linears[] = {"none", "translation", "rigid", "similarity", "affine"};
    static const char *const forces[] = {"auto", "recompute", "reuse", "capped", "twopass"};
    cJSON *to = cJSON_AddObjectToObject(cli->log, "options");
    cJSON_AddStringToObject(to, "preset", r->quick ? "quick" : r->best ? "best" : "default");
    cJSON_AddStringToObject(to, "init", inits[o->init]);
    cJSON_AddStringToObject(to, "linear", linears[o->linear]);
    cJSON_AddStringToObject(to, "linear_metric", cli_register_metric_names[o->linear_metric]);
    cJSON_AddNumberToObject(to, "linear_radius", o->linear_radius);
    cJSON_AddNumberToObject(to, "linear_bins", o->linear_bins);
    cJSON_AddItemToObject(to, "weights", cJSON_CreateDoubleArray(r->weight, r->fixed.count));
    cJSON_AddStringToObject(to, "deform", clv_register_deform_name(o->deform));
    cJSON_AddStringToObject(to, "metric", cli_register_metric_names[o->metric]);
    cJSON_AddNumberToObject(to, "radius", o->radius);
    cJSON_AddNumberToObject(to, "bins", o->bins);
    cJSON_AddStringToObject(to, "gradient", o->local_gradient ? "local" : "true");
    cJSON_AddStringToObject(to, "kernel", forces[o->force]);
    cJSON_AddItemToObject(to, "shrink", cJSON_CreateDoubleArray(o->shrink, o->levels));
    cJSON_AddItemToObject(to, "iterations", cJSON_CreateIntArray(o->iterations, o->levels));
    cJSON_AddItemToObject(to, "smooth_voxels", cJSON_CreateDoubleArray(o->smooth_voxels, o->levels));
    cJSON_AddNumberToObject(to, "update_sigma", o->update_sigma);
    cJSON_AddNumberToObject(to, "total_sigma", o->total_sigma);
    cJSON_AddNumberToObject(to, "lambda", o->lambda);
    cJSON_AddNumberToObject(to, "step", o->step);
    cJSON_AddNumberToObject(to, "finest_step", o->finest_step);
    cJSON_AddNumberToObject(to, "momentum", o->momentum);
    cJSON_AddNumberToObject(to, "tolerance", o->tolerance);
}
