/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_PLAIN_H
#define CLV_IO_PLAIN_H

#include <locale.h>

/* Numbers in files have a point, whatever the user's language: between the two
 * calls, strtod and printf of this thread read and write them so. */
typedef struct clv_plain {
    locale_t c, before;
} clv_plain;

clv_plain clv_plain_begin(void);
void clv_plain_end(clv_plain plain);

#endif
