/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd_phantom/surface.h"
#include "cli/cmd_phantom/tensor.h"
#include "cli/matrix.h"

/* Surfaces as in clvox_solid, tensors as in clvox_tensor_phantom. */
enum { KIND_WARP = 4, KIND_PAIR, KIND_SURFACE, KIND_TENSOR = KIND_SURFACE + 5, KINDS = KIND_TENSOR + 3 };
static const char *const kinds[KINDS] = {"textured",       "ball",         "shells",         "constant",
                                         "warp",           "pair",         "surface:sphere", "surface:torus",
                                         "surface:cube",   "surface:csg",  "surface:gyroid", "tensor:helix",
                                         "tensor:rings",   "tensor:steps"};
/* The choices of --direction. */
enum { AXIAL, OBLIQUE, LEFT, LEFT_OBLIQUE };

typedef struct request {
    int kind;
    const char *out, *labels, *inverse;
    clvox_grid grid;
    uint64_t seed;
    clvox_numbers noise;
    double correlation; /* NaN: not given */
    double amplitude;   /* NaN: as large as is safe, at most 5 mm */
    bool has_matrix;
    double matrix[4][4]; /* the identity without one */
    cli_scan scan; /* of tensors */
} request;

/* The amplitude of the warp, which the log states. */
static int settle_amplitude(command *cli, request *r)
{
    int status = isnan(r->amplitude) ? clvox_phantom_amplitude(&r->grid, r->seed, &r->amplitude) : CLVOX_OK;
    if (status >= 0)
        cJSON_AddNumberToObject(cli->log, "amplitude_mm", r->amplitude);
    return status;
}

static int write_warp(command *cli, const request *r, bool inverse, const char *path)
{
    clvox_volume *volume = NULL;
    int status = clvox_phantom_warp(&r->grid, r->amplitude, r->seed, inverse, &volume);
    if (status >= 0)
        status = cli_write_warp(cli, volume, path);
    clvox_volume_destroy(&volume);
    return status;
}

static int write_image(command *cli, const clvox_phantom *p, bool labels, const char *path)
{
    clvox_volume *volume = NULL;
    int status = labels ? clvox_phantom_labels(p, &volume) : clvox_phantom_image(p, &volume);
    if (status >= 0)
        status = cli_write_volume(cli, volume, path);
    clvox_volume_destroy(&volume);
    return status;
}

/* Phantom of the request's grid and seed. */
static clvox_phantom phantom_of(const request *r, clvox_phantom_kind kind, uint64_t noise_seed)
{
    clvox_phantom p;
    clvox_phantom_defaults(&p);
    p.kind = kind;
    p.grid = r->grid;
    p.seed = r->seed;
    p.noise_seed = noise_seed;
    p.noise = r->noise.count ? r->noise.value[0] : 0;
    return p;
}

static int write_pair(command *cli, request *r)
{
    const clvox_end ends[] = {{"_fixed.nii.gz", true},
                              {"_moving.nii.gz", true},
                              {"_truth_warp.nii.gz", true},
                              {"_truth_affine.txt", r->has_matrix},
                              {"_truth_inverse_warp.nii.gz", true},
                              {"_fixed_labels.nii.gz", true},
                              {"_moving_labels.nii.gz", true},
                              {0}};
    char path[7][4096];
    int status = CLVOX_OK;
    CLI_TRY(cli_claim_prefix(cli, &r->out, ends));
    for (int i = 0; i < 7; i++)
        snprintf(path[i], sizeof path[i], "%s%s", r->out, ends[i].end);
    CLI_TRY(settle_amplitude(cli, r));
    clvox_phantom fixed = phantom_of(r, CLVOX_PHANTOM_TEXTURED, 1);
    clvox_phantom moving = phantom_of(r, CLVOX_PHANTOM_TEXTURED, 2);
    memcpy(fixed.matrix, r->matrix, sizeof fixed.matrix);
    fixed.amplitude = r->amplitude;
    CLI_TRY(write_image(cli, &fixed, false, path[0]));
    CLI_TRY(write_image(cli, &moving, false, path[1]));
    CLI_TRY(write_warp(cli, r, false, path[2]));
    CLI_TRY(write_warp(cli, r, true, path[4]));
    if (r->has_matrix)
        CLI_TRY(cli_write_affine(cli, CLI_MATRIX(r->matrix), path[3]));
    fixed.kind = moving.kind = CLVOX_PHANTOM_SHELLS;
    CLI_TRY(write_image(cli, &fixed, true, path[5]));
    CLI_TRY(write_image(cli, &moving, true, path[6]));
end:
    return status;
}

static int write_request(command *cli, request *r)
{
    int status = CLVOX_OK;
    if (r->kind == KIND_PAIR)
        return write_pair(cli, r);
    if (r->kind >= KIND_TENSOR)
        return cli_phantom_tensor(cli, (clvox_tensor_phantom)(r->kind - KIND_TENSOR), r->out, &r->grid,
                                  r->seed, &r->scan);
    if (r->kind >= KIND_SURFACE)
        return cli_phantom_surface(cli, &(cli_solid){.kind = (clvox_solid)(r->kind - KIND_SURFACE),
                                                     .prefix = r->out,
                                                     .grid = &r->grid,
                                                     .noise = r->noise,
                                                     .correlation = r->correlation,
                                                     .seed = r->seed});
    CLI_TRY(cli_claim_output(cli, "output", r->out));
    CLI_TRY(cli_claims_check(cli));
    if (r->kind == KIND_WARP) {
        CLI_TRY(settle_amplitude(cli, r));
        CLI_TRY(write_warp(cli, r, false, r->out));
        if (r->inverse)
            CLI_TRY(write_warp(cli, r, true, r->inverse));
        goto end;
    }
    clvox_phantom image = phantom_of(r, (clvox_phantom_kind)r->kind, 1);
    memcpy(image.matrix, r->matrix, sizeof image.matrix);
    CLI_TRY(write_image(cli, &image, false, r->out));
    if (r->labels)
        CLI_TRY(write_image(cli, &image, true, r->labels));
end:
    return status;
}

static int read_grid(command *cli, const char *like, const clvox_numbers *size, const clvox_numbers *spacing,
                     int direction, clvox_grid *out)
{
    int n[3];
    double edge[3] = {1, 1, 1};
    clvox_volume *volume = NULL;
    if (like && (size->count || spacing->count || direction != AXIAL))
        return cli_misuse("--like takes the whole grid; leave --size, --spacing and --direction away");
    if (like) {
        int status = cli_read_volume(cli, like, &volume);
        if (status < 0)
            return status;
        *out = volume->grid;
        clvox_volume_destroy(&volume);
        return CLVOX_OK;
    }
    if ((size->count != 0 && size->count != 3) || size->unit == CLVOX_UNIT_MM)
        return cli_misuse("--size: three numbers of voxels, as 65x47x33");
    if ((spacing->count != 0 && spacing->count != 1 && spacing->count != 3) ||
        spacing->unit == CLVOX_UNIT_VOXELS)
        return cli_misuse("--spacing: one or three lengths, as 1x1x2mm");
    for (int i = 0; i < 3; i++) {
        double voxels = size->count ? size->value[i] : 64;
        if (!(voxels >= 1 && voxels <= 32767) || voxels != floor(voxels))
            return cli_misuse("--size: %g is not a number of voxels from 1 to 32767", voxels);
        n[i] = (int)voxels;
        if (spacing->count)
            edge[i] = spacing->value[spacing->count == 3 ? i : 0];
        if (!(edge[i] > 0))
            return cli_misuse("--spacing: %g is not a length above 0", edge[i]);
    }
    clvox_phantom_grid(n, edge, direction == OBLIQUE || direction == LEFT_OBLIQUE, out);
    for (int i = 0; i < 3 && direction >= LEFT; i++) {
        out->to_ras[i][3] += out->to_ras[i][0] * (n[0] - 1);
        out->to_ras[i][0] *= -1;
    }
    return CLVOX_OK;
}

/* Checks that the options fit the kind. */
static int check_options(const request *r)
{
    const bool surface = r->kind >= KIND_SURFACE && r->kind < KIND_TENSOR;
    if (r->noise.count > 1 || (r->noise.count && r->noise.value[0] < 0))
        return cli_misuse("--noise: one number, not negative");
    if (!surface && r->noise.unit != CLVOX_UNIT_NONE)
        return cli_misuse("--noise: images take a plain number, in their own unit");
    if (!isnan(r->correlation) && !(r->correlation >= 0 && r->correlation <= 16))
        return cli_misuse("--correlation %g: from 0 to 16 voxels", r->correlation);
    return cli_check_scan(&r->scan);
}

static int number_of(const char *word)
{
    int kind = 0;
    while (kind < KINDS && strcmp(kinds[kind], word) != 0)
        kind++;
    return kind;
}

static const char *kind_of(const char *word)
{
    const int kind = number_of(word);
    return kind < KIND_WARP      ? "images"
           : kind < KIND_SURFACE ? kinds[kind]
           : kind < KIND_TENSOR  ? "surface:..."
           : kind < KINDS        ? "tensor:..."
                                 : NULL;
}

int cmd_phantom(command *cli, int argc, char **argv)
{
    request r = {.amplitude = NAN, .correlation = NAN, .scan = CLI_SCAN_DEFAULT,
                 .matrix = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}};
    const char *like = NULL, *affine = NULL;
    clvox_numbers size = {.count = 0}, spacing = {.count = 0}, amplitude = {.count = 0};
    int direction = 0, seed = 1;
    const cli_option options[] = {
        {"output", 'o', CLI_PREFIX, &r.out, "OUT",
         "the file to write; for pair, surface:... and tensor:... a PREFIX", .basic = true},
        {"size", 0, CLI_NUMBERS, &size, "XxYxZ", "voxels along each axis (default 64x64x64)", .basic = true},
        {"spacing", 0, CLI_NUMBERS, &spacing, "XxYxZmm", "edges of a voxel (default 1mm)", .basic = true},
        {"direction", 0, CLI_CHOICE, &direction, "axial|oblique|left|left-oblique",
         "axes along R, A, S, or rotated by 28 degrees; left: the first axis reversed", .basic = true},
        {"like", 0, CLI_TEXT, &like, "FILE", "use the grid of this volume", .basic = true},
        {"seed", 0, CLI_INTEGER, &seed, "N", "seed of texture, warp and noise (default 1)", .basic = true},
        {"noise", 0, CLI_NUMBERS, &r.noise, "SD",
         "standard deviation of noise: added to images, or as 0.3vox or 0.3mm to surfaces (default 0)",
         .basic = true, .kinds = "images|pair|surface:..."},
        {"correlation", 0, CLI_NUMBER, &r.correlation, "VOXELS",
         "surfaces: Gaussian smoothing of the noise at the mask's edge (default 0: white noise)",
         .needs = "noise", .kinds = "surface:..."},
        {"snr", 0, CLI_NUMBER, &r.scan.snr, "RATIO",
         "tensors: b = 0 signal / noise (default 20; 0: no noise)", .basic = true, .kinds = "tensor:..."},
        {"directions", 0, CLI_INTEGER, &r.scan.directions, "N",
         "tensors: gradient directions, evenly spread (default 30)", .kinds = "tensor:..."},
        {"b", 0, CLI_NUMBER, &r.scan.b, "S/MM2", "tensors: b-value (default 1000)", .kinds = "tensor:..."},
        {"noise-kind", 0, CLI_CHOICE, &r.scan.noise, "rician|gaussian",
         "tensors: rician as in magnitude images, or additive gaussian", .kinds = "tensor:..."},
        {"amplitude", 0, CLI_NUMBERS, &amplitude, "MM",
         "longest displacement (default: 5, or less where that could fold)", .basic = true,
         .kinds = "warp|pair"},
        {"affine", 0, CLI_TEXT, &affine, "FILE", "apply this to the image too (pair: to the fixed image)",
         .basic = true, .kinds = "images|pair"},
        {"labels", 0, CLI_OUT, &r.labels, "FILE", "also write the label map, as pair always does",
         .basic = true, .kinds = "images"},
        {"inverse", 0, CLI_OUT, &r.inverse, "FILE", "warp: also write the inverse", .kinds = "warp"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
        .kind = kind_of,
    };
    char **kind;
    clvox_transform *transform = NULL;
    int count, status = cli_parse(cli, &usage, argc, argv, &kind, &count);
    if (status)
        return status;
    r.kind = number_of(*kind);
    if (r.kind == KINDS)
        return cli_misuse("%s: not known; the kinds are textured, ball, shells, constant, warp, pair and "
                          "surface:sphere, torus, cube, csg, gyroid, tensor:helix, rings, steps",
                          *kind);
    if (!r.out)
        return cli_misuse("-o OUT is missing");
    if (amplitude.count > 1 || amplitude.unit == CLVOX_UNIT_VOXELS)
        return cli_misuse("--amplitude: one number, in mm");
    if (amplitude.count)
        r.amplitude = amplitude.value[0];
    if ((status = check_options(&r)) < 0)
        return status;
    r.seed = (uint64_t)seed;
    if (affine) {
        CLI_TRY(cli_read_link(cli, affine, &transform));
        if (transform->is_warp) {
            status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is a warp, --affine takes an affine", affine);
            goto end;
        }
        r.has_matrix = true;
        memcpy(r.matrix, transform->matrix, sizeof r.matrix);
    }
    CLI_TRY(read_grid(cli, like, &size, &spacing, direction, &r.grid));
    clvox_record_grid(cli->log, "grid", &r.grid);
    status = write_request(cli, &r);
end:
    clvox_transform_destroy(&transform);
    return status;
}
