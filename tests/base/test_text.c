/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "check.h"

static void text_longer_than_the_room_is_whole(void **state)
{
    static char longer[9000];
    clv_text t = {0};
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    clv_text_put(&t, "a");
    clv_text_add(&t, "%s%d", longer, 7);
    clv_text_put_bytes(&t, "\0b", 2);
    assert_false(t.failed);
    assert_int_equal(t.length, 1 + sizeof longer - 1 + 1 + 2);
    assert_true(t.data[0] == 'a' && t.data[8999] == 'x' && !memcmp(t.data + 9000, "7\0b", 4));
    free(t.data);
}

static void bytes_in_base_64(void **state)
{
    static const char *const wanted[] = {"", "/w==", "/wA=", "/wCA", "/wCAPg=="};
    (void)state;
    for (size_t count = 0; count < 5; count++) {
        clv_text t = {0};
        clv_text_put(&t, "");
        clv_text_put_base64(&t, (const unsigned char *)"\xff\0\x80\x3e", count);
        assert_string_equal(t.data, wanted[count]);
        assert_int_equal(t.length, strlen(wanted[count]));
        free(t.data);
    }
}

int main(void)
{
    test_case(text_longer_than_the_room_is_whole, "text longer than the room, and bytes of 0");
    test_case(bytes_in_base_64, "bytes in base 64, of every remainder");
    return test_run("text", NULL);
}
