/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of `clvox atlas`. */
#ifndef CLI_CMD_ATLAS_ATLAS_H
#define CLI_CMD_ATLAS_ATLAS_H

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/cmd_register/options.h"
#include "clvox/atlas.h"
#include "clvox/batch.h"
#include "clvox/compare.h"

enum { CLI_ATLAS_VALUES = 64 };

typedef struct cli_atlas_entry {
    const clvox_listed *file;
    double weight;
    clvox_volume *volume, *mask_volume, *label_volume, *further_volume[CLVOX_ATLAS_CHANNELS - 1];
    clvox_atlas_scaled *scaled; /* NULL: the run scales its images, and says what is wrong with them */
} cli_atlas_entry;

/* Why a subject is left out; "": it is not. Processes add them up as integers. */
typedef struct cli_atlas_reason {
    char text[256];
} cli_atlas_reason;

/* Registrations at once on a GPU: their maps stay there, so that more would only wait for each other in the driver. */
enum { CLI_ATLAS_AT_ONCE = 2 };

typedef struct cli_atlas_request {
    const char *folder;              /* of -o, or of the derivatives */
    const char *derivatives, *space; /* names as in BIDS */
    char template_suffix[CLVOX_ATLAS_CHANNELS][NAME_MAX + 1];
    cli_texts templates; /* to start from, one a channel */
    const char *list, *weights, *regress, *at_list;
    const char *suffix; /* of the images of a BIDS folder, as typed: of every channel */
    int channels;       /* images of a subject */
    const char *channel_weights;
    double bandwidth;
    const char *given[CLVOX_MAX_OPTIONS], *of_register[CLVOX_MAX_OPTIONS];
    cli_presets presets;
    cli_atlas_entry *entry;
    cli_atlas_reason *why; /* of each */
    int count;
    clvox_list *files; /* and the columns that are taken over into subjects.tsv */
    clvox_volume *start[CLVOX_ATLAS_CHANNELS]; /* of templates */
    double at[CLI_ATLAS_VALUES];           /* of the covariate */
    const char *at_name[CLI_ATLAS_VALUES]; /* as typed, in at_text */
    char *at_text;
    int ats; /* 0: one template of all */
    bool within; /* subjects are scans of one person */
    bool report; /* also a page of each */
    const char *names; /* table of the labels' names for the pages */
    int at_once; /* registrations on each GPU; 0: as many as pay */
    bool dry_run;
    const char *plan_devices; /* "8,64,256" */
    int plan_subjects;
    const char *memory;      /* as typed */
    size_t limit;            /* of bytes of the subjects' volumes in memory */
    const char *device_memory;
    clvox_store *store;      /* with a limit */
    double read_seconds;     /* of all subjects, with their scaling */
    double open_seconds;     /* of the devices, listing them included */
    bool warps, with_labels; /* are written; with warps log J, too */
    bool own_labels;         /* of every subject */
} cli_atlas_request;

/* ---- subjects ---- */

/* The subjects of r->files, once these are read with this status. */
int cli_atlas_take(cli_atlas_request *r, int status);
/* "1,2,0.5", one for each image. */
int cli_atlas_read_weights(cli_atlas_request *r, const char *text);
/* Reads all, or this process's share, in any thread, and scales them; with skip_bad those that cannot be read
 * have a reason. */
int cli_atlas_load(command *cli, cli_atlas_request *r, const clvox_atlas_options *o);
/* After that, in the first thread: names those with a reason and leaves them out. Of a team every process
 * knows them then, and has all labels; images and masks stay with those that have read them. */
int cli_atlas_settle(command *cli, cli_atlas_request *r, const clvox_atlas_options *o);
/* The subject as the library takes it. */
clvox_atlas_subject cli_atlas_subject(const cli_atlas_entry *e, int channels);
/* Names a subject that is left out, and enters it into the log. */
void cli_atlas_leave_out(command *cli, const cli_atlas_entry *e, const char *why);
void cli_atlas_free(cli_atlas_request *r);

/* "8G": the bytes that an option asks for. */
int cli_atlas_read_bytes(const char *option, const char *text, size_t *out);
/* With --memory: the store, in the results' folder. */
int cli_atlas_open_store(cli_atlas_request *r);
/* Says where volumes were. */
void cli_atlas_report_store(const command *cli, const cli_atlas_request *r);

/* ---- the plan ---- */

/* Names of the steps that are timed. */
extern const char *const cli_atlas_works[CLVOX_ATLAS_WORKS];

/* Takes a few of the subjects through the steps of a run and tells what the whole will take; nothing is
 * written. */
int cli_atlas_plan(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects,
                   const clvox_atlas_options *o);

/* ---- files of subjects ---- */

/* Subjects whose files are written side by side: more would not be faster, as each file is compressed by
 * many threads. */
enum { CLI_ATLAS_TOGETHER = 4 };
/* How many of them; fewer where memory is limited and their scratch, two MiB for each thread of each, would
 * be more than a third of it. Bytes of that scratch. */
int cli_atlas_writers(const cli_atlas_request *r, double *scratch);

/* Subjects' maps on their way to files, and the sum of log J. */
typedef struct cli_atlas_maps {
    const cli_atlas_request *r;
    bool measuring;       /* for the plan: in temporary files that go again */
    pthread_mutex_t lock; /* guards all but the sum */
    pthread_cond_t done;
    int room, busy; /* subjects that are written side by side, at most and now */
    double since;   /* when the first one was on its way from a device; 0: none has been */
    int status;     /* of the first failure, with its sentence */
    char message[2048];
    pthread_mutex_t adding;
    int64_t *sum; /* of log J by their shares, a voxel each; NULL: there is none yet */
} cli_atlas_maps;

void cli_atlas_maps_begin(cli_atlas_maps *m, const cli_atlas_request *r, bool measuring);
/* The first map took so long to come: files are written since. */
void cli_atlas_maps_came(cli_atlas_maps *m, double seconds);
/* As clvox_atlas_options.map: finds log J and lets a thread write the files, once fewer than `room` are
 * being written. A failure of any of them is reported here or at the end. */
int cli_atlas_maps_take(cli_atlas_maps *m, clvox_context *ctx, int at, int subject, clvox_atlas_map *map);
/* Until all that came are written. */
int cli_atlas_maps_wait(cli_atlas_maps *m);
/* After that: the mean of log J over the team, by its first process into a file; the next sum is 0. */
int cli_atlas_maps_mean(cli_atlas_maps *m, command *cli, const clvox_grid *grid, const char *path);
void cli_atlas_maps_end(cli_atlas_maps *m);

/* ---- results ---- */

/* Files of a template, and those of the run, whose `at` is -1. */
typedef enum cli_atlas_file {
    CLI_ATLAS_TEMPLATE,
    CLI_ATLAS_LABELS,
    CLI_ATLAS_MEAN_LOG_JACOBIAN,
    CLI_ATLAS_SUBJECTS,
    CLI_ATLAS_SUMMARY,
    CLI_ATLAS_CHANGE, /* of one person, where labels and warps are */
    CLI_ATLAS_PAGE,
    CLI_ATLAS_LOG,
    CLI_ATLAS_STATE,      /* a folder */
    CLI_ATLAS_TEMPLATE_2, /* of the second channel, then of the others */
    CLI_ATLAS_TEMPLATE_3,
    CLI_ATLAS_TEMPLATE_4,
    CLI_ATLAS_FILES
} cli_atlas_file;

/* Files of a subject. */
typedef enum cli_atlas_map {
    CLI_ATLAS_AFFINE,
    CLI_ATLAS_WARP,
    CLI_ATLAS_INVERSE,
    CLI_ATLAS_LOG_JACOBIAN,
    CLI_ATLAS_OWN_LABELS, /* the template's, on its own grid */
    CLI_ATLAS_MAPS
} cli_atlas_map;

/* FOLDER/template.nii.gz, FOLDER/template_AT.nii.gz of a regression, or the name of derivatives. */
const char *cli_atlas_path(const cli_atlas_request *r, cli_atlas_file file, int at, char path[PATH_MAX]);
/* Whether subjects have such a file; and whether it was written, where they take part. */
bool cli_atlas_has_map(const cli_atlas_request *r, cli_atlas_map map);
bool cli_atlas_wrote_map(const cli_atlas_request *r, cli_atlas_map map, const clvox_atlas_result *result,
                         const char *path);
const char *cli_atlas_map_path(const cli_atlas_request *r, int subject, cli_atlas_map map, int at,
                               char path[PATH_MAX]);
/* A file as the table of subjects names it, against the table's folder. */
const char *cli_atlas_beside(const cli_atlas_request *r, const char *path, int at, char out[PATH_MAX + 8]);
/* For derivatives: checks that every image gives names, and that the folder may take them. */
int cli_atlas_check_names(cli_atlas_request *r);
/* The sidecar of a file of this kind (cli_atlas_map or cli_atlas_file); NULL: it has none. */
const char *cli_atlas_sidecar(const cli_atlas_request *r, int kind, bool of_subject, const char *path,
                              char out[PATH_MAX]);
/* Those of a template and its subjects, once the files are there. */
int cli_atlas_write_sidecars(command *cli, const cli_atlas_request *r, int at,
                             const clvox_atlas_result *result);
/* The files of all templates. */
int cli_atlas_claim(command *cli, const cli_atlas_request *r);
/* Writes a template with all that belongs to it, and waits for the files of its subjects. What an earlier run
 * has written has no average: it is entered into the log alone. */
int cli_atlas_write(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                    cli_atlas_maps *maps);
/* Volumes of the template's labels in the scans of a person. */
typedef struct cli_atlas_change {
    const cli_atlas_request *r;
    const clvox_atlas_result *result;
    clvox_label_measure *label; /* on the template */
    int labels;
    double *mm3; /* of label k in scan i at i * labels + k; 0 where that takes no part */
} cli_atlas_change;

/* Whether they are measured, and written. */
bool cli_atlas_has_change(const cli_atlas_request *r);
/* From the files of log J, once they are there; for cli_atlas_change_free. */
int cli_atlas_change_measure(const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                             cli_atlas_change *change);
void cli_atlas_change_free(cli_atlas_change *change);
/* The place of the first or last scan that takes part. */
int cli_atlas_change_scan(const cli_atlas_change *change, bool last);
int cli_atlas_change_write(const cli_atlas_request *r, int at, const clvox_atlas_result *result,
                           const char *path);
/* Places of the subjects, the least like the template first; the caller's to free, NULL without memory. */
int *cli_atlas_order(const cli_atlas_request *r, const clvox_atlas_result *result);
/* Writes the page of a template; its rounds are in the log. */
int cli_atlas_page(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_options *o,
                   const clvox_atlas_result *result);
/* Names the subjects whose registration looks wrong. */
void cli_atlas_doubts(command *cli, const cli_atlas_request *r, int at, const clvox_atlas_result *result);
void cli_atlas_report(cJSON *to, const cli_atlas_request *r, int at, const clvox_atlas_result *result, FILE *lines);

#endif
