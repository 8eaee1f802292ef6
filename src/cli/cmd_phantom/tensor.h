/* SPDX-License-Identifier: Apache-2.0 */
/* `phantom tensor:...`: a diffusion-weighted scan with its gradients and truth. */
#ifndef CLI_PHANTOM_TENSOR_H
#define CLI_PHANTOM_TENSOR_H

#include "cli/cli.h"
#include "clvox/phantom.h"

typedef struct cli_scan {
    double snr;     /* NaN: not given; 0: no noise */
    int directions; /* 0: not given */
    double b;       /* s/mm^2; NaN: not given */
    int noise;      /* 0 Rician, 1 Gaussian */
} cli_scan;

#define CLI_SCAN_DEFAULT {.snr = NAN, .directions = 0, .b = NAN, .noise = 0}

/* Checks that the numbers make sense. */
int cli_check_scan(const cli_scan *scan);

int cli_phantom_tensor(command *cli, clvox_tensor_phantom kind, const char *prefix,
                       const clvox_grid *grid, uint64_t seed, const cli_scan *scan);

#endif
