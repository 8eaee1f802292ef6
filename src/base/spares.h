/* SPDX-License-Identifier: Apache-2.0 */
/* Large pieces of host memory. Fresh ones come page by page, at a fault each, and the system clears them:
 * what is given back waits for its next use, up to clvox_spares. */
#ifndef CLV_BASE_SPARES_H
#define CLV_BASE_SPARES_H

#include <stddef.h>

/* A block from malloc, or an earlier one of about that size, whose contents are undefined; NULL: no memory. */
void *clv_large(size_t bytes);
/* The same, all bytes 0. */
void *clv_large_zeros(size_t bytes);
/* Frees memory of malloc, calloc or the two above; NULL is legal. free does as well. */
void clv_large_free(void *piece);

#endif
