/* SPDX-License-Identifier: Apache-2.0 */
#include "io/packed/inflate.h"

#include "base/status.h"

/* Sizes are zlib's unsigned ints; a member has 18 bytes or more. */
enum { MOST = 1 << 30, LEAST_MEMBER = 18 };

int clv_inflate_begin(clv_inflate *s, const char *path, const uint8_t *in, size_t size, bool zlib)
{
    *s = (clv_inflate){.in = in, .left = size};
    return inflateInit2(&s->stream, 15 + (zlib ? 32 : 16)) == Z_OK
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "%s: out of memory", path);
}

clv_inflated clv_inflate_some(clv_inflate *s, uint8_t *to, size_t room, size_t *got)
{
    *got = 0;
    while (*got < room) {
        const size_t give = s->left < MOST ? s->left : MOST, space = room - *got < MOST ? room - *got : MOST;
        s->stream.next_in = (Bytef *)(uintptr_t)s->in;
        s->stream.avail_in = (uInt)give;
        s->stream.next_out = to + *got;
        s->stream.avail_out = (uInt)space;
        const int result = inflate(&s->stream, Z_NO_FLUSH);
        s->in += give - s->stream.avail_in;
        s->left -= give - s->stream.avail_in;
        *got += space - s->stream.avail_out;
        if (result == Z_STREAM_END) {
            const bool more = s->left >= LEAST_MEMBER && s->in[0] == 0x1f && s->in[1] == 0x8b;
            return more && inflateReset(&s->stream) == Z_OK ? CLV_INFLATED_MEMBER : CLV_INFLATED_LAST;
        }
        if (result != Z_OK)
            return result == Z_BUF_ERROR ? CLV_INFLATED_CUT : CLV_INFLATED_DAMAGED;
    }
    return CLV_INFLATED_ALL;
}

void clv_inflate_end(clv_inflate *s)
{
    inflateEnd(&s->stream);
}
