/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL: its faults, and how it compiles. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/driver/driver.h"
#include "runtime/driver/pocl_folder.h"
#include "runtime/driver/pocl_turns.h"

bool clv_pocl_is_known(const clvox_device_limits *limits)
{
    int major = 0, minor = 0;
    if (sscanf(limits->driver, "%d.%d", &major, &minor) != 2)
        return false;
    const int version = 10 * major + minor;
    return minor < 10 && ((version >= 31 && version <= 50) || version == 60);
}

/* In PyPI's 3.0-rc2 linear interpolation by rows is off by whole values (tests/op/field/test_warp.c). 7.1 (with
 * LLVM 21) puts barriers of its own into loops, and what follows a condition around such a loop runs twice for
 * the one item of a work-group: what works in place is wrong (tests/op/fluid/test_fourier.c, so that LDDMM does
 * not move), and MP-PCA ends the program. 7.0 and later ones, which nobody has tried, have the same compiler.
 * 3.1 to 6.0 are right. */
static bool faulty(const clvox_device_limits *limits, char *why, size_t room)
{
    const bool old = !strcmp(limits->driver, "3.0-rc2"), late = atoi(limits->driver) >= 7;
    if (old)
        snprintf(why, room,
                 "PoCL %.20s, of PyPI's pocl-binary-distribution, has wrong kernels; take another release",
                 limits->driver);
    if (late)
        snprintf(why, room,
                 "PoCL %.20s is not known to be right (7.1 runs parts of kernels twice); take one from 3.1 to 6.0",
                 limits->driver);
    return old || late;
}

/* ---- its compiler ---------------------------------------------------------------- */

/* Without -w it counts its warnings on the terminal. Its prefetch() does nothing. */
static const char *options(const clvox_device_limits *limits)
{
#ifdef __x86_64__
#define ASSEMBLY " -DX86_ASSEMBLY"
#else
#define ASSEMBLY ""
#endif
    return clv_pocl_is_known(limits) ? "-w -DPREFETCH(p)=__builtin_prefetch((void*)(size_t)(p))" ASSEMBLY
                                     : "-w";
}

/* The guard of clang's header, which neither code nor the key of an entry depends on. */
static const char *undeclared(const clvox_device_limits *limits)
{
    return clv_pocl_is_known(limits) ? " -D_OPENCL_H_" : NULL;
}

/* PoCL keeps the kernels that it compiles by itself. Asked for the binary of a linked program, it compiles
 * them again for work-groups of any size: 30 s instead of 15 for those of a registration. */
static bool two_steps(void)
{
    const char *kept = getenv("POCL_KERNEL_CACHE");
    return !kept || strcmp(kept, "0") != 0;
}

/* Within a compiled program: LLVM's bitcode, behind the name of its file and its length. Asked to build that,
 * PoCL knows by it alone what it has linked and compiled before: 3 ms a program, where clLinkProgram reads
 * its library of built-in functions first, 0.35 s, and a text that it knows takes 23 ms. */
static const unsigned char *bitcode(const clvox_device_limits *limits, const unsigned char *data,
                                    size_t bytes, size_t *length)
{
    static const char name[] = "program.bc", magic[] = "BC\xc0\xde";
    const size_t named = sizeof name - 1, starts = sizeof magic - 1;
    const unsigned char *end = data + bytes,
                        *at = clv_pocl_is_known(limits) ? memmem(data, bytes, name, named) : NULL;
    for (size_t wide = 4; at && wide <= 8; wide += 4) {
        uint64_t count = 0;
        if ((size_t)(end - at) < named + wide + starts || memcmp(at + named + wide, magic, starts) != 0)
            continue;
        memcpy(&count, at + named, wide);
        if (count <= (size_t)(end - at) - named - wide) {
            *length = count;
            return at + named + wide;
        }
    }
    return NULL;
}

const clv_driver clv_driver_pocl = {
    .platforms = {"Portable Computing Language"},
    .of_others = true,
    .spared = "pocl",
    .own_folder = clv_pocl_own_folder,
    .threads = clv_pocl_threads,
    .packaged = clv_pocl_packaged,
    .remark = clv_pocl_remark,
    .barred = clv_pocl_barred,
    .hindered = clv_pocl_hindered,
    .faulty = faulty,
    .options = options,
    .undeclared = undeclared,
    .two_steps = two_steps,
    .bitcode = bitcode,
    /* LLVM inside of it ends the program where it gets no memory. Linking with its library of built-in
     * functions takes 125 MiB of addresses, all kernels of a registration 250. */
    .least_addresses = 120 << 20,
    .addresses = 256 << 20,
    .join = clv_pocl_join,
    .leave = clv_pocl_leave,
    .share = clv_pocl_share,
    .before = clv_pocl_before,
    .after = clv_pocl_after,
    .side_by_side = clv_pocl_is_known,
};
