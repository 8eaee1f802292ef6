/* SPDX-License-Identifier: Apache-2.0 */
/* clvox-bench: what `clvox bench` and `clvox tune` start. */
#include <string.h>

#include "bench/bench_table.h"

static const cli_verb verbs[] = {
    {"tune", "measure the kernels' variants and keep the fastest for this device", cmd_tune},
    {"bench", "time every operation against the device's copy bandwidth", cmd_bench},
    {NULL, NULL, NULL},
};

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], BENCH_REDUCE_MEMBER))
        return bench_reduce_member(argc, argv);
    return cli_main(verbs, argc, argv);
}
