/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes from and to NIfTI files. */
#include "io/volume_file.h"

#include <nifti1.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/parallel.h"
#include "base/status.h"
#include "io/bgzf.h"
#include "io/convert.h"
#include "io/source.h"

/* ---- reading ------------------------------------------------------------ */

clv_field clv_field_of(const clv_nifti *h)
{
    bool three = h->dim[4] == 1 && h->dim[5] == 3 && h->frames == 3;
    bool vectors = h->intent == NIFTI_INTENT_VECTOR || h->intent == NIFTI_INTENT_DISPVECT;
    if (!three)
        return CLV_FIELD_NONE;
    if (!strcmp(h->intent_name, "NREG_TRANS"))
        return h->intent_p1 == 0   ? CLV_FIELD_DEFORMATION
               : h->intent_p1 == 1 ? CLV_FIELD_DISPLACEMENT
                                   : CLV_FIELD_OTHER;
    if (!strcmp(h->intent_name, "Mapping") && vectors)
        return CLV_FIELD_DEFORMATION;
    return vectors || h->intent == NIFTI_INTENT_NONE ? CLV_FIELD_ITK : CLV_FIELD_NONE;
}

static clvox_kind kind_of(const clv_nifti *h, clv_field field)
{
    if (field == CLV_FIELD_OTHER)
        return CLVOX_KIND_VECTOR;
    if (field != CLV_FIELD_NONE)
        return CLVOX_KIND_DISPLACEMENT;
    if (h->intent == NIFTI_INTENT_LABEL)
        return CLVOX_KIND_LABEL;
    if (h->intent == NIFTI_INTENT_SYMMATRIX && h->frames == 6)
        return CLVOX_KIND_TENSOR;
    if (h->intent == NIFTI_INTENT_VECTOR && h->frames == 3)
        return CLVOX_KIND_VECTOR;
    return CLVOX_KIND_SCALAR;
}

typedef struct filling {
    const clv_nifti *header;
    float *data;
    size_t flipped; /* values that change sign, from the first: x and y in LPS */
} filling;

static int fill(void *user, const uint8_t *bytes, size_t size, size_t at)
{
    const filling *f = user;
    const clv_nifti *h = f->header;
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
    clv_parallel((size_t)volume->grid.size[2], subtract_positions, volume);
}

/* The file's lower triangle, row by row, and our upper one differ in the third
 * and fourth component. Its own inverse. */
static void swap_tensor_frames(clvox_volume *v)
{
    size_t voxels = clvox_grid_voxels(&v->grid);
    float *a = v->data + 2 * voxels, *b = v->data + 3 * voxels;
    for (size_t i = 0; i < voxels; i++) {
        float keep = a[i];
        a[i] = b[i];
        b[i] = keep;
    }
}

double clv_volume_forms_gap(const char *path)
{
    int status;
    char *header_path = NULL, *data_path = NULL;
    clv_source source = {.fd = -1};
    clv_nifti header = {.forms_gap = 0};
    uint8_t bytes[CLV_NIFTI_BYTES];
    size_t got;
    CLV_TRY(clv_nifti_files(path, &header_path, &data_path));
    CLV_TRY(clv_source_open(header_path, &source));
    CLV_TRY(clv_source_head(&source, bytes, sizeof bytes, &got));
    CLV_TRY(clv_nifti_parse(header_path, bytes, got, &header));
end:
    clv_source_close(&source);
    free(header_path);
    free(data_path);
    return status < 0 ? 0 : header.forms_gap;
}

int clv_volume_read(const char *path, clv_nifti *header, clvox_volume **out)
{
    int status;
    char *header_path = NULL, *data_path = NULL;
    clv_source source = {.fd = -1}, image = {.fd = -1};
    const clv_source *data = &source;
    clvox_volume *volume = NULL;
    uint8_t bytes[CLV_NIFTI_BYTES];
    size_t got;
    *out = NULL;
    CLV_TRY(clv_nifti_files(path, &header_path, &data_path));
    CLV_TRY(clv_source_open(header_path, &source));
    CLV_TRY(clv_source_head(&source, bytes, sizeof bytes, &got));
    CLV_TRY(clv_nifti_parse(header_path, bytes, got, header));
    if (header->separate && !data_path) {
        status =
            clv_fail(CLVOX_ERROR_FORMAT,
                     "%s: is only a header, whose data are elsewhere; name the .hdr or .img file", path);
        goto end;
    }
    if (header->separate) {
        CLV_TRY(clv_source_open(data_path, &image));
        data = &image;
    }
    size_t values = clvox_grid_voxels(&header->grid) * (size_t)header->frames;
    CLV_TRY(clv_source_check(data, header->offset, values * clv_type_bytes(header->type)));
    volume = calloc(1, sizeof *volume);
    /* Not touched before there are data to fill it with: a header that
     * promises too much costs nothing. */
    if (volume)
        volume->data = malloc(values * sizeof *volume->data);
    if (!volume || !volume->data) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "%s: out of memory: its values take %.1f GB", path,
                          (double)values * 4e-9);
        goto end;
    }
    clv_field field = clv_field_of(header);
    volume->grid = header->grid;
    volume->frames = header->frames;
    volume->kind = kind_of(header, field);
    /* Scaled integers would not survive being written as integers again. */
    volume->type = header->slope == 1 && header->inter == 0 ? header->type : CLVOX_TYPE_FLOAT32;
    volume->frame_seconds = header->frame_seconds;
    filling f = {.header = header, .data = volume->data};
    if (field == CLV_FIELD_ITK)
        f.flipped = 2 * clvox_grid_voxels(&volume->grid);
    CLV_TRY(clv_source_read(data, header->offset, values * clv_type_bytes(header->type), fill, &f));
    if (field == CLV_FIELD_DEFORMATION)
        clv_positions_to_displacements(volume);
    if (volume->kind == CLVOX_KIND_TENSOR)
        swap_tensor_frames(volume);
    *out = volume;
    volume = NULL;
end:
    clvox_volume_destroy(&volume);
    clv_source_close(&source);
    clv_source_close(&image);
    free(header_path);
    free(data_path);
    return status;
}

int clvox_volume_read(const char *path, clvox_volume **out)
{
    clv_nifti header;
    return clv_volume_read(path, &header, out);
}

/* ---- writing ------------------------------------------------------------ */

typedef struct emptying {
    const clvox_volume *volume;
    const uint8_t *rgb; /* instead of a volume */
    size_t voxels;
    clv_file_writer *writer;
    uint64_t offset;
    size_t total;
} emptying;

/* The values of one stretch of the file, of one frame. */
static void pour(const clvox_volume *v, size_t voxels, size_t at, size_t count, uint8_t *to)
{
    static const int tensor[6] = {0, 1, 3, 2, 4, 5};
    size_t frame = at / voxels, in_frame = at % voxels, element = clv_type_bytes(v->type);
    if (v->kind == CLVOX_KIND_TENSOR)
        frame = (size_t)tensor[frame];
    const float *from = v->data + frame * voxels + in_frame;
    if (v->kind != CLVOX_KIND_DISPLACEMENT || frame == 2) {
        clv_to_file(v->type, from, count, to);
        return;
    }
    float flipped[1024];
    for (size_t done = 0; done < count; done += 1024) {
        size_t some = count - done < 1024 ? count - done : 1024;
        for (size_t i = 0; i < some; i++)
            flipped[i] = 0.0f - from[done + i];
        clv_to_file(v->type, flipped, some, to + done * element);
    }
}

static int produce(void *user, size_t at, size_t size, uint8_t *to)
{
    const emptying *e = user;
    if (e->rgb) {
        memcpy(to, e->rgb + at, size);
        return CLVOX_OK;
    }
    size_t element = clv_type_bytes(e->volume->type), first = at / element, count = size / element;
    while (count) {
        size_t left = e->voxels - first % e->voxels, some = left < count ? left : count;
        pour(e->volume, e->voxels, first, some, to);
        first += some;
        count -= some;
        to += some * element;
    }
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
        return clv_fail(CLVOX_ERROR_MEMORY, "out of memory while writing");
    int status = produce(e, at, size, bytes);
    if (status >= 0)
        status = clv_file_write_at(e->writer, bytes, size, e->offset + at);
    free(bytes);
    return status;
}

/* How the frames of a kind are laid out in the file, and what it calls them. */
static int shape(const clvox_volume *v, const char *path, clv_nifti *h)
{
    int wanted = v->kind == CLVOX_KIND_TENSOR                                           ? 6
                 : v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_VECTOR ? 3
                                                                                       : v->frames;
    if (v->frames != wanted || v->frames < 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: a volume of this kind has %d frames, this one has %d",
                        path, wanted, v->frames);
    memset(h, 0, sizeof *h);
    for (int i = 1; i < 8; i++)
        h->dim[i] = i < 4 ? v->grid.size[i - 1] : 1;
    h->dim[0] = v->frames > 1 ? 4 : 3;
    h->dim[4] = v->frames;
    if (v->kind == CLVOX_KIND_DISPLACEMENT || v->kind == CLVOX_KIND_TENSOR) {
        h->dim[0] = 5;
        h->dim[4] = 1;
        h->dim[5] = v->frames;
    }
    h->intent = v->kind == CLVOX_KIND_LABEL    ? NIFTI_INTENT_LABEL
                : v->kind == CLVOX_KIND_SCALAR ? NIFTI_INTENT_NONE
                : v->kind == CLVOX_KIND_TENSOR ? NIFTI_INTENT_SYMMATRIX
                                               : NIFTI_INTENT_VECTOR;
    if (v->kind == CLVOX_KIND_TENSOR)
        h->intent_p1 = 3;
    h->grid = v->grid;
    h->type = v->type;
    h->frame_seconds = v->frame_seconds;
    return CLVOX_OK;
}

/* Whether a file of that name is compressed; a name that says neither is refused. */
static int packed_by_name(const char *path, bool *packed)
{
    size_t length = strlen(path);
    *packed = length > 7 && !strcasecmp(path + length - 7, ".nii.gz");
    /* Devices, such as /dev/null, have names of their own. */
    if (!*packed && !(length > 4 && !strcasecmp(path + length - 4, ".nii")) && strncmp(path, "/dev/", 5))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: volumes are written as .nii or .nii.gz, give such a name",
                        path);
    return CLVOX_OK;
}

/* Writes header and e->total bytes; level: of the compression. */
static int write_file(const clv_nifti *header, emptying *e, bool packed, int level, const char *path)
{
    int status;
    uint8_t bytes[CLV_NIFTI_BYTES];
    size_t size;
    clv_nifti_make(header, bytes, &size);
    e->offset = size;
    CLV_TRY(clv_file_create(path, &e->writer));
    if (packed) {
        CLV_TRY(clv_bgzf_write(e->writer, path, level, bytes, size, e->total, produce, e));
    } else {
        CLV_TRY(clv_file_write_at(e->writer, bytes, size, 0));
        CLV_TRY(clv_parallel((e->total + PIECE - 1) / PIECE, write_piece, e));
    }
    status = clv_file_commit(&e->writer);
end:
    clv_file_discard(&e->writer);
    return status;
}

int clvox_volume_write(const clvox_volume *volume, const char *path)
{
    return clv_volume_write(volume, 0, path);
}

int clv_volume_write(const clvox_volume *volume, int intent, const char *path)
{
    int status;
    clv_nifti header;
    bool packed;
    emptying e = {.volume = volume};
    CLV_TRY(packed_by_name(path, &packed));
    if (!volume->data || !clv_matrix_regular(volume->grid.to_ras))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: the volume has no values or no place in space", path);
    CLV_TRY(shape(volume, path, &header));
    if (intent)
        header.intent = intent;
    e.voxels = clvox_grid_voxels(&volume->grid);
    e.total = e.voxels * (size_t)volume->frames * clv_type_bytes(volume->type);
    /* Floats are noise in their low bits: higher levels gain nothing. Label
     * maps become a third smaller for a tenth more time. */
    bool floats = volume->type == CLVOX_TYPE_FLOAT32 || volume->type == CLVOX_TYPE_FLOAT64;
    status = write_file(&header, &e, packed, floats ? 1 : 6, path);
end:
    return status;
}

int clv_volume_write_colours(const clvox_grid *grid, const uint8_t *rgb, const char *path)
{
    int status;
    clv_nifti header = {.grid = *grid, .colours = true, .dim = {3, 1, 1, 1, 1, 1, 1, 1}};
    bool packed;
    emptying e = {.rgb = rgb, .total = 3 * clvox_grid_voxels(grid)};
    CLV_TRY(packed_by_name(path, &packed));
    for (int i = 0; i < 3; i++)
        header.dim[i + 1] = grid->size[i];
    status = write_file(&header, &e, packed, 6, path);
end:
    return status;
}
