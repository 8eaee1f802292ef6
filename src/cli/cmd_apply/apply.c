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
        CLI_TRY(clvox_volume_store_as(*out, image, a->mass ? 0 : a->how.outside, a->how.output));
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
                                                  CLVOX_INTERPOLATE_LANCZOS};
    static const clvox_reorientation kinds[] = {CLVOX_REORIENT_AUTO, CLVOX_REORIENT_FINITE_STRAIN,
                                                CLVOX_REORIENT_PRINCIPAL, CLVOX_REORIENT_NONE};
    const char *points = NULL, *shape[CLI_SHAPE_KINDS] = {NULL}, *list = NULL, *summary = NULL;
    cli_apply a = {.image = NULL};
    int jobs = 0, interp = 0, reorient = 0, frames = 0, order = CLVOX_TENSOR_AUTO, output = CLVOX_OUTPUT_AUTO;
    double outside = 0;
    const cli_option options[] = {
        {"input", 'i', CLI_TEXT, &a.image, "IMAGE", "the volume to resample, 3-D or 4-D"},
        {"reference", 'r', CLI_TEXT, &a.reference, "REFERENCE", "the volume whose grid the output takes"},
        {"transform", 't', CLI_REPEAT, &a.transforms, "FILE[,-1]",
         "a transform, the last one applied first, as in ANTs; ,-1 inverts it"},
        {"output", 'o', CLI_OUT, &a.out, "OUT", "the file to write"},
        {"interp", 0, CLI_CHOICE, &interp, "auto|linear|nearest|cubic|label|bspline|lanczos",
         "auto: label for label images, else linear"},
        {"outside", 0, CLI_NUMBER, &outside, "VALUE", "value beyond the border of IMAGE (default 0)"},
        {"output-type", 0, CLI_CHOICE, &output, "auto|input|float|double|short|ushort|uchar|int",
         "voxel type of OUT, except for labels; input: as in IMAGE; auto: as in IMAGE, but float if IMAGE is "
         "scaled"},
        {"reorient", 0, CLI_CHOICE, &reorient, "auto|fs|ppd|none",
         "how to reorient tensors and vectors: fs (finite strain) or ppd (preservation of principal "
         "direction); "
         "auto: ppd for tensors, fs for vectors"},
        {"order", 0, CLI_CHOICE, &order, CLI_TENSOR_ORDERS,
         "order of a tensor's six volumes, in IMAGE and OUT (auto: tensors only where NIfTI's intent says "
         "so)"},
        {"forward", 0, CLI_FLAG, &a.forward, NULL,
         "carry IMAGE's voxels through the chain instead: from fixed to moving"},
        {"mass", 0, CLI_FLAG, &a.mass, NULL,
         "with --forward: sum instead of mean, which preserves the integral"},
        {"list", 0, CLI_TEXT, &list, "TABLE.tsv",
         "many images instead: columns input, output and, if wanted, reference and transforms "
         "(FILE[,-1];FILE ...); \\t, \\n, \\r and \\\\ in a field are a tab, line ends and a backslash"},
        {"summary", 0, CLI_OUT, &summary, "FILE.tsv",
         "with --list: one row per image; repeat the command to resume a stopped run"},
        {"jobs", 0, CLI_INTEGER, &jobs, "N",
         "with --list: images written at once while the next is resampled (default: --threads, at most 4)"},
        {"points", 0, CLI_TEXT, &points, "IN.csv", "move points instead of resampling"},
        {"surface", 0, CLI_TEXT, &shape[CLI_SURFACE], "IN",
         "move the vertices of a mesh instead of resampling"},
        {"curves", 0, CLI_TEXT, &shape[CLI_CURVES], "IN",
         "move the vertices of curves instead of resampling"},
        {"frames", 0, CLI_CHOICE, &frames, "auto|lps|ras",
         "coordinates of points, and of meshes and curves whose file states none (auto: points lps, as in "
         "ITK "
         "and ANTs; meshes and curves ras)"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "-i IMAGE -r REFERENCE -t T [-t T ...] -o OUT\n"
                    "       clvox apply --list TABLE.tsv [-r REFERENCE] [-t T ...]\n"
                    "       clvox apply --points IN.csv [--frames ras] -t T [-t T ...] -o OUT.csv\n"
                    "       clvox apply --surface IN [--frames lps] -t T [-t T ...] -o OUT\n"
                    "       clvox apply --curves IN [--frames lps] -t T [-t T ...] -o OUT",
        .about =
            "Resamples an image onto the grid of REFERENCE through a chain of transforms, as\n"
            "antsApplyTransforms does: the last -t is applied to IMAGE first. After a registration give the\n"
            "warp, then the affine: -t PREFIX_warp.nii.gz -t PREFIX_affine.txt.\n"
            "Without -t it only resamples. --interp label writes existing labels only: the one with the\n"
            "largest total weight among the eight neighbours.\n\n"
            "--output-type: integer types round and clip values; where the values of IMAGE do not fit\n"
            "the type, they are rescaled to its range (scl_slope).\n\n"
            "Tensors and vectors are reoriented. ppd (the default for tensors, as in ANTs and FSL)\n"
            "follows fibres through shear and stretching; fs (finite strain) applies the rotation\n"
            "alone. Files of FSL, DIPY and MRtrix do not declare tensors: give --order.\n\n"
            "--forward carries an image of the fixed space to the moving one without an inverse. Each voxel\n"
            "moves as --points moves points, and its value is shared among the eight voxels of REFERENCE\n"
            "around its new place (the adjoint of linear interpolation). A voxel takes the mean of what\n"
            "lands there, or --outside where nothing does; with --mass the sum per mm^3, which keeps the\n"
            "integral: for densities, counts and tissue volumes. In label maps a voxel takes the label with\n"
            "the most weight there.\n\n"
            "--list resamples many images in one process. Paths are relative to the table's folder; -r and\n"
            "-t serve rows that name none. An image that fails does not stop the others. With --summary\n"
            "a stopped run resumes: it skips images whose row is complete, with the same files and "
            "options.\n\n"
            "--points moves points the other way, from the space of REFERENCE to that of IMAGE, as\n"
            "antsApplyTransformsToPoints does: a table whose first columns are x,y,z in LPS millimetres\n"
            "(RAS with --frames ras); further columns are kept.\n\n"
            "--surface moves the vertices of a mesh the same way and keeps its triangles; the ending of OUT\n"
            "gives the format. GIFTI and FreeSurfer files state their frame; other meshes count as RAS, or "
            "as LPS\n"
            "with --frames lps. To carry a mesh from the moving space to the fixed one, invert the chain:\n"
            "-t AFFINE.txt,-1 -t WARP.nii.gz,-1 or -t AFFINE.txt,-1 -t INVERSE_WARP.nii.gz. --curves does\n"
            "the same with the lines of VTK polydata, to which --frames applies, and with tracks (.tck\n"
            "and, read only, .trk), which state their frame.",
        .example = "  clvox apply -i atlas_labels.nii.gz -r subject.nii.gz -t result_warp.nii.gz "
                   "-t result_affine.txt \\\n      --interp label -o labels_on_subject.nii.gz",
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
    if (summary && !list)
        return cli_misuse("--summary belongs to --list");
    if (jobs && !list)
        return cli_misuse("--jobs belongs to --list");
    if (jobs > CLI_MOST_JOBS)
        return cli_misuse("--jobs %d: at most %d", jobs, CLI_MOST_JOBS);
    if (!a.out && !list)
        return cli_misuse("-o OUT is missing");
    if (!places && frames)
        return cli_misuse("--frames belongs to --points, --surface and --curves");
    if (places > 1)
        return cli_misuse("--points, --surface and --curves are separate runs: leave out one of them");
    if (places && (a.image || a.reference))
        return cli_misuse("--points, --surface and --curves take neither -i nor -r");
    if (!places && !list && !a.image)
        return cli_misuse("-i IMAGE is missing");
    if (!places && !list && !a.reference)
        return cli_misuse("-r REFERENCE is missing");
    if (a.mass && !a.forward)
        return cli_misuse("--mass belongs to --forward");
    if (a.forward && (places || interp || reorient || order != CLVOX_TENSOR_AUTO))
        return cli_misuse(
            "--forward takes none of --points, --surface, --curves, --interp, --reorient and --order");
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
