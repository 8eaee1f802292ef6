/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a result, written while the device is let go. */
#include <pthread.h>
#include <stdio.h>

#include "cli/cli.h"

typedef struct writing {
    clvox_results *results;
    int status;
    char message[1024];
} writing;

static void *write_all(void *user)
{
    writing *w = user;
    w->status = clvox_results_write(w->results);
    if (w->status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(w->message, sizeof w->message, "%s", clvox_message());
    return NULL;
}

int cli_results_write(command *cli, clvox_results *r, bool close)
{
    int status = CLVOX_OK;
    for (int i = 0; i < r->count; i++)
        if (!cli_is_claimed(cli,
                            r->item[i].path)) /* by the verb's cli_claim_prefix: its table lacks the end */
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is not among the files that `clvox %s` announced",
                              r->item[i].path, cli->verb);
    writing w = {.results = r};
    pthread_t thread;
    /* As in cli_load: the driver is left by the thread that opened it. */
    bool apart = close && cli->ctx && !cli->profile && !pthread_create(&thread, NULL, write_all, &w);
    if (apart) {
        cli_close(cli);
        pthread_join(thread, NULL);
    } else {
        write_all(&w);
    }
    if (w.status < 0)
        status = clvox_fail((clvox_status)w.status, "%s", w.message);
    for (int i = 0; status >= 0 && i < r->count; i++)
        cli_log_output(cli, r->item[i].path);
    clvox_results_free(r);
    return status;
}
