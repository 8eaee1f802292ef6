/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of volumes. A format is one file, which understands and makes
 * headers and ends with its row, and its name in the list of meson.build; file.c moves the values. */
#ifndef CLV_IO_VOLUME_FORMAT_H
#define CLV_IO_VOLUME_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clvox/volume.h"
#include "io/ending.h"
#include "io/packed/source.h"

/* Meaning of a file's three frames. */
typedef enum clv_field {
    CLV_FIELD_NONE = 0,      /* no field in the first place */
    CLV_FIELD_ITK,           /* displacement, LPS mm */
    CLV_FIELD_DISPLACEMENT,  /* displacement, RAS mm */
    CLV_FIELD_DEFORMATION,   /* position to look at, RAS mm */
    CLV_FIELD_NIFTYREG,      /* a NiftyReg control grid or velocity */
    CLV_FIELD_FSL,           /* FNIRT's field, FSL's mm */
    CLV_FIELD_FSL_QUADRATIC, /* coefficients of splines that make such a field */
    CLV_FIELD_FSL_CUBIC,
    CLV_FIELD_FSL_COSINES
} clv_field;

/* How the frames of a file hold a tensor. */
typedef enum clv_matrix_form {
    CLV_MATRIX_UPPER = 0, /* as in memory: its upper triangle, row by row */
    CLV_MATRIX_LOWER,     /* NIfTI's symmetric matrix: its lower triangle, row by row */
    CLV_MATRIX_FULL,      /* all nine, row by row */
    CLV_MATRIX_MASKED_UPPER, /* behind a frame that says where there is one */
    CLV_MATRIX_MASKED_FULL
} clv_matrix_form;

/* An axis of the values as they follow one another in the file: so many, and
 * how far in memory (in values) one is from the next. */
typedef struct clv_axis {
    size_t count;
    int64_t step;
} clv_axis;

enum { CLV_MAX_AXES = 8 };

/* mm: places of a voxel that are farther apart count as different. */
#define CLV_FORMS_APART 0.1

typedef struct clv_volume_header {
    clvox_grid grid;
    int frames;
    clvox_kind kind;
    clv_field field;
    clv_matrix_form matrix; /* of a tensor */
    clvox_type type;     /* of the values in the file */
    bool bits;           /* eight values a byte, the first in the highest bit; type is UINT8 */
    bool swapped;        /* the other byte order */
    double slope, inter; /* 1 and 0 where the file says nothing */
    double frame_seconds;
    clvox_flow flow;     /* of a momentum */
    bool unplaced;       /* neither sform nor qform: where the axes lead is assumed */
    double forms_gap;    /* mm: how far apart sform and qform place a voxel, at most; 0 where one is missing */
    double pixdim[3];    /* mm: the edges of a voxel that NIfTI's pixdim says, as they are in the file */
    bool odd_pixdim;     /* they contradict the grid, are 0 or no numbers */
    char *data;          /* the file of the values, owned; NULL: that of the header */
    uint64_t start;      /* bytes of that file to pass over; what follows may be compressed */
    clv_packing packing; /* of what follows */
    uint64_t offset;     /* of the values in what follows, decompressed */
    bool at_end;         /* the values end where the file ends; offset says nothing */
    clv_axis axis[CLV_MAX_AXES]; /* fastest first */
    int axes;            /* 0: x, y, z, frames, as in memory */
    size_t first;        /* the place in memory of the file's first value */
    double frame[3][3];  /* of a tensor: its axes to RAS; zeros: they are RAS */
    struct {             /* of FSL's coefficients */
        double knots[3]; /* distance, in voxels of the field */
        double edge[3];  /* of those voxels, mm */
        double size[3];  /* of the field */
        double affine[4][4]; /* FLIRT's matrix from the moving image to the field */
    } fsl;
} clv_volume_header;

typedef struct clv_volume_format {
    const char *const ends[5]; /* of names; what ends in gz is compressed as a whole */
    size_t head;               /* bytes of a file that its header may take */
    bool (*is)(const uint8_t *head, size_t size); /* NULL: the name alone tells */
    /* A pair of files: finds that of the header, and that of the values (NULL: it is the same). Both are the
     * caller's to free. NULL: there are no pairs, or the header names the other file. */
    int (*find)(const char *path, char **header, char **data);
    /* Understands the first bytes of a file. out comes zeroed, with slope 1. A header that is inconsistent or
     * holds what clvox does not read is a CLVOX_ERROR_FORMAT. */
    int (*parse)(const clv_source *source, const uint8_t *bytes, size_t size, clv_volume_header *out);
    /* Makes the header of a file for volume; *bytes is the caller's to free. Sets type, swapped, field,
     * matrix and axes of out as the values are to be stored; they follow the header at once. intent: NIfTI's
     * number, 0: that of the kind. NULL: is only read. */
    int (*make)(const char *path, const clvox_volume *volume, int intent, clv_volume_header *out,
                uint8_t **bytes, size_t *size);
} clv_volume_format;

/* A format of volumes that clvox does not read, told by content or else by name. */
typedef struct clv_foreign_format clv_foreign_format;
const clv_foreign_format *clv_foreign(const char *path, const uint8_t *head, size_t size);
/* A failure that names the format and what converts it. */
int clv_foreign_refuse(const char *path, const clv_foreign_format *format);

/* ---- for parsers -------------------------------------------------------- */

/* Checks sizes, x, y, z and those whose product is the frames, and sets grid.size and frames: from these on
 * no product overflows. Refuses more voxels than kernels count, so that nothing is unpacked for them. Their
 * number comes from 1 on, type is set. */
int clv_header_sizes(const char *path, const int64_t *size, int count, clv_volume_header *out);

/* "its header is damaged: " and what, as clvox_fail does it. */
int clv_header_damaged(const char *path, const char *format, ...) CLVOX_PRINTF(2, 3);

/* The name of a file that the header at path says its values are in: a new string. Refuses absolute names
 * and those with "..", with which a header from elsewhere would show other files of whoever reads it. */
int clv_beside(const char *path, const char *name, char **out);

#endif
