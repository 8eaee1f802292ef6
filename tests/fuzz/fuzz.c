/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char paths[8][96];

static void remove_files(void)
{
    for (int i = 0; i < 8 && paths[i][0]; i++)
        unlink(paths[i]);
}

const char *fuzz_file(const char *extension, const void *bytes, size_t size)
{
    const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char path[96];
    int i = 0;
    snprintf(path, sizeof path, "%s/clvox-fuzz-%ld%s", folder, (long)getpid(), extension);
    while (paths[i][0] && strcmp(paths[i], path))
        i++;
    if (!paths[0][0])
        atexit(remove_files);
    strcpy(paths[i], path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
        abort();
    return paths[i];
}
