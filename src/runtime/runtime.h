/* SPDX-License-Identifier: Apache-2.0 */
/* What operations and pipelines see of a device: buffers, kernels chosen by
 * the planner, launches. Operations never call OpenCL themselves. */
#ifndef CLV_RUNTIME_H
#define CLV_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "clvox/device.h"
#include "runtime/occupancy.h"

/* ---- buffers ------------------------------------------------------------ */

/* A device allocation. mem and image are cl_mem that only src/runtime touches. */
typedef struct clv_buffer {
    void *mem;
    void *image; /* NULL but after clv_buffer_image */
    size_t bytes;
    char *host; /* the caller's memory that it lies in; NULL: its own */
    clvox_context *owner;
} clv_buffer;

/* what names the buffer in error messages ("displacement field"). On success
 * *out is the caller's; on failure NULL. Contents are undefined. */
int clv_buffer_create(clvox_context *ctx, size_t bytes, const char *what, clv_buffer **out);
void clv_buffer_destroy(clv_buffer **buffer); /* NULL is legal */
/* Lets kernels read the buffer as an image1d_buffer_t of float4 too, passed by
 * CLV_IMAGE. For comparisons: CPU devices read images many times slower. */
int clv_buffer_image(clvox_context *ctx, clv_buffer *buffer, const char *what);
/* Blocking transfers between host and device. */
int clv_buffer_write(clvox_context *ctx, clv_buffer *buffer, size_t offset, const void *data,
                     size_t bytes);
int clv_buffer_read(clvox_context *ctx, const clv_buffer *buffer, size_t offset, void *data,
                    size_t bytes);
/* In queue order, without waiting. Offsets and sizes are multiples of 4. */
int clv_buffer_fill(clvox_context *ctx, clv_buffer *buffer, size_t offset, uint32_t word,
                    size_t bytes);
int clv_buffer_copy(clvox_context *ctx, const clv_buffer *from, size_t from_offset, clv_buffer *to,
                    size_t to_offset, size_t bytes);
int clv_finish(clvox_context *ctx);

/* Host memory that the driver transfers without a copy of its own ("pinned"). */
typedef struct clv_pinned {
    void *data;
    size_t bytes;
    void *mem; /* only src/runtime touches it */
    clvox_context *owner;
} clv_pinned;

/* On success *out is the caller's. */
int clv_pinned_create(clvox_context *ctx, size_t bytes, clv_pinned **out);
void clv_pinned_destroy(clv_pinned **pinned); /* NULL is legal */

/* Starts to watch the device memory that buffers take, and returns what they
 * take now; clv_peak_bytes says the most since then. */
size_t clv_peak_start(clvox_context *ctx);
size_t clv_peak_bytes(const clvox_context *ctx);

/* A pipeline lists all it needs, asks the size beforehand, and takes it once. */
typedef struct clv_request {
    clv_buffer **slot; /* set by clv_pool_take, NULLed by clv_pool_release */
    size_t bytes;
    const char *what;
} clv_request;

size_t clv_pool_bytes(const clv_request *requests, int count);
/* Takes every request or none; refuses with needed and available bytes. */
int clv_pool_take(clvox_context *ctx, const clv_request *requests, int count);
/* The same with a place in host memory for each that has one (others NULL): on CPU
 * devices the buffer lies there, begins with what is there, and clv_buffer_write
 * and clv_buffer_read of that very place move nothing; elsewhere it is a buffer
 * like others. The memory outlives the buffer, and is looked at only after
 * clv_buffer_read. */
int clv_pool_take_over(clvox_context *ctx, const clv_request *requests, void *const *host, int count);
void clv_pool_release(const clv_request *requests, int count);

/* ---- kernels: what an operation declares -------------------------------- */

/* What a work-item or a work-group covers along an axis of the launch, in the
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
    int passes;           /* launches that make one result together, told apart by an argument; 0: one */
    const struct clv_entry *before; /* an entry that is launched first and whose result this one reads */
    int devices;          /* CLV_ON_... where the planner may choose it by itself */
    int halo[3];          /* voxels read beyond the tile on either side */
    int cell_bytes;       /* local memory for each cell of tile + halo */
    int planes;           /* planes of such cells held at once; 0: (tile.z + 2 halo[2]) */
    int fixed_bytes;      /* local memory besides */
    int register_cap;     /* -cl-nv-maxrregcount, 0: none */
    bool optional;        /* kept for comparison: never chosen by itself */
    clv_tile tiles[CLV_MAX_TILES]; /* candidates, the preferred first; ends with x = 0 */
} clv_variant;

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

/* The entry of this number, of all operations, for tests, bench and `devices -v`;
 * NULL beyond the last. */
const clv_entry *clv_entry_at(int index);

/* ---- kernels: what the planner returns ---------------------------------- */

typedef struct clv_kernel {
    void *kernel; /* cl_kernel, only src/runtime touches it */
    const clv_entry *entry;
    const clv_variant *variant;
    clv_tile tile;
    int item[3], group[3]; /* elements that each covers; 0: the whole axis */
    char label[96]; /* "gaussian_x/tile 32x8x1": for profile and messages */
    int registers;  /* a work-item; -1 unknown */
    int spills;     /* bytes; -1 unknown */
    int local_bytes;
    size_t reserve; /* device memory for the private memory of all work-items, which the
                       driver takes beside the buffers; 0: none, or unknown */
    double occupancy; /* 0..1; negative: unknown */
    clv_occupancy resources; /* what it comes from and what limits it */
    bool wisdom;    /* chosen because it was measured the fastest */
} clv_kernel;

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
 * item alone, then the largest group, else the table's order. Variants keep the table's order. Where no tile of a variant fits, a tile is
 * halved along y, x, z until it does, so that a poor device has an answer too.
 * Returns the number of candidates, at most room. */
int clv_plan_candidates(const clvox_device_limits *limits, const clv_entry *entry,
                        size_t local_extra, clv_candidate *out, int room);

/* Plans (variant and tile) for this device and, where wisdom knows about it, this
 * size, builds on first use and remembers: what depends on the kernel's tile must
 * be asked for with the same size. extra: defines the caller adds (one of entry->builds), NULL for
 * none. local_extra: bytes of local memory that depend on the call (passed as
 * a CLV_LOCAL argument), 0 for none. The kernel is owned by the context. */
int clv_kernel_get(clvox_context *ctx, const clv_entry *entry, const char *extra,
                   const int size[3], size_t local_extra, const clv_kernel **out);

/* From now on the planner takes this variant (and, with tile >= 0, this tile)
 * for the entry, even where it would not by itself; NULL ends it. Used by
 * tests, bench, tuning and options such as --kernel. A tile that the device
 * cannot run is CLVOX_ERROR_DEVICE at clv_kernel_get. */
int clv_force_variant(clvox_context *ctx, const char *entry, const char *variant, int tile);

/* From now on kernels are chosen as for volumes of this size, whatever theirs is,
 * and clv_kernels_asked begins anew; NULL ends the former. For checks on small
 * volumes of what will run on large ones. */
void clv_kernels_as(clvox_context *ctx, const int size[3]);

/* What was asked of clv_kernel_get since the last clv_force_variant or clv_kernels_as. */
typedef struct clv_asked {
    const clv_entry *entry;
    const char *extra; /* lives as long as the context */
    size_t local_extra;
    int size_class; /* clv_wisdom_class of the size */
    const clv_kernel *kernel;
} clv_asked;

/* Each question once, in no order: what a piece of work consists of, for
 * tuning. Returns the number of them, at most room. */
int clv_kernels_asked(const clvox_context *ctx, clv_asked *out, int room);

/* What an item and a group of a variant with this tile cover; 0: the whole axis. */
void clv_variant_covers(const clv_variant *variant, clv_tile tile, int item[3], int group[3]);

/* Whether this device could run variant with that tile at all. */
bool clv_variant_runs(const clvox_device_limits *limits, const clv_variant *variant,
                      clv_tile tile, size_t local_extra);

/* Kernels that are built together take a fraction of the time that they take
 * one by one. A pipeline begins a rehearsal, calls the operations that it will
 * call, or itself with few iterations, and ends it: then all that was asked
 * for is built. Between the two nothing reaches the device; buffers may be
 * created, and what is read is 1, 2, 1, 2 ... Rehearsals may be nested. What
 * could not be built says so when it is asked for in earnest. */
int clv_rehearsal_begin(clvox_context *ctx);
int clv_rehearsal_end(clvox_context *ctx);
/* No rehearsal will follow soon: what they keep ready is given back where it is missed. */
void clv_rehearsals_over(clvox_context *ctx);
bool clv_rehearsing(const clvox_context *ctx);

/* True where a field's components are stored packed (xyzxyz...), false where
 * planar. Kernels see it as FIELD_PACKED and use load_vec and store_vec. */
bool clv_fields_packed(const clvox_context *ctx);

/* A hash of all kernel sources, as records tell the builds of one version apart by. */
int clv_sources_version(char version[17]);

/* ---- launches ----------------------------------------------------------- */

typedef struct clv_arg {
    size_t bytes;
    const void *data;         /* NULL with bytes > 0: local memory; not NULL with 0: the buffer's image */
    const clv_buffer *buffer; /* a buffer argument, when bytes is 0; NULL is passed on as NULL */
} clv_arg;

#define CLV_BUF(b) ((clv_arg){0, NULL, (b)})
#define CLV_IMAGE(b) ((clv_arg){0, "image", (b)})
#define CLV_INT(v) ((clv_arg){sizeof(int32_t), &(int32_t){(v)}, NULL})
#define CLV_FLOAT(v) ((clv_arg){sizeof(float), &(float){(v)}, NULL})
#define CLV_INT4(a, b, c, d) ((clv_arg){16, (int32_t[4]){(a), (b), (c), (d)}, NULL})
#define CLV_FLOAT4(a, b, c, d) ((clv_arg){16, (float[4]){(a), (b), (c), (d)}, NULL})
#define CLV_FLOAT4V(p) ((clv_arg){16, (p), NULL})
#define CLV_LOCAL(n) ((clv_arg){(n), NULL, NULL})

/* Work-groups of a launch over so many elements, along each axis (groups may be
 * NULL) and in all. */
int clv_launch_groups(const clv_kernel *kernel, const int size[3], int groups[3]);

/* Queues a kernel over so many elements along each axis. moved: bytes that must cross device memory, counted once, for
 * --profile and the bench. Does not wait. */
int clv_launch_args(clvox_context *ctx, const clv_kernel *kernel, const int size[3], double moved,
                    const clv_arg *args, int count);
#define CLV_LAUNCH(ctx, kernel, size, moved, ...)                                     \
    clv_launch_args((ctx), (kernel), (size), (moved), (const clv_arg[]){__VA_ARGS__}, \
                    (int)(sizeof((const clv_arg[]){__VA_ARGS__}) / sizeof(clv_arg)))

/* ---- timing ------------------------------------------------------------- */

/* Totals by kernel label since the context was created or last reset; needs
 * options.profile. Waits for the queue. Returns the number of rows and sets
 * *out to an array owned by the context. */
typedef struct clv_timing {
    char label[96];
    const clv_kernel *kernel; /* NULL: a transfer */
    int calls;
    double seconds;
    double bytes;
} clv_timing;
int clv_timings(clvox_context *ctx, const clv_timing **out);
/* False without options.profile, and where the device times nothing: refused
 * when the context was created, or found out by clv_timings, which has no rows then. */
bool clv_has_timers(const clvox_context *ctx);
void clv_timings_reset(clvox_context *ctx);
/* Begins or ends timing as options.profile does from the start; waits for the
 * queue. CLVOX_ERROR_DEVICE, and no change, where the device refuses timers. */
int clv_timings_switch(clvox_context *ctx, bool on);

#endif
