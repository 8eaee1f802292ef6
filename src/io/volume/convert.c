/* SPDX-License-Identifier: Apache-2.0 */
#include "io/volume/convert.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

size_t clv_type_bytes(clvox_type type)
{
    switch (type) {
    case CLVOX_TYPE_INT8:
    case CLVOX_TYPE_UINT8:
        return 1;
    case CLVOX_TYPE_INT16:
    case CLVOX_TYPE_UINT16:
        return 2;
    case CLVOX_TYPE_FLOAT64:
    case CLVOX_TYPE_INT64:
    case CLVOX_TYPE_UINT64:
        return 8;
    default:
        return 4;
    }
}

static inline uint8_t keep8(uint8_t x)
{
    return x;
}

/* One loop a type: BITS is the unsigned type of its size, SWAP its byte swap.
 * Plain values (no scale: slope and intercept) need no arithmetic, so that float32 is a copy. */
#define FROM_FILE(TYPE, BITS, SWAP)                                                  \
    do {                                                                             \
        const char *from = bytes;                                                    \
        for (size_t i = 0; i < count; i++) {                                         \
            BITS bits;                                                               \
            TYPE value;                                                              \
            memcpy(&bits, from + i * sizeof bits, sizeof bits);                      \
            if (swap)                                                                \
                bits = SWAP(bits);                                                   \
            memcpy(&value, &bits, sizeof value);                                     \
            out[i] = plain ? (float)value : (float)(slope * (double)value + inter);  \
        }                                                                            \
    } while (0)

static inline void from_file(clvox_type type, bool swap, const double scale[2], const void *bytes,
                             size_t count, float *out)
{
    const bool plain = !scale;
    const double slope = plain ? 1 : scale[0], inter = plain ? 0 : scale[1];
    switch (type) {
    case CLVOX_TYPE_FLOAT32:
        FROM_FILE(float, uint32_t, __builtin_bswap32);
        break;
    case CLVOX_TYPE_FLOAT64:
        FROM_FILE(double, uint64_t, __builtin_bswap64);
        break;
    case CLVOX_TYPE_INT8:
        FROM_FILE(int8_t, uint8_t, keep8);
        break;
    case CLVOX_TYPE_UINT8:
        FROM_FILE(uint8_t, uint8_t, keep8);
        break;
    case CLVOX_TYPE_INT16:
        FROM_FILE(int16_t, uint16_t, __builtin_bswap16);
        break;
    case CLVOX_TYPE_UINT16:
        FROM_FILE(uint16_t, uint16_t, __builtin_bswap16);
        break;
    case CLVOX_TYPE_INT32:
        FROM_FILE(int32_t, uint32_t, __builtin_bswap32);
        break;
    case CLVOX_TYPE_UINT32:
        FROM_FILE(uint32_t, uint32_t, __builtin_bswap32);
        break;
    case CLVOX_TYPE_INT64:
        FROM_FILE(int64_t, uint64_t, __builtin_bswap64);
        break;
    case CLVOX_TYPE_UINT64:
        FROM_FILE(uint64_t, uint64_t, __builtin_bswap64);
        break;
    }
}

void clv_from_file(clvox_type type, bool swap, double slope, double inter, const void *bytes, size_t count,
                   float *out)
{
    /* Constant arguments let the compiler make a loop without tests of each. */
    const bool plain = slope == 1 && inter == 0;
    const double scale[2] = {slope, inter};
    if (!swap && plain && type == CLVOX_TYPE_FLOAT32)
        memcpy(out, bytes, count * sizeof *out);
    else if (!swap && plain)
        from_file(type, false, NULL, bytes, count, out);
    else if (!swap)
        from_file(type, false, scale, bytes, count, out);
    else if (plain)
        from_file(type, true, NULL, bytes, count, out);
    else
        from_file(type, true, scale, bytes, count, out);
}

#define WHOLE_FROM_FILE(TYPE, BITS, SWAP)                                            \
    do {                                                                             \
        BITS bits;                                                                   \
        TYPE value;                                                                  \
        memcpy(&bits, from + i * sizeof bits, sizeof bits);                          \
        if (swap)                                                                    \
            bits = SWAP(bits);                                                       \
        memcpy(&value, &bits, sizeof value);                                         \
        out[i] = (int64_t)value;                                                     \
    } while (0)

void clv_whole_from_file(clvox_type type, bool swap, const void *bytes, size_t count, int64_t *out)
{
    const char *from = bytes;
    for (size_t i = 0; i < count; i++) {
        float narrow;
        if (type == CLVOX_TYPE_INT32) {
            WHOLE_FROM_FILE(int32_t, uint32_t, __builtin_bswap32);
        } else if (type == CLVOX_TYPE_UINT32) {
            WHOLE_FROM_FILE(uint32_t, uint32_t, __builtin_bswap32);
        } else if (type == CLVOX_TYPE_INT64 || type == CLVOX_TYPE_UINT64) {
            WHOLE_FROM_FILE(int64_t, uint64_t, __builtin_bswap64);
            if (type == CLVOX_TYPE_UINT64 && out[i] < 0)
                out[i] = INT64_MAX;
        } else if (type == CLVOX_TYPE_FLOAT64) {
            uint64_t bits;
            double value;
            memcpy(&bits, from + i * sizeof bits, sizeof bits);
            bits = swap ? __builtin_bswap64(bits) : bits;
            memcpy(&value, &bits, sizeof value);
            out[i] = fabs(value) < 0x1p62 ? llrint(value) : 0;
        } else {
            clv_from_file(type, swap, 1, 0, from + i * clv_type_bytes(type), 1, &narrow);
            out[i] = fabsf(narrow) < 0x1p62f ? llrintf(narrow) : 0;
        }
    }
}

#define WHOLE_TO_FILE(TYPE, LOW, HIGH)                                               \
    do {                                                                             \
        TYPE value = (TYPE)(in[i] < (LOW) ? (LOW) : in[i] > (HIGH) ? (HIGH) : in[i]); \
        memcpy(to + i * sizeof value, &value, sizeof value);                         \
    } while (0)

void clv_whole_to_file(clvox_type type, const int64_t *in, size_t count, void *bytes)
{
    char *to = bytes;
    for (size_t i = 0; i < count; i++) {
        float narrow = (float)in[i];
        double wide = (double)in[i];
        if (type == CLVOX_TYPE_INT32)
            WHOLE_TO_FILE(int32_t, INT32_MIN, INT32_MAX);
        else if (type == CLVOX_TYPE_UINT32)
            WHOLE_TO_FILE(uint32_t, 0, UINT32_MAX);
        else if (type == CLVOX_TYPE_INT64)
            WHOLE_TO_FILE(int64_t, INT64_MIN, INT64_MAX);
        else if (type == CLVOX_TYPE_UINT64)
            WHOLE_TO_FILE(uint64_t, 0, INT64_MAX);
        else if (type == CLVOX_TYPE_FLOAT64)
            memcpy(to + i * sizeof wide, &wide, sizeof wide);
        else
            clv_to_file(type, &narrow, 1, to + i * clv_type_bytes(type));
    }
}

#define TO_FILE(TYPE, LOW, HIGH)                                                     \
    do {                                                                             \
        char *to = bytes;                                                            \
        for (size_t i = 0; i < count; i++) {                                         \
            double x = in[i] == in[i] ? (double)in[i] : 0;                           \
            x = x < (LOW) ? (LOW) : x > (HIGH) ? (HIGH) : x;                         \
            TYPE value = (TYPE)lrint(x);                                             \
            memcpy(to + i * sizeof value, &value, sizeof value);                     \
        }                                                                            \
    } while (0)

/* float32 has no value between 2^63 - 2^39 and 2^63, so that clamping happens
 * on the integers' side. */
static int64_t to_int64(float x)
{
    if (x != x)
        return 0;
    return x >= 0x1p63f ? INT64_MAX : x < -0x1p63f ? INT64_MIN : (int64_t)llrintf(x);
}

static uint64_t to_uint64(float x)
{
    if (x != x || x <= 0)
        return 0;
    return x >= 0x1p64f ? UINT64_MAX : x >= 0x1p63f ? (uint64_t)x : (uint64_t)llrintf(x);
}

void clv_to_file(clvox_type type, const float *in, size_t count, void *bytes)
{
    switch (type) {
    case CLVOX_TYPE_FLOAT32:
        memcpy(bytes, in, count * sizeof *in);
        break;
    case CLVOX_TYPE_FLOAT64:
        for (size_t i = 0; i < count; i++) {
            double value = in[i];
            memcpy((char *)bytes + i * sizeof value, &value, sizeof value);
        }
        break;
    case CLVOX_TYPE_INT8:
        TO_FILE(int8_t, INT8_MIN, INT8_MAX);
        break;
    case CLVOX_TYPE_UINT8:
        TO_FILE(uint8_t, 0, UINT8_MAX);
        break;
    case CLVOX_TYPE_INT16:
        TO_FILE(int16_t, INT16_MIN, INT16_MAX);
        break;
    case CLVOX_TYPE_UINT16:
        TO_FILE(uint16_t, 0, UINT16_MAX);
        break;
    case CLVOX_TYPE_INT32:
        TO_FILE(int32_t, INT32_MIN, INT32_MAX);
        break;
    case CLVOX_TYPE_UINT32:
        TO_FILE(uint32_t, 0, UINT32_MAX);
        break;
    case CLVOX_TYPE_INT64:
        for (size_t i = 0; i < count; i++) {
            int64_t value = to_int64(in[i]);
            memcpy((char *)bytes + i * sizeof value, &value, sizeof value);
        }
        break;
    case CLVOX_TYPE_UINT64:
        for (size_t i = 0; i < count; i++) {
            uint64_t value = to_uint64(in[i]);
            memcpy((char *)bytes + i * sizeof value, &value, sizeof value);
        }
        break;
    }
}

void clv_swap_elements(void *bytes, size_t element, size_t count)
{
    uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++, at += element)
        for (size_t low = 0, high = element - 1; low < high; low++, high--) {
            uint8_t keep = at[low];
            at[low] = at[high];
            at[high] = keep;
        }
}
