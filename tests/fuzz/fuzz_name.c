/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile names of images: MOVING, FIXED and LABELS, a line each. What derivatives are called stays in the
 * folder of its subject. */
#include <stdlib.h>
#include <string.h>

#include "clvox/command/bids.h"
#include "fuzz.h"

static void check_name(const char *path, const char *folder)
{
    if (strncmp(path, folder, strlen(folder)) != 0 || strlen(path) >= PATH_MAX || strstr(path, "..") ||
        strstr(path, "//"))
        abort();
    const char *last = strrchr(path, '/') + 1;
    if (strlen(last) > NAME_MAX ||
        last[strspn(last, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_.")])
        abort();
}

static void check_target(const clvox_bids_target *t)
{
    static const char *const patterns[] = {
        "%P%g%i.nii.gz", "%P%l.nii.gz", "%P_from-%a_to-%b_mode-image_xfm.txt", "%F%g%i.png", "%L%g%i.json"};
    char path[PATH_MAX], other[PATH_MAX];
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (clvox_bids_expand(patterns[i], t, path)) {
            check_name(path, patterns[i][1] == 'P'   ? t->folder
                             : patterns[i][1] == 'F' ? t->subject
                                                     : "logs/");
            if (!clvox_bids_ending(path, ".json", other) || strlen(other) < 5)
                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *line[3] = {text, NULL, NULL}, space[CLVOX_BIDS_ROOM];
    clvox_bids_name moving, fixed;
    clvox_bids_target target;
    memcpy(text, data, size);
    text[size] = 0;
    for (int i = 0; i < 2 && line[i] && (line[i + 1] = strchr(line[i], '\n')); i++)
        *line[i + 1]++ = 0;
    const char *image = line[0], *reference = line[1] ? line[1] : "";
    if (clvox_bids_read(image, &moving)) {
        const clvox_bids_word *res =
            clvox_bids_read(reference, &fixed) ? clvox_bids_find(&fixed, "res") : NULL;
        if (clvox_bids_space(reference, &moving, space)) {
            if (!*space ||
                space[strspn(space, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+")])
                abort();
            if (clvox_bids_subject(image, line[2], space, res, &target))
                check_target(&target);
            if (clvox_bids_template(space, (int)(size % 3), &moving.suffix, &target))
                check_target(&target);
        }
    }
    free(text);
    return 0;
}
