/* SPDX-License-Identifier: Apache-2.0 */
/* The store of maps: a warp and its inverse for each subject, in this order, as kernels hold them, during
 * deformable rounds. It alone knows where they are: on the device that found them as long as that has room,
 * else in host memory or in files (io/store.h). Their bits do not depend on it. A map is one thread's at a
 * time, and a device its own thread's; questions are any thread's. NULL is a store without maps. */
#ifndef CLV_ATLAS_MAPS_H
#define CLV_ATLAS_MAPS_H

#include "clvox/atlas.h"
#include "register/register.h"
#include "runtime/runtime.h"

typedef struct clv_maps clv_maps;

typedef struct clv_maps_setting {
    clvox_context *const *ctx;
    int devices;
    int count;           /* of maps */
    clvox_grid grid;     /* stored as near to RAS as may be */
    clvox_grid shown;    /* the same voxels as the caller's images are stored */
    clvox_store *store;  /* NULL: host memory has no limit */
    size_t device_bytes; /* that maps may take on each device; 0: what the device says */
    size_t registering;  /* bytes that a registration takes on a device */
    /* A device has passed maps since `mark`; idle: and had nothing else to do. From any thread. */
    void (*passed)(void *user, bool idle, double mark);
    void *user;
} clv_maps_setting;
int clv_maps_open(const clv_maps_setting *setting, clv_maps **out);
void clv_maps_close(clv_maps **maps);

/* Maps are found: `find` writes them to where *to says, in buffers of the device or in host memory. Where the
 * device has less memory than it reports, as others have taken it, `find` returns CLVOX_ERROR_MEMORY, and is
 * called again for places that take less of it: in the end all maps of the device leave it. */
typedef int (*clv_maps_finder)(void *user, const clv_register_fields *to);
int clv_maps_find(clv_maps *m, int map, int device, clv_maps_finder find, void *user);
/* The values of both, one behind the other, from host memory, as if this device had found them; and back. */
int clv_maps_put(clv_maps *m, int map, int device, const float *values);
int clv_maps_get(clv_maps *m, int map, float *values);
void clv_maps_drop(clv_maps *m, int map);

bool clv_maps_there(const clv_maps *m, int map);
/* The device that has them, which alone may look at them; -1: none has, and any may. */
int clv_maps_device(clv_maps *m, int map);
/* Those in files are read soon; and not for a while: their memory goes back. */
void clv_maps_expect(clv_maps *m, int map);
void clv_maps_rest(const clv_maps *m, int map);

/* All maps move by a mean: `follow` writes one of them after move `number`, from 0 on, to out. Each takes the
 * moves that it lacks when it is next looked at. NULL: none. */
typedef struct clv_maps_moves {
    int count;
    int (*follow)(void *user, int device, int which, int number, clv_buffer *field, clv_buffer *out);
    void *user;
} clv_maps_moves;
void clv_maps_follow(clv_maps *m, const clv_maps_moves *moves);
/* Moves that every map has taken: they are not asked for again. */
int clv_maps_moved(clv_maps *m);

/* The warp, or with count 2 both, on the device after all moves; NULL where there is none. What passes lies
 * away from the device, on disk or across a bus: it is there until the loan ends, and is moved anew by the
 * next one. */
typedef struct clv_loan {
    clv_buffer *field[2];
    bool passes;
    clv_buffer *room[3];
    int rooms;
} clv_loan;
int clv_maps_lend(clv_maps *m, int map, int device, int count, clv_loan *loan);
void clv_maps_return(clv_loan *loan); /* also of what failed, and of zeros */
/* They become displacements in RAS mm as the caller's images are stored, in the store, and are gone. */
int clv_maps_volumes(clv_maps *m, int map, int device, clvox_volume **const to[2]);

/* Buffers for a step on a device, before it borrows maps, which leave it where others took its memory. */
int clv_maps_take(clv_maps *m, int device, const clv_request *requests, int count);
/* The device takes no further maps, and those it has go to the host: 1 where that gave memory back. */
int clv_maps_leave(clv_maps *m, int device);
/* So many more of a device's contexts have a subject, or wait for a map to pass. */
void clv_maps_busy(clv_maps *m, int device, int busy, int passing);

#endif
