/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds of a registration but for its linear part (linear/thresholds.h): what each of them separates,
 * the images that it was chosen on, and when: the adults of linear/thresholds.h, altered ones with other
 * contrasts, noise and bias fields, and hippocampi, ten pairs of crops at 1 mm. Metrics have their own in
 * their rows (metric). Samples, bins, passes and iterations are effort: they stand where they are spent. */
#ifndef CLV_REGISTER_THRESHOLDS_H
#define CLV_REGISTER_THRESHOLDS_H

/* ---- crop.c: content of the fixed images (adults, 2026-11-26) ---- */

/* Values above CONTENT of the range may be content, and those above OF_MEAN of their mean are. A slice with
 * less than FULL of what the fullest one has is empty, as noise and single bright voxels leave it. */
static const double CROP_CONTENT = .02, CROP_OF_MEAN = .25, CROP_FULL = .01;
/* More than this share of a cell of an image is above the threshold where it holds content; one voxel of a
 * mask is (2026-11-27). */
static const double CROP_OF_CELL = .125;
/* Room on either side, in mm and at least in voxels (2026-11-21). */
static const double CROP_ROOM_MM = 12, CROP_ROOM_VOXELS = 6;

/* ---- compositive.c: steps ---- */

/* Determinants of what moves one image, and of the whole map, are kept above these (2026-11-22). */
static const float SMALLEST_HALF = .1f, SMALLEST_WHOLE = .04f;
/* Length of the last step of a level in shares of its first (2026-11-22). */
static const float LAST_STEP = .1f;
/* Elastic smoothing removes the same fraction of u in every iteration, however
 * small the forces are. With a sigma of STRONG voxels or more it would undo steps
 * that shrink from the start, so these keep their length for this part of a level (2026-11-22). */
static const double STRONG = 1;
static const float KEPT_STEPS = .3f;
/* Sigma of the smoothed divergence, voxels of the level, of either number of --update-damping (adults,
 * hippocampi, 2026-11-24, 2026-11-26). */
static const float DAMPED = 2.5f, DAMPED_FINER = 1.25f;
/* A level gains where its metric rises by more than this share, which sums
 * in single precision may change by (2026-11-22). */
static const double GAIN = 1e-6;
/* The border stays where it is, so that the map has an inverse on the whole grid: voxels over which steps
 * fall (2026-11-22). */
static const float LONGEST_RIM = 4;

/* ---- compositive.c: where images are compared and move (adults, hippocampi, 2026-11-27) ---- */

/* Images are compared, and so pull, near the fixed images' content alone: mm around it along each axis, and
 * at least so many voxels of the level. Elsewhere is air, whose noise would lead nowhere. If more than
 * MISSED of what they show lies elsewhere, that is no noise (of heads .0001 does; vessels and skeletons fill
 * no cell), and everything counts. */
static const double COMPARED_MM = 8, COMPARED_VOXELS = 4, MISSED = .01;
/* Steps are taken a little farther, as far as the updates' smoothing carries them: for each voxel of its
 * sigma beyond the default's three more. */
static const double STEPPED_MM = 12, STEPPED_VOXELS = 6, USUAL_SIGMA = 1.25, SIGMAS = 3;

/* ---- contrast: whether contrasts differ (adults, altered, 2026-11-26) ---- */

/* Crops below a litre, mm^3, have too few tissues to learn more than means from. */
static const double LITRE = 1e6;
/* At `mm` images of other contrasts are less alike than `less`, those of one more than `more`; between the
 * two the next scale tells. At 4 mm pairs of T1 heads have .84 to .98, other contrasts .29 to .98. At 2.5 mm
 * heads have .85 or more, also with noise of a sixth of the brightest tissue; other contrasts that LNCC ends
 * badly on .83 or less. Crops have too few windows at 4 mm: hippocampi of one contrast have .96 or more at 2
 * mm, of others mostly .90 or less. */
typedef struct clv_contrast_scale {
    double mm, less, more;
} clv_contrast_scale;
static const clv_contrast_scale SCALES_OF_HEADS[] = {{4, .81, .9}, {2.5, .835, .835}},
                                SCALES_OF_CROPS[] = {{2, .93, .93}};
/* Variance, of the squared range, from which on a window has content. */
static const double WINDOW_CONTENT = 1e-3;
/* Contrasts of tissue differ where what is bright correlates less than this, and less than this share of what is dark
 * (clv_contrast_tissues). By all presets, chosen on four people and brains of other scanners: T1 to T1 .86 or more of
 * the dark, with brains of others .5 or more but for 3 of 53 runs (a head on a stripped brain); FLAIR and T1 below
 * both in 22 of 24 runs. The pairs of six others with each other and with these four: T1 .90 or more, all of 239;
 * FLAIR below both in 134 of 135 (2026-11-30). */
static const double TISSUES_BRIGHT = .5, TISSUES_SHARE = .84;
/* Deep: mm below the surface of the head, which is brighter than this share of the brightest cells (but
 * BRIGHTEST of all); fluid is darker than the FLUID darkest of deep cells (2026-11-29). */
static const double DEEP = 20, HEAD = .1, BRIGHTEST = .01, FLUID = .35;

/* ---- contrast: synthesis (adults, altered, 2026-11-26) ---- */

/* mm around a place that tell what a value there means; and once a deformation has brought the images nearer.
 * */
static const double NEARBY = 20, NEARER = 10;
/* Deviation nearby, of the range, from which on what lies around a place is asked. */
static const double VARIES = .03;
/* Tissues of random brightness give synthesized images false borders, which LNCC follows. They also have more
 * borders that MIND sees: of its energy the coarsest level removes .60 to .72 there, of that of altered T1
 * heads .45 to .55. */
static const double RANDOM = .58;
/* Synthesized heads, which MIND has led so far, have it beside LNCC, too, by the patches that it had:
 * synthesized values are less sure than where edges lie. 5 does as well (2026-11-28). */
static const double SYNTHESIS_MIND = 10;

/* ---- match.c, measure.c: intensities ---- */

/* A cube of 3 x 3 x 3 voxels: fewer do not show where an image is (2026-11-23). */
static const double FEW = 27;
/* Images lie in [0, 1]; below this value there is air, whose windows tell nothing (2026-11-21). */
static const float AIR = .05f;

/* ---- quality_control.c: what speaks against a result ---- */

/* The share of the smaller grid that has to lie in the other one (2026-11-21). */
static const double LEAST_OVERLAP = .1;
/* By how much heads differ in size, and one axis more than another: what one image lacks is made up for by
 * stretching it. Of adults right results have at most 1.12, halves of heads 1.2 to 1.8 (2026-11-23). */
static const double MOST_SCALE = 2, MOST_UNEVEN = 1.28;
/* Fall of the metric, as a share, that interpolation alone may cost (2026-11-21). */
static const double WORSE = .03;
/* Variance of log J where there is content that is large enough to show anything (adults, 2026-11-24). */
static const double SHOWS = .035;
/* LNCC of coarse images after the affine (images with noise against wrong places), and the gain of MIND for
 * the variance of log J where synthesized images have content: chosen on pairs of the first four adults, and
 * reported on the others in bench/suspicion.md (2026-11-29). */
static const double COARSE_ALIKE = .27, SYNTHESIS_YIELD = .09;
/* Correlation of images that need not move, and mm that count as no movement (2026-11-23). */
static const double SAME = .9999, MOVED = 1e-6;

#endif
