/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files: ours for others, others' for us, damaged ones. */
#include <unistd.h>

#include "base/matrix.h"
#include "base/parallel.h"
#include "check.h"
#include "clvox/volume.h"
#include "files.h"

enum { X = 61, Y = 53, Z = 47, N = X * Y * Z };

static float values[N];
static uint8_t plain[352 + sizeof values], packed[2 * sizeof plain];

static int read_same(const char *path)
{
    clvox_volume *v = NULL;
    int status = clvox_volume_read(path, &v);
    int same = status == 0 && !memcmp(v->data, values, sizeof values);
    clvox_volume_destroy(&v);
    return status < 0 ? status : same;
}

static void write_packed(size_t size)
{
    if (files_write(files_in("p.nii.gz"), packed, size))
        exit(99);
}

/* Members of `step` bytes, the first of `first`. */
static size_t members(size_t first, size_t step, int hint)
{
    size_t size = 0, at = 0;
    while (at < sizeof plain) {
        size_t some = at ? step : first;
        if (some > sizeof plain - at)
            some = sizeof plain - at;
        size_t length = files_gzip_member(plain + at, some, packed + size, sizeof packed - size);
        if (hint) {
            /* zlib wrote 10 bytes of header: make room for the field that states the length. */
            uint8_t *m = packed + size;
            static const uint8_t extra[8] = {6, 0, 'B', 'C', 2, 0};
            memmove(m + 18, m + 10, length - 10);
            memcpy(m + 10, extra, 8);
            m[3] = 4;
            length += 8;
            m[16] = (uint8_t)(length - 1);
            m[17] = (uint8_t)((length - 1) >> 8);
        }
        size += length;
        at += some;
    }
    return size;
}

static void others(void)
{
    CHECK_CASE("one member");
    write_packed(members(sizeof plain, 0, 0));
    CHECK(read_same(files_in("p.nii.gz")) == 1);

    CHECK_CASE("any members, at any boundary");
    static const size_t steps[][2] = {{352, 4096}, {1, 70000}, {353, 12345}, {100000, 100000}, {7, 1000}};
    for (int i = 0; i < 5; i++) {
        write_packed(members(steps[i][0], steps[i][1], 0));
        CHECK_THAT(read_same(files_in("p.nii.gz")) == 1, "%d: %s", i, clvox_message());
    }
    CHECK_CASE("members that state their length, at any boundary, in any number of threads");
    static const size_t hints[][2] = {{352, 65280}, {352, 4096}, {65280, 65280}, {17, 30001}, {50001, 16}};
    for (int i = 0; i < 5; i++)
        for (int threads = 1; threads < 6; threads += 2) {
            if (hints[i][1] < 100 && threads > 1)
                continue;
            clv_set_threads(threads);
            write_packed(members(hints[i][0], hints[i][1] < 100 ? 40000 : hints[i][1], 1));
            CHECK_THAT(read_same(files_in("p.nii.gz")) == 1, "%d: %s", i, clvox_message());
        }
    clv_set_threads(0);

    CHECK_CASE("members without content and zeros at the end do no harm");
    size_t size = members(352, 50000, 1);
    size += files_gzip_member(plain, 0, packed + size, sizeof packed - size);
    write_packed(size);
    CHECK(read_same(files_in("p.nii.gz")) == 1);
    size = members(sizeof plain, 0, 0);
    memset(packed + size, 0, 3000);
    write_packed(size + 3000);
    CHECK(read_same(files_in("p.nii.gz")) == 1);

    CHECK_CASE("more data than the header promises do no harm");
    size = members(sizeof plain, 0, 0);
    size += files_gzip_member(plain, sizeof plain, packed + size, sizeof packed - size);
    write_packed(size);
    CHECK(read_same(files_in("p.nii.gz")) == 1);
    uint8_t *longer = calloc(1, 20 * sizeof plain);
    memcpy(longer, plain, sizeof plain);
    CHECK(!files_write_gzip(files_in("p.nii.gz"), longer, 20 * sizeof plain));
    CHECK(read_same(files_in("p.nii.gz")) == 1);
    free(longer);
}

static void ours(void)
{
    clvox_grid g = {{X, Y, Z}, {{0}}};
    clvox_volume *v = NULL;
    char command[2048];
    clv_matrix_identity(g.to_ras);
    if (clvox_volume_create(&g, 1, CLVOX_KIND_SCALAR, &v))
        exit(99);
    memcpy(v->data, values, sizeof values);
    uint8_t *first = NULL;
    size_t first_size = 0;
    for (int threads = 1; threads < 6; threads += 2) {
        CHECK_CASE("what %d threads write is read again, and is the same file", threads);
        clv_set_threads(threads);
        CHECK(clvox_volume_write(v, files_in("o.nii.gz")) == 0);
        CHECK(read_same(files_in("o.nii.gz")) == 1);
        size_t size;
        uint8_t *bytes = files_read(files_in("o.nii.gz"), &size);
        if (first) {
            CHECK(size == first_size && !memcmp(bytes, first, size));
            free(bytes);
        } else {
            first = bytes;
            first_size = size;
        }
    }
    clv_set_threads(0);
    CHECK_CASE("gzip reads it");
    snprintf(command, sizeof command, "gzip -t '%s'", files_in("o.nii.gz"));
    CHECK(!system(command));
    CHECK_CASE("Python's gzip reads it, and finds what the uncompressed file holds");
    CHECK(clvox_volume_write(v, files_in("o.nii")) == 0);
    snprintf(command, sizeof command,
             "python3 -c \"import gzip; assert gzip.open('%s').read() == open('%s', 'rb').read()\"",
             files_in("o.nii.gz"), files_in("o.nii"));
    CHECK(!system(command));
    free(first);
    clvox_volume_destroy(&v);
}

/* Damages that must never give a volume of wrong values. A byte in a header
 * may be one that nobody looks at (the time, the name). */
static void damage(const char *name, size_t size)
{
    CHECK_CASE("%s: a changed byte is found or harmless", name);
    uint8_t *keep = malloc(size);
    memcpy(keep, packed, size);
    int found = 0, tried = 0;
    for (size_t at = 0; at < size; at += 1 + size / 83) {
        packed[at] ^= 0x41;
        write_packed(size);
        int result = read_same(files_in("p.nii.gz"));
        /* With its first byte changed it is no gzip file; in the header's member
         * damage may change what is read: then CRC or parser must object. */
        CHECK_THAT(result == CLVOX_ERROR_FORMAT || result == 1, "byte %zu: %d", at, result);
        found += result < 0;
        tried++;
        packed[at] = keep[at];
    }
    CHECK_THAT(found > tried / 2, "%d of %d", found, tried);

    CHECK_CASE("%s: a file that was cut is refused", name);
    for (size_t length = 1; length < size - 28; length += 1 + size / 37) {
        write_packed(length);
        CHECK_THAT(read_same(files_in("p.nii.gz")) == CLVOX_ERROR_FORMAT, "%zu bytes", length);
    }
    free(keep);
}

int main(void)
{
    /* Half noise, half flat, so that blocks differ in size. */
    uint32_t state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 1664525 + 1013904223;
        values[i] = i % 20000 < 10000 ? (float)(state >> 8) : 1;
    }
    files_nifti h = files_header(1, X, Y, Z);
    files_header_bytes(&h, plain);
    memcpy(plain + 352, values, sizeof values);
    others();
    ours();
    damage("one member", members(sizeof plain, 0, 0));
    damage("members", members(5000, 99999, 0));
    damage("members that state their length", members(352, 60000, 1));

    CHECK_CASE("an empty compressed file is refused");
    write_packed(files_gzip_member(plain, 0, packed, sizeof packed));
    CHECK(read_same(files_in("p.nii.gz")) == CLVOX_ERROR_FORMAT);
    CHECK_CASE("a few bytes of a compressed file are refused");
    for (size_t size = 1; size < 40; size++) {
        members(sizeof plain, 0, 0);
        write_packed(size);
        CHECK(read_same(files_in("p.nii.gz")) == CLVOX_ERROR_FORMAT);
    }
    files_end();
    return check_end();
}
