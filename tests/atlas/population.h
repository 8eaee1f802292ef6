/* SPDX-License-Identifier: Apache-2.0 */
/* Small populations, and templates of them, for the tests of atlases. */
#ifndef ATLAS_POPULATION_H
#define ATLAS_POPULATION_H

#include "clvox/atlas.h"

extern const int POPULATION_SIZE[3];
extern const double POPULATION_EDGE[3];

enum { POPULATION_MOST = 6 };

typedef struct population {
    clvox_volume *own[POPULATION_MOST];
    clvox_atlas_subject s[POPULATION_MOST];
    int count;
} population;

/* One more subject, of weight 1; the image becomes the population's. */
void population_add(population *p, clvox_volume *image);
void population_release(population *p);
clvox_volume *population_zeros(const clvox_grid *grid);
/* The image through a displacement. */
clvox_volume *population_pull(const clvox_volume *image, clvox_volume *u);
clvox_volume *population_copy(const clvox_volume *v);
void population_options(clvox_atlas_options *o, clvox_deform deform);
/* Cheap: where it is no matter what the rounds find. */
void population_options_of_bits(clvox_atlas_options *o);
/* On the device of the tests. */
void population_build(const population *p, const clvox_atlas_options *o, clvox_atlas_result *r);
/* rms difference over the rms of b. */
double population_apart(const clvox_volume *a, const clvox_volume *b);
void population_make_three(population *all);
/* A second channel of each: another one's image. */
void population_add_channel(population *p, clvox_atlas_options *o);
/* A progress callback whose user is an int: stops after so many calls. */
int population_stop_after(void *user, const clvox_step *step);
/* Templates of all channels, rounds and maps of the same bits; of subjects' labels those that both have. */
void population_assert_same(const clvox_atlas_result *a, const clvox_atlas_result *b);
/* A ball in voxels of 2 mm, its edge smooth. */
clvox_volume *population_ball(const int size[3], double radius);
double population_radius(const clvox_volume *v);
void population_options_of_balls(clvox_atlas_options *o);

/* Contexts on the device that the tests run on, once more and again: opened once, as each builds its kernels. The
 * tear-down of a group closes them, and that device. */
enum { POPULATION_OTHERS = 3 };
clvox_context **population_open_others(void);
int population_close(void **state);

#endif
