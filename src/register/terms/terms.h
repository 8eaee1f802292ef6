/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of a deformation. A model raises the sum of them: how alike the images and tissues are (channels.c,
 * posteriors.h), landmarks (points.h), surfaces, curves and clouds (shapes.h). A term is a file with a row of
 * this kind, clv_term_NAME, and a line in the list of terms.c; models know none of them. */
#ifndef CLV_REGISTER_TERMS_H
#define CLV_REGISTER_TERMS_H

#include "op/within.h"
#include "register/pyramid.h"

/* One image, and the displacement that moves it. */
typedef struct clv_pull_side {
    clv_buffer *u;
    clv_buffer *force; /* dS/du, per mm */
    clv_map map;       /* from the level's grid to the image's */
} clv_pull_side;

/* The images that terms compare and pull: the moving one and, where the model moves it too, the fixed one. */
typedef struct clv_pull {
    const clv_pyramid_level *level;
    clv_pull_side side[2];
    int count;         /* sides that move */
    bool forces;       /* false: values alone are wanted */
    float keep;        /* share of its force before that each side keeps */
    const float *axes; /* NULL, or what the components of forces are multiplied by */
    clv_within within; /* the part of the level that images are compared on */
    bool smooth;       /* points and vertices pull by options.points_width instead of the voxels around */
    clv_buffer *numbers; /* S and voxels of each comparison of images, by channels, from `slot` on */
    int slot;
} clv_pull;

/* The terms' metric a voxel, and the sum over voxels as the first comparison counts them. */
typedef struct clv_value {
    double mean, sum;
} clv_value;

typedef struct clv_term_row {
    /* Takes what the term needs to know from images, of which grids and shapes alone are looked at. */
    void (*describe)(clv_registration *run, const clvox_register_images *images);
    /* Terms of this kind that the run has; the functions below are called where there are any. */
    int (*count)(const clv_registration *run);
    bool reads; /* its value is that of the last force alone, and is read from the device */
    /* NULL of each: there is nothing to do. */
    int (*requests)(clv_registration *run, clv_request *list);
    int (*place)(clv_registration *run, const clv_pyramid_level *level); /* on a level, before forces there */
    int (*force)(clv_registration *run, const clv_pull *pull); /* sets or adds dS/du of both sides */
    int (*value)(clv_registration *run, const float *numbers, clv_value *value); /* adds; numbers: as read */
    void (*report)(const clv_registration *run, clvox_register_result *result);
    void (*release)(clv_registration *run); /* frees what it holds beside its requests */
} clv_term_row;

void clv_terms_describe(clv_registration *run, const clvox_register_images *images);
int clv_terms_requests(clv_registration *run, clv_request *list);
int clv_terms_place(clv_registration *run, const clv_pyramid_level *level);
int clv_terms_force(clv_registration *run, const clv_pull *pull);
/* Blocking where any term reads. */
int clv_terms_value(clv_registration *run, const float *numbers, clv_value *value);
bool clv_terms_read(const clv_registration *run);
/* Whether anything but images counts. */
bool clv_terms_beside_images(const clv_registration *run);
void clv_terms_report(const clv_registration *run, clvox_register_result *result);
void clv_terms_release(clv_registration *run);

#endif
