/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/plan/plan.h"

#include <string.h>

/* With less than this share of a compute unit's lanes filled memory latency
 * shows; above it more bring little, and the halo decides. */
static const double enough_filled = 0.5;

static size_t local_bytes(const clv_variant *variant, clv_tile tile, size_t local_extra)
{
    int planes = variant->planes ? variant->planes : tile.z + 2 * variant->halo[2];
    return (size_t)variant->fixed_bytes + (variant->no_local ? 0 : local_extra) +
           (size_t)(tile.x + 2 * variant->halo[0]) * (size_t)(tile.y + 2 * variant->halo[1]) *
               (size_t)planes * (size_t)variant->cell_bytes;
}

static bool within(size_t value, size_t limit)
{
    return limit == 0 || value <= limit; /* 0: unknown */
}

bool clv_variant_runs(const clvox_device_limits *limits, const clv_variant *variant, clv_tile tile,
                      size_t local_extra)
{
    size_t local = local_bytes(variant, tile, local_extra);
    const int *rim = variant->rim;
    if (variant->image && !limits->images)
        return false;
    if (tile.x <= 2 * rim[0] || tile.y <= 2 * rim[1] || tile.z <= 2 * rim[2])
        return false;
    return within((size_t)tile.x * (size_t)tile.y * (size_t)tile.z, limits->max_group) &&
           within((size_t)tile.x, limits->max_items[0]) && within((size_t)tile.y, limits->max_items[1]) &&
           within((size_t)tile.z, limits->max_items[2]) && local <= limits->local_bytes;
}

static int covered(int elements, clv_tile tile)
{
    return elements == CLV_WHOLE ? 0 : elements == CLV_MARCH ? tile.march : elements;
}

void clv_variant_covers(const clv_variant *variant, clv_tile tile, int item[3], int group[3])
{
    const int items[3] = {tile.x, tile.y, tile.z};
    for (int axis = 0; axis < 3; axis++) {
        item[axis] = variant->item[axis] ? covered(variant->item[axis], tile) : 1;
        group[axis] = variant->group[axis] ? covered(variant->group[axis], tile)
                                           : item[axis] * (items[axis] - 2 * variant->rim[axis]);
    }
}

/* Elements read over elements computed. Along an axis that is covered whole the
 * neighbours come from the cache. */
static double waste(const clv_variant *variant, clv_tile tile)
{
    double ratio = 1;
    int item[3], group[3];
    clv_variant_covers(variant, tile, item, group);
    for (int axis = 0; axis < 3; axis++)
        if (group[axis] > 0)
            ratio *= (double)(group[axis] + 2 * variant->halo[axis]) / group[axis];
    return ratio;
}

static clv_candidate candidate_of(const clvox_device_limits *limits, const clv_variant *variant,
                                  clv_tile tile, int tile_index, size_t local_extra)
{
    clv_candidate c = {.variant = variant, .tile = tile, .tile_index = tile_index};
    int kind = limits->type == CLVOX_DEVICE_CPU ? CLV_ON_CPU : CLV_ON_GPU;
    c.local_bytes = local_bytes(variant, tile, local_extra);
    c.waste = waste(variant, tile);
    c.automatic = !variant->optional && (variant->devices & kind) &&
                  (variant->most_units == 0 || limits->compute_units <= variant->most_units);
    clv_footprint footprint = {tile.x * tile.y * tile.z, -1, -1, c.local_bytes};
    clv_occupancy_of(limits, &footprint, &c.resources);
    return c;
}

/* Halves until the tile runs; false when even one work-item does not. */
static bool shrink(const clvox_device_limits *limits, const clv_variant *variant, size_t local_extra,
                   clv_tile *tile)
{
    while (!clv_variant_runs(limits, variant, *tile, local_extra)) {
        int *side = tile->y > 1 ? &tile->y : tile->x > 1 ? &tile->x : tile->z > 1 ? &tile->z : NULL;
        if (!side)
            return false;
        *side /= 2;
    }
    return true;
}

/* Rank of a candidate: lower is tried first. */
static int rank(const clv_candidate *c, bool on_this_kind)
{
    int fits = c->tile_index >= 0 ? 0 : 1;
    if (c->automatic)
        return fits;
    return (c->variant->optional ? 4 : 2) + (on_this_kind ? 0 : 1) + (c->variant->optional ? fits * 2 : 0);
}

static int items_of(const clv_candidate *c)
{
    return c->tile.x * c->tile.y * c->tile.z;
}

/* The share of a compute unit's lanes that such work-groups fill at best;
 * negative: unknown. Unlike occupancy it does not count idle lanes of a warp. */
static double filled(const clv_candidate *c, int width)
{
    int items = items_of(c);
    if (c->resources.most < 0 || width < 1)
        return -1;
    return c->resources.most * items / ((items + width - 1) / width * width);
}

/* The rule by which a tile goes before another of its variant; NULL: none. */
static const char *ahead_by(const clvox_device_limits *limits, const clv_candidate *a, const clv_candidate *b)
{
    if (limits->type == CLVOX_DEVICE_CPU) {
        if (a->waste != b->waste)
            return a->waste < b->waste ? "least halo" : NULL;
        /* A CPU runs a group's items one after another, once for each stretch between
         * barriers: an item alone has no barriers. */
        if (a->local_bytes == 0 || b->local_bytes == 0 || items_of(b) == 1)
            return NULL;
        return items_of(a) == 1 ? "item alone" : items_of(a) > items_of(b) ? "most items" : NULL;
    }
    double fill_a = filled(a, limits->simd), fill_b = filled(b, limits->simd);
    bool enough_a = fill_a < 0 || fill_a >= enough_filled, enough_b = fill_b < 0 || fill_b >= enough_filled;
    if (!enough_a || !enough_b)
        return enough_a ? "fills half" : !enough_b && fill_a > fill_b ? "fills most" : NULL;
    return a->waste < b->waste ? "least halo" : NULL;
}

/* Whether a is to be tried before b, which stands before it in the table. */
static bool before(const clvox_device_limits *limits, const clv_candidate *a, int rank_a,
                   const clv_candidate *b, int rank_b)
{
    if (rank_a != rank_b)
        return rank_a < rank_b;
    return a->variant == b->variant && ahead_by(limits, a, b);
}

const char *clv_plan_reason(const clvox_device_limits *limits, const clv_candidate *candidates, int count,
                            const clv_variant *variant, clv_tile tile)
{
    const clv_candidate *first = NULL, *next = NULL;
    for (int i = 0; i < count && !next; i++)
        if (candidates[i].variant == variant)
            *(first ? &next : &first) = &candidates[i];
    if (!first || first->tile_index < 0)
        return "made to fit";
    if (!next)
        return "only tile";
    if (memcmp(&first->tile, &tile, sizeof tile) != 0)
        return "next choice";
    const char *rule = ahead_by(limits, first, next);
    return rule ? rule : "table order";
}

int clv_plan_candidates(const clvox_device_limits *limits, const clv_entry *entry,
                        size_t local_extra, clv_candidate *out, int room)
{
    int kind = limits->type == CLVOX_DEVICE_CPU ? CLV_ON_CPU : CLV_ON_GPU, count = 0;
    clv_candidate sorted[CLV_MAX_CANDIDATES];
    int ranks[CLV_MAX_CANDIDATES];
    for (int v = 0; v < entry->count; v++) {
        const clv_variant *variant = &entry->variants[v];
        int tiles = 0, fitting = 0;
        while (tiles < CLV_MAX_TILES && variant->tiles[tiles].x)
            tiles++;
        for (int t = 0; t <= tiles && tiles > 0 && count < CLV_MAX_CANDIDATES; t++) {
            clv_tile tile = variant->tiles[t < tiles ? t : tiles - 1];
            if (t < tiles ? !clv_variant_runs(limits, variant, tile, local_extra)
                          : fitting > 0 || !shrink(limits, variant, local_extra, &tile))
                continue;
            fitting++;
            clv_candidate c = candidate_of(limits, variant, tile, t < tiles ? t : -1, local_extra);
            int r = rank(&c, variant->devices & kind), at = count++;
            for (; at > 0 && before(limits, &c, r, &sorted[at - 1], ranks[at - 1]); at--) {
                sorted[at] = sorted[at - 1];
                ranks[at] = ranks[at - 1];
            }
            sorted[at] = c;
            ranks[at] = r;
        }
    }
    if (count > room)
        count = room;
    memcpy(out, sorted, (size_t)count * sizeof *out);
    return count;
}
