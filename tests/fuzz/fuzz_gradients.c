/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile tables of gradients: the first byte says how many volumes, a % ends
 * the bvals and starts the bvecs. What is accepted is finite, of unit length
 * or 0 0 0. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/tensor.h"
#include "fuzz.h"

static void check(int status, clvox_gradients *g, int volumes)
{
    clvox_shell shells[4];
    if (status < 0) {
        if (g || !*clvox_message())
            abort();
        return;
    }
    if (g->count != volumes || clvox_gradients_shells(g, shells, 4) < 1)
        abort();
    for (int v = 0; v < volumes; v++) {
        const double *x = g->direction[v];
        double square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
        if (!isfinite(g->b[v]) || g->b[v] < 0 || !(fabs(square - 1) < 1e-9 || square == 0))
            abort();
    }
    clvox_gradients_destroy(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const clvox_grid grid = {{4, 4, 4}, {{-2, 0.1, 0, 5}, {0, 2, 0, 5}, {0, 0, 2, 5}, {0, 0, 0, 1}}};
    clvox_gradients *g = NULL;
    if (!size)
        return 0;
    int volumes = data[0] % 16;
    size_t split = 1;
    while (split < size && data[split] != '%')
        split++;
    const char *first = fuzz_file(".bval", data + 1, split - 1);
    const char *second = fuzz_file(".bvec", data + split + (split < size), size - split - (split < size));
    int status = clvox_gradients_read_mrtrix(first, volumes, &g);
    check(status, g, volumes);
    status = clvox_gradients_read_fsl(first, second, &grid, volumes, &g);
    check(status, g, volumes);
    return 0;
}
