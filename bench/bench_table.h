/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that the command prints. Each prints a table and adds its rows to the record; CLVOX_ERROR_DATA, with one
 * sentence, where a result is wrong. */
#ifndef CLV_BENCH_TABLE_H
#define CLV_BENCH_TABLE_H

#include "bench/bench.h"
#include "cli/cli.h"

/* The verbs, and the word of bench that opens no device. */
int cmd_bench(command *cli, int argc, char **argv);
int cmd_bench_compare(command *cli, int argc, char **argv);
int cmd_tune(command *cli, int argc, char **argv);

/* Operations whose name contains one of names (count 0: all), each compared
 * with the reference before it is timed; CLVOX_ERROR_ARGUMENT where a name
 * fits none. */
int bench_kernels(bench_run *run, const char *const *names, int count);

/* Registration, tensors and surfaces on phantoms from host memory to host
 * memory, each held against the phantom's truth. */
int bench_pipelines(bench_run *run);

/* Patch searches of several sizes and noises: seconds, and 2 K N^2 operations
 * (what comparing all pairs takes; more than the peak where pairs are skipped)
 * over the measured peak. brief: of one band, as a surface in the volume of the
 * run has it, and what is done with the neighbours then. */
int bench_nlm(bench_run *run, bool brief);

/* The paper's comparison of the four forms of the force, with every tile's
 * registers, local memory and occupancy beside its time. */
int bench_lee2012(bench_run *run);
/* The paper's comparison of the memories for the patch search. */
int bench_lee2012_nlm(bench_run *run);
/* The paper's comparison of how blocks of a tensor field wait for one another. */
int bench_moazeni2009(bench_run *run);
/* Its descent beside the primal-dual solver, by the energy. */
int bench_moazeni2009_solvers(bench_run *run);
/* Mueller 2008: forms of convolution. */
int bench_mueller2008(bench_run *run);
/* Ha 2011: gradients, interpolation, Gaussians, arithmetic, solvers of the
 * fluid's equation (bench_ha2011_solvers), one scale against two
 * (bench_ha2011_scales), solvers inside registrations
 * (bench_ha2011_registration), and sorting, on the rows' data. */
int bench_ha2011(bench_run *run);
int bench_ha2011_solvers(bench_run *run);
int bench_ha2011_scales(bench_run *run);
int bench_ha2011_registration(bench_run *run);
int bench_ha2011_streams(bench_run *run);
int bench_ha2011_sort(bench_run *run, bench_data *data);
int bench_ha2011_means(bench_run *run, bench_data *data);
int bench_ha2011_sizes(bench_run *run);
int bench_ha2011_matrices(bench_run *run, bench_data *data);
int bench_ha2011_splat(bench_run *run, bench_data *data);
void bench_ha2011_missing(const bench_run *run);
int bench_ha2011_currents(bench_run *run);
int bench_ha2011_reduce(bench_run *run);
/* The program that it starts several times: clvox-bench, this word, the count of numbers. */
#define BENCH_REDUCE_MEMBER "all-reduce-member"
int bench_reduce_member(int argc, char **argv);
int bench_ha2011_atlas(bench_run *run);
int bench_ha2011_anatomy(bench_run *run);
int bench_ha2011_matching(bench_run *run);

#endif
