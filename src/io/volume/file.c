/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes from and to files: which format a file has, and how values move. */
#include "io/volume/file.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/matrix.h"
#include "base/seen.h"
#include "base/spares.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "io/packed/bgzf.h"
#include "io/volume/convert.h"
#include "io/formats.h"
#include "io/volume/labels.h"

/* ---- formats ------------------------------------------------------------ */

/* CLV_VOLUME_FORMATS(row) is the list of meson.build. */
#define DECLARE(name) extern const clv_volume_format clv_##name##_format;
CLV_VOLUME_FORMATS(DECLARE)
#define ROW(name) &clv_##name##_format,
static const clv_volume_format *const formats[] = {CLV_VOLUME_FORMATS(ROW)};
enum { FORMATS = sizeof formats / sizeof *formats, LOOK = 4096 };
/* Kernels count the values of three components in 32 bits. */
enum { MOST_VOXELS = INT_MAX / 3 };
#define WRITTEN ".nii, .nii.gz, .mgz, .mgh or .mha"

/* The format that a name asks for; a ".gz" behind it is overlooked. */
static const clv_volume_format *by_name(const char *path)
{
    for (int f = 0; f < FORMATS; f++)
        if (clv_ending(path, formats[f]->ends, 5))
            return formats[f];
    return NULL;
}

const char *clv_volume_ending(const char *path)
{
    const clv_volume_format *f = by_name(path);
    return f ? clv_ending(path, f->ends, 5) : NULL;
}

const char *clvox_volume_ending(const char *path)
{
    CLV_GIVEN_OR(NULL, path);
    return clv_volume_ending(path);
}

static const clv_volume_format *by_content(const uint8_t *head, size_t size)
{
    for (int f = 0; f < FORMATS; f++)
        if (formats[f]->is && formats[f]->is(head, size))
            return formats[f];
    return NULL;
}

int clvox_volume_is_file(const char *path)
{
    CLV_GIVEN_OR(0, path);
    clv_source source = {.fd = -1};
    uint8_t head[LOOK];
    size_t got = 0;
    bool is = by_name(path) != NULL;
    if (!is && clv_source_open(path, &source) >= 0 && clv_source_head(&source, head, sizeof head, &got) >= 0)
        is = by_content(head, got) || clv_foreign(path, head, got);
    clv_source_close(&source);
    return is;
}

int clv_header_damaged(const char *path, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return clvox_fail(CLVOX_ERROR_FORMAT, "%s: its header is damaged: %s", path, what);
}

int clv_header_sizes(const char *path, const int64_t *size, int count, clv_volume_header *out)
{
    int64_t bytes = (int64_t)clv_type_bytes(out->type), frames = 1;
    for (int i = 0; i < count; i++) {
        if (size[i] < 1)
            return clv_header_damaged(path, "dimension %d is %lld", i + 1, (long long)size[i]);
        if (i >= 3 && __builtin_mul_overflow(frames, size[i], &frames))
            frames = INT64_MAX;
        if (size[i] > INT_MAX || frames > INT_MAX || __builtin_mul_overflow(bytes, size[i], &bytes) ||
            bytes > INT64_MAX / 16)
            return clv_header_damaged(path, "the dimensions exceed any memory");
    }
    out->frames = (int)frames;
    for (int i = 0; i < 3; i++)
        out->grid.size[i] = i < count ? (int)size[i] : 1;
    const int *n = out->grid.size;
    if ((int64_t)n[0] * n[1] > MOST_VOXELS / n[2])
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: has %d x %d x %d voxels, and clvox takes up to %d (2^31 / 3); crop or resample it, "
            "or get a fresh copy if its header is damaged",
            path, n[0], n[1], n[2], MOST_VOXELS);
    return CLVOX_OK;
}

int clv_beside(const char *path, const char *name, char **out)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    bool within = *name && *name != '/';
    for (const char *part = name; within && part; part = strchr(part, '/')) {
        part += *part == '/';
        within = strncmp(part, "..", 2) != 0 || (part[2] && part[2] != '/');
    }
    *out = NULL;
    if (!within)
        return clvox_fail(CLVOX_ERROR_FORMAT,
                          "%s: says that its values are in \"%.200s\"; a header may only name a file in its "
                          "own folder or below: move the values there and change the name",
                          path, name);
    if (asprintf(out, "%.*s%s", folder, path, name) < 0) {
        *out = NULL;
        return clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
    }
    return CLVOX_OK;
}

/* ---- the places of values ----------------------------------------------- */

/* Goes through the values in the file's order and knows the place of each in memory. */
typedef struct walk {
    const clv_volume_header *header;
    size_t index[CLV_MAX_AXES], place;
} walk;

static walk walk_from(const clv_volume_header *h, size_t at)
{
    walk w = {.header = h, .place = h->first};
    for (int a = 0; a < h->axes; a++) {
        w.index[a] = at % h->axis[a].count;
        at /= h->axis[a].count;
        w.place += w.index[a] * (size_t)h->axis[a].step; /* backwards too: modulo 2^64 */
    }
    return w;
}

static inline void walk_on(walk *w)
{
    const clv_volume_header *h = w->header;
    for (int a = 0; a < h->axes; a++) {
        w->place += (size_t)h->axis[a].step;
        if (++w->index[a] < h->axis[a].count)
            return;
        w->place -= h->axis[a].count * (size_t)h->axis[a].step;
        w->index[a] = 0;
    }
}

/* ---- reading ------------------------------------------------------------ */

enum { RUN = 1024 }; /* values that are converted at once where they do not stay in order */

typedef struct filling {
    const clv_volume_header *header;
    float *data;
    size_t values;
    size_t flipped; /* values in memory that change sign, from the first: x and y in LPS */
} filling;

/* Values in another order than memory's. */
static void fill_places(const filling *f, const uint8_t *bytes, size_t size, size_t at)
{
    const clv_volume_header *h = f->header;
    size_t element = clv_type_bytes(h->type), first = h->bits ? at * 8 : at / element;
    size_t count = h->bits ? size * 8 : size / element;
    if (count > f->values - first)
        count = f->values - first;
    walk w = walk_from(h, first);
    float values[RUN];
    uint8_t unpacked[RUN];
    for (size_t done = 0; done < count; done += RUN) {
        size_t some = count - done < RUN ? count - done : RUN;
        for (size_t i = 0; h->bits && i < some; i++)
            unpacked[i] = bytes[(done + i) / 8] >> (7 - (done + i) % 8) & 1;
        clv_from_file(h->type, h->swapped, h->slope, h->inter, h->bits ? unpacked : bytes + done * element,
                      some, values);
        for (size_t i = 0; i < some; i++, walk_on(&w))
            f->data[w.place] = w.place < f->flipped ? 0.0f - values[i] : values[i];
    }
}

static int fill(void *user, const uint8_t *bytes, size_t size, size_t at)
{
    const filling *f = user;
    const clv_volume_header *h = f->header;
    if (h->axes) {
        fill_places(f, bytes, size, at);
        return CLVOX_OK;
    }
    size_t element = clv_type_bytes(h->type), first = at / element, count = size / element;
    size_t flip = first >= f->flipped ? 0 : f->flipped - first < count ? f->flipped - first : count;
    if (flip)
        clv_from_file(h->type, h->swapped, -h->slope, 0.0 - h->inter, bytes, flip, f->data + first);
    clv_from_file(h->type, h->swapped, h->slope, h->inter, bytes + flip * element, count - flip,
                  f->data + first + flip);
    return CLVOX_OK;
}

static int subtract_positions(void *user, size_t k, int worker)
{
    (void)worker;
    clvox_volume *v = user;
    const int *n = v->grid.size;
    size_t voxels = clvox_grid_voxels(&v->grid);
    for (int j = 0; j < n[1]; j++)
        for (int i = 0; i < n[0]; i++) {
            size_t at = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * k);
            double x[3] = {i, j, (double)k};
            clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), x, x);
            for (int c = 0; c < 3; c++)
                v->data[at + (size_t)c * voxels] = (float)(v->data[at + (size_t)c * voxels] - x[c]);
        }
    return CLVOX_OK;
}

void clv_positions_to_displacements(clvox_volume *volume)
{
    clvox_parallel((size_t)volume->grid.size[2], subtract_positions, volume);
}

/* The tensor's six frames out of what the file has. */
static void take_matrix(clvox_volume *v, clv_matrix_form form)
{
    static const int full[6][2] = {{0, 0}, {1, 3}, {2, 6}, {4, 4}, {5, 7}, {8, 8}};
    static const int lower[6][2] = {{0, 0}, {1, 1}, {3, 3}, {2, 2}, {4, 4}, {5, 5}};
    size_t voxels = clvox_grid_voxels(&v->grid);
    size_t from = form == CLV_MATRIX_MASKED_UPPER || form == CLV_MATRIX_MASKED_FULL;
    bool all = form == CLV_MATRIX_FULL || form == CLV_MATRIX_MASKED_FULL;
    for (size_t i = 0; i < voxels; i++) {
        float six[6];
        for (int c = 0; c < 6; c++) {
            size_t a = from + (size_t)(all ? full[c][0] : form == CLV_MATRIX_LOWER ? lower[c][0] : c);
            size_t b = all ? from + (size_t)full[c][1] : a;
            six[c] = a == b ? v->data[a * voxels + i] : (v->data[a * voxels + i] + v->data[b * voxels + i]) / 2;
        }
        for (size_t c = 0; c < 6; c++)
            v->data[c * voxels + i] = six[c];
    }
    if (v->frames == 6)
        return;
    v->frames = 6;
    float *shorter = clv_array_moved(v->data, voxels, 6 * sizeof *shorter);
    v->data = shorter ? shorter : v->data;
}

/* T = R T R' of every voxel, R from the tensor's axes to RAS. */
static void turn_tensors(clvox_volume *v, const double r[3][3])
{
    static const int entry[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    size_t voxels = clvox_grid_voxels(&v->grid);
    for (size_t i = 0; i < voxels; i++) {
        double in[6], out;
        for (size_t c = 0; c < 6; c++)
            in[c] = (double)v->data[c * voxels + i];
        for (int a = 0; a < 3; a++)
            for (int b = a; b < 3; b++) {
                out = 0;
                for (int k = 0; k < 3; k++)
                    for (int l = 0; l < 3; l++)
                        out += r[a][k] * in[entry[k][l]] * r[b][l];
                v->data[(size_t)entry[a][b] * voxels + i] = (float)out;
            }
    }
}

/* A file being opened: its header, and where its values are. */
typedef struct opened {
    clv_source source, image;
    const clv_source *data;
    char *header_path;
} opened;

static void close_file(opened *o, clv_volume_header *h)
{
    clv_source_close(&o->source);
    clv_source_close(&o->image);
    free(o->header_path);
    free(h->data);
    h->data = NULL;
}

/* Reads the header of a file. Ends with close_file, after a failure too. */
static int open_header(const char *path, opened *o, clv_volume_header *h)
{
    int status;
    uint8_t look[LOOK], *bytes = look;
    size_t got;
    const clv_volume_format *named = by_name(path), *format;
    memset(h, 0, sizeof *h);
    *o = (opened){.source = {.fd = -1}, .image = {.fd = -1}};
    h->slope = 1;
    if (named && named->find)
        CLV_TRY(named->find(path, &o->header_path, &h->data));
    CLV_TRY(clv_source_open(o->header_path ? o->header_path : path, &o->source));
    CLV_TRY(clv_source_head(&o->source, look, sizeof look, &got));
    format = by_content(look, got);
    const clv_foreign_format *foreign = format ? NULL : clv_foreign(path, look, got);
    if (foreign) {
        status = clv_foreign_refuse(path, foreign);
        goto end;
    }
    format = format ? format : named ? named : formats[0];
    if (format->head > LOOK && got == LOOK) {
        bytes = malloc(format->head);
        if (!bytes) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
            goto end;
        }
        CLV_TRY(clv_source_head(&o->source, bytes, format->head, &got));
    }
    CLV_TRY(format->parse(&o->source, bytes, got, h));
    clvox_input_facts facts = {.has_header = true,
                               .unplaced = h->unplaced,
                               .forms_gap = h->forms_gap,
                               .odd_pixdim = h->odd_pixdim};
    memcpy(facts.pixdim, h->pixdim, sizeof facts.pixdim);
    clvox_grid_spacing(&h->grid, facts.spacing);
    clv_seen_add(path, &facts);
end:
    if (bytes != look)
        free(bytes);
    return status;
}

/* Finds the values: their file, opened, and their number of bytes. */
static int open_values(const char *path, opened *o, clv_volume_header *h, size_t values, size_t *total)
{
    int status = CLVOX_OK;
    *total = h->bits ? (values + 7) / 8 : values * clv_type_bytes(h->type);
    o->data = &o->source;
    if (h->data || h->start || h->packing != CLV_PACKED_BY_CONTENT) {
        CLV_TRY(clv_source_open_at(h->data ? h->data : o->source.path, h->start, h->packing, &o->image));
        o->image.type = h->type;
        o->data = &o->image;
    }
    if (h->at_end && o->data->gzip)
        return clvox_fail(
            CLVOX_ERROR_FORMAT,
            "%s: says that its values end with the file, which cannot be found in a compressed one", path);
    if (h->at_end)
        h->offset = o->data->size >= *total ? o->data->size - *total : 0;
    CLV_TRY(clv_source_check(o->data, h->offset, *total));
end:
    return status;
}

static int pass(void *user, const uint8_t *bytes, size_t size, size_t at)
{
    (void)user;
    (void)bytes;
    (void)size;
    (void)at;
    return CLVOX_OK;
}

int clvox_input_look(const char *path, clvox_input_facts *out)
{
    CLV_GIVEN(path, out);
    int status = CLVOX_OK;
    opened o;
    clv_volume_header h;
    clv_source whole = {.fd = -1};
    clv_seen_find(path, out);
    if (out->has_crc)
        return CLVOX_OK;
    if (!out->has_header) { /* opening leaves it, if the file is a volume */
        open_header(path, &o, &h);
        close_file(&o, &h);
    }
    CLV_TRY(clv_source_open_at(path, 0, CLV_PACKED_NOT, &whole));
    CLV_TRY(clv_source_read(&whole, 0, (size_t)whole.size, pass, NULL));
end:
    clv_source_close(&whole);
    clv_seen_find(path, out);
    return status;
}

int clv_volume_grid(const char *path, clvox_grid *grid)
{
    opened o;
    clv_volume_header header;
    int status = open_header(path, &o, &header);
    *grid = header.grid;
    close_file(&o, &header);
    return status;
}

int clv_volume_read(const char *path, clv_volume_header *header, clvox_volume **out)
{
    int status;
    opened o;
    clvox_volume *volume = NULL;
    size_t total;
    *out = NULL;
    CLV_TRY(open_header(path, &o, header));
    size_t values = clvox_grid_voxels(&header->grid) * (size_t)header->frames;
    CLV_TRY(open_values(path, &o, header, values, &total));
    volume = calloc(1, sizeof *volume);
    /* Not touched before there are data to fill it with: a header that
     * promises too much costs nothing. */
    if (volume)
        volume->data = clv_large(clv_times(values, sizeof *volume->data));
    if (!volume || !volume->data) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory: its values take %.1f GB", path,
                            (double)values * 4e-9);
        goto end;
    }
    volume->grid = header->grid;
    volume->frames = header->frames;
    volume->kind = header->kind;
    /* Scaled integers would not survive being written as integers again. */
    volume->type = header->slope == 1 && header->inter == 0 ? header->type : CLVOX_TYPE_FLOAT32;
    volume->stored = header->type;
    volume->frame_seconds = header->frame_seconds;
    volume->flow = header->flow;
    filling f = {.header = header, .data = volume->data, .values = values};
    if (header->field == CLV_FIELD_ITK)
        f.flipped = 2 * clvox_grid_voxels(&volume->grid);
    CLV_TRY(clv_source_read(o.data, header->offset, total, fill, &f));
    if (header->field == CLV_FIELD_DEFORMATION)
        clv_positions_to_displacements(volume);
    if (volume->kind == CLVOX_KIND_TENSOR && header->matrix != CLV_MATRIX_UPPER)
        take_matrix(volume, header->matrix);
    if (volume->kind == CLVOX_KIND_TENSOR && clv_matrix3_determinant(CLV_MATRIX3(header->frame)) != 0)
        turn_tensors(volume, CLV_MATRIX3(header->frame));
    *out = volume;
    volume = NULL;
end:
    clvox_volume_destroy(&volume);
    close_file(&o, header);
    return status;
}

static bool is_whole(const clv_volume_header *h)
{
    return h->type != CLVOX_TYPE_FLOAT32 && h->type != CLVOX_TYPE_FLOAT64 && h->slope == 1 && h->inter == 0;
}

int clvox_volume_read(const char *path, clvox_volume **out)
{
    CLV_GIVEN(path, out);
    clv_volume_header header;
    int status = clv_volume_read(path, &header, out);
    if (status >= 0)
        (*out)->hint = clv_labels_hint(path, is_whole(&header), *out);
    return status;
}

typedef struct exact_filling {
    const clv_volume_header *header;
    int64_t *data;
} exact_filling;

static int fill_exact(void *user, const uint8_t *bytes, size_t size, size_t at)
{
    const exact_filling *f = user;
    const clv_volume_header *h = f->header;
    size_t element = clv_type_bytes(h->type), first = at / element, count = size / element;
    int64_t values[RUN];
    walk w = walk_from(h, first);
    for (size_t done = 0; done < count; done += RUN) {
        size_t some = count - done < RUN ? count - done : RUN;
        clv_whole_from_file(h->type, h->swapped, bytes + done * element, some, values);
        for (size_t i = 0; i < some; i++)
            if (h->axes) {
                f->data[w.place] = values[i];
                walk_on(&w);
            } else {
                f->data[first + done + i] = values[i];
            }
    }
    return CLVOX_OK;
}

int clvox_labels_read(const char *path, clvox_volume **out)
{
    CLV_GIVEN(path, out);
    opened o;
    clv_volume_header header;
    size_t total;
    float largest = 0;
    int64_t *exact = NULL;
    int status = clvox_volume_read(path, out);
    if (status < 0)
        return status;
    clvox_volume *v = *out;
    size_t values = clvox_grid_voxels(&v->grid) * (size_t)v->frames;
    bool names = v->kind == CLVOX_KIND_LABEL || v->hint != CLVOX_LABELS_NONE;
    for (size_t i = 0; names && i < values; i++)
        largest = fmaxf(largest, fabsf(v->data[i]));
    if (!names || largest < 0x1p24f || v->type == CLVOX_TYPE_FLOAT32)
        return CLVOX_OK;
    CLV_TRY(open_header(path, &o, &header));
    CLV_TRY(open_values(path, &o, &header, values, &total));
    exact = clv_array(values, sizeof *exact);
    if (!exact) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory for its labels", path);
        goto end;
    }
    exact_filling f = {.header = &header, .data = exact};
    CLV_TRY(clv_source_read(o.data, header.offset, total, fill_exact, &f));
    status = clv_labels_rank(v, exact);
end:
    close_file(&o, &header);
    free(exact);
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

/* ---- writing ------------------------------------------------------------ */

typedef struct emptying {
    const clvox_volume *volume;
    const clv_volume_header *header;
    size_t voxels;
    clv_file_writer *writer;
    uint64_t offset;
    size_t total;
} emptying;

/* Names in place of what stands for them. */
static void put_names(const emptying *e, const float *from, size_t count, uint8_t *to)
{
    const clvox_type type = e->header->type;
    int64_t names[RUN];
    for (size_t done = 0; done < count; done += RUN) {
        size_t some = count - done < RUN ? count - done : RUN;
        for (size_t i = 0; i < some; i++)
            names[i] = clv_label_name(e->volume, from[done + i]);
        clv_whole_to_file(type, names, some, to + done * clv_type_bytes(type));
    }
}

/* Values that the file holds by a slope; what is not a number becomes 0. */
static void put_scaled(const emptying *e, const float *from, size_t count, uint8_t *to)
{
    const clv_volume_header *h = e->header;
    float scaled[RUN];
    for (size_t done = 0; done < count; done += RUN) {
        size_t some = count - done < RUN ? count - done : RUN;
        for (size_t i = 0; i < some; i++) {
            double v = isnan(from[done + i]) ? 0 : (double)from[done + i];
            scaled[i] = (float)((v - h->inter) / h->slope);
        }
        clv_to_file(h->type, scaled, some, to + done * clv_type_bytes(h->type));
    }
}

/* The values of one stretch of the file, of one frame. */
static void pour(const emptying *e, size_t at, size_t count, uint8_t *to)
{
    static const int lower[6] = {0, 1, 3, 2, 4, 5};
    const clv_volume_header *h = e->header;
    size_t frame = at / e->voxels, in_frame = at % e->voxels, element = clv_type_bytes(h->type);
    if (h->matrix == CLV_MATRIX_LOWER)
        frame = (size_t)lower[frame];
    const float *from = e->volume->data + frame * e->voxels + in_frame;
    if (e->volume->names) {
        put_names(e, from, count, to);
        return;
    }
    if (e->volume->slope > 0) {
        put_scaled(e, from, count, to);
        return;
    }
    if (h->field != CLV_FIELD_ITK || frame == 2) {
        clv_to_file(h->type, from, count, to);
        return;
    }
    float flipped[RUN];
    for (size_t done = 0; done < count; done += RUN) {
        size_t some = count - done < RUN ? count - done : RUN;
        for (size_t i = 0; i < some; i++)
            flipped[i] = 0.0f - from[done + i];
        clv_to_file(h->type, flipped, some, to + done * element);
    }
}

/* Values in another order than memory's. */
static void pour_places(const emptying *e, size_t at, size_t count, uint8_t *to)
{
    const clv_volume_header *h = e->header;
    const size_t flipped = h->field == CLV_FIELD_ITK ? 2 * e->voxels : 0;
    walk w = walk_from(h, at);
    float values[RUN];
    for (size_t done = 0; done < count; done += RUN) {
        size_t some = count - done < RUN ? count - done : RUN;
        for (size_t i = 0; i < some; i++, walk_on(&w))
            values[i] = w.place < flipped ? 0.0f - e->volume->data[w.place] : e->volume->data[w.place];
        uint8_t *at_once = to + done * clv_type_bytes(h->type);
        if (e->volume->names)
            put_names(e, values, some, at_once);
        else
            clv_to_file(h->type, values, some, at_once);
    }
}

static int produce(void *user, size_t at, size_t size, uint8_t *to)
{
    const emptying *e = user;
    size_t element = clv_type_bytes(e->header->type), first = at / element, count = size / element;
    uint8_t *begin = to;
    if (e->header->axes) {
        pour_places(e, first, count, to);
        count = 0;
    }
    while (count) {
        size_t left = e->voxels - first % e->voxels, some = left < count ? left : count;
        pour(e, first, some, to);
        first += some;
        count -= some;
        to += some * element;
    }
    if (e->header->swapped)
        clv_swap_elements(begin, element, size / element);
    return CLVOX_OK;
}

enum { PIECE = 1 << 20 };

static int write_piece(void *user, size_t index, int worker)
{
    (void)worker;
    emptying *e = user;
    size_t at = index * PIECE, size = e->total - at < PIECE ? e->total - at : PIECE;
    uint8_t *bytes = malloc(size);
    if (!bytes)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of memory while writing");
    int status = produce(e, at, size, bytes);
    if (status >= 0)
        status = clv_file_write_at(e->writer, bytes, size, e->offset + at);
    free(bytes);
    return status;
}

/* Format in which a file of that name is written; a name that does not tell is refused. */
static int format_to_write(const char *path, const clv_volume_format **out)
{
    *out = by_name(path);
    /* Devices, such as /dev/null, have names of their own. */
    if (!strncmp(path, "/dev/", 5))
        *out = formats[0];
    if (!*out || !(*out)->make || clv_ends_in(path, ".hdr") || clv_ends_in(path, ".img") ||
        clv_ends_in(path, ".hdr.gz") || clv_ends_in(path, ".img.gz"))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: volumes are written as " WRITTEN ", give such a name",
                          path);
    return CLVOX_OK;
}

/* How many frames a volume of a kind has, where it is not free. */
static int check_frames(const clvox_volume *v, const char *path)
{
    int wanted = v->kind == CLVOX_KIND_TENSOR                                           ? 6
                 : v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_VECTOR ? 3
                 : v->kind == CLVOX_KIND_COLOUR && v->frames != 4                       ? 3
                                                                                        : v->frames;
    if (v->frames != wanted || v->frames < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: a volume of this kind has %d frames, this one has %d",
                          path, wanted, v->frames);
    return CLVOX_OK;
}

int clvox_volume_check_name(const char *path)
{
    CLV_GIVEN(path);
    const clv_volume_format *format;
    return format_to_write(path, &format);
}

int clvox_volume_write(const clvox_volume *volume, const char *path)
{
    CLV_GIVEN(volume, path);
    return clv_volume_write(volume, 0, path);
}

int clv_volume_write(const clvox_volume *volume, int intent, const char *path)
{
    int status;
    clv_volume_header header = {.frames = 0};
    const clv_volume_format *format;
    uint8_t *bytes = NULL;
    size_t size = 0;
    emptying e = {.volume = volume, .header = &header};
    CLV_TRY(format_to_write(path, &format));
    if (!volume->data || !clv_matrix_regular(volume->grid.to_ras))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: the volume has no values or no place in space", path);
    CLV_TRY(check_frames(volume, path));
    CLV_TRY(format->make(path, volume, intent, &header, &bytes, &size));
    if (volume->slope > 0 && !(header.slope > 0)) {
        status = clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "%s: values that are not whole or not in the type need a scale, which this format does "
            "not have; take NIfTI or a type of floats",
            path);
        goto end;
    }
    e.offset = size;
    e.voxels = clvox_grid_voxels(&volume->grid);
    e.total = e.voxels * (size_t)volume->frames * clv_type_bytes(header.type);
    CLV_TRY(clv_file_create(path, &e.writer));
    if (clv_ends_in(path, "gz")) {
        /* Floats are noise in their low bits: higher levels gain nothing. Label
         * maps become a third smaller for a tenth more time. */
        bool floats = header.type == CLVOX_TYPE_FLOAT32 || header.type == CLVOX_TYPE_FLOAT64;
        const clv_bgzf_content content = {bytes, size, e.total, produce, &e};
        CLV_TRY(clv_bgzf_write(e.writer, path, floats ? 1 : 6, &content));
    } else {
        CLV_TRY(clv_file_write_at(e.writer, bytes, size, 0));
        CLV_TRY(clvox_parallel((e.total + PIECE - 1) / PIECE, write_piece, &e));
    }
    status = clv_file_commit(&e.writer);
end:
    clv_file_discard(&e.writer);
    free(bytes);
    return status;
}

int clv_volume_write_colours(const clvox_grid *grid, const uint8_t *rgb, const char *path)
{
    int status;
    clvox_volume *v = NULL;
    size_t voxels = clvox_grid_voxels(grid);
    CLV_TRY(clvox_volume_create(grid, 3, CLVOX_KIND_COLOUR, &v));
    v->type = CLVOX_TYPE_UINT8;
    for (size_t i = 0; i < 3 * voxels; i++)
        v->data[i % 3 * voxels + i / 3] = rgb[i];
    status = clvox_volume_write(v, path);
end:
    clvox_volume_destroy(&v);
    return status;
}

int clvox_grid_read(const char *path, clvox_grid *out)
{
    CLV_GIVEN(path, out);
    return clv_volume_grid(path, out);
}
