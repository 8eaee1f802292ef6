/* SPDX-License-Identifier: Apache-2.0 */
/* antsApplyTransforms, by `clvox apply` and `clvox compose`. */
#include <stdio.h>
#include <string.h>

#include "cli/ants/ants.h"
#include "clvox/files.h"

static const ants_option options[] = {
    {"dimensionality", 'd', ANTS_HONOURED, "3", "2 and 4 are refused"},
    {"input-image-type", 'e', ANTS_HONOURED, "0|3|4|5",
     "scalar, time series, multichannel; 1 and 2, vectors and tensors, are refused: `clvox apply` reorients "
     "them"},
    {"input", 'i', ANTS_HONOURED, "IMAGE", "the image"},
    {"reference-image", 'r', ANTS_HONOURED, "IMAGE", "the grid of the result"},
    {"output", 'o', ANTS_HONOURED,
     "IMAGE | [WARP,1] | Linear[FILE,INVERSE] | CompositeTransform[FILE,INVERSE]",
     "the image, the whole chain as a warp on the reference's grid, as one affine (.mat or .txt), as a "
     "composite (.h5)"},
    {"interpolation", 'n', ANTS_HONOURED,
     "Linear | NearestNeighbor | Gaussian | BSpline[3] | GenericLabel | LanczosWindowedSinc",
     "MultiLabel, other windowed sincs, orders of B-splines and widths of Gaussians are replaced"},
    {"output-data-type", 'u', ANTS_HONOURED, "uchar|short|int|float|double|default",
     "default: float, labels keep their type; char is refused"},
    {"transform", 't', ANTS_HONOURED, "FILE | [FILE,1] | identity", "the last one is applied first"},
    {"default-value", 'f', ANTS_HONOURED, "VALUE", "beyond the border of the image"},
    {"time-index", 0, ANTS_HONOURED, "N", "one volume of a series"},
    {"static-cast-for-R", 'z', ANTS_IDLE, "0|1", ""},
    {"float", 0, ANTS_IDLE, "0|1", "clvox computes in single precision, and in double where that matters"},
    {"verbose", 'v', ANTS_IDLE, "0|1", ""},
    {NULL},
};

static int read_chain(ants_line *line, ants_words *words)
{
    int status = CLVOX_OK;
    for (int i = 0; i < ants_count(line, "transform"); i++) {
        const char *word;
        CLI_TRY(ants_link(line, "transform", ants_at(line, "transform", i), &word));
        ants_add(words, "-t", word);
    }
    if (words->count > 2 * CLI_MAX_TEXTS)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d transforms", CLI_MAX_TEXTS);
end:
    return status;
}

/* Linear[FILE,1]: the chain the other way round, each link inverted. */
static int invert_chain(ants_line *line, ants_words *words)
{
    for (int i = 1, k = words->count - 1; i < k; i += 2, k -= 2) {
        const char *other = words->item[i];
        words->item[i] = words->item[k];
        words->item[k] = other;
    }
    for (int i = 1; i < words->count; i += 2) {
        const char *word = words->item[i];
        const size_t length = strlen(word);
        if (!strcasecmp(word, "identity"))
            continue;
        const bool inverse = *word == '[';
        words->item[i] =
            inverse ? ants_print(line, "%.*s", (int)length - 4, word + 1) : ants_print(line, "[%s,1]", word);
        if (!words->item[i])
            return CLVOX_ERROR_MEMORY;
    }
    return CLVOX_OK;
}

/* A chain as one transform. */
static int compose(command *cli, ants_line *line, const ants_value *out, bool composite)
{
    static const cli_verb verb = {"compose", NULL, cmd_compose};
    int status = CLVOX_OK;
    ants_words words = {.count = 0};
    const char *reference = ants_text(line, "reference-image", NULL);
    CLI_TRY(read_chain(line, &words));
    const bool named = *out->name;
    const char *flag = out->count > 1 ? out->item[1] : "0";
    if (named && !strcmp(flag, "1"))
        CLI_TRY(invert_chain(line, &words));
    if (!words.count)
        ants_add(&words, "-t", "identity");
    if (!named && !reference)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--reference-image is missing: the grid of the warp");
    if (reference)
        ants_add(&words, "-r", reference);
    if (named && !clvox_file_ends(out->item[0], composite ? ".h5" : ".mat") &&
        (composite || !clvox_file_ends(out->item[0], ".txt")))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--output %s: the name has to end in %s", out->text,
                          composite ? ".h5" : ".mat or .txt");
    ants_add(&words, "-o", out->item[0]);
    status = ants_run(cli, line, &verb, &words);
end:
    return status;
}

static int add_type(ants_line *line, ants_words *words)
{
    static const char *const kinds[][3] = {{"0", "scalar", ""},
                                           {"3", "time-series", ""},
                                           {"4", "multichannel", "none"},
                                           {"5", "five-dimensional", "none"}};
    const char *kind = ants_text(line, "input-image-type", "0"), *reorient = NULL;
    const char *type = ants_text(line, "output-data-type", "default");
    static const char *const types[] = {"uchar", "short", "int", "float", "double"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i][0]) || !strcasecmp(kind, kinds[i][1]))
            reorient = kinds[i][2];
    if (!reorient)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "--input-image-type %s: is refused; `clvox apply` resamples vectors and tensors, and reorients "
            "them",
            kind);
    if (*reorient)
        ants_add(words, "--reorient", reorient);
    if (!strcasecmp(type, "default"))
        type = "float";
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcasecmp(type, types[i])) {
            ants_add(words, "--output-type", types[i]);
            return CLVOX_OK;
        }
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "--output-data-type %s: is refused; clvox writes uchar, short, int, float "
                      "and double",
                      type);
}

static int run(command *cli, ants_line *line)
{
    static const cli_verb verb = {"apply", NULL, cmd_apply};
    int status = CLVOX_OK;
    ants_words words = {.count = 0};
    const ants_value *out = ants_find(line, "output");
    const char *image = ants_text(line, "input", NULL), *reference = ants_text(line, "reference-image", NULL),
               *how;
    if (!out || !out->text)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--output is missing");
    const bool linear = !strcasecmp(out->name, "Linear"),
               composite = !strcasecmp(out->name, "CompositeTransform");
    const bool warp = !*out->name && out->count > 1 && !strcmp(out->item[1], "1");
    if (out->count && *out->name && !linear && !composite)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "--output %s: neither a file nor Linear[FILE], CompositeTransform[FILE] "
                          "or [WARP,1]",
                          out->text);
    if ((linear && out->count) || (composite && out->count) || warp)
        return compose(cli, line, out, composite);
    if (!image)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--input is missing");
    if (!reference)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--reference-image is missing");
    CLI_TRY(read_chain(line, &words));
    CLI_TRY(add_type(line, &words));
    CLI_TRY(ants_interpolation(line, ants_find(line, "interpolation"), &how));
    ants_add(&words, "--interp", how);
    ants_add(&words, "-i", image);
    ants_add(&words, "-r", reference);
    ants_add(&words, "--outside", ants_text(line, "default-value", "0"));
    if (ants_find(line, "time-index"))
        ants_add(&words, "--frame", ants_text(line, "time-index", "0"));
    ants_add(&words, "-o", out->count ? out->item[0] : out->name);
    status = ants_run(cli, line, &verb, &words);
end:
    return status;
}

const ants_program ants_apply_program = {
    "antsApplyTransforms", "resamples an image through a chain of transforms", options, .run = run};
