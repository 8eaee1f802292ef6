/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs that measure, bench and tune, are a program of their own: it holds
 * the references in double precision that the product does without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

int cmd_measure(command *cli, int argc, char **argv)
{
    /* Beside this program, where meson installs it, and in a build folder. */
    static const char *const places[] = {"", "../libexec/clvox/", "../../bench/"};
    char self[4096], path[sizeof self + 32];
    char name[] = "clvox", **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        slash[1] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s%sclvox-bench", self, places[i]);
        execv(path, words); /* returns where there is no such program */
    }
    free(words);
    (void)cli;
    return clvox_fail(CLVOX_ERROR_FILE,
                      "clvox-bench, which does this, is not installed beside clvox: build it "
                      "with meson setup -Dbench=true");
}
