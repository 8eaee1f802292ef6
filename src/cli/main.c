/* SPDX-License-Identifier: Apache-2.0 */
/* clvox: parse, call the library, print. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const cli_verb verbs[] = {
    {"devices", "list the OpenCL devices", cmd_devices},
    {"info", "describe volumes, transforms, surfaces and tracks", cmd_info},
    {"register", "register one image to another", cmd_register},
    {"segment", "label a head and its brain from many atlases", cmd_segment},
    {"series", "correct motion in a 4-D scan", cmd_series},
    {"epi", "correct the susceptibility distortion of echo-planar images", cmd_epi},
    {"atlas", "build an unbiased template of a population", cmd_atlas},
    {"bids", "run as a BIDS App: correct, register and compare participants", cmd_bids},
    {"shoot", "shoot a geodesic from its initial momentum", cmd_shoot},
    {"apply", "resample an image, or move points or a mesh, through transforms", cmd_apply},
    {"compose", "compose a chain of transforms into one", cmd_compose},
    {"invert", "invert a warp or an affine", cmd_invert},
    {"jacobian", "Jacobian determinant of a warp", cmd_jacobian},
    {"compare", "compare two images, label maps, warps or surfaces", cmd_compare},
    {"labels", "voxels, volume and centroid of each label", cmd_labels},
    {"filter", "smooth, sharpen, correct or match images", cmd_filter},
    {"surface", "distance, meshing, denoising and comparison of surfaces", cmd_surface},
    {"tensor", "fit, denoise and measure diffusion tensors", cmd_tensor},
    {"stats", "permutation tests of maps between groups or along a covariate", cmd_stats},
    {"phantom", "make test images, warps, tensors and surfaces with a known truth", cmd_phantom},
    {"ants", "answer ANTs' programs under their own options", cmd_ants},
    {"tune", "measure kernel variants and keep the fastest", cmd_measure},
    {"bench", "time operations against the limits of the device", cmd_measure},
    {NULL, NULL, NULL},
};

/* Under another name, `clvox` with these words before what is typed; the second may be NULL. */
static int run_as(char *verb, char *name, int argc, char **argv)
{
    const int more = name ? 2 : 1;
    char **words = calloc((size_t)argc + 3, sizeof *words);
    if (!words)
        return 1;
    words[0] = argv[0];
    words[1] = verb;
    words[2] = name;
    memcpy(words + 1 + more, argv + 1, (size_t)(argc - 1) * sizeof *words);
    const int code = cli_main(verbs, argc + more, words);
    free(words);
    return code;
}

int main(int argc, char **argv)
{
    static char ants[] = "ants", bids[] = "bids";
    char *slash = argc ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argc ? argv[0] : NULL;
    return name && cli_ants_is(name)              ? run_as(ants, name, argc, argv)
           : name && !strcmp(name, "clvox-bids") ? run_as(bids, NULL, argc, argv)
                                                  : cli_main(verbs, argc, argv);
}
