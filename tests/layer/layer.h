/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the layer share its settings and the driver below it. */
#ifndef LAYER_H
#define LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>
#include <stdbool.h>

extern const cl_icd_dispatch *layer_next;

/* Text behind a word of POOR_DEVICE, up to a comma or the end; NULL: the word is not there. */
const char *layer_setting(const char *name);
/* The number behind it; -1: none. */
long layer_number(const char *name);
/* Whether that text is this one. */
bool layer_is(const char *name, const char *text);

cl_int layer_answer(const void *value, size_t bytes, size_t room, void *out, size_t *returned);

/* The device's limits (limits.c): calls that it takes over, and what a driver there would say of others,
 * CL_SUCCESS: nothing. */
void limits_take_over(cl_icd_dispatch *mine);
cl_int limits_buffer(size_t bytes, size_t all); /* all: of the device, with this one */
cl_int limits_build(const char *options, cl_int refusal);
cl_int limits_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *local);
void limits_kernel(cl_kernel kernel);
void limits_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value);
/* A program of these texts, in which what the device lacks is no word of the language. */
cl_program limits_program(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                          cl_int *error);

#endif
