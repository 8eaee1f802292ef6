/* SPDX-License-Identifier: Apache-2.0 */
/* What of Ha 2011 the tables do not have, each with its reason. */
#include "bench/bench_table.h"

static const char *const missing[] = {
    "table 2.4, its FFT column: the library's transform multiplies by the spectrum of its operator on fields; nothing filters an\n"
    "  image by it",
    "section 2.3.7, transposes between recursions: the recursion walks along any axis, and a transpose moves the bytes of a pass more",
    "figure 2.8, red and black of a sweep in one pass: on GPUs alone (blocks of one), as local memory is no faster on a CPU",
    "section 2.3.1, RAII and shared pointers: the library is in C, where pools and functions that destroy do that",
    "section 2.3.8.3, load balancing that chooses the nodes: `clvox atlas --dry-run` predicts the time for every number of processes and\n"
    "  leaves the choice to the user; it measures subjects of the study, not empty volumes, whose registrations would end at once",
    "figures 2.14 to 2.17 and 4.1, tables 3.1 and 3.3 of people, figures 3.11 and 3.12: their images are not public; phantoms stand in",
    "section 2.5, metamorphosis: named as possible there, without an algorithm",
    "section 3.2.1, posteriors by van Leemput's and Prastawa's programs: they are inputs, of other programs there, too",
    "equation 3.8, weights w_p and w_g: register normalises both terms, so that a weight means the same for any mesh and image",
    "section 3.3.2, the mesh on the image's own grid with trilinear shares: its error cannot be chosen; here the grid follows the error\n"
    "  that is asked for, and shares are cubic (figure 3.4 above)",
    "section 3.3.2.2, interpolation of a splat gives the input: it does not for trilinear shares of scattered points; tests hold the\n"
    "  splat against the adjoint of interpolation instead",
    "section 3.3.2.2, sums of 32 bits in units of 2^-20: sums of 64 bits, whose unit follows the volume, cannot overflow",
    "tables 3.1 and 3.3, mutual information with B-splines: `register` has no deformation by B-splines; mutual information drives\n"
    "  its greedy matching there",
    "section 4.2, operators of any number of inputs and outputs as functions for users: the streams serve these tables; an atlas has\n"
    "  passes of its own over its subjects",
    "section 4.5, both orders of the hardware-aware mode: one order, as the other two are those of the independent mode",
    "appendix A, radix of 4 bits with 16 buckets a pass: digits of 8 bits in sweeps of 4 (or 2) read and write half as often",
    "section A.3.3.1, floats sorted approximately by 24 bits: order is exact here, and clvox_sort has no range limiter, which reads all\n"
    "  keys once more",
    "table A.1 and figures A.5 and A.7, presort and shuffle apart: one kernel does both in local memory",
    "appendix B, parameters in XML: options, tables of subjects and JSON logs are in their place",
    "the same on AMD's GPUs: kernels are compiled for them, and none was at hand",
    NULL};

void bench_ha2011_missing(const bench_run *run)
{
    fprintf(run->out, "Not covered:\n");
    for (int i = 0; missing[i]; i++)
        fprintf(run->out, "- %s\n", missing[i]);
    fprintf(run->out, "\n");
}
