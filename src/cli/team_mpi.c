/* SPDX-License-Identifier: Apache-2.0 */
/* The module clvox-mpi.so: a team by Open MPI, for mpirun. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "cli/team.h"

CLVOX_API int clvox_mpi_begin(const cli_team_host *host, clvox_team **out, int *local);
CLVOX_API void clvox_mpi_end(bool in_peace);

static cli_team_host host;
static clvox_team team;

/* MPI counts in int. */
enum { PIECE = 1 << 27 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Others may register for minutes, and may die: after a moment this looks from time to time, also for
 * Ctrl-C. */
static int wait_for(MPI_Request *request)
{
    static const double moment = .05;
    const double since = seconds();
    int done = 0;
    for (;;) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return host.fail(CLVOX_ERROR_DEVICE, "the processes cannot reach each other any more (MPI)");
        if (done)
            return CLVOX_OK;
        if (host.stopped())
            return host.fail(CLVOX_ERROR_STOPPED, "interrupted");
        if (seconds() - since < moment)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

static int sum(void *user, int64_t *values, size_t count)
{
    int status = CLVOX_OK;
    (void)user;
    for (size_t at = 0; at < count && status >= 0; at += PIECE) {
        MPI_Request request;
        const int part = (int)(count - at < PIECE ? count - at : PIECE);
        if (MPI_Iallreduce(MPI_IN_PLACE, values + at, part, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request) !=
            MPI_SUCCESS)
            return host.fail(CLVOX_ERROR_DEVICE, "the processes cannot add their values up (MPI)");
        status = wait_for(&request);
    }
    return status;
}

static int spread(void *user, int from, void *bytes, size_t size)
{
    int status = CLVOX_OK;
    (void)user;
    for (size_t at = 0; at < size && status >= 0; at += PIECE) {
        MPI_Request request;
        const int part = (int)(size - at < PIECE ? size - at : PIECE);
        if (MPI_Ibcast((char *)bytes + at, part, MPI_BYTE, from, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
            return host.fail(CLVOX_ERROR_DEVICE, "the processes cannot tell each other their results (MPI)");
        status = wait_for(&request);
    }
    return status;
}

int clvox_mpi_begin(const cli_team_host *given, clvox_team **out, int *local)
{
    int provided;
    MPI_Comm here;
    host = *given;
    /* Compilers are started as processes of their own, which know nothing of MPI. */
    setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return host.fail(CLVOX_ERROR_DEVICE, "Open MPI does not start");
    if (provided < MPI_THREAD_FUNNELED)
        return host.fail(CLVOX_ERROR_DEVICE, "this Open MPI was built without support of threads");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, team.rank, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, local);
    MPI_Comm_free(&here);
    team.sum = sum;
    team.spread = spread;
    *out = &team;
    return CLVOX_OK;
}

void clvox_mpi_end(bool in_peace)
{
    if (in_peace)
        MPI_Finalize();
    else
        MPI_Abort(MPI_COMM_WORLD, 1);
}
