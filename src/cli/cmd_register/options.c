/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_register/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clvox/command/bids.h"
#include "cli/cmd_register/alone.h"
#include "cli/matrix.h"
#include "clvox/command/label_names.h"
#include "clvox/command/pair.h"

/* ---- what each word means ----------------------------------------------- */

static const char **given(cli_register_request *r, const char *name)
{
    return &r->given[clvox_option_find(clvox_register_table(), name)];
}

/* A file to start from: its affines, and where it has warps the deformation starts from these. */
static int read_start(command *cli, cli_register_request *r, const char **text, clvox_register_options *o)
{
    int status = CLVOX_OK, warps = 0;
    cli_chain chain = {.count = 0};
    clvox_volume *none;
    CLI_TRY(cli_read_chain(cli, &(cli_texts){{*text}, 1}, &chain));
    for (int i = 0; i < chain.count; i++)
        warps += chain.transform[i]->is_warp != 0;
    if (warps && warps == chain.count)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "%s: is a warp; --init takes an affine or a composite, and --initial-warp a warp",
                            *text);
    else if (warps && r->initial_warp)
        status =
            cli_misuse("--init %s has a warp in it, and --initial-warp another one; give one of them", *text);
    else
        status = clvox_chain_start(NULL, NULL, chain.link, chain.count, o->matrix, &none);
    if (warps) {
        r->initial_warp = *text;
        if (!*given(r, "linear")) /* it would part the affine from its warp */
            *given(r, "linear") = "none";
    }
    o->init = CLVOX_INIT_MATRIX;
    *text = NULL;
end:
    cli_chain_free(&chain);
    return status;
}

/* A file for --init; what is a word instead is left to the table. */
static int read_init(command *cli, cli_register_request *r, const char **text, clvox_register_options *o)
{
    if (!*text)
        return CLVOX_OK;
    if (!strcmp(*text, "points")) {
        if (!r->points)
            return cli_misuse("--init points needs --points FIXED.csv,MOVING.csv");
        r->init_points = true;
        o->init = CLVOX_INIT_MATRIX;
        memcpy(o->matrix, (const double[4][4]){{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}},
               sizeof o->matrix); /* until they are read */
        *text = NULL;
        return CLVOX_OK;
    }
    for (int i = 0; i < CLVOX_INIT_MATRIX; i++)
        if (!strcmp(*text, cli_option_word(clvox_register_table(), "init", i)))
            return CLVOX_OK;
    const char *comma = strrchr(*text, ',');
    if (**text == '[' && comma && comma != strchr(*text, ','))
        return cli_misuse("--init %s: the images are given already; [FIXED,MOVING,0] of ANTs is --init centers, "
                          "[FIXED,MOVING,1] --init moments, and for [FIXED,MOVING,2] there is none",
                          *text);
    char *file = NULL;
    bool inverse;
    int status = clvox_link_word(*text, &file, &inverse);
    if (status < 0)
        return status;
    bool there = access(file, F_OK) == 0;
    free(file);
    if (!there)
        return cli_misuse("--init %s: neither a file nor one of auto, identity, header, centers, moments and points",
                          *text);
    return read_start(cli, r, text, o);
}

/* ANTs has metrics behind -m, shrink factors behind -f and two names behind -o. */
static int answer_ants(const cli_register_request *r)
{
    for (int i = 0; i < r->moving.count; i++) {
        const char *bracket = strchr(r->moving.item[i], '[');
        if (bracket && bracket > r->moving.item[i] && access(r->moving.item[i], F_OK))
            return cli_misuse("-m %s: is ANTs' metric; give -f FIXED -m MOVING --metric %.*s", r->moving.item[i],
                              (int)(bracket - r->moving.item[i]), r->moving.item[i]);
    }
    for (int i = 0; i < r->fixed.count; i++)
        if (!r->fixed.item[i][strspn(r->fixed.item[i], "0123456789x")] && access(r->fixed.item[i], F_OK))
            return cli_misuse("-f %s: no such image; shrink factors are --shrink %s", r->fixed.item[i], r->fixed.item[i]);
    if (r->prefix && *r->prefix == '[')
        return cli_misuse("-o %s: give the prefix alone, as -o %.*s for %.*s_warp.nii.gz and %.*s_warped.nii.gz", r->prefix,
                          (int)strcspn(r->prefix + 1, ",]"), r->prefix + 1, (int)strcspn(r->prefix + 1, ",]"), r->prefix + 1,
                          (int)strcspn(r->prefix + 1, ",]"), r->prefix + 1);
    return CLVOX_OK;
}

/* Refuses options that a list of pairs gives itself, or has no place for. */
static int check_list(const cli_register_request *r)
{
    if (r->fixed.count || r->moving.count)
        return cli_misuse("--list names the images; it does not go with -f and -m");
    if (r->weights.count)
        return cli_misuse("--weight is for channels; the pairs of a --list have one each");
    const char *one = r->points ? "points" : r->posteriors ? "posteriors" : NULL;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        one = r->shapes[k].count ? cli_shape_kinds[k].option : one;
    if (one)
        return cli_misuse("--%s is for one pair; it does not go with --list", one);
    if (!r->prefix && !r->derivatives)
        return cli_misuse("-o DIR is missing: the folder of the outputs");
    return CLVOX_OK;
}

/* Names as in BIDS come from images. */
static int check_derivatives(const cli_register_request *r)
{
    if (r->space && !clvox_bids_is_label(r->space))
        return cli_misuse("--space %s: the name of a space has letters and digits, nothing else", r->space);
    if (!r->derivatives)
        return CLVOX_OK;
    if (r->prefix)
        return cli_misuse("-o and --bids-derivatives: one of them");
    if (!r->fixed.count && !r->list)
        return cli_misuse(
            "--bids-derivatives makes names from those of images: give -f FIXED -m MOVING, or -o PREFIX");
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
    if (r->fixed.count && !(sum > 0))
        return cli_misuse("--weight: at least one must be above 0");
    return CLVOX_OK;
}

/* --dof is --linear by another name. */
static int read_dof(cli_register_request *r)
{
    static const int freedom[] = {0, 3, 6, 7, 9, 12};
    const char **linear = given(r, "linear"), *word = NULL;
    if (r->dof < 0)
        return CLVOX_OK;
    for (int i = 0; i < 6; i++)
        if (r->dof == freedom[i])
            word = cli_option_word(clvox_register_table(), "linear", i);
    if (!word)
        return cli_misuse("--dof %d: the choices are 0, 3, 6, 7, 9 and 12", r->dof);
    if (*linear && strcmp(*linear, word) != 0)
        return cli_misuse("--dof %d and --linear contradict each other; one of them is enough", r->dof);
    *linear = word;
    return CLVOX_OK;
}

/* "FIXED,MOVING" */
static int read_two(const char *option, const char *text, char **fixed, char **moving)
{
    const char *comma = text ? strchr(text, ',') : NULL;
    if (!text)
        return CLVOX_OK;
    if (!comma || comma == text || !comma[1] || strchr(comma + 1, ','))
        return cli_misuse("--%s %s: two files, FIXED,MOVING, are needed", option, text);
    *fixed = strndup(text, (size_t)(comma - text));
    *moving = strdup(comma + 1);
    return *fixed && *moving ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

/* What a boundary needs of its labels, and means by itself. */
static int read_boundary(command *cli, cli_register_request *r, const char *labels)
{
    int status = CLVOX_OK;
    for (const char *at = labels; at; at += *at == ',') {
        char *end = NULL;
        const long label = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || label < 1 || label > 1 << 24 ||
            r->boundary_label_count == CLI_BOUNDARY_LABELS)
            return cli_misuse("--boundary-labels %s: up to %d labels with commas between them, as 2,41",
                              labels, CLI_BOUNDARY_LABELS);
        r->boundary_labels[r->boundary_label_count++] = (int)label;
        at = *end ? end : NULL;
        if (!at)
            break;
    }
    for (int i = 0; i < r->boundary.count; i++)
        CLI_TRY(cli_claim_input(cli, r->boundary.item[i]));
    if (!r->boundary.count)
        goto end;
    if (!r->list && (r->alone || r->fixed.count != 1))
        return cli_misuse("--boundary takes one pair of images");
    if (r->boundary.count > CLVOX_PAIR_BOUNDARIES)
        return cli_misuse("--boundary: given %d times; at most %d are possible", r->boundary.count,
                          CLVOX_PAIR_BOUNDARIES);
    if (!*given(r, "linear") && r->dof < 0)
        *given(r, "linear") = "rigid";
    if (!*given(r, "deform"))
        *given(r, "deform") = "none";
end:
    return status;
}

/* All shapes in a row, kind by kind. */
static int read_shapes(command *cli, cli_register_request *r)
{
    int status = CLVOX_OK;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        for (int i = 0; i < r->shapes[k].count; i++) {
            cli_shape_files *f = &r->shape[r->shape_count++];
            if (r->shapes[k].count > CLI_MOST_SHAPES)
                return cli_misuse("--%s: given %d times; at most %d are possible", cli_shape_kinds[k].option,
                                  r->shapes[k].count, CLI_MOST_SHAPES);
            if ((status = read_two(cli_shape_kinds[k].option, r->shapes[k].item[i], &f->fixed, &f->moving)))
                return status;
            CLI_TRY(cli_claim_input(cli, f->fixed));
            CLI_TRY(cli_claim_input(cli, f->moving));
            f->kind = k;
            f->number = i + 1;
            cli_shape_name(f);
        }
end:
    return status;
}

const char *cli_preset_name(const cli_presets *p)
{
    return p->quick ? "quick" : p->regular ? "regular" : p->best ? "best" : "default";
}

int cli_register_preset(const cli_presets *p, const char *const *typed, clvox_register_options *o)
{
    int status = CLVOX_OK, deform = clvox_option_find(clvox_register_table(), "deform");
    const char *model[CLVOX_MAX_OPTIONS] = {NULL};
    if (p->quick + p->regular + p->best > 1)
        return cli_misuse("--%s and --%s contradict each other", p->quick ? "quick" : "regular",
                          p->best ? "best" : "regular");
    /* One-sided steps take half the time of symmetric ones. */
    if (p->quick)
        o->deform = CLVOX_DEFORM_GREEDY;
    model[deform] = typed[deform];
    CLI_TRY(cli_read_fields(clvox_register_table(), model, 0, o));
    clvox_deform_text m;
    if (p->regular && clvox_deform_describe((int)o->deform, &m) && !(m.presets >> CLVOX_PRESET_REGULAR & 1))
        status = cli_misuse("--regular: %s has no such preset; a larger --lambda gives more regular maps",
                            m.name);
    clvox_register_preset(o, p->quick     ? CLVOX_PRESET_QUICK
                             : p->regular ? CLVOX_PRESET_REGULAR
                             : p->best    ? CLVOX_PRESET_BEST
                                          : CLVOX_PRESET_DEFAULT);
end:
    return status;
}

/* None, or one for each level. */
static int check_level_masks(const cli_register_request *r, const clvox_register_options *o)
{
    for (int i = 0; i < 2; i++) {
        const char *which = i ? "moving" : "fixed";
        const int count = r->level_masks[i].count, levels = o->deform == CLVOX_DEFORM_NONE ? 0 : o->levels;
        if (count && count != levels)
            return cli_misuse(
                "--level-%s-mask is given %d times for %d levels; give a mask or none for each level, "
                "coarse to fine",
                which, count, levels);
    }
    return CLVOX_OK;
}

static int read_options(command *cli, cli_register_request *r, clvox_register_options *o)
{
    int status = CLVOX_OK;
    CLI_TRY(cli_register_preset(&r->presets, r->given, o));
    CLI_TRY(read_dof(r));
    CLI_TRY(read_init(cli, r, given(r, "init"), o));
    CLI_TRY(cli_read_fields(clvox_register_table(), r->given, 0, o));
    clvox_deform_text m;
    o->inverse = o->inverse || (clvox_deform_describe((int)o->deform, &m) && m.gives_inverse);
    const int channels = r->list ? 1 : r->fixed.count;
    if (o->channel_metrics > 0 && o->channel_metrics + 1 != channels)
        status = cli_misuse(
            "--metric is given for %d channels, and there are %d: give one for all, or one for each",
            o->channel_metrics + 1, channels);
end:
    return status;
}

/* The presets and the model whose defaults --help shows. */
typedef struct help_request {
    const cli_register_request *request;
    clvox_register_options *options;
} help_request;

static int settle_help(void *user)
{
    const help_request *h = user;
    return cli_register_preset(&h->request->presets, h->request->given, h->options);
}

/* ---- the table ---------------------------------------------------------- */

int cli_register_parse(command *cli, int argc, char **argv, cli_register_request *r,
                       clvox_register_options *o)
{
    int frames = CLI_FRAME_OF_FILE;
    const char *boundary_labels = NULL;
    clvox_register_defaults(o);
    o->by_contrast = 1;
    *r = (cli_register_request){.dof = -1};
    const cli_option options[] = {
        {"fixed", 'f', CLI_REPEAT, &r->fixed, "FILE", "the fixed image, whose grid has the warp",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"moving", 'm', CLI_REPEAT, &r->moving, "FILE", "the moving image; repeat both for channels",
         CLVOX_GROUP_IMAGES, .basic = true},
        {"weight", 0, CLI_REPEAT, &r->weights, "N", "one for each channel, in order (default: equal)",
         CLVOX_GROUP_IMAGES},
        {"output", 'o', CLI_PREFIX, &r->prefix, "PREFIX", "prefix of the output files", CLVOX_GROUP_IMAGES,
         .basic = true},
        {"bids-derivatives", 0, CLI_FOLDER, &r->derivatives, "DIR",
         "instead of -o: write into this folder of BIDS derivatives, under names made from that of MOVING",
         CLVOX_GROUP_RESULT},
        {"space", 0, CLI_TEXT, &r->space, "NAME", "the name of FIXED's space (default: from its file name)",
         CLVOX_GROUP_RESULT, .needs = "bids-derivatives"},
        {"list", 0, CLI_TEXT, &r->list, "PAIRS.tsv",
         "many pairs instead: columns fixed, moving, output and, if wanted, fixed_mask, moving_mask, labels, "
         "boundary",
         CLVOX_GROUP_MANY},
        {"summary", 0, CLI_OUT, &r->summary, "FILE.tsv",
         "one row per pair (default: summary.tsv in the folder of -o)", CLVOX_GROUP_MANY, .needs = "list"},
        {"jobs", 0, CLI_INTEGER, &r->jobs, "N",
         "pairs written at once beside each registration, while the next ones are registered "
         "and read (default: --threads, up to 4)",
         CLVOX_GROUP_MANY, .needs = "list"},
        {"at-once", 0, CLI_INTEGER, &r->at_once, "N",
         CLI_AT_ONCE_HELP("4" CLI_AT_ONCE_GPU "; on a CPU one for each core and 4 GB, up to 4; else 1"),
         CLVOX_GROUP_MANY, .needs = "list"},
        {"shard", 0, CLI_TEXT, &r->part, "I/N",
         "only part I of N parts of the pairs, for jobs of a cluster; all of them see the same list",
         CLVOX_GROUP_MANY, .needs = "list"},
        CLI_PRESET_OPTIONS(&r->presets),
        {"dof", 0, CLI_INTEGER, &r->dof, "0|3|6|7|9|12", "--linear, given as degrees of freedom",
         CLVOX_GROUP_QUALITY},
        {"fixed-mask", 0, CLI_TEXT, &r->fixed_mask, "FILE", "use the fixed image only where this is above 0",
         CLVOX_GROUP_MASKS, .basic = true, .needs = "fixed|posteriors|list"},
        {"moving-mask", 0, CLI_TEXT, &r->moving_mask, "FILE",
         "use the moving image only where this is above 0", CLVOX_GROUP_MASKS, .basic = true,
         .needs = "fixed|posteriors|list"},
        {"linear-fixed-mask", 0, CLI_TEXT, &r->linear_fixed_mask, "FILE|none",
         "mask for the linear transform; --fixed-mask then applies to the deformation and the report",
         CLVOX_GROUP_MASKS, .needs = "fixed|posteriors|list"},
        {"linear-moving-mask", 0, CLI_TEXT, &r->linear_moving_mask, "FILE|none",
         "the same for the moving image", CLVOX_GROUP_MASKS, .needs = "fixed|posteriors|list"},
        {"level-fixed-mask", 0, CLI_REPEAT, &r->level_masks[0], "FILE|none",
         "mask for one level of the deformation; give one for each level, coarse to fine", CLVOX_GROUP_MASKS,
         .needs = "fixed|list"},
        {"level-moving-mask", 0, CLI_REPEAT, &r->level_masks[1], "FILE|none",
         "the same for the moving image", CLVOX_GROUP_MASKS, .needs = "fixed|list"},
        {"labels", 0, CLI_TEXT, &r->labels, "FILE", "label map of MOVING, resampled to the fixed grid",
         CLVOX_GROUP_MASKS, .basic = true},
        {"names", 0, CLI_TEXT, &r->names, "TABLE",
         "names of the labels for the page of --report: columns label (or index) and name, .tsv or .csv",
         CLVOX_GROUP_MASKS, .needs = "labels|list"},
        {"points", 0, CLI_TEXT, &r->points, "FIXED.csv,MOVING.csv",
         "corresponding landmarks (tables as for apply --points): report their distances; --init points "
         "starts from them, --points-weight pulls them together",
         CLVOX_GROUP_ANATOMY},
        {"posteriors", 0, CLI_TEXT, &r->posteriors, "FIXED,MOVING",
         "tissue probabilities of each image (4-D; 0 to 1, percent or 0 to 255) or label maps: a term of the "
         "deformation (--posteriors-weight); without -f and -m they alone are registered, linearly too",
         CLVOX_GROUP_ANATOMY},
        {"surface", 0, CLI_REPEAT, &r->shapes[CLI_SURFACE], "FIXED,MOVING",
         "a surface of each image, any triangles: a term of the deformation (--surface-weight); repeat for "
         "more",
         CLVOX_GROUP_ANATOMY},
        {"curves", 0, CLI_REPEAT, &r->shapes[CLI_CURVES], "FIXED,MOVING",
         "curves of each image, without correspondence (VTK polydata, .tck, .trk): a term (--curves-weight); "
         "repeat for more",
         CLVOX_GROUP_ANATOMY},
        {"cloud", 0, CLI_REPEAT, &r->shapes[CLI_CLOUD], "FIXED.csv,MOVING.csv",
         "points of each image, without correspondence (tables as for apply --points, with a column weight "
         "if wanted): a term (--cloud-weight); repeat for more",
         CLVOX_GROUP_ANATOMY},
        {"boundary", 0, CLI_REPEAT, &r->boundary, "FILE",
         "boundary-based registration of EPI, T2 or FLAIR (MOVING) to T1 (FIXED): the white matter's "
         "surface, mask or label map in FIXED refines the linear transform; repeat for hemispheres. --linear "
         "rigid and --deform none unless given",
         CLVOX_GROUP_ANATOMY, .needs = "fixed|list"},
        {"boundary-labels", 0, CLI_TEXT, &boundary_labels, "N,N",
         "the labels of white matter, if --boundary is a label map (FreeSurfer: 2,41)", CLVOX_GROUP_ANATOMY,
         .needs = "boundary|list"},
        {"boundary-contrast", 0, CLI_CHOICE, &r->boundary_contrast, "auto|t2|t1",
         "which is brighter in MOVING: grey (t2) or white matter (t1)", CLVOX_GROUP_ANATOMY,
         .needs = "boundary|list"},
        {"spacing", 0, CLI_NUMBERS, &r->spacing, "Nmm",
         "voxels of the grid around shapes or landmarks without images (default: 0.4 of the finest --width, "
         "else a 64th of their longest extent)",
         CLVOX_GROUP_ANATOMY},
        {"frames", 0, CLI_CHOICE, &frames, "auto|lps|ras",
         "frame of tables of points, and of surfaces and curves in files that state none (auto: tables lps, "
         "as in ITK and ANTs; surfaces and curves ras)",
         CLVOX_GROUP_ANATOMY, .needs = "points|surface|curves|cloud|boundary|list"},
        {"initial-warp", 0, CLI_TEXT, &r->initial_warp, "WARP",
         "start the deformation from this warp, or with [WARP,1] from its inverse; give its affine by --init "
         "FILE --linear none. A composite for --init gives both, and --linear none unless that is given",
         CLVOX_GROUP_EXPERT},
        {"affine-format", 0, CLI_CHOICE, &r->affine_mat, "txt|mat",
         "the affine as ITK's text, or as ITK's binary PREFIX_affine.mat (ANTs, ANTsPy)", CLVOX_GROUP_RESULT},
        {"dry-run", 0, CLI_FLAG, &r->dry_run, NULL, "print plan, memory and output files, and stop",
         CLVOX_GROUP_RESULT, .basic = true},
        {"strict", 0, CLI_FLAG, &r->strict, NULL, "exit with 1 if the result is suspicious",
         CLVOX_GROUP_RESULT},
        {"no-picture", 0, CLI_FLAG, &r->no_picture, NULL, "do not draw PREFIX.png", CLVOX_GROUP_RESULT},
        {"report", 0, CLI_FLAG, &r->report, NULL, "PREFIX_report.html: a page to judge the result by",
         CLVOX_GROUP_RESULT, .basic = true},
        {0},
    };
    help_request help = {r, o};
    const cli_usage usage = {
        .options = options,
        .table = clvox_register_table(),
        .given = r->given,
        .devices = true,
        .values = o,
        .settle = settle_help,
        .user = &help,
    };
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (r->at_once > CLI_MOST_AT_ONCE)
        return cli_misuse("--at-once %d: at most %d", r->at_once, CLI_MOST_AT_ONCE);
    if (r->jobs > CLI_MOST_JOBS)
        return cli_misuse("--jobs %d: at most %d", r->jobs, CLI_MOST_JOBS);
    CLI_TRY(cli_read_shard(r->part, &r->shard, &r->shards));
    if (r->list) {
        CLI_TRY(check_list(r));
        goto options;
    }
    r->alone = cli_alone_is(r);
    if (!r->fixed.count && !r->alone && (!r->posteriors || r->moving.count))
        return cli_misuse("-f FIXED is missing");
    if (!r->moving.count && r->fixed.count)
        return cli_misuse("-m MOVING is missing");
    CLI_TRY(answer_ants(r));
    CLI_TRY(read_channels(r));
options:
    CLI_TRY(check_derivatives(r));
    if (!r->prefix && !r->derivatives)
        return cli_misuse("-o PREFIX is missing");
    r->frames = (cli_frames)frames;
    if ((status = read_boundary(cli, r, boundary_labels)))
        return status;
    if (r->names)
        CLI_TRY(clvox_label_names_check(r->names));
    CLI_TRY(read_options(cli, r, o));
    if (r->boundary.count && o->linear != CLVOX_LINEAR_RIGID && o->linear != CLVOX_LINEAR_AFFINE)
        return cli_misuse("--boundary refines --linear rigid or affine");
    CLI_TRY(check_level_masks(r, o));
    if ((status = cli_alone_check(r, o)))
        return status;
    if ((status = read_two("points", r->points, &r->fixed_points, &r->moving_points)))
        return status;
    if ((status = read_two("posteriors", r->posteriors, &r->fixed_posteriors, &r->moving_posteriors)))
        return status;
    status = read_shapes(cli, r);
end:
    return status;
}

int cli_register_smoothing(const cli_register_request *r, const clvox_grid *fixed, clvox_register_options *o)
{
    return cli_read_fields(clvox_register_table(), r->given, clvox_pair_edge(fixed), o);
}

/* ---- remarks and log ---------------------------------------------------- */

void cli_register_remarks(const command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    if (o->linear == CLVOX_LINEAR_NONE && o->init != CLVOX_INIT_MOMENTS && (r->linear_fixed_mask || r->linear_moving_mask))
        cli_remark(cli, 0, "--linear-%s-mask has no effect with --linear none\n",
                   r->linear_fixed_mask ? "fixed" : "moving");
    clvox_deform_text model;
    for (int k = 0; k < CLI_SHAPE_KINDS; k++)
        if (r->shapes[k].count && !clvox_deform_takes(o->deform, cli_shape_kinds[k].of[0]) &&
            clvox_deform_describe((int)o->deform, &model))
            cli_remark(cli, 0, "--%s only carries the %s with --deform %s\n", cli_shape_kinds[k].option,
                       cli_shape_kinds[k].many, model.name);
    if (r->posteriors && r->fixed.count && !clvox_deform_takes(o->deform, "posteriors-weight") &&
        clvox_deform_describe((int)o->deform, &model))
        cli_remark(cli, 0, "--posteriors only carries the tissues with --deform %s\n", model.name);
    if (!r->fixed.count && !r->list && r->given[clvox_option_find(clvox_register_table(), "metric")])
        cli_remark(cli, 0, "--metric has no effect without images%s\n",
                   r->alone ? "" : ": tissues are compared by their values");
    if (r->weights.count == 1)
        cli_remark(cli, 0, "--weight has no effect with one channel\n");
    if ((r->presets.quick || r->presets.regular || r->presets.best) && o->deform == CLVOX_DEFORM_NONE)
        cli_remark(cli, 0, "--%s has no effect with --deform none\n", cli_preset_name(&r->presets));
    cli_remark_idle(cli, clvox_register_table(), r->given, o);
}

void cli_register_log_options(command *cli, const cli_register_request *r, const clvox_register_options *o)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "options");
    cJSON_AddStringToObject(to, "preset", cli_preset_name(&r->presets));
    cJSON_AddItemToObject(to, "weights", cJSON_CreateDoubleArray(r->weight, r->fixed.count));
    clvox_record_fields(to, clvox_register_table(), o);
}
