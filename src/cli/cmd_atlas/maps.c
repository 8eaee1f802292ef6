/* SPDX-License-Identifier: Apache-2.0 */
/* The files of subjects' maps, written while the maps of others still come from the devices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd_atlas/atlas.h"
#include "clvox/files.h"
#include "clvox/threads.h"

int cli_atlas_writers(const cli_atlas_request *r, double *scratch)
{
    const double each = (double)(2 << 20) * clvox_threads(),
                 room = r->memory ? (double)r->limit / 3 : INFINITY;
    const int count = (int)fmin(fmax(room / each, 1), CLI_ATLAS_TOGETHER);
    *scratch = count * each;
    return count;
}

/* Folder for files written to measure how long writing takes. */
static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

void cli_atlas_maps_begin(cli_atlas_maps *m, const cli_atlas_request *r, bool measuring)
{
    double scratch;
    char path[PATH_MAX];
    *m = (cli_atlas_maps){.r = r, .room = cli_atlas_writers(r, &scratch), .measuring = measuring};
    snprintf(path, sizeof path, "%s/.", temporary_folder());
    if (measuring)
        clvox_files_sweep(path);
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->adding, NULL);
    pthread_cond_init(&m->done, NULL);
}

void cli_atlas_maps_came(cli_atlas_maps *m, double seconds)
{
    pthread_mutex_lock(&m->lock);
    if (!(m->since > 0))
        m->since = cli_seconds() - seconds;
    pthread_mutex_unlock(&m->lock);
}

/* A subject whose files are to be written. */
typedef struct job {
    cli_atlas_maps *all;
    int at, subject;
    clvox_atlas_map map;
    clvox_volume *log;
} job;

static void job_free(job *j)
{
    clvox_volume_destroy(&j->map.warp);
    clvox_volume_destroy(&j->map.inverse_warp);
    clvox_volume_destroy(&j->map.labels);
    clvox_volume_destroy(&j->log);
    free(j);
}

/* With the lock held. */
static void fail(cli_atlas_maps *m, int status)
{
    if (m->status >= 0) {
        m->status = status;
        snprintf(m->message, sizeof m->message, "%s", clvox_message()); /* it belongs to this thread */
    }
}

/* ---- the mean of log J ----------------------------------------------------- */

/* Sums of whole numbers, so that the order of subjects changes no bit: 2^40 is a logarithm of 1. */
static const double one = 0x1p40;

enum { PART = 1 << 16 };

typedef struct addition {
    int64_t *sum;
    const float *log;
    double share;
    size_t count;
} addition;

static int add_part(void *user, size_t index, int worker)
{
    const addition *a = user;
    const size_t from = index * PART, to = from + PART < a->count ? from + PART : a->count;
    (void)worker;
    for (size_t i = from; i < to; i++)
        a->sum[i] += llrint(one * a->share * (double)a->log[i]);
    return CLVOX_OK;
}

/* One subject at a time. */
static int add_share(cli_atlas_maps *m, double share, const clvox_volume *log)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&log->grid);
    pthread_mutex_lock(&m->adding);
    if (!m->sum && !(m->sum = calloc(n + 1, sizeof *m->sum)))
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    else
        status = clvox_parallel((n + PART - 1) / PART, add_part, &(addition){m->sum, log->data, share, n});
    pthread_mutex_unlock(&m->adding);
    return status;
}

static int write_mean(const cli_atlas_maps *m, const clvox_grid *grid, const char *path)
{
    clvox_volume *mean = NULL;
    int status = clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &mean);
    for (size_t i = 0; status >= 0 && i < clvox_grid_voxels(grid); i++)
        mean->data[i] = (float)((double)m->sum[i] / one);
    if (status >= 0)
        status = clvox_volume_write(mean, path);
    clvox_volume_destroy(&mean);
    return status;
}

int cli_atlas_maps_mean(cli_atlas_maps *m, command *cli, const clvox_grid *grid, const char *path)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(grid);
    if (!m->sum && !(m->sum = calloc(n + 1, sizeof *m->sum))) /* this process has no subject */
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLI_TRY(clvox_team_agree(cli->team, status));
    if (cli->team)
        CLI_TRY(cli->team->sum(cli->team->user, m->sum, n));
    status = clvox_team_agree(cli->team, cli_is_first(cli) ? write_mean(m, grid, path) : CLVOX_OK);
end:
    free(m->sum);
    m->sum = NULL;
    return status;
}

/* ---- writing --------------------------------------------------------------- */

/* Files of a subject. */
enum { FILES_OF = 4 };

/* A written map is released at once: the next maps take its memory. */
static int write_map(const job *j, cli_atlas_map map, clvox_volume **volume)
{
    int status = CLVOX_OK;
    char path[PATH_MAX] = "";
    const bool warp = map == CLI_ATLAS_WARP || map == CLI_ATLAS_INVERSE;
    if (!*volume)
        return CLVOX_OK;
    if (j->all->measuring)
        CLI_TRY(clvox_file_scratch(temporary_folder(), ".nii.gz", path, sizeof path));
    else
        cli_atlas_map_path(j->all->r, j->subject, map, j->at, path);
    status = warp ? clvox_warp_write(*volume, path) : clvox_volume_write(*volume, path);
    if (j->all->measuring)
        unlink(path);
end:
    clvox_volume_destroy(volume);
    return status;
}

static int write_one(void *user, size_t index, int worker)
{
    int status = CLVOX_OK;
    job *j = user;
    const struct {
        cli_atlas_map map;
        clvox_volume **volume;
    } file[FILES_OF] = {{CLI_ATLAS_WARP, &j->map.warp},
                        {CLI_ATLAS_INVERSE, &j->map.inverse_warp},
                        {CLI_ATLAS_LOG_JACOBIAN, &j->log},
                        {CLI_ATLAS_OWN_LABELS, &j->map.labels}};
    /* Its share, so that all files need no more scratch than one. */
    const int before = clvox_threads_own((clvox_threads() + FILES_OF - 1) / FILES_OF);
    (void)worker;
    if (file[index].map == CLI_ATLAS_LOG_JACOBIAN && j->log)
        CLI_TRY(add_share(j->all, j->map.share, j->log));
    status = write_map(j, file[index].map, file[index].volume);
end:
    clvox_threads_own(before);
    return status;
}

/* Its files side by side, as a system takes the bytes of one file from one thread at a time. */
static int write_all(job *j)
{
    return clvox_parallel(FILES_OF, write_one, j);
}

static void *work(void *user)
{
    job *j = user;
    cli_atlas_maps *m = j->all;
    const int status = write_all(j);
    job_free(j);
    pthread_mutex_lock(&m->lock);
    if (status < 0)
        fail(m, status);
    m->busy--;
    pthread_cond_broadcast(&m->done);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* Waits until fewer subjects than there is room for are being written. */
static int take_place(cli_atlas_maps *m)
{
    pthread_mutex_lock(&m->lock);
    while (m->busy == m->room)
        pthread_cond_wait(&m->done, &m->lock);
    const int status = m->status < 0 ? clvox_fail((clvox_status)m->status, "%s", m->message) : CLVOX_OK;
    m->busy += status >= 0;
    pthread_mutex_unlock(&m->lock);
    return status;
}

static void leave_place(cli_atlas_maps *m)
{
    pthread_mutex_lock(&m->lock);
    m->busy--;
    pthread_cond_broadcast(&m->done);
    pthread_mutex_unlock(&m->lock);
}

int cli_atlas_maps_take(cli_atlas_maps *m, clvox_context *ctx, int at, int subject, clvox_atlas_map *map)
{
    int status = CLVOX_OK;
    clvox_jacobian_summary unused;
    pthread_t thread;
    CLI_TRY(take_place(m));
    job *j = calloc(1, sizeof *j);
    if (!j) {
        leave_place(m);
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    }
    *j = (job){.all = m, .at = at, .subject = subject};
    if (map->warp)
        status = clvox_jacobian(ctx, map->warp, NULL, 1, &j->log, &unused);
    if (status < 0) {
        job_free(j);
        leave_place(m);
        goto end;
    }
    j->map = *map;
    map->warp = map->inverse_warp = map->labels = NULL;
    if (pthread_create(&thread, NULL, work, j))
        work(j);
    else
        pthread_detach(thread);
end:
    return status;
}

static void wait_for_all(cli_atlas_maps *m)
{
    pthread_mutex_lock(&m->lock);
    while (m->busy)
        pthread_cond_wait(&m->done, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

int cli_atlas_maps_wait(cli_atlas_maps *m)
{
    wait_for_all(m);
    return m->status < 0 ? clvox_fail((clvox_status)m->status, "%s", m->message) : CLVOX_OK;
}

void cli_atlas_maps_end(cli_atlas_maps *m)
{
    wait_for_all(m);
    free(m->sum);
    pthread_cond_destroy(&m->done);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->adding);
}
