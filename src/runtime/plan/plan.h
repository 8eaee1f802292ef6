/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that an operation declares, and in which order their variants
 * and tiles are tried on a device. */
#ifndef CLV_RUNTIME_PLAN_H
#define CLV_RUNTIME_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/plan/occupancy.h"

/* How much a work-item or a work-group covers along an axis of the launch, in the
 * launch's elements, where it is not a number: */
enum {
    CLV_WHOLE = -1, /* all of the axis: there is one */
    CLV_MARCH = -2  /* as many as the tile's march says */
};

enum { CLV_ON_CPU = 1, CLV_ON_GPU = 2, CLV_ON_ANY = 3 };

/* A work-group's items, and how many elements an item walks along an axis that
 * the variant leaves to the tile (CLV_MARCH); 1 where it leaves none. */
typedef struct clv_tile {
    int x, y, z;
    int march;
} clv_tile;

#define CLV_MAX_TILES 12

/* One way to run an entry: a row of a table in src/op/<file>.c. The planner,
 * the launch, the tests, the bench and `devices -v` know a variant from this row
 * alone. A launch states its size in elements (voxels, floats, lines, or whatever
 * the entry documents), the same for every variant; the row says how many of them
 * an item and a group cover, the launch divides by it, and the kernel is built
 * with TILE_X, TILE_Y, TILE_Z (items of a group), MARCH, ITEM_X, ITEM_Y, ITEM_Z
 * and GROUP_X, GROUP_Y, GROUP_Z (elements; 0: the whole axis) and tests its borders. */
typedef struct clv_variant {
    const char *name;     /* "tile", "row" */
    const char *function; /* the kernel's name in cl/<file>.cl */
    const char *defines;  /* "-DFOO=1", may be NULL */
    int item[3];          /* elements an item covers; 0: one */
    int group[3];         /* elements a group covers, where that is not items times tile: CLV_WHOLE, or a
                             number, as 1 where items share the work on one element; 0: items times tile */
    int rim[3];           /* items at either end of a tile that help and cover nothing */
    int parts;            /* groups that share the work on the same elements, one after another along z (as of
                             the components of a field); 0: one */
    int most_groups;      /* not 0: at most so many groups, all along x, share the elements, as sums want whose
                             partial results have a place each */
    int most_units;       /* not 0: its work grows with the compute units, so by itself only where a device has no
                             more */
    int passes;           /* launches that make one result together, told apart by an argument; 0: one */
    const struct clv_entry *before; /* an entry that is launched first and whose result this one reads */
    int devices;          /* CLV_ON_... where the planner may choose it by itself */
    int halo[3];          /* voxels read beyond the tile on either side */
    int cell_bytes;       /* local memory for each cell of tile + halo */
    int planes;           /* planes of such cells held at once; 0: (tile.z + 2 halo[2]) */
    int fixed_bytes;      /* local memory besides */
    bool no_local;        /* takes none of the local memory that depends on the call */
    bool image;           /* reads an image object (CLV_IMAGE): where a device has these */
    int register_cap;     /* -cl-nv-maxrregcount, 0: none */
    bool optional;        /* kept for comparison: never chosen by itself */
    clv_tile tiles[CLV_MAX_TILES]; /* candidates, the preferred first; ends with x = 0 */
} clv_variant;

/* The value of a #define as text, so that a row or a build tells the kernel what C
 * knows: "-DSUMS=" CLV_TEXT(CLV_TENSOR_PD_SUMS). */
#define CLV_TEXT_OF(value) #value
#define CLV_TEXT(value) CLV_TEXT_OF(value)

/* One kernel role of an operation: all its variants compute the same thing
 * from the same arguments. */
typedef struct clv_entry {
    const char *file;            /* cl/<file>.cl */
    const char *name;            /* "gaussian_x": unique over the program */
    const clv_variant *variants;
    int count;
    const char *const *builds;   /* define strings the operation may add, NULL-terminated;
                                    NULL: only "" . CI compiles each for AMD. */
} clv_entry;

/* An entry of every row of a table of variants: the compiler counts them, so that none can be left out. */
#define CLV_ENTRY(cl_file, entry_name, table, build_list)                              \
    {                                                                                  \
        .file = cl_file, .name = entry_name, .variants = table,                        \
        .count = (int)(sizeof(table) / sizeof *(table)), .builds = build_list          \
    }

/* One way to run an entry on a device, as the planner sees it. */
typedef struct clv_candidate {
    const clv_variant *variant;
    clv_tile tile;
    int tile_index;      /* in variant->tiles; -1: a tile made smaller to fit */
    size_t local_bytes;
    double waste;        /* voxels read over voxels computed: (tile + 2 halo) / tile */
    clv_occupancy resources; /* registers are not known before a build */
    bool automatic;      /* false: taken only when forced, or when nothing else runs */
} clv_candidate;

enum { CLV_MAX_CANDIDATES = 160 };

/* Every variant and tile that runs on such a device, in the order in which the
 * planner tries them. Within a variant: tiles that leave a compute unit enough
 * work first, of these the least halo waste, of equals the table's order; on a
 * CPU device the least halo waste, of equals, where groups share local memory, an
 * item alone, then the largest group, else the table's order. Variants keep the
 * table's order. Where no tile of a variant fits, a tile is halved along y, x, z
 * until it does, so that a poor device has an answer too.
 * Returns the number of candidates, at most room. */
int clv_plan_candidates(const clvox_device_limits *limits, const clv_entry *entry,
                        size_t local_extra, clv_candidate *out, int room);

/* Why a variant has this tile, of candidates in their order: "fills half" (of a compute unit's lanes,
 * which the next one does not), "fills most" (none fills half), "least halo", "item alone", "most
 * items", "table order", "only tile", "made to fit" (halved until it ran), "next choice" (the driver
 * refused one before it). Static. */
const char *clv_plan_reason(const clvox_device_limits *limits, const clv_candidate *candidates, int count,
                            const clv_variant *variant, clv_tile tile);

/* How much an item and a group of a variant with this tile cover; 0: the whole axis. */
void clv_variant_covers(const clv_variant *variant, clv_tile tile, int item[3], int group[3]);

/* Whether this device could run variant with that tile at all. */
bool clv_variant_runs(const clvox_device_limits *limits, const clv_variant *variant,
                      clv_tile tile, size_t local_extra);

#endif
