/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing, and one image. */
#include "cli/cmd_apply/apply.h"

int cli_apply_make(command *cli, const cli_apply *a, clvox_volume **out)
{
    int status = CLVOX_OK;
    bool named = a->order != CLVOX_TENSOR_AUTO;
    clvox_volume *image = NULL, *reference = NULL;
    cli_chain chain = {.fixed = a->reference, .moving = a->image};
    const cli_input inputs[] = {{named ? NULL : a->image, &image, a->mass ? 0 : CLI_AS_LABELS},
                                {a->reference, &reference, 0}};
    *out = NULL;
    CLI_TRY(cli_load(cli, inputs, 2, &a->transforms, &chain, true));
    if (named)
        CLI_TRY(cli_read_tensor(cli, a->image, a->order, &image));
    cli_apply_check_order(cli, a, &image->grid, &reference->grid, &chain);
    if (a->frame >= 0) {
        clvox_volume *one = NULL;
        status = clvox_volume_frame(image, a->frame, &one);
        CLI_TRY(status < 0 ? clvox_fail_in(status, a->image) : status);
        clvox_volume_destroy(&image);
        image = one;
    }
    if (!a->mass && a->how.interpolation == CLVOX_INTERPOLATE_AUTO && image->kind == CLVOX_KIND_SCALAR &&
        image->hint != CLVOX_LABELS_NONE) {
        cli_remark(cli, 0, "%s: treated as a label map (%s); to treat it as an image, give %s\n", a->image,
                   clvox_label_reason(image->hint), a->forward ? "--mass" : "--interp linear");
        cJSON_DeleteItemFromObject(cli->log, "taken_for_labels"); /* of a list, the last image's stays */
        cJSON_AddStringToObject(cli->log, "taken_for_labels", clvox_label_reason(image->hint));
    }
    if (a->forward) {
        CLI_TRY(clvox_forward(cli->ctx, image, &reference->grid, chain.link, chain.count,
                              a->mass ? CLVOX_LANDING_MASS : CLVOX_LANDING_MEAN, a->how.outside, out));
        CLI_TRY(clvox_volume_set_output(*out, image, a->mass ? 0 : a->how.outside, a->how.output));
        goto end;
    }
    CLI_TRY(clvox_apply_with(cli->ctx, image, &reference->grid, chain.link, chain.count, &a->how, out));
end:
    if (status < 0)
        clvox_volume_destroy(out);
    cli_chain_free(&chain);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&reference);
    return status;
}

int cli_apply_write(const cli_apply *a, const clvox_volume *out)
{
    return a->order != CLVOX_TENSOR_AUTO ? clvox_tensor_write(out, a->order, a->out)
                                         : clvox_volume_write(out, a->out);
}

int cmd_apply(command *cli, int argc, char **argv)
{
    static const clvox_interpolation methods[] = {CLVOX_INTERPOLATE_AUTO,    CLVOX_INTERPOLATE_LINEAR,
                                                  CLVOX_INTERPOLATE_NEAREST, CLVOX_INTERPOLATE_CUBIC,
                                                  CLVOX_INTERPOLATE_LABEL,   CLVOX_INTERPOLATE_BSPLINE,
                                                  CLVOX_INTERPOLATE_LANCZOS, CLVOX_INTERPOLATE_GAUSSIAN};
    static const clvox_reorientation kinds[] = {CLVOX_REORIENT_AUTO, CLVOX_REORIENT_FINITE_STRAIN,
                                                CLVOX_REORIENT_PRINCIPAL, CLVOX_REORIENT_NONE};
    const char *points = NULL, *shape[CLI_SHAPE_KINDS] = {NULL}, *list = NULL, *summary = NULL;
    const char *pair = NULL;
    char word[2][CLI_PAIR_ROOM];
    bool inverse = false;
    cli_apply a = {.frame = -1};
    int jobs = 0, interp = 0, reorient = 0, frames = 0, order = CLVOX_TENSOR_AUTO, output = CLVOX_OUTPUT_AUTO;
    double outside = 0;
    const cli_option options[] = {
        {"input", 'i', CLI_TEXT, &a.image, "IMAGE", "the volume to resample, 3-D or 4-D",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"reference", 'r', CLI_TEXT, &a.reference, "REFERENCE", "the volume whose grid the output takes",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"transform", 't', CLI_REPEAT, &a.transforms, "FILE[,-1]",
         "a transform, the last one applied first, as in ANTs; ,-1 inverts it",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"pair", 0, CLI_TEXT, &pair, "PREFIX", "the chain of `clvox register -o PREFIX`, instead of -t",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"inverse", 0, CLI_FLAG, &inverse, NULL, "its inverse, from FIXED to MOVING",
         CLVOX_GROUP_IMAGES, .basic = true, .needs = "pair"},
        {"frame", 0, CLI_INTEGER, &a.frame, "N", "only this volume of a 4-D IMAGE, counted from 0",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"output", 'o', CLI_OUT, &a.out, "OUT", "the file to write",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"interp", 0, CLI_CHOICE, &interp, "auto|linear|nearest|cubic|label|bspline|lanczos|gaussian",
         "auto: label for label images, else linear",
         CLVOX_GROUP_QUALITY, .basic = true},
        {"outside", 0, CLI_NUMBER, &outside, "VALUE", "value beyond the border of IMAGE (default 0)",
         CLVOX_GROUP_QUALITY},
        {"output-type", 0, CLI_CHOICE, &output, "auto|input|float|double|short|ushort|uchar|int",
         "voxel type of OUT, except for labels; input: as in IMAGE; auto: as in IMAGE, but float if IMAGE is "
         "scaled",
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
        {"forward", 0, CLI_FLAG, &a.forward, NULL,
         "carry IMAGE's voxels through the chain instead: from fixed to moving",
         CLVOX_GROUP_QUALITY},
        {"mass", 0, CLI_FLAG, &a.mass, NULL,
         "sum instead of mean, which preserves the integral",
         CLVOX_GROUP_QUALITY, .needs = "forward"},
        {"list", 0, CLI_TEXT, &list, "TABLE.tsv",
         "many images instead: a table with columns input, output, reference, transforms",
         CLVOX_GROUP_MANY, .basic = true},
        {"summary", 0, CLI_OUT, &summary, "FILE.tsv",
         "one row per image; repeat the command to resume a stopped run",
         CLVOX_GROUP_MANY, .needs = "list"},
        {"jobs", 0, CLI_INTEGER, &jobs, "N",
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
    clvox_volume *out = NULL;
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
    if (list && (a.image || a.out || places))
        return cli_misuse(
            "--list names the images and the outputs: leave out -i, -o, --points, --surface and --curves");
    if (pair && a.transforms.count)
        return cli_misuse("-t and --pair: one of them");
    if (a.frame >= 0 && (list || places || order != CLVOX_TENSOR_AUTO))
        return cli_misuse("--frame takes one volume of a series: leave out --list, --points, --surface, "
                          "--curves and --order");
    if (jobs > CLI_MOST_JOBS)
        return cli_misuse("--jobs %d: at most %d", jobs, CLI_MOST_JOBS);
    if (!a.out && !list)
        return cli_misuse("-o OUT is missing");
    if (places > 1)
        return cli_misuse("--points, --surface and --curves are separate runs: leave out one of them");
    if (places && (a.image || a.reference))
        return cli_misuse("--points, --surface and --curves take neither -i nor -r");
    if (!places && !list && !a.image)
        return cli_misuse("-i IMAGE is missing");
    if (!places && !list && !a.reference)
        return cli_misuse("-r REFERENCE is missing");
    if (a.forward && (places || interp || reorient || order != CLVOX_TENSOR_AUTO))
        return cli_misuse(
            "--forward takes none of --points, --surface, --curves, --interp, --reorient and --order");
    if (pair)
        CLI_TRY(cli_apply_pair(cli, pair, inverse, word, &a.transforms));
    if (places) {
        CLI_TRY(cli_read_chain(cli, &a.transforms, &chain));
        status = points ? cli_apply_points(cli, &chain, points, frames == CLI_FRAME_RAS, a.out)
                        : cli_apply_shape(cli, &chain, kind, (cli_frames)frames,
                                          shape[kind - cli_shape_kinds], a.out);
        goto end;
    }
    a.order = (clvox_tensor_order)order;
    a.how = (clvox_apply_options){.size = sizeof(clvox_apply_options), .interpolation = methods[interp],
                                  .outside = (float)outside,
                                  .reorientation = kinds[reorient],
                                  .output = (clvox_output)output};
    if (list) {
        status = cli_apply_list(cli, list, summary, jobs, &a);
        goto end;
    }
    CLI_TRY(cli_apply_make(cli, &a, &out));
    CLI_TRY(cli_apply_write(&a, out));
    cli_log_output(cli, a.out);
end:
    cli_chain_free(&chain);
    clvox_volume_destroy(&out);
    return status;
}
