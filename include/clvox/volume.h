/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_VOLUME_H
#define CLVOX_VOLUME_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A sampling grid: voxel (i, j, k) sits at to_ras * (i, j, k, 1) in RAS+
 * millimetres. The matrix may be oblique, left-handed or sheared, but never
 * singular; its last row is 0 0 0 1.
 *
 * Codes say in words of NIfTI which space that is: 1 the scanner's, 2 another image's, 3 Talairach's, 4
 * MNI's. Reading sets them, a copied grid keeps them, and clvox_volume_write writes them: -1 for a form that
 * the file lacks, both 0 for a grid of no NIfTI file, which is written as the scanner's. */
typedef struct clvox_grid {
    int size[3];
    double to_ras[4][4];
    int sform_code, qform_code;
} clvox_grid;

/* Meaning of a volume's values. */
typedef enum clvox_kind {
    CLVOX_KIND_SCALAR = 0,
    CLVOX_KIND_LABEL,        /* integers that are names: never interpolated linearly */
    CLVOX_KIND_DISPLACEMENT, /* 3 frames, RAS millimetres */
    CLVOX_KIND_VECTOR,       /* 3 frames, any other vector */
    CLVOX_KIND_TENSOR,       /* 6 frames, upper triangle row by row, RAS */
    CLVOX_KIND_COLOUR        /* 3 frames, red, green, blue, or 4 with opacity: 0 to 255 */
} clvox_kind;

/* Element types on disk. Values are float32 in memory, whatever the file. */
typedef enum clvox_type {
    CLVOX_TYPE_FLOAT32 = 0,
    CLVOX_TYPE_FLOAT64,
    CLVOX_TYPE_INT8,
    CLVOX_TYPE_UINT8,
    CLVOX_TYPE_INT16,
    CLVOX_TYPE_UINT16,
    CLVOX_TYPE_INT32,
    CLVOX_TYPE_UINT32,
    CLVOX_TYPE_INT64,
    CLVOX_TYPE_UINT64
} clvox_type;

/* Why a scalar volume looks like a label map although its file does not say so: its values are whole numbers,
 * mostly equal to their neighbours', and one of these holds. */
typedef enum clvox_label_hint {
    CLVOX_LABELS_NONE = 0, /* it does not */
    CLVOX_LABELS_MASK,     /* integers on disk, one value besides 0 */
    CLVOX_LABELS_VALUES,   /* integers on disk, few values */
    CLVOX_LABELS_TABLE,    /* all values are in FreeSurfer's table */
    CLVOX_LABELS_NAME      /* the file name contains seg, label, parc or atlas */
} clvox_label_hint;

/* Operator and steps of a momentum field: the operator L = -alpha Laplacian - beta grad div + gamma, in mm, and the
 * time steps of the registration that found it. gamma 0: the volume is no momentum, or its file lacks the operator. */
typedef struct clvox_flow {
    double alpha, beta, gamma;
    int timesteps;
} clvox_flow;

/* Keeps many volumes in memory and on disk: clvox/store.h. */
typedef struct clvox_store clvox_store;

/* A volume in host memory. data holds frames * size[2] * size[1] * size[0]
 * float32 values, x fastest, frames (time points or components) slowest. */
typedef struct clvox_volume {
    clvox_grid grid;
    int frames;
    clvox_kind kind;
    clvox_type type;         /* to write: the type on disk, or float32 if the file has a scale */
    clvox_type stored;       /* the type on disk, before any scaling */
    /* A type of integers can be written with NIfTI's scl_slope and scl_inter: a value v as the nearest integer to
     * (v - inter) / slope. slope 0: as it is. Reading leaves them 0. */
    double slope, inter;
    double frame_seconds;    /* time between frames (TR); 0: not a time series, or unknown */
    float *data;
    clvox_label_hint hint;   /* why a scalar volume looks like a label map */
    /* Usually NULL. Labels that float32 cannot hold: a value v of data then stands for names[v]. */
    int64_t *names;
    int name_count;
    clvox_flow flow;         /* of a momentum; stored in NIfTI's descrip, lost in other formats */
    clvox_store *store;      /* the store that holds it (clvox/store.h): do not change data; usually NULL */
    int on_disk;             /* 1: the store keeps it on disk */
    int borrowed;            /* 1: data belong to the caller (clvox_volume_wrap) */
} clvox_volume;

/* The type in which a resampled or filtered image is written. */
typedef enum clvox_output {
    CLVOX_OUTPUT_AUTO = 0, /* the source's type, float32 if its file has a scale */
    CLVOX_OUTPUT_INPUT,    /* the source's type on disk */
    CLVOX_OUTPUT_FLOAT,
    CLVOX_OUTPUT_DOUBLE,
    CLVOX_OUTPUT_SHORT,
    CLVOX_OUTPUT_USHORT,
    CLVOX_OUTPUT_UCHAR,
    CLVOX_OUTPUT_INT
} clvox_output;

/* Sets type, slope and inter of a volume made from source and from the value outside. In integer types values
 * are rounded to the nearest and clipped. Where source or outside has fractions or values beyond the type, a
 * slope (with negative values in an unsigned type, also an inter) maps their range to that of the type; 0
 * stays 0. Labels, colours, vectors and tensors stay as they are. */
CLVOX_API int clvox_volume_set_output(clvox_volume *volume, const clvox_volume *source, double outside,
                                    clvox_output output);

/* Number of voxels of a grid. */
CLVOX_API size_t clvox_grid_voxels(const clvox_grid *grid);

/* Edge lengths of a voxel in millimetres: the column norms of to_ras. */
CLVOX_API void clvox_grid_spacing(const clvox_grid *grid, double spacing[3]);

/* 1 when both grids have the same size and no voxel corner of one lies more
 * than a hundredth of a voxel from that of the other, else 0. */
CLVOX_API int clvox_grid_equal(const clvox_grid *a, const clvox_grid *b);

/* Orientation of a grid's axes: letters, the directions that they point to ("LPS"), 0 at the end; oblique,
 * the largest angle in degrees between an axis and the direction of its letter; skew, the largest deviation
 * in degrees of two axes from a right angle. The last two may be NULL. */
CLVOX_API void clvox_grid_axes(const clvox_grid *grid, char letters[4], double *oblique, double *skew);

/* The same voxels at the same places, stored so that the axes run as near to R, A and S as they can: one
 * answer for all 48 ways of storing an image. out may be grid. */
CLVOX_API void clvox_grid_canonical(const clvox_grid *grid, clvox_grid *out);

/* A zero-filled volume. On success *out is the caller's, to be released with
 * clvox_volume_destroy; on failure *out is NULL. */
CLVOX_API int clvox_volume_create(const clvox_grid *grid, int frames, clvox_kind kind,
                                  clvox_volume **out);

/* A volume whose values are data, in memory of the caller's (of a NumPy array, of an ITK image): float32, x
 * fastest, frames slowest. Nothing is copied; clvox_volume_destroy leaves data alone, which must outlive the
 * volume. Functions change the values of no volume that they take as const. CLVOX_ERROR_ARGUMENT for NULL and
 * as clvox_volume_create. */
CLVOX_API int clvox_volume_wrap(float *data, const clvox_grid *grid, int frames, clvox_kind kind,
                                clvox_volume **out);

/* One volume of a series, counted from 0, as an image of its own. CLVOX_ERROR_ARGUMENT where there is no
 * such frame, and for vectors, tensors and colours, whose frames are components. Ownership as
 * clvox_volume_create. */
CLVOX_API int clvox_volume_frame(const clvox_volume *series, int at, clvox_volume **out);

/* Releases the volume and sets *volume to NULL. NULL is legal. */
CLVOX_API void clvox_volume_destroy(clvox_volume **volume);

/* Host memory of volumes and of other large intermediates that are released stays with this process for the
 * next ones, up to so many bytes: making many pairs or templates is faster for it. 0, as from the start,
 * keeps none and gives back what was kept. */
CLVOX_API void clvox_spares(size_t bytes);

/* The memory in bytes that this process may take: the machine's, or less where its control groups
 * (containers, jobs of a cluster) or `ulimit -v` say so; 0 where it cannot be found out. */
CLVOX_API size_t clvox_memory(void);

/* The ending by which a name is that of a volume, with .gz: where it begins in path. NULL: none. */
CLVOX_API const char *clvox_volume_ending(const char *path);

/* Whether clvox_volume_write has a format for this name: CLVOX_OK, or CLVOX_ERROR_ARGUMENT and a sentence. */
CLVOX_API int clvox_volume_check_name(const char *path);

/* 1 when the name or the content of a file says that it is a volume, else 0. */
CLVOX_API int clvox_volume_is_file(const char *path);

/* Reads a volume, told by its content, else by its name; any integer or float
 * type, either byte order, compressed or not:
 *   NIfTI-1, NIfTI-2 (.nii, .nii.gz) and Analyze (.hdr/.img, either may be .gz), scl_slope and
 *     scl_inter applied, place from the sform when its code is positive, else the qform, else
 *     pixdim; displacements are converted from their file's frame (ITK: LPS) to RAS;
 *   FreeSurfer (.mgz, .mgh), with its own c_ras, or where it says none FreeSurfer's coronal default;
 *   NRRD (.nrrd, .nhdr; raw and gzip), in whatever space (none: LPS, as ITK takes it), three
 *     components before the axes of space being a displacement in LPS, as ITK writes it;
 *   MetaImage (.mha, .mhd; raw, zlib and text), in LPS, three components that are floats being a
 *     displacement;
 *   MRtrix (.mif, .mif.gz, .mih), in the order of its axes, however strides store them.
 * RGB and RGBA are CLVOX_KIND_COLOUR. Errors: CLVOX_ERROR_FILE, _FORMAT, _MEMORY.
 * Ownership as clvox_volume_create. */
CLVOX_API int clvox_volume_read(const char *path, clvox_volume **out);

/* The grid of a volume's file, without its values. Errors are clvox_volume_read's. */
CLVOX_API int clvox_grid_read(const char *path, clvox_grid *out);

/* As clvox_volume_read, but keeps labels above 2^24, which float32 cannot hold exactly: data then holds
 * indices into names. clvox_apply, clvox_volume_write, comparisons of labels and surfaces of labels respect
 * it; 0 stays 0. */
CLVOX_API int clvox_labels_read(const char *path, clvox_volume **out);

/* The reason of a hint in words, "" for none. Static. */
CLVOX_API const char *clvox_label_reason(clvox_label_hint hint);

/* Writes NIfTI-1 (NIfTI-2 where a dimension exceeds 32767) with volume->type,
 * or FreeSurfer's MGH where path ends in .mgh or .mgz (which has no tensors, warps and colours, keeps types
 * that it lacks in the next that it has, and refuses a slope), or MetaImage where it ends in .mha (which has
 * no tensors and refuses a slope); compressed when path ends in gz. Writes under a temporary name beside path
 * and renames at the end, so that path is whole or untouched. */
CLVOX_API int clvox_volume_write(const clvox_volume *volume, const char *path);

#ifdef __cplusplus
}
#endif

#endif
