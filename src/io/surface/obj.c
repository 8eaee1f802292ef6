/* SPDX-License-Identifier: Apache-2.0 */
/* Wavefront OBJ: text, polygons, vertices counted from 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/surface/file.h"

static bool spaces(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* To the next word of the line; a backslash at its end joins the next line. */
static bool more_in_line(clv_words *text)
{
    for (;; text->at++) {
        if (*text->at == '\\' && text->at[1] == '\n')
            text->at++;
        else if (*text->at == '\\' && text->at[1] == '\r' && text->at[2] == '\n')
            text->at += 2;
        else if (!spaces(*text->at))
            break;
    }
    return text->at < text->end && *text->at && *text->at != '\n' && *text->at != '#';
}

/* v, v/vt, v//vn or v/vt/vn; a negative v counts back from the last vertex. */
static int obj_corner(clv_words *text, clv_mesh *mesh)
{
    char *stop;
    long long v = strtoll(text->at, &stop, 10);
    if (stop == text->at || !(spaces(*stop) || strchr("/\n\\#", *stop)))
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: the OBJ file has a face (the one with triangle %zu, counted from 0) with a corner "
            "that is no number, get a fresh copy",
            mesh->path, mesh->triangles);
    text->at = stop;
    while (*text->at && !spaces(*text->at) && *text->at != '\n')
        text->at++;
    return clv_mesh_corner(mesh, v > 0 ? v - 1 : v < 0 && v > -INT32_MAX ? (int64_t)mesh->vertices + v : -1);
}

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status = CLVOX_OK;
    bool other = false;
    char word[16];
    clv_words text = {(const char *)file->data, (const char *)file->data + file->size};
    for (; clv_words_word(&text, word, sizeof word); clv_words_line(&text)) {
        if (!strcmp(word, "v")) {
            double x[3];
            int count = 0;
            char *stop;
            for (; count < 3 && more_in_line(&text); count++, text.at = stop) {
                x[count] = strtod(text.at, &stop);
                if (stop == text.at)
                    break;
            }
            if (count < 3) {
                status = clvox_fail(CLVOX_ERROR_FORMAT,
                                    "%s: the OBJ file has a vertex (%zu, counted from 0) without three "
                                    "coordinates, get a fresh copy",
                                    file->path, mesh->vertices);
                goto end;
            }
            CLV_TRY(clv_mesh_point(mesh, x));
        } else if (!strcmp(word, "f")) {
            clv_mesh_face(mesh, false);
            while (more_in_line(&text))
                CLV_TRY(obj_corner(&text, mesh));
        } else if (*word != '#') {
            other = true;
        }
    }
    if (other && !mesh->vertices)
        status =
            clvox_fail(CLVOX_ERROR_FORMAT,
                       "%s: has no lines of vertices (v x y z), so it is no OBJ file; one of MNI's format of "
                       "that name must be converted first, for example to GIFTI",
                       file->path);
end:
    return status;
}

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    clv_text_add(out, "# clvox %s, RAS mm\n", clvox_version());
    for (size_t i = 0; i < surface->vertices; i++) {
        const double *x = surface->points + 3 * i;
        clv_text_add(out, "v %.9g %.9g %.9g\n", x[0], x[1], x[2]);
    }
    for (size_t i = 0; i < surface->triangles; i++) {
        const int32_t *c = surface->corners + 3 * i;
        clv_text_add(out, "f %d %d %d\n", c[0] + 1, c[1] + 1, c[2] + 1);
    }
}

const clv_surface_format clv_obj_format = {
    .ends = {".obj"},
    .read = read_surface,
    .write = write_surface,
};
