/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms by libraries that drive OpenCL themselves, as src/op/fluid/fourier.c
 * sees them: each is a file here (fourier_*.c) and a row of its table there. */
#ifndef CLV_RUNTIME_FOURIER_FOURIER_H
#define CLV_RUNTIME_FOURIER_FOURIER_H

#include "runtime/queue/buffer.h"

/* Three components at once, each real and x fastest, to x / 2 + 1 complex numbers
 * (float2) for each row, and back, divided by the number of voxels. Nothing waits. */
typedef struct clv_fourier_library {
    const char *name;
    bool planar; /* takes fields planar on every device; else as they are there (clv_fields_packed) */
    /* CLVOX_ERROR_DEVICE, with a sentence that says why, where such a volume is not for it. */
    int (*takes)(const int size[3]);
    /* On success *plan is to be destroyed, before its context. */
    int (*plan)(clvox_context *ctx, const int size[3], void **plan);
    int (*forward)(clvox_context *ctx, void *plan, const clv_buffer *field, clv_buffer *spectrum);
    int (*back)(clvox_context *ctx, void *plan, clv_buffer *spectrum, clv_buffer *field); /* uses the spectrum up */
    void (*destroy)(void *plan);
} clv_fourier_library;

/* The name of the one that the options of the context ask for; NULL: any. */
const char *clv_fourier_wish(const clvox_context *ctx);

/* CLVOX_ERROR_DEVICE, with the sentence, where the library is wrong on this device:
 * drivers' compilers have broken such code. Once for each device and
 * driver a volume of some hundred voxels is compared with the definition; the
 * disk cache keeps that it was right. */
int clv_fourier_trust(clvox_context *ctx, const clv_fourier_library *library);

#endif
