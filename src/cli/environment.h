/* SPDX-License-Identifier: Apache-2.0 */
/* The environment that OpenCL drivers read when they are loaded. The library leaves it alone; the command
 * prepares it. What the user has set stays, but for folders in which others could put code. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <stdbool.h>

/* At the start of the program, before its first thread: a portable package's own PoCL, where no driver of the
 * system finds a device, and as many threads of PoCL as there are processors for this process. Returns
 * whether that PoCL is taken. */
bool cli_environment_begin(void);

/* Before a device is opened, or devices are listed, and threads look at the environment. device: as of
 * --device, NULL: none. */
typedef struct cli_environment {
    const char *device;
    bool all;      /* all devices are listed */
    bool one;      /* this process opens one GPU */
    bool no_cache; /* libraries of Fourier transforms keep nothing */
} cli_environment;
void cli_environment_settle(const cli_environment *e);

/* A sentence about what the driver of this platform keeps elsewhere than the environment says; "":
 * nothing. */
const char *cli_environment_remark(const char *platform);

/* The parts of these, with the folders that they look into, for tests. */
bool cli_pocl_lend(const char *vendors, const char *folder);
bool cli_pocl_leave_out(const char *vendors, const char *device);
bool cli_pocl_keep(void);
int cli_nvidia_little(const char *folder, const char *device, bool one);
void cli_nvidia_cache(void);
void cli_clfft_cache(bool no_cache);

#endif
