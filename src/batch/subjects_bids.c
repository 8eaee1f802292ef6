/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a BIDS folder: the anatomical image of each subject, or of each of its sessions, and
 * participants.tsv. */
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "batch/subjects.h"
#include "batch/table.h"
#include "clvox/files.h"

typedef struct scan {
    char *subject, *session, *path; /* session: NULL where there are none */
    char *further[CLVOX_ATLAS_CHANNELS - 1]; /* images of channels 2 and on; NULL: missing */
} scan;

typedef struct bids {
    clvox_list *list;
    const char *folder, *wanted, *covariate; /* wanted: suffixes, as typed */
    scan *scan;
    int scans;
    bool sessions;
    char suffix[CLVOX_ATLAS_CHANNELS][NAME_MAX + 1]; /* of every channel */
    char ***person; /* rows of participants.tsv: the fields of the list's columns */
    int people, id; /* id: the column participant_id */
} bids;

/* ---- images -------------------------------------------------------------- */

static int is_subject(const struct dirent *d)
{
    return !strncmp(d->d_name, "sub-", 4);
}

static int is_session(const struct dirent *d)
{
    return !strncmp(d->d_name, "ses-", 4);
}

/* NAME_SUFFIX.nii.gz, or .nii: the standard has no other. */
static bool is_image(const char *name, const char *suffix)
{
    const char *end = clvox_volume_ending(name);
    const ptrdiff_t more = (ptrdiff_t)strlen(suffix);
    const bool nifti = clvox_file_ends(name, ".nii") || clvox_file_ends(name, ".nii.gz");
    return nifti && end - name > more + 1 && end[-more - 1] == '_' &&
           !strncmp(end - more, suffix, (size_t)more);
}

/* "T1w,T2w" */
static int read_suffixes(bids *b)
{
    const char *at = b->wanted;
    for (b->list->channels = 0; b->list->channels < CLVOX_ATLAS_CHANNELS; at++) {
        const size_t length = strcspn(at, ",");
        if (!length || length > NAME_MAX)
            break;
        snprintf(b->suffix[b->list->channels++], sizeof *b->suffix, "%.*s", (int)length, at);
        at += length;
        if (!*at)
            return CLVOX_OK;
    }
    return clvox_fail(CLVOX_ERROR_ARGUMENT,
                      "suffix %s: up to %d suffixes with commas between them are needed, as T1w,T2w",
                      b->wanted, CLVOX_ATLAS_CHANNELS);
}

/* The image of a channel; "": there is none. */
static int find_image(const char *folder, const char *suffix, char found[PATH_MAX])
{
    int status = CLVOX_OK, count;
    char path[2 * PATH_MAX];
    struct dirent **entry;
    *found = 0;
    snprintf(path, sizeof path, "%s/anat", folder);
    count = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entry[i]->d_name;
        if (status < 0 || !is_image(name, suffix)) {
            free(entry[i]);
            continue;
        }
        if (*found)
            status =
                clvox_fail(CLVOX_ERROR_DATA,
                           "%s: more than one image ends in _%s (%s, %s); --suffix chooses, as in run-1_%s",
                           path, suffix, strrchr(found, '/') + 1, name, suffix);
        else if (snprintf(found, PATH_MAX, "%s/%s", path, name) >= PATH_MAX)
            status = clvox_fail(CLVOX_ERROR_FILE, "%s: the name is too long", name);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
    return status;
}

/* The images of a subject or session; without that of the first channel, which is no error, none. */
static int find_images(bids *b, const char *folder, const char *subject, const char *session)
{
    char found[PATH_MAX], further[PATH_MAX];
    int status = find_image(folder, b->suffix[0], found);
    if (status < 0 || !*found)
        return status;
    scan *grown = reallocarray(b->scan, (size_t)b->scans + 1, sizeof *grown);
    if (!grown)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    b->scan = grown;
    scan *one = &b->scan[b->scans++];
    *one = (scan){
        .subject = strdup(subject), .session = session ? strdup(session) : NULL, .path = strdup(found)};
    b->sessions |= session != NULL;
    for (int c = 1; c < b->list->channels; c++) {
        status = find_image(folder, b->suffix[c], further);
        if (status < 0)
            return status;
        if (*further && !(one->further[c - 1] = strdup(further)))
            return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    return one->subject && one->path && (one->session || !session)
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

/* Those of its sessions, or its own where it has none. */
static int find_subject(bids *b, const char *subject)
{
    int status = CLVOX_OK;
    char folder[PATH_MAX], session[PATH_MAX + NAME_MAX + 2];
    struct dirent **entry;
    snprintf(folder, sizeof folder, "%s/%s", b->folder, subject);
    const int count = scandir(folder, &entry, is_session, alphasort);
    if (count <= 0)
        status = find_images(b, folder, subject, NULL);
    for (int i = 0; i < count; i++) {
        snprintf(session, sizeof session, "%s/%s", folder, entry[i]->d_name);
        if (status >= 0)
            status = find_images(b, session, subject, entry[i]->d_name);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
    return status;
}

static int find_all(bids *b)
{
    int status = CLVOX_OK;
    struct dirent **entry;
    const int count = scandir(b->folder, &entry, is_subject, alphasort);
    for (int i = 0; i < count; i++) {
        if (status >= 0)
            status = find_subject(b, entry[i]->d_name);
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
    if (status >= 0 && !b->scans)
        status = clvox_fail(CLVOX_ERROR_FILE, "%s: there is no sub-*/[ses-*/]anat/*_%s.nii.gz in this folder",
                            b->folder, b->suffix[0]);
    return status;
}

/* ---- participants -------------------------------------------------------- */

static int read_person(void *user, int line, const char *const *text)
{
    bids *b = user;
    char ***grown = reallocarray(b->person, (size_t)b->people + 1, sizeof *grown);
    (void)line;
    if (!grown)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    b->person = grown;
    return clv_list_fields(b->list, text + 1, &b->person[b->people++]);
}

static int find_column(const clvox_list *l, const char *name)
{
    int at = 0;
    while (at < l->columns && strcmp(l->column[at], name) != 0)
        at++;
    return at;
}

static int read_people(bids *b)
{
    static const char *const own[] = {"image", "subject", "session", "log_affine", "", NULL};
    int status = CLVOX_OK;
    clvox_list *l = b->list;
    char path[PATH_MAX];
    const char *names[CLVOX_TABLE_COLUMNS] = {"participant_id"};
    snprintf(path, sizeof path, "%s/participants.tsv", b->folder);
    if (!access(path, F_OK)) {
        CLV_TRY(clv_list_columns(l, path, own));
        for (int i = 0; i < l->columns; i++)
            names[1 + i] = l->column[i];
        CLV_TRY(clvox_table_read(&(clvox_table){path, names, 1, read_person, b}));
    } else if (!(l->column = calloc(1, sizeof *l->column)) || !(l->column[l->columns++] = strdup(*names))) {
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    b->id = find_column(l, *names);
    if (b->covariate && find_column(l, b->covariate) == l->columns)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no column `%s`", path, b->covariate);
end:
    return status;
}

/* Row of a subject in participants.tsv, where its name usually begins with sub- too; NULL: none. */
static char **person_of(const bids *b, const char *subject)
{
    for (int i = 0; i < b->people; i++) {
        const char *id = b->person[i][b->id];
        if (!strcmp(id, subject) || !strcmp(id, subject + strlen("sub-")))
            return b->person[i];
    }
    return NULL;
}

static void drop(clvox_listed *e)
{
    free(e->image);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        free(e->further[c - 1]);
}

static int add(bids *b, const scan *s, int regressed)
{
    clvox_list *l = b->list;
    const char *text[CLVOX_TABLE_COLUMNS] = {NULL};
    char *const *person = person_of(b, s->subject), *end;
    clvox_listed e = {.image = strdup(s->path), .weight = 1, .covariate = NAN};
    for (int c = 1; c < l->channels; c++)
        e.further[c - 1] = s->further[c - 1] ? strdup(s->further[c - 1]) : NULL;
    for (int i = 0; i < l->columns; i++)
        text[i] = i == b->id ? s->subject : person ? person[i] : NULL;
    if (b->sessions)
        text[l->columns - 1] = s->session;
    const char *value = regressed < l->columns && text[regressed] ? text[regressed] : "n/a";
    if (strcmp(value, "n/a") != 0) {
        e.covariate = strtod(value, &end);
        if (*end || end == value || !isfinite(e.covariate)) {
            drop(&e);
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s/participants.tsv: the %s of %s, %s, is not a number",
                              b->folder, b->covariate, s->subject, value);
        }
    }
    const int status = clv_list_fields(l, text, &e.field);
    if (status < 0) {
        drop(&e);
        return status;
    }
    return clv_list_add(l, &e);
}

/* Sessions are one more column. */
static int add_sessions(clvox_list *l)
{
    char **grown = reallocarray(l->column, (size_t)l->columns + 1, sizeof *grown);
    if (grown)
        l->column = grown;
    if (!grown || !(l->column[l->columns] = strdup("session")))
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    l->columns++;
    return CLVOX_OK;
}

int clv_list_bids(clvox_list *l, const char *folder, const char *suffix, const char *covariate)
{
    int status = CLVOX_OK, known = 0;
    bids b = {.list = l, .folder = folder, .wanted = suffix, .covariate = covariate};
    CLV_TRY(read_suffixes(&b));
    CLV_TRY(find_all(&b));
    CLV_TRY(read_people(&b));
    known = l->columns;
    if (b.sessions)
        CLV_TRY(add_sessions(l));
    const int regressed = covariate ? find_column(l, covariate) : l->columns;
    for (int i = 0; i < b.scans; i++)
        CLV_TRY(add(&b, &b.scan[i], regressed));
end:
    for (int i = 0; i < b.scans; i++) {
        free(b.scan[i].subject);
        free(b.scan[i].session);
        free(b.scan[i].path);
        for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
            free(b.scan[i].further[c - 1]);
    }
    for (int i = 0; i < b.people; i++)
        clv_table_names_destroy(b.person[i], known ? known : l->columns);
    free(b.person);
    free(b.scan);
    return status;
}
