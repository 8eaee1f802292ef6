/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_EPI_BLIP_H
#define REF_EPI_BLIP_H

/* The operations of src/op/epi/blip.h in double precision. */
typedef struct ref_blips {
    const double *images, *maps;
    int count, axis;
    int size[3];
    double spacing[3];
    double lambda;
} ref_blips;

/* Images modulated by their Jacobians at voxel i of field f; NaN beside the image. */
double ref_blip_image(const ref_blips *b, int k, const double *f, int i);
/* terms: five volumes; energy: one. */
void ref_blip_terms(const ref_blips *b, const double *f, double *terms, double *energy);
/* The bending, and half its derivative. */
double ref_blip_bend(const ref_blips *b, const double *v);
void ref_blip_bending(const ref_blips *b, const double *v, double *out);
void ref_blip_operator(const ref_blips *b, const double *terms, const double *v, double *out);
/* The gradient of the energy, and the diagonal of the operator by its definition. */
void ref_blip_gradient(const ref_blips *b, const double *terms, const double *f, double *out);
void ref_blip_diagonal(const ref_blips *b, const double *terms, double *out);
/* Half the sum of the squared differences and lambda / 2 times the bending. */
double ref_blip_energy(const ref_blips *b, const double *f);

#endif
