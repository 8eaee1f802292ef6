/* SPDX-License-Identifier: Apache-2.0 */
/* N4BiasFieldCorrection, DenoiseImage, CreateJacobianDeterminantImage and ImageMath, by verbs of clvox. */
#include <string.h>

#include "cli/ants/ants.h"
#include "clvox/files.h"
#include "clvox/filter.h"

/* -o OUT or [OUT,SECOND], and what is read: an image, a mask and a weight image, on one grid. */
typedef struct files {
    const char *in_path, *mask_path, *weight_path, *out_path, *second_path; /* NULL: not given */
    clvox_volume *in, *mask, *weight;
} files;

static int read_files(command *cli, const ants_line *line, files *f)
{
    int status = CLVOX_OK;
    const ants_value *out = ants_find(line, "output");
    *f = (files){.in_path = ants_text(line, "input-image", NULL),
                 .mask_path = ants_text(line, "mask-image", NULL),
                 .weight_path = ants_text(line, "weight-image", NULL)};
    if (!f->in_path)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--input-image is missing");
    if (!out || !out->text || (out->count && *out->name) || out->count > 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--output is IMAGE or [IMAGE,IMAGE]");
    f->out_path = out->count ? out->item[0] : out->name;
    f->second_path = out->count > 1 && *out->item[1] ? out->item[1] : NULL;
    const char *const outputs[] = {f->out_path, f->second_path};
    CLI_TRY(clvox_outputs_check(NULL, 0, outputs, 2));
    ants_say(cli, line);
    const cli_input inputs[] = {
        {f->in_path, &f->in, 0}, {f->mask_path, &f->mask, CLI_AS_MASK}, {f->weight_path, &f->weight, 0}};
    CLI_TRY(cli_load(cli, inputs, 3, NULL, NULL, true));
    CLI_TRY(cli_on_grid(f->mask_path, f->mask, f->in_path, f->in));
    CLI_TRY(cli_on_grid(f->weight_path, f->weight, f->in_path, f->in));
end:
    return status;
}

/* Writes both or none, and releases all. */
static int finish_files(int status, files *f, clvox_volume *out, clvox_volume *second)
{
    clvox_results r = {.count = 0};
    if (status < 0)
        goto end;
    CLI_TRY(clvox_results_volume(&r, out, f->out_path, ""));
    if (second && f->second_path)
        CLI_TRY(clvox_results_volume(&r, second, f->second_path, ""));
    status = clvox_results_write(&r);
end:
    clvox_results_free(&r);
    clvox_volume_destroy(&f->in);
    clvox_volume_destroy(&f->mask);
    clvox_volume_destroy(&f->weight);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&second);
    return status;
}

/* ---- N4BiasFieldCorrection ---------------------------------------------- */

static const ants_option n4_options[] = {
    {"image-dimensionality", 'd', ANTS_HONOURED, "3", "2 and 4 are refused"},
    {"input-image", 'i', ANTS_HONOURED, "IMAGE", ""},
    {"mask-image", 'x', ANTS_HONOURED, "MASK",
     "without one the whole image counts; outside the image stays as it is"},
    {"weight-image", 'w', ANTS_HONOURED, "IMAGE", "how much voxels count"},
    {"rescale-intensities", 'r', ANTS_HONOURED, "0|1", "the range inside the mask stays that of the input"},
    {"shrink-factor", 's', ANTS_HONOURED, "N", "of the smallest edge: no axis to coarser voxels"},
    {"convergence", 'c', ANTS_HONOURED, "[50x50x50x50,0]", ""},
    {"bspline-fitting", 'b', ANTS_HONOURED, "[MM]",
     "a mesh of elements, [4x4x4], and an order other than 3 are replaced"},
    {"histogram-sharpening", 't', ANTS_HONOURED, "[0.15,0.01,200]", ""},
    {"output", 'o', ANTS_HONOURED, "IMAGE | [IMAGE,FIELD]", ""},
    {"verbose", 'v', ANTS_IDLE, "0|1", ""},
    {NULL},
};

static int read_n4(ants_line *line, clvox_bias_options *o)
{
    static const char *const sharpen[] = {"fwhm", "noise", "bins"};
    int status = CLVOX_OK, count = 0;
    bool rescale;
    const char *names[8], *texts[8];
    const ants_value *c = ants_find(line, "convergence"), *b = ants_find(line, "bspline-fitting"),
                     *t = ants_find(line, "histogram-sharpening");
    const char *spacing = b ? b->count ? b->item[0] : b->name : "";
    CLI_TRY(ants_flag(line, "rescale-intensities", false, &rescale));
    if (ants_find(line, "shrink-factor"))
        names[count] = "shrink", texts[count++] = ants_text(line, "shrink-factor", "4");
    if (c && (c->count || *c->name))
        names[count] = "iterations", texts[count++] = c->count ? c->item[0] : c->name;
    if (c && c->count > 1)
        names[count] = "tolerance", texts[count++] = c->item[1];
    /* ANTs tells a mesh from a distance by the x. */
    if (strchr(spacing, 'x'))
        ants_replaces(line, "a mesh of %s elements by splines 200 mm apart", spacing);
    else if (*spacing)
        names[count] = "spline", texts[count++] = spacing;
    if (b && b->count > 1 && strcmp(b->item[1], "3") != 0)
        ants_replaces(line, "B-splines of order %s by those of order 3", b->item[1]);
    for (int i = 0; t && i < t->count && i < 3; i++)
        names[count] = sharpen[i], texts[count++] = t->item[i];
    clvox_bias_defaults(o);
    CLI_TRY(clvox_options_set(clvox_bias_table(), names, texts, count, 0, o));
    o->rescale = rescale;
end:
    return status;
}

static int run_n4(command *cli, ants_line *line)
{
    int status = CLVOX_OK;
    files f = {.in = NULL};
    clvox_bias_options o;
    clvox_volume *out = NULL, *field = NULL;
    CLI_TRY(read_n4(line, &o));
    CLI_TRY(read_files(cli, line, &f));
    o.weight = f.weight;
    /* As a mask the image itself is all that has a logarithm. */
    status = clvox_filter_bias(cli->ctx, f.in, f.mask ? f.mask : f.in, &o, &out, &field, NULL);
    CLI_TRY(status < 0 ? clvox_fail_in(status, f.in_path) : status);
    for (size_t i = 0; f.mask && i < clvox_grid_voxels(&f.in->grid); i++)
        if (!(f.mask->data[i] > 0))
            out->data[i] = f.in->data[i];
end:
    return finish_files(status, &f, out, field);
}

const ants_program ants_n4_program = {"N4BiasFieldCorrection", "corrects uneven brightness", n4_options,
                                      .run = run_n4};

/* ---- DenoiseImage ------------------------------------------------------- */

static const ants_option denoise_options[] = {
    {"image-dimensionality", 'd', ANTS_HONOURED, "3", "2 and 4 are refused"},
    {"input-image", 'i', ANTS_HONOURED, "IMAGE", ""},
    {"noise-model", 'n', ANTS_HONOURED, "Gaussian|Rician", ""},
    {"mask-image", 'x', ANTS_HONOURED, "MASK", "voxels outside stay as they are"},
    {"shrink-factor", 's', ANTS_REPLACED, "1", "above 1: all voxels are used"},
    {"patch-radius", 'p', ANTS_REPLACED, "1", "patches and the range of the search are clvox's own"},
    {"search-radius", 'r', ANTS_REPLACED, "2", "likewise"},
    {"output", 'o', ANTS_HONOURED, "IMAGE | [IMAGE,NOISE]", "NOISE: what was taken away"},
    {"verbose", 'v', ANTS_IDLE, "0|1", ""},
    {NULL},
};

static int run_denoise(command *cli, ants_line *line)
{
    int status = CLVOX_OK;
    files f = {.in = NULL};
    clvox_nlm_options o;
    clvox_volume *out = NULL, *removed = NULL;
    const char *model = ants_text(line, "noise-model", "Gaussian");
    if (strcasecmp(model, "Gaussian") != 0 && strcasecmp(model, "Rician") != 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--noise-model %s: Gaussian or Rician", model);
    if (strcmp(ants_text(line, "shrink-factor", "1"), "1") != 0)
        ants_replaces(line, "the shrink factor by all voxels");
    if (ants_find(line, "patch-radius") || ants_find(line, "search-radius"))
        ants_replaces(line, "patches and the range of the search by its own");
    clvox_nlm_defaults(&o);
    o.noise = strcasecmp(model, "Rician") ? CLVOX_NOISE_GAUSSIAN : CLVOX_NOISE_RICIAN;
    CLI_TRY(read_files(cli, line, &f));
    status = clvox_filter_nlm(cli->ctx, f.in, f.mask, &o, &out, NULL);
    CLI_TRY(status < 0 ? clvox_fail_in(status, f.in_path) : status);
    CLI_TRY(clvox_volume_create(&f.in->grid, f.in->frames, f.in->kind, &removed));
    for (size_t i = 0; i < clvox_grid_voxels(&f.in->grid) * (size_t)f.in->frames; i++)
        removed->data[i] = f.in->data[i] - out->data[i];
end:
    return finish_files(status, &f, out, removed);
}

const ants_program ants_denoise_program = {"DenoiseImage", "denoises by non-local means", denoise_options,
                                           .run = run_denoise};

/* ---- CreateJacobianDeterminantImage ------------------------------------- */

static const ants_option jacobian_options[] = {
    {"imageDimension", 0, ANTS_HONOURED, "3", "2 is refused"},
    {"deformationField", 0, ANTS_HONOURED, "WARP", ""},
    {"outputImage", 0, ANTS_HONOURED, "IMAGE", ""},
    {"doLogJacobian", 0, ANTS_HONOURED, "0|1", ""},
    {"useGeometric", 0, ANTS_REPLACED, "0|1", "derivatives are central differences either way"},
    {"deformationGradient", 0, ANTS_REFUSED, "0|1", "the gradient of the deformation is not written"},
    {NULL},
};

static int run_jacobian(command *cli, ants_line *line)
{
    static const cli_verb verb = {"jacobian", NULL, cmd_jacobian};
    ants_words words = {.count = 0};
    ants_add(&words, "-t", ants_text(line, "deformationField", ""));
    ants_add(&words, "-o", ants_text(line, "outputImage", ""));
    if (strcmp(ants_text(line, "doLogJacobian", "0"), "0") != 0)
        ants_add(&words, "--log", NULL);
    if (strcmp(ants_text(line, "useGeometric", "0"), "0") != 0)
        ants_replaces(line, "the geometric determinant by that of central differences");
    return ants_run(cli, line, &verb, &words);
}

const ants_program ants_jacobian_program = {"CreateJacobianDeterminantImage",
                                            "writes the Jacobian determinant of a warp",
                                            jacobian_options,
                                            .by_place = true,
                                            .least = 3,
                                            .run = run_jacobian};

/* ---- ImageMath ---------------------------------------------------------- */

static const ants_option math_options[] = {
    {"ImageDimension", 0, ANTS_HONOURED, "3", "2 and 4 are refused"},
    {"outputImage", 0, ANTS_HONOURED, "IMAGE", ""},
    {"operation", 0, ANTS_HONOURED, "TruncateImageIntensity", "all others are refused"},
    {"inputImage", 0, ANTS_HONOURED, "IMAGE", ""},
    {"lowerQuantile", 0, ANTS_HONOURED, "0.0", ""},
    {"upperQuantile", 0, ANTS_HONOURED, "1.0", ""},
    {"numberOfBins", 0, ANTS_REPLACED, "65", "quantiles are exact, not of a histogram"},
    {"maskImage", 0, ANTS_HONOURED, "MASK", "where the quantiles are taken"},
    {NULL},
};

static int run_math(command *cli, ants_line *line)
{
    static const cli_verb verb = {"filter winsorize", NULL, cmd_filter_winsorize};
    int status = CLVOX_OK;
    ants_words words = {.count = 0};
    const char *operation = ants_text(line, "operation", "");
    if (strcmp(operation, "TruncateImageIntensity") != 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: of ImageMath clvox has TruncateImageIntensity alone",
                          operation);
    const char *quantiles = ants_print(line, "%s,%s", ants_text(line, "lowerQuantile", "0"),
                                       ants_text(line, "upperQuantile", "1"));
    if (!quantiles)
        return CLVOX_ERROR_MEMORY;
    words.item[words.count++] = ants_text(line, "inputImage", "");
    ants_add(&words, "-o", ants_text(line, "outputImage", ""));
    ants_add(&words, "--quantiles", quantiles);
    if (ants_find(line, "numberOfBins"))
        ants_replaces(line, "quantiles of a histogram by exact ones");
    if (ants_find(line, "maskImage"))
        ants_add(&words, "--mask", ants_text(line, "maskImage", ""));
    status = ants_run(cli, line, &verb, &words);
    return status;
}

const ants_program ants_math_program = {"ImageMath",  "TruncateImageIntensity: clips values at two quantiles",
                                        math_options, .by_place = true,
                                        .least = 4,   .run = run_math};
