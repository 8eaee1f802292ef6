/* SPDX-License-Identifier: Apache-2.0 */
#include "anatomy/elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/sort.h"
#include "mesh/shape.h"

enum { CODE_BITS = 10 };

/* Every third bit of the result is a bit of v. */
static uint32_t spread(uint32_t v)
{
    uint32_t code = 0;
    for (int b = 0; b < CODE_BITS; b++)
        code |= (v >> b & 1) << 3 * b;
    return code;
}

int clv_element_order(clvox_context *ctx, const float *element, int count, uint32_t *order)
{
    int status = CLVOX_OK;
    float least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY}, longest = 0;
    uint32_t *code = malloc(sizeof *code * (size_t)count);
    if (!code)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %d elements", count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            least[k] = fminf(least[k], element[8 * i + k]);
            most[k] = fmaxf(most[k], element[8 * i + k]);
        }
    for (int k = 0; k < 3; k++)
        longest = fmaxf(longest, most[k] - least[k]);
    const float scale = longest > 0 ? ((1 << CODE_BITS) - 1) / longest : 0;
    for (int i = 0; i < count; i++) {
        code[i] = 0;
        order[i] = (uint32_t)i;
        for (int k = 0; k < 3; k++)
            code[i] |= spread((uint32_t)((element[8 * i + k] - least[k]) * scale)) << k;
    }
    status = clvox_sort(ctx, CLVOX_SORT_UINT32, code, order, (size_t)count);
    free(code);
    return status;
}

/* The elements that have a size; their number, negative where a point is no number. */
static int elements_of(const clvox_shape *s, double scale, const double origin[3], float *element)
{
    int count = 0;
    for (size_t t = 0; t < s->elements; t++) {
        double centre[3], unit[3], size = clv_shape_element(s, t, centre, unit);
        if (!isfinite(size))
            return clvox_fail(CLVOX_ERROR_DATA, "a point of the %s is no number",
                              clv_shape_words_of(s->kind)->noun);
        if (size == 0)
            continue;
        float *e = element + 8 * count++;
        for (int k = 0; k < 3; k++) {
            e[k] = (float)(centre[k] - origin[k]);
            e[4 + k] = (float)unit[k];
        }
        e[3] = 0;
        e[7] = (float)(scale * size);
    }
    return count;
}

/* Least and greatest corner around each block of elements. */
static void boxes_of(const float *element, int count, float *box)
{
    for (int i = 0; i < count; i++) {
        float *b = box + 8 * (size_t)(i / CLV_CURRENTS_BLOCK);
        for (int k = 0; k < 4; k++) {
            bool first = i % CLV_CURRENTS_BLOCK == 0;
            b[k] = first ? element[8 * i + k] : fminf(b[k], element[8 * i + k]);
            b[4 + k] = first ? element[8 * i + k] : fmaxf(b[4 + k], element[8 * i + k]);
        }
    }
}

static int upload(clvox_context *ctx, const float *data, size_t bytes, clv_buffer **out)
{
    int status = clv_buffer_create(ctx, bytes, "elements of a shape", out);
    return status < 0 ? status : clv_buffer_write(ctx, *out, 0, data, bytes);
}

/* A set of elements in their order. */
static int send(clvox_context *ctx, const float *element, int count, clv_element_set *out)
{
    int status = CLVOX_OK;
    const int blocks = CLV_CURRENTS_BLOCKS(count);
    float *box = calloc((size_t)blocks, 32);
    if (!box)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %d elements", count);
    boxes_of(element, count, box);
    for (int b = 0; b < blocks; b++)
        for (int k = 0; k < 3; k++) {
            const double least = (double)box[8 * b + k], most = (double)box[8 * b + 4 + k];
            out->bounds[0][k] = b ? fmin(out->bounds[0][k], least) : least;
            out->bounds[1][k] = b ? fmax(out->bounds[1][k], most) : most;
        }
    for (int i = 0; i < count; i++)
        out->largest = fmax(out->largest, (double)element[8 * i + 7]);
    CLV_TRY(upload(ctx, element, 32 * (size_t)count, &out->element));
    CLV_TRY(upload(ctx, box, 32 * (size_t)blocks, &out->box));
    out->count = count;
end:
    free(box);
    return status;
}

int clv_element_set_create(clvox_context *ctx, const clvox_shape *shape, double scale, const double origin[3],
                           clv_element_set *out)
{
    int status = CLVOX_OK;
    size_t most = shape->elements ? shape->elements : 1;
    float *element = NULL, *sorted = NULL;
    uint32_t *order = NULL;
    *out = (clv_element_set){.count = 0};
    if (shape->elements > INT32_MAX / 8)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a shape of %zu elements is too large", shape->elements);
    element = malloc(32 * most);
    sorted = malloc(32 * most);
    order = malloc(4 * most);
    if (!element || !sorted || !order) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %zu elements", shape->elements);
        goto end;
    }
    int count = elements_of(shape, scale, origin, element);
    CLV_TRY(count);
    status = CLVOX_OK;
    if (count == 0)
        goto end;
    CLV_TRY(clv_element_order(ctx, element, count, order));
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 8; k++)
            sorted[8 * i + k] = element[8 * order[i] + (uint32_t)k];
    CLV_TRY(send(ctx, sorted, count, out));
end:
    free(element);
    free(sorted);
    free(order);
    return status;
}

void clv_element_set_release(clv_element_set *set)
{
    clv_buffer_destroy(&set->element);
    clv_buffer_destroy(&set->box);
    set->count = 0;
}

int clv_element_set_deal(clvox_context *ctx, const clv_element_set *set, int step, int sets,
                         clv_element_set *out)
{
    int status = CLVOX_OK;
    const size_t bytes = 32 * (size_t)set->count;
    float *element = malloc(bytes), *dealt = malloc(bytes);
    for (int s = 0; s < sets; s++)
        out[s] = (clv_element_set){.count = 0};
    if (!element || !dealt) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for %d elements", set->count);
        goto end;
    }
    CLV_TRY(clv_buffer_read(ctx, set->element, 0, element, bytes));
    for (int s = 0; s < sets; s++) {
        int count = 0;
        for (long long i = (long long)s * step; i < set->count; i += (long long)sets * step)
            memcpy(dealt + 8 * count++, element + 8 * i, 32);
        if (count > 0)
            CLV_TRY(send(ctx, dealt, count, &out[s]));
    }
end:
    free(element);
    free(dealt);
    return status;
}

int clv_element_pairs(clvox_context *ctx, const clv_element_set *a, const clv_element_set *b, double width,
                      double *pairs)
{
    int status = CLVOX_OK;
    const clv_element_set *sets[2] = {a, b};
    float *box[2] = {NULL, NULL};
    *pairs = 0;
    for (int s = 0; s < 2; s++) {
        const size_t bytes = 32 * (size_t)CLV_CURRENTS_BLOCKS(sets[s]->count);
        if (sets[s]->count == 0)
            goto end;
        box[s] = malloc(bytes);
        if (!box[s]) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the boxes of a surface");
            goto end;
        }
        CLV_TRY(clv_buffer_read(ctx, sets[s]->box, 0, box[s], bytes));
    }
    for (int i = 0; i < CLV_CURRENTS_BLOCKS(a->count); i++)
        for (int j = 0; j < CLV_CURRENTS_BLOCKS(b->count); j++) {
            const float *p = box[0] + 8 * i, *q = box[1] + 8 * j;
            double apart = 0;
            for (int k = 0; k < 3; k++)
                apart +=
                    pow(fmax(fmax((double)p[k] - (double)q[4 + k], (double)q[k] - (double)p[4 + k]), 0), 2);
            if (apart <= CLV_CURRENTS_REACH * CLV_CURRENTS_REACH * width * width)
                *pairs += (double)CLV_CURRENTS_BLOCK * CLV_CURRENTS_BLOCK;
        }
    *pairs = fmin(*pairs, (double)a->count * b->count);
end:
    free(box[0]);
    free(box[1]);
    return status;
}

clv_elements clv_element_set_view(const clv_element_set *set)
{
    return (clv_elements){set->element, set->box, set->count};
}
