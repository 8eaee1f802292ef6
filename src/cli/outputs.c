/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a result, written side by side. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "clvox/files.h"
#include "clvox/threads.h"

static int write_volume(const void *what, int how, const char *path)
{
    (void)how;
    return clvox_volume_write(what, path);
}

static int write_warp(const void *what, int how, const char *path)
{
    (void)how;
    return clvox_warp_write(what, path);
}

static int write_tensor(const void *what, int how, const char *path)
{
    return clvox_tensor_write(what, (clvox_tensor_order)how, path);
}

int cli_outputs_add(cli_outputs *o, cli_writer write, const void *what, int how, const char *prefix,
                    const char *end)
{
    char *path = o->count < CLI_MAX_OUTPUTS ? malloc(strlen(prefix) + strlen(end) + 1) : NULL;
    if (!path)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    strcat(strcpy(path, prefix), end);
    o->item[o->count++] = (cli_output){write, what, how, path, false};
    return CLVOX_OK;
}

int cli_outputs_volume(cli_outputs *o, const clvox_volume *volume, const char *prefix, const char *end)
{
    return cli_outputs_add(o, write_volume, volume, 0, prefix, end);
}

int cli_outputs_warp(cli_outputs *o, const clvox_volume *warp, const char *prefix, const char *end)
{
    return cli_outputs_add(o, write_warp, warp, 0, prefix, end);
}

int cli_outputs_tensor(cli_outputs *o, const clvox_volume *tensor, clvox_tensor_order order,
                       const char *prefix, const char *end)
{
    return cli_outputs_add(o, write_tensor, tensor, (int)order, prefix, end);
}

void cli_outputs_free(cli_outputs *o)
{
    for (int i = 0; i < o->count; i++)
        free(o->item[i].path);
    o->count = 0;
}

typedef struct writing {
    cli_outputs *outputs;
    int status;
    char message[1024];
} writing;

static int write_one(void *user, size_t index, int worker)
{
    cli_output *one = &((const writing *)user)->outputs->item[index];
    (void)worker;
    int status = one->write(one->what, one->how, one->path);
    one->written = status >= 0;
    return status;
}

/* Half a result is none. A link stays, as what it leads to was written. */
static void remove_written(const cli_outputs *o)
{
    for (int i = 0; i < o->count; i++) {
        char *file = o->item[i].written ? realpath(o->item[i].path, NULL) : NULL;
        if (file)
            unlink(file);
        free(file);
    }
}

static void *write_all(void *user)
{
    writing *w = user;
    w->status = clvox_parallel((size_t)w->outputs->count, write_one, w);
    if (w->status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(w->message, sizeof w->message, "%s", clvox_message());
    return NULL;
}

int cli_outputs_write(command *cli, cli_outputs *o, bool close)
{
    int status = CLVOX_OK;
    for (int i = 0; i < o->count; i++)
        if (!cli_is_claimed(cli, o->item[i].path)) /* by the verb's cli_claim_prefix: its table lacks the end */
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is not among the files that `clvox %s` announced",
                            o->item[i].path, cli->verb);
    writing w = {.outputs = o};
    pthread_t thread;
    /* As in cli_load: the driver is left by the thread that opened it. */
    bool apart = close && cli->ctx && !cli->profile && !pthread_create(&thread, NULL, write_all, &w);
    if (apart) {
        cli_close(cli);
        pthread_join(thread, NULL);
    } else {
        write_all(&w);
    }
    if (w.status < 0) {
        remove_written(o);
        status = clvox_fail((clvox_status)w.status, "%s", w.message);
    }
    for (int i = 0; status >= 0 && i < o->count; i++)
        cli_log_output(cli, o->item[i].path);
    cli_outputs_free(o);
    return status;
}

void cli_sweep_beside(const char *path, char swept[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 2, slash ? path : "./");
    if (!strcmp(folder, swept))
        return;
    clvox_files_sweep(path);
    memcpy(swept, folder, sizeof folder);
}
