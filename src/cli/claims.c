/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/claims.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "clvox/files.h"

typedef struct claim {
    char *path;
    bool of_prefix, expected, written, settled;
} claim;

struct cli_claims {
    char **input;
    int inputs;
    claim *output;
    int outputs;
    char **owned; /* prefixes as they are meant */
    int owneds;
    clvox_before before;
};

static int out_of_memory(void)
{
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static cli_claims *claims_of(command *cli)
{
    if (!cli->claims)
        cli->claims = calloc(1, sizeof *cli->claims);
    return cli->claims;
}

/* Appends a copy of text. */
static int append(char ***list, int *count, const char *text)
{
    char **longer = reallocarray(*list, (size_t)*count + 1, sizeof **list);
    if (longer)
        *list = longer;
    char *copy = longer ? strdup(text) : NULL;
    if (!copy)
        return out_of_memory();
    (*list)[(*count)++] = copy;
    return CLVOX_OK;
}

int cli_claim_input(command *cli, const char *word)
{
    struct stat info;
    int status = CLVOX_OK;
    size_t length = strlen(word);
    cli_claims *c = claims_of(cli);
    if (!c)
        return out_of_memory();
    if (cli->in_place)
        return CLVOX_OK;
    if (!stat(word, &info))
        return S_ISREG(info.st_mode) ? append(&c->input, &c->inputs, word) : CLVOX_OK;
    char *file = strdup(word + (*word == '['));
    char *comma = file ? strrchr(file, ',') : NULL;
    if (!file)
        return out_of_memory();
    if (comma && length > 2) {
        *comma = 0;
        if (!stat(file, &info) && S_ISREG(info.st_mode))
            status = append(&c->input, &c->inputs, file);
    }
    free(file);
    return status;
}

static int add(command *cli, const char *path, bool of_prefix, bool expected)
{
    cli_claims *c = claims_of(cli);
    claim *longer = c ? reallocarray(c->output, (size_t)c->outputs + 1, sizeof *longer) : NULL;
    if (longer)
        c->output = longer;
    char *copy = longer ? strdup(path) : NULL;
    if (!copy)
        return out_of_memory();
    c->output[c->outputs++] = (claim){.path = copy, .of_prefix = of_prefix, .expected = expected};
    return CLVOX_OK;
}

/* Whether what is typed can only mean a folder: it ends in a slash or a dot of its own. */
static bool is_folder(const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    return !*last || !strcmp(last, ".") || !strcmp(last, "..");
}

int cli_claim_output(command *cli, const char *option, const char *path)
{
    struct stat info;
    if (is_folder(path) || (!stat(path, &info) && S_ISDIR(info.st_mode))) {
        const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
        return cli_misuse("--%s %s: is a directory, name a file in it, as %s%sNAME", option, path, path,
                          slash);
    }
    return add(cli, path, false, true);
}

/* ---- prefixes ----------------------------------------------------------- */

int cli_claim_files(command *cli, const char *prefix, const clvox_end *ends, const char *log)
{
    int status = CLVOX_OK;
    cli_claims *c = claims_of(cli);
    char path[PATH_MAX];
    if (!c)
        return out_of_memory();
    for (; ends->end; ends++) {
        if (snprintf(path, sizeof path, "%s%s", prefix, ends->end) >= PATH_MAX)
            return clvox_fail(CLVOX_ERROR_FILE, "%.60s...: the name is too long", prefix);
        if (ends->written)
            CLI_TRY(clvox_folders_make(path));
        if (!strcmp(ends->end, log))
            clvox_before_read(&c->before, path);
        CLI_TRY(add(cli, path, true, ends->written));
    }
    status = cli_claims_check(cli);
end:
    return status;
}

int cli_claim_prefix(command *cli, const char **prefix, const clvox_end *ends)
{
    int status = CLVOX_OK;
    const char *typed = *prefix, *end = clvox_file_ending(typed);
    char meant[4096];
    size_t length = strlen(typed);
    cli_claims *c = claims_of(cli);
    if (!c)
        return out_of_memory();
    if (length > 4000)
        return clvox_fail(CLVOX_ERROR_FILE, "-o %.60s...: the name is too long", typed);
    if (end)
        return cli_misuse("-o %s: is the name of a file; give what the names of the results begin with, as "
                          "-o %.*s for %.*s%s",
                          typed, (int)(end - typed), typed, (int)(end - typed), typed, ends[0].end);
    if (is_folder(typed)) {
        snprintf(meant, sizeof meant, "%s%s%.*s", typed, typed[length - 1] == '/' ? "" : "/",
                 (int)strcspn(cli->verb, " "), cli->verb);
        cli_remark(cli, 0, "-o %s: the results go into this folder as %s%s and so on\n", typed, meant, ends[0].end);
    } else {
        strcpy(meant, typed);
        while (length > 1 && meant[length - 1] == '_' && meant[length - 2] != '/')
            meant[--length] = 0;
    }
    CLI_TRY(append(&c->owned, &c->owneds, meant));
    *prefix = c->owned[c->owneds - 1];
    status = cli_claim_files(cli, *prefix, ends, ".json");
end:
    return status;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether path is a file right in the folder, or deep in it. */
static bool lies_in(const char *path, const char *folder, bool deep)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (strncmp(path, folder, length) != 0 || path[length] != '/')
        return false;
    return deep || !strchr(path + length + strspn(path + length, "/"), '/');
}

static bool is_output(const cli_claims *c, const char *path)
{
    for (int i = 0; i < c->outputs; i++)
        if (!strcmp(last_part(c->output[i].path), last_part(path)) &&
            clvox_file_same(c->output[i].path, path))
            return true;
    return false;
}

int cli_claim_folder(command *cli, const char *folder, const char *log, bool deep)
{
    int status = CLVOX_OK;
    char path[4096 + 256];
    cli_claims *c = claims_of(cli);
    if (!c)
        return out_of_memory();
    if (log) {
        snprintf(path, sizeof path, "%s/%s", folder, log);
        clvox_before_read(&c->before, path);
    }
    for (int i = 0; i < c->outputs; i++)
        c->output[i].of_prefix |= lies_in(c->output[i].path, folder, deep);
    const cJSON *one, *list = cJSON_GetObjectItem(c->before.log, "outputs");
    cJSON_ArrayForEach(one, list) {
        if (!cJSON_IsString(one) || !lies_in(one->valuestring, folder, deep) ||
            is_output(c, one->valuestring))
            continue;
        CLI_TRY(add(cli, one->valuestring, true, false));
    }
end:
    return status;
}

int cli_claims_check(command *cli)
{
    int status = CLVOX_OK, count = 0;
    cli_claims *c = claims_of(cli);
    const char **outputs = c ? calloc((size_t)c->outputs + 2, sizeof *outputs) : NULL;
    if (!outputs)
        return out_of_memory();
    for (int i = 0; i < c->outputs; i++)
        if (c->output[i].expected)
            outputs[count++] = c->output[i].path;
    /* --json may name the log that stands beside the results anyway. */
    bool twice = false, log = cli->json && strcmp(cli->json, "-") != 0;
    for (int i = 0; log && i < c->outputs; i++) {
        const size_t length = strlen(c->output[i].path);
        twice |= c->output[i].of_prefix && length > 5 && !strcmp(c->output[i].path + length - 5, ".json") &&
                 clvox_file_same(c->output[i].path, cli->json);
    }
    if (log && !twice)
        outputs[count++] = cli->json;
    CLI_TRY(clvox_outputs_check((const char *const *)c->input, c->inputs, outputs, count));
    for (int i = 0; cli->no_clobber && i < count; i++) {
        struct stat info;
        if (!stat(outputs[i], &info) && S_ISREG(info.st_mode)) {
            status = clvox_fail(CLVOX_ERROR_FILE, "%s: exists, and --no-clobber keeps it", outputs[i]);
            break;
        }
    }
end:
    free(outputs);
    return status;
}

bool cli_log_is_free(const command *cli)
{
    const cli_claims *c = cli->claims;
    struct stat info;
    if (!cli->json || (cli->no_clobber && !stat(cli->json, &info) && S_ISREG(info.st_mode)))
        return false;
    for (int i = 0; c && i < c->inputs; i++)
        if (clvox_file_same(c->input[i], cli->json))
            return false;
    for (int i = 0; c && i < c->outputs; i++)
        if (clvox_file_same(c->output[i].path, cli->json))
            return false;
    return true;
}

/* ---- afterwards --------------------------------------------------------- */

bool cli_is_claimed(const command *cli, const char *path)
{
    for (int i = 0; cli->claims && i < cli->claims->outputs; i++)
        if (!strcmp(cli->claims->output[i].path, path))
            return true;
    return false;
}

bool cli_claim_written(command *cli, const char *path)
{
    bool found = false;
    for (int i = 0; cli->claims && i < cli->claims->outputs; i++)
        if (!strcmp(cli->claims->output[i].path, path))
            cli->claims->output[i].written = found = true;
    return found;
}

static bool is_input(const cli_claims *c, const char *path)
{
    for (int i = 0; i < c->inputs; i++)
        if (clvox_file_same(c->input[i], path))
            return true;
    return false;
}

void cli_claims_settle(command *cli)
{
    cli_claims *c = cli->claims;
    bool any = false;
    for (int i = 0; c && i < c->outputs; i++)
        any |= c->output[i].of_prefix && c->output[i].written;
    for (int i = 0; any && i < c->outputs; i++) {
        claim *one = &c->output[i];
        if (!one->of_prefix || one->written || one->settled || is_input(c, one->path))
            continue;
        one->settled = true;
        const clvox_leftover what = clvox_before_settle(&c->before, one->path, cli->log);
        if (what == CLVOX_LEFT_REMOVED)
            cli_remark(cli, 0, "%s: of an earlier run, which these results replace: removed\n", one->path);
        else if (what == CLVOX_LEFT_STRANGE) /* a wrong pair of files is worth a line also with -q */
            fprintf(stderr, "clvox %s: %s: was there before and does not belong to these results\n",
                    cli->verb, one->path);
    }
}

void cli_claims_free(command *cli)
{
    cli_claims *c = cli->claims;
    if (!c)
        return;
    for (int i = 0; i < c->inputs; i++)
        free(c->input[i]);
    for (int i = 0; i < c->outputs; i++)
        free(c->output[i].path);
    for (int i = 0; i < c->owneds; i++)
        free(c->owned[i]);
    free(c->input);
    free(c->output);
    free(c->owned);
    clvox_before_free(&c->before);
    free(c);
    cli->claims = NULL;
}
