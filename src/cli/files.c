/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "base/parallel.h"
#include "cli/cli.h"

static cJSON *list(command *cli, const char *name)
{
    cJSON *out = cJSON_GetObjectItem(cli->log, name);
    return out ? out : cJSON_AddArrayToObject(cli->log, name);
}

/* An input's size and CRC-32 (as gzip, PNG and `crc32` compute it): quick
 * enough not to be noticed, and enough to tell a changed file. */
static void log_input(command *cli, const char *path)
{
    enum { CHUNK = 1 << 20 };
    FILE *file = fopen(path, "rb");
    unsigned char *chunk = malloc(CHUNK);
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "path", path);
    if (file && chunk) {
        uint32_t crc = 0;
        double bytes = 0;
        for (size_t got; (got = fread(chunk, 1, CHUNK, file)) > 0;) {
            crc = libdeflate_crc32(crc, chunk, got);
            bytes += (double)got;
        }
        char text[16];
        snprintf(text, sizeof text, "%08x", crc);
        cJSON_AddNumberToObject(entry, "bytes", bytes);
        cJSON_AddStringToObject(entry, "crc32", text);
    }
    cJSON_AddItemToArray(list(cli, "inputs"), entry);
    if (file)
        fclose(file);
    free(chunk);
}

int cli_read_volume(command *cli, const char *path, clvox_volume **out)
{
    int status = clvox_volume_read(path, out);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

static int check_mask(const char *path, clvox_volume **mask)
{
    int status = CLVOX_OK;
    size_t voxels = clvox_grid_voxels(&(*mask)->grid), inside = 0;
    for (size_t i = 0; i < voxels; i++)
        inside += (*mask)->data[i] > 0;
    if ((*mask)->frames != 1)
        status = clv_fail(CLVOX_ERROR_DATA, "%s: a mask has one frame, this has %d", path, (*mask)->frames);
    else if (!inside)
        status = clv_fail(CLVOX_ERROR_DATA, "%s: the mask is empty (no voxel is above 0)", path);
    if (status < 0)
        clvox_volume_destroy(mask);
    return status;
}

int cli_read_mask(command *cli, const char *path, clvox_volume **out)
{
    return cli_read_volumes(cli, &(cli_input){path, out, true}, 1);
}

static int read_one(void *user, size_t index, int worker)
{
    const cli_input *input = (const cli_input *)user + index;
    (void)worker;
    return input->path ? clvox_volume_read(input->path, input->out) : CLVOX_OK;
}

int cli_read_volumes(command *cli, const cli_input *inputs, int count)
{
    cli_input work[16];
    int status = CLVOX_OK;
    for (int i = 0; i < count; i++) {
        *inputs[i].out = NULL;
        work[i] = inputs[i];
    }
    CLV_TRY(clv_parallel((size_t)count, read_one, work));
    for (int i = 0; i < count; i++)
        if (inputs[i].path)
            log_input(cli, inputs[i].path);
    for (int i = 0; i < count; i++)
        if (inputs[i].path && inputs[i].mask)
            CLV_TRY(check_mask(inputs[i].path, inputs[i].out));
end:
    for (int i = 0; status < 0 && i < count; i++)
        clvox_volume_destroy(inputs[i].out);
    return status;
}

int cli_read_transform(command *cli, const char *path, clvox_transform **out)
{
    int status = clvox_transform_read(path, out);
    if (status >= 0)
        log_input(cli, path);
    return status;
}

void cli_log_output(command *cli, const char *path)
{
    cJSON_AddItemToArray(list(cli, "outputs"), cJSON_CreateString(path));
    cli_remark(cli, 1, "wrote %s\n", path);
}

int cli_write_volume(command *cli, const clvox_volume *volume, const char *path)
{
    int status = clvox_volume_write(volume, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

int cli_write_warp(command *cli, const clvox_volume *warp, const char *path)
{
    int status = clvox_warp_write(warp, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

int cli_write_affine(command *cli, const double matrix[4][4], const char *path)
{
    int status = clvox_affine_write(matrix, CLVOX_AFFINE_ITK, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

/* ---- chains ------------------------------------------------------------- */

int cli_read_chain(command *cli, const cli_texts *texts, cli_chain *out)
{
    int status = CLVOX_OK;
    char *path = NULL;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < texts->count; i++) {
        path = strdup(texts->item[i]);
        if (!path) {
            status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
            goto end;
        }
        size_t length = strlen(path);
        int inverse = length > 3 && !strcmp(path + length - 3, ",-1");
        if (inverse)
            path[length - 3] = 0;
        CLV_TRY(cli_read_transform(cli, path, &out->transform[i]));
        out->link[i].transform = out->transform[i];
        out->link[i].inverse = inverse;
        out->count++;
        free(path);
        path = NULL;
    }
end:
    free(path);
    if (status < 0)
        cli_chain_free(out);
    return status;
}

void cli_chain_free(cli_chain *chain)
{
    for (int i = 0; i < CLI_MAX_TEXTS; i++)
        clvox_transform_destroy(&chain->transform[i]);
    memset(chain, 0, sizeof *chain);
}
