/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IMAGE_OTSU_H
#define CLV_IMAGE_OTSU_H

/* Otsu's (1979) threshold of a histogram: the first bin of the upper class of
 * the two whose means lie apart the most, weighted by their counts. 0 where
 * there are no two. */
int clv_otsu(const double *counts, int bins);

#endif
