/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_TV_H
#define REF_IMAGE_TV_H

/* Total variation of channels together, as op/image/tv.h says. */
typedef struct ref_tv {
    int size[3], channels;
    double weight[3]; /* of the differences */
    double radius;
    const float *data; /* channels * n */
    const float *mask; /* inside where above 0; NULL: everywhere */
} ref_tv;

/* One iteration: u, ahead (channels * n) and dual (3 * channels * n, voxel by voxel, axis by axis)
 * become the next. */
void ref_tv_step(const ref_tv *tv, double tau, double sigma, double theta, double *u, double *ahead,
                 double *dual);

/* sum |grad u|, 1/2 sum (u - f)^2, and the energy less that of the dual, from their definitions. */
void ref_tv_energy(const ref_tv *tv, const double *u, const double *dual, double *variation, double *fit,
                   double *gap);

#endif
