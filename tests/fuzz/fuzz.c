/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file for each ending. */
enum { ENDINGS = 16 };
static char paths[ENDINGS][96];

static void remove_files(void)
{
    for (int i = 0; i < ENDINGS && paths[i][0]; i++)
        unlink(paths[i]);
}

const char *fuzz_file(const char *extension, const void *bytes, size_t size)
{
    const char *folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char path[96];
    int i = 0;
    snprintf(path, sizeof path, "%s/clvox-fuzz-%ld%s", folder, (long)getpid(), extension);
    while (i < ENDINGS && paths[i][0] && strcmp(paths[i], path))
        i++;
    if (i == ENDINGS)
        abort();
    if (!paths[0][0])
        atexit(remove_files);
    strcpy(paths[i], path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd))
        abort();
    return paths[i];
}
