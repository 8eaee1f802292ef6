/* SPDX-License-Identifier: Apache-2.0 */
/* One test body runs every variant and tile of an entry against the plain C
 * reference, on random input that depends on nothing but its seed:
 *   harness_cases(&entry, body, NULL, 0, "what") */
#ifndef HARNESS_H
#define HARNESS_H

#include "check.h"
#include "clvox/device.h"
#include "op/image.h"

/* n voxels in one row, for operations on each voxel alone. */
#define HARNESS_LINE(buffer, n, components)                                                                  \
    ((const clv_image[1]){clv_image_of((buffer), (const int[3]){(n), 1, 1}, NULL, (components))})

/* Opens the device of CLVOX_DEVICE (default: the best); where there is none, ends
 * the program with a line that says that all is skipped. */
clvox_context *harness_open(void);
/* The context that harness_open opened. */
clvox_context *harness_context(void);
/* Closes it: the tear-down of a group. */
int harness_close(void **state);

/* Names a case "<entry> <variant> <tile>: <what>" for every variant and tile that the
 * device can run; where CLVOX_TEST_FIRST is set, for the first tile of each variant, where CLVOX_TEST_OWN
 * is, for variants made for its kind of device alone. It runs with that variant
 * forced, and is skipped where a GPU lacks memory for a form made for CPU devices. data as in test_case_at. */
void harness_cases(const clv_entry *entry, CMUnitTestFunction function, const void *data, size_t bytes,
                   const char *what);
/* The same of the first tile of each variant alone: other tiles differ in the work-group. */
void harness_cases_first(const clv_entry *entry, CMUnitTestFunction function, const void *data, size_t bytes,
                         const char *what);
/* Within such a case: which one of its harness_cases it is, from 0; whether it is the first of its variant;
 * the variant; which of its tiles. */
int harness_case_index(void);
bool harness_first(void);
const clv_variant *harness_variant(void);
int harness_tile(void);

/* How many of its problems a case runs: all. Where CLVOX_TEST_TINY is set, as in the simulator, the first few are
 * enough, and the first two for the other tiles of a variant, which differ in the work-group alone. */
int harness_problems(int few, int all);

/* Whether oclgrind runs the kernels. What it computes wrongly, and devices do not, is left out there. */
bool harness_simulated(void);

/* Fills with uniform values in [low, high), from a fixed generator. */
void harness_random(float *values, size_t count, unsigned seed, float low, float high);

/* A part of a volume (op/within.h), of which some rows are empty and some whole; to be freed. */
int *harness_within(const int size[3], unsigned seed);
bool harness_is_within(const int *within, const int size[3], size_t voxel);

/* A device copy of host data, with harness_guard floats of NaN behind it. */
clv_buffer *harness_upload(clvox_context *ctx, const void *data, size_t bytes);
/* A device buffer full of a poison pattern, so that an unwritten output shows. */
clv_buffer *harness_output(clvox_context *ctx, size_t bytes);
void harness_download(clvox_context *ctx, const clv_buffer *buffer, void *data, size_t bytes);

/* Fields are planar in host tests; these convert to and from the device's
 * layout. voxels: number of voxels. */
clv_buffer *harness_upload_field(clvox_context *ctx, const float *planar, size_t voxels);
void harness_download_field(clvox_context *ctx, const clv_buffer *field, float *planar,
                            size_t voxels);

/* Largest |got - want| / (absolute + relative |want|); a NaN on one side only
 * counts as 1e30. <= 1 passes. */
double harness_error(const float *got, const double *want, size_t count, double absolute,
                     double relative);

#endif
