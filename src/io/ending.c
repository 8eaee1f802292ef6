/* SPDX-License-Identifier: Apache-2.0 */
#include "io/ending.h"
#include "base/status.h"

#include <string.h>
#include <strings.h>

#include "clvox/files.h"

bool clv_ends_in(const char *path, const char *end)
{
    const size_t length = strlen(path), tail = strlen(end);
    return length > tail && !strcasecmp(path + length - tail, end);
}

const char *clv_ending(const char *path, const char *const *ends, int most)
{
    const size_t length = strlen(path), packed = clv_ends_in(path, ".gz") ? 3 : 0;
    const char *found = NULL;
    for (int e = 0; e < most && ends[e]; e++) {
        const size_t end = strlen(ends[e]);
        const char *at = clv_ends_in(path, ends[e]) ? path + length - end
                         : length > packed + end    ? path + length - packed - end
                                                    : NULL;
        if (at && (!found || at < found) && !strncasecmp(at, ends[e], end))
            found = at;
    }
    return found;
}

const char *clvox_file_ending(const char *path)
{
    CLV_GIVEN_OR(NULL, path);
    static const char *const others[] = {".json", ".png", ".html", ".tsv", ".csv"};
    const char *const of[] = {clv_volume_ending(path), clv_surface_ending(path), clv_transform_ending(path),
                              clv_ending(path, others, sizeof others / sizeof *others)};
    const char *longest = NULL;
    for (int i = 0; i < 4; i++)
        if (of[i] && (!longest || of[i] < longest))
            longest = of[i];
    return longest;
}

bool clvox_file_ends(const char *path, const char *ending)
{
    CLV_GIVEN_OR(false, path, ending);
    return clv_ends_in(path, ending);
}
