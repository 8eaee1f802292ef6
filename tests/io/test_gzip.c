/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files: ours for others, others' for us, damaged ones. */
#include <unistd.h>

#include "base/matrix.h"
#include "clvox/threads.h"
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

static void one_member(void **state)
{
    (void)state;
    write_packed(members(sizeof plain, 0, 0));
    assert_true(read_same(files_in("p.nii.gz")) == 1);
}

static void any_members_at_any_boundary(void **state)
{
    (void)state;
    static const size_t steps[][2] = {{352, 4096}, {1, 70000}, {353, 12345}, {100000, 100000}, {7, 1000}};
    for (int i = 0; i < 5; i++) {
        write_packed(members(steps[i][0], steps[i][1], 0));
        assert_that(read_same(files_in("p.nii.gz")) == 1, "%d: %s", i, clvox_message());
    }
}

static void members_that_state_their_length_at_any(void **state)
{
    (void)state;
    static const size_t hints[][2] = {{352, 65280}, {352, 4096}, {65280, 65280}, {17, 30001}, {50001, 16}};
    for (int i = 0; i < 5; i++)
        for (int threads = 1; threads < 6; threads += 2) {
            if (hints[i][1] < 100 && threads > 1)
                continue;
            clvox_threads_set(threads);
            write_packed(members(hints[i][0], hints[i][1] < 100 ? 40000 : hints[i][1], 1));
            assert_that(read_same(files_in("p.nii.gz")) == 1, "%d: %s", i, clvox_message());
        }
    clvox_threads_set(0);
}

static void members_without_content_and_zeros(void **state)
{
    (void)state;
    size_t size = members(352, 50000, 1);
    size += files_gzip_member(plain, 0, packed + size, sizeof packed - size);
    write_packed(size);
    assert_true(read_same(files_in("p.nii.gz")) == 1);
    size = members(sizeof plain, 0, 0);
    memset(packed + size, 0, 3000);
    write_packed(size + 3000);
    assert_true(read_same(files_in("p.nii.gz")) == 1);
}

static void more_data_than_the_header_promises_do(void **state)
{
    (void)state;
    size_t size = members(sizeof plain, 0, 0);
    size += files_gzip_member(plain, sizeof plain, packed + size, sizeof packed - size);
    write_packed(size);
    assert_true(read_same(files_in("p.nii.gz")) == 1);
    uint8_t *longer = calloc(1, 20 * sizeof plain);
    memcpy(longer, plain, sizeof plain);
    assert_true(!files_write_gzip(files_in("p.nii.gz"), longer, 20 * sizeof plain));
    assert_true(read_same(files_in("p.nii.gz")) == 1);
    free(longer);
}

static void others(void)
{
    test_case(one_member, "a file of one member is read");
    test_case(any_members_at_any_boundary, "any members, at any boundary");
    test_case(members_that_state_their_length_at_any,
              "members that state their length, at any boundary, in any number of threads");
    test_case(members_without_content_and_zeros, "members without content and zeros at the end do no harm");
    test_case(more_data_than_the_header_promises_do, "more data than the header promises do no harm");
}

/* The values as a volume. */
static clvox_volume *volume_of_values(void)
{
    clvox_grid grid = {{X, Y, Z}, {{0}}};
    clvox_volume *v = NULL;
    clv_matrix_identity(grid.to_ras);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    memcpy(v->data, values, sizeof values);
    return v;
}

static void what_threads_write_is_read_again(void **state)
{
    const int *given = *state;
    clvox_volume *v = volume_of_values();
    uint8_t *bytes[2];
    size_t size[2];
    for (int k = 0; k < 2; k++) {
        clvox_threads_set(k ? given[0] : 1);
        assert_ok(clvox_volume_write(v, files_in("o.nii.gz")));
        assert_int_equal(read_same(files_in("o.nii.gz")), 1);
        bytes[k] = files_read(files_in("o.nii.gz"), &size[k]);
    }
    clvox_threads_set(0);
    assert_true(size[0] == size[1] && !memcmp(bytes[0], bytes[1], size[0]));
    free(bytes[0]);
    free(bytes[1]);
    clvox_volume_destroy(&v);
}

static void gzip_reads(void **state)
{
    (void)state;
    char command[2048];
    clvox_volume *v = volume_of_values();
    assert_ok(clvox_volume_write(v, files_in("o.nii.gz")));
    snprintf(command, sizeof command, "gzip -t '%s'", files_in("o.nii.gz"));
    assert_true(!system(command));
    clvox_volume_destroy(&v);
}

static void pythons_gzip_reads_it_and_finds(void **state)
{
    (void)state;
    char command[2048];
    clvox_volume *v = volume_of_values();
    assert_ok(clvox_volume_write(v, files_in("o.nii")));
    assert_ok(clvox_volume_write(v, files_in("o.nii.gz")));
    snprintf(command, sizeof command,
             "python3 -c \"import gzip; assert gzip.open('%s').read() == open('%s', 'rb').read()\"",
             files_in("o.nii.gz"), files_in("o.nii"));
    assert_true(!system(command));
    clvox_volume_destroy(&v);
}

/* Random floats are stored; zeros beside them are not. */
static void noise_is_stored(void **state)
{
    (void)state;
    const clvox_grid grid = {{100, 100, 100}, {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}};
    const size_t n = 1000000, noisy = 700000;
    clvox_volume *v = NULL, *back = NULL;
    size_t size;
    uint32_t random = 1;
    assert_int_equal(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v), 0);
    for (size_t i = 0; i < noisy; i++) {
        const uint32_t bits = ((random = random * 1664525U + 1013904223U) >> 8) * 0x81U % 0x3f800000U;
        memcpy(&v->data[i], &bits, sizeof bits);
    }
    assert_int_equal(clvox_volume_write(v, files_in("noise.nii.gz")), 0);
    free(files_read(files_in("noise.nii.gz"), &size));
    assert_true(size > noisy * 4 && size < noisy * 4 + 70000);
    assert_int_equal(clvox_volume_read(files_in("noise.nii.gz"), &back), 0);
    assert_memory_equal(back->data, v->data, n * sizeof(float));
    char command[2048];
    snprintf(command, sizeof command, "gzip -t '%s'", files_in("noise.nii.gz"));
    assert_true(!system(command));
    clvox_volume_destroy(&back);
    clvox_volume_destroy(&v);
}

static void ours(void)
{
    test_case(noise_is_stored, "random floats are stored, zeros are compressed, and both are read again");
    for (int threads = 1; threads < 6; threads += 2)
        test_case_at(what_threads_write_is_read_again, TEST_AT(threads),
                     "what %d threads write is read again, and is the same file", threads);
    test_case(gzip_reads, "gzip reads what is written");
    test_case(pythons_gzip_reads_it_and_finds,
              "Python's gzip reads it, and finds what the uncompressed file holds");
}

/* The members of a file, as members() takes them. */
typedef struct damaged {
    size_t first, step;
    int hint;
} damaged;

/* Damages that must never give a volume of wrong values. A byte in a header
 * may be one that nobody looks at (the time, the name). */
static void a_changed_byte_is_found_or_harmless(void **state)
{
    const damaged *d = *state;
    const size_t size = members(d->first, d->step, d->hint);
    int found = 0, tried = 0;
    for (size_t at = 0; at < size; at += 1 + size / 83) {
        packed[at] ^= 0x41;
        write_packed(size);
        int result = read_same(files_in("p.nii.gz"));
        /* With its first byte changed it is no gzip file; in the header's member
         * damage may change what is read: then CRC or parser must object. */
        assert_that(result == CLVOX_ERROR_FORMAT || result == 1, "byte %zu: %d", at, result);
        found += result < 0;
        tried++;
        packed[at] ^= 0x41;
    }
    assert_that(found > tried / 2, "%d of %d", found, tried);
}

static void a_file_that_was_cut_is_refused(void **state)
{
    const damaged *d = *state;
    const size_t size = members(d->first, d->step, d->hint);
    for (size_t length = 1; length < size - 28; length += 1 + size / 37) {
        write_packed(length);
        assert_that(read_same(files_in("p.nii.gz")) == CLVOX_ERROR_FORMAT, "%zu bytes", length);
    }
}

static void damage(const char *name, damaged d)
{
    test_case_at(a_changed_byte_is_found_or_harmless, TEST_OF(d),
                 "%s: a changed byte is found or harmless", name);
    test_case_at(a_file_that_was_cut_is_refused, TEST_OF(d), "%s: a file that was cut is refused",
                 name);
}

static void an_empty_compressed_file_is_refused(void **state)
{
    (void)state;
    write_packed(files_gzip_member(plain, 0, packed, sizeof packed));
    assert_int_equal(read_same(files_in("p.nii.gz")), CLVOX_ERROR_FORMAT);
}

static void a_few_bytes_of_a_compressed_file(void **state)
{
    (void)state;
    for (size_t size = 1; size < 40; size++) {
        members(sizeof plain, 0, 0);
        write_packed(size);
        assert_int_equal(read_same(files_in("p.nii.gz")), CLVOX_ERROR_FORMAT);
    }
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    /* Half noise, half flat, so that blocks differ in size. */
    uint32_t seed = 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = i % 20000 < 10000 ? (float)(seed >> 8) : 1;
    }
    files_nifti h = files_header(1, X, Y, Z);
    files_header_bytes(&h, plain);
    memcpy(plain + 352, values, sizeof values);
    others();
    ours();
    damage("a file of one member is read", (damaged){sizeof plain, 0, 0});
    damage("members", (damaged){5000, 99999, 0});
    damage("members that state their length", (damaged){352, 60000, 1});
    test_case(an_empty_compressed_file_is_refused, "an empty compressed file is refused");
    test_case(a_few_bytes_of_a_compressed_file, "a few bytes of a compressed file are refused");
    return test_run("gzip", tear_down);
}
