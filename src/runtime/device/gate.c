/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device/gate.h"

#include <pthread.h>
#include <stdlib.h>

struct clv_gate {
    pthread_mutex_t lock;
    pthread_cond_t left; /* something has left */
    size_t bytes, inside;
    int holders, within; /* contexts, and how much work is inside */
};

clv_gate *clv_gate_create(size_t bytes)
{
    clv_gate *gate = calloc(1, sizeof *gate);
    if (!gate)
        return NULL;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->left, NULL);
    gate->bytes = bytes;
    gate->holders = 1;
    return gate;
}

clv_gate *clv_gate_hold(clv_gate *gate)
{
    if (!gate)
        return NULL;
    pthread_mutex_lock(&gate->lock);
    gate->holders++;
    pthread_mutex_unlock(&gate->lock);
    return gate;
}

void clv_gate_release(clv_gate **gate)
{
    if (!gate || !*gate)
        return;
    pthread_mutex_lock(&(*gate)->lock);
    const int left = --(*gate)->holders;
    pthread_mutex_unlock(&(*gate)->lock);
    if (!left) {
        pthread_cond_destroy(&(*gate)->left);
        pthread_mutex_destroy(&(*gate)->lock);
        free(*gate);
    }
    *gate = NULL;
}

void clv_gate_enter(clv_gate *gate, size_t bytes)
{
    if (!gate)
        return;
    pthread_mutex_lock(&gate->lock);
    while (gate->within && (gate->inside > gate->bytes || bytes > gate->bytes - gate->inside))
        pthread_cond_wait(&gate->left, &gate->lock);
    gate->within++;
    gate->inside += bytes;
    pthread_mutex_unlock(&gate->lock);
}

void clv_gate_leave(clv_gate *gate, size_t bytes)
{
    if (!gate)
        return;
    pthread_mutex_lock(&gate->lock);
    gate->within--;
    gate->inside -= bytes;
    pthread_cond_broadcast(&gate->left);
    pthread_mutex_unlock(&gate->lock);
}
