/* SPDX-License-Identifier: Apache-2.0 */
/* Records of `clvox bench` beside one another. Host only: no device is opened. */
#ifndef CLV_BENCH_COMPARE_H
#define CLV_BENCH_COMPARE_H

#include <cjson/cJSON.h>

#include "report/text.h"

enum { COMPARE_MOST = 8 }; /* records, as many as there are colours and marks */

/* Numbers that a record leaves out are NaN, text is "". Text is that of the
 * file, in UTF-8 without control characters, and lives as long as the record. */
typedef struct compare_ceiling {
    const char *name, *unit; /* "B/s", "FLOP/s", "s", "1/s" */
    double value;
} compare_ceiling;

typedef struct compare_row {
    const char *group, *name, *variant, *tile, *ceiling, *limit, *remark;
    int size[3];
    double seconds, spread, device_seconds;
    double low, high; /* quartiles of the samples */
    int samples;
    double bytes, operations; /* of a call */
    double share, registers, occupancy;
    bool verified;
    bool paper; /* the next are there */
    double paper_value, paper_here; /* the paper may give no figure */
    const char *paper_unit, *paper_device, *paper_conclusion;
    bool paper_holds;
} compare_row;

typedef struct compare_device {
    const char *name, *vendor, *platform, *driver, *version, *architecture, *type;
    double compute_units, clock_mhz, global_bytes, local_bytes;
} compare_device;

typedef struct compare_record {
    cJSON *tree;          /* holds the text */
    const char *path;     /* the caller's, which must live as long */
    const char *file;     /* its last part, as UTF-8 without control characters */
    char *file_text;
    const char *version, *date;
    const char *sources; /* the kernels' hash, "" in records of before */
    compare_device device;
    int ceilings, rows, remarks;
    compare_ceiling *ceiling;
    compare_row *row;
    const char **remark; /* what could not be measured there, and why */
} compare_record;

/* Reads a record of schema 1 and checks every member that is used. On success
 * the caller releases *out with compare_record_free; on failure (damaged, of
 * another program, of another schema) it is empty and the message says why. */
int compare_record_read(const char *path, compare_record *out);
void compare_record_free(compare_record *record);

/* What a line's times are divided by before they are compared, because its
 * sizes differ between records. */
typedef enum compare_basis {
    COMPARE_SECONDS, /* sizes agree */
    COMPARE_OPERATIONS,
    COMPARE_BYTES,
    COMPARE_VOXELS,
    COMPARE_NOTHING /* sizes differ and nothing says how the work grows */
} compare_basis;

/* One row as all records have it. */
typedef struct compare_line {
    const char *group, *name;
    const int *size;   /* NULL where it differs between records */
    bool sizes;        /* one record has it at several sizes, so that the size belongs to the name */
    compare_basis basis;                /* by which all records can be compared */
    compare_basis by[COMPARE_MOST];     /* and each with the first */
    const compare_row *row[COMPARE_MOST]; /* NULL: not in that record */
    int more[COMPARE_MOST];               /* further variants of it in that record */
    const int *usual[COMPARE_MOST];       /* the size that most rows of its group have there */
    double speed[COMPARE_MOST];           /* times as fast as the first record; NaN: no telling */
    bool alike[COMPARE_MOST];             /* the quartiles of both overlap */
} compare_line;

typedef struct compare_set {
    int count, lines;
    compare_record record[COMPARE_MOST];
    compare_line *line; /* grouped, in the order of the first record that has them */
} compare_set;

/* Matches the rows of the count records that are there. The caller releases
 * the set, also after a failure, with compare_set_free. */
int compare_match(compare_set *set);
void compare_set_free(compare_set *set);

/* What the basis makes of a row's time. */
double compare_cost(const compare_row *row, compare_basis basis);

/* The field of work that an operation belongs to, from the first word of its
 * name: one of compare_fields, which end with NULL. */
extern const char *const compare_fields[];
const char *compare_field(const char *name);

/* The geometric mean of speed[i] over the lines of a group (field: only those
 * of it; NULL: all), and over how many. NaN: none. */
double compare_mean(const compare_set *set, int i, const char *group, const char *field, int *count);

/* The same for the shares of ceilings. */
double compare_mean_share(const compare_set *set, int i, const char *group, int *count);

/* The size that most rows of a group have in record i; NULL: it has none of them. */
const int *compare_group_size(const compare_set *set, const char *group, int i);

/* The size to be told with the line's name, because it is not that of its group; else NULL. */
const int *compare_own_size(const compare_line *line);

/* A variant of the operation above it ("  name/variant tile"), or a stage of a
 * pipeline ("name: stage"): shown, but not counted as work of its own. */
bool compare_is_variant(const compare_line *line);
bool compare_is_stage(const compare_line *line);
/* A share to plot: some record states one, and the line is neither a variant nor a paper's. */
bool compare_has_share(const compare_line *line);

/* "seconds an operation" and the like; of COMPARE_SECONDS "". */
const char *compare_basis_text(compare_basis basis);

/* A ceiling of the record by name, NULL where it has none. */
const compare_ceiling *compare_find_ceiling(const compare_record *record, const char *name);

/* One of those of the schema. */
bool compare_group_is_known(const char *group);
/* The name of a group as a heading. */
const char *compare_group_title(const char *group);
/* A paper's table. */
bool compare_group_is_paper(const char *group);

/* The letter of record i: 'A' ... */
static inline char compare_letter(int i)
{
    return (char)('A' + i);
}

/* The row of a record that has a paper's conclusion beside it; NULL: none. */
const compare_row *compare_told(const compare_set *set, const compare_line *line);

/* The table for a terminal; for a README: of the devices, or of all rows. */
void compare_put_table(clv_text *to, const compare_set *set);
void compare_put_markdown_devices(clv_text *to, const compare_set *set);
void compare_put_markdown_rows(clv_text *to, const compare_set *set);
/* What papers found, their figures and those of each record. */
void compare_put_markdown_papers(clv_text *to, const compare_set *set);

#endif
