/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the readers and writers of surface files. A reader gets the whole file in memory and adds what it finds
 * to a mesh that grows: a false count in a header never makes anybody ask for memory. */
#ifndef CLV_IO_SURFACE_FILE_H
#define CLV_IO_SURFACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "clvox/shape.h"
#include "clvox/surface.h"

/* ---- a file in memory --------------------------------------------------- */

/* The bytes of a file, decompressed where it was a gzip file; a 0 stands
 * behind them. */
typedef struct clv_surface_bytes {
    const char *path;
    const uint8_t *data;
    size_t size;
} clv_surface_bytes;

/* ---- numbers ------------------------------------------------------------ */

typedef enum clv_number {
    CLV_INT8, CLV_UINT8, CLV_INT16, CLV_UINT16, CLV_INT32, CLV_UINT32, CLV_INT64, CLV_UINT64,
    CLV_FLOAT32, CLV_FLOAT64, CLV_NUMBERS
} clv_number;

size_t clv_number_size(clv_number type);
/* The number at bytes; big: stored with its high byte first. */
double clv_number_at(const uint8_t *bytes, clv_number type, bool big);
/* A number as an index; -1 for what is none (a fraction, NaN, 2^31 or more). */
int64_t clv_number_index(double x);

/* ---- text --------------------------------------------------------------- */

/* A place in the bytes of a file. */
typedef struct clv_words {
    const char *at, *end; /* *end is readable and 0 */
} clv_words;

/* Skips white space; true where something follows. */
bool clv_words_more(clv_words *text);
/* Copies the next word, cut to room - 1 characters; false at the end. */
bool clv_words_word(clv_words *text, char *word, size_t room);
/* Whether the next word is this one, in letters of either case; skips it if so. */
bool clv_words_is(clv_words *text, const char *word);
/* Goes behind the end of the line. */
void clv_words_line(clv_words *text);
/* The next number; false, and nothing is skipped, where there is none. */
bool clv_words_number(clv_words *text, double *x);

/* ---- a mesh being read -------------------------------------------------- */

typedef struct clv_mesh {
    const char *path;
    bool lines; /* wanted instead of faces: then "triangles" are segments, their third corner 0 */
    double *points;
    int32_t *corners;
    size_t vertices, triangles, point_room, triangle_room;
    /* the face that corners are being added to */
    bool strip;
    size_t count;
    int32_t first, last;
} clv_mesh;

int clv_mesh_point(clv_mesh *mesh, const double x[3]);
/* Starts a face: a polygon, cut into a fan of triangles around its first
 * corner, or a strip of triangles of alternating sense. */
void clv_mesh_face(clv_mesh *mesh, bool strip);
/* Adds the next corner of the face, or of the line. Faces of less than three, and lines of one, are
 * nothing. */
int clv_mesh_corner(clv_mesh *mesh, int64_t vertex);
int clv_mesh_triangle(clv_mesh *mesh, const int64_t corner[3]);
/* y = matrix x for every point; triangles are turned where it mirrors. */
int clv_mesh_map(clv_mesh *mesh, const double matrix[4][4]);

/* ---- a file being written ----------------------------------------------- */

void clv_text_put_float(clv_text *out, double x, bool big);
void clv_text_put_int(clv_text *out, int32_t x, bool big);

/* ---- the formats -------------------------------------------------------- */

/* A format is one file, which ends with its row, and its name in the list of meson.build. */
typedef struct clv_surface_format {
    const char *ends[5]; /* of names */
    bool framed;         /* files state the frame of their vertices */
    bool (*is)(const uint8_t *data, size_t size); /* NULL: the name alone tells */
    /* Reads faces, or with mesh->lines lines. */
    int (*read)(const clv_surface_bytes *file, clv_mesh *mesh);
    void (*write)(const clvox_surface *surface, clv_text *out); /* NULL: it has no surfaces */
    bool curves;
    void (*write_curves)(const clvox_shape *curves, clv_text *out); /* NULL: they are only read */
} clv_surface_format;

#endif
