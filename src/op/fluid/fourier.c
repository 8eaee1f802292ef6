/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/fourier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/fourier/clfft.h"
#include "runtime/fourier/vkfft.h"

/* A work-group takes some lines; how many depends on their length and on the
 * device's local memory. An item of a CPU device takes eight. */
#define LINES(symbol)                                                                                     \
    static const clv_variant symbol##_variants[] = {                                                      \
        {.name = "group", .function = #symbol, .group = {1, 1, 1}, .devices = CLV_ON_GPU,          \
         .tiles = {{256, 1, 1, 1}}},                                                                       \
        {.name = "row", .function = #symbol, .defines = "-DROW_FORM=1", .group = {1, 1, 1},        \
         .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},                                                 \
    };                                                                                                    \
    const clv_entry clv_entry_##symbol = CLV_ENTRY("fluid/fourier", #symbol, symbol##_variants, builds)

/* Without and with radices that have no butterfly. */
static const char *const builds[] = {"-DBY_SUMS=0", "-DBY_SUMS=1", NULL};
LINES(fft_rows);
LINES(fft_rows_back);
LINES(fft_columns);

/* Columns along z there and back with the solution between, where components meet. */
static const clv_variant coupled_variants[] = {
    {.name = "row", .function = "fft_coupled", .defines = "-DROW_FORM=1", .group = {1, 1, 1},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_fft_coupled = CLV_ENTRY("fluid/fourier", "fft_coupled", coupled_variants, builds);

static const clv_variant solve_variants[] = {
    {.name = "item", .function = "fft_solve", .devices = CLV_ON_ANY,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
};
const clv_entry clv_entry_fft_solve = CLV_ENTRY("fluid/fourier", "fft_solve", solve_variants, NULL);

static const clv_variant reorder_variants[] = {
    {.name = "item", .function = "fft_reorder", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "fft_reorder", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
const clv_entry clv_entry_fft_reorder = CLV_ENTRY("fluid/fourier", "fft_reorder", reorder_variants, NULL);

static const clv_variant fit_variants[] = {
    {.name = "item", .function = "fft_fit_item", .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
    {.name = "row", .function = "fft_fit_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_fft_fit = CLV_ENTRY("fluid/fourier", "fft_fit", fit_variants, NULL);

/* In order of preference: of those that take a volume, the first that is the default on this kind of device, as
 * measured (bench rows "fft"), else the first. */
const clv_fft_provider clv_fft_providers[] = {
    {"clvox", CLV_ON_CPU, NULL},
    {"vkfft", CLV_ON_GPU, &clv_fourier_vkfft},
    {"clfft", 0, &clv_fourier_clfft},
    {NULL, 0, NULL},
};

enum { RADICES = 32, WIDE = 8, MOST_SHIFT = 3 };

/* Whether a length has a radix without a butterfly; 1 has. */
static bool by_sums(int n)
{
    static const int small[] = {2, 3, 5, 7};
    bool one = n == 1;
    for (int i = 0; i < 4; i++)
        while (n % small[i] == 0)
            n /= small[i];
    return one || n > 1;
}

int clv_fft_length(int n)
{
    n += n % 2;
    while (by_sums(n))
        n += 2;
    return n;
}

/* At least one. Large ones first: the first needs no roots before its sums. */
static void factors_of(int n, int *radices)
{
    static const int small[] = {3, 5, 7};
    int count = 0, twos = 0;
    for (; n % 2 == 0; n /= 2)
        twos++;
    int rest = n; /* of n without its small factors */
    for (int i = 0; i < 3; i++)
        while (rest % small[i] == 0)
            rest /= small[i];
    for (int p = 11; rest > 1; p += 2) {
        if (p * p > rest)
            p = rest;
        for (; rest % p == 0; rest /= p) {
            radices[count++] = p;
            n /= p;
        }
    }
    for (; twos >= 5 || twos == 3; twos -= 3)
        radices[count++] = 8;
    for (; twos >= 2; twos -= 2)
        radices[count++] = 4;
    if (twos)
        radices[count++] = 2;
    for (int i = 0; i < 3; i++)
        for (; n % small[i] == 0; n /= small[i])
            radices[count++] = small[i];
    if (count == 0)
        radices[count++] = 1;
    radices[count] = 0;
}

/* Lines of a work-group: bytes of local memory, or 0 where one does not fit. */
typedef struct layout {
    int shift, pitch, lines;
    size_t bytes;
} layout;

static layout layout_of(const clvox_context *ctx, const clv_variant *variant, int n)
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    bool rows = variant && variant->defines;
    size_t number = variant == coupled_variants ? 32 : 16;
    layout l = {0, 1, rows ? WIDE : 1, number * (size_t)n * (rows ? WIDE : 1)};
    size_t room = limits->local_bytes;
    for (int shift = MOST_SHIFT; !rows && shift > 0; shift--) {
        size_t bytes = 16 * (size_t)n * ((1u << shift) + 1);
        if (bytes <= room) {
            l = (layout){shift, (1 << shift) + 1, 1 << shift, bytes};
            break;
        }
    }
    if (l.bytes > room)
        l.bytes = 0;
    return l;
}

/* Whether lines fit in local memory. */
static int own_takes(const clvox_context *ctx, const int size[3])
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    const clv_variant *likely = &fft_rows_variants[limits->type == CLVOX_DEVICE_CPU ? 1 : 0];
    for (int a = 0; a < 3; a++)
        if (!layout_of(ctx, likely, size[a]).bytes)
            return clvox_fail(CLVOX_ERROR_DEVICE,
                              "Fourier transform: a side of %d voxels does not fit in the local memory of %s",
                              size[a], limits->name);
    return CLVOX_OK;
}

static int usable(clvox_context *ctx, const clv_fft_provider *provider, const int size[3])
{
    if (!provider->by)
        return own_takes(ctx, size);
    int status = provider->by->takes(size);
    return status < 0 ? status : clv_fourier_trust(ctx, provider->by);
}

/* Plans by a provider, where it takes the volume. */
static int plan(clvox_context *ctx, const clv_fft_provider *provider, const int size[3], clv_fft *out)
{
    int status = usable(ctx, provider, size);
    out->provider = provider;
    return status < 0 || !provider->by ? status : provider->by->plan(ctx, size, &out->plan);
}

/* The first that plans. A library may fail on a device when it plans, and another one not. */
static int choose(clvox_context *ctx, const int size[3], clv_fft *out)
{
    const char *forced = clv_forced_variant(ctx, CLV_FFT), *name = forced ? forced : clv_fourier_wish(ctx);
    int on = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU ? CLV_ON_CPU : CLV_ON_GPU;
    char reason[512];
    for (const clv_fft_provider *p = clv_fft_providers; name && p->name; p++)
        if (!strcmp(p->name, name))
            return plan(ctx, p, size, out);
    if (name)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "there are no Fourier transforms by %s; clvox, vkfft and clfft do them", name);
    for (int others = 0; others < 2; others++)
        for (const clv_fft_provider *p = clv_fft_providers; p->name; p++)
            if (((p->devices & on) == 0) == others && plan(ctx, p, size, out) >= 0)
                return CLVOX_OK;
    snprintf(reason, sizeof reason, "%s", clvox_message());
    return clvox_fail(CLVOX_ERROR_DEVICE,
                      "%s, and no other provider takes %d x %d x %d voxels there; syn, and greedy without an "
                      "operator, register without a Fourier transform",
                      reason, size[0], size[1], size[2]);
}

int clv_fft_create(clvox_context *ctx, const int size[3], clv_fft *out)
{
    const double pi = acos(-1);
    int status = CLVOX_OK, radices[3][RADICES] = {{0}};
    size_t all = (size_t)size[0] + (size_t)size[1] + (size_t)size[2], at = 0;
    float(*table)[2] = malloc(2 * all * sizeof *table);
    *out = (clv_fft){.size = {size[0], size[1], size[2]}};
    if (!table)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for a Fourier transform");
    CLV_TRY(choose(ctx, size, out));
    const clv_fourier_library *by = out->provider->by;
    for (int a = 0; a < 3; a++) {
        factors_of(size[a], radices[a]);
        for (int k = 0; k < size[a]; k++, at++) {
            double angle = 2 * pi * k / size[a], sine = sin(angle / 2);
            table[at][0] = (float)cos(angle);
            table[at][1] = (float)-sin(angle);
            table[all + at][0] = (float)(4 * sine * sine);
            table[all + at][1] = (float)sin(angle);
        }
    }
    CLV_TRY(clv_buffer_create(ctx, 2 * all * sizeof *table, "Fourier tables", &out->roots));
    CLV_TRY(clv_buffer_write(ctx, out->roots, 0, table, 2 * all * sizeof *table));
    CLV_TRY(clv_buffer_create(ctx, sizeof radices, "Fourier tables", &out->radices));
    CLV_TRY(clv_buffer_write(ctx, out->radices, 0, radices, sizeof radices));
    if (by && by->planar && clv_fields_packed(ctx))
        CLV_TRY(clv_buffer_create(ctx, 12 * (size_t)size[0] * (size_t)size[1] * (size_t)size[2],
                                  "field of a Fourier transform", &out->planar));
end:
    free(table);
    if (status < 0)
        clv_fft_destroy(out);
    return status;
}

void clv_fft_destroy(clv_fft *fft)
{
    if (fft->plan)
        fft->provider->by->destroy(fft->plan);
    clv_buffer_destroy(&fft->planar);
    clv_buffer_destroy(&fft->roots);
    clv_buffer_destroy(&fft->radices);
    *fft = (clv_fft){0};
}

size_t clv_fft_bytes(const int size[3])
{
    return 3 * 2 * sizeof(float) * (size_t)(size[0] / 2 + 1) * (size_t)size[1] * (size_t)size[2];
}

/* How columns are transformed, as in cl/fluid/fourier.cl. */
typedef enum way { FORWARD, BACK, SOLVE, SOLVE_TWICE } way;

/* How a kernel is launched along an axis. */
typedef struct pass {
    clvox_context *ctx;
    const clv_fft *fft;
    const clv_kernel *kernel;
    int axis, n, root;
    layout layout;
} pass;

static int begin(clvox_context *ctx, const clv_fft *fft, const clv_entry *entry, int axis, pass *p)
{
    int status = CLVOX_OK;
    bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    *p = (pass){.ctx = ctx, .fft = fft, .axis = axis, .n = fft->size[axis]};
    for (int a = 0; a < axis; a++)
        p->root += fft->size[a];
    size_t likely = layout_of(ctx, &entry->variants[cpu && entry->count > 1 ? 1 : 0], p->n).bytes;
    CLV_TRY(clv_kernel_get(ctx, entry, builds[by_sums(p->n)], fft->size, likely, &p->kernel));
    p->layout = layout_of(ctx, p->kernel->variant, p->n);
    if (!p->layout.bytes)
        return clvox_fail(
            CLVOX_ERROR_DEVICE,
            "Fourier transform: a line of %d voxels does not fit in local memory; use conjugate "
            "gradients",
            p->n);
end:
    return status;
}

#define LINE_ARGUMENTS(p)                                                                                 \
    CLV_INT((p).n), CLV_INT((p).layout.shift), CLV_INT((p).layout.pitch), CLV_BUF((p).fft->roots),        \
        CLV_INT((p).root), CLV_BUF((p).fft->radices), CLV_INT((p).axis *RADICES), CLV_LOCAL((p).layout.bytes)

static double voxels_of(const clv_fft *fft)
{
    return (double)fft->size[0] * fft->size[1] * fft->size[2];
}

/* Bytes of a spectrum read and written. */
static double spectrum_moved(const clv_fft *fft)
{
    return 2.0 * (double)clv_fft_bytes(fft->size);
}

static int ceil_div(int n, int step)
{
    return (n + step - 1) / step;
}

/* Work-groups for `count` rows of each component: an item of a CPU device takes sixteen of them, of all components. */
static int row_groups(const pass *p, int count)
{
    return p->kernel->variant->defines ? ceil_div(count, 2 * WIDE)
                                       : ceil_div(ceil_div(3 * count, 2), p->layout.lines);
}

static int rows(clvox_context *ctx, const clv_fft *fft, const clv_buffer *field, clv_buffer *spectrum)
{
    int status = CLVOX_OK, count = fft->size[1] * fft->size[2];
    pass p;
    CLV_TRY(begin(ctx, fft, &clv_entry_fft_rows, 0, &p));
    const int groups[3] = {row_groups(&p, count), 1, 1};
    CLV_TRY(CLV_LAUNCH(ctx, p.kernel, groups, 12 * voxels_of(fft) + spectrum_moved(fft) / 2, CLV_BUF(field),
                       CLV_BUF(spectrum), CLV_INT(count), LINE_ARGUMENTS(p)));
end:
    return status;
}

static int rows_back(clvox_context *ctx, const clv_fft *fft, const clv_buffer *spectrum, float scale,
                     clv_buffer *field)
{
    int status = CLVOX_OK, count = fft->size[1] * fft->size[2];
    pass p;
    CLV_TRY(begin(ctx, fft, &clv_entry_fft_rows_back, 0, &p));
    const int groups[3] = {row_groups(&p, count), 1, 1};
    CLV_TRY(CLV_LAUNCH(ctx, p.kernel, groups, 12 * voxels_of(fft) + spectrum_moved(fft) / 2,
                       CLV_BUF(spectrum), CLV_BUF(field), CLV_INT(count), CLV_FLOAT(scale),
                       LINE_ARGUMENTS(p)));
end:
    return status;
}

/* weight and scale: of SOLVE. */
static int columns(clvox_context *ctx, const clv_fft *fft, clv_buffer *spectrum, int axis, way how,
                   const float weight[4], float scale)
{
    static const float none[4] = {0};
    int status = CLVOX_OK, half = fft->size[0] / 2 + 1, inner = axis == 1 ? half : half * fft->size[1];
    int count = axis == 1 ? 3 * half * fft->size[2] : 3 * inner;
    pass p;
    CLV_TRY(begin(ctx, fft, &clv_entry_fft_columns, axis, &p));
    const int groups[3] = {ceil_div(count, p.layout.lines), 1, 1}, *n = fft->size;
    CLV_TRY(CLV_LAUNCH(ctx, p.kernel, groups, spectrum_moved(fft), CLV_BUF(spectrum), CLV_INT(inner),
                       CLV_INT(count), CLV_INT(how), CLV_INT4(n[0], n[1], n[2], 0),
                       CLV_FLOAT4V(weight ? weight : none), CLV_FLOAT(scale), LINE_ARGUMENTS(p)));
end:
    return status;
}

int clv_fft_reorder(clvox_context *ctx, const clv_buffer *from, clv_buffer *to, int voxels, bool to_field)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {voxels, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fft_reorder, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 24.0 * voxels, CLV_BUF(from), CLV_BUF(to), CLV_INT(voxels),
                       CLV_INT(to_field)));
end:
    return status;
}

int clv_fft_fit(clvox_context *ctx, const clv_buffer *from, const int from_size[3], clv_buffer *to,
                const int to_size[3])
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    double read = 12, written = 12;
    for (int a = 0; a < 3; a++) {
        read *= from_size[a] < to_size[a] ? from_size[a] : to_size[a];
        written *= to_size[a];
    }
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fft_fit, NULL, to_size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, to_size, read + written, CLV_BUF(from), CLV_BUF(to),
                       CLV_INT4(from_size[0], from_size[1], from_size[2], 0),
                       CLV_INT4(to_size[0], to_size[1], to_size[2], 0)));
end:
    return status;
}

static int library_forward(clvox_context *ctx, const clv_fft *fft, const clv_buffer *field, clv_buffer *spectrum)
{
    int status = CLVOX_OK;
    if (fft->planar)
        CLV_TRY(clv_fft_reorder(ctx, field, fft->planar, (int)voxels_of(fft), false));
    CLV_TRY(fft->provider->by->forward(ctx, fft->plan, fft->planar ? fft->planar : field, spectrum));
end:
    return status;
}

static int library_back(clvox_context *ctx, const clv_fft *fft, clv_buffer *spectrum, clv_buffer *field)
{
    int status = CLVOX_OK;
    CLV_TRY(fft->provider->by->back(ctx, fft->plan, spectrum, fft->planar ? fft->planar : field));
    if (fft->planar)
        CLV_TRY(clv_fft_reorder(ctx, fft->planar, field, (int)voxels_of(fft), true));
end:
    return status;
}

int clv_fft_forward(clvox_context *ctx, const clv_fft *fft, const clv_buffer *field, clv_buffer *spectrum)
{
    int status = CLVOX_OK;
    if (fft->provider->by)
        return library_forward(ctx, fft, field, spectrum);
    CLV_TRY(rows(ctx, fft, field, spectrum));
    for (int a = 1; a < 3; a++)
        if (fft->size[a] > 1)
            CLV_TRY(columns(ctx, fft, spectrum, a, FORWARD, NULL, 1));
end:
    return status;
}

int clv_fft_back(clvox_context *ctx, const clv_fft *fft, clv_buffer *spectrum, clv_buffer *field)
{
    int status = CLVOX_OK;
    if (fft->provider->by)
        return library_back(ctx, fft, spectrum, field);
    for (int a = 2; a > 0; a--)
        if (fft->size[a] > 1)
            CLV_TRY(columns(ctx, fft, spectrum, a, BACK, NULL, 1));
    CLV_TRY(rows_back(ctx, fft, spectrum, (float)(1 / voxels_of(fft)), field));
end:
    return status;
}

/* alpha / spacing^2, and gamma. */
static void weights_of(const clv_fluid_operator *op, float weight[4])
{
    for (int a = 0; a < 3; a++) {
        double q = 1 / (double)op->spacing[a];
        weight[a] = (float)((double)op->alpha * q * q);
    }
    weight[3] = op->gamma;
}

/* Terms of the waves' matrices when their three components are coupled. */
typedef struct equations {
    float weight[4], along[4], cross[4];
} equations;

static equations equations_of(const clv_fluid_operator *op)
{
    equations e = {.along = {0}, .cross = {0}};
    double q[3], beta = (double)op->beta;
    weights_of(op, e.weight);
    for (int a = 0; a < 3; a++)
        q[a] = 1 / (double)op->spacing[a];
    for (int a = 0; a < 3; a++) {
        e.along[a] = (float)(beta * q[a] * q[a]);
        e.cross[a] = (float)(beta * q[a > 1 ? 1 : 0] * q[a > 0 ? 2 : 1]);
    }
    return e;
}

/* Divides a spectrum by the operator's matrices. */
static int divide(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, float scale,
                  bool twice, clv_buffer *spectrum)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *n = fft->size, size[3] = {n[0] / 2 + 1, n[1], n[2]};
    const equations e = equations_of(op);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fft_solve, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, spectrum_moved(fft), CLV_BUF(spectrum),
                       CLV_INT4(n[0], n[1], n[2], 0), CLV_FLOAT4V(e.weight), CLV_FLOAT4V(e.along),
                       CLV_FLOAT4V(e.cross), CLV_FLOAT(scale), CLV_INT(twice), CLV_BUF(fft->roots)));
end:
    return status;
}

/* Whether columns of all components go through local memory together. */
static bool together(const clvox_context *ctx, const clv_fft *fft)
{
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    bool cpu = limits->type == CLVOX_DEVICE_CPU && !clv_forced_variant(ctx, clv_entry_fft_solve.name);
    return (cpu || clv_forced_variant(ctx, clv_entry_fft_coupled.name)) &&
           layout_of(ctx, coupled_variants, fft->size[2]).bytes;
}

/* The same, along z there and back. */
static int coupled(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, float scale,
                   bool twice, clv_buffer *spectrum)
{
    int status = CLVOX_OK;
    const int *n = fft->size, groups[3] = {ceil_div((n[0] / 2 + 1) * n[1], WIDE), 1, 1};
    const equations e = equations_of(op);
    pass p;
    CLV_TRY(begin(ctx, fft, &clv_entry_fft_coupled, 2, &p));
    CLV_TRY(CLV_LAUNCH(ctx, p.kernel, groups, spectrum_moved(fft), CLV_BUF(spectrum),
                       CLV_INT4(n[0], n[1], n[2], 0), CLV_FLOAT4V(e.weight), CLV_FLOAT4V(e.along),
                       CLV_FLOAT4V(e.cross), CLV_FLOAT(scale), CLV_INT(twice), LINE_ARGUMENTS(p)));
end:
    return status;
}

static int solve(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, const clv_buffer *f,
                 clv_buffer *v, clv_buffer *spectrum, bool twice)
{
    int status = CLVOX_OK;
    float scale = (float)(1 / voxels_of(fft)), weight[4];
    CLV_TRY(clv_fluid_operator_check(op));
    if (!op->periodic)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "Fourier solver: the operator is not periodic; use over-relaxation or conjugate "
                          "gradients");
    for (int a = 0; a < 3; a++) {
        if (op->size[a] != fft->size[a])
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "Fourier solver: made for %d voxels along axis %d, not %d", fft->size[a], a + 1,
                              op->size[a]);
    }
    weights_of(op, weight);
    if (fft->provider->by) {
        CLV_TRY(library_forward(ctx, fft, f, spectrum));
        CLV_TRY(divide(ctx, fft, op, 1, twice, spectrum));
        return library_back(ctx, fft, spectrum, v);
    }
    CLV_TRY(rows(ctx, fft, f, spectrum));
    if (fft->size[1] > 1)
        CLV_TRY(columns(ctx, fft, spectrum, 1, FORWARD, NULL, 1));
    if (op->beta > 0 && together(ctx, fft)) {
        CLV_TRY(coupled(ctx, fft, op, scale, twice, spectrum));
    } else if (op->beta > 0) {
        if (fft->size[2] > 1)
            CLV_TRY(columns(ctx, fft, spectrum, 2, FORWARD, NULL, 1));
        CLV_TRY(divide(ctx, fft, op, scale, twice, spectrum));
        if (fft->size[2] > 1)
            CLV_TRY(columns(ctx, fft, spectrum, 2, BACK, NULL, 1));
    } else {
        CLV_TRY(columns(ctx, fft, spectrum, 2, twice ? SOLVE_TWICE : SOLVE, weight, scale));
    }
    if (fft->size[1] > 1)
        CLV_TRY(columns(ctx, fft, spectrum, 1, BACK, NULL, 1));
    CLV_TRY(rows_back(ctx, fft, spectrum, 1, v));
end:
    return status;
}

int clv_fft_solve(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, const clv_buffer *f,
                  clv_buffer *v, clv_buffer *spectrum)
{
    return solve(ctx, fft, op, f, v, spectrum, false);
}

int clv_fft_solve_twice(clvox_context *ctx, const clv_fft *fft, const clv_fluid_operator *op, const clv_buffer *f,
                        clv_buffer *v, clv_buffer *spectrum)
{
    return solve(ctx, fft, op, f, v, spectrum, true);
}

const clv_entry *const clv_operation_fluid_fourier[] = {
    &clv_entry_fft_rows, &clv_entry_fft_rows_back, &clv_entry_fft_columns, &clv_entry_fft_coupled,
    &clv_entry_fft_solve, &clv_entry_fft_reorder, &clv_entry_fft_fit, NULL};
