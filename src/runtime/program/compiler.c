/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limit.h"
#include "runtime/program/compiler.h"

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

#include "runtime/device/context.h"
#include "runtime/program/program.h"

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

/* PoCL's do all of it: this process only waits, and its core is theirs. Each takes 150 MB of what is the
 * device's memory, too. One alone would be no gain. */
static int pocl_compilers(const clvox_context *ctx, int most)
{
    const size_t room = ctx->limits.global_bytes >> 30;
    int count = most > 0 ? most + 1 : 0;
    count = count < CLV_MOST_COMPILERS ? count : CLV_MOST_COMPILERS;
    count = (size_t)count < room ? count : (int)room;
    return count > 1 ? count : 0;
}

int clvox_context_compilers(clvox_context *ctx, const char *program, int most)
{
    if (!ctx->compiler_program || strcmp(ctx->compiler_program, program) != 0) {
        clv_compilers_free(ctx);
        ctx->compiler_program = strdup(program);
    }
    ctx->compilers_allowed = ctx->two_steps              ? pocl_compilers(ctx, most)
                             : most < CLV_MOST_COMPILERS ? most
                                                         : CLV_MOST_COMPILERS;
    return ctx->compiler_program ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static bool start_one(const char *program, const char *device, clv_compiler *compiler)
{
    int pair[2];
    posix_spawn_file_actions_t actions;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    char *arguments[] = {(char *)program, (char *)CLV_COMPILER_VERB, (char *)device, NULL};
    bool started = posix_spawn_file_actions_init(&actions) == 0;
    if (started) {
        started = posix_spawn_file_actions_adddup2(&actions, pair[1], STDIN_FILENO) == 0 &&
                  posix_spawn(&compiler->process, program, &actions, NULL, arguments, environ) == 0;
        posix_spawn_file_actions_destroy(&actions);
    }
    close(pair[1]);
    if (!started)
        close(pair[0]);
    compiler->socket = pair[0];
    compiler->ready = compiler->ended = false;
    return started;
}

int clv_compilers_start(clvox_context *ctx)
{
    char device[16];
    snprintf(device, sizeof device, "%d", ctx->device_number);
    while (ctx->compiler_count < ctx->compilers_allowed &&
           start_one(ctx->compiler_program, device, &ctx->compilers[ctx->compiler_count]))
        ctx->compiler_count++;
    if (ctx->compiler_count < ctx->compilers_allowed)
        ctx->compilers_allowed = ctx->compiler_count; /* what could not be started once is not tried again */
    return ctx->compiler_count;
}

static void end_one(const clv_compiler *compiler)
{
    close(compiler->socket);
    kill(compiler->process, SIGTERM); /* one that is busy has nothing to lose */
    /* A driver takes its time to leave a process, for which nobody has to wait. */
    waitpid(compiler->process, NULL, WNOHANG);
}

void clv_compilers_end(clvox_context *ctx)
{
    for (int i = 0; i < ctx->compiler_count; i++)
        end_one(&ctx->compilers[i]);
    ctx->compiler_count = 0;
}

void clv_compilers_before(const clvox_context_options *options, clv_compilers *out)
{
    uint64_t limit, left;
    out->count = 0;
    if (!options || !options->compiler_program || clv_address_space(&limit, &left))
        return;
    char remark[CLV_WHY + 200], *dir = options->no_cache ? NULL : clv_cache_dir(remark);
    const int most = options->compilers < CLV_MOST_COMPILERS ? options->compilers : CLV_MOST_COMPILERS;
    const char *device = options->device ? options->device : "";
    while (clv_cache_empty(dir) && out->count < most &&
           start_one(options->compiler_program, device, &out->one[out->count]))
        out->count++;
    free(dir);
}

int clv_compilers_take(clvox_context *ctx, const clvox_context_options *options, clv_compilers *from)
{
    int status = CLVOX_OK;
    if (ctx && options && options->compiler_program)
        status = clvox_context_compilers(ctx, options->compiler_program, options->compilers);
    for (int i = 0; i < from->count; i++) {
        if (ctx && status >= 0 && ctx->compiler_count < ctx->compilers_allowed)
            ctx->compilers[ctx->compiler_count++] = from->one[i];
        else
            end_one(&from->one[i]);
    }
    from->count = 0;
    return status;
}

void clv_compilers_free(clvox_context *ctx)
{
    clv_compilers_end(ctx);
    free(ctx->compiler_program);
    ctx->compiler_program = NULL;
    ctx->compilers_allowed = 0;
}

bool clv_compiler_ready(clvox_context *ctx, int number)
{
    clv_compiler *h = &ctx->compilers[number];
    struct pollfd waits = {.fd = h->socket, .events = POLLIN};
    char greeting;
    if (!h->ready && poll(&waits, 1, 10) != 0) {
        h->ready = true;
        h->ended = !receive_all(h->socket, &greeting, 1);
    }
    return h->ready;
}

bool clv_compiler_compile(clvox_context *ctx, int number, const char *options, const char *text,
                          clv_code *code)
{
    int socket = ctx->compilers[number].socket;
    lengths size;
    *code = (clv_code){.to_link = ctx->two_steps};
    while (!clv_compiler_ready(ctx, number))
        ;
    if (!send_two(socket, options, text, (lengths){strlen(options) + 1, strlen(text) + 1}) ||
        !receive_two(socket, &code->log, &code->data, &size)) {
        ctx->compilers[number].ended = true;
        return false;
    }
    code->bytes = size.second;
    if (size.second > 0)
        return true;
    clv_code_free(code);
    return false;
}

/* ---- who compiles ---- */

int clv_compiler_serve(const char *device)
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
        clv_code code;
        if (clv_code_compile(ctx, (const char *)text, options, &code) == CLVOX_OK && code.to_link)
            clv_code_launch(ctx, options, &code);
        answered = send_two(STDIN_FILENO, code.log ? code.log : "", code.data ? (const void *)code.data : "",
                            (lengths){code.log ? strlen(code.log) + 1 : 1, code.data ? code.bytes : 0});
        clv_code_free(&code);
        free(options);
        free(text);
    }
    clvox_context_destroy(&ctx);
    return 0;
}
