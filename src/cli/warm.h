/* SPDX-License-Identifier: Apache-2.0 */
/* The first run: drivers' compilers work on one program at a time in a process, so that the kernels of a
 * pipeline take from seconds to a minute. While the cache of kernels is empty, children of the command do
 * the same work on small volumes, each building what no other process is building, and fill the cache. */
#ifndef CLI_WARM_H
#define CLI_WARM_H

#include "cli/cli.h"

/* The verb's own work up to its output, in the child of that number, from 0. cli->left_out counts the
 * kernels that it was done without. Failures there are silent. */
typedef int cli_work(command *cli, int number, const void *user);

/* Starts children where the cache is there and empty; before the first call to a driver and the first
 * thread. */
void cli_warm(const command *cli, cli_work *work, const void *user);

/* Ends them: nothing more is asked for. */
void cli_warm_end(void);

#endif
