/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs: options given everywhere, printing, the JSON log, reading inputs, Ctrl-C. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "cli/claims.h"
#include "cli/options.h"
#include "cli/status.h"
#include "cli/team.h"
#include "clvox/apply.h"
#include "clvox/command/chain.h"
#include "clvox/command/inputs.h"
#include "clvox/command/record.h"
#include "clvox/command/results.h"
#include "clvox/device.h"
#include "clvox/shape.h"
#include "clvox/surface.h"
#include "clvox/tensor.h"

typedef struct command {
    const char *verb;
    const char *device;
    int threads;
    const char *json; /* NULL, a file, or "-" */
    bool profile, no_cache, no_wisdom, no_clobber, quiet;
    bool own_driver; /* the OpenCL driver is the one in clvox's own folder */
    bool silent; /* one of many runs: a table says how they went */
    bool in_place; /* an output may be an input */
    bool rehearsal; /* a child of cli_warm: nothing is written */
    int left_out;   /* by it, of kernels */
    int verbose;
    bool parsed;        /* what was typed makes sense, and the log may be written */
    cli_claims *claims; /* what is read and will be written */
    cJSON *log;       /* provenance and results */
    clvox_context *ctx; /* opened by cli_open */
    clvox_context **more; /* what cli_open_all opens besides it: more_count - 1, after an empty first place */
    int more_count;
    int at_once;      /* of them, on each device: contexts i, i + devices, ... are on one */
    clvox_team *team; /* of cli_team_open; NULL: this process is alone */
    int local_rank;   /* in it, among the processes of this host */
    double started;
} command;

typedef struct cli_verb {
    const char *name;
    const char *help;
    int (*run)(command *cli, int argc, char **argv); /* a clvox_status, CLI_DONE or CLI_USAGE */
} cli_verb;

/* The second word of a verb that has one. verb: both, as messages name them. */
typedef struct cli_subcommand {
    const char *name, *verb;
    int (*run)(command *cli, int argc, char **argv);
} cli_subcommand;

/* Prints the verbs as JSON, as cli_describe does one of them. */
int cli_describe_verbs(const cli_verb *verbs);

/* A program of these verbs (the rows end with name NULL); returns its exit code. */
int cli_main(const cli_verb *verbs, int argc, char **argv);

/* Runs a verb as the program does, with its messages; argv[0] is its name. Returns its exit code. */
int cli_run(const cli_verb *verb, int argc, char **argv);

/* Runs the row that argv[1] names (rows end with name NULL), or prints the help of the verb. */
int cli_run_subcommand(command *cli, const cli_subcommand *rows, int argc, char **argv);

int cmd_ants(command *cli, int argc, char **argv);
/* Whether clvox answers a program of ANTs by this name. */
bool cli_ants_is(const char *name);
int cmd_apply(command *cli, int argc, char **argv);
int cmd_atlas(command *cli, int argc, char **argv);
int cmd_bids(command *cli, int argc, char **argv);
int cmd_compare(command *cli, int argc, char **argv);
int cmd_compose(command *cli, int argc, char **argv);
int cmd_epi(command *cli, int argc, char **argv);
int cmd_devices(command *cli, int argc, char **argv);
int cmd_filter(command *cli, int argc, char **argv);
int cmd_filter_dwi(command *cli, int argc, char **argv);
int cmd_filter_match(command *cli, int argc, char **argv);
int cmd_filter_median(command *cli, int argc, char **argv);
int cmd_filter_n4(command *cli, int argc, char **argv);
int cmd_filter_nlm(command *cli, int argc, char **argv);
int cmd_filter_tv(command *cli, int argc, char **argv);
int cmd_filter_winsorize(command *cli, int argc, char **argv);
int cmd_info(command *cli, int argc, char **argv);
int cmd_invert(command *cli, int argc, char **argv);
int cmd_labels(command *cli, int argc, char **argv);
int cmd_measure(command *cli, int argc, char **argv);
int cmd_jacobian(command *cli, int argc, char **argv);
int cmd_phantom(command *cli, int argc, char **argv);
int cmd_register(command *cli, int argc, char **argv);
int cmd_segment(command *cli, int argc, char **argv);
int cmd_series(command *cli, int argc, char **argv);
int cmd_shoot(command *cli, int argc, char **argv);
int cmd_stats(command *cli, int argc, char **argv);
/* The same with --entropy. */
int cmd_stats_entropy(command *cli, int argc, char **argv);
int cmd_surface(command *cli, int argc, char **argv);
int cmd_surface_distance(command *cli, int argc, char **argv);
int cmd_surface_mesh(command *cli, int argc, char **argv);
int cmd_surface_compare(command *cli, int argc, char **argv);
int cmd_surface_denoise(command *cli, int argc, char **argv);
int cmd_tensor(command *cli, int argc, char **argv);
int cmd_tensor_all(command *cli, int argc, char **argv);
int cmd_tensor_denoise(command *cli, int argc, char **argv);
int cmd_tensor_fit(command *cli, int argc, char **argv);
int cmd_tensor_measures(command *cli, int argc, char **argv);

/* Remark number `at`, from 0, that a context has made; NULL: there is none yet. */
const char *cli_heard(int at);

/* The most that --jobs takes. */
enum { CLI_MOST_JOBS = 64 };

/* --at-once, of verbs that register many. */
enum { CLI_MOST_AT_ONCE = 16 };
#define CLI_AT_ONCE_HELP(usual) \
    "registrations at once on each device, as far as its memory goes (default: " usual ")"
#define CLI_AT_ONCE_GPU " on a GPU with 16 GB or more"

/* Results, on standard output; nothing when the JSON log goes there. */
void cli_print(const command *cli, const char *format, ...) CLVOX_PRINTF(2, 3);
/* Remarks, on standard error: level 0 unless -q, level n with n times -v. */
void cli_remark(const command *cli, int level, const char *format, ...) CLVOX_PRINTF(3, 4);
/* A remark that matters for the result: on standard error unless -q, and among "remarks" in the log. */
void cli_note(command *cli, const char *format, ...) CLVOX_PRINTF(2, 3);
/* A clvox_log: user is the command. Level 0 is said in any case, level n as a remark of the level before. */
void cli_hear(void *user, int level, const char *line);
/* Seconds since some moment, of a clock that nobody sets. */
double cli_seconds(void);
/* "1.4 GiB" in a buffer of at least 32 characters; returns it. */
char *cli_bytes(double bytes, char *out);

/* Has drivers load and open no more than the device that is asked for takes, before the first call to them
 * and before there are threads that look at the environment. */
void cli_drivers(const command *cli);
/* Opens the device of --device and enters it into the log; nothing when it is
 * open. */
int cli_open(command *cli);
/* Opens all devices of --device, for a verb whose usage says so, for at_once registrations on each (0: as
 * many as pay, at most `most`, on a CPU 1 unless it may be divided). */
int cli_open_all(command *cli, int at_once, int most, bool divide);
/* For many pairs or subjects: a part of the memory that the process may take stays with it from one to the
 * next. */
void cli_keep_memory(const command *cli);
/* The opposite: volumes that are released go back to the system, not into a heap that they leave holes in. */
void cli_give_memory_back(void);
/* Devices that cli_open_all has opened. */
int cli_devices(const command *cli);
/* Enters what was used of wisdom into the log. */
void cli_log_wisdom(command *cli);
/* Enters what was used of wisdom into the log and lets the devices go; nothing
 * when none is open. */
void cli_close(command *cli);
/* The table of --profile, and its entry in the log; nothing without it. */
int cli_profile(command *cli);

/* Readers that also enter the file, its size and its CRC-32 into the log. */
int cli_read_volume(command *cli, const char *path, clvox_volume **out);
/* A volume of one frame with at least one voxel above 0. path NULL: *out NULL. */
int cli_read_mask(command *cli, const char *path, clvox_volume **out);
/* Tensors; the message where the file does not say its order names --order. */
int cli_read_tensor(command *cli, const char *path, clvox_tensor_order order, clvox_volume **out);
/* 0 where either bval and bvec or MRtrix's table are given, else a misuse. */
int cli_check_gradients(const char *bval, const char *bvec, const char *mrtrix);
/* The table of gradients: bval and bvec, or MRtrix's; of a DWI on this grid. The
 * others are NULL. */
int cli_read_gradients(command *cli, const char *bval, const char *bvec, const char *mrtrix,
                       const clvox_volume *dwi, clvox_gradients **out);
int cli_read_transform(command *cli, const char *path, clvox_transform **out);
/* The inverse of a warp, numerically, on the device. Says where the warp folds and where the inverse is off by more
 * than a voxel; fails, naming path, where it is off on average. error: as of clvox_invert. */
int cli_invert_warp(command *cli, const char *path, const clvox_volume *warp, clvox_volume **out, double error[2],
                    clvox_jacobian_summary *summary);
/* The transform that such a word means: inverted where it says so. */
int cli_read_link(command *cli, const char *text, clvox_transform **out);
/* All that a file holds; on failure *count is 0. */
int cli_read_transforms(command *cli, const char *path, clvox_transform **out, int room, int *count);
int cli_read_surface(command *cli, const char *path, clvox_surface **out);
int cli_read_curves(command *cli, const char *path, bool lps, clvox_shape **out);
int cli_read_surface_as(command *cli, const char *path, bool lps, clvox_surface **out);

/* Writers: enter the file into the log and remark on it. */
int cli_write_volume(command *cli, const clvox_volume *volume, const char *path);
/* Writes a filter's result of the file `in` and logs it by its kind; *entry takes further fields. status is the
 * filter's: below 0 the message names `in`. */
int cli_write_filtered(command *cli, int status, const char *in, const clvox_volume *volume, const char *path,
                       const char *kind, cJSON **entry);
/* Says what becomes of the values below 0 of the file `in`, where it has any. */
void cli_note_signs(command *cli, const clvox_volume *volume, const char *in, const char *what);
int cli_write_warp(command *cli, const clvox_volume *warp, const char *path);
/* --warp-type of verbs that write a warp, 1 for rounded (clvox_warp_round). Prints and logs what is lost. */
#define CLI_WARP_TYPE(type) \
    {"warp-type", 0, CLI_CHOICE, type, "float|rounded", \
     "numbers of the warp; rounded: to 1/128 mm, for a file of half the size or less (default float)"}
void cli_type_warp(command *cli, int type, clvox_volume *warp);
int cli_write_affine(command *cli, const double matrix[4][4], const char *path);
int cli_write_surface(command *cli, const clvox_surface *surface, const char *path);
int cli_write_surface_as(command *cli, const clvox_surface *surface, bool lps, const char *path);
int cli_write_tensor(command *cli, const clvox_volume *tensor, clvox_tensor_order order, const char *path);
/* The words of --order, in the order of clvox_tensor_order. */
#define CLI_TENSOR_ORDERS "auto|fsl|mrtrix|nifti|dipy"
/* Prints and logs what they come to; FA, MD and L3 are needed, mask may be NULL. */
int cli_report_measures(command *cli, clvox_volume *const maps[CLVOX_MEASURES], const clvox_volume *mask);
/* Remarks where fibres would hold together clearly better with axes of the
 * gradients of `path` turned round or exchanged. */
int cli_check_directions(command *cli, const char *path, clvox_volume *const maps[CLVOX_MEASURES]);
void cli_log_output(command *cli, const char *path);

/* Logs and prints how many rows of a list ended in each state. noun: "pairs". */
void cli_tell_rows(command *cli, const char *noun, const int count[CLVOX_PAIR_FAILED + 1]);
/* Writes the log to path ("-": standard output). */
int cli_write_log(command *cli, const char *path);

/* A chain of -t options. */
enum { CLI_MAX_LINKS = CLVOX_MAX_LINKS };
typedef clvox_chain cli_chain;
int cli_read_chain(command *cli, const cli_texts *texts, cli_chain *out);
void cli_chain_free(cli_chain *chain);

/* A volume to read. */
enum { CLI_AS_MASK = CLVOX_AS_MASK, CLI_AS_LABELS = CLVOX_AS_LABELS };
typedef clvox_input cli_input;
/* Reads volumes and a chain (texts NULL: none) side by
 * side and, where device is set, opens the device meanwhile and inverts the warps of the chain that are to be.
 * On failure what was read is released. */
int cli_load(command *cli, const cli_input *inputs, int count, const cli_texts *texts, cli_chain *chain,
             bool device);
/* Fails, naming both files, where `a` (NULL: nothing to compare) lies on another grid than `b`. */
int cli_on_grid(const char *path, const clvox_volume *a, const char *of, const clvox_volume *b);

/* Writes them as clvox_results_write, enters them into the log and forgets them. close: the device, which
 * nobody needs any more, is let go meanwhile, unless --profile still has to ask it. */
int cli_results_write(command *cli, clvox_results *r, bool close);

/* Adds the maps that there are as PREFIX_fa.nii.gz and so on, eigenvectors in
 * RAS or in the axes of FSL's bvecs, and the colours where FA and V1 are there. */
enum { CLI_MEASURE_ENDS = CLVOX_MEASURES + 2 };
void cli_measure_ends(unsigned wanted,
                      clvox_end ends[CLI_MEASURE_ENDS + 1]); /* the same files, to be claimed */
int cli_outputs_measures(clvox_results *o, const char *prefix, clvox_volume *const maps[CLVOX_MEASURES],
                         bool fsl);

/* True once Ctrl-C has been pressed while a cli_watch(true) had not been taken back by a
 * cli_watch(false), of any thread; otherwise Ctrl-C removes temporary files and ends the program with 130. */
bool cli_interrupted(void);
void cli_watch(bool on);
bool cli_is_watched(void);
/* From now on this is a process of mpirun, which sends SIGTERM where another one is lost: the first one
 * says so. */
void cli_team_signals(int rank);

#endif
