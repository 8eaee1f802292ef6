/* SPDX-License-Identifier: Apache-2.0 */
/* Many kernels as one program: compilers take a fixed time for each program,
 * on NVIDIA most of the time that a kernel takes. */
#ifndef CLV_RUNTIME_COMPOSE_H
#define CLV_RUNTIME_COMPOSE_H

#include <stddef.h>
#include <stdio.h>

/* Writes one unit: the program of one kernel, as clv_source_assemble and
 * clv_program_options give it, between definitions that give the identifiers
 * of its file scope names with suffix behind them, and the removal of all that
 * it defines. What options say beside -D has to be the same for all units, and
 * is left to the caller. CLVOX_ERROR_MEMORY. */
int clv_compose_unit(const char *source, const char *options, const char *suffix, FILE *to);

/* What options say beside -D, in their order, parted by one space; at most
 * room bytes with the end. */
void clv_compose_common(const char *options, char *common, size_t room);

#endif
