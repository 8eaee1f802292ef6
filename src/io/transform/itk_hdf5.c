/* SPDX-License-Identifier: Apache-2.0 */
/* ITK's transforms in HDF5, above all composites, as ANTs writes them with
 * --write-composite-transform: groups 0, 1, 2, ... with a class and parameters each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/transform/hdf5.h"
#include "io/transform/itk.h"

static bool is(const char *path, const uint8_t *head, size_t size)
{
    (void)path;
    return size >= 4 && !memcmp(head, "\x89HDF", 4);
}

/* The class of a transform; an empty one where the group has none of that number, whose address is *group. */
static int read_class(clv_hdf5 *file, uint64_t all, int number, uint64_t *group, char *out, size_t room)
{
    int status;
    char name[16];
    uint64_t object;
    *out = 0;
    snprintf(name, sizeof name, "%d", number);
    CLV_TRY(clv_hdf5_find(file, all, name, group));
    if (*group) {
        CLV_TRY(clv_hdf5_find(file, *group, "TransformType", &object));
        status = object ? clv_hdf5_text(file, object, "TransformType", out, room)
                        : clv_hdf5_damaged(file, "TransformType");
    }
end:
    return status;
}

/* A list of finite numbers, which files of old have under a misspelt name. */
static int read_numbers(clv_hdf5 *file, uint64_t group, const char *name, const char *old, double **out,
                        size_t *count)
{
    int status;
    uint64_t object;
    free(*out);
    *out = NULL;
    *count = 0;
    CLV_TRY(clv_hdf5_find(file, group, name, &object));
    if (!object)
        CLV_TRY(clv_hdf5_find(file, group, old, &object));
    if (!object) {
        status = clv_hdf5_damaged(file, name);
        goto end;
    }
    CLV_TRY(clv_hdf5_numbers(file, object, name, out, count));
    for (size_t i = 0; i < *count && status >= 0; i++)
        if (!isfinite((*out)[i]))
            status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: its parameters are not all finite", file->path);
end:
    return status;
}

static int read_all(clv_hdf5 *file, clv_parts *parts)
{
    int status, first = parts->count;
    const char *path = file->path;
    clv_itk itk = {.name = ""};
    uint64_t all, group;
    CLV_TRY(clv_hdf5_find(file, file->root, "TransformGroup", &all));
    if (all)
        CLV_TRY(read_class(file, all, 0, &group, itk.name, sizeof itk.name));
    if (!*itk.name) {
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: is an HDF5 file without an ITK transform", path);
        goto end;
    }
    const bool composite = clv_itk_is_composite(&itk);
    for (int number = composite;; number++) {
        if (number)
            CLV_TRY(read_class(file, all, number, &group, itk.name, sizeof itk.name));
        if (!*itk.name)
            break;
        if (!composite && number) {
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: holds several transforms and does not say that they are one composite; take it "
                "apart with CompositeTransformUtil --disassemble and name the parts one by one",
                path);
            goto end;
        }
        CLV_TRY(read_numbers(file, group, "TransformParameters", "TranformParameters", &itk.parameter,
                             &itk.parameters));
        CLV_TRY(read_numbers(file, group, "TransformFixedParameters", "TranformFixedParameters", &itk.fixed,
                             &itk.fixeds));
        CLV_TRY(clv_itk_add(path, &itk, parts));
    }
    if (parts->count == first)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds no transform", path);
    else if (composite)
        clv_itk_turn_round(parts, first);
end:
    free(itk.parameter);
    free(itk.fixed);
    return status;
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    clv_hdf5 file;
    (void)fixed;
    (void)moving;
    CLV_TRY(clv_hdf5_open(path, &file));
    status = read_all(&file, parts);
end:
    clv_hdf5_close(&file);
    return status;
}

const clv_transform_format clv_itk_hdf5_transform = {
    .ends = {".h5", ".hdf5"},
    .is = is,
    .read = read,
    .write = clv_itk_hdf5_write,
};
