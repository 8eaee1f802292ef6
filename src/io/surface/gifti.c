/* SPDX-License-Identifier: Apache-2.0 */
/* GIFTI: XML around arrays of numbers in text, base64 or compressed base64. */
#include <expat.h>
#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "io/surface/file.h"
#include "io/surface/tkras.h"

typedef enum encoding { ASCII, BASE64, GZIP_BASE64, EXTERNAL, ENCODINGS } encoding;

enum { GEOMETRY = 12 }; /* x_R x_A x_S, y.., z.., c.. */

typedef struct gifti {
    const clv_surface_bytes *file;
    clv_mesh *mesh;
    XML_Parser parser;
    int status;
    bool points, triangles; /* have been read */
    /* the array being read */
    char intent; /* 'p': points, 't': triangles, 0: another or none */
    encoding encoding;
    clv_number type;
    bool columns, big; /* stored column by column; high byte first */
    double rows;
    /* the text of the element being read */
    bool wanted;
    char *text;
    size_t size, room;
    /* where the points are */
    bool world; /* in a known space as they stand */
    int rank;   /* of the matrix; 0: there is none */
    double matrix[4][4];
    char space[64], other[64], name[64];
    double geometry[GEOMETRY];
    int found; /* of geometry, as bits */
} gifti;

static void stop(gifti *g, int status)
{
    if (g->status >= 0 && status < 0) {
        g->status = status;
        XML_StopParser(g->parser, XML_FALSE);
    }
}

static int wrong(const gifti *g, const char *what)
{
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: the GIFTI file %s", g->file->path, what);
}

/* ---- arrays ------------------------------------------------------------- */

static const char *attribute(const char **attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (!strcmp(attributes[0], name))
            return attributes[1];
    return "";
}

static int begin_array(gifti *g, const char **a)
{
    static const char *const types[CLV_NUMBERS] = {"INT8",   "UINT8", "INT16",  "UINT16",  "INT32",
                                                   "UINT32", "INT64", "UINT64", "FLOAT32", "FLOAT64"};
    static const char *const encodings[ENCODINGS] = {"ASCII", "Base64Binary", "GZipBase64Binary",
                                                     "ExternalFileBinary"};
    const char *intent = attribute(a, "Intent"), *type = attribute(a, "DataType");
    g->intent = !strcmp(intent, "NIFTI_INTENT_POINTSET") || !strcmp(intent, "1008")   ? 'p'
                : !strcmp(intent, "NIFTI_INTENT_TRIANGLE") || !strcmp(intent, "1009") ? 't'
                                                                                      : 0;
    if (!g->intent)
        return CLVOX_OK;
    if (g->intent == 'p' ? g->points : g->triangles)
        return wrong(g, "holds more than one surface; write each to a file of its own");
    type += strncmp(type, "NIFTI_TYPE_", 11) ? 0 : 11;
    g->type = 0;
    while (g->type < CLV_NUMBERS && strcmp(type, types[g->type]))
        g->type++;
    g->encoding = 0;
    while (g->encoding < ENCODINGS && strcmp(attribute(a, "Encoding"), encodings[g->encoding]))
        g->encoding++;
    if (g->encoding == EXTERNAL)
        return wrong(g,
                     "keeps its numbers in another file (ExternalFileBinary); convert it to one that holds "
                     "them, for example with gifti_tool -encoding GZIP");
    if (g->type == CLV_NUMBERS || g->encoding == ENCODINGS)
        return wrong(g, "has an array of an unknown DataType or Encoding, get a fresh copy");
    g->columns = !strcmp(attribute(a, "ArrayIndexingOrder"), "ColumnMajorOrder");
    g->big = !strcmp(attribute(a, "Endian"), "BigEndian");
    g->rows = strtod(attribute(a, "Dim0"), NULL);
    if (strcmp(attribute(a, "Dimensionality"), "2") || strcmp(attribute(a, "Dim1"), "3") || !(g->rows >= 0) ||
        floor(g->rows) != g->rows)
        return wrong(g, "has points or triangles that are not rows of three numbers, get a fresh copy");
    return CLVOX_OK;
}

/* Decodes in place; false at a character that does not belong there. */
static bool decode_base64(char *text, size_t size, size_t *out)
{
    uint32_t bits = 0, held = 0;
    size_t made = 0;
    bool padded = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        int six = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
        if (strchr(" \t\r\n", c))
            continue;
        padded = padded || c == '=';
        if (padded && c == '=')
            continue;
        if (six < 0 || padded)
            return false;
        bits = bits << 6 | (uint32_t)six;
        if (++held % 4 != 1)
            text[made++] = (char)(uint8_t)(bits >> (held % 4 == 2 ? 4 : held % 4 == 3 ? 2 : 0));
    }
    *out = made;
    return true;
}

/* The bytes of the array's numbers, not yet in their order; the caller's. */
static int binary(gifti *g, size_t wanted, uint8_t **out)
{
    size_t got;
    enum libdeflate_result result = LIBDEFLATE_BAD_DATA;
    *out = NULL;
    if (!decode_base64(g->text, g->size, &got))
        return wrong(g, "has an array that is not base64, get a fresh copy");
    if (g->encoding == BASE64 ? got != wanted : wanted / 1032 > got)
        return wrong(g, "has an array that does not hold as many numbers as it promises, get a fresh copy");
    uint8_t *bytes = malloc(wanted + 1);
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!bytes || !d) {
        free(bytes);
        libdeflate_free_decompressor(d);
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", g->file->path);
    }
    const uint8_t *packed = (const uint8_t *)g->text;
    if (g->encoding == BASE64) {
        memcpy(bytes, packed, wanted);
        result = LIBDEFLATE_SUCCESS;
    } else if (got > 2 && packed[0] == 0x1f && packed[1] == 0x8b) {
        result = libdeflate_gzip_decompress(d, packed, got, bytes, wanted, NULL);
    } else {
        result = libdeflate_zlib_decompress(d, packed, got, bytes, wanted, NULL);
    }
    libdeflate_free_decompressor(d);
    if (result == LIBDEFLATE_SUCCESS) {
        *out = bytes;
        return CLVOX_OK;
    }
    free(bytes);
    return wrong(g, result == LIBDEFLATE_BAD_DATA
                        ? "has an array whose compressed data are damaged, get a fresh copy"
                        : "has an array that does not hold as many numbers as it promises, get a fresh copy");
}

static int end_data(gifti *g)
{
    int status = CLVOX_OK;
    uint8_t *bytes = NULL;
    double *numbers = NULL, count = 3 * g->rows;
    size_t size = clv_number_size(g->type);
    clv_words text = {g->text, g->text + g->size};
    *(g->intent == 'p' ? &g->points : &g->triangles) = true;
    /* Bounds the count by what the text can hold, before any allocation. */
    if (count * (double)size > (g->encoding == ASCII ? 8 : 1032) * ((double)g->size + 1))
        return wrong(g, "has an array that does not hold as many numbers as it promises, get a fresh copy");
    size_t n = (size_t)count, rows = n / 3;
    if (g->encoding != ASCII) {
        CLV_TRY(binary(g, n * size, &bytes));
    } else {
        numbers = clv_array(n + 1, sizeof *numbers);
        if (!numbers)
            return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", g->file->path);
        for (size_t i = 0; i < n && status >= 0; i++)
            if (!clv_words_number(&text, numbers + i))
                status =
                    wrong(g, "has an array that ends early or holds what is no number, get a fresh copy");
        if (status >= 0 && clv_words_more(&text))
            status = wrong(g, "has an array of more numbers than it promises, get a fresh copy");
        CLV_TRY(status);
    }
    for (size_t row = 0; row < rows; row++) {
        double x[3];
        int64_t corner[3];
        for (size_t k = 0; k < 3; k++) {
            size_t at = g->columns ? k * rows + row : 3 * row + k;
            x[k] = numbers ? numbers[at] : clv_number_at(bytes + at * size, g->type, g->big);
            corner[k] = clv_number_index(x[k]);
        }
        CLV_TRY(g->intent == 'p' ? clv_mesh_point(g->mesh, x) : clv_mesh_triangle(g->mesh, corner));
    }
end:
    free(bytes);
    free(numbers);
    return status;
}

/* ---- where the points are ----------------------------------------------- */

static void copy_word(const gifti *g, char out[64])
{
    clv_words text = {g->text, g->text + g->size};
    clv_words_word(&text, out, 64);
}

static int end_matrix(gifti *g)
{
    double m[4][4];
    clv_words text = {g->text, g->text + g->size};
    bool good = true;
    for (int i = 0; i < 16; i++)
        good = good && clv_words_number(&text, &m[i / 4][i % 4]);
    int rank = strstr(g->other, "SCANNER_ANAT") ? 2 : strstr(g->other, "ALIGNED_ANAT") ? 1 : 0;
    bool known = strstr(g->space, "_ANAT") || strstr(g->space, "TALAIRACH") || strstr(g->space, "MNI_152");
    g->world = g->world || known;
    if (known || rank <= g->rank)
        return CLVOX_OK;
    if (!good)
        return wrong(g, "has a CoordinateSystemTransformMatrix that is not 16 numbers, get a fresh copy");
    g->rank = rank;
    memcpy(g->matrix, m, sizeof m);
    m[3][3] -= 1;
    for (int i = 0; i < 4; i++)
        if (!(fabs(m[3][i]) < 1e-6))
            return wrong(g, "has a CoordinateSystemTransformMatrix that is not affine, repair it");
    return CLVOX_OK;
}

/* FreeSurfer's remarks on the volume: VolGeomX_R and so on. */
static void end_value(gifti *g)
{
    clv_words text = {g->text, g->text + g->size};
    double x;
    const char *part = g->name + 7;
    if (strncmp(g->name, "VolGeom", 7) || strlen(part) != 3 || part[1] != '_' || !clv_words_number(&text, &x))
        return;
    const char *axis = strchr("XYZC", part[0]), *direction = strchr("RAS", part[2]);
    if (axis && direction) {
        int at = 3 * (int)(axis - strchr("XYZC", 'X')) + (int)(direction - strchr("RAS", 'R'));
        g->geometry[at] = x;
        g->found |= 1 << at;
    }
}

static int place(gifti *g)
{
    enum { CENTRE = 7 << 9, AXES = (1 << 9) - 1 };
    double axes[3][3] = {{-1, 0, 0}, {0, 0, -1}, {0, 1, 0}}; /* FreeSurfer's own, where none are named */
    int named = g->found & AXES;
    if (g->world)
        return CLVOX_OK;
    if (!g->rank && (g->found & CENTRE) == CENTRE && (!named || named == AXES)) {
        if (named)
            memcpy(axes, g->geometry, sizeof axes);
        clv_tkras((const double(*)[3])axes, g->geometry + 9, g->matrix);
        g->rank = 1;
    }
    return g->rank ? clv_mesh_map(g->mesh, (const double(*)[4])g->matrix) : CLVOX_OK;
}

/* ---- XML ---------------------------------------------------------------- */

static void XMLCALL on_begin(void *user, const char *name, const char **attributes)
{
    gifti *g = user;
    if (g->status < 0)
        return;
    bool point = g->intent == 'p';
    if (!strcmp(name, "DataArray"))
        stop(g, begin_array(g, attributes));
    if (!strcmp(name, "CoordinateSystemTransformMatrix"))
        g->space[0] = g->other[0] = 0;
    g->wanted = (g->intent && !strcmp(name, "Data")) ||
                (point && (!strcmp(name, "DataSpace") || !strcmp(name, "TransformedSpace") ||
                           !strcmp(name, "MatrixData") || !strcmp(name, "Name") || !strcmp(name, "Value")));
    g->size = 0;
}

static void XMLCALL on_end(void *user, const char *name)
{
    gifti *g = user;
    if (g->status < 0)
        return;
    if (g->wanted) {
        if (!strcmp(name, "Data"))
            stop(g, end_data(g));
        else if (!strcmp(name, "DataSpace"))
            copy_word(g, g->space);
        else if (!strcmp(name, "TransformedSpace"))
            copy_word(g, g->other);
        else if (!strcmp(name, "MatrixData"))
            stop(g, end_matrix(g));
        else if (!strcmp(name, "Name"))
            copy_word(g, g->name);
        else
            end_value(g);
    }
    g->wanted = false;
    if (!strcmp(name, "DataArray"))
        g->intent = 0;
}

static void XMLCALL on_text(void *user, const char *text, int length)
{
    gifti *g = user;
    if (g->status < 0 || !g->wanted)
        return;
    size_t needed = g->size + (size_t)length + 1;
    if (needed > g->room) {
        char *larger = clv_array_moved(g->text, needed, 2);
        if (!larger) {
            stop(g, clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", g->file->path));
            return;
        }
        g->text = larger;
        g->room = 2 * needed;
    }
    memcpy(g->text + g->size, text, (size_t)length);
    g->size += (size_t)length;
    g->text[g->size] = 0;
}

/* Entities could make a small file a large one; none is needed here. */
static void XMLCALL on_entity(void *user, const char *name, int parameter, const char *value, int length,
                              const char *base, const char *system, const char *public, const char *notation)
{
    gifti *g = user;
    (void)name, (void)parameter, (void)value, (void)length;
    (void)base, (void)system, (void)public, (void)notation;
    if (g->status >= 0)
        stop(g, wrong(g, "declares entities, which are not read; remove them from its head"));
}

static int read_surface(const clv_surface_bytes *file, clv_mesh *mesh)
{
    int status;
    gifti g = {.file = file, .mesh = mesh, .parser = XML_ParserCreate(NULL)};
    g.text = calloc(1, g.room = 4096);
    if (!g.parser || !g.text) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", file->path);
        goto end;
    }
    XML_SetUserData(g.parser, &g);
    XML_SetElementHandler(g.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(g.parser, on_text);
    XML_SetEntityDeclHandler(g.parser, on_entity);
    enum { PIECE = 1 << 24 };
    for (size_t at = 0; at < file->size; at += PIECE) {
        bool last = file->size - at <= PIECE;
        int length = last ? (int)(file->size - at) : PIECE;
        if (XML_Parse(g.parser, (const char *)file->data + at, length, last) == XML_STATUS_OK)
            continue;
        status = g.status < 0
                     ? g.status
                     : clvox_fail(CLVOX_ERROR_FORMAT, "%s: the GIFTI file is damaged (%s), get a fresh copy",
                                  file->path, XML_ErrorString(XML_GetErrorCode(g.parser)));
        goto end;
    }
    if (!g.points || !g.triangles)
        status =
            wrong(&g, g.points ? "holds points without triangles; clvox needs both in one file"
                               : "holds no points; give the surface itself (.surf.gii), not values on it");
    else
        status = place(&g);
end:
    if (g.parser)
        XML_ParserFree(g.parser);
    free(g.text);
    return status;
}

/* ---- writing ------------------------------------------------------------ */

static void write_array(const char *intent, const char *type, size_t rows, const clv_text *numbers,
                        const char *place, clv_text *out)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    size_t room = c ? libdeflate_zlib_compress_bound(c, numbers->length) : 0, size = 0;
    uint8_t *packed = c ? malloc(room) : NULL;
    if (packed)
        size =
            libdeflate_zlib_compress(c, numbers->length ? (const void *)numbers->data : packed, numbers->length, packed, room);
    out->failed = out->failed || numbers->failed || !size;
    clv_text_add(out,
                 "   <DataArray Intent=\"NIFTI_INTENT_%s\" DataType=\"NIFTI_TYPE_%s\" "
                 "ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"2\" Dim0=\"%zu\" Dim1=\"3\" ",
                 intent, type, rows);
    clv_text_add(out,
                 "Encoding=\"GZipBase64Binary\" Endian=\"LittleEndian\" ExternalFileName=\"\" "
                 "ExternalFileOffset=\"\">\n");
    clv_text_put_bytes(out, place, strlen(place));
    clv_text_add(out, "      <Data>");
    clv_text_put_base64(out, packed, size);
    clv_text_add(out, "</Data>\n   </DataArray>\n");
    free(packed);
    if (c)
        libdeflate_free_compressor(c);
}

static void write_surface(const clvox_surface *surface, clv_text *out)
{
    /* Points in a space of that name need no matrix: programs that apply one
     * and programs that do not agree on where they are. So do those that go by
     * FreeSurfer's remarks: about that volume, tkRAS is RAS. */
#define MD(name, value) "<MD><Name>VolGeom" name "</Name><Value>" value "</Value></MD>"
#define ROW(axis, r, a, s) "         " MD(axis "_R", r) MD(axis "_A", a) MD(axis "_S", s) "\n"
    static const char scanner[] =
        "      <MetaData>\n"
        "         " MD("Width", "256") MD("Height", "256") MD("Depth", "256") "\n"
        "         " MD("Xsize", "1") MD("Ysize", "1") MD("Zsize", "1") "\n"
        ROW("X", "-1", "0", "0") ROW("Y", "0", "0", "-1") ROW("Z", "0", "1", "0") ROW("C", "0", "0", "0")
        "      </MetaData>\n"
        "      <CoordinateSystemTransformMatrix>\n"
        "         <DataSpace>NIFTI_XFORM_SCANNER_ANAT</DataSpace>\n"
        "         <TransformedSpace>NIFTI_XFORM_SCANNER_ANAT</TransformedSpace>\n"
        "         <MatrixData>1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1</MatrixData>\n"
        "      </CoordinateSystemTransformMatrix>\n";
    clv_text points = {0}, corners = {0};
    for (size_t i = 0; i < 3 * surface->vertices; i++)
        clv_text_put_float(&points, surface->points[i], false);
    for (size_t i = 0; i < 3 * surface->triangles; i++)
        clv_text_put_int(&corners, surface->corners[i], false);
    clv_text_add(out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<!DOCTYPE GIFTI SYSTEM \"http://www.nitrc.org/frs/download.php/115/gifti.dtd\">\n"
                 "<GIFTI Version=\"1.0\" NumberOfDataArrays=\"2\">\n   <MetaData>\n"
                 "      <MD><Name>Program</Name><Value>clvox %s</Value></MD>\n"
                 "   </MetaData>\n   <LabelTable/>\n",
                 clvox_version());
    write_array("POINTSET", "FLOAT32", surface->vertices, &points, scanner, out);
    write_array("TRIANGLE", "INT32", surface->triangles, &corners, "      <MetaData/>\n", out);
    clv_text_add(out, "</GIFTI>\n");
    free(points.data);
    free(corners.data);
}

static bool is_gifti(const uint8_t *data, size_t size)
{
    size_t looked = size < 4096 ? size : 4096;
    return looked > 6 && (data[0] == '<' || !memcmp(data, "\xef\xbb\xbf<", 4)) &&
           memmem(data, looked, "<GIFTI", 6);
}

const clv_surface_format clv_gifti_format = {
    .ends = {".surf.gii", ".gii"},
    .framed = true,
    .is = is_gifti,
    .read = read_surface,
    .write = write_surface,
};
