/* SPDX-License-Identifier: Apache-2.0 */
/* STL: triangles without shared vertices, ASCII or binary (little-endian
 * float32). Corners at equal coordinates become one vertex. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/surface/file.h"

enum { HEADER = 84, FACET = 50 };

static double facets_promised(const uint8_t *data)
{
    return clv_number_at(data + 80, CLV_UINT32, false);
}

/* Binary files may begin with "solid" too; then their length tells. */
static bool exact(const uint8_t *data, size_t size)
{
    return size >= HEADER && facets_promised(data) * FACET + HEADER == (double)size;
}

static bool is_text(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    return size > 5 && !strncasecmp(text, "solid", 5) &&
           (strcasestr(text, "facet") || strcasestr(text, "endsolid"));
}

static bool is_stl(const uint8_t *data, size_t size)
{
    return exact(data, size) || is_text(data, size);
}

/* ---- welding ------------------------------------------------------------ */

/* An open-addressing table of the mesh's vertices by their coordinates. */
typedef struct weld {
    clv_mesh *mesh;
    int32_t *slot; /* vertex + 1; 0: free */
    size_t slots;  /* a power of two */
} weld;

static size_t slot_of(const weld *w, const double x[3])
{
    uint64_t hash = 0, bits;
    for (int i = 0; i < 3; i++) {
        memcpy(&bits, x + i, sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    size_t at = (size_t)hash & (w->slots - 1);
    while (w->slot[at] && memcmp(w->mesh->points + 3 * (size_t)(w->slot[at] - 1), x, 3 * sizeof *x))
        at = (at + 1) & (w->slots - 1);
    return at;
}

static int enlarge(weld *w)
{
    size_t slots = w->slots ? 2 * w->slots : 256;
    int32_t *slot = calloc(slots, sizeof *slot);
    if (!slot)
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", w->mesh->path);
    free(w->slot);
    w->slot = slot;
    w->slots = slots;
    for (size_t i = 0; i < w->mesh->vertices; i++)
        slot[slot_of(w, w->mesh->points + 3 * i)] = (int32_t)i + 1;
    return CLVOX_OK;
}

/* Adds the corner at x to the face of the mesh. */
static int corner(weld *w, const double x[3])
{
    int status;
    double p[3] = {x[0] + 0.0, x[1] + 0.0, x[2] + 0.0}; /* -0 becomes 0 */
    if (2 * w->mesh->vertices >= w->slots)
        CLV_TRY(enlarge(w));
    size_t at = slot_of(w, p);
    if (!w->slot[at]) {
        CLV_TRY(clv_mesh_point(w->mesh, p));
        w->slot[at] = (int32_t)w->mesh->vertices;
    }
    status = clv_mesh_corner(w->mesh, w->slot[at] - 1);
end:
    return status;
}

/* ---- reading ------------------------------------------------------------ */

static int read_binary(const clv_surface_bytes *file, weld *w)
{
    int status = CLVOX_OK;
    double count = file->size >= HEADER ? facets_promised(file->data) : -1;
    if (count < 0 || HEADER + count * FACET > (double)file->size)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: the STL file is cut short: %zu bytes do not hold the %.0f triangles promised, get "
            "a fresh copy",
            file->path, file->size, fmax(count, 0));
    const uint8_t *at = file->data + HEADER;
    for (double i = 0; i < count; i++, at += FACET) {
        clv_mesh_face(w->mesh, false);
        for (int c = 0; c < 3; c++) {
            double x[3];
            for (int k = 0; k < 3; k++)
                x[k] = clv_number_at(at + 12 + 12 * c + 4 * k, CLV_FLOAT32, false);
            CLV_TRY(corner(w, x));
        }
    }
end:
    return status;
}

static int read_text(const clv_surface_bytes *file, weld *w)
{
    int status = CLVOX_OK;
    bool open = false;
    char word[32];
    clv_words text = {(const char *)file->data, (const char *)file->data + file->size};
    while (clv_words_word(&text, word, sizeof word)) {
        bool known = true;
        if (!strcasecmp(word, "vertex")) {
            double x[3];
            for (int k = 0; k < 3; k++)
                known = known && clv_words_number(&text, x + k);
            if (known)
                CLV_TRY(corner(w, x));
        } else if (!strcasecmp(word, "endloop")) {
            known = w->mesh->count >= 3;
        } else if (!strcasecmp(word, "outer") || !strcasecmp(word, "facet")) {
            clv_mesh_face(w->mesh, false);
        } else if (!strcasecmp(word, "solid") || !strcasecmp(word, "endsolid")) {
            open = !strcasecmp(word, "solid");
        } else {
            known = !strcasecmp(word, "endfacet");
        }
        if (!known) {
            status =
                clvox_fail(CLVOX_ERROR_FORMAT,
                           "%s: the STL file holds what no STL file does, near its byte %zu, get a fresh "
                           "copy",
                           file->path, (size_t)(text.at - (const char *)file->data));
            goto end;
        }
        /* Names of solids and normals, which the corners tell too. */
        if (strcasecmp(word, "endloop") && strcasecmp(word, "endfacet"))
            clv_words_line(&text);
    }
    if (open)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: the STL file ends early (no endsolid), get a fresh copy",
                            file->path);
end:
    return status;
}

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    weld w = {.mesh = mesh};
    bool text = !exact(file->data, file->size) && is_text(file->data, file->size);
    int status = text ? read_text(file, &w) : read_binary(file, &w);
    free(w.slot);
    return status;
}

/* ---- writing ------------------------------------------------------------ */

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    char header[80] = "";
    strcpy(header, "clvox, RAS mm"); /* not "solid", which means text to some */
    clv_text_put_bytes(out, header, sizeof header);
    clv_text_put_int(out, (int32_t)surface->triangles, false);
    for (size_t t = 0; t < surface->triangles; t++) {
        const double *p[3];
        double a[3], b[3], n[3];
        for (int c = 0; c < 3; c++)
            p[c] = surface->points + 3 * (size_t)surface->corners[3 * t + (size_t)c];
        for (int k = 0; k < 3; k++) {
            a[k] = p[1][k] - p[0][k];
            b[k] = p[2][k] - p[0][k];
        }
        for (int k = 0; k < 3; k++)
            n[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3; k++)
            clv_text_put_float(out, length > 0 && isfinite(length) ? n[k] / length : 0, false);
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                clv_text_put_float(out, p[c][k], false);
        clv_text_put_bytes(out, "\0", 2);
    }
}

const clv_surface_format clv_stl_format = {
    .ends = {".stl"},
    .is = is_stl,
    .read = read_surface,
    .write = write_surface,
};
