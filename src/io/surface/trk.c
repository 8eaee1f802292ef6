/* SPDX-License-Identifier: Apache-2.0 */
/* TrackVis' tracks, with a matrix to RAS mm of the scanner. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "io/surface/file.h"

enum {
    TRK_HEADER = 1000,
    TRK_DIM = 6,
    TRK_VOXEL = 12,
    TRK_SCALARS = 36,
    TRK_PROPERTIES = 238,
    TRK_MATRIX = 440,
    TRK_ORDER = 948,
    TRK_SIZE = 996
};

static int wrong(const clv_surface_bytes *file, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the TrackVis file %s, get a fresh copy", file->path, what);
}

static bool is_trk(const uint8_t *data, size_t size)
{
    return size > 6 && !memcmp(data, "TRACK", 6);
}

/* The axis of R and L (0), A and P, S and I that a letter names, and whether it leads to R, A or S; -1:
 * none. */
static int axis_of(uint8_t letter, bool *positive)
{
    static const char letters[] = "RASLPI";
    const char *at = letter ? strchr(letters, letter) : NULL;
    *positive = at && at - letters < 3;
    return at ? (int)((at - letters) % 3) : -1;
}

/* Which RAS axis each voxel axis of a matrix runs along: those that together are nearest. */
static void axes_of(const double m[4][4], int axis[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double best = -1;
    for (int o = 0; o < 6; o++) {
        double sum = 0;
        for (int k = 0; k < 3; k++) {
            const int r = orders[o][k];
            const double length = sqrt(m[0][k] * m[0][k] + m[1][k] * m[1][k] + m[2][k] * m[2][k]);
            sum += length > 0 ? fabs(m[r][k]) / length : 0;
        }
        if (sum > best) {
            best = sum;
            memcpy(axis, orders[o], sizeof orders[o]);
        }
    }
}

/* From the mm of the file, whose origin is the corner of the first voxel in the storage that its letters
 * name, to RAS. */
static int trk_place(const clv_surface_bytes *file, bool big, double out[4][4])
{
    double m[4][4];
    int axis[3] = {0, 1, 2};
    const uint8_t *d = file->data;
    for (int i = 0; i < 16; i++) {
        m[i / 4][i % 4] = clv_number_at(d + TRK_MATRIX + 4 * i, CLV_FLOAT32, big);
        if (!isfinite(m[i / 4][i % 4]))
            return wrong(file, "has a matrix that is not finite");
    }
    if (m[3][3] == 0)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: the TrackVis file does not say where it lies (no vox_to_ras); convert it to .tck "
            "with its image",
            file->path);
    axes_of((const double(*)[4])m, axis);
    memset(out, 0, 16 * sizeof(double));
    out[3][3] = 1;
    for (int r = 0; r < 3; r++)
        out[r][3] = m[r][3];
    bool taken[3] = {false}, turned_axis = false;
    char order[4] = "", axes[4] = "";
    int exchanged = 0;
    for (int k = 0; k < 3; k++) {
        const double edge = clv_number_at(d + TRK_VOXEL + 4 * k, CLV_FLOAT32, big);
        const double voxels = clv_number_at(d + TRK_DIM + 2 * k, CLV_INT16, big);
        const uint8_t letter = d[TRK_ORDER] ? d[TRK_ORDER + k] : (uint8_t) "LPS"[k];
        bool positive;
        const int ras = axis_of(letter, &positive);
        if (!(edge > 0) || !isfinite(edge) || ras < 0 || taken[ras])
            return wrong(file,
                         ras < 0 || taken[ras] ? "has a voxel order that does not name three axes"
                                               : "has voxels of no size");
        taken[ras] = true;
        int v = 0; /* the voxel axis of the matrix */
        while (axis[v] != ras)
            v++;
        const bool turned = (m[ras][v] > 0) != positive;
        order[k] = (char)letter;
        axes[v] = (m[ras][v] > 0 ? "RAS" : "LPI")[ras];
        exchanged += v != k;
        turned_axis = turned_axis || (v != k && turned);
        const double scale = turned ? -1 / edge : 1 / edge, shift = turned ? voxels - .5 : -.5;
        for (int r = 0; r < 3; r++) {
            out[r][k] = m[r][v] * scale;
            out[r][3] += m[r][v] * shift;
        }
    }
    /* nibabel, which writes most of these files, goes from one order to the other by the inverse of what
     * leads there: the same only where no axes are exchanged, or two of which none is turned. */
    if (exchanged == 3 || turned_axis)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: the voxel order %s of the TrackVis file is not the %s of its matrix, and "
                          "programs read such files differently; convert it to .tck with the one that "
                          "wrote it",
                          file->path, order, axes);
    if (!clv_matrix_regular(CLV_MATRIX(out)))
        return wrong(file, "has a matrix without an inverse");
    return CLVOX_OK;
}

static int read_tracks(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status = CLVOX_OK;
    double to_ras[4][4];
    const uint8_t *d = file->data;
    if (file->size < TRK_HEADER)
        return wrong(file, "ends early");
    const bool big = clv_number_at(d + TRK_SIZE, CLV_INT32, false) != TRK_HEADER;
    if (clv_number_at(d + TRK_SIZE, CLV_INT32, big) != TRK_HEADER)
        return wrong(file, "has a header of another size than 1000 bytes");
    const double scalars = clv_number_at(d + TRK_SCALARS, CLV_INT16, big),
                 properties = clv_number_at(d + TRK_PROPERTIES, CLV_INT16, big);
    if (!(scalars >= 0) || !(properties >= 0))
        return wrong(file, "has a negative number of scalars or properties");
    CLV_TRY(trk_place(file, big, to_ras));
    const size_t step = 4 * (3 + (size_t)scalars), behind = 4 * (size_t)properties;
    for (size_t at = TRK_HEADER; at < file->size;) {
        const double count = file->size - at >= 4 ? clv_number_at(d + at, CLV_INT32, big) : -1;
        at += 4;
        if (!(count >= 0) || count * (double)step + (double)behind > (double)(file->size - at))
            return wrong(file, "ends early");
        clv_mesh_face(mesh, false);
        for (double i = 0; i < count; i++, at += step) {
            double p[3], x[3];
            for (int k = 0; k < 3; k++)
                p[k] = clv_number_at(d + at + 4 * k, CLV_FLOAT32, big);
            for (int r = 0; r < 3; r++)
                x[r] = to_ras[r][0] * p[0] + to_ras[r][1] * p[1] + to_ras[r][2] * p[2] + to_ras[r][3];
            CLV_TRY(clv_mesh_point(mesh, x));
            CLV_TRY(clv_mesh_corner(mesh, (int64_t)mesh->vertices - 1));
        }
        at += behind;
    }
end:
    return status;
}

const clv_surface_format clv_trk_format = {
    .ends = {".trk"},
    .framed = true,
    .is = is_trk,
    .read = read_tracks,
    .curves = true,
};
