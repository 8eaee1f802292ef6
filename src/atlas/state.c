/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a run: what it takes to go on from the last registration that was finished.
 *   run        version, device, options and subjects, a line each
 *   round      after every round but the last: its template, the affines, the figures of the rounds
 *   subject_N  the maps of one subject of the round that is under way
 *   template_N the figures of a template of a regression that is done
 * Every file is written under another name first. What is damaged, or of another run or round, counts as missing. */
#include "atlas/state.h"

#include <dirent.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "atlas/options.h"
#include "atlas/team.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/matrix.h"
#include "base/place.h"
#include "base/spares.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "io/plain.h"
#include "register/options.h"
#include "runtime/runtime.h"
#include "runtime/program/source.h"
#include "runtime/plan/wisdom.h"

static const char MAGIC[8] = {'c', 'l', 'v', 'a', 't', 'l', 'a', 's'};

/* Maps are kept while fetching them takes no more than this share of the devices' time, after so many seconds
 * that are free; while no more than WAITING has been used up a device waits a moment for a slow disk, too. */
static const double SHARE = .05, FREE = .5, WAITING = .1, PATIENCE = .05;

typedef struct head {
    char magic[8];
    uint64_t bytes;     /* after this head */
    uint32_t key;       /* of the run's */
    uint32_t crc;       /* of these bytes */
    int32_t round;      /* rounds before */
    int32_t at;         /* the template, as of clv_atlas_run */
    int32_t place;      /* of a subject among the sorted ones; -1 */
    int32_t registered; /* of a round */
} head;

typedef struct piece {
    void *bytes;
    size_t size;
} piece;

/* Pieces after the header of a subject: its matrix, its suspicions, in deformable rounds both warps. */
enum { SUBJECT_PIECES = 4 };

static const char *path_in(const char *folder, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static head head_of(const clv_atlas_run *a, int place)
{
    head h = {.round = a->out->rounds, .at = a->at, .place = place};
    h.key = libdeflate_crc32(0, a->key, strlen(a->key));
    memcpy(h.magic, MAGIC, sizeof h.magic);
    return h;
}

static bool is_first(const clv_atlas_run *a)
{
    return !a->o->team || a->o->team->rank == 0;
}

/* ---- whole files --------------------------------------------------------- */

static int save(const clv_atlas_run *a, const char *name, head h, const piece *p, int count)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    clv_file_writer *writer = NULL;
    uint64_t at = sizeof h;
    for (int i = 0; i < count; i++) {
        h.crc = libdeflate_crc32(h.crc, p[i].bytes, p[i].size);
        h.bytes += p[i].size;
    }
    CLV_TRY(clv_file_create(path_in(a->o->state, name, path), &writer));
    CLV_TRY(clv_file_write_at(writer, &h, sizeof h, 0));
    for (int i = 0; i < count; at += p[i++].size)
        CLV_TRY(clv_file_write_at(writer, p[i].bytes, p[i].size, at));
    status = clv_file_commit(&writer);
end:
    clv_file_discard(&writer);
    return status;
}

/* false where the file is not there, damaged or of another run, place or size; with round and template of
 * *h, also where it is of others, before much is read. */
static bool load(const clv_atlas_run *a, const char *name, bool same_round, head *h, const piece *p,
                 int count)
{
    const head want = *h;
    char path[PATH_MAX];
    int fd = -1;
    uint64_t size = 0, at = sizeof *h, bytes = 0;
    uint32_t crc = 0;
    if (access(path_in(a->o->state, name, path), R_OK) || clv_file_open(path, &fd, &size) < 0)
        return false;
    for (int i = 0; i < count; i++)
        bytes += p[i].size;
    bool whole = size == sizeof *h + bytes && clv_file_read_at(fd, path, h, sizeof *h, 0) >= 0 &&
                 !memcmp(h->magic, want.magic, sizeof h->magic) && h->bytes == bytes && h->key == want.key &&
                 h->place == want.place && (!same_round || (h->round == want.round && h->at == want.at));
    for (int i = 0; whole && i < count; at += p[i++].size) {
        whole = clv_file_read_at(fd, path, p[i].bytes, p[i].size, at) >= 0;
        crc = libdeflate_crc32(crc, p[i].bytes, p[i].size);
    }
    close(fd);
    return whole && crc == h->crc;
}

/* ---- written beside the run ---------------------------------------------- */

/* Pieces of `round`, for one channel and for the most: more than those of a subject. */
enum { ROUND_PIECES = 3, MOST_PIECES = ROUND_PIECES + CLVOX_ATLAS_CHANNELS - 1 };

/* A file that waits, with all that its pieces point to. */
typedef struct note {
    char name[32];
    head h;
    piece p[MOST_PIECES];
    int count;
    clvox_atlas_map map;
    void *owned[2];
} note;

/* NOTES: of subjects, on their way at once, those that are being filled among them. ALL: with that of a
 * round, for which no run waits while a slow disk takes them. */
enum { NOTES = 3, ALL = NOTES + 1 };
typedef struct clv_atlas_keeper {
    const clv_atlas_run *a;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    note *waiting[ALL];
    int count, under_way; /* those that wait, and those that are filled, wait or are written */
    bool over;
    int status; /* the first that failed */
    char sentence[2048];
} clv_atlas_keeper;

static void drop(note **n)
{
    if (!*n)
        return;
    clv_large_free((*n)->owned[0]);
    clv_large_free((*n)->owned[1]);
    free(*n);
    *n = NULL;
}

/* The maps of a round that is kept as a whole by now: those of the next one are written after them. Not of a
 * team, whose other members may be further. */
static void remove_outdated(const clv_atlas_run *a)
{
    char path[PATH_MAX], name[32];
    for (int i = 0; i < a->count && !a->o->team; i++) {
        snprintf(name, sizeof name, "subject_%d", i);
        unlink(path_in(a->o->state, name, path));
    }
}

static void *write_notes(void *argument)
{
    clv_atlas_keeper *k = argument;
    pthread_mutex_lock(&k->lock);
    for (;;) {
        while (!k->count && !k->over)
            pthread_cond_wait(&k->changed, &k->lock);
        if (!k->count)
            break;
        note *n = k->waiting[0];
        k->count--;
        for (int i = 0; i < k->count; i++)
            k->waiting[i] = k->waiting[i + 1];
        const bool failed = k->status < 0;
        pthread_mutex_unlock(&k->lock);
        const int status = failed ? CLVOX_OK : save(k->a, n->name, n->h, n->p, n->count);
        const bool outdates = !failed && status >= 0 && n->h.place < 0;
        drop(&n);
        pthread_mutex_lock(&k->lock);
        if (status < 0) {
            k->status = status;
            snprintf(k->sentence, sizeof k->sentence, "%s", clvox_message()); /* it belongs to this thread */
        }
        k->under_way--;
        pthread_cond_broadcast(&k->changed);
        if (outdates) {
            pthread_mutex_unlock(&k->lock);
            remove_outdated(k->a);
            pthread_mutex_lock(&k->lock);
        }
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* With the run's lock held. */
static int keeper_of(clv_atlas_run *a, clv_atlas_keeper **out)
{
    *out = a->keeper;
    if (a->keeper)
        return CLVOX_OK;
    clv_atlas_keeper *k = calloc(1, sizeof *k);
    if (!k)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    k->a = a;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->changed, NULL);
    if (pthread_create(&k->thread, NULL, write_notes, k)) {
        pthread_cond_destroy(&k->changed);
        pthread_mutex_destroy(&k->lock);
        free(k);
        return clvox_fail(CLVOX_ERROR_MEMORY, "no thread for the state of the run");
    }
    *out = a->keeper = k;
    return CLVOX_OK;
}

/* A place for one more note, of which there are `most`: 1; 0 where there is none within so many seconds; or
 * the failure of an earlier note. */
static int reserve(clv_atlas_keeper *k, int most, double patience)
{
    int status;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    const double end = (double)until.tv_nsec * 1e-9 + patience;
    until.tv_sec += (time_t)end;
    until.tv_nsec = (long)((end - floor(end)) * 1e9);
    pthread_mutex_lock(&k->lock);
    while (k->under_way >= most && k->status >= 0)
        if (pthread_cond_timedwait(&k->changed, &k->lock, &until))
            break;
    status = k->under_way < most;
    if (k->status < 0)
        status = clvox_fail((clvox_status)k->status, "%s", k->sentence);
    if (status > 0)
        k->under_way++;
    pthread_mutex_unlock(&k->lock);
    return status;
}

/* Into the reserved place; NULL: it is not needed. */
static void submit(clv_atlas_keeper *k, note *n)
{
    pthread_mutex_lock(&k->lock);
    if (n)
        k->waiting[k->count++] = n;
    else
        k->under_way--;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

void clv_atlas_state_end(clv_atlas_run *a)
{
    clv_atlas_keeper *k = a->keeper;
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->over = true;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    if (k->status < 0)
        snprintf(a->out->unkept, sizeof a->out->unkept, "%.*s", (int)sizeof a->out->unkept - 1, k->sentence);
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->lock);
    free(k);
    a->keeper = NULL;
}

int clv_atlas_state_share_end(clv_atlas_run *a)
{
    int status = CLVOX_OK, from = 0;
    int64_t *has = NULL;
    if (!a->o->state || !a->o->team)
        return CLVOX_OK;
    has = calloc((size_t)a->o->team->size, sizeof *has);
    CLV_TRY(clv_atlas_have(a, has != NULL));
    has[a->o->team->rank] = *a->out->unkept != 0;
    CLV_TRY(clv_atlas_total(a, has, (size_t)a->o->team->size));
    while (from < a->o->team->size && !has[from])
        from++;
    if (from < a->o->team->size)
        status = clv_atlas_spread(a, from, a->out->unkept, sizeof a->out->unkept);
end:
    free(has);
    return status;
}

/* ---- what a run is of ---------------------------------------------------- */

/* Options that a run which goes on may change: they decide what becomes of rounds, not what these are. */
static bool is_free(const clv_option *row)
{
    static const char *const names[] = {"skip-bad", "vote", "template-only"};
    for (size_t i = 0; row->name && i < sizeof names / sizeof *names; i++)
        if (!strcmp(row->name, names[i]))
            return true;
    return false;
}

static void print_fields(FILE *to, const clv_option_table *table, const void *values)
{
    for (const clv_option *row = table->rows; row < table->rows + table->count; row++) {
        char key[64];
        if (is_free(row))
            continue;
        fprintf(to, "%s\t", clv_option_key(row, key, sizeof key));
        for (int i = 0; i < clv_option_count(row, values); i++) {
            const double value = clv_option_value(row, values, i);
            if (row->type == CLVOX_OPTION_CHOICE)
                fprintf(to, "%s", clv_option_word(row, (int)value));
            else
                fprintf(to, "%s%.17g", i ? "x" : "", value);
        }
        fputc('\n', to);
    }
}

static uint32_t sum_of(const clvox_volume *v)
{
    return !v ? 0
              : libdeflate_crc32(libdeflate_crc32(0, v->grid.to_ras, sizeof v->grid.to_ras), v->data,
                                 clvox_grid_voxels(&v->grid) * sizeof *v->data);
}

/* A line for all that the bits of the result hang on: name, tab, value. */
static void print_key(FILE *to, const clv_atlas_run *a, const char *sources)
{
    const clvox_device_limits *device = clvox_context_limits(a->ctx[0]);
    const clv_wisdom *wisdom = clv_context_wisdom(a->ctx[0]);
    uint32_t subjects = 0;
    fprintf(to, "version\t%s, kernels %s\n", clvox_version(), sources);
    fprintf(to, "device\t%s, %s, driver %s\n", device->name, device->platform, device->driver);
    fprintf(to, "tuning\t%s\n", wisdom && wisdom->hash[0] ? wisdom->hash : "none");
    for (int i = 0; i < a->count; i++) {
        subjects = libdeflate_crc32(subjects, &a->s[i].hash, sizeof a->s[i].hash);
        subjects = libdeflate_crc32(subjects, &a->s[i].further_hash, sizeof a->s[i].further_hash);
        subjects = libdeflate_crc32(subjects, &a->s[i].own, sizeof a->s[i].own);
    }
    fprintf(to, "set of subjects\t%d (%08" PRIx32 ")\n", a->count, subjects);
    fprintf(to, "template to begin with\t%08" PRIx32, sum_of(a->start));
    for (int c = 1; c < a->o->channels; c++)
        fprintf(to, ",%08" PRIx32, sum_of(a->o->further_start[c - 1]));
    fputc('\n', to);
    fprintf(to, "number of channels\t%d\nlist of their weights\t", a->o->channels);
    for (int c = 0; c < a->o->channels; c++)
        fprintf(to, "%s%.17g", c ? "," : "", a->o->channel_weight[c]);
    fputc('\n', to);
    fprintf(to, "bandwidth\t%.17g\n", a->along ? a->along->bandwidth : 0);
    fprintf(to, "list of values\t");
    for (int i = 0; a->along && i < a->along->count; i++)
        fprintf(to, "%s%.17g", i ? "," : "", a->along->at[i]);
    fputc('\n', to);
    print_fields(to, &clv_atlas_table, a->o);
    if (a->along) /* maps of a template that is finished are not made again */
        fprintf(to, "template-only\t%d\n", a->o->template_only);
    print_fields(to, &clv_register_table, &a->o->registration);
}

static int make_key(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    char sources[17];
    size_t size;
    CLV_TRY(clv_sources_version(sources));
    FILE *to = open_memstream(&a->key, &size);
    if (!to)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    clv_plain plain = clv_plain_begin();
    print_key(to, a, sources);
    clv_plain_end(plain);
    if (fclose(to))
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
end:
    return status;
}

/* The first line in which two keys differ: where it stands, its lengths and that of its name. false: they
 * differ in more than a value. */
static bool find_difference(const char **before, const char **now, size_t *m, size_t *n, size_t *name)
{
    for (;;) {
        *m = strcspn(*before, "\n"), *n = strcspn(*now, "\n"), *name = strcspn(*now, "\t\n");
        if (*m != *n || !*n || strncmp(*before, *now, *n) != 0)
            break;
        *before += *m + ((*before)[*m] != 0);
        *now += *n + ((*now)[*n] != 0);
    }
    return *name < *m && *name < *n && !strncmp(*before, *now, *name + 1);
}

static int refuse(const clv_atlas_run *a, const char *key)
{
    const char *before = key, *now = a->key;
    size_t m, n, name;
    if (!find_difference(&before, &now, &m, &n, &name))
        return clvox_fail(CLVOX_ERROR_FILE, "%s: is not the state of such a run; remove it to begin anew",
                          a->o->state);
    return clvox_fail(CLVOX_ERROR_FILE,
                      "%s: an unfinished run with another %.*s (%.*s, not %.*s) is in it; run that again to "
                      "finish it, or remove the folder to begin anew",
                      a->o->state, (int)name, now, (int)(m - name - 1), before + name + 1,
                      (int)(n - name - 1), now + name + 1);
}

/* ---- rounds and subjects ------------------------------------------------- */

/* State of a subject between rounds. */
typedef struct standing {
    double affine[4][4], matrix[4][4], base, kernel;
    char left_out[sizeof(((clvox_atlas_map *)NULL)->left_out)];
} standing;

/* Pieces after the header of `round`. */
static int round_pieces(const clv_atlas_run *a, piece p[MOST_PIECES])
{
    standing *each = calloc((size_t)a->count, sizeof *each);
    if (!each)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    p[0] = (piece){each, (size_t)a->count * sizeof *each};
    p[1] = (piece){a->out->round, (size_t)a->rounds * sizeof *a->out->round};
    p[2] = (piece){a->average->data, clvox_grid_voxels(&a->grid) * sizeof(float)};
    for (int c = 1; c < a->o->channels; c++)
        p[2 + c] = (piece){a->further[c - 1]->data, p[2].size};
    return CLVOX_OK;
}

/* By the first member of a team, for all: *there says whether it was. */
static int load_for_all(const clv_atlas_run *a, head *h, const piece *p, bool *there)
{
    int status = CLVOX_OK;
    const int count = ROUND_PIECES + a->o->channels - 1;
    *there = is_first(a) && load(a, "round", false, h, p, count);
    CLV_TRY(clv_atlas_spread(a, 0, there, sizeof *there));
    if (*there)
        CLV_TRY(clv_atlas_spread(a, 0, h, sizeof *h));
    for (int i = 0; *there && i < count; i++)
        CLV_TRY(clv_atlas_spread(a, 0, p[i].bytes, p[i].size));
end:
    return status;
}

static int load_round(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    bool there;
    head h = head_of(a, -1);
    piece p[MOST_PIECES] = {{0}};
    status = clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &a->average);
    for (int c = 1; status >= 0 && c < a->o->channels; c++)
        status = clvox_volume_create(&a->grid, 1, CLVOX_KIND_SCALAR, &a->further[c - 1]);
    if (status >= 0)
        status = round_pieces(a, p);
    CLV_TRY(clv_atlas_agree(a, status));
    CLV_TRY(load_for_all(a, &h, p, &there));
    if (!there) {
        clvox_volume_destroy(&a->average);
        for (int c = 1; c < a->o->channels; c++)
            clvox_volume_destroy(&a->further[c - 1]);
        memset(a->out->round, 0, p[1].size);
        goto end;
    }
    const standing *from = p[0].bytes;
    a->weights = 0;
    for (int i = 0; i < a->count; i++) {
        clv_atlas_member *s = &a->s[i];
        clv_matrix_copy(from[i].affine, s->affine);
        clv_matrix_copy(from[i].matrix, s->map.matrix);
        memcpy(s->map.left_out, from[i].left_out, sizeof from[i].left_out);
        s->base = from[i].base;
        s->kernel = from[i].kernel;
        s->weight = s->base * s->kernel;
        a->weights += s->weight;
    }
    clv_atlas_deal(a);
    const int templates = h.at > 0 ? h.at : 0;
    a->at = h.at;
    a->out->rounds = h.round;
    a->out->resumed = a->registered = h.registered;
    a->done = a->count * ((1 + CLV_ATLAS_AVERAGING) * (h.round + templates * (a->rounds - a->linear)) +
                          CLV_ATLAS_AVERAGING * (1 + (a->along ? templates : 0)));
end:
    free(p[0].bytes);
    return status;
}

/* Whether the folder has a state: 1 or 0. Refuses one of another run. */
static int find_state(const clv_atlas_run *a)
{
    int status = CLVOX_OK;
    char path[PATH_MAX], *text = NULL;
    size_t size;
    if (access(path_in(a->o->state, "run", path), F_OK))
        return 0;
    CLV_TRY(clvox_file_read(path, (size_t)1 << 20, &text, &size));
    status = strcmp(text, a->key) ? refuse(a, text) : 1;
end:
    free(text);
    return status;
}

/* All members of a team have to make the same: the first one's key against the others'. */
static int compare_keys(const clv_atlas_run *a)
{
    int status = CLVOX_OK;
    uint64_t size = strlen(a->key) + 1;
    char *first = NULL;
    CLV_TRY(clv_atlas_spread(a, 0, &size, sizeof size));
    first = calloc(1, size);
    CLV_TRY(clv_atlas_have(a, first != NULL));
    if (is_first(a))
        memcpy(first, a->key, size);
    CLV_TRY(clv_atlas_spread(a, 0, first, size));
    if (strcmp(first, a->key)) {
        const char *before = first, *now = a->key;
        size_t m, n, name;
        find_difference(&before, &now, &m, &n, &name);
        status = clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "processes of one template have to agree, and process %d has another %.*s (%.*s, not %.*s)",
            a->o->team->rank, (int)name, now, (int)(n - name - 1), now + name + 1, (int)(m - name - 1),
            before + name + 1);
    }
    status = clv_atlas_agree(a, status);
end:
    free(first);
    return status;
}

int clv_atlas_state_open(clv_atlas_run *a)
{
    int status = CLVOX_OK, there = 0;
    if (!a->o->state && !a->o->team)
        return CLVOX_OK;
    CLV_TRY(clv_atlas_agree(a, make_key(a)));
    a->opened = clv_seconds();
    if (a->o->team)
        CLV_TRY(compare_keys(a));
    if (!a->o->state)
        return CLVOX_OK;
    there = is_first(a) ? find_state(a) : 0;
    CLV_TRY(clv_atlas_agree(a, there));
    CLV_TRY(clv_atlas_spread(a, 0, &there, sizeof there));
    status = there ? load_round(a) : CLVOX_OK;
end:
    return status;
}

typedef struct copying {
    char *to;
    const char *from;
    size_t size;
} copying;

enum { PART = 1 << 20 };

static int copy_part(void *user, size_t index, int worker)
{
    const copying *c = user;
    const size_t at = index * PART;
    (void)worker;
    memcpy(c->to + at, c->from + at, c->size - at < PART ? c->size - at : PART);
    return CLVOX_OK;
}

/* Copies of a round's pieces, which the run goes on changing. */
static int copy_pieces(note *n, const piece *p, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += p[i].size;
    char *at = n->owned[0] = clv_large(size);
    if (!at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (n->count = 0; n->count < count; n->count++) {
        n->p[n->count] = (piece){at, p[n->count].size};
        clvox_parallel((p[n->count].size + PART - 1) / PART, copy_part,
                       &(copying){at, p[n->count].bytes, p[n->count].size});
        at += p[n->count].size;
    }
    return CLVOX_OK;
}

/* By the first member of a team. */
static int note_round(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    piece p[MOST_PIECES] = {{0}};
    clv_atlas_keeper *k = NULL;
    note *n = calloc(1, sizeof *n);
    CLV_TRY(round_pieces(a, p));
    standing *to = p[0].bytes;
    for (int i = 0; i < a->count; i++) {
        const clv_atlas_member *s = &a->s[i];
        clv_matrix_copy(s->affine, to[i].affine);
        clv_matrix_copy(s->map.matrix, to[i].matrix);
        memcpy(to[i].left_out, s->map.left_out, sizeof to[i].left_out);
        to[i].base = s->base;
        to[i].kernel = s->kernel;
    }
    if (!n) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    snprintf(n->name, sizeof n->name, "round");
    n->h = head_of(a, -1);
    n->h.registered = a->registered;
    CLV_TRY(copy_pieces(n, p, ROUND_PIECES + a->o->channels - 1));
    CLV_TRY(keeper_of(a, &k));
    do
        CLV_TRY(reserve(k, ALL, 1));
    while (!status);
    submit(k, n);
    n = NULL;
    status = CLVOX_OK;
end:
    drop(&n);
    free(p[0].bytes);
    return status;
}

int clv_atlas_state_advance(clv_atlas_run *a)
{
    if (!a->o->state)
        return CLVOX_OK;
    return clv_atlas_agree(a, is_first(a) ? note_round(a) : CLVOX_OK);
}

static int subject_pieces(const clv_atlas_run *a, clvox_atlas_map *m, float *fields, int place, char name[32],
                          piece p[SUBJECT_PIECES])
{
    const size_t count = 3 * clvox_grid_voxels(&a->grid);
    snprintf(name, 32, "subject_%d", place);
    p[0] = (piece){m->matrix, sizeof m->matrix};
    p[1] = (piece){&m->suspicions, sizeof m->suspicions};
    if (!fields)
        return 2;
    p[2] = (piece){fields, count * sizeof *fields};
    p[3] = (piece){fields + count, count * sizeof *fields};
    return 4;
}

/* Room for the fields of a subject, one behind the other. */
static int fields_of(const clv_atlas_run *a, float **fields)
{
    *fields = clv_large(6 * clvox_grid_voxels(&a->grid) * sizeof **fields);
    return *fields ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

/* Whether maps are kept now; the first of them makes the folder. With the lock held. */
static int begin_keeping(const clv_atlas_run *a, double now)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    if (a->keeping > FREE + SHARE * a->devices * (now - a->opened))
        return 0;
    if (access(path_in(a->o->state, "run", path), F_OK)) {
        CLV_TRY(clvox_folders_make(path));
        CLV_TRY(clvox_file_write(path, a->key, strlen(a->key)));
    }
    return 1;
end:
    return status;
}

/* Its map, and its fields as they are now. */
static int fill(clv_atlas_run *a, const clv_atlas_member *s, note *n)
{
    int status = CLVOX_OK;
    const int place = (int)(s - a->s);
    float *fields = NULL;
    if (clv_maps_there(a->maps, place))
        CLV_TRY(fields_of(a, &fields));
    n->owned[0] = fields;
    if (fields)
        CLV_TRY(clv_maps_get(a->maps, place, fields));
    n->map = s->map;
    n->h = head_of(a, place);
    n->count = subject_pieces(a, &n->map, fields, place, n->name, n->p);
end:
    return status;
}

int clv_atlas_state_keep(clv_atlas_run *a, const clv_atlas_member *s)
{
    clv_atlas_keeper *k = NULL;
    const double mark = clv_seconds();
    if (!a->o->state)
        return CLVOX_OK;
    pthread_mutex_lock(&a->lock);
    const bool patient = a->keeping < WAITING;
    int status = begin_keeping(a, mark);
    if (status > 0)
        status = keeper_of(a, &k) < 0 ? CLVOX_ERROR_MEMORY : 1;
    pthread_mutex_unlock(&a->lock);
    if (status > 0)
        status = reserve(k, NOTES, patient ? PATIENCE : 0);
    if (status > 0) {
        note *n = calloc(1, sizeof *n);
        status = n ? fill(a, s, n) : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        if (status < 0)
            drop(&n);
        submit(k, n);
    }
    pthread_mutex_lock(&a->lock); /* waiting in vain counts, too */
    a->keeping += clv_seconds() - mark;
    pthread_mutex_unlock(&a->lock);
    return status;
}

int clv_atlas_state_find(clv_atlas_run *a, clv_atlas_member *s, int device)
{
    int status = CLVOX_OK;
    char name[32];
    piece p[SUBJECT_PIECES];
    const int place = (int)(s - a->s);
    clvox_atlas_map map = {.warp = NULL};
    float *fields = NULL;
    char path[PATH_MAX];
    snprintf(name, sizeof name, "subject_%d", place);
    if (!a->o->state || access(path_in(a->o->state, name, path), R_OK))
        return 0;
    head h = head_of(a, place);
    if (a->out->rounds >= a->linear)
        CLV_TRY(fields_of(a, &fields));
    const int count = subject_pieces(a, &map, fields, place, name, p);
    if (!load(a, name, true, &h, p, count))
        goto end;
    s->map = map;
    if (fields)
        CLV_TRY(clv_maps_put(a->maps, place, device, fields));
    status = 1;
end:
    clv_large_free(fields);
    return status;
}

static int template_pieces(const clv_atlas_run *a, int at, const clvox_atlas_result *r, char name[32],
                           piece p[2])
{
    snprintf(name, 32, "template_%d", at);
    p[0] = (piece){r->round, (size_t)a->rounds * sizeof *r->round};
    p[1] = (piece){r->map, (size_t)a->count * sizeof *r->map}; /* whose warps are NULL */
    return 2;
}

int clv_atlas_state_keep_template(const clv_atlas_run *a)
{
    char name[32];
    piece p[2];
    if (!a->o->state)
        return CLVOX_OK;
    const int count = template_pieces(a, a->at, a->out, name, p);
    return clv_atlas_agree(a, is_first(a) ? save(a, name, head_of(a, -1), p, count) : CLVOX_OK);
}

int clv_atlas_state_find_template(const clv_atlas_run *a, int at, clvox_atlas_result *r)
{
    char name[32];
    piece p[2];
    head h = head_of(a, -1);
    const int count = template_pieces(a, at, r, name, p);
    const bool whole = load(a, name, false, &h, p, count) && h.at == at;
    r->rounds = h.round;
    return clv_atlas_agree(a, whole ? CLVOX_OK
                                  : clvox_fail(CLVOX_ERROR_FILE,
                                               "%s: the file %s is damaged; remove the folder to begin anew",
                                               a->o->state, name));
}

/* ---- the end ------------------------------------------------------------- */

/* Whether a state has a file of this name, unfinished ones of a run that was killed among them. */
static bool is_ours(const char *name)
{
    const size_t length = strlen(name);
    return !strcmp(name, "run") || !strcmp(name, "round") || !strncmp(name, "subject_", 8) ||
           !strncmp(name, "template_", 9) ||
           (!strncmp(name, ".clvox-", 7) && length > 5 && !strcmp(name + length - 5, ".part"));
}

void clvox_atlas_forget(const char *state)
{
    CLV_GIVEN_OR(, state);
    char path[PATH_MAX];
    DIR *folder = opendir(state);
    if (!folder)
        return;
    for (const struct dirent *one; (one = readdir(folder));)
        if (is_ours(one->d_name))
            unlink(path_in(state, one->d_name, path));
    closedir(folder);
    rmdir(state);
}
