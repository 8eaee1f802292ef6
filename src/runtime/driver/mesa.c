/* SPDX-License-Identifier: Apache-2.0 */
/* Mesa's two implementations. llvmpipe is its processor: it stands in for a GPU where there is none. */
#include <stdio.h>
#include <string.h>

#include "runtime/driver/driver.h"

static bool is_llvmpipe(const clvox_device_limits *limits)
{
    return !strncmp(limits->name, "llvmpipe", strlen("llvmpipe"));
}

/* Its compiler makes vectors of the work-items of a group, as GPUs do. It builds the forms for GPUs in a
 * second; those for CPU devices, whose items hold vectors already, keep LLVM's pass over coroutines busy
 * for many seconds to minutes each. */
static void limits(cl_device_id id, clvox_device_limits *l)
{
    (void)id;
    if (is_llvmpipe(l))
        l->type = CLVOX_DEVICE_ACCELERATOR;
}

/* Sums that are finite in every item come out of local memory as NaN. */
static bool miscompiles(const clvox_device_limits *limits, const char *function, char *why, size_t room)
{
    bool wrong = is_llvmpipe(limits) && !strcmp(function, "lncc_quad");
    if (wrong)
        snprintf(why, room, "llvmpipe's compiler gives wrong sums");
    return wrong;
}

/* rusticl 22.3 adds up a kernel's variables in two passes. A GPU may set as much aside; llvmpipe takes it
 * from the heap, and its limit holds for what the kernel declares. */
const clv_driver clv_driver_mesa = {.platforms = {"Clover", "rusticl"},
                                    .of_others = true,
                                    .limits = limits,
                                    .only_asked = is_llvmpipe,
                                    .miscompiles = miscompiles,
                                    .local_twice = is_llvmpipe};
