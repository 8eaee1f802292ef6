/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ITK's transforms in HDF5 with libhdf5. */
#include <hdf5.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/file.h"
#include "base/status.h"
#include "io/transform/itk.h"

#define GROUP "/TransformGroup"

/* Debian's library is for one thread at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool put(hid_t file, const char *name, hid_t stored, hid_t memory, size_t count, const void *values,
                bool packed)
{
    hsize_t size = count, chunk = count < 1 << 18 ? count : 1 << 18;
    hid_t space = H5Screate_simple(1, &size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (packed) {
        H5Pset_chunk(list, 1, &chunk);
        H5Pset_shuffle(list);
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

/* To 2^-10 mm, so that the last bits of displacements are 0 and pack well. */
static float rounded(float mm)
{
    return ldexpf(rintf(ldexpf(mm, 10)), -10);
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
    float *vectors = clv_array(voxels, 3 * sizeof *vectors);
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
            const float u = rounded(t->warp->data[c * voxels + i]);
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
                                        put_text(file, "/OSName", "Linux") &&
                                        put_text(file, "/OSVersion", "clvox");
    if (group >= 0)
        H5Gclose(group);
    good = good && (!composite || put_class(file, 0, "CompositeTransform_double_3_3", member));
    /* ITK applies the last first. */
    for (int i = 0; i < count && good; i++)
        good = put_transform(file, composite + i, parts[count - 1 - i]);
    return good;
}

/* Made in memory, so that the file is written whole or not at all. */
int clv_itk_hdf5_write(const char *path, const clvox_transform *const *parts, int count)
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
