/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/topology.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static int no_memory(void)
{
    return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the topology of a surface");
}

void clv_topology_signs(size_t count, const float *phi, unsigned char *inside)
{
    for (size_t i = 0; i < count; i++)
        inside[i] = phi[i] < 0;
}

/* ---- components --------------------------------------------------------- */

/* Voxels of one kind that lie beside one another in a row. */
typedef struct run {
    int first, last; /* along x */
    int32_t parent;
} run;

typedef struct runs {
    run *list;       /* [0] stands for what is beyond the grid where the kind is outside */
    int32_t *row;    /* the first run of each row, and one more */
    size_t *voxels;  /* of a component, at its root */
    int32_t count;
} runs;

static int32_t root_of(run *list, int32_t i)
{
    while (list[i].parent != i) {
        list[i].parent = list[list[i].parent].parent;
        i = list[i].parent;
    }
    return i;
}

/* The root with the smaller number stays. */
static void join(run *list, int32_t a, int32_t b)
{
    a = root_of(list, a);
    b = root_of(list, b);
    if (a < b)
        list[b].parent = a;
    else
        list[a].parent = b;
}

/* Joins runs of two rows that overlap, or lie within `slack` of it. */
static void join_rows(runs *r, int one, int two, int slack)
{
    int32_t a = r->row[one], b = r->row[two], a_end = r->row[one + 1], b_end = r->row[two + 1];
    while (a < a_end && b < b_end) {
        const run *p = &r->list[a], *q = &r->list[b];
        if (p->first <= q->last + slack && q->first <= p->last + slack)
            join(r->list, a, b);
        if (p->last < q->last)
            a++;
        else
            b++;
    }
}

static void free_runs(runs *r)
{
    free(r->list);
    free(r->row);
    free(r->voxels);
}

static int32_t list_runs(const int size[3], const unsigned char *inside, unsigned char kind, runs *r,
                         bool store)
{
    int32_t count = 1;
    for (int row = 0; row < size[1] * size[2]; row++) {
        const unsigned char *from = inside + (size_t)row * (size_t)size[0];
        if (store)
            r->row[row] = count;
        for (int x = 0; x < size[0]; x++) {
            if (from[x] != kind)
                continue;
            int first = x;
            while (x + 1 < size[0] && from[x + 1] == kind)
                x++;
            if (store)
                r->list[count] = (run){first, x, count};
            count++;
        }
    }
    if (store)
        r->row[size[1] * size[2]] = count;
    return count;
}

/* Components of one kind: 1 across faces, 0 across corners too. */
static int label(const int size[3], const unsigned char *inside, unsigned char kind, runs *r)
{
    int rows = size[1] * size[2], slack = kind ? 0 : 1;
    *r = (runs){.count = list_runs(size, inside, kind, NULL, false)};
    r->list = malloc((size_t)r->count * sizeof *r->list);
    r->row = malloc(((size_t)rows + 1) * sizeof *r->row);
    r->voxels = calloc((size_t)r->count, sizeof *r->voxels);
    if (!r->list || !r->row || !r->voxels) {
        free_runs(r);
        *r = (runs){.count = 0};
        return no_memory();
    }
    r->list[0] = (run){0, -1, 0};
    list_runs(size, inside, kind, r, true);
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++) {
            int row = z * size[1] + y;
            bool rim = y == 0 || z == 0 || y + 1 == size[1] || z + 1 == size[2];
            for (int32_t i = r->row[row]; !kind && i < r->row[row + 1]; i++)
                if (rim || r->list[i].first == 0 || r->list[i].last + 1 == size[0])
                    join(r->list, 0, i);
            if (y > 0)
                join_rows(r, row, row - 1, slack);
            for (int j = -1; z > 0 && j <= 1; j++)
                if (y + j >= 0 && y + j < size[1] && (j == 0 || !kind))
                    join_rows(r, row, row - size[1] + j, slack);
        }
    for (int32_t i = 1; i < r->count; i++)
        r->voxels[root_of(r->list, i)] += (size_t)(r->list[i].last - r->list[i].first + 1);
    return CLVOX_OK;
}

static int bits(unsigned code, unsigned mask)
{
    int count = 0;
    for (code &= mask; code; code &= code - 1)
        count++;
    return count;
}

/* Eight times the share of eight voxels around a corner in the set's Euler number:
 * of voxels - pairs + squares - cubes that are inside. */
static void euler_shares(int shares[256])
{
    static const unsigned char sides[6] = {0x55, 0xaa, 0x33, 0xcc, 0x0f, 0xf0};
    for (unsigned code = 0; code < 256; code++) {
        int pairs = 0, squares = 0;
        for (int f = 0; f < 6; f++) {
            squares += bits(code, sides[f]) == 4;
            for (int g = 0; g < f; g++) {
                unsigned both = sides[f] & sides[g];
                pairs += both && bits(code, both) == 2;
            }
        }
        shares[code] = bits(code, 255) - 2 * pairs + 4 * squares - 8 * (code == 255);
    }
}

static int count_euler(const int size[3], const unsigned char *inside, clv_topology *out)
{
    const size_t nx = (size_t)size[0];
    int shares[256];
    long sum = 0;
    unsigned char *none = calloc(nx, 1);
    if (!none)
        return no_memory();
    euler_shares(shares);
    for (int z = 0; z <= size[2]; z++)
        for (int y = 0; y <= size[1]; y++) {
            const unsigned char *row[4];
            for (int r = 0; r < 4; r++) {
                int j = y - 1 + (r & 1), k = z - 1 + (r >> 1);
                bool there = j >= 0 && k >= 0 && j < size[1] && k < size[2];
                row[r] = there ? inside + ((size_t)k * (size_t)size[1] + (size_t)j) * nx : none;
            }
            unsigned code = 0;
            for (size_t x = 0; x <= nx; x++) {
                code = code >> 1 & 0x55;
                if (x < nx)
                    code |= (unsigned)(row[0][x] << 1 | row[1][x] << 3 | row[2][x] << 5 | row[3][x] << 7);
                sum += shares[code];
            }
        }
    out->euler = (int)(sum / 4);
    free(none);
    return CLVOX_OK;
}

int clv_topology_count(const int size[3], const unsigned char *inside, size_t least, clv_topology *out)
{
    int status;
    runs r;
    *out = (clv_topology){0};
    for (unsigned char kind = 0; kind < 2; kind++) {
        int32_t largest = 0;
        if ((status = label(size, inside, kind, &r)) < 0)
            return status;
        for (int32_t i = 1; kind && i < r.count; i++)
            largest = r.voxels[i] > r.voxels[largest] ? i : largest;
        for (int32_t i = kind; i < r.count; i++) {
            bool root = r.list[i].parent == i;
            *(kind ? &out->inside : &out->outside) += root;
            out->specks += root && i != largest && r.voxels[i] < least;
        }
        free_runs(&r);
    }
    /* Components are the nodes of a tree, the surfaces between them its edges. */
    out->surfaces = out->inside + out->outside - 1;
    return count_euler(size, inside, out);
}

/* ---- simple points ------------------------------------------------------ */

/* Bit 9 (dz + 1) + 3 (dy + 1) + dx + 1 of a word stands for a neighbour. */
enum { AROUND = 27, MIDDLE = 13 };

typedef struct neighbours {
    uint32_t faces, edges, all;             /* across faces; and edges; and corners */
    uint32_t near[AROUND], beside[AROUND];  /* those of each that touch it; across faces, within edges */
} neighbours;

static void list_neighbours(neighbours *n)
{
    *n = (neighbours){0};
    for (int i = 0; i < AROUND; i++) {
        int steps = abs(i % 3 - 1) + abs(i / 3 % 3 - 1) + abs(i / 9 - 1);
        uint32_t bit = 1u << i;
        n->faces |= steps == 1 ? bit : 0;
        n->edges |= steps == 1 || steps == 2 ? bit : 0;
        n->all |= steps ? bit : 0;
    }
    for (int i = 0; i < AROUND; i++)
        for (int k = 0; k < AROUND; k++) {
            int dx = abs(i % 3 - k % 3), dy = abs(i / 3 % 3 - k / 3 % 3), dz = abs(i / 9 - k / 9);
            uint32_t bit = 1u << k;
            n->near[i] |= dx <= 1 && dy <= 1 && dz <= 1 ? bit & n->all : 0;
            n->beside[i] |= dx + dy + dz == 1 ? bit & n->edges : 0;
        }
}

static int lowest(uint32_t word)
{
    int i = 0;
    while (!(word >> i & 1))
        i++;
    return i;
}

/* All of `set` that is joined to its bit `start`. */
static uint32_t grow(uint32_t set, uint32_t start, const uint32_t *joined)
{
    uint32_t part = start, fresh = start;
    while (fresh) {
        int i = lowest(fresh);
        fresh &= fresh - 1;
        uint32_t more = joined[i] & set & ~part;
        part |= more;
        fresh |= more;
    }
    return part;
}

static bool simple(const neighbours *n, uint32_t around)
{
    uint32_t in = around & n->edges, out = ~around & n->all, seeds = in & n->faces;
    if (!seeds || !out)
        return false;
    if (seeds & ~grow(in, seeds & -seeds, n->beside))
        return false;
    return grow(out, out & -out, n->near) == out;
}

/* ---- the walk ----------------------------------------------------------- */

enum { INSIDE = 1, APART = 2, QUEUED = 4, BUCKETS = 256, PER_VOXEL = 64 };

/* First in, first out. */
typedef struct bucket {
    int32_t *place;
    size_t head, count, room;
} bucket;

typedef struct walk {
    const int *size;
    const float *phi;
    float scale;
    unsigned char *state;
    neighbours near;
    bucket buckets[BUCKETS];
    int highest; /* bucket that may hold something */
} walk;

static int push(walk *w, int32_t i)
{
    int key = (int)fminf(fabsf(w->phi[i]) * w->scale, BUCKETS - 1);
    bucket *b = &w->buckets[key];
    if (b->count == b->room) {
        /* Half of it spent: the rest moves down. */
        if (b->head > b->room / 2) {
            memmove(b->place, b->place + b->head, (b->count - b->head) * sizeof *b->place);
            b->count -= b->head;
            b->head = 0;
        } else {
            size_t room = 2 * b->room + 1024;
            int32_t *more = realloc(b->place, room * sizeof *more);
            if (!more)
                return no_memory();
            b->place = more;
            b->room = room;
        }
    }
    b->place[b->count++] = i;
    w->state[i] |= QUEUED;
    w->highest = key > w->highest ? key : w->highest;
    return CLVOX_OK;
}

static void where(const walk *w, int32_t i, int at[3])
{
    at[0] = i % w->size[0];
    at[1] = i / w->size[0] % w->size[1];
    at[2] = i / w->size[0] / w->size[1];
}

static bool within(const walk *w, const int at[3], int dx, int dy, int dz)
{
    int x = at[0] + dx, y = at[1] + dy, z = at[2] + dz;
    return x >= 0 && y >= 0 && z >= 0 && x < w->size[0] && y < w->size[1] && z < w->size[2];
}

static uint32_t look_around(const walk *w, const int at[3], int32_t i)
{
    uint32_t around = 0;
    int bit = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++, bit++)
                if (within(w, at, dx, dy, dz)) {
                    int32_t other = i + (dz * w->size[1] + dy) * w->size[0] + dx;
                    around |= (uint32_t)(w->state[other] & INSIDE) << bit;
                }
    return around;
}

/* Flips voxel i if that changes nothing, and looks at its neighbours again. */
static int visit(walk *w, int32_t i)
{
    int at[3], status = CLVOX_OK;
    where(w, i, at);
    w->state[i] &= (unsigned char)~QUEUED;
    if (!simple(&w->near, look_around(w, at, i)))
        return CLVOX_OK;
    w->state[i] = !(w->state[i] & INSIDE);
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                if (!within(w, at, dx, dy, dz))
                    continue;
                int32_t other = i + (dz * w->size[1] + dy) * w->size[0] + dx;
                if ((w->state[other] & (APART | QUEUED)) == APART && (status = push(w, other)) < 0)
                    return status;
            }
    return CLVOX_OK;
}

int clv_topology_walk(const int size[3], unsigned char *inside, const float *phi, float voxel, long *held)
{
    int status = CLVOX_OK;
    const int32_t count = size[0] * size[1] * size[2];
    walk *w = calloc(1, sizeof *w);
    *held = 0;
    if (!w)
        return no_memory();
    w->size = size;
    w->phi = phi;
    w->scale = PER_VOXEL / voxel;
    w->state = inside;
    list_neighbours(&w->near);
    for (int32_t i = 0; i < count; i++)
        if ((phi[i] < 0) != (inside[i] != 0)) {
            inside[i] |= APART;
            CLV_TRY(push(w, i));
        }
    while (w->highest >= 0) {
        bucket *b = &w->buckets[w->highest];
        if (b->head == b->count) {
            b->head = b->count = 0;
            w->highest--;
            continue;
        }
        CLV_TRY(visit(w, b->place[b->head++]));
    }
end:
    for (int32_t i = 0; i < count; i++) {
        *held += (inside[i] & APART) != 0;
        inside[i] &= INSIDE;
    }
    for (int k = 0; k < BUCKETS; k++)
        free(w->buckets[k].place);
    free(w);
    return status;
}

/* ---- back to a level set ------------------------------------------------ */

/* In voxels. With the outer value of a cell more than three times the inner ones
 * its trilinear function is outside along every line between outer corners. */
static const float held_inside = 0.3f, least_outside = 0.5f, most_inside = 0.12f;

/* Whether the corners of a cell that are inside are joined in more than one way. */
static bool doubtful(unsigned code)
{
    static const unsigned char faces[6][4] = {{0, 1, 3, 2}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                              {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 3, 7, 5}};
    for (int f = 0; f < 6; f++) {
        unsigned a = code >> faces[f][0] & 1, b = code >> faces[f][1] & 1;
        if (a != b && a == (code >> faces[f][2] & 1) && b == (code >> faces[f][3] & 1))
            return true;
    }
    for (unsigned c = 0; c < 4; c++) {
        unsigned pair = 1u << c | 1u << (7 - c);
        if (code == pair || code == (~pair & 255))
            return true;
    }
    return false;
}

void clv_topology_settle(const int size[3], float voxel, float *phi)
{
    const size_t nx = (size_t)size[0], plane = nx * (size_t)size[1];
    const float inner = most_inside * voxel, outer = least_outside * voxel;
    bool table[256];
    for (unsigned code = 0; code < 256; code++)
        table[code] = doubtful(code);
    /* A grid one voxel thick has its cells between that voxel and itself. */
    const size_t right = nx > 1, back = size[1] > 1 ? nx : 0, up = size[2] > 1 ? plane : 0;
    for (int z = 0; z < (up ? size[2] - 1 : 1); z++)
        for (int y = 0; y < (back ? size[1] - 1 : 1); y++) {
            float *row = phi + (size_t)z * plane + (size_t)y * nx;
            unsigned code = 0;
            for (size_t x = 0; x < nx; x++) {
                /* The four corners at x come in as the odd ones. */
                code = (code >> 1 & 0x55) | (unsigned)(row[x] < 0) << 1 | (unsigned)(row[x + back] < 0) << 3 |
                       (unsigned)(row[x + up] < 0) << 5 | (unsigned)(row[x + up + back] < 0) << 7;
                code |= right ? 0 : code >> 1;
                if (x < right || !table[code])
                    continue;
                for (int c = 0; c < 8; c++) {
                    float *v = row + x - (c & 1 ? 0 : right) + (c & 2 ? back : 0) + (c & 4 ? up : 0);
                    *v = *v < 0 ? fmaxf(*v, -inner) : fmaxf(*v, outer);
                }
            }
        }
}

void clv_topology_impose(const int size[3], const unsigned char *inside, float voxel, float *phi)
{
    const size_t count = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (size_t i = 0; i < count; i++)
        if ((phi[i] < 0) != (inside[i] != 0))
            phi[i] = inside[i] ? -held_inside * voxel : least_outside * voxel;
    clv_topology_settle(size, voxel, phi);
}

int clv_topology_keep(const int size[3], const float *before, float voxel, float *phi, long *held)
{
    int status = CLVOX_OK;
    const size_t count = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    unsigned char *inside = malloc(count);
    if (!inside)
        return no_memory();
    clv_topology_signs(count, before, inside);
    CLV_TRY(clv_topology_walk(size, inside, phi, voxel, held));
    clv_topology_impose(size, inside, voxel, phi);
end:
    free(inside);
    return status;
}
