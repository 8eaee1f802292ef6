/* SPDX-License-Identifier: Apache-2.0 */
/* ITK's transforms in HDF5, above all composites, as ANTs writes them with
 * --write-composite-transform: groups 0, 1, 2, ... with a class and parameters each. */
#include <hdf5.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/status.h"
#include "io/transform/itk.h"

#define GROUP "/TransformGroup"
enum { RATIO = 1032 }; /* no deflate stream expands further */

/* Debian's library is for one thread at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is(const char *path, const uint8_t *head, size_t size)
{
    (void)path;
    return size >= 4 && !memcmp(head, "\x89HDF", 4);
}

static int damaged(const char *path, const char *name)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is not an ITK transform, or is damaged (%s), get a fresh copy",
                      path, name);
}

/* ---- reading ------------------------------------------------------------ */

/* Opens a member of a transform, which files of old have under a misspelt name. */
static hid_t open_member(hid_t file, int number, const char *name, const char *old)
{
    char path[128];
    const char *const names[] = {name, old};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, GROUP "/%d", number);
        if (H5Lexists(file, path, H5P_DEFAULT) <= 0)
            return -1;
        snprintf(path, sizeof path, GROUP "/%d/%s", number, names[i]);
        if (H5Lexists(file, path, H5P_DEFAULT) > 0)
            return H5Dopen2(file, path, H5P_DEFAULT);
    }
    return -1;
}

/* The class of transform `number`; false where it has none. */
static bool read_class(hid_t file, int number, char *out, size_t room)
{
    bool good = false;
    char *text = NULL;
    hid_t data = open_member(file, number, "TransformType", "TransformType"), type = -1, space = -1, memory = -1;
    if (data < 0)
        return false;
    type = H5Dget_type(data);
    space = H5Dget_space(data);
    if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1) {
        bool variable = H5Tis_variable_str(type) > 0;
        size_t size = variable ? 0 : H5Tget_size(type);
        memory = H5Tcopy(H5T_C_S1);
        if (variable && H5Tset_size(memory, H5T_VARIABLE) >= 0 && H5Tset_cset(memory, H5Tget_cset(type)) >= 0 &&
            H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0 && text) {
            snprintf(out, room, "%s", text);
            good = true;
            free(text);
        } else if (!variable && size && size < room && H5Tset_size(memory, size + 1) >= 0 &&
                   H5Dread(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0) {
            out[size] = 0;
            good = true;
        }
    }
    if (memory >= 0)
        H5Tclose(memory);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(data);
    return good;
}

/* A list of numbers, of whatever precision. One that claims more than its bytes can hold is damaged. */
static int read_numbers(const char *path, hid_t file, int number, const char *name, const char *old, double **out,
                        size_t *count)
{
    int status = CLVOX_OK;
    hid_t data = open_member(file, number, name, old), type = -1, space = -1;
    *out = NULL;
    *count = 0;
    if (data < 0)
        return damaged(path, name);
    type = H5Dget_type(data);
    space = H5Dget_space(data);
    hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    if (type < 0 || H5Tget_class(type) != H5T_FLOAT || points < 0 ||
        (uint64_t)points > (uint64_t)H5Dget_storage_size(data) * RATIO) {
        status = damaged(path, name);
        goto end;
    }
    *out = malloc(((size_t)points + 1) * sizeof **out);
    if (!*out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory: %.1f GB for its parameters", path,
                            (double)points * 8e-9);
        goto end;
    }
    *count = (size_t)points;
    if (points && H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out) < 0)
        status = damaged(path, name);
    for (size_t i = 0; status >= 0 && i < *count; i++)
        if (!isfinite((*out)[i]))
            status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: its parameters are not all finite", path);
end:
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(data);
    return status;
}

static int read_all(const char *path, hid_t file, clv_parts *parts)
{
    int status = CLVOX_OK, first = parts->count;
    clv_itk itk = {.name = ""};
    if (H5Lexists(file, GROUP, H5P_DEFAULT) <= 0 || !read_class(file, 0, itk.name, sizeof itk.name))
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: is an HDF5 file without an ITK transform", path);
    bool composite = clv_itk_is_composite(&itk);
    for (int number = composite; number == composite || read_class(file, number, itk.name, sizeof itk.name); number++) {
        if (number == 1 && composite && !read_class(file, number, itk.name, sizeof itk.name))
            break;
        if (!composite && number) {
            status = clvox_fail(
                CLVOX_ERROR_FORMAT,
                "%s: holds several transforms and does not say that they are one composite; take it "
                "apart with CompositeTransformUtil --disassemble and name the parts one by one",
                path);
            break;
        }
        free(itk.parameter);
        free(itk.fixed);
        itk.parameter = itk.fixed = NULL;
        CLV_TRY(read_numbers(path, file, number, "TransformParameters", "TranformParameters", &itk.parameter,
                             &itk.parameters));
        CLV_TRY(read_numbers(path, file, number, "TransformFixedParameters", "TranformFixedParameters", &itk.fixed,
                             &itk.fixeds));
        CLV_TRY(clv_itk_add(path, &itk, parts));
    }
    if (status >= 0 && parts->count == first)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: holds no transform", path);
    if (composite)
        clv_itk_turn_round(parts, first);
end:
    free(itk.parameter);
    free(itk.fixed);
    return status;
}

static int read(const char *path, const clvox_grid *fixed, const clvox_grid *moving, clv_parts *parts)
{
    int status;
    (void)fixed;
    (void)moving;
    pthread_mutex_lock(&lock);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    status = file < 0 ? damaged(path, "HDF5") : read_all(path, file, parts);
    if (file >= 0)
        H5Fclose(file);
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- writing ------------------------------------------------------------ */

static bool put(hid_t file, const char *name, hid_t stored, hid_t memory, size_t count, const void *values, bool packed)
{
    hsize_t size = count, chunk = count < 1 << 18 ? count : 1 << 18;
    hid_t space = H5Screate_simple(1, &size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (packed) {
        H5Pset_chunk(list, 1, &chunk);
        H5Pset_deflate(list, 4);
    }
    hid_t data = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, list, H5P_DEFAULT);
    bool good = data >= 0 && (!count || H5Dwrite(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (data >= 0)
        H5Dclose(data);
    H5Pclose(list);
    H5Sclose(space);
    return good;
}

static bool put_text(hid_t file, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    bool good = put(file, name, type, type, 1, &text, false);
    H5Tclose(type);
    return good;
}

/* Begins transform `number`: its group and its class. member receives the begin of its members' names. */
static bool put_class(hid_t file, int number, const char *class, char member[64])
{
    char name[96];
    snprintf(member, 64, GROUP "/%d", number);
    hid_t group = H5Gcreate2(file, member, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return false;
    H5Gclose(group);
    snprintf(name, sizeof name, "%s/TransformType", member);
    return put_text(file, name, class);
}

static bool put_fixed(hid_t file, const char *member, size_t count, const double *values)
{
    char name[96];
    snprintf(name, sizeof name, "%s/TransformFixedParameters", member);
    return put(file, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, count, values, false);
}

/* stored, memory: the types in the file and of values. */
static bool put_parameters(hid_t file, const char *member, hid_t stored, hid_t memory, size_t count,
                           const void *values)
{
    char name[96];
    snprintf(name, sizeof name, "%s/TransformParameters", member);
    return put(file, name, stored, memory, count, values, count > 1000);
}

static bool put_transform(hid_t file, int number, const clvox_transform *t)
{
    char member[64];
    if (!t->is_warp) {
        static const double centre[3] = {0};
        double p[12];
        clv_itk_affine(t->matrix, p);
        return put_class(file, number, "AffineTransform_double_3_3", member) &&
               put_fixed(file, member, 3, centre) &&
               put_parameters(file, member, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 12, p);
    }
    const clvox_grid *g = &t->warp->grid;
    double fixed[18], spacing[3];
    size_t voxels = clvox_grid_voxels(g);
    float *vectors = malloc(3 * voxels * sizeof *vectors);
    if (!vectors)
        return false;
    clvox_grid_spacing(g, spacing);
    for (int i = 0; i < 3; i++) {
        double sign = i < 2 ? -1 : 1;
        fixed[i] = g->size[i];
        fixed[3 + i] = sign * g->to_ras[i][3];
        fixed[6 + i] = spacing[i];
        for (int j = 0; j < 3; j++)
            fixed[9 + 3 * i + j] = sign * g->to_ras[i][j] / spacing[j];
    }
    for (size_t i = 0; i < voxels; i++)
        for (size_t c = 0; c < 3; c++) {
            float u = t->warp->data[c * voxels + i];
            vectors[3 * i + c] = c < 2 ? 0.0f - u : u;
        }
    bool good = put_class(file, number, "DisplacementFieldTransform_float_3_3", member) &&
                put_fixed(file, member, 18, fixed) &&
                put_parameters(file, member, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 3 * voxels, vectors);
    free(vectors);
    return good;
}

static bool put_all(hid_t file, const clvox_transform *const *parts, int count)
{
    char member[64];
    hid_t group = H5Gcreate2(file, GROUP, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool composite = count != 1, good = group >= 0 && put_text(file, "/ITKVersion", "5.3.0") &&
                                        put_text(file, "/HDFVersion", H5_VERS_INFO) &&
                                        put_text(file, "/OSName", "Linux") && put_text(file, "/OSVersion", "clvox");
    if (group >= 0)
        H5Gclose(group);
    good = good && (!composite || put_class(file, 0, "CompositeTransform_double_3_3", member));
    /* ITK applies the last first. */
    for (int i = 0; i < count && good; i++)
        good = put_transform(file, composite + i, parts[count - 1 - i]);
    return good;
}

/* Made in memory, so that the file is written whole or not at all. */
static int write(const char *path, const clvox_transform *const *parts, int count)
{
    int status;
    void *image = NULL;
    ssize_t size = -1;
    pthread_mutex_lock(&lock);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 22, 0);
    hid_t file = H5Fcreate("transform.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (file >= 0 && put_all(file, parts, count) && H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0)
        size = H5Fget_file_image(file, NULL, 0);
    if (size > 0)
        image = malloc((size_t)size);
    if (image)
        size = H5Fget_file_image(file, image, (size_t)size);
    if (file >= 0)
        H5Fclose(file);
    H5Pclose(access);
    pthread_mutex_unlock(&lock);
    status = image && size > 0 ? clvox_file_write(path, image, (size_t)size)
                               : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory for an HDF5 file", path);
    free(image);
    return status;
}

const clv_transform_format clv_itk_hdf5_transform = {
    .ends = {".h5", ".hdf5"},
    .is = is,
    .read = read,
    .write = write,
};
