/* SPDX-License-Identifier: Apache-2.0 */
/* clvox: parse, call the library, print. */
#include "cli/cli.h"

static const cli_verb verbs[] = {
    {"devices", "list the OpenCL devices", cmd_devices},
    {"info", "say what volumes and transforms hold", cmd_info},
    {"register", "bring one image onto another", cmd_register},
    {"shoot", "follow a geodesic from its momentum, beyond its end and backwards", cmd_shoot},
    {"apply", "resample an image, or move points, through transforms", cmd_apply},
    {"compose", "write one warp that does what a chain does", cmd_compose},
    {"invert", "invert a warp or an affine", cmd_invert},
    {"jacobian", "determinant of a warp: growth and folds", cmd_jacobian},
    {"compare", "measure how alike two images, label maps or warps are", cmd_compare},
    {"filter", "smooth, sharpen or find the edges of a volume", cmd_filter},
    {"surface", "signed distances and meshes of surfaces", cmd_surface},
    {"tensor", "fit, denoise and measure diffusion tensors", cmd_tensor},
    {"phantom", "make images, warps and surfaces with a known truth", cmd_phantom},
    {"tune", "measure the kernels' variants and keep the fastest for this device", cmd_measure},
    {"bench", "time every operation against the device's copy bandwidth", cmd_measure},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    return cli_main(verbs, argc, argv);
}
