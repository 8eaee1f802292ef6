/* SPDX-License-Identifier: Apache-2.0 */
/* Thresholds of the linear part: what each of them separates, the images that it was chosen on, and when.
 *
 *   adults   eight people, T1, whole heads at 2 mm with labels, altered as in bench/suspicion.py
 *   brains   six adults, T1 without skulls, 1 mm
 *   infants  newborns of 32 and 40 weeks, templates of months 0, 6 and 12, two children
 *
 * Samples, steps and numbers of states that are improved are effort: they stand where they are spent. */
#ifndef CLV_REGISTER_LINEAR_THRESHOLDS_H
#define CLV_REGISTER_LINEAR_THRESHOLDS_H

#include <math.h>

/* ---- search.c: starts near the header (adults, 2026-11-21) ---- */

/* Angles of starts. Headers are mostly right: one turned by more than DOUBTED loses this share of its value a
 * radian. */
static const double SEARCH_ANGLE = 80 * M_PI / 180, DOUBTED = M_PI / 3, DOUBT = .1;
/* Sizes of heads, and shifts in radii. */
static const double SMALLER = .85, LARGER = 1.18, OFFSET = .35;
/* Share of the smaller image below which what overlaps agrees by chance, and counts less. */
static const double OVERLAPS = .6;

/* ---- orientation.c, linear.c: starts far from the header ---- */

/* Angles from which a rotation is new: of the header (adults turned by 45 to 180 degrees, 2026-11-23), and
 * within the outline (infants, adults of other contrasts, 2026-11-26). */
static const double TURNED = 70 * M_PI / 180, ROLLED = 40 * M_PI / 180;
/* By how much a rotation has to be better at 12 mm to be believed, what the search takes off and the symmetry
 * of heads allowed for; and at the finest level (adults, T1 and FLAIR, turned by 180 degrees, 2026-11-30: of
 * four people right places lie below 1.03 and 1.00, wrong ones above 1.15 and 1.11; 29 of 32 of four others
 * end right, as they do by 1.07 at 12 mm). */
static const double TURN_MARGIN = 1.1, FINEST_MARGIN = 1.03;
/* The same within the outline, where the map at hand stretches one axis by at most UNEVEN more than another,
 * and where it stretches it by more (infants, 2026-11-26). */
static const double ROLL_MARGIN = 1.03, UNEVEN_MARGIN = .97, UNEVEN = 1.25;
/* Most heads differ by at most EVEN; what mutual information loses for being stretched more, as a share of it
 * by the logarithm of the excess: right places of newborns (stretched by 1.15 to 1.4) have at 12 mm up to 5
 * percent less of it than wrong ones that are stretched by 1.44 to 1.54. No head is stretched by MOST_UNEVEN
 * (infants, 2026-11-26). */
static const double EVEN = 1.22, STRETCH_LOSS = .6, MOST_UNEVEN = 1.6;
/* Edges of two scans of heads differ by less than UNITS; their ratio is a power of ten within NEAR_POWER of
 * its logarithm; and headers in other units have to be that much better (adults in tenths, 2026-11-23). */
static const double UNITS = 4, NEAR_POWER = .2, UNITS_MARGIN = 1.1;

/* ---- detail.c: heads of like contrast ---- */

/* Squared correlation of detail from which contrasts count as the same (adults, brains, 2026-11-21). */
static const double SAME_CONTRAST = .25;
/* Agreement of detail of 8 mm from which on they do: pairs of T1 heads and brains have .90 to 1.00; where
 * contrasts were drawn at random, wrong answers have at most .76 (2026-11-21). */
static const double SAME_SIGN = .85;
/* Agreement below which a deformation does not trust windows either: contrasts with .86 ended below the
 * affine (adults of other contrasts, 2026-11-23). */
static const double SAME_WINDOWS = .88;
/* Samples that must be left where those at borders count less, as a share (2026-11-22). */
static const double ENOUGH = .25;

/* ---- robust.c ---- */

/* Slope of an edge, by the voxel of the level: of locally normalised images, which lie in [-1/2, 1/2]
 * (four adults, of whom three times one, 2026-11-30). */
static const double EDGE = .04;

/* ---- mirror.c: exchanged sides (adults, brains, 2026-11-26) ---- */

/* A window counts where half of the fixed image is brighter than BRIGHT of its range and varies by VARIES. */
static const double BRIGHT = .25, VARIES = .05;
/* Differences of squared correlations count in full up to this, so that a few windows do not decide. */
static const double CLEAR = .05;
/* So many windows have to be seen side by side, and the mirrored image has to be so much better (-1 to 1). */
static const double LEAST_WINDOWS = 12, MIRROR_MARGIN = .065, CONTRASTS_MARGIN = .2;

/* ---- levels.c: masks and local normalisation ---- */

/* Joint histograms of too few samples fit anything: levels have enough for a mask of this share of a volume,
 * of slices for none; below it they are finer, but for no mask of less than LEAST_INSIDE of that
 * (2026-11-29). */
static const double MASKED = .15, LEAST_INSIDE = .125;
/* Surroundings of local normalisation, in radii of the head: 12 and 5.4 mm of 90. */
static const double WIDE = 2. / 15, NARROW = .9 / 15;

#endif
