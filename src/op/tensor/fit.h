/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_TENSOR_FIT_H
#define CLV_OP_TENSOR_FIT_H

#include "runtime/runtime.h"

/* Fits ln S_k = ln S0 - b_k g_k^T D g_k in every voxel by itself. S0 and the six
 * components of D are the unknowns, volumes without weighting are measurements
 * like the others. */

#define CLV_TENSOR_PARAMETERS 7 /* ln S0, then Dxx Dxy Dxz Dyy Dyz Dzz */
#define CLV_TENSOR_ROW 24       /* floats of a volume's row of the design: the factors of the unknowns, */
#define CLV_TENSOR_WORTH 7      /* how much a signal counts before anything is known, falling with b, */
#define CLV_TENSOR_QUARTIC 8    /* and from here on b^2 times the products of four coordinates */
/* Floats a voxel of state, whatever the method. */
enum { CLV_TENSOR_STATE = 2 * CLV_TENSOR_PARAMETERS + 3 };

typedef enum clv_tensor_method {
    CLV_TENSOR_OLS,  /* least squares on ln S */
    CLV_TENSOR_WLS,  /* weighted by the squared signal, measured at first, then as that fit predicts it */
    CLV_TENSOR_IWLS, /* weighted again and again */
    CLV_TENSOR_NLLS  /* least squares on S: Gauss-Newton, a step back where S fits worse */
} clv_tensor_method;

/* Flags of a voxel, in an int32: bits, and from CLV_TENSOR_REJECTED on the number of volumes that were rejected. */
#define CLV_TENSOR_FITTED 1
#define CLV_TENSOR_LEFT_OUT 2       /* a signal at or below 0, or not finite, which has no weight */
#define CLV_TENSOR_NO_SIGNAL 4      /* not fitted: nothing above 0 without weighting, or too little besides */
#define CLV_TENSOR_NOT_FINITE 8     /* the same of a voxel with NaN or infinite values */
#define CLV_TENSOR_MADE_POSITIVE 16 /* an eigenvalue below 1e-5 mm^2/s was raised to it */
#define CLV_TENSOR_SINGULAR 32      /* what was not rejected does not tell the noise of the tensor */
#define CLV_TENSOR_FAR_S0 64        /* S0 lies off the mean of the lowest b by 25% and 3 standard errors */
#define CLV_TENSOR_REJECTED 256

/* The equations that all voxels share, on the device. */
typedef struct clv_tensor_design {
    int volumes;
    int lowest_count, shells_count;
    clv_buffer *rows;   /* CLV_TENSOR_ROW floats a volume */
    clv_buffer *lowest; /* int32: volumes of the lowest b */
    clv_buffer *shells; /* int32: the volumes of shells that are not rejected whole, the last of each as ~k */
} clv_tensor_design;

/* b in s/mm^2, directions of unit length (any, 0 0 0 too, where b is 0). The
 * tensor comes out in the frame of the directions. Refuses with one sentence
 * what does not determine a tensor: too few volumes, too few different
 * directions, directions on a cone, a single b. */
int clv_tensor_design_create(clvox_context *ctx, const double *b, const double (*direction)[3], int volumes,
                             clv_tensor_design **out);
void clv_tensor_design_destroy(clv_tensor_design **design); /* NULL is legal */

typedef struct clv_tensor_fit_args {
    const clv_tensor_design *design;
    clv_tensor_method method;
    int steps;    /* of iwls and nlls; 0: as many as converge (4, 10) */
    bool robust;  /* rejects volumes more than 3 noise levels off, by the voxel's median residual, but no
                     shell as a whole */
    int voxels;   /* design->volumes * voxels < 2^31 */
    const clv_buffer *dwi;  /* design->volumes frames */
    const clv_buffer *mask; /* above 0: fitted; NULL: everywhere */
    clv_buffer *state;      /* scratch, clv_tensor_fit_state floats a voxel */
    clv_buffer *kind;       /* int32 */
    clv_buffer *tensor;     /* 6 frames, mm^2/s; 0 where not fitted, as all below */
    clv_buffer *s0;
    clv_buffer *sigma;      /* standard deviation of the tensor's noise, mm^2/s: root mean square over
                               the six components, off-diagonal ones times sqrt 2 */
    clv_buffer *noise;      /* standard deviation of the signal, from the residuals with volumes - 7
                               degrees of freedom; 0 with 7 volumes */
} clv_tensor_fit_args;

/* Queues the fit; does not wait. */
int clv_tensor_fit(clvox_context *ctx, const clv_tensor_fit_args *args);

/* Floats a voxel of state: 8 to CLV_TENSOR_STATE. */
int clv_tensor_fit_state(clv_tensor_method method, bool robust);

extern const clv_entry clv_entry_tensor_fit_finish;
extern const clv_entry clv_entry_tensor_fit_scale;
extern const clv_entry clv_entry_tensor_fit_start;
extern const clv_entry clv_entry_tensor_fit_step;

#endif
