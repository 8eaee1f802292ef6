/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom: which variant and tile `clvox tune` found the fastest for a kernel
 * on a device. The planner tries it before its own order. A record holds for
 * one device (name, platform, driver, compute units), one build of a kernel
 * (its extra defines), one class of volumes by their size, and one version of
 * the kernel (source and table of variants); whatever else a file says is
 * passed over, and a file that is damaged or was changed by hand is as good as
 * none. */
#ifndef CLV_RUNTIME_WISDOM_H
#define CLV_RUNTIME_WISDOM_H

#include "runtime/cache.h"
#include "runtime/plan.h"

enum {
    CLV_WISDOM_VERSION = 33, /* hexadecimal digits and their end */
    CLV_WISDOM_SOURCES = 64,
    CLV_WISDOM_CLASSES = 3
};

typedef struct clv_wisdom_record {
    char kernel[48];
    char build[192];  /* the defines that the operation added, "" for none */
    char version[CLV_WISDOM_VERSION];
    char variant[32];
    clv_tile tile;
    double seconds;   /* of a run of the kernel */
    double planned;   /* of the planner's own choice */
    int size[3];      /* voxels that were measured */
    int size_class;   /* of what the kernel was asked for there: clv_wisdom_class */
} clv_wisdom_record;

typedef struct clv_wisdom_source {
    const char *file; /* of an entry */
    clv_cache_key key;
} clv_wisdom_source;

/* What a file holds for one device, sorted by kernel, build and class. */
typedef struct clv_wisdom {
    clv_wisdom_record *record;
    int count;
    char *path;       /* the file; NULL: there is none */
    char hash[17];    /* of all that may change a choice; times are not in it */
    char remark[400]; /* why the file is passed over; "" where it is not */
    clv_wisdom_source source[CLV_WISDOM_SOURCES]; /* kernel files that were looked at */
    int source_count;
} clv_wisdom;

/* The file: CLVOX_WISDOM (empty: none), else FOLDER-wisdom.json beside the
 * cache's folder, so that emptying the cache does not lose it. The caller frees
 * it; NULL when there is none. */
char *clv_wisdom_path(void);

/* The class of what a kernel is asked for: 0 to 2^20 voxels (brains at 2 mm,
 * coarse levels), 1 to 2^23 (brains at 1 mm), 2 above. What a kernel that takes
 * more than one class computes may differ in its last bits between them. */
int clv_wisdom_class(const int size[3]);

/* What the file holds for the device. A file that is not there is legal and
 * empty, and so is path NULL; one that is not whole is empty, with a remark.
 * On success *out is the caller's. */
int clv_wisdom_load(const char *path, const clvox_device_limits *limits, clv_wisdom **out);
void clv_wisdom_destroy(clv_wisdom **wisdom); /* NULL is legal */

/* The version of a kernel: a hash of its source, as a device would get it, and
 * of its table of variants. */
int clv_wisdom_version(const clv_entry *entry, char version[CLV_WISDOM_VERSION]);

/* Moves the candidate that was measured the fastest to the front, the others
 * keep their order; false where there is none. A class that was not measured
 * goes by the nearest that was (the larger of two), a build that was not by the
 * nearest records of the kernel's other builds if these agree. NULL wisdom is
 * legal. */
bool clv_wisdom_prefer(clv_wisdom *wisdom, const clv_entry *entry, const char *build, int size_class,
                       clv_candidate *candidates, int count);

/* Whether clv_wisdom_store could write the file, whose folder is made: so that
 * nobody measures for nothing. */
int clv_wisdom_writable(const char *path);

/* Puts a record in the place of the one for the same device, kernel, build and
 * class and writes the file whole under a temporary name. Others that store at
 * the same time wait for one another. A file that is not whole is kept beside
 * the new one as FILE.old (.old2 and so on), and *remark, the caller's to free,
 * becomes a sentence about it; else *remark stays. remark NULL is legal. */
int clv_wisdom_store(const char *path, const clvox_device_limits *limits, const clv_wisdom_record *record,
                     char **remark);

#endif
