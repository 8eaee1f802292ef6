/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a registration are built together before they are needed: none is
 * forgotten, and what they give is the same as of kernels built one by one. */
#include "check.h"
#include "clvox/registration.h"
#include "register/pair.h"
#include "runtime/context.h"

static clvox_context *ctx;

typedef struct setting {
    const char *name;
    clvox_deform deform;
    clvox_preset preset;
    clvox_metric linear_metric, metric;
    bool masks, exchanged;
} setting;

static int run(clvox_context *on, const pair *p, const setting *s, clvox_register_result *r)
{
    clvox_register_options o;
    clvox_register_defaults(&o);
    o.deform = s->deform;
    clvox_register_preset(&o, s->preset);
    o.linear_metric = s->linear_metric;
    o.metric = s->metric;
    o.inverse = 1;
    return pair_register(on, s->exchanged ? p->moving : p->fixed, s->exchanged ? p->fixed : p->moving,
                         s->masks ? p->labels : NULL, NULL, &o, r);
}

static void nothing_forgotten(const pair *p)
{
    static const setting settings[] = {
        {"default", CLVOX_DEFORM_SYN, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_MI, CLVOX_METRIC_LNCC, false, false},
        {"exchanged", CLVOX_DEFORM_SYN, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_MI, CLVOX_METRIC_LNCC, false, true},
        {"quick", CLVOX_DEFORM_GREEDY, CLVOX_PRESET_QUICK, CLVOX_METRIC_MI, CLVOX_METRIC_LNCC, false, false},
        {"best", CLVOX_DEFORM_SYN, CLVOX_PRESET_BEST, CLVOX_METRIC_MI, CLVOX_METRIC_LNCC, false, false},
        {"a mask", CLVOX_DEFORM_GREEDY, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_MI, CLVOX_METRIC_LNCC, true, false},
        {"MI", CLVOX_DEFORM_SYN, CLVOX_PRESET_QUICK, CLVOX_METRIC_MI, CLVOX_METRIC_MI, false, false},
        {"NCC", CLVOX_DEFORM_SYN, CLVOX_PRESET_QUICK, CLVOX_METRIC_NCC, CLVOX_METRIC_NCC, false, false},
        {"SSD", CLVOX_DEFORM_GREEDY, CLVOX_PRESET_QUICK, CLVOX_METRIC_SSD, CLVOX_METRIC_SSD, false, false},
        {"LNCC", CLVOX_DEFORM_GREEDY, CLVOX_PRESET_QUICK, CLVOX_METRIC_LNCC, CLVOX_METRIC_LNCC, false, false},
        {"unbiased", CLVOX_DEFORM_UNBIASED, CLVOX_PRESET_QUICK, CLVOX_METRIC_MI, CLVOX_METRIC_SSD, false, false},
        {"linear alone", CLVOX_DEFORM_NONE, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_MI, CLVOX_METRIC_LNCC, false, false},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        clvox_register_result r;
        int alone = ctx->alone, programs = ctx->compiled, kernels = ctx->built_count;
        CHECK_CASE("%s: few programs, and no kernel by itself", settings[i].name);
        check_must(run(ctx, p, &settings[i], &r));
        printf("# %d kernels, %d programs, %d kernels by themselves\n", ctx->built_count - kernels,
               ctx->compiled - programs, ctx->alone - alone);
        CHECK(ctx->alone == alone);
        clvox_register_result_free(&r);
    }
}

static void same_bits(const pair *p)
{
    const setting s = {.deform = CLVOX_DEFORM_GREEDY, .preset = CLVOX_PRESET_QUICK,
                       .linear_metric = CLVOX_METRIC_MI, .metric = CLVOX_METRIC_LNCC};
    /* Compiled here, whatever the user's cache holds. */
    const clvox_context_options compiling = {.no_cache = true};
    clvox_context *apart;
    clvox_register_result a, b;
    CHECK_CASE("built together or one by one: the same bits");
    check_must(clvox_context_create(&compiling, &apart));
    apart->apart = true;
    check_must(run(ctx, p, &s, &a));
    check_must(run(apart, p, &s, &b));
    CHECK(apart->alone > 20 && apart->compiled == apart->alone);
    CHECK(!memcmp(a.matrix, b.matrix, sizeof a.matrix));
    CHECK(a.warp && b.warp && a.warped && b.warped);
    CHECK(!memcmp(a.warp->data, b.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&a.warp->grid)));
    CHECK(!memcmp(a.warped->data, b.warped->data, sizeof(float) * clvox_grid_voxels(&a.warped->grid)));
    clvox_register_result_free(&a);
    clvox_register_result_free(&b);
    clvox_context_destroy(&apart);
}

int main(void)
{
    pair p;
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    pair_make(&p, (const int[3]){41, 37, 35}, (const double[3]){3, 3, 3}, false, 6, 3);
    nothing_forgotten(&p);
    same_bits(&p);
    pair_free(&p);
    clvox_context_destroy(&ctx);
    return check_end();
}
