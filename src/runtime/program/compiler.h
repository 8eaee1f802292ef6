/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that compile for this one. Compilers of OpenCL drivers work on one
 * program at a time in a process, however many threads ask them: on an H200 56
 * kernels took 5.8 s one by one, no less in several threads, and 1.5 s in four
 * processes. PoCL compiles most of a kernel when it is first launched, which only
 * another process can do ahead: there this one leaves everything to the others. */
#ifndef CLV_RUNTIME_COMPILER_H
#define CLV_RUNTIME_COMPILER_H

#include <stdbool.h>
#include <sys/types.h>

#include "clvox/device.h"

enum { CLV_MOST_COMPILERS = 8 };

typedef struct clv_code clv_code; /* runtime/program.h */

/* One of them, at the other end of a socket. */
typedef struct clv_compiler {
    pid_t process;
    int socket;
    bool ready;
    bool ended; /* nothing more is to be had from it */
} clv_compiler;

/* What the programs of clvox_context_compilers are started with, beside a device's number: they call
 * clv_compiler_serve. */
#define CLV_COMPILER_VERB "compile-for-parent"
void clv_compilers_end(clvox_context *ctx); /* they may be started again */
void clv_compilers_free(clvox_context *ctx);

/* Those of a context that is still to be opened with such options, where its cache is empty. */
typedef struct clv_compilers {
    clv_compiler one[CLV_MOST_COMPILERS];
    int count;
} clv_compilers;
void clv_compilers_before(const clvox_context_options *options, clv_compilers *out);
/* Gives them to the context, which ends those that its device does not want; NULL: it was not opened. */
int clv_compilers_take(clvox_context *ctx, const clvox_context_options *options, clv_compilers *from);

/* Starts those that are allowed and not there yet; returns how many there are. */
int clv_compilers_start(clvox_context *ctx);

/* Whether the process has opened its device, which takes up to half a second:
 * waits for it 10 ms at most. One that has ended is as good as ready. */
bool clv_compiler_ready(clvox_context *ctx, int number);

/* Lets one compile. True: code is the caller's to free. Different ones may be
 * asked from different threads. */
bool clv_compiler_compile(clvox_context *ctx, int number, const char *options, const char *text,
                          clv_code *code);

/* The other side: compiles for whoever is at the other end of standard input, until it ends. */
int clv_compiler_serve(const char *device);

#endif
