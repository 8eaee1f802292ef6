/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of Ha 2011 that the tables do not have, each with its reason. */
#include "bench/bench_table.h"

static const struct {
    const char *what, *why;
} missing[] = {
    {"table 2.4, the FFT's column", "the library's transform multiplies by its operator's spectrum alone"},
    {"section 2.3.7, transposes between recursions",
     "the recursion walks along any axis; a transpose would move a pass's bytes more"},
    {"equation 2.3, what merging sweeps gains by the bytes", "measured: sweeps in blocks of one and two"},
    {"figure 2.8, red and black of a sweep in one pass",
     "on GPUs alone, as local memory is no faster on a CPU"},
    {"section 2.3.1, RAII and shared pointers", "the library is in C; pools and destroy functions do that"},
    {"section 2.3.8.3, nodes chosen by load",
     "`clvox atlas --dry-run` predicts the time by processes on real subjects; the user chooses"},
    {"figures 2.14 to 2.17, 4.1, 3.11, 3.12 and the people of tables 3.1, 3.3",
     "their images are not public; phantoms stand in"},
    {"section 2.5, metamorphosis", "the thesis names it without an algorithm"},
    {"section 3.2.1, posteriors by van Leemput and Prastawa", "inputs, there too from other programs"},
    {"equation 3.8, weights w_p and w_g",
     "terms are normalised, so that a weight means the same for any mesh and image"},
    {"section 3.3.2, a mesh on the image's grid, trilinear shares",
     "the grid follows the error asked for, and shares are cubic (figure 3.4)"},
    {"section 3.3.2.2, interpolating a splat gives the input",
     "it does not for scattered points; the splat is held against the adjoint"},
    {"section 3.3.2.2, sums of 32 bits in units of 2^-20",
     "sums of 64 bits, in a unit by the volume, cannot overflow"},
    {"tables 3.1 and 3.3, B-splines", "register has none; bench/accuracy.py runs ITK's beside it"},
    {"section 4.2, operators of any inputs and outputs for users",
     "streams serve these tables; an atlas has its own passes"},
    {"section 4.5, both orders of the hardware-aware mode", "one; the independent mode has three"},
    {"appendix A, passes of 4 bits", "digits of 8 bits in sweeps of 4 or 2 read and write half as often"},
    {"section A.3.3.1, floats sorted approximately by 24 bits", "order is exact here"},
    {"table A.1, figures A.5 and A.7, presort and shuffle apart", "one kernel does both in local memory"},
    {"appendix B, parameters in XML", "options, tables of subjects and JSON logs are in their place"},
    {"AMD's GPUs", "kernels are compiled for them; none was at hand"},
};

void bench_ha2011_missing(const bench_run *run)
{
    fprintf(run->out, "Not covered:\n");
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        fprintf(run->out, "- %s: %s\n", missing[i].what, missing[i].why);
    fprintf(run->out, "\n");
}
