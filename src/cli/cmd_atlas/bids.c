/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a BIDS folder: the anatomical image of each subject, or of each of its sessions, and
 * participants.tsv. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd_atlas/atlas.h"
#include "cli/table.h"
#include "clvox/files.h"

typedef struct scan {
    char *subject, *session, *path; /* session: NULL where there are none */
    char *further[CLVOX_ATLAS_CHANNELS - 1]; /* images of channels 2 and on; NULL: missing */
} scan;

typedef struct bids {
    cli_atlas_request *r;
    const char *folder;
    scan *scan;
    int scans;
    bool sessions;
    char suffix[CLVOX_ATLAS_CHANNELS][NAME_MAX + 1]; /* of every channel */
    char ***person; /* rows of participants.tsv: the fields of the request's columns */
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
    const size_t more = strlen(suffix);
    return end && (clvox_file_ends(name, ".nii") || clvox_file_ends(name, ".nii.gz")) && end - name > (ptrdiff_t)more + 1 &&
           end[-(ptrdiff_t)more - 1] == '_' && !strncmp(end - more, suffix, more);
}

/* "T1w,T2w" */
static int read_suffixes(bids *b)
{
    const char *at = b->r->suffix;
    for (b->r->channels = 0; b->r->channels < CLVOX_ATLAS_CHANNELS; at++) {
        const size_t length = strcspn(at, ",");
        if (!length || length > NAME_MAX)
            break;
        snprintf(b->suffix[b->r->channels++], sizeof *b->suffix, "%.*s", (int)length, at);
        at += length;
        if (!*at)
            return CLVOX_OK;
    }
    return cli_misuse("--suffix %s: up to %d suffixes with commas between them are needed, as T1w,T2w",
                      b->r->suffix, CLVOX_ATLAS_CHANNELS);
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
    for (int c = 1; c < b->r->channels; c++) {
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
    return cli_atlas_keep_fields(b->r, text + 1, &b->person[b->people++]);
}

static int find_column(const cli_atlas_request *r, const char *name)
{
    int at = 0;
    while (at < r->columns && strcmp(r->column[at], name) != 0)
        at++;
    return at;
}

static int read_people(bids *b)
{
    static const char *const own[] = {"image", "subject", "session", "log_affine", "", NULL};
    int status = CLVOX_OK;
    cli_atlas_request *r = b->r;
    char path[PATH_MAX];
    const char *names[CLI_TABLE_COLUMNS] = {"participant_id"};
    snprintf(path, sizeof path, "%s/participants.tsv", b->folder);
    if (!access(path, F_OK)) {
        CLI_TRY(cli_atlas_find_columns(r, path, own));
        for (int i = 0; i < r->columns; i++)
            names[1 + i] = r->column[i];
        CLI_TRY(cli_table_read(&(cli_table){path, names, 1, read_person, b}));
    } else if (!(r->column = calloc(1, sizeof *r->column)) || !(r->column[r->columns++] = strdup(*names))) {
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    b->id = find_column(r, *names);
    if (r->regress && find_column(r, r->regress) == r->columns)
        status = clvox_fail(CLVOX_ERROR_FORMAT, "%s: there is no column `%s`", path, r->regress);
end:
    return status;
}

/* What participants.tsv says of a subject, whose name begins with sub- there too, as a rule; NULL: nothing. */
static char **person_of(const bids *b, const char *subject)
{
    for (int i = 0; i < b->people; i++) {
        const char *id = b->person[i][b->id];
        if (!strcmp(id, subject) || !strcmp(id, subject + strlen("sub-")))
            return b->person[i];
    }
    return NULL;
}

static void drop(cli_atlas_entry *e)
{
    free(e->image);
    for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
        free(e->further[c - 1]);
}

static int add(bids *b, const scan *s, int regressed)
{
    cli_atlas_request *r = b->r;
    const char *text[CLI_TABLE_COLUMNS] = {NULL};
    char *const *person = person_of(b, s->subject), *end;
    cli_atlas_entry e = {.image = strdup(s->path), .weight = 1, .covariate = NAN};
    for (int c = 1; c < r->channels; c++)
        e.further[c - 1] = s->further[c - 1] ? strdup(s->further[c - 1]) : NULL;
    for (int i = 0; i < r->columns; i++)
        text[i] = i == b->id ? s->subject : person ? person[i] : NULL;
    if (b->sessions)
        text[r->columns - 1] = s->session;
    const char *value = regressed < r->columns && text[regressed] ? text[regressed] : "n/a";
    if (strcmp(value, "n/a") != 0) {
        e.covariate = strtod(value, &end);
        if (*end || end == value || !isfinite(e.covariate)) {
            drop(&e);
            return clvox_fail(CLVOX_ERROR_FORMAT, "%s/participants.tsv: the %s of %s, %s, is not a number",
                              b->folder, r->regress, s->subject, value);
        }
    }
    const int status = cli_atlas_keep_fields(r, text, &e.known);
    if (status < 0) {
        drop(&e);
        return status;
    }
    return cli_atlas_add(r, &e);
}

/* Sessions are one more column. */
static int add_sessions(cli_atlas_request *r)
{
    char **grown = reallocarray(r->column, (size_t)r->columns + 1, sizeof *grown);
    if (grown)
        r->column = grown;
    if (!grown || !(r->column[r->columns] = strdup("session")))
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    r->columns++;
    return CLVOX_OK;
}

bool cli_atlas_is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

int cli_atlas_read_bids(cli_atlas_request *r, const char *folder)
{
    int status = CLVOX_OK, known = 0;
    bids b = {.r = r, .folder = folder};
    CLI_TRY(read_suffixes(&b));
    CLI_TRY(find_all(&b));
    CLI_TRY(read_people(&b));
    known = r->columns;
    if (b.sessions)
        CLI_TRY(add_sessions(r));
    const int regressed = r->regress ? find_column(r, r->regress) : r->columns;
    for (int i = 0; i < b.scans; i++)
        CLI_TRY(add(&b, &b.scan[i], regressed));
end:
    for (int i = 0; i < b.scans; i++) {
        free(b.scan[i].subject);
        free(b.scan[i].session);
        free(b.scan[i].path);
        for (int c = 1; c < CLVOX_ATLAS_CHANNELS; c++)
            free(b.scan[i].further[c - 1]);
    }
    for (int i = 0; i < b.people; i++)
        cli_table_free_names(b.person[i], known ? known : r->columns);
    free(b.person);
    free(b.scan);
    return status;
}
