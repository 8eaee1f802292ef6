/* SPDX-License-Identifier: Apache-2.0 */
/* `clvox register` of surfaces, curves, clouds and landmarks without images. */
#ifndef CLI_REGISTER_ALONE_H
#define CLI_REGISTER_ALONE_H

#include "cli/cmd_register/pair.h"

/* Whether nothing but shapes or landmarks was given. */
bool cli_alone_is(const cli_register_request *request);

/* CLI_USAGE for options that say nothing without images; sets the linear part to none where none was asked
 * for. Of a request with images: where --spacing was given. */
int cli_alone_check(const cli_register_request *request, clvox_register_options *options);

/* The affine to start from, and the grid, once shapes and landmarks are read. */
int cli_alone_place(cli_pair *pair, clvox_register_images *images);

/* Draws the picture: shapes and landmarks of the fixed side, and those carried there. */
int cli_alone_draw(cli_pair *pair);

#endif
