/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char folder[64];

const char *files_in(const char *name)
{
    static char path[16][512];
    static int turn;
    if (!folder[0]) {
        strcpy(folder, "/tmp/clvox-io-XXXXXX");
        if (!mkdtemp(folder))
            exit(99);
    }
    char *out = path[turn++ % 16];
    snprintf(out, 512, "%s/%s", folder, name);
    return out;
}

int files_count(void)
{
    int count = -2;
    DIR *dir = opendir(files_in(""));
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

int files_clear(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "find '%s' -mindepth 1 -delete", files_in(""));
    return system(command);
}

void files_end(void)
{
    char command[128];
    if (folder[0]) {
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command))
            fprintf(stderr, "%s is left behind\n", folder);
    }
}

const char *files_data(const char *name)
{
    static char path[1024];
    const char *root = getenv("CLVOX_DATA");
    if (root)
        snprintf(path, sizeof path, "%s/%s", root, name);
    else
        snprintf(path, sizeof path, "%s/../shared/data/%s", SOURCE_ROOT, name);
    return access(path, R_OK) ? NULL : path;
}

int files_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return -1;
    size_t put = size ? fwrite(bytes, 1, size, file) : 0;
    return fclose(file) || put != size ? -1 : 0;
}

size_t files_gzip_member(const void *bytes, size_t size, uint8_t *out, size_t room)
{
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        exit(99);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        exit(99);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

int files_write_gzip(const char *path, const void *bytes, size_t size)
{
    size_t room = size + size / 100 + 1000;
    uint8_t *out = malloc(room);
    int status = files_write(path, out, files_gzip_member(bytes, size, out, room));
    free(out);
    return status;
}

uint8_t *files_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size + 1);
    if (fread(bytes, 1, *size, file) != *size)
        exit(99);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

files_nifti files_header(int version, int x, int y, int z)
{
    files_nifti h = {.version = version,
                     .dim = {3, x, y, z, 1, 1, 1, 1},
                     .type = 16,
                     .bits = 32,
                     .pixdim = {1, 2, 2, 2, 1, 1, 1, 1},
                     .offset = version == 2 ? 544 : version ? 352 : 0,
                     .units = 10,
                     .intent_name = ""};
    return h;
}

static void put(uint8_t *to, const void *from, size_t size, int swapped)
{
    for (size_t i = 0; i < size; i++)
        to[i] = ((const uint8_t *)from)[swapped ? size - 1 - i : i];
}

static void put16(uint8_t *to, int x, int swapped)
{
    int16_t value = (int16_t)x;
    put(to, &value, 2, swapped);
}

static void put32(uint8_t *to, int x, int swapped)
{
    put(to, &x, 4, swapped);
}

static void put64(uint8_t *to, int64_t x, int swapped)
{
    put(to, &x, 8, swapped);
}

static void put_float(uint8_t *to, double x, int swapped)
{
    float value = (float)x;
    put(to, &value, 4, swapped);
}

static void put_double(uint8_t *to, double x, int swapped)
{
    put(to, &x, 8, swapped);
}

static size_t second_version(const files_nifti *h, uint8_t *b)
{
    int s = h->swapped;
    put32(b, 540, s);
    memcpy(b + 4, "n+2\0\r\n\032\n", 8);
    put16(b + 12, h->type, s);
    put16(b + 14, h->bits, s);
    for (int i = 0; i < 8; i++) {
        put64(b + 16 + 8 * i, h->dim[i], s);
        put_double(b + 104 + 8 * i, h->pixdim[i], s);
    }
    put_double(b + 80, h->intent_p1, s);
    put64(b + 168, (int64_t)h->offset, s);
    put_double(b + 176, h->slope, s);
    put_double(b + 184, h->inter, s);
    put32(b + 344, h->qform, s);
    put32(b + 348, h->sform, s);
    for (int i = 0; i < 3; i++) {
        put_double(b + 352 + 8 * i, h->quatern[i], s);
        put_double(b + 376 + 8 * i, h->shift[i], s);
        for (int j = 0; j < 4; j++)
            put_double(b + 400 + 32 * i + 8 * j, h->rows[i][j], s);
    }
    put32(b + 500, h->units, s);
    put32(b + 504, h->intent, s);
    snprintf((char *)b + 508, 16, "%s", h->intent_name);
    return 544;
}

size_t files_header_bytes(const files_nifti *h, uint8_t *b)
{
    int s = h->swapped;
    memset(b, 0, 544);
    if (h->version == 2)
        return second_version(h, b);
    put32(b, 348, s);
    for (int i = 0; i < 8; i++) {
        put16(b + 40 + 2 * i, (int)h->dim[i], s);
        put_float(b + 76 + 4 * i, h->pixdim[i], s);
    }
    put16(b + 70, h->type, s);
    put16(b + 72, h->bits, s);
    put_float(b + 108, h->offset, s);
    if (!h->version)
        return 348;
    put_float(b + 56, h->intent_p1, s);
    put16(b + 68, h->intent, s);
    put_float(b + 112, h->slope, s);
    put_float(b + 116, h->inter, s);
    b[123] = (uint8_t)h->units;
    put16(b + 252, h->qform, s);
    put16(b + 254, h->sform, s);
    for (int i = 0; i < 3; i++) {
        put_float(b + 256 + 4 * i, h->quatern[i], s);
        put_float(b + 268 + 4 * i, h->shift[i], s);
        for (int j = 0; j < 4; j++)
            put_float(b + 280 + 16 * i + 4 * j, h->rows[i][j], s);
    }
    snprintf((char *)b + 328, 16, "%s", h->intent_name);
    memcpy(b + 344, h->magic ? h->magic : "n+1", 4);
    return 352;
}

int files_nifti_write(const char *path, const files_nifti *header, const void *data, size_t size)
{
    uint8_t start[544];
    size_t at = files_header_bytes(header, start), length = strlen(path);
    size_t from = header->offset >= (double)at && header->offset < 1e6 ? (size_t)header->offset : at;
    uint8_t *bytes = calloc(1, from + size);
    memcpy(bytes, start, at);
    if (size)
        memcpy(bytes + from, data, size);
    int status = length > 3 && !strcmp(path + length - 3, ".gz") ? files_write_gzip(path, bytes, from + size)
                                                                 : files_write(path, bytes, from + size);
    free(bytes);
    return status;
}

#define AS(CTYPE)                              \
    do {                                       \
        CTYPE value = (CTYPE)x;                \
        put(to, &value, sizeof value, swapped); \
        return sizeof value;                   \
    } while (0)

size_t files_put(uint8_t *to, int type, int swapped, double x)
{
    switch (type) {
    case 2: AS(uint8_t);
    case 4: AS(int16_t);
    case 8: AS(int32_t);
    case 16: AS(float);
    case 64: AS(double);
    case 256: AS(int8_t);
    case 512: AS(uint16_t);
    case 768: AS(uint32_t);
    case 1024: AS(int64_t);
    case 1280: AS(uint64_t);
    }
    exit(99);
}
