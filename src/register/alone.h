/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and landmarks without images: two images without content stand in for them, the moving one where
 * the linear part leads the fixed grid, so that every voxel is compared and none says anything. */
#ifndef CLV_REGISTER_ALONE_H
#define CLV_REGISTER_ALONE_H

#include "register/register.h"

typedef struct clv_register_alone {
    clvox_register_images images;   /* as given where there are images or posteriors */
    clvox_register_options options; /* likewise */
    clvox_volume image[2];          /* fixed, moving; data NULL where none was asked for */
    bool alone;
} clv_register_alone;

/* CLVOX_ERROR_ARGUMENT where shapes alone cannot be registered so. Its images point into out: it does not
 * move. data: with voxels; to be released, also after a failure. */
int clv_register_alone_make(const clvox_register_images *given, const clvox_register_options *options,
                            bool data, clv_register_alone *out);
void clv_register_alone_free(clv_register_alone *alone);

/* Nothing is said of images that there are not. */
void clv_register_alone_result(const clv_register_alone *alone, clvox_register_result *result);

#endif
