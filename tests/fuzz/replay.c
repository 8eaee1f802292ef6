/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds files, and the files of folders below, to a fuzzer's entry once: a
 * fuzzer without a fuzzing engine. Prints one case a folder or file named. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "fuzz.h"

enum { LIMIT = 2 << 20 }; /* larger files teach nothing here */
static int fed;

static void feed(const char *path)
{
    struct stat info;
    if (stat(path, &info))
        return;
    if (S_ISDIR(info.st_mode)) {
        DIR *folder = opendir(path);
        struct dirent *entry;
        while (folder && (entry = readdir(folder))) {
            char below[4096];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
            feed(below);
        }
        if (folder)
            closedir(folder);
    } else if (S_ISREG(info.st_mode) && info.st_size <= LIMIT) {
        FILE *file = fopen(path, "rb");
        size_t size = (size_t)info.st_size;
        uint8_t *bytes = malloc(size + 1);
        if (file && bytes && fread(bytes, 1, size, file) == size) {
            LLVMFuzzerTestOneInput(bytes, size);
            fed++;
        }
        if (file)
            fclose(file);
        free(bytes);
    }
}

static void does_no_harm(void **state)
{
    const char *const *path = *state;
    fed = 0;
    feed(*path);
    printf("# %d files\n", fed);
    if (!fed)
        test_skip("there are no files");
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        test_case_at(does_no_harm, TEST_OF(arguments[i]), "%s does no harm", arguments[i]);
    return test_run("replay", NULL);
}
