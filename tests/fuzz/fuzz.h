/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* libFuzzer's entry. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes bytes as this process's file with that extension, in memory where
 * there is /dev/shm. Returns its path, static for each of a few extensions. */
const char *fuzz_file(const char *extension, const void *bytes, size_t size);

#endif
