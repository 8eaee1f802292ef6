/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's view of words that the host reads, at any offset. */
#include "check.h"
#include "runtime/queue/witness.h"

enum { BYTES = 9001 };
static clvox_context *ctx;
static clv_buffer *buffer;
static unsigned char sent[BYTES];

/* Whether the witness of a range confirms the host's copy. */
static bool confirms(size_t offset, const unsigned char *copy, size_t bytes)
{
    clv_witness w;
    assert_true(clv_witness_ask(ctx, buffer, offset, bytes, &w) == CLVOX_OK);
    return clv_witness_hear(ctx, &w, copy) == CLVOX_OK;
}

static void ranges_of_any_place_and_size_are_confirmed(void **state)
{
    (void)state;
    unsigned char got[BYTES];
    for (size_t offset = 0; offset < 9; offset++)
        for (size_t bytes = 0; bytes < 14; bytes++) {
            assert_true(clv_buffer_read(ctx, buffer, offset, got, bytes) == CLVOX_OK);
            assert_true(!memcmp(got, sent + offset, bytes));
        }
    for (size_t bytes = 4090; bytes < 4110; bytes++)
        assert_true(clv_buffer_read(ctx, buffer, 260, got, bytes) == CLVOX_OK &&
                    !memcmp(got, sent + 260, bytes));
    assert_true(clv_buffer_read(ctx, buffer, 0, got, BYTES) == CLVOX_OK && !memcmp(got, sent, BYTES));
}

static void a_word_that_differs_is_found(void **state)
{
    (void)state;
    unsigned char copy[BYTES];
    for (size_t at = 0; at < 1024; at += 4) {
        memcpy(copy, sent + 8, sizeof copy - 8);
        assert_true(confirms(8, copy, 1024));
        copy[at + at / 4 % 4] ^= 0x80;
        assert_true(!confirms(8, copy, 1024));
    }
    memset(copy, 0, sizeof copy);
    assert_true(!confirms(0, copy, BYTES));
    assert_true(strstr(clvox_message(), "something else") != NULL);
}

static void what_an_earlier_one_said_confirms_nothing(void **state)
{
    (void)state;
    clv_witness w;
    for (int i = 0; i < 3; i++) {
        assert_true(clv_witness_ask(ctx, buffer, 0, 64, &w) == CLVOX_OK);
        w.turn++; /* as if the kernel had not been run for the next one */
        assert_true(clv_witness_hear(ctx, &w, sent) == CLVOX_ERROR_DEVICE);
    }
}

static int close_all(void **state)
{
    (void)state;
    clv_buffer_destroy(&buffer);
    clvox_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0)
        return test_skip_all("%s", clvox_message());
    for (size_t i = 0; i < BYTES; i++)
        sent[i] = (unsigned char)(i * 131 + i / 97);
    if (clv_buffer_create(ctx, BYTES, "words", &buffer) < 0 ||
        clv_buffer_write(ctx, buffer, 0, sent, BYTES) < 0)
        return 1;
    test_case(ranges_of_any_place_and_size_are_confirmed, "ranges of any place and size are confirmed");
    test_case(a_word_that_differs_is_found, "a word that differs is found");
    test_case(what_an_earlier_one_said_confirms_nothing, "the answer of an earlier one confirms nothing");
    return test_run("witness", close_all);
}
