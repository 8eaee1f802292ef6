/* SPDX-License-Identifier: Apache-2.0 */
#include "io/plain.h"

clv_plain clv_plain_begin(void)
{
    clv_plain p = {.c = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    p.before = p.c ? uselocale(p.c) : (locale_t)0;
    return p;
}

void clv_plain_end(clv_plain p)
{
    if (p.c) {
        uselocale(p.before);
        freelocale(p.c);
    }
}
