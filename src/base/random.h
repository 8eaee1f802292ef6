/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_RANDOM_H
#define CLV_BASE_RANDOM_H

#include <stdint.h>

/* splitmix64 of (seed, counter): every value stands alone, in any order and any thread. */
static inline uint64_t clv_random(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed * 0xd1342543de82ef95u + counter * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A whole number from 0 to below count, at most 2^31. */
static inline int clv_random_below(uint64_t seed, uint64_t counter, int count)
{
    return (int)(((clv_random(seed, counter) >> 32) * (uint64_t)count) >> 32);
}

#endif
