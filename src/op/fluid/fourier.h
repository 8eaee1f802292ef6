/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_FOURIER_H
#define CLV_OP_FLUID_FOURIER_H

#include "op/fluid/fluid_operator.h"
#include "runtime/fourier/fourier.h"

/* Providers of transforms: the kernels of cl/fluid/fourier.cl, or a library. Ours take any size: lengths are split
 * into 8, 4, 2, 3, 5 and 7, and what prime factors are left are summed by the definition, so that a length with a
 * large prime factor takes several times as long as one without (181 x 217 x 181 five times on an H200). A line has
 * to fit in local memory: up to 1024 voxels where there are 32 KiB of it. Nobody pads. */
typedef struct clv_fft_provider {
    const char *name;
    int devices;                   /* CLV_ON_...: where it is the default; 0: nowhere */
    const clv_fourier_library *by; /* NULL: our own kernels */
} clv_fft_provider;
extern const clv_fft_provider clv_fft_providers[]; /* ends with a NULL name */

/* Their name for clv_force_variant: (ctx, CLV_FFT, "clfft", -1). */
#define CLV_FFT "fourier"

/* Transforms of vector fields of one size. */
typedef struct clv_fft {
    int size[3];
    const clv_fft_provider *provider;
    void *plan;           /* the library's */
    clv_buffer *planar;   /* a field as a library wants it; NULL: as it is */
    clv_buffer *roots;    /* the roots of one of each length, then waves of each axis */
    clv_buffer *radices;  /* of each axis, each list ended by 0 */
} clv_fft;

/* The next length from n on that is even and a product of 2, 3, 5 and 7, as transforms are fast of. */
int clv_fft_length(int n);

/* *out is to be destroyed on success. By the provider that is forced, else by one
 * that takes this size and is right on this device. CLVOX_ERROR_DEVICE, with the
 * reason, where the forced one is not, or none. */
int clv_fft_create(clvox_context *ctx, const int size[3], clv_fft *out);
void clv_fft_destroy(clv_fft *fft);

/* Bytes of a spectrum: x / 2 + 1 complex numbers (float2) for each row of each
 * component, planar; number k belongs to exp(-2 pi i k x / n) along each axis. */
size_t clv_fft_bytes(const int size[3]);

/* Three components at once. Back: of what forward made, divided by the number of
 * voxels, so that the two undo one another; the spectrum is used up. */
int clv_fft_forward(clvox_context *ctx, const clv_fft *fft, const clv_buffer *field, clv_buffer *spectrum);
int clv_fft_back(clvox_context *ctx, const clv_fft *fft, clv_buffer *spectrum, clv_buffer *field);

/* L v = f for a periodic L of the same size, any beta, by the eigenvalues of the
 * discrete operator: exact but for rounding. v may be f. spectrum: room. */
int clv_fft_solve(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, const clv_buffer *f,
                  clv_buffer *v, clv_buffer *spectrum);

/* L L v = f, in as many transforms. */
int clv_fft_solve_twice(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, const clv_buffer *f,
                        clv_buffer *v, clv_buffer *spectrum);

/* From a field to one that is planar on every device, or to a field from that. */
int clv_fft_reorder(clvox_context *ctx, const clv_buffer *from, clv_buffer *to, int voxels, bool to_field);

/* The field on another grid that begins at the same voxel: cut, or 0 where there was nothing. */
int clv_fft_fit(clvox_context *ctx, const clv_buffer *from, const int from_size[3], clv_buffer *to,
                const int to_size[3]);

extern const clv_entry clv_entry_fft_columns;
extern const clv_entry clv_entry_fft_coupled;
extern const clv_entry clv_entry_fft_fit;
extern const clv_entry clv_entry_fft_reorder;
extern const clv_entry clv_entry_fft_rows;
extern const clv_entry clv_entry_fft_rows_back;
extern const clv_entry clv_entry_fft_solve;

#endif
