/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/label/vote.h"

#include <math.h>
#include <stddef.h>

void ref_label_vote(const ref_label_stack *s, const ref_label_voters *v, int x, double votes[REF_LABEL_NAMES])
{
    const int plane = s->size[0] * s->size[1], r = v->reach;
    for (int i = 0; i < REF_LABEL_NAMES; i++)
        votes[i] = 0;
    for (int c = -r; c <= r; c++)
        for (int b = -r; b <= r; b++)
            for (int a = -r; a <= r; a++) {
                const int j = v->place[x + c * plane + b * s->size[0] + a];
                for (int k = 0; k < s->atlases && j != -2; k++) {
                    const size_t at = (size_t)k * (size_t)v->count + (size_t)(j < 0 ? 0 : j);
                    const int shift = v->weights && j >= 0 ? v->shifts[at] : 0;
                    const int label =
                        s->labels[(size_t)k * (size_t)(plane * s->size[2]) + (size_t)(x + shift)];
                    if (label < 0)
                        continue;
                    votes[label] += v->weights && j >= 0 ? (double)v->weights[at] : 1;
                    if (j == -1)
                        break;
                }
            }
}

void ref_label_vote_patches(const ref_label_stack *s, int x, double width, double votes[REF_LABEL_NAMES])
{
    const int side = 2 * s->search + 1, places = side * side * side;
    const size_t voxels = (size_t)s->size[0] * (size_t)s->size[1] * (size_t)s->size[2];
    double least = INFINITY;
    for (int i = 0; i < REF_LABEL_NAMES; i++)
        votes[i] = 0;
    for (int k = 0; k < s->atlases; k++) {
        const double d = ref_label_least(s, x, k);
        least = d >= 0 && d < least ? d : least;
    }
    for (int k = 0; k < s->atlases; k++)
        for (int at = 0; at < places; at++) {
            const int shift = ref_label_shift(s, at),
                      label = s->labels[(size_t)k * voxels + (size_t)(x + shift)];
            if (label >= 0)
                votes[label] += exp((least - ref_label_unlike(s, x, k, shift)) / (width * fmax(least, 1e-4)));
        }
}
