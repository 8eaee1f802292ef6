/* SPDX-License-Identifier: Apache-2.0 */
/* clvox-bench: what `clvox bench` and `clvox tune` start. */
#include "bench/bench_table.h"

static const cli_verb verbs[] = {
    {"tune", "measure the kernels' variants and keep the fastest for this device", cmd_tune},
    {"bench", "time every operation against the device's copy bandwidth", cmd_bench},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    return cli_main(verbs, argc, argv);
}
