/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

const bench_row tune_rows[] = {
    {.name = NULL},
};
