/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing, and one image. */
#include "cli/cmd_apply/apply.h"

/* Resamples one image. */
static int apply_one(command *cli, const clvox_apply_row *row, const cli_texts *transforms,
                     const clvox_apply_list_options *o)
{
    int status = CLVOX_OK;
    clvox_apply_work w = {.image = NULL};
    cli_input inputs[CLVOX_APPLY_INPUTS];
    clvox_apply_inputs(row, o, &w, inputs);
    CLI_TRY(cli_load(cli, inputs, CLVOX_APPLY_INPUTS, transforms, &w.chain, true));
    CLI_TRY(clvox_apply_solve(cli->ctx, row, o, &w, cli->log, &(clvox_hearer){cli_hear, cli}));
    CLI_TRY(clvox_apply_write(row, o, &w));
    cli_log_output(cli, row->output);
end:
    clvox_apply_work_free(&w);
    return status;
}

int cmd_apply(command *cli, int argc, char **argv)
{
    static const clvox_interpolation methods[] = {CLVOX_INTERPOLATE_AUTO,    CLVOX_INTERPOLATE_LINEAR,
                                                  CLVOX_INTERPOLATE_NEAREST, CLVOX_INTERPOLATE_CUBIC,
                                                  CLVOX_INTERPOLATE_LABEL,   CLVOX_INTERPOLATE_BSPLINE,
                                                  CLVOX_INTERPOLATE_LANCZOS, CLVOX_INTERPOLATE_GAUSSIAN};
    static const clvox_reorientation kinds[] = {CLVOX_REORIENT_AUTO, CLVOX_REORIENT_FINITE_STRAIN,
                                                CLVOX_REORIENT_PRINCIPAL, CLVOX_REORIENT_NONE};
    const char *points = NULL, *shape[CLI_SHAPE_KINDS] = {NULL}, *list = NULL, *pair = NULL;
    const char *image = NULL, *out = NULL;
    char word[2][CLI_PAIR_ROOM];
    bool inverse = false, forward = false, mass = false;
    cli_texts transforms = {.count = 0};
    clvox_apply_list_options o;
    int interp = 0, reorient = 0, frames = 0, order = CLVOX_TENSOR_AUTO, output = CLVOX_OUTPUT_AUTO;
    double outside = 0;
    clvox_apply_list_defaults(&o);
    const cli_option options[] = {
        {"input", 'i', CLI_TEXT, &image, "IMAGE", "the volume to resample, 3-D or 4-D",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"reference", 'r', CLI_TEXT, &o.reference, "REFERENCE", "the volume whose grid the output takes",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"transform", 't', CLI_REPEAT, &transforms, "FILE[,-1]",
         "a transform, the last one applied first, as in ANTs; ,-1 inverts it",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"pair", 0, CLI_TEXT, &pair, "PREFIX", "the chain of `clvox register -o PREFIX`, instead of -t",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"inverse", 0, CLI_FLAG, &inverse, NULL, "its inverse, from FIXED to MOVING",
         CLVOX_GROUP_IMAGES, .basic = true, .needs = "pair"},
        {"frame", 0, CLI_INTEGER, &o.frame, "N", "only this volume of a 4-D IMAGE, counted from 0",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"output", 'o', CLI_OUT, &out, "OUT", "the file to write",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"interp", 0, CLI_CHOICE, &interp, "auto|linear|nearest|cubic|label|bspline|lanczos|gaussian",
         "auto: label for label images, else linear",
         CLVOX_GROUP_QUALITY, .basic = true},
        {"outside", 0, CLI_NUMBER, &outside, "VALUE", "value beyond the border of IMAGE (default 0)",
         CLVOX_GROUP_QUALITY},
        {"output-type", 0, CLI_CHOICE, &output, "auto|input|float|double|short|ushort|uchar|int",
         "voxel type of OUT, except for labels; input: as in IMAGE; auto: as in IMAGE, but float if IMAGE is "
         "scaled, and with --mass",
         CLVOX_GROUP_QUALITY},
        {"reorient", 0, CLI_CHOICE, &reorient, "auto|fs|ppd|none",
         "how to reorient tensors and vectors: fs (finite strain) or ppd (preservation of principal "
         "direction); "
         "auto: ppd for tensors, fs for vectors",
         CLVOX_GROUP_QUALITY},
        {"order", 0, CLI_CHOICE, &order, CLI_TENSOR_ORDERS,
         "order of a tensor's six volumes, in IMAGE and OUT (auto: tensors only where NIfTI's intent says "
         "so)",
         CLVOX_GROUP_QUALITY},
        {"forward", 0, CLI_FLAG, &forward, NULL,
         "carry IMAGE's voxels through the chain instead: from fixed to moving",
         CLVOX_GROUP_QUALITY},
        {"mass", 0, CLI_FLAG, &mass, NULL,
         "sum instead of mean, which preserves the integral",
         CLVOX_GROUP_QUALITY, .needs = "forward"},
        {"list", 0, CLI_TEXT, &list, "TABLE.tsv",
         "many images instead: a table with columns input, output, reference, transforms",
         CLVOX_GROUP_MANY, .basic = true},
        {"summary", 0, CLI_OUT, &o.summary, "FILE.tsv",
         "one row per image; repeat the command to resume a stopped run",
         CLVOX_GROUP_MANY, .needs = "list"},
        {"jobs", 0, CLI_INTEGER, &o.jobs, "N",
         "images written at once while the next is resampled (default: --threads, up to 4)",
         CLVOX_GROUP_MANY, .needs = "list"},
        {"points", 0, CLI_TEXT, &points, "IN.csv", "move points instead of resampling",
         CLVOX_GROUP_ANATOMY, .basic = true},
        {"surface", 0, CLI_TEXT, &shape[CLI_SURFACE], "IN",
         "move the vertices of a mesh instead of resampling",
         CLVOX_GROUP_ANATOMY, .basic = true},
        {"curves", 0, CLI_TEXT, &shape[CLI_CURVES], "IN",
         "move the vertices of curves instead of resampling",
         CLVOX_GROUP_ANATOMY, .basic = true},
        {"frames", 0, CLI_CHOICE, &frames, "auto|lps|ras",
         "coordinates of points, and of meshes and curves whose file states none (auto: points lps, as in "
         "ITK "
         "and ANTs; meshes and curves ras)",
         CLVOX_GROUP_ANATOMY, .needs = "points|surface|curves"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
    };
    cli_chain chain = {.count = 0};
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    int places = points != NULL;
    const cli_shape_kind *kind = NULL;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        if (shape[k]) {
            kind = &cli_shape_kinds[k];
            places++;
        }
    if (list && (image || out || places))
        return cli_misuse(
            "--list names the images and the outputs: leave out -i, -o, --points, --surface and --curves");
    if (pair && transforms.count)
        return cli_misuse("-t and --pair: one of them");
    if (o.frame >= 0 && (list || places || order != CLVOX_TENSOR_AUTO))
        return cli_misuse("--frame takes one volume of a series: leave out --list, --points, --surface, "
                          "--curves and --order");
    if (o.jobs > CLI_MOST_JOBS)
        return cli_misuse("--jobs %d: at most %d", o.jobs, CLI_MOST_JOBS);
    if (!out && !list)
        return cli_misuse("-o OUT is missing");
    if (places > 1)
        return cli_misuse("--points, --surface and --curves are separate runs: leave out one of them");
    if (places && (image || o.reference))
        return cli_misuse("--points, --surface and --curves take neither -i nor -r");
    if (!places && !list && !image)
        return cli_misuse("-i IMAGE is missing");
    if (!places && !list && !o.reference)
        return cli_misuse("-r REFERENCE is missing");
    if (forward && (places || interp || reorient || order != CLVOX_TENSOR_AUTO))
        return cli_misuse(
            "--forward takes none of --points, --surface, --curves, --interp, --reorient and --order");
    if (pair)
        CLI_TRY(cli_apply_pair(cli, pair, inverse, word, &transforms));
    if (places) {
        CLI_TRY(cli_read_chain(cli, &transforms, &chain));
        status = points ? cli_apply_points(cli, &chain, points, frames == CLI_FRAME_RAS, out)
                        : cli_apply_shape(cli, &chain, kind, (cli_frames)frames,
                                          shape[kind - cli_shape_kinds], out);
        goto end;
    }
    const clvox_apply_options how = {.size = sizeof how, .interpolation = methods[interp],
                                     .outside = (float)outside,
                                     .reorientation = kinds[reorient],
                                     .output = (clvox_output)output};
    const clvox_apply_row row = {
        .input = (char *)image, .reference = (char *)o.reference, .output = (char *)out};
    o.apply = &how;
    o.order = (clvox_tensor_order)order;
    o.forward = forward;
    o.landing = mass ? CLVOX_LANDING_MASS : CLVOX_LANDING_MEAN;
    o.transform = transforms.item;
    o.transforms = transforms.count;
    status = list ? cli_apply_list(cli, list, &o) : apply_one(cli, &row, &transforms, &o);
end:
    cli_chain_free(&chain);
    return status;
}
