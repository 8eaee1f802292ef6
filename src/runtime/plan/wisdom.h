/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom: which variant and tile `clvox tune` found the fastest for a kernel, its
 * defines and a class of volumes by their size, on a device with a driver, which the
 * planner tries before its own order; and how long pieces of work take there, by which
 * pipelines choose between algorithms. The file is text, a line for each; one of another
 * form or of other kernels' sources is passed over. */
#ifndef CLV_RUNTIME_WISDOM_H
#define CLV_RUNTIME_WISDOM_H

#include "runtime/plan/plan.h"

enum { CLV_WISDOM_CLASSES = 3 };

typedef struct clv_wisdom_record {
    char kernel[48];
    char build[192]; /* the defines that the operation added, "" for none */
    int size_class;  /* of what the kernel was asked for: clv_wisdom_class */
    char variant[32];
    clv_tile tile;
} clv_wisdom_record;

/* How long a named piece of work takes. */
typedef struct clv_wisdom_cost {
    char name[48];
    double seconds; /* above 0 */
} clv_wisdom_cost;

/* A file's records of one device: choices sorted by kernel, build and class, and costs. */
typedef struct clv_wisdom {
    clv_wisdom_record *record;
    int count;
    clv_wisdom_cost *cost;
    int costs;
    char *path;       /* the file; NULL: there is none */
    char hash[17];    /* of all choices and costs; "" without any */
    char remark[400]; /* why the file is passed over; "" where it is not */
} clv_wisdom;

/* The file: CLVOX_WISDOM (empty: none), else FOLDER-wisdom.txt beside the
 * cache's folder, so that emptying the cache does not lose it; there it has to be the
 * user's own (base/own.h). The caller frees it; NULL when there is none. */
char *clv_wisdom_path(void);

/* The class of what a kernel is asked for: 0 to 2^20 voxels (brains at 2 mm,
 * coarse levels), 1 to 2^23 (brains at 1 mm), 2 above. What a kernel that takes
 * more than one class computes may differ in its last bits between them. */
int clv_wisdom_class(const int size[3]);

/* Reads what the file holds for the device. A file that is not there is legal and
 * empty, and so is path NULL; one that is not whole is empty, with a remark.
 * On success *out is the caller's. */
int clv_wisdom_load(const char *path, const clvox_device_limits *limits, clv_wisdom **out);
void clv_wisdom_destroy(clv_wisdom **wisdom); /* NULL is legal */

/* Moves the candidate that was measured the fastest to the front, the others
 * keep their order; false where there is none. A class that was not measured
 * goes by the nearest that was (the larger of two), a build that was not by the
 * nearest records of the kernel's other builds if these agree. NULL wisdom is
 * legal. */
bool clv_wisdom_prefer(const clv_wisdom *wisdom, const clv_entry *entry, const char *build, int size_class,
                       clv_candidate *candidates, int count);

/* The seconds of a cost; 0 where it was not measured. NULL wisdom is legal. */
double clv_wisdom_seconds(const clv_wisdom *wisdom, const char *name);

/* Whether clv_wisdom_store could write the file, whose folder is made: so that
 * nobody measures for nothing. */
int clv_wisdom_writable(const char *path);

/* Puts a record in the place of the one for the same device, kernel, build and
 * class and writes the file whole under a temporary name. Others that store at
 * the same time wait for one another. A file that is passed over is kept beside
 * the new one as FILE.old (.old2 and so on), and *remark, the caller's to free,
 * becomes a sentence about it; else *remark stays. remark NULL is legal. */
int clv_wisdom_store(const char *path, const clvox_device_limits *limits, const clv_wisdom_record *record,
                     char **remark);

/* The same of costs, all in one file or none; each takes the place of the one of its name. */
int clv_wisdom_store_costs(const char *path, const clvox_device_limits *limits, const clv_wisdom_cost *costs,
                           int count, char **remark);

#endif
