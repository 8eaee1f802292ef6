/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/helper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/context.h"
#include "runtime/program.h"

extern char **environ;

/* What goes over the socket before the bytes themselves: of a request options
 * and text with their ends, of an answer log and binary (none: it did not work). */
typedef struct lengths {
    uint64_t first, second;
} lengths;

enum { MOST_BYTES = 1 << 28 };

static bool send_all(int to, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t sent = send(to, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int from, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        ssize_t got = recv(from, at, bytes, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* Both parts of a message; they are the caller's to free. */
static bool receive_two(int from, char **first, unsigned char **second, lengths *size)
{
    *first = NULL;
    *second = NULL;
    if (!receive_all(from, size, sizeof *size) || size->first > MOST_BYTES || size->second > MOST_BYTES)
        return false;
    *first = calloc(1, size->first + 1);
    *second = calloc(1, size->second + 1);
    if (*first && *second && receive_all(from, *first, size->first) &&
        receive_all(from, *second, size->second))
        return true;
    free(*first);
    free(*second);
    *first = NULL;
    *second = NULL;
    return false;
}

static bool send_two(int to, const void *first, const void *second, lengths size)
{
    return send_all(to, &size, sizeof size) && send_all(to, first, size.first) &&
           send_all(to, second, size.second);
}

/* ---- who asks ---- */

int clv_helpers_allow(clvox_context *ctx, const char *program, int most)
{
    clv_helpers_free(ctx);
    ctx->helper_program = strdup(program);
    ctx->helpers_allowed = most < CLV_MOST_HELPERS ? most : CLV_MOST_HELPERS;
    return ctx->helper_program ? CLVOX_OK : clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static bool start_one(clvox_context *ctx, clv_helper *helper)
{
    int pair[2];
    char device[16];
    posix_spawn_file_actions_t actions;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    snprintf(device, sizeof device, "%d", ctx->device_number);
    char *arguments[] = {ctx->helper_program, (char *)CLV_HELPER_VERB, device, NULL};
    bool started = posix_spawn_file_actions_init(&actions) == 0;
    if (started) {
        started = posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO) == 0 &&
                  posix_spawn(&helper->process, ctx->helper_program, &actions, NULL, arguments, environ) == 0;
        posix_spawn_file_actions_destroy(&actions);
    }
    close(pair[1]);
    if (!started)
        close(pair[0]);
    helper->socket = pair[0];
    helper->ready = false;
    return started;
}

int clv_helpers_start(clvox_context *ctx)
{
    while (ctx->helper_count < ctx->helpers_allowed && start_one(ctx, &ctx->helpers[ctx->helper_count]))
        ctx->helper_count++;
    if (ctx->helper_count < ctx->helpers_allowed)
        ctx->helpers_allowed = ctx->helper_count; /* what could not be started once is not tried again */
    return ctx->helper_count;
}

void clv_helpers_end(clvox_context *ctx)
{
    for (int i = 0; i < ctx->helper_count; i++) {
        close(ctx->helpers[i].socket);
        kill(ctx->helpers[i].process, SIGTERM); /* one that is busy has nothing to lose */
        /* A driver takes its time to leave a process, for which nobody has to wait. */
        waitpid(ctx->helpers[i].process, NULL, WNOHANG);
    }
    ctx->helper_count = 0;
}

void clv_helpers_free(clvox_context *ctx)
{
    clv_helpers_end(ctx);
    free(ctx->helper_program);
    ctx->helper_program = NULL;
    ctx->helpers_allowed = 0;
}

bool clv_helper_ready(clvox_context *ctx, int helper)
{
    clv_helper *h = &ctx->helpers[helper];
    struct pollfd waits = {.fd = h->socket, .events = POLLIN};
    char greeting;
    if (!h->ready && poll(&waits, 1, 10) != 0) {
        h->ready = true;
        receive_all(h->socket, &greeting, 1);
    }
    return h->ready;
}

bool clv_helper_compile(clvox_context *ctx, int helper, const char *options, const char *text,
                        unsigned char **binary, size_t *bytes, char **log)
{
    int socket = ctx->helpers[helper].socket;
    lengths size;
    *binary = NULL;
    *log = NULL;
    while (!clv_helper_ready(ctx, helper))
        ;
    if (!send_two(socket, options, text, (lengths){strlen(options) + 1, strlen(text) + 1}) ||
        !receive_two(socket, log, binary, &size))
        return false;
    *bytes = size.second;
    if (size.second > 0)
        return true;
    free(*binary);
    free(*log);
    *binary = NULL;
    *log = NULL;
    return false;
}

/* ---- who compiles ---- */

int clv_helper_serve(const char *device)
{
    clvox_context *ctx = NULL;
    char *options = NULL;
    unsigned char *text = NULL;
    lengths size;
    if (clvox_context_create(&(clvox_context_options){.device = device, .no_cache = true, .no_wisdom = true},
                             &ctx) < 0)
        return 1;
    bool answered = send_all(STDIN_FILENO, "", 1); /* the greeting: ready */
    while (answered && receive_two(STDIN_FILENO, &options, &text, &size)) {
        cl_program program = NULL;
        unsigned char *binary = NULL;
        char *log = NULL;
        size_t bytes = 0;
        if (clv_program_compile(ctx, "*", (const char *)text, options, &program, &log) == CLVOX_OK) {
            binary = clv_program_binary(ctx, program, NULL, &bytes);
            clReleaseProgram(program);
        }
        answered = send_two(STDIN_FILENO, log ? log : "", binary ? (const void *)binary : "",
                            (lengths){log ? strlen(log) + 1 : 1, binary ? bytes : 0});
        free(binary);
        free(log);
        free(options);
        free(text);
    }
    clvox_context_destroy(&ctx);
    return 0;
}
