/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/points.h"

/* ---- points ------------------------------------------------------------- */

/* Through one link. The inverse of a warp is found by search: what it leads to has to come back. */
static int move_through(const command *cli, const clvox_link *link, const char *word, cli_points *t)
{
    enum { NEAR = 10 }; /* the part of a voxel */
    int status = CLVOX_OK, lost = 0;
    double edge[3], worst = 0, *before = NULL, *back = NULL;
    const size_t bytes = 3 * (size_t)t->count * sizeof *before;
    if (!link->inverse || !link->transform->is_warp)
        return clvox_apply_points(link, 1, t->points, t->count);
    before = malloc(bytes + 1);
    back = malloc(bytes + 1);
    if (!before || !back) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    memcpy(before, t->points, bytes);
    CLV_TRY(clvox_apply_points(link, 1, t->points, t->count));
    memcpy(back, t->points, bytes);
    CLV_TRY(clvox_apply_points(&(clvox_link){link->transform, 0}, 1, back, t->count));
    clvox_grid_spacing(&link->transform->warp->grid, edge);
    for (int i = 0; i < t->count; i++) {
        const double *x = before + 3 * i, *y = back + 3 * i;
        const double apart = sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) + (x[2] - y[2]) * (x[2] - y[2]));
        if (apart <= fmin(edge[0], fmin(edge[1], edge[2])) / NEAR)
            continue;
        lost++;
        worst = fmax(worst, isfinite(apart) ? apart : INFINITY);
    }
    if (lost && lost == t->count)
        status = clv_fail(CLVOX_ERROR_DATA, "%s: the warp has no inverse at any of the points: there and back they are off by up to "
                          "%.3g mm", word, worst);
    else if (lost)
        fprintf(stderr, "clvox %s: WARNING: %s has no inverse at %d of %d points: there and back these are off by up to %.3g mm\n",
                cli->verb, word, lost, t->count, worst);
end:
    free(before);
    free(back);
    return status;
}

static int move_points(command *cli, const cli_chain *chain, const char *in, bool ras, const char *out)
{
    int status = CLVOX_OK;
    cli_points t;
    CLV_TRY(cli_points_read(in, ras, &t));
    for (int i = 0; i < chain->count; i++)
        CLV_TRY(move_through(cli, &chain->link[i], chain->word[i], &t));
    CLV_TRY(cli_points_write(&t, ras, out));
    cli_log_output(cli, out);
    cJSON_AddNumberToObject(cli->log, "points", t.count);
    cli_remark(cli, 0, "moved %d points\n", t.count);
end:
    cli_points_free(&t);
    return status;
}

/* ---- images ------------------------------------------------------------- */

int cmd_apply(command *cli, int argc, char **argv)
{
    static const clvox_interpolation methods[] = {CLVOX_INTERPOLATE_AUTO, CLVOX_INTERPOLATE_LINEAR,
                                                  CLVOX_INTERPOLATE_NEAREST, CLVOX_INTERPOLATE_CUBIC,
                                                  CLVOX_INTERPOLATE_LABEL, CLVOX_INTERPOLATE_BSPLINE,
                                                  CLVOX_INTERPOLATE_LANCZOS};
    static const clvox_reorientation kinds[] = {CLVOX_REORIENT_AUTO, CLVOX_REORIENT_FINITE_STRAIN,
                                                CLVOX_REORIENT_PRINCIPAL, CLVOX_REORIENT_NONE};
    const char *image_path = NULL, *reference_path = NULL, *out_path = NULL, *points = NULL;
    cli_texts transforms = {.count = 0};
    bool forward = false, mass = false;
    int interp = 0, reorient = 0, frames = 0, order = CLVOX_TENSOR_AUTO, output = CLVOX_OUTPUT_AUTO;
    double outside = 0;
    const cli_option options[] = {
        {"input", 'i', CLI_TEXT, &image_path, "IMAGE", "the volume to resample, 3-D or 4-D"},
        {"reference", 'r', CLI_TEXT, &reference_path, "REFERENCE", "the output is on its grid"},
        {"transform", 't', CLI_REPEAT, &transforms, "FILE[,-1]",
         "a transform; the last is applied first; ,-1 inverts it"},
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the file to write"},
        {"interp", 0, CLI_CHOICE, &interp, "auto|linear|nearest|cubic|label|bspline|lanczos",
         "auto: label for label images, else linear"},
        {"outside", 0, CLI_NUMBER, &outside, "VALUE", "value beyond the border of IMAGE (default 0)"},
        {"output-type", 0, CLI_CHOICE, &output, "auto|input|float|double|short|ushort|uchar|int",
         "of an image (labels stay); input: type of IMAGE's file; auto: the same, but float if that was scaled"},
        {"reorient", 0, CLI_CHOICE, &reorient, "auto|fs|ppd|none",
         "how tensors and vectors turn: finite strain, preservation of principal direction (auto: ppd for "
         "tensors, fs for vectors)"},
        {"order", 0, CLI_CHOICE, &order, CLI_TENSOR_ORDERS,
         "of a tensor's six volumes, in and out (auto: what NIfTI marks as tensors)"},
        {"forward", 0, CLI_FLAG, &forward, NULL, "carry IMAGE's voxels through the chain instead: from fixed to moving"},
        {"mass", 0, CLI_FLAG, &mass, NULL, "with --forward: add up what lands, so that the integral is kept (else: its mean)"},
        {"points", 0, CLI_TEXT, &points, "IN.csv", "move points instead of resampling"},
        {"frames", 0, CLI_CHOICE, &frames, "lps|ras", "frame of the points, in and out (default lps, as in ITK and ANTs)"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "-i IMAGE -r REFERENCE -t T [-t T ...] -o OUT\n"
                    "       clvox apply --points IN.csv [--frames ras] -t T [-t T ...] -o OUT.csv",
        .about =
            "Resamples an image onto the grid of REFERENCE through a chain of transforms, as\n"
            "antsApplyTransforms does: the voxel of REFERENCE at x takes the value of IMAGE at last(... first(x)).\n"
            "label keeps label values: the one of the eight neighbours with the largest summed weight.\n"
            "Without -t it only resamples.\n\n"
            "--output-type: values are rounded and clipped to integer types; where IMAGE has\n"
            "values that do not fit the type, scl_slope spreads its range over that of the type.\n\n"
            "Tensors and vectors are reoriented. ppd (the default for tensors, as in ANTs and FSL)\n"
            "follows fibres through shear and stretching; fs (finite strain) applies the rotation\n"
            "alone. Files of FSL, DIPY and MRtrix do not declare tensors: give --order.\n\n"
            "--forward carries each voxel of IMAGE to last(... first(x)), where --points takes points, and shares\n"
            "its value among the eight voxels of REFERENCE around that place: the adjoint of linear\n"
            "interpolation, for images of the fixed space, with no inverse. A voxel takes the mean of what\n"
            "lands there, --outside where nothing does; with --mass the sum, per mm^3, which keeps the\n"
            "integral: for densities, counts and volumes of tissue.\n\n"
            "--points moves points the other way, from the space of REFERENCE to that of IMAGE, as\n"
            "antsApplyTransformsToPoints does: a table whose first columns are x,y,z in LPS millimetres\n"
            "(RAS with --frames ras); further columns are kept.",
        .example = "  clvox apply -i atlas_labels.nii.gz -r subject.nii.gz -t result_warp.nii.gz "
                   "-t result_affine.txt \\\n      --interp label -o labels_on_subject.nii.gz",
        .options = options,
    };
    clvox_volume *image = NULL, *reference = NULL, *out = NULL;
    cli_chain chain = {.count = 0};
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if (!points && frames)
        return cli_misuse("--frames belongs to --points");
    if (points && (image_path || reference_path))
        return cli_misuse("--points takes neither -i nor -r");
    if (!points && !image_path)
        return cli_misuse("-i IMAGE is missing");
    if (!points && !reference_path)
        return cli_misuse("-r REFERENCE is missing");
    if (mass && !forward)
        return cli_misuse("--mass belongs to --forward");
    if (forward && (points || interp || reorient || order != CLVOX_TENSOR_AUTO))
        return cli_misuse("--forward takes none of --points, --interp, --reorient and --order");
    if (points) {
        CLV_TRY(cli_read_chain(cli, &transforms, &chain));
        status = move_points(cli, &chain, points, frames == 1, out_path);
        goto end;
    }
    bool named = order != CLVOX_TENSOR_AUTO;
    const cli_input inputs[] = {{named ? NULL : image_path, &image, forward ? 0 : CLI_AS_LABELS},
                                {reference_path, &reference, 0}};
    chain.fixed = reference_path;
    chain.moving = image_path;
    CLV_TRY(cli_load(cli, inputs, 2, &transforms, &chain, true));
    if (named)
        CLV_TRY(cli_read_tensor(cli, image_path, (clvox_tensor_order)order, &image));
    if (forward) {
        CLV_TRY(clvox_forward(cli->ctx, image, &reference->grid, chain.link, chain.count,
                              mass ? CLVOX_LANDING_MASS : CLVOX_LANDING_MEAN, (float)outside, &out));
        status = clvox_volume_store_as(out, image, mass ? 0 : outside, (clvox_output)output);
        if (status >= 0)
            status = cli_write_volume(cli, out, out_path);
        goto end;
    }
    if (interp == 0 && image->kind == CLVOX_KIND_SCALAR && image->hint != CLVOX_LABELS_NONE) {
        cli_remark(cli, 0, "%s: taken for labels (%s), which are kept; --interp linear takes it for an image\n",
                   image_path, clvox_label_reason(image->hint));
        cJSON_AddStringToObject(cli->log, "taken_for_labels", clvox_label_reason(image->hint));
    }
    const clvox_apply_options how = {.interpolation = methods[interp],
                                     .outside = (float)outside,
                                     .reorientation = kinds[reorient],
                                     .output = (clvox_output)output};
    CLV_TRY(clvox_apply_with(cli->ctx, image, &reference->grid, chain.link, chain.count, &how, &out));
    if (named)
        CLV_TRY(cli_write_tensor(cli, out, (clvox_tensor_order)order, out_path));
    else
        CLV_TRY(cli_write_volume(cli, out, out_path));
end:
    cli_chain_free(&chain);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&out);
    return status;
}
