/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON log of a run: what it read, was asked for, and found. */
#ifndef CLVOX_COMMAND_RECORD_H
#define CLVOX_COMMAND_RECORD_H

#include <cjson/cJSON.h>

#include "clvox/boundary.h"
#include "clvox/device.h"
#include "clvox/options.h"
#include "clvox/registration.h"

/* Numbers; NaN becomes null. */
CLVOX_API void clvox_record_number(cJSON *to, const char *name, double value);
/* Size and matrix of a grid. */
CLVOX_API void clvox_record_grid(cJSON *to, const char *name, const clvox_grid *grid);
/* Statistics of the Jacobian determinant. */
CLVOX_API void clvox_record_jacobian(cJSON *to, const clvox_jacobian_summary *summary);
/* The fields of an options struct, by their keys. */
CLVOX_API void clvox_record_fields(cJSON *to, const clvox_option_table *table, const void *values);
/* Appends a text to a list of the log, which it makes where there is none. */
CLVOX_API void clvox_record_text(cJSON *log, const char *list, const char *text);

/* A file that was read: its size and CRC-32, and what is odd about a volume's header, which is among the
 * remarks, too; returns how many of these it has added. */
CLVOX_API int clvox_record_input(cJSON *log, const char *path);

/* Name, platform and driver of the device. */
CLVOX_API void clvox_record_device(cJSON *log, const clvox_context *ctx);
/* Enters what was used of the wisdom: reproducing the run's bits takes it besides device, version, inputs. */
CLVOX_API void clvox_record_wisdom(cJSON *log, const clvox_context *ctx);

/* The plan of a registration: its grids and device memory. */
CLVOX_API cJSON *clvox_record_plan(cJSON *log, const clvox_grid *fixed, const clvox_grid *moving);
/* Bytes that the run needs on the device, and those that are free. */
CLVOX_API void clvox_record_memory(cJSON *plan, const clvox_context *ctx, size_t bytes);
/* Appends a step of a deformation, with its pass through the levels and its attempt at the level; returns the pass. */
CLVOX_API int clvox_record_look(cJSON *trace, const clvox_step *step);
/* The result, and seconds by stage; read and write are those besides the result's. */
CLVOX_API void clvox_record_result(cJSON *log, const clvox_register_options *options,
                                   const clvox_register_result *result, double read, double write);
/* Adds to it how the boundary was fitted. */
CLVOX_API void clvox_record_boundary(cJSON *log, const clvox_boundary_result *boundary);

/* A bit of suspicions: its name, and what it says. */
typedef struct clvox_suspicion {
    unsigned bit;
    const char *name, *sentence;
} clvox_suspicion;

/* Number `at`, from 0; NULL: there is none. Static. */
CLVOX_API const clvox_suspicion *clvox_suspicion_at(int at);

/* Enters, if one image is a slice and the other one a volume, on which slice of that it lies after the linear
 * part, by its number along *axis. Returns 1 where the moving image is the slice, 0 where the fixed
 * one is; -1: neither, or both. */
CLVOX_API int clvox_record_slice(cJSON *log, const clvox_grid *fixed, const clvox_grid *moving,
                                 const clvox_register_result *result, int *axis, double *at);

/* Writes it as UTF-8; "-": to standard output. */
CLVOX_API int clvox_record_write(const cJSON *log, const char *path);

#endif
