/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile volumes: as they are, compressed in one member or in several that
 * state their length, and as a pair of header and image. Whatever they hold,
 * the reader must end without harm and in little memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "clvox/threads.h"
#include "clvox/transform.h"
#include "clvox/volume.h"
#include "fuzz.h"

static uint8_t packed[1 << 18];

static void read_both(const char *path)
{
    clvox_volume *v = NULL;
    clvox_transform *t = NULL;
    if (clvox_volume_read(path, &v) >= 0) {
        /* A volume that was read can be written and is whole. */
        double sum = 0;
        for (size_t i = 0; i < clvox_grid_voxels(&v->grid) * (size_t)v->frames; i++)
            sum += v->data[i];
        if (sum == 42)
            puts("");
        if (clvox_volume_write(v, "/dev/null") < 0)
            abort();
    } else if (v || !*clvox_message()) {
        abort();
    }
    clvox_volume_destroy(&v);
    if (clvox_transform_read(path, &t) < 0 && (t || !*clvox_message()))
        abort();
    clvox_transform_destroy(&t);
}

/* Appends a gzip member, with its length stated where hint is set. */
static size_t member(const uint8_t *data, size_t size, int hint, size_t at)
{
    z_stream s;
    memset(&s, 0, sizeof s);
    if (deflateInit2(&s, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    uint8_t *to = packed + at;
    size_t header = hint ? 18 : 10;
    s.next_in = (Bytef *)(uintptr_t)data;
    s.avail_in = (uInt)size;
    s.next_out = to + header;
    s.avail_out = (uInt)(sizeof packed - at - header - 8);
    if (deflate(&s, Z_FINISH) != Z_STREAM_END)
        abort();
    size_t length = header + s.total_out + 8;
    deflateEnd(&s);
    memcpy(to, hint ? "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\0\0" : "\x1f\x8b\x08\0\0\0\0\0\0\xff",
           header);
    if (hint) {
        to[16] = (uint8_t)(length - 1);
        to[17] = (uint8_t)((length - 1) >> 8);
    }
    uint32_t sum = (uint32_t)crc32(0, data, (uInt)size), plain = (uint32_t)size;
    memcpy(to + length - 8, &sum, 4);
    memcpy(to + length - 4, &plain, 4);
    return at + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(".nii", data, size);
    clvox_threads_set(1);
    read_both(path);
    if (size < 348 || size > 30000)
        return 0;
    path = fuzz_file(".nii", packed, member(data, size, 0, 0));
    read_both(path);
    size_t half = size / 2 > 400 ? 352 : size / 2;
    path = fuzz_file(".nii", packed, member(data + half, size - half, 1, member(data, half, 1, 0)));
    read_both(path);
    if (data[345] != '+') {
        fuzz_file(".img", data + 348, size - 348);
        path = fuzz_file(".hdr", data, 348);
        read_both(path);
    }
    return 0;
}
