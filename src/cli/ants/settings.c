/* SPDX-License-Identifier: Apache-2.0 */
/* Stages as clvox_register takes them: their channels and options. */
#include <string.h>

#include "cli/ants/stages.h"

/* Whether a metric compares the first pair of its stage. */
static bool of_first(const ants_stage *stage, int at)
{
    return !strcmp(stage->metric[at].fixed, stage->metric[0].fixed) &&
           !strcmp(stage->metric[at].moving, stage->metric[0].moving);
}

int ants_find_channels(const ants_stage *stage, ants_channels *c)
{
    *c = (ants_channels){{&stage->metric[0]}, 1};
    for (int k = 0; k < stage->metrics; k++) {
        const ants_metric *m = &stage->metric[k];
        if (of_first(stage, k)) {
            c->metric[0] = c->metric[0]->weight > 0 ? c->metric[0] : m;
            continue;
        }
        if (c->count == CLVOX_MAX_CHANNELS)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d pairs and metrics in a stage",
                              CLVOX_MAX_CHANNELS);
        c->metric[c->count++] = m;
    }
    return CLVOX_OK;
}

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool ants_same_inputs(const ants_stage *a, const ants_stage *b)
{
    ants_channels x, y;
    if (!same(a->fixed_mask, b->fixed_mask) || !same(a->moving_mask, b->moving_mask) ||
        ants_find_channels(a, &x) < 0 || ants_find_channels(b, &y) < 0 || x.count != y.count)
        return false;
    for (int i = 0; i < x.count; i++) {
        const ants_metric *m = x.metric[i], *n = y.metric[i];
        if (strcmp(m->fixed, n->fixed) || strcmp(m->moving, n->moving) ||
            m->weight * y.metric[0]->weight != n->weight * x.metric[0]->weight)
            return false;
    }
    return true;
}

static int bins_of(const ants_metric *m)
{
    return m->number < 8 ? 32 : m->number > 128 ? 128 : m->number;
}

static void set_linear(ants_line *line, const ants_stage *stage, clvox_register_options *o)
{
    const ants_metric *m = &stage->metric[0];
    o->linear_metric = m->metric;
    o->linear_bins = bins_of(m);
    for (int k = 1; k < stage->metrics; k++)
        if (of_first(stage, k))
            ants_replaces(line, "several metrics of a linear stage by the first");
}

/* Bins of MI, and of CC clvox's own radius. */
static int parameter_of(const ants_metric *m, const clvox_register_options *o)
{
    return m->metric == CLVOX_METRIC_MI ? bins_of(m) : o->radius;
}

static int set_deformation(ants_line *line, const ants_stage *stage, clvox_register_options *o)
{
    ants_channels c;
    int status = CLVOX_OK;
    CLI_TRY(ants_find_channels(stage, &c));
    const ants_metric *lead = c.metric[0];
    const int standard = parameter_of(lead, o);
    ants_replaces(line, "gradient steps and regularisation by its own");
    for (int k = 0; k < stage->metrics; k++) {
        const ants_metric *m = &stage->metric[k];
        if (!of_first(stage, k) || m == lead || !(m->weight > 0))
            continue;
        if (o->besides == CLVOX_MAX_BESIDE)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d metrics of one pair", CLVOX_MAX_BESIDE + 1);
        o->beside[o->besides] = m->metric;
        o->beside_parameter[o->besides] = parameter_of(m, o);
        o->beside_weight[o->besides++] = m->weight / lead->weight;
    }
    bool alike = !o->besides; /* all compare as the first does */
    for (int i = 1; i < c.count; i++) {
        o->channel_metric[i - 1] = c.metric[i]->metric;
        o->channel_parameter[i - 1] = parameter_of(c.metric[i], o);
        alike = alike && c.metric[i]->metric == lead->metric && o->channel_parameter[i - 1] == standard;
    }
    o->channel_metrics = alike ? 0 : c.count - 1;
    if (alike && lead->metric == CLVOX_METRIC_LNCC)
        return CLVOX_OK; /* clvox's default, which also tells contrasts apart */
    o->by_contrast = 0;
    o->metric = lead->metric;
    o->bins = bins_of(lead);
end:
    return status;
}

int ants_choose(ants_line *line, const ants_job *job, const ants_stage *linear, const ants_stage *deformation,
                clvox_register_options *o)
{
    const ants_stage *first = linear ? linear : deformation ? deformation : &job->stage[0];
    clvox_register_defaults(o);
    o->by_contrast = 1;
    o->deform = deformation ? deformation->deform : CLVOX_DEFORM_NONE;
    clvox_register_preset(o, job->quick ? CLVOX_PRESET_QUICK : CLVOX_PRESET_DEFAULT);
    o->winsorize_low = job->winsorize[0];
    o->winsorize_high = job->winsorize[1];
    o->histogram_match = first->match || (deformation && deformation->match);
    o->inverse = deformation != NULL;
    if (linear)
        set_linear(line, linear, o);
    if (!deformation)
        return CLVOX_OK;
    memcpy(o->restrict_axes, deformation->axes, sizeof o->restrict_axes);
    return set_deformation(line, deformation, o);
}
