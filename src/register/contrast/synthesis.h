/* SPDX-License-Identifier: Apache-2.0 */
/* Images of different contrasts given one another's: each value becomes the mean of the other image
 * where this one has about that value nearby (Guimond et al. 2001 alternate likewise between
 * intensities and displacements, over the whole image). Nearby, contrasts are nearly functions of one
 * another, even where tissues share values elsewhere. */
#ifndef CLV_REGISTER_CONTRAST_SYNTHESIS_H
#define CLV_REGISTER_CONTRAST_SYNTHESIS_H

#include "register/problem.h"

/* All mm are those of the fixed image: where the linear part scales by less than 1/2 or more than 2, the
 * moving image's header is in other units. */

/* Synthesizes `image`, given `other` on the same grid, NaN where that does not count: out(x) is
 * the mean of other, weighed by Gaussians of the distance from x, of sigma mm (INFINITY: everywhere
 * alike), and of the difference of the values. Where few voxels are near, the mean over the whole
 * image takes their place. What is not finite stays as it is. false, and nothing written, where either
 * image has one value alone. Out of memory is an error, status. */
int clv_contrast_image(const clvox_grid *grid, const float *image, const float *other, double sigma,
                       float *out, bool *made);

/* Whether both images cover a litre or more, in the fixed image's mm (below): crops have too few tissues to
 * learn more than means from. */
bool clv_contrast_heads(const clv_registration *run);

/* Gives a run of one channel, uploaded and with a linear part, a second one, which together compare
 * either image with the other one synthesized under that linear part. sigma: as above. Again: from the
 * images as they were. *made false: all is as it was, as either image is constant or the device has no
 * room. */
int clv_contrast_synthesize(clv_registration *run, double sigma, bool *made);

/* The channel of such a run that has the fixed image as it is; the other one has the moving image so. */
int clv_contrast_own(const clv_registration *run);

/* Synthesizes the images of such a run again, as its channels have them, under the displacements from a
 * middle that lies on `at`: u to the moving image, u_fixed (NULL: 0) to the fixed one. around: by what lies
 * around a place, too (around.h), which tells tissues of one value apart. Without memory for it they stay as
 * they are. */
int clv_contrast_again(clv_registration *run, double sigma, bool around, const clvox_grid *at,
                     const clv_buffer *u, const clv_buffer *u_fixed);

/* How far two images on a grid become brighter in the same places: the mean, over windows of 5 voxels
 * that have content in both, of the squared correlation with its sign. NaN where there are few. */
double clv_contrast_agreement(const clvox_grid *grid, const float *a, const float *b);

/* Whether a run may find out that its contrasts differ: it has one channel, a linear part, and LNCC by default. */
bool clv_contrast_looks(const clv_registration *run);

/* Whether the contrasts of a run of one channel differ, by what it gains to synthesize its images at a few
 * mm. Where too few windows have content, *differ stays. */
int clv_contrast_differ(clv_registration *run, double sigma, bool *differ);

/* Two images that lie on one another, at 4 mm, among what is not fluid deep in the head: by how many deviations a cell
 * stands out of the 20 mm around it, correlated over the cells that are bright in one image, and over those that are
 * dark; each the lesser of both images. Where white matter is the brighter of two tissues in one image alone, as in T1
 * and FLAIR, whose other edges agree, *bright is low and less than *dark. Bias fields and deformations that have not
 * come far lower both. NaN where there is little. */
int clv_contrast_tissues(const clvox_grid *grid, const float *fixed, const float *moving, double *bright,
                         double *dark);

/* Images of other contrasts become images of one, by which the run is solved from then on, under its linear
 * part, which is found anew; the run's options then say MIND. Where contrasts do not differ, options
 * do not ask for it or the device has no room, the run stays as it is (step.c). */
int clv_contrast_enter(clv_registration *run);

/* Whether the deformation ended early, as contrasts turned out to differ: it begins again after
 * clv_contrast_enter. */
static inline bool clv_contrast_begins_again(const clv_registration *run)
{
    return run->contrasts.tissues && !run->contrasts.differ;
}

/* Bytes of the second channel, on the device. */
size_t clv_contrast_bytes(const clvox_grid *fixed, const clvox_grid *moving);

/* Takes the second channel back; the images are as they were. Of a run without one: nothing. */
int clv_contrast_undo(clv_registration *run);
void clv_contrast_release(clv_registration *run);

#endif
