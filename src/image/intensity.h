/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IMAGE_INTENSITY_H
#define CLV_IMAGE_INTENSITY_H

/* Two quantiles, "0.005,0.995" (ANTs' brackets around are taken too):
 * CLVOX_ERROR_ARGUMENT and what is possible, or CLVOX_OK. */
int clv_quantiles_read(const char *text, double *low, double *high);

#endif
