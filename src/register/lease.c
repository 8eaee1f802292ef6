/* SPDX-License-Identifier: Apache-2.0 */
#include "register/lease.h"

bool clv_leases_poison;

static const uint32_t NOT_A_NUMBER = 0x7fc00000;

void clv_lease_lend(clv_leases *l, clv_buffer **slot)
{
    for (int i = 0; i < l->count; i++)
        if (l->of[i].slot == slot)
            return;
    if (l->count < CLV_MOST_LEASES)
        l->of[l->count++].slot = slot;
}

clv_request clv_lease_request(clv_leases *l, clv_buffer **slot, size_t bytes, const char *what)
{
    clv_lease_lend(l, slot);
    return (clv_request){slot, bytes, what};
}

int clv_lease_withdraw(clv_leases *l, clv_buffer *const *slot)
{
    for (int i = 0; i < l->count; i++) {
        if (l->of[i].slot != slot)
            continue;
        if (l->of[i].held)
            return clvox_fail(CLVOX_ERROR_MEMORY, "room of the run is still in use; please report this");
        l->of[i] = l->of[--l->count];
        l->of[l->count].slot = NULL;
        break;
    }
    return CLVOX_OK;
}

/* -1: there is none. */
static int smallest(const clv_leases *l, size_t bytes)
{
    int found = -1;
    for (int i = 0; i < l->count; i++) {
        const clv_buffer *b = *l->of[i].slot;
        if (b && !l->of[i].held && b->bytes >= bytes && (found < 0 || b->bytes < (*l->of[found].slot)->bytes))
            found = i;
    }
    return found;
}

static void free_of(clv_leases *l, clv_buffer **slot)
{
    for (int i = 0; i < l->count; i++)
        if (*slot && l->of[i].held == *slot)
            l->of[i].held = NULL;
    *slot = NULL;
}

int clv_lease_take(clv_leases *l, const clv_request *requests, int count)
{
    for (int k = 0; k < count; k++)
        *requests[k].slot = NULL;
    for (int k = 0; k < count; k++) {
        const int at = smallest(l, requests[k].bytes);
        if (at < 0) {
            const char *what = requests[k].what;
            while (--k >= 0)
                free_of(l, requests[k].slot);
            return clvox_fail(CLVOX_ERROR_MEMORY, "the run has no room for the %s; please report this", what);
        }
        l->of[at].held = *requests[k].slot = *l->of[at].slot;
    }
    return CLVOX_OK;
}

int clv_lease_give(clv_leases *l, const clv_request *requests, int count)
{
    int status = CLVOX_OK;
    for (int k = 0; k < count; k++) {
        clv_buffer *b = *requests[k].slot;
        if (b && clv_leases_poison && status >= 0)
            status = clv_buffer_fill(b->owner, b, 0, NOT_A_NUMBER, b->bytes / 4 * 4);
        free_of(l, requests[k].slot);
    }
    return status;
}
