/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static const char *const method_words[] = {"ols", "wls", "iwls", "nlls", NULL};
static const char *const scan_words[] = {"none", "mppca", NULL};
static const char *const model_words[] = {"local", "paper", "log", NULL};

/* ---- no effect ---------------------------------------------------------- */

static const char *steps_of_fit(const clv_option *row, const void *values, const char *text)
{
    const clvox_tensor_fit_options *o = values;
    (void)row;
    (void)text;
    return o->method == CLVOX_TENSOR_OLS || o->method == CLVOX_TENSOR_WLS ? "with --method ols or wls" : NULL;
}

static const char *window_of_fit(const clv_option *row, const void *values, const char *text)
{
    const clvox_tensor_fit_options *o = values;
    (void)row;
    (void)text;
    return o->denoise == CLVOX_SCAN_AS_IT_IS ? "without --denoise mppca" : NULL;
}

static const char *tolerance_of_denoise(const clv_option *row, const void *values, const char *text)
{
    const clvox_tensor_denoise_options *o = values;
    (void)row;
    (void)text;
    return o->iterations > 0 ? "with --iterations" : NULL;
}

/* The same of what tensor_all holds of them. */
static const char *of_all(const clv_option *row, const void *values, const char *text)
{
    const clvox_tensor_all_options *o = values;
    const bool fit = row->offset < offsetof(clvox_tensor_all_options, denoise);
    const clv_option *own =
        clv_option_named(fit ? &clv_tensor_fit_table : &clv_tensor_denoise_table, row->name);
    if (!fit && o->plain)
        return "with --plain";
    return own && own->idle ? own->idle(own, fit ? (const void *)&o->fit : &o->denoise, text) : NULL;
}

/* ---- the tables --------------------------------------------------------- */

static int read_window(const clv_option *row, const char *text, void *values)
{
    int side = 0, used = 0;
    if (sscanf(text, "%d%n", &side, &used) != 1 || text[used] || side < 3 || side % 2 == 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "not an odd number from 3 on");
    memcpy((char *)values + row->offset, &side, sizeof side);
    return CLVOX_OK;
}

/* 0 means none to the library, which nobody types on purpose. */
static int read_bmax(const clv_option *row, const char *text, void *values)
{
    char *end;
    double b = strtod(text, &end);
    if (end == text || *end || !(b > 0) || isinf(b))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "not a b-value above 0, in s/mm^2");
    memcpy((char *)values + row->offset, &b, sizeof b);
    return CLVOX_OK;
}

/* holder: the struct that holds them, at: their place in it. idle says when a row has no effect: the row's own
 * function, of those that it has. */
#define FIT_ROWS(holder, at, idle_of)                                                                \
    {.name = "method",                                                                               \
     .type = CLVOX_OPTION_CHOICE,                                                                    \
     CLV_FIELD(holder, at method),                                                                   \
     .words = method_words,                                                                          \
     .help = "ordinary, weighted or iteratively reweighted log-linear, or nonlinear least squares"}, \
        {.name = "robust",                                                                           \
         .type = CLVOX_OPTION_FLAG,                                                                  \
         CLV_FIELD(holder, at robust),                                                               \
         .help = "reject, in each voxel, volumes more than 3 noise levels off"},                     \
        {.name = "bmax",                                                                             \
         .type = CLVOX_OPTION_NUMBER,                                                                \
         CLV_FIELD(holder, at bmax),                                                                 \
         .argument = "B",                                                                            \
         .read = read_bmax,                                                                          \
         .help = "ignore volumes with a larger b-value, s/mm^2"},                                    \
        {.name = "steps",                                                                            \
         .type = CLVOX_OPTION_INTEGER,                                                               \
         CLV_FIELD(holder, at steps),                                                                \
         .most = 1000,                                                                               \
         .help = "iterations of iwls and nlls",                                                      \
         .idle = idle_of(steps_of_fit)},                                                             \
        {.name = "denoise",                                                                          \
         .type = CLVOX_OPTION_CHOICE,                                                                \
         CLV_FIELD(holder, at denoise),                                                              \
         .words = scan_words,                                                                        \
         .help = "denoise the scan first by Marchenko-Pastur PCA"},                                  \
    {                                                                                                \
        .name = "window", .type = CLVOX_OPTION_INTEGER, CLV_FIELD(holder, at window), .most = 99,    \
        .read = read_window, .help = "edge of the PCA windows in voxels, odd",                       \
        .idle = idle_of(window_of_fit)                                                               \
    }

#define DENOISE_ROWS(holder, at, idle_of)                                                                \
    {.name = "model",                                                                                    \
     .type = CLVOX_OPTION_CHOICE,                                                                        \
     CLV_FIELD(holder, at model),                                                                        \
     .words = model_words,                                                                               \
     .help = "sum of |grad D|, Moazeni et al. 2009, or that of log D",                                   \
     .idle = idle_of(NULL)},                                                                             \
        {.name = "reweight",                                                                             \
         .type = CLVOX_OPTION_INTEGER,                                                                   \
         CLV_FIELD(holder, at reweight),                                                                 \
         .most = 20,                                                                                     \
         .unset = true,                                                                                  \
         .help = "rounds of reweighting that smooth less across edges",                                  \
         .idle = idle_of(NULL)},                                                                         \
        {.name = "bregman",                                                                              \
         .type = CLVOX_OPTION_INTEGER,                                                                   \
         CLV_FIELD(holder, at bregman),                                                                  \
         .least = 1,                                                                                     \
         .most = 20,                                                                                     \
         .unset = true,                                                                                  \
         .help = "Bregman iterations instead; 1: plain",                                                 \
         .idle = idle_of(NULL)},                                                                         \
        {.name = "lambda",                                                                               \
         .type = CLVOX_OPTION_NUMBER,                                                                    \
         CLV_FIELD(holder, at lambda),                                                                   \
         .open = CLV_OPTION_ABOVE,                                                                       \
         .unset = true,                                                                                  \
         .automatic = "auto",                                                                            \
         .argument = "auto|X",                                                                           \
         .help = "weight of the data term, per 1e-3 mm^2/s",                                             \
         .idle = idle_of(NULL)},                                                                         \
        {.name = "iterations",                                                                           \
         .type = CLVOX_OPTION_INTEGER,                                                                   \
         CLV_FIELD(holder, at iterations),                                                               \
         .least = 1,                                                                                     \
         .unset = true,                                                                                  \
         .help = "in each Bregman iteration, instead of a tolerance",                                    \
         .idle = idle_of(NULL)},                                                                         \
    {                                                                                                    \
        .name = "tolerance", .type = CLVOX_OPTION_NUMBER, CLV_FIELD(holder, at tolerance),               \
        .open = CLV_OPTION_ABOVE, .argument = "X",                                                       \
        .help = "stop within this fraction of the minimum energy", .idle = idle_of(tolerance_of_denoise) \
    }

#define OWN(idle) idle
#define ALL(idle) of_all
static const clv_option fit_rows[] = {FIT_ROWS(clvox_tensor_fit_options, , OWN)};
static const clv_option denoise_rows[] = {DENOISE_ROWS(clvox_tensor_denoise_options, , OWN)};
static const clv_option all_rows[] = {
    {.name = "everywhere",
     .type = CLVOX_OPTION_FLAG,
     CLV_FIELD(clvox_tensor_all_options, everywhere),
     .help = "process every voxel"},
    FIT_ROWS(clvox_tensor_all_options, fit., ALL),
    {.name = "plain",
     .type = CLVOX_OPTION_FLAG,
     CLV_FIELD(clvox_tensor_all_options, plain),
     .help = "do not denoise the tensors"},
    DENOISE_ROWS(clvox_tensor_all_options, denoise., ALL),
};

static void fit_defaults(void *values)
{
    clvox_tensor_fit_defaults(values);
}

static void denoise_defaults(void *values)
{
    clvox_tensor_denoise_defaults(values);
}

static void all_defaults(void *values)
{
    clvox_tensor_all_defaults(values);
}

/* Default of an option that depends on other options, in words; false: it depends on none. */
static bool varies(const clv_option *row, char *out, size_t room)
{
    static const char *const by[][2] = {{"bmax", "all"},
                                        {"steps", "4 iwls, 10 nlls"},
                                        {"window", "5, wider from 125 volumes on"},
                                        {"reweight", "2"},
                                        {"bregman", "3 with --model paper"},
                                        {"iterations", "until the tolerance"}};
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        if (row->name && !strcmp(row->name, by[i][0])) {
            snprintf(out, room, "%s", by[i][1]);
            return true;
        }
    return false;
}

static int fit_check(const void *values)
{
    return clv_tensor_fit_options_check(values);
}

static int denoise_check(const void *values)
{
    return clv_tensor_denoise_options_check(values);
}

static int all_check(const void *values)
{
    return clv_tensor_all_options_check(values);
}

const clv_option_table clv_tensor_fit_table = {.rows = fit_rows,
                                               .count = sizeof fit_rows / sizeof *fit_rows,
                                               .size = sizeof(clvox_tensor_fit_options),
                                               .defaults = fit_defaults,
                                               .check = fit_check,
                                               .varies = varies};

const clvox_option_table *clvox_tensor_fit_table(void)
{
    return &clv_tensor_fit_table;
}
const clv_option_table clv_tensor_denoise_table = {.rows = denoise_rows,
                                                   .count = sizeof denoise_rows / sizeof *denoise_rows,
                                                   .size = sizeof(clvox_tensor_denoise_options),
                                                   .defaults = denoise_defaults,
                                               .check = denoise_check,
                                                   .varies = varies};

const clvox_option_table *clvox_tensor_denoise_table(void)
{
    return &clv_tensor_denoise_table;
}
const clv_option_table clv_tensor_all_table = {.rows = all_rows,
                                               .count = sizeof all_rows / sizeof *all_rows,
                                               .size = sizeof(clvox_tensor_all_options),
                                               .defaults = all_defaults,
                                               .check = all_check,
                                               .varies = varies};

/* ---- values that do not go together -------------------------------------- */

int clv_tensor_fit_options_check(const clvox_tensor_fit_options *o)
{
    int status = clv_options_check(&clv_tensor_fit_table, o);
    if (status >= 0 && o->window && (o->window < 3 || o->window % 2 == 0))
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "window: %d is not an odd number from 3 on", o->window);
    return status;
}

int clv_tensor_denoise_options_check(const clvox_tensor_denoise_options *o)
{
    int status = clv_options_check(&clv_tensor_denoise_table, o);
    if (status < 0)
        return status;
    if (o->reweight > 0 && o->bregman > 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "Bregman iterations and rounds of reweighting: one or the other");
    if (o->reweight > 0 && o->model == CLVOX_TENSOR_MODEL_PAPER)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "rounds of reweighting are for the local model and for logarithms");
    return CLVOX_OK;
}

int clv_tensor_all_options_check(const clvox_tensor_all_options *o)
{
    int status = clv_options_check(&clv_tensor_all_table, o);
    if (status >= 0 && o->plain && o->denoise.lambda > 0)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "lambda and plain: one or the other");
    if (status >= 0)
        status = clv_tensor_fit_options_check(&o->fit);
    return status < 0 ? status : clv_tensor_denoise_options_check(&o->denoise);
}

const clvox_option_table *clvox_tensor_all_table(void)
{
    return &clv_tensor_all_table;
}
