/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/tensor/tv.h"
#include "ref/tensor/tv.h"

static const struct setup {
    int size[3];
    float spacing[3];
} setups[] = {
    {{1, 1, 1}, {1, 1, 1}},   {{5, 1, 1}, {1, 2, 3}}, {{1, 7, 3}, {2, 1, 1}},
    {{11, 7, 1}, {1, 1, 4}},  {{8, 3, 5}, {2, 2.5f, 2}}, {{13, 5, 7}, {1, 1.5f, 2}},
    {{37, 11, 6}, {1, 1, 1}}, {{64, 18, 9}, {1, 1, 2}}, {{275, 2, 3}, {1, 1, 1}},
};
enum { LARGE = 3 }; /* the last ones, of several blocks of rows or stretches of a row */
static const char *const names[] = {"local", "paper"};

/* Buffers and host copies of one problem: random positive tensors about `level`. */
typedef struct problem {
    ref_tensor_tv ref;
    clv_tensor_tv_args args;
    size_t n;
    float *mask, *data, *from, *got;
    double *want;
    clv_buffer *mask_buffer, *data_buffer, *links, *partial, *state, *a, *b;
} problem;

static void tensors(float *field, size_t n, unsigned seed)
{
    float *l = malloc(6 * n * sizeof *l);
    harness_random(l, 6 * n, seed, -0.5f, 0.5f);
    for (size_t i = 0; i < n; i++) {
        double li[6], d[6];
        for (size_t c = 0; c < 6; c++)
            li[c] = (double)l[c * n + i] + (c == 0 || c == 3 || c == 5 ? 1 : 0);
        ref_tensor_product(li, d);
        for (size_t c = 0; c < 6; c++)
            field[c * n + i] = (float)d[c];
    }
    free(l);
}

static void make(clvox_context *ctx, const int size[3], const float spacing[3], clv_tensor_coupling coupling,
                 bool with_mask, problem *p)
{
    *p = (problem){.ref = {.coupling = coupling, .lambda = 2, .eps = 1e-3, .relax = 1, .floor = 1e-6}};
    float least = fminf(spacing[0], fminf(spacing[1], spacing[2]));
    p->n = 1;
    for (int a = 0; a < 3; a++) {
        p->ref.size[a] = p->args.size[a] = size[a];
        p->args.spacing[a] = spacing[a];
        p->ref.w[a] = (double)(least / spacing[a]);
        p->n *= (size_t)size[a];
    }
    size_t n = p->n, bytes = 6 * n * sizeof(float);
    p->mask = malloc(n * sizeof(float));
    p->data = malloc(bytes);
    p->from = malloc(bytes);
    p->got = malloc(bytes);
    p->want = malloc(6 * n * sizeof(double));
    tensors(p->data, n, 3);
    tensors(p->from, n, 4);
    harness_random(p->mask, n, 5, -0.5f, 1.5f);
    for (size_t i = 0; i < n; i++) /* whole vectors outside too */
        if (i / 40 % 3 == 1)
            p->mask[i] = 0;
    p->mask[n / 2] = 1;
    for (size_t i = 0; with_mask && i < n; i++)
        for (size_t c = 0; c < 6 && !(p->mask[i] > 0); c++)
            p->data[c * n + i] = p->from[c * n + i] = NAN;
    p->ref.mask = with_mask ? p->mask : NULL;
    p->ref.data = p->data;
    p->mask_buffer = harness_upload(ctx, p->mask, n * sizeof(float));
    p->data_buffer = harness_upload(ctx, p->data, bytes);
    p->a = harness_upload(ctx, p->from, bytes);
    p->b = harness_output(ctx, bytes);
    p->links = harness_output(ctx, clv_tensor_links_bytes(size));
    p->partial = harness_output(ctx, CLV_TENSOR_TV_PARTIALS * sizeof(float));
    p->state = harness_output(ctx, CLV_TENSOR_TV_STATE * sizeof(float));
    p->args = (clv_tensor_tv_args){
        .data = p->data_buffer, .links = p->links, .size = {size[0], size[1], size[2]},
        .spacing = {spacing[0], spacing[1], spacing[2]}, .coupling = coupling, .lambda = (float)p->ref.lambda,
        .eps = (float)p->ref.eps, .relax = (float)p->ref.relax, .floor = (float)p->ref.floor,
        .partial = p->partial, .state = p->state,
    };
    check_must(clv_tensor_links(ctx, with_mask ? p->mask_buffer : NULL, size, p->links));
    for (size_t i = 0; i < 6 * n; i++)
        p->want[i] = (double)p->from[i];
}

static void release(problem *p)
{
    clv_buffer *all[] = {p->mask_buffer, p->data_buffer, p->links, p->partial, p->state, p->a, p->b};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
    free(p->mask);
    free(p->data);
    free(p->from);
    free(p->got);
    free(p->want);
}

static void step_case(clvox_context *ctx, const struct setup *s, clv_tensor_coupling coupling, bool with_mask)
{
    problem p;
    make(ctx, s->size, s->spacing, coupling, with_mask, &p);
    for (int k = 0; k < 2; k++) {
        if (coupling == CLV_TENSOR_PAPER && k == 0)
            CHECK(clv_tensor_tv_sums(ctx, &p.args, p.a) == CLVOX_OK);
        CHECK_THAT((k ? clv_tensor_tv_advance(ctx, &p.args, p.b, p.a)
                      : clv_tensor_tv_step(ctx, &p.args, p.a, p.b)) == CLVOX_OK, "%s", clvox_message());
        ref_tensor_step(&p.ref, p.want);
    }
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    double error = harness_error(p.got, p.want, 6 * p.n, 2e-5, 0);
    CHECK_THAT(error <= 1, "%s %dx%dx%d%s: %g", names[coupling], s->size[0], s->size[1], s->size[2],
               with_mask ? " masked" : "", error);
    release(&p);
}

/* Both couplings with the first tile of a variant; others differ in the work-group
 * alone, and every build takes its time. */
static int couplings(const clv_entry *entry, int state)
{
    int index = 0;
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++)
            if (++index == state)
                return t == 0 ? 2 : 1;
    return 2;
}

static void steps(clvox_context *ctx, int count)
{
    const clv_entry *const entries[] = {&clv_entry_tensor_tv_step, &clv_entry_tensor_tv_step_paper};
    for (int coupling = 0; coupling < 2; coupling++) {
        int state = 0;
        while (harness_next(ctx, entries[coupling], &state, "two steps"))
            for (int s = 0; s < count; s++)
                for (int masked = 0; masked < 2; masked++)
                    step_case(ctx, &setups[s], (clv_tensor_coupling)coupling, masked);
    }
}

/* Three steps (that is, more than an overlap has) by a scheme. */
static void scheme_case(clvox_context *ctx, const struct setup *s, clv_tensor_scheme scheme,
                        clv_tensor_coupling coupling, bool with_mask)
{
    problem p;
    int block[3] = {2, 2, 2}, count = 3;
    make(ctx, s->size, s->spacing, coupling, with_mask, &p);
    if (scheme == CLV_TENSOR_BLOCK) {
        const clv_kernel *kernel;
        check_must(clv_kernel_get(ctx, &clv_entry_tensor_tv_block, coupling ? "-DPAPER=1" : "-DPAPER=0",
                                  s->size, 0, &kernel));
        block[0] = kernel->tile.x;
        block[1] = kernel->tile.y;
        block[2] = kernel->tile.z;
    }
    CHECK_THAT(clv_tensor_tv_descend(ctx, &p.args, scheme, count, p.a, p.b) == CLVOX_OK, "%s",
               clvox_message());
    if (scheme == CLV_TENSOR_OVERLAP)
        for (int k = 0; k < count; k++)
            ref_tensor_step(&p.ref, p.want);
    else
        ref_tensor_blocks(&p.ref, p.want, block, scheme == CLV_TENSOR_NONE, count);
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    /* Weights of paper that lag a step or two differ a little. */
    double allowed = scheme == CLV_TENSOR_OVERLAP && coupling == CLV_TENSOR_PAPER ? 2e-3 : 4e-5;
    double error = harness_error(p.got, p.want, 6 * p.n, allowed, 0);
    CHECK_THAT(error <= 1, "%s %dx%dx%d%s: %g", names[coupling], s->size[0], s->size[1], s->size[2],
               with_mask ? " masked" : "", error);
    release(&p);
}

static void schemes(clvox_context *ctx, int count)
{
    static const struct {
        const clv_entry *entry;
        clv_tensor_scheme scheme;
    } all[] = {{&clv_entry_tensor_tv_overlap, CLV_TENSOR_OVERLAP},
               {&clv_entry_tensor_tv_block, CLV_TENSOR_BLOCK},
               {&clv_entry_tensor_tv_none, CLV_TENSOR_NONE}};
    for (int e = 0; e < 3; e++) {
        int state = 0;
        while (harness_next(ctx, all[e].entry, &state, "three steps"))
            for (int s = 0; s < count; s++)
                for (int k = 0; k < 2 * couplings(all[e].entry, state); k++)
                    scheme_case(ctx, &setups[s], all[e].scheme, (clv_tensor_coupling)(k / 2), k % 2);
    }
}

static void sum_cases(clvox_context *ctx, int count)
{
    for (int k = 0; k < 4; k++)
        for (int s = 0; s < count; s++) {
            problem p;
            float got[CLV_TENSOR_TV_STATE];
            double tv[6], total = 0;
            make(ctx, setups[s].size, setups[s].spacing, (clv_tensor_coupling)(k / 2), k % 2, &p);
            double energy = ref_tensor_energy(&p.ref, p.want, tv);
            CHECK_THAT(clv_tensor_tv_energy(ctx, &p.args, p.a) == CLVOX_OK, "%s", clvox_message());
            harness_download(ctx, p.state, got, sizeof got);
            for (int c = 0; c < 6; c++)
                total += (c == 0 || c == 3 || c == 5 ? 1 : 2) * tv[c] * tv[c];
            for (int c = 0; c < 6; c++) {
                CHECK_THAT(fabs(got[c] - tv[c]) <= 1e-5 * tv[c], "%g of %g", got[c], tv[c]);
                CHECK(fabs(got[CLV_TENSOR_TV_WEIGHT + c] - tv[c] / sqrt(total)) <= 1e-5);
            }
            CHECK_THAT(fabs(got[CLV_TENSOR_TV_ENERGY] - energy) <= 1e-5 * energy, "%g of %g",
                       got[CLV_TENSOR_TV_ENERGY], energy);
            release(&p);
        }
}

/* dE/dL against central differences of the discrete energy, all in double. */
static void gradient_case(clvox_context *ctx, clv_tensor_coupling coupling)
{
    problem p;
    make(ctx, (const int[3]){5, 4, 3}, (const float[3]){1, 1.5f, 2}, coupling, true, &p);
    size_t n = p.n;
    double *l = malloc(6 * n * sizeof *l), *gradient = malloc(6 * n * sizeof *gradient);
    double worst = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        double d[6], li[6];
        for (size_t c = 0; c < 6; c++)
            d[c] = p.want[c * n + i];
        ref_tensor_factor(d, li);
        for (size_t c = 0; c < 6; c++)
            l[c * n + i] = li[c];
    }
    ref_tensor_gradient(&p.ref, p.want, l, gradient);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 6 && p.mask[i] > 0; c++) {
            double h = 1e-5, energy[2], li[6], d[6], before[6];
            for (size_t e = 0; e < 6; e++)
                before[e] = p.want[e * n + i];
            for (int side = 0; side < 2; side++) {
                for (size_t e = 0; e < 6; e++)
                    li[e] = l[e * n + i] + (e == c ? (side ? h : -h) : 0);
                ref_tensor_product(li, d);
                for (size_t e = 0; e < 6; e++)
                    p.want[e * n + i] = d[e];
                energy[side] = ref_tensor_energy(&p.ref, p.want, NULL);
            }
            for (size_t e = 0; e < 6; e++)
                p.want[e * n + i] = before[e];
            worst = fmax(worst, fabs((energy[1] - energy[0]) / (2 * h) - gradient[c * n + i]));
            most = fmax(most, fabs(gradient[c * n + i]));
        }
    CHECK_THAT(worst <= 1e-6 * most, "%g of %g", worst, most);
    free(l);
    free(gradient);
    release(&p);
}

/* The energy falls every step and all tensors stay positive. */
static void fall_case(clvox_context *ctx, clv_tensor_coupling coupling, bool tiny)
{
    problem p;
    const int size[3] = {tiny ? 6 : 17, tiny ? 5 : 14, tiny ? 4 : 9};
    make(ctx, size, (const float[3]){2, 2, 2.5f}, coupling, true, &p);
    double last = HUGE_VAL;
    for (int k = 0; k < (tiny ? 4 : 60); k++) {
        float state[CLV_TENSOR_TV_STATE];
        clv_buffer *from = k % 2 ? p.b : p.a, *to = k % 2 ? p.a : p.b;
        check_must(clv_tensor_tv_energy(ctx, &p.args, from));
        check_must(clv_buffer_read(ctx, p.state, 0, state, sizeof state));
        CHECK_THAT((double)state[CLV_TENSOR_TV_ENERGY] < last, "step %d: %g after %g", k,
                   state[CLV_TENSOR_TV_ENERGY], last);
        last = (double)state[CLV_TENSOR_TV_ENERGY];
        check_must(clv_tensor_tv_step(ctx, &p.args, from, to));
    }
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    for (size_t i = 0; i < p.n; i++) {
        double d[6], l[6];
        if (!(p.mask[i] > 0))
            continue;
        for (size_t c = 0; c < 6; c++)
            d[c] = (double)p.got[c * p.n + i];
        ref_tensor_factor(d, l);
        CHECK(l[0] > 0 && l[3] > 0 && l[5] > 0);
    }
    release(&p);
}

static void constant_case(clvox_context *ctx, clv_tensor_coupling coupling)
{
    problem p;
    static const float one[6] = {1.5f, 0.2f, -0.1f, 0.8f, 0.05f, 0.4f};
    make(ctx, (const int[3]){11, 6, 5}, (const float[3]){1, 1, 2}, coupling, false, &p);
    for (size_t i = 0; i < 6 * p.n; i++)
        p.from[i] = one[i / p.n];
    size_t bytes = 6 * p.n * sizeof(float);
    check_must(clv_buffer_write(ctx, p.a, 0, p.from, bytes));
    check_must(clv_buffer_write(ctx, p.data_buffer, 0, p.from, bytes));
    for (int k = 0; k < 20; k++) {
        check_must(clv_tensor_tv_sums(ctx, &p.args, k % 2 ? p.b : p.a));
        check_must(clv_tensor_tv_step(ctx, &p.args, k % 2 ? p.b : p.a, k % 2 ? p.a : p.b));
    }
    harness_download(ctx, p.a, p.got, bytes);
    for (size_t i = 0; i < 6 * p.n; i++)
        CHECK_THAT(fabsf(p.got[i] - p.from[i]) <= 2e-5f, "%g of %g", p.got[i], p.from[i]);
    release(&p);
}

/* Scalar total variation sqrt(3) (or k) sum sqrt(|grad d|^2 + eps) + mu/2 |d - f|^2 by
 * plain descent in d, written for itself: a 3-D image, unit voxels. */
static void scalar_descent(double *d, const double *f, const int size[3], double weight, double mu,
                           double eps, int count)
{
    int n = size[0] * size[1] * size[2], step[3] = {1, size[0], size[0] * size[1]};
    double *g = malloc((size_t)n * sizeof *g);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < n; i++)
            g[i] = mu * (d[i] - f[i]);
        for (int i = 0; i < n; i++) {
            int at[3] = {i % size[0], i / size[0] % size[1], i / (size[0] * size[1])};
            double s[3], norm = eps;
            for (int a = 0; a < 3; a++) {
                s[a] = at[a] + 1 < size[a] ? d[i + step[a]] - d[i] : 0;
                norm += s[a] * s[a];
            }
            for (int a = 0; a < 3; a++)
                if (at[a] + 1 < size[a]) {
                    g[i + step[a]] += weight * s[a] / sqrt(norm);
                    g[i] -= weight * s[a] / sqrt(norm);
                }
        }
        for (int i = 0; i < n; i++)
            d[i] -= g[i] / (weight * 12 / sqrt(eps) + mu);
    }
    free(g);
}

/* D = d I: the shared norm is sqrt(3) that of d with eps / 3, and the data count
 * three times. */
static void scalar_case(clvox_context *ctx, bool tiny)
{
    problem p;
    const int size[3] = {9, 5, 4};
    make(ctx, size, (const float[3]){1, 1, 1}, CLV_TENSOR_LOCAL, false, &p);
    p.args.eps = 0.03f;
    float *image = malloc(p.n * sizeof *image);
    double *f = malloc(p.n * sizeof *f), *d = malloc(p.n * sizeof *d);
    harness_random(image, p.n, 9, 0.5f, 1.5f);
    for (size_t i = 0; i < 6 * p.n; i++)
        p.from[i] = i / p.n == 0 || i / p.n == 3 || i / p.n == 5 ? image[i % p.n] : 0;
    for (size_t i = 0; i < p.n; i++)
        d[i] = f[i] = (double)image[i];
    check_must(clv_buffer_write(ctx, p.a, 0, p.from, 6 * p.n * sizeof(float)));
    check_must(clv_buffer_write(ctx, p.data_buffer, 0, p.from, 6 * p.n * sizeof(float)));
    for (int k = 0; k < (tiny ? 2 : 4000); k++)
        check_must(clv_tensor_tv_step(ctx, &p.args, k % 2 ? p.b : p.a, k % 2 ? p.a : p.b));
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    scalar_descent(d, f, size, sqrt(3), 3 * p.ref.lambda, 0.01, 4000);
    for (size_t i = 0; i < 6 * p.n && !tiny; i++) {
        size_t c = i / p.n;
        double want = c == 0 || c == 3 || c == 5 ? d[i % p.n] : 0;
        CHECK_THAT(fabs(p.got[i] - want) <= 1e-4, "entry %zu: %g of %g", c, p.got[i], want);
    }
    free(image);
    free(f);
    free(d);
    release(&p);
}

int main(void)
{
    clvox_context *ctx = harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY");
    int count = (int)(sizeof setups / sizeof *setups) - (tiny ? LARGE : 0), state = 0;
    steps(ctx, count);
    schemes(ctx, count < 6 ? count : 6);
    while (harness_next(ctx, &clv_entry_tensor_tv_sums, &state, "sums and energy"))
        sum_cases(ctx, count);
    state = 0;
    while (harness_next(ctx, &clv_entry_tensor_tv_last, &state, "sums and energy"))
        sum_cases(ctx, 3);
    for (int k = 0; k < 2; k++) {
        CHECK_CASE("gradient of %s against differences of the energy", names[k]);
        gradient_case(ctx, (clv_tensor_coupling)k);
        CHECK_CASE("energy of %s falls, tensors stay positive", names[k]);
        fall_case(ctx, (clv_tensor_coupling)k, tiny);
        CHECK_CASE("a constant field stays, %s", names[k]);
        constant_case(ctx, (clv_tensor_coupling)k);
    }
    CHECK_CASE("isotropic tensors: scalar total variation");
    scalar_case(ctx, tiny);
    clvox_context_destroy(&ctx);
    return check_end();
}
