/* SPDX-License-Identifier: Apache-2.0 */
/* Lee et al. 2012: the forms of the unbiased force on today's device. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_table.h"
#include "bench/papers/beside.h"
#include "bench/papers/op/force_forms.h"
#include "bench/papers/lines.h"
#include "ref/fluid/force.h"

/* Those that others are compared with. */
enum { RECOMPUTE = 0, MARCH = 4, FORMS = 8, MOST = FORMS * CLV_MAX_TILES * 4 };

static void column(char *out, size_t room, int value)
{
    if (value < 0)
        snprintf(out, room, "unknown");
    else
        snprintf(out, room, "%d", value);
}

static const struct form {
    const char *name, *variant; /* the paper's word, and how names of variants begin */
    const clv_entry *entry;
    int against;     /* the form that it is compared with */
    double figure;   /* the paper's, beside that one; 0: it gives none */
    const char *conclusion; /* NULL: none */
    bool faster;     /* by that conclusion */
    /* Section 4.1: the time of more work-groups a multiprocessor beside that of one; 0: not said. */
    double more;
} forms[FORMS] = {
#define KEEPING "computing each product once and keeping it in local memory is faster than computing it again"
    [RECOMPUTE] = {"recompute", "recompute", &clv_entry_force_forms, RECOMPUTE, 0, NULL, false, 0},
    {"reuse", "reuse", &clv_entry_force, RECOMPUTE, 3, KEEPING, true, 0},
    {"capped", "capped", &clv_entry_force_forms, RECOMPUTE, 3. / 6,
     "fewer registers for more work-groups make recomputing slower", false, 0},
    {"two-pass", "twopass", &clv_entry_force_forms, RECOMPUTE, 0, NULL, false, 0},
    [MARCH] = {"recompute, printed", "march", &clv_entry_force_forms, MARCH, 0, NULL, false, 0},
    {"reuse, printed", "planes", &clv_entry_force_forms, MARCH, 3, KEEPING, true, 0},
    {"recompute, laden", "laden march", &clv_entry_force_forms, MARCH, 0, NULL, false, 1.3},
    {"reuse, laden", "laden planes", &clv_entry_force_forms, MARCH, 0, NULL, false, 1.25},
};

/* One variant and tile of a form. */
typedef struct result {
    const struct form *form;
    const char *variant;
    int tile;
    bench_time time;
} result;

static int call_reuse(void *data)
{
    return bench_force(data);
}

static int call_form(void *data)
{
    return bench_unbiased_form(data);
}

/* Resources of the kernel beside its time. */
static int measure(bench_run *run, bench_data *data, const struct form *form, const clv_kernel *k,
                   result *out)
{
    char registers[16], spills[16], groups[16], occupancy[16] = "unknown", label[48];
    snprintf(label, sizeof label, "force %s", form->name);
    const bool reuse = form->entry == &clv_entry_force;
    const bench_row row = {
        .name = label, .run = reuse ? bench_force : bench_unbiased_form, .check = bench_check_force};
    int status = bench_verify(run->ctx, &row, label);
    if (status >= 0)
        status = bench_measure(run, reuse ? call_reuse : call_form, data, form->entry->name, &out->time);
    if (status < 0)
        return status;
    out->form = form;
    out->time.kernel = k;
    column(registers, sizeof registers, k->registers);
    column(spills, sizeof spills, k->spills);
    column(groups, sizeof groups, k->resources.groups);
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    double median = out->time.seconds.median;
    fprintf(run->out, "%-18s %-16s %3dx%dx%d,%-3d %9s %7s %8d %8s %9s %-14s %9.3f %7.1f%% %8.0f\n",
            form->name, k->variant->name, k->tile.x, k->tile.y, k->tile.z, k->tile.march, registers, spills,
            k->local_bytes, groups, occupancy, k->resources.limit[0] ? k->resources.limit : "unknown",
            1e3 * median, 100 * 32. * data->n / median / run->copy, 158e-9 * data->n / median);
    fflush(run->out);
    return CLVOX_OK;
}

static const result *best_of(const result *results, int count, const struct form *form)
{
    const result *best = NULL;
    for (int i = 0; i < count; i++)
        if (results[i].form == form && (!best || results[i].time.seconds.median < best->time.seconds.median))
            best = &results[i];
    return best;
}

/* A cap below what the compiler takes changes its kernel; where registers are as many without it, or
 * unknown, nothing was tested. */
static bool cap_works(const result *results, int count, const clv_kernel *capped)
{
    for (int i = 0; i < count; i++) {
        const clv_kernel *k = results[i].time.kernel;
        if (results[i].form == &forms[0] && !memcmp(&k->tile, &capped->tile, sizeof k->tile))
            return k->registers > 0 && capped->registers > 0 && k->registers != capped->registers;
    }
    return false;
}

/* Whether the form's conclusion is judged here; a line says how, or why not. */
static bool judge(bench_run *run, const result *results, int count, const result *best, record_paper *paper)
{
    const struct form *form = best->form;
    const struct form *against = &forms[form->against];
    const result *other = best_of(results, count, against);
    const record_samples *seconds = &best->time.seconds;
    if (!form->conclusion || !other || best != best_of(results, count, form))
        return false;
    if (!strcmp(form->variant, "capped") && !cap_works(results, count, best->time.kernel)) {
        fprintf(run->out, "\n%s is not tested: the cap had no effect.\n", form->name);
        return false;
    }
    *paper = (record_paper){.value = form->figure, .device = "GTX 480", .conclusion = form->conclusion,
                            .unit = form->against == MARCH ? "times as fast as recompute, printed"
                                                           : "times as fast as recompute"};
    paper->here = other->time.seconds.median / seconds->median;
    paper->holds = form->faster ? bench_slower(&other->time.seconds, seconds)
                                : bench_slower(seconds, &other->time.seconds);
    fprintf(run->out, "\n%s is %.2f times as fast as %s here (%g in the paper): that %s %s.\n", form->name,
            paper->here, against->name, paper->value, form->conclusion,
            paper->holds ? "holds" : "does not hold");
    return true;
}

static void record(bench_run *run, const result *r, const char *name, const record_paper *paper)
{
    double voxels = (double)run->size[0] * run->size[1] * run->size[2];
    char tile[32];
    record_row row = {.group = "lee2012", .name = name, .verified = true, .paper = paper,
                      .size = {run->size[0], run->size[1], run->size[2]},
                      .bytes = 32 * voxels, .operations = 158 * voxels};
    bench_complete(run, &r->time, &row, tile);
    record_add(run->log, &row);
}

/* The paper stands beside the best tile of each form. */
static void conclude(bench_run *run, const result *results, int count)
{
    for (int i = 0; i < count; i++) {
        char name[48];
        record_paper paper;
        snprintf(name, sizeof name, "force %s", results[i].form->name);
        record(run, &results[i], name, judge(run, results, count, &results[i], &paper) ? &paper : NULL);
    }
}

/* Work-groups that live on a multiprocessor at once; 0: unknown. */
static int groups_of(const result *r)
{
    return r->time.kernel->resources.groups > 0 ? r->time.kernel->resources.groups : 0;
}

/* The same kernel and tile with more and less local memory: the one with the fewest work-groups a
 * multiprocessor beside the fastest of those with more. */
static void judge_groups(bench_run *run, const result *results, int count, const struct form *form)
{
    const result *few = NULL, *more = NULL;
    char name[64];
    record_paper paper = {.value = form->more, .unit = "times as long as with fewer work-groups",
                          .device = "GTX 480", .conclusion = "more work-groups a multiprocessor are slower"};
    for (int i = 0; i < count; i++) {
        const result *r = &results[i];
        if (r->form == form && groups_of(r) > 0 &&
            (!few || groups_of(r) < groups_of(few) ||
             (groups_of(r) == groups_of(few) && r->time.seconds.median < few->time.seconds.median)))
            few = r;
    }
    for (int i = 0; few && i < count; i++)
        if (results[i].form == form && groups_of(&results[i]) > groups_of(few) &&
            (!more || results[i].time.seconds.median < more->time.seconds.median))
            more = &results[i];
    if (!more) {
        fprintf(run->out,
                "\n%s, more work-groups a multiprocessor: not tested, how many there are is not known.\n",
                form->name);
        return;
    }
    paper.here = more->time.seconds.median / few->time.seconds.median;
    paper.holds = bench_slower(&more->time.seconds, &few->time.seconds);
    fprintf(run->out,
            "\n%s with %d work-groups a multiprocessor takes %.2f times as long as with %d (%g in the\n"
            "paper, %s): that %s %s.\n",
            form->name, groups_of(more), paper.here, groups_of(few), paper.value,
            form->more < 1.3 ? "3 and 1" : "2 and 1", paper.conclusion,
            paper.holds ? "holds" : "does not hold");
    snprintf(name, sizeof name, "force %s, more work-groups", form->name);
    record(run, more, name, &paper);
}

/* Every variant and tile of a form that runs here. */
static int measure_form(bench_run *run, bench_data *data, const struct form *form, result *results,
                        int *count)
{
    int status = CLVOX_OK;
    const clv_entry *entry = form->entry;
    for (int v = 0; v < entry->count; v++) {
        if (strncmp(entry->variants[v].name, form->variant, strlen(form->variant)) != 0)
            continue;
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x && *count < MOST; t++) {
            const clv_kernel *kernel;
            if (!clv_variant_runs(clvox_context_limits(run->ctx), &entry->variants[v],
                                  entry->variants[v].tiles[t], 0))
                continue;
            CLV_TRY(clv_force_variant(run->ctx, entry->name, entry->variants[v].name, t));
            status = clv_kernel_get(run->ctx, entry, entry->builds[0], run->size, 0, &kernel);
            if (paper_passed_over(run, form->name, &status))
                continue;
            CLV_TRY(status);
            results[*count] = (result){.variant = entry->variants[v].name, .tile = t};
            status = measure(run, data, form, kernel, &results[*count]);
            if (paper_passed_over(run, form->name, &status))
                continue;
            CLV_TRY(status);
            ++*count;
        }
    }
end:
    if (clv_force_variant(run->ctx, entry->name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

/* ---- figure 1, by size ---- */

/* The best kernel of each form on a volume of that size; the run's own size has been measured. */
static int measure_size(bench_run *run, const result *results, int count, const int size[3], bool own)
{
    int status = CLVOX_OK;
    bench_data data = {0};
    if (!own)
        CLV_TRY(bench_data_create(run->ctx, size, false, &data));
    fprintf(run->out, "%3dx%dx%-6d", size[0], size[1], size[2]);
    for (int f = 0; f < FORMS; f++) {
        const result *best = forms[f].more > 0 ? NULL : best_of(results, count, &forms[f]);
        const char *entry = forms[f].entry->name;
        bench_time time;
        if (forms[f].more > 0)
            continue;
        if (best && own) {
            time = best->time;
        } else if (best) {
            char name[64];
            CLV_TRY(clv_force_variant(run->ctx, entry, best->variant, best->tile));
            status = bench_measure(run, forms[f].entry == &clv_entry_force ? call_reuse : call_form, &data,
                                   entry, &time);
            if (clv_force_variant(run->ctx, entry, NULL, -1) < 0 && status >= 0)
                status = CLVOX_ERROR_MEMORY;
            CLV_TRY(status);
            snprintf(name, sizeof name, "force %s, by size", forms[f].name);
            record_add(run->log, &(record_row){.group = "lee2012",
                                               .name = name,
                                               .verified = true,
                                               .seconds = &time.seconds,
                                               .size = {size[0], size[1], size[2]}});
        }
        if (best)
            fprintf(run->out, " %18.3f", 1e3 * time.seconds.median);
        else
            fprintf(run->out, " %18s", "-");
    }
    fprintf(run->out, "\n");
    fflush(run->out);
end:
    bench_data_release(&data);
    return status;
}

static int by_size(bench_run *run, const result *results, int count)
{
    int status = CLVOX_OK;
    fprintf(run->out, "\nFigure 1: ms of the best kernel of each form by size.\n\n%-13s", "size");
    for (int f = 0; f < FORMS; f++)
        if (!(forms[f].more > 0))
            fprintf(run->out, " %18s", forms[f].name);
    fprintf(run->out, "\n");
    for (int k = 0; k < PAPER_SIZES; k++) {
        int size[3];
        paper_size(run, k, size);
        CLV_TRY(measure_size(run, results, count, size, k == PAPER_SIZES - 1));
    }
end:
    return status;
}

/* ---- figure 2 ---- */

enum { SIDE = 20, VOXELS = SIDE * SIDE * SIDE };

typedef struct plain {
    float moving[VOXELS], fixed[VOXELS];
    double u[3 * VOXELS], force[2][3 * VOXELS]; /* of two threads */
} plain;

static int plain_force(void *user, size_t index, int worker)
{
    plain *p = user;
    ref_energy_problem problem = {.moving = p->moving, .fixed = p->fixed, .lambda = .01};
    (void)worker;
    for (int a = 0; a < 3; a++) {
        problem.size[a] = problem.moving_size[a] = SIDE;
        problem.spacing[a] = problem.linear[a][a] = problem.shift[a][a] = 1;
    }
    ref_force_gradient(&problem, p->u, p->force[index]);
    return CLVOX_OK;
}

/* The fastest form's speed beside one and two threads of a CPU, and its rate by the paper's counts. */
static int speeds(bench_run *run, const result *results, int count)
{
    int status = CLVOX_OK;
    const result *best = NULL;
    const double n = (double)run->size[0] * run->size[1] * run->size[2];
    record_samples samples;
    plain *p = calloc(1, sizeof *p);
    if (!p)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's reference");
    for (int i = 0; i < count; i++)
        if (!best || results[i].time.seconds.median < best->time.seconds.median)
            best = &results[i];
    for (int i = 0; i < VOXELS; i++) {
        p->moving[i] = (float)(i % 17);
        p->fixed[i] = (float)(i % 13);
        for (int c = 0; c < 3; c++)
            p->u[c * VOXELS + i] = .01 * ((i * (c + 3)) % 29);
    }
    fprintf(run->out, "\n");
    for (int threads = 1; best && threads <= 2; threads++) {
        const paper_speed_up of = {.group = "lee2012",
                                   .name = "force",
                                   .device = "GTX 480",
                                   .threads = threads,
                                   .figure = threads == 1 ? 129 : 0,
                                   .plain_elements = threads * VOXELS,
                                   .elements = n};
        CLV_TRY(paper_plain(run, (size_t)threads, plain_force, p, threads, &samples));
        paper_report_speed_up(run, &of, &samples, &best->time.seconds);
    }
    if (best)
        fprintf(run->out,
                "%s makes %.1f GFLOPS of the paper's 158 operations a voxel; at its 500 bytes a voxel\n"
                "copying would allow %.1f (11 to 16, and 55, in the paper); at 32 bytes, each number\n"
                "once, %.1f.\n",
                best->form->name, 158e-9 * n / best->time.seconds.median, 158e-9 / 500 * run->copy,
                158e-9 / 32 * run->copy);
end:
    free(p);
    return status;
}

int bench_lee2012(bench_run *run)
{
    int status = CLVOX_OK, count = 0;
    bench_data data = {0};
    result *results = calloc(MOST, sizeof *results);
    if (!results)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's results");
    CLV_TRY(bench_limits(run));
    CLV_TRY(bench_data_create(run->ctx, run->size, false, &data));
    fprintf(run->out,
            "Lee et al. 2012, table 1 and figure 1: the unbiased force by form, %dx%dx%d, on %s.\n"
            "The paper, GTX 480: recompute 63 registers, 8640 B, 1 work-group of 32x16; recompute (capped)\n"
            "35 registers, 4364 B, 2 of 32x10; reuse 24 registers, 49152 B, 1 of 32x16, three times as fast\n"
            "as recompute and six times as fast as capped, 11 to 16 GFLOPS (158 operations a voxel). By its\n"
            "own 15 and 32 (w + 4)(h + 4) floats 8640 B belong to 8x8 and 49152 B to 28x8 voxels, not to\n"
            "the 8x12 and 28x12 printed beside them. 'printed': planes of u in local memory, with all\n"
            "derivatives and J or without, as section 3.1.1 has them; 'recompute' has blocks of u, 'reuse'\n"
            "six products. From one work-group a multiprocessor to 2 recompute takes 30%% longer, to 3\n"
            "reuse 25%%: 'laden' kernels have one tile and more and more local memory to themselves, which\n"
            "is 1, 2 and 3 groups on a GTX 480.\n\n",
            run->size[0], run->size[1], run->size[2], clvox_context_limits(run->ctx)->name);
    fprintf(run->out, "%-18s %-16s %-12s %9s %7s %8s %8s %9s %-14s %9s %8s %8s\n", "form", "variant", "tile",
            "registers", "spills", "local B", "groups", "occupancy", "limited by", "ms", "of copy", "GFLOPS");
    for (int f = 0; f < FORMS; f++)
        CLV_TRY(measure_form(run, &data, &forms[f], results, &count));
    conclude(run, results, count);
    for (int f = 0; f < FORMS; f++)
        if (forms[f].more > 0)
            judge_groups(run, results, count, &forms[f]);
    bench_data_release(&data);
    CLV_TRY(by_size(run, results, count));
    CLV_TRY(speeds(run, results, count));
end:
    free(results);
    bench_data_release(&data);
    return status;
}
