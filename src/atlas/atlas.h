/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the pipeline of templates share. */
#ifndef CLV_ATLAS_ATLAS_H
#define CLV_ATLAS_ATLAS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/status.h"
#include "clvox/atlas.h"
#include "runtime/runtime.h"

/* A subject's warp and inverse warp, in this order, as kernels hold them (fields.c). */
typedef struct clv_atlas_fields {
    bool there;
    int device; /* of those of the run, whose context has the buffers; -1: none has */
    clv_buffer *buffer[2];
    clvox_volume *kept[2]; /* where there are no buffers: their values are not RAS mm, but the fields' */
    int moved[2];          /* each has been moved by the first so many of the round's means (center.c) */
    bool summed;           /* in the round's first mean */
    int measured;          /* 1 and the moves after which its length is known; 0: it is not */
} clv_atlas_fields;

/* Of a subject's images by themselves (scale.c). */
struct clvox_atlas_scaled {
    const clvox_volume *of, *mask; /* whose copies these are, and by which options */
    int channels, keep_intensities;
    double clip_low, clip_high, margin;
    uint64_t hash[2]; /* of its image and mask, and of its other channels */
    clvox_volume *image[CLVOX_ATLAS_CHANNELS];
    double largest[CLVOX_ATLAS_CHANNELS]; /* absolute values in these */
    double center[3];                     /* the centroid of its image, RAS mm */
    int box[2][3];                        /* with options->margin */
};

typedef struct clv_atlas_member {
    const clvox_atlas_subject *given;
    int place;     /* among those given */
    uint64_t hash, further_hash; /* of its image and mask, and of its other channels */
    uint64_t second;             /* of all */
    clvox_grid grid, upright; /* of its image as it is given, and stored as near to RAS as may be */
    double center[3];         /* the centroid of its image, RAS mm */
    int box[2][3];            /* its head's first and last voxel on the upright grid; with options->margin */
    int first;     /* the first one of the same contents, as a rule itself */
    int owner;     /* of the members of the team, that which registers it and holds its warps */
    double own;    /* weight against the largest */
    double base;   /* with those of the same contents; 0 for all but the first, and for what was left out */
    double kernel; /* of a regression, else 1 */
    double weight; /* in the averages, base kernel; 0: it is not registered */
    const clvox_volume
        *image; /* on one scale; NULL: its base was 0 from the start, or another member has it */
    const clvox_volume *further[CLVOX_ATLAS_CHANNELS - 1]; /* of the other channels */
    clvox_atlas_scaled own_scaled;                   /* which has these, where the subject came without */
    double largest[CLVOX_ATLAS_CHANNELS];            /* absolute values in these */
    double took;                                     /* seconds of its last registration */
    double affine[4][4]; /* of the linear rounds */
    /* Its matrix is that, or for a template of a regression centred anew; no warps before the end. */
    clvox_atlas_map map;
    clv_atlas_fields fields;
} clv_atlas_member;

/* A context's room for maps of subjects. */
typedef struct clv_atlas_place {
    int first;          /* the first of the contexts on its device */
    long room;          /* of that first one: subjects whose maps the device still takes */
    clv_buffer **spare; /* buffers that are left over */
    int spares;
    int busy, passing;  /* of that first one: contexts with a subject, and those of which a map passes by */
    double idle_since;  /* all of them do */
} clv_atlas_place;

typedef struct clv_atlas_run {
    clvox_context **ctx;     /* of every device; what concerns no single subject is done on the first */
    clv_atlas_place *places; /* one for each of these */
    int devices;
    pthread_mutex_t lock; /* guards what the devices' threads change: weights, counts, the progress */
    const clvox_atlas_options *o;
    const clvox_volume *start;
    const clvox_atlas_regression *along; /* NULL: one template */
    int at;                              /* the template that is being made; -1 in the linear rounds */
    clv_atlas_member *s; /* in the order of their contents: sums do not hang on the order given */
    int count;
    bool apart;       /* each member of the team has images of its own */
    double weights;   /* the sum of those in the averages */
    clvox_grid grid;  /* stored as near to RAS as may be */
    int cut[3];       /* of the whole grid, the voxel that is its first */
    clvox_grid shown; /* as the caller's images are stored: the same voxels in another order */
    clvox_volume *average, *next;
    clvox_volume *further[CLVOX_ATLAS_CHANNELS - 1]; /* averages of the other channels */
    int linear, rounds; /* to be done: rounds of linear registration, and all of a template */
    int registered;     /* registrations until now, those of a state among them */
    int fresh[2];       /* of this process, not yet shared: registrations, and those of a state */
    double largest[CLVOX_ATLAS_CHANNELS]; /* absolute intensity of all subjects */
    clvox_atlas_result *out;
    char *key;              /* what a state has to be of; NULL: none is kept */
    double opened, keeping; /* seconds: when the state was opened, and what devices have spent on it since */
    struct clv_atlas_center *center; /* of a deformable round (center.c); NULL: before the first */
    int moves;                       /* of its maps by a mean */
    int usual;                       /* moves of the last such round; before the first one, what most take */
    struct clv_atlas_keeper *keeper; /* writes the state beside the run; NULL: nothing has been kept */
    const char *stage;
    bool registering; /* a deformable round's subjects */
    double done, all;
    double *under_way; /* of a registration, for each device */
    bool stopped;      /* by the caller, or a failure */
} clv_atlas_run;

/* Of the work of a round, averaging a subject against registering it. */
#define CLV_ATLAS_AVERAGING .15

/* Whether a channel does register: its weight is not 0, or all are. */
bool clv_atlas_registers(const clvox_atlas_options *o, int channel);
/* What a subject is registered by, to the template as it is; its image has to be here. */
clvox_register_images clv_atlas_images(const clv_atlas_run *a, const clv_atlas_member *s);
/* A volume of a subject, which is not changed any more, goes where options->store has room; NULL is legal. */
int clv_atlas_keep(const clv_atlas_run *a, clvox_volume *volume);
/* Puts the subject's name before the message. */
int clv_atlas_fail(int status, const clv_atlas_member *s);
/* The weights of the template that is being made. */
void clv_atlas_weigh(clv_atlas_run *a);
/* Rounds until there are `rounds`. */
int clv_atlas_run_until(clv_atlas_run *a, int rounds);
/* The maps go to the places where their subjects were given; those given twice have copies. */
int clv_atlas_hand_over(clv_atlas_run *a);
/* The templates of a regression, after the linear rounds. */
int clv_atlas_regress(clv_atlas_run *a);
/* Leaves a subject out, for options->skip_bad; clv_atlas_share finds out where none is left. */
void clv_atlas_leave_out(clv_atlas_member *s, const char *why);

/* The devices of a run, from the call and its options: refuses those that differ. */
int clv_atlas_devices_open(clv_atlas_run *a, clvox_context *first);
void clv_atlas_devices_close(clv_atlas_run *a);
/* The same for each device, on a thread of its own. A failure is told as of clv_atlas_each. */
int clv_atlas_every(clv_atlas_run *a, int (*take)(clv_atlas_run *a, int device, void *user), void *user);

/* ---- maps during deformable rounds (fields.c): of one subject only one thread at a time ---- */

/* How many subjects' maps the devices take, once the grid is known; and the end of all. */
int clv_atlas_fields_open(clv_atlas_run *a);
void clv_atlas_fields_close(clv_atlas_run *a);
/* Room for the maps of a subject that this device finds, which replace those it has. They are written once:
 * into fields.buffer, or by one of the next three. */
int clv_atlas_fields_make(clv_atlas_run *a, clv_atlas_member *s, int device);
/* The same in host memory or on disk. */
int clv_atlas_fields_make_kept(clv_atlas_run *a, clv_atlas_member *s);
/* All values of one of them from host memory, and to there: by the thread of the device that has them. */
int clv_atlas_fields_write(clv_atlas_run *a, clv_atlas_member *s, int which, const float *values);
int clv_atlas_fields_read(clv_atlas_run *a, const clv_atlas_member *s, int which, float *values);
/* Both of them from the device, to host memory or disk. */
int clv_atlas_fields_fetch(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *const from[2]);
/* What has been written is not changed any more by others. */
int clv_atlas_fields_keep(const clv_atlas_run *a, const clv_atlas_member *s);
/* The device takes no further maps, and what it holds for none is gone: by its own thread. */
void clv_atlas_fields_no_more(clv_atlas_run *a, int device);
/* The same, and those of subjects move to host memory: 1 where that gave memory back, else 0. */
int clv_atlas_fields_leave(clv_atlas_run *a, int device);
/* Buffers for a step on a device, before it looks at maps: where others have taken its memory, maps leave it. */
int clv_atlas_take(clv_atlas_run *a, int device, const clv_request *requests, int count);
void clv_atlas_fields_drop(clv_atlas_run *a, clv_atlas_member *s);
bool clv_atlas_fields_resident(const clv_atlas_member *s);
/* Whether they lie away from the device, on disk or across a bus: then they are moved each time that they
 * are read, which is less work than to write them again. */
bool clv_atlas_fields_away(const clv_atlas_run *a, const clv_atlas_member *s);
/* One of them on the device, after all moves: where it is, or in room[0]; two buffers of as many bytes,
 * which may have changed places. */
int clv_atlas_fields_on(clv_atlas_run *a, const clv_atlas_member *s, int device, int which,
                        clv_buffer *room[2], clv_buffer **field);
/* The same of both, with three buffers; what is not away has been moved then. */
int clv_atlas_fields_move(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *room[3],
                          clv_buffer *field[2]);
/* They become the warps of the result. */
int clv_atlas_fields_volumes(clv_atlas_run *a, clv_atlas_member *s, int device);
/* ---- values between a device and the host (transfer.c): by the device's own thread ---- */

/* So many more of the contexts on a device have a subject, and of so many more a map passes by: seconds
 * while none is at work are told. Nothing before clv_atlas_fields_open. */
void clv_atlas_busy(clv_atlas_run *a, int device, int busy, int passing);

/* All values of a volume to a buffer, and from there; of one on disk, and of all on a GPU, in pieces that
 * several threads read or write while others are under way. */
int clv_atlas_send(clv_atlas_run *a, int device, const clvox_volume *volume, clv_buffer *to);
int clv_atlas_fetch(clv_atlas_run *a, int device, clv_buffer *from, clvox_volume *volume);

/* A volume on the run's grid as the caller's images are stored: a new one, and in the place of that. */
int clv_atlas_shown(const clv_atlas_run *a, const clvox_volume *volume, clvox_volume **out);
int clv_atlas_show(const clv_atlas_run *a, clvox_volume **volume);

/* The volumes of a subject, of which options->store has some on disk: those that are read soon are fetched,
 * and all give their memory back. */
enum { CLV_ATLAS_IMAGE = 1, CLV_ATLAS_WARPS = 2, CLV_ATLAS_LABELS = 4 };
void clv_atlas_expect(const clv_atlas_run *a, const clv_atlas_member *s, unsigned reads);
void clv_atlas_rest(const clv_atlas_run *a, const clv_atlas_member *s);
/* Subjects that are looked at together: a group's memory is given back before the next one's is read. */
enum { CLV_ATLAS_TOGETHER = 8 };

/* What is done for each subject on its own. */
typedef struct clv_atlas_step {
    int (*take)(clv_atlas_run *a, clv_atlas_member *s, int device, void *user);
    void *user;
    double work;           /* against a registration */
    clvox_atlas_work name; /* CLVOX_ATLAS_WORKS: it is not timed */
    /* Of CLV_ATLAS_IMAGE and so on; with CLV_ATLAS_WARPS the device that has the maps takes it. */
    unsigned reads;
    bool all;  /* also of those that take no part */
} clv_atlas_step;
/* Takes the step for every subject, on the device that is free first, a thread each. A failure stops the
 * others; its sentence, of several the first subject's, becomes the caller's. */
int clv_atlas_each(clv_atlas_run *a, const clv_atlas_step *step);
/* Tells the progress; share: of the registration that is under way on the device. CLVOX_ERROR_STOPPED */
int clv_atlas_told(clv_atlas_run *a, int device, double share);
/* Tells what took the time since `mark` (clv_seconds). */
void clv_atlas_timed(clv_atlas_run *a, clvox_atlas_work work, double mark);

/* Sorts the subjects, finds those given twice, brings them to one scale and finds the grid and where they
 * begin on it. */
int clv_atlas_gather(clv_atlas_run *a, const clvox_atlas_subject *subjects);
/* What tells contents apart: where a hash begins, on with some bytes, and that of a subject's image and
 * mask, and of its other channels. */
#define CLV_ATLAS_BASIS UINT64_C(14695981039346656037)
uint64_t clv_atlas_hash_bytes(uint64_t hash, const void *bytes, size_t size);
void clv_atlas_hash(const clvox_atlas_subject *s, int channels, uint64_t hash[2]);
/* Whether a template can be made of it: of one value a voxel, and of one frame. */
bool clv_atlas_is_image(const clvox_volume *v);
/* Refuse a number of channels that templates do not take, and a subject without an image of each. */
int clv_atlas_check_channels(const clvox_atlas_options *o);
int clv_atlas_check_images(const clvox_atlas_subject *s, const clvox_atlas_options *o);
/* All of scaled but the hashes; on failure it holds some, for the second. What is wrong with the images or
 * the mask begins with the subject's name. */
int clv_atlas_scale(const clvox_atlas_subject *s, const clvox_atlas_options *o, clvox_atlas_scaled *scaled);
void clv_atlas_scaled_release(clvox_atlas_scaled *scaled);
/* The first and last voxel of the box around what stands out of the background in an image, and inside
 * the mask (may be NULL). */
int clv_atlas_find_box(const clvox_volume *image, const clvox_volume *mask, int box[2][3]);
/* Of a cube as large as a voxel, mm. */
double clv_atlas_edge(const clvox_grid *grid);

/* ---- sums over subjects (sums.c) ---- */

/* Takes what all subjects have summed, numbers `from` to from + count - 1: from several threads, each
 * number once; from and count are even, but for an odd last count. */
typedef void (*clv_atlas_sums_taker)(void *user, const int32_t *sum, size_t from, size_t count);
typedef struct clv_atlas_sums {
    clv_atlas_run *a;
    size_t count;         /* of numbers */
    clv_buffer **of;      /* each device's; NULL: it has none */
    int32_t **room;       /* pinned memory of each device for pieces of it; while all are taken */
    pthread_mutex_t *own; /* of each device */
    int32_t *all;         /* of a team, on the host; else NULL */
    clv_atlas_sums_taker take;
    void *user;
} clv_atlas_sums;
int clv_atlas_sums_open(clv_atlas_run *a, size_t count, clv_atlas_sums *s);
void clv_atlas_sums_close(clv_atlas_sums *s); /* also of what failed to open, and twice */
void clv_atlas_sums_clear(clv_atlas_sums *s); /* to 0 */
/* The device's own sum, 0 at first: for kernels, by its thread. */
int clv_atlas_sums_on(clv_atlas_sums *s, int device, clv_buffer **sum);
/* That there is one, before a step looks at maps: where others have taken its memory, maps leave it. */
int clv_atlas_sums_make(clv_atlas_sums *s, int device);
/* What all devices and members of the team have summed; the sums are 0 again. */
int clv_atlas_sums_take(clv_atlas_sums *s, clv_atlas_sums_taker take, void *user);
/* Subjects that take part: sums hold that many. */
int clv_atlas_taking_part(const clv_atlas_run *a);

/* ---- teams: without one these do nothing, and every subject is mine ---- */

bool clv_atlas_is_mine(const clv_atlas_run *a, const clv_atlas_member *s);
/* Gives the subjects that take part to the members in turn, unless each has its own. */
void clv_atlas_deal(clv_atlas_run *a);
/* Whether each member has images of its own: then what it knows of them becomes known to all, first their
 * contents, then what is known once they are on one scale. */
int clv_atlas_share_contents(clv_atlas_run *a);
int clv_atlas_share_scaled(clv_atlas_run *a);
/* What each member knows of its subjects, but warps, becomes known to all. CLVOX_ERROR_DATA: none is left. */
int clv_atlas_share(clv_atlas_run *a);
/* The first member's matrices and weights become those of all: versions of libm may differ in a last bit. */
int clv_atlas_settle(clv_atlas_run *a);
int clv_atlas_total(const clv_atlas_run *a, int64_t *values, size_t count);
int clv_atlas_spread(const clv_atlas_run *a, int from, void *bytes, size_t size);
/* A volume of a grid and number of frames that one member has becomes all members'. */
int clv_atlas_spread_volume(const clv_atlas_run *a, int from, int frames, clvox_kind kind, clvox_volume **v);
/* Subjects of a run. */
enum { CLV_ATLAS_MOST = 65536 };

/* A volume of a subject through its whole map (warp, affine), sampled once; outside it is NaN, labels 0. */
int clv_atlas_pull(clv_atlas_run *a, int device, const clv_atlas_member *s, const clvox_volume *volume,
                   clvox_interpolation interpolation, clvox_volume **out);
/* a->next from the images through their maps; and how like it they are, unless so many rounds to come will
 * tell anew. */
int clv_atlas_average(clv_atlas_run *a, int to_come);
/* Of a further channel alone. */
int clv_atlas_average_further(clv_atlas_run *a, int channel);
/* The new template takes the place of the old one. */
int clv_atlas_replace(clv_atlas_run *a, clvox_atlas_round *round);

/* Removes the mean of the affines. */
int clv_atlas_center_affines(clv_atlas_run *a, clvox_atlas_round *round);
/* Before the registrations of a deformable round: the moves of the one before are gone. */
int clv_atlas_center_begin(clv_atlas_run *a);
void clv_atlas_center_end(clv_atlas_run *a);
/* Maps that have just been found and are on the device: the mean need not fetch them. */
int clv_atlas_center_add(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *const field[2]);
/* Removes the mean of the warps. */
int clv_atlas_center_warps(clv_atlas_run *a, clvox_atlas_round *round);
/* Some maps lack moves from now on: none is given up. */
void clv_atlas_center_stays(clv_atlas_run *a);
/* One of a subject's maps after move `number`, from 0 on. */
int clv_atlas_center_follow(const clv_atlas_run *a, int device, int which, int number, clv_buffer *field,
                            clv_buffer *out);

/* The labels of the result; none where no subject has labels. */
int clv_atlas_vote(clv_atlas_run *a);
/* These through the inverse of a subject's map, whose warps are volumes of the result by now. */
int clv_atlas_label(clv_atlas_run *a, clv_atlas_member *s, int device);

/* A run's state in the folder options->state. Without one these do nothing. */

/* Takes over what an earlier run had done in whole rounds. Refuses a state of another run. */
int clv_atlas_state_open(clv_atlas_run *a);
/* The maps of a subject that this round has registered, unless that takes too much of the time. */
int clv_atlas_state_keep(clv_atlas_run *a, const clv_atlas_member *s);
/* 1 where an earlier run had them: then they are the subject's now, as if this device had found them;
 * else 0. */
int clv_atlas_state_find(clv_atlas_run *a, clv_atlas_member *s, int device);
/* A round is over, and another follows. */
int clv_atlas_state_advance(clv_atlas_run *a);
/* Waits for what is being written: no function of a state may follow but clvox_atlas_forget. What cannot be
 * written now is told in the result. */
void clv_atlas_state_end(clv_atlas_run *a);
/* After the end of a run that has succeeded: what the first member that could not write has to tell, all
 * tell. */
int clv_atlas_state_share_end(clv_atlas_run *a);
/* The figures of a template of a regression: kept once it has been taken, and found again. */
int clv_atlas_state_keep_template(const clv_atlas_run *a);
int clv_atlas_state_find_template(const clv_atlas_run *a, int at, clvox_atlas_result *r);

#endif
