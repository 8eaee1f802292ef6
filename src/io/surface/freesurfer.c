/* SPDX-License-Identifier: Apache-2.0 */
/* FreeSurfer's binary triangle surfaces: big-endian, tkRAS, and behind the
 * triangles the geometry of the volume, which leads to RAS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/surface/file.h"
#include "io/surface/tkras.h"

/* Tags behind the triangles. */
enum { TAG_REAL_RAS = 2, TAG_GEOMETRY = 20 };

/* "name = a b c" in a line of the geometry. */
static bool find(const char *text, const char *name, double out[3])
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t length = strlen(name);
        if (strncmp(line, name, length))
            continue;
        const char *at = line + length + strspn(line + length, " \t");
        if (*at++ != '=')
            continue;
        char *stop;
        int count = 0;
        for (; count < 3; count++, at = stop) {
            at += strspn(at, " \t"); /* not beyond the line, as strtod would */
            out[count] = strtod(at, &stop);
            if (stop == at || *at == '\n')
                break;
        }
        return count == 3;
    }
    return false;
}

/* The map to RAS; 1 where the file has one, else 0. */
static int geometry(const clv_surface_bytes *file, size_t at, double out[4][4])
{
    double axes[3][3], centre[3];
    size_t left = file->size - at;
    const uint8_t *tail = file->data + at;
    if (left >= 8 && clv_number_at(tail, CLV_INT32, true) == TAG_REAL_RAS) {
        if (clv_number_at(tail + 4, CLV_INT32, true) == 1)
            return 0; /* the vertices are in RAS as they stand */
        tail += 8;
        left -= 8;
    }
    if (left < 4 || clv_number_at(tail, CLV_INT32, true) != TAG_GEOMETRY)
        return 0;
    /* Text up to the next tag or the end, where a 0 stands. */
    const char *text = (const char *)tail + 4;
    if (strncmp(text, "valid = 1", 9))
        return 0;
    if (!find(text, "xras", axes[0]) || !find(text, "yras", axes[1]) || !find(text, "zras", axes[2]) ||
        !find(text, "cras", centre))
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: the geometry of its volume is damaged (xras, yras, zras, cras), get a fresh copy",
            file->path);
    clv_tkras((const double(*)[3])axes, centre, out);
    return 1;
}

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status;
    double matrix[4][4], x[3];
    const uint8_t *at = file->data, *end = file->data + file->size;
    if (file->size < 4 || at[0] != 0xff || at[1] != 0xff || at[2] != 0xfe)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: is no binary triangle surface of FreeSurfer; mris_convert makes one of others",
                          file->path);
    /* One line says who made it; an empty one follows. */
    const uint8_t *line = memchr(at, '\n', file->size);
    at = line ? line + 1 : end;
    if (at < end && *at == '\n')
        at++;
    if (end - at < 8)
        return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the FreeSurfer surface ends early, get a fresh copy",
                          file->path);
    double vertices = clv_number_at(at, CLV_INT32, true), triangles = clv_number_at(at + 4, CLV_INT32, true);
    at += 8;
    if (vertices < 0 || triangles < 0 || 12 * (vertices + triangles) > (double)(end - at))
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: the FreeSurfer surface promises %.0f vertices and %.0f triangles, which it does not "
            "hold, get a fresh copy",
            file->path, vertices, triangles);
    for (double i = 0; i < vertices; i++, at += 12) {
        for (int k = 0; k < 3; k++)
            x[k] = clv_number_at(at + 4 * k, CLV_FLOAT32, true);
        CLV_TRY(clv_mesh_point(mesh, x));
    }
    for (double i = 0; i < triangles; i++, at += 12) {
        int64_t corner[3];
        for (int k = 0; k < 3; k++)
            corner[k] = clv_number_index(clv_number_at(at + 4 * k, CLV_INT32, true));
        CLV_TRY(clv_mesh_triangle(mesh, corner));
    }
    CLV_TRY(geometry(file, (size_t)(at - file->data), matrix));
    if (status == 1)
        CLV_TRY(clv_mesh_map(mesh, (const double(*)[4])matrix));
end:
    return status < 0 ? status : CLVOX_OK;
}

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    clv_text_put_bytes(out, "\xff\xff\xfe", 3);
    clv_text_add(out, "created by clvox %s\n\n", clvox_version());
    clv_text_put_int(out, (int32_t)surface->vertices, true);
    clv_text_put_int(out, (int32_t)surface->triangles, true);
    for (size_t i = 0; i < 3 * surface->vertices; i++)
        clv_text_put_float(out, surface->points[i], true);
    for (size_t i = 0; i < 3 * surface->triangles; i++)
        clv_text_put_int(out, surface->corners[i], true);
    /* FreeSurfer's standard volume about the origin, where tkRAS is RAS. */
    static const char standard[] =
        "valid = 1  # volume info valid\nfilename = clvox\nvolume = 256 256 256\n"
        "voxelsize = 1.000000000000000e+00 1.000000000000000e+00 1.000000000000000e+00\n"
        "xras   = -1.000000000000000e+00 0.000000000000000e+00 0.000000000000000e+00\n"
        "yras   = 0.000000000000000e+00 0.000000000000000e+00 -1.000000000000000e+00\n"
        "zras   = 0.000000000000000e+00 1.000000000000000e+00 0.000000000000000e+00\n"
        "cras   = 0.000000000000000e+00 0.000000000000000e+00 0.000000000000000e+00\n";
    clv_text_put_int(out, TAG_REAL_RAS, true);
    clv_text_put_int(out, 0, true);
    clv_text_put_int(out, TAG_GEOMETRY, true);
    clv_text_put_bytes(out, standard, sizeof standard - 1);
}

static bool is_freesurfer(const uint8_t *data, size_t size)
{
    /* Triangles; quadrangles old and new, which the reader refuses with advice. */
    return size > 3 && data[0] == 0xff && data[1] == 0xff && data[2] >= 0xfd;
}

const clv_surface_format clv_freesurfer_format = {
    .ends = {".fs", ".white", ".pial"},
    .framed = true,
    .is = is_freesurfer,
    .read = read_surface,
    .write = write_surface,
};
