/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising: from the denoised level set to a mesh with the volume and the
 * topology that it is to have. */
#include <math.h>

#include "base/clock.h"
#include "base/progress.h"
#include "base/status.h"
#include "runtime/device/host.h"
#include "surface/denoise.h"

/* Marching cubes cut the corners of labels off, which placing the level set gives
 * back; but of a mesh with steps or large facets people know the volume, and it stays within a percent. */
static const double MOST_CHANGE = 0.0095;

typedef struct work {
    const clvox_level_set *level_set;
    const clvox_denoise_options *options;
    clvox_denoise_result *result;
    double volume; /* mm^3 that the mesh is to have; 0: what comes */
    double depth;  /* mm; of what noise joined or opened, which goes; 0: nothing goes */
} work;

void clvox_denoise_result_destroy(clvox_denoise_result *result)
{
    if (!result)
        return;
    clvox_surface_destroy(&result->surface);
    clvox_volume_destroy(&result->distance);
}

static double smallest_edge(const clvox_grid *grid)
{
    double edge[3];
    clvox_grid_spacing(grid, edge);
    return fmin(edge[0], fmin(edge[1], edge[2]));
}

/* ---- the volume --------------------------------------------------------- */

/* How far the level set must go out so that the mesh has the volume (above 0): its
 * triangles cut corners off. 0 where it has, or where that makes no sense. */
static double gap_of(const work *w, const clvox_surface_facts *facts)
{
    double gap = w->volume > 0 && facts->area > 0 ? (w->volume - facts->volume) / facts->area : 0;
    return fabs(gap) <= 0.2 * smallest_edge(&w->result->distance->grid) ? gap : 0;
}

static void shift(clvox_volume *distance, double by)
{
    for (size_t i = 0; i < clvox_grid_voxels(&distance->grid); i++)
        distance->data[i] -= (float)by;
}

/* The mesh of the distance, which is shifted for the volume; before: NULL, or the
 * topology that the mesh is to have, *mesh NULL where there is none. */
static int make_mesh(const work *w, const clv_surface_before *before, clv_surface_kept *kept,
                     clvox_surface **mesh, clvox_surface_facts *facts)
{
    enum { TURNS = 2 };
    static const double near_enough = 3e-4; /* of the volume */
    int status = CLVOX_OK;
    clvox_volume *distance = w->result->distance;
    clv_surface_before was = before ? *before : (clv_surface_before){.mesh = NULL};
    for (int turn = before ? 1 : 0;; turn++) {
        clvox_surface_destroy(mesh);
        if (before)
            CLV_TRY(clv_surface_extract_kept(distance, &was, mesh, kept));
        else
            CLV_TRY(clv_surface_extract_simple(distance, w->depth, mesh, &w->result->topology.simplified));
        if (!*mesh)
            break;
        CLV_TRY(clvox_surface_inspect(*mesh, facts));
        double gap = gap_of(w, facts);
        if (turn == TURNS || gap == 0 || (before && fabs(gap) * facts->area < near_enough * w->volume))
            break;
        was.factor = before ? kept->factor : 0;
        shift(distance, gap);
    }
end:
    return status;
}

/* The volume within the input's surface, meshed as finely as the result's. */
static int measure_input(const clvox_volume *distance, double *volume)
{
    int status = CLVOX_OK;
    clvox_surface *mesh = NULL;
    clvox_surface_facts facts;
    CLV_TRY(clv_surface_extract_fine(distance, &mesh));
    CLV_TRY(clvox_surface_inspect(mesh, &facts));
    *volume = facts.volume;
end:
    clvox_surface_destroy(&mesh);
    return status;
}

/* Former volume, and target volume of the mesh. */
static int choose_volume(work *w)
{
    int status = CLVOX_OK;
    const clvox_level_set *s = w->level_set;
    clvox_denoise_result *r = w->result;
    /* Else the surface goes on beyond the border for it, and is not meshed there. */
    if (!(s->volume > 0))
        CLV_TRY(measure_input(s->distance, &r->volume_before));
    w->volume = w->options->free_volume || !(s->volume > 0) ? 0 : r->volume_before;
    if (w->volume > 0 && r->placed)
        CLV_TRY(clv_surface_smooth_volume(r->distance, &w->volume));
    if ((s->steps || s->coarse) && w->volume > 0)
        w->volume = fmin(fmax(w->volume, (1 - MOST_CHANGE) * s->volume), (1 + MOST_CHANGE) * s->volume);
end:
    return status;
}

/* ---- the topology ------------------------------------------------------- */

/* The input's, as the mesh that bounded a body had it, and on the grid. */
static int look_before(work *w)
{
    int status = CLVOX_OK;
    const clvox_level_set *s = w->level_set;
    clvox_denoise_kept *t = &w->result->topology;
    clvox_surface *mesh = NULL;
    clvox_surface_facts grid;
    CLV_TRY(clvox_surface_extract(s->distance, 0, 0, &mesh));
    CLV_TRY(clvox_surface_inspect(mesh, &grid));
    const clvox_surface_facts *before = s->bounds ? &s->notes.facts : &grid;
    t->components_before = before->components;
    t->euler_before = before->euler;
    t->components_on_grid = grid.components;
    t->euler_on_grid = grid.euler;
end:
    clvox_surface_destroy(&mesh);
    return status;
}

/* Makes another mesh if this one lost the input's topology, or if the topology must be certain. */
static int keep_topology(work *w)
{
    int status = CLVOX_OK;
    const clvox_level_set *s = w->level_set;
    clvox_denoise_result *r = w->result;
    clvox_denoise_kept *t = &r->topology;
    const clvox_denoise_topology asked = w->options->topology;
    const bool sure = asked == CLVOX_TOPOLOGY_KEEP;
    const bool judge = asked == CLVOX_TOPOLOGY_AUTO && r->deviation <= CLV_DENOISE_NOISY;
    /* A mesh that bounds a body, or shows the steps of voxels, says what is joined, and means its specks. */
    const bool meant = s->bounds || s->steps;
    const clv_surface_before was = {s->bounds ? s->surface : NULL, s->distance, t->components_before,
                                    t->euler_before, !sure && !meant, 0};
    bool keep = sure || (judge && meant);
    clvox_surface *other = NULL;
    clv_surface_kept kept = {.factor = 0};
    if (judge && !keep)
        CLV_TRY(clv_surface_is_clean(s->distance, &keep));
    if (keep && (sure || r->facts.components != was.components || r->facts.euler != was.euler)) {
        clvox_surface_facts others;
        CLV_TRY(make_mesh(w, &was, &kept, &other, &others));
        t->refined = kept.factor;
        t->held = kept.held;
        keep = other != NULL;
        t->missed = other && (kept.components != was.components || kept.euler != was.euler);
        if (other) {
            clvox_surface_destroy(&r->surface);
            r->surface = other;
            r->facts = others;
        }
    }
    t->kept = keep;
    if (keep && w->options->distance)
        CLV_TRY(clv_surface_keep_signs(s->distance, r->distance, &r->held_voxels));
end:
    return status;
}

/* ---- all of it ---------------------------------------------------------- */

/* Voxels that are too large for the shape lose the volume. */
static int check_volume(const work *w)
{
    const clvox_level_set *s = w->level_set;
    const double change = 100 * (w->result->facts.volume / s->volume - 1);
    if (!s->coarse || !s->bounds || w->options->free_volume || fabs(change) <= 1)
        return CLVOX_OK;
    return clvox_fail(CLVOX_ERROR_DATA,
                      "the mesh is too coarse: on voxels of %.3g mm its volume would change by %+.3g%%; give "
                      "smaller ones by --voxel, or a mesh of more triangles",
                      smallest_edge(&s->distance->grid), change);
}

static int mesh_of(work *w)
{
    int status = CLVOX_OK;
    clvox_denoise_result *r = w->result;
    CLV_TRY(choose_volume(w));
    if (w->options->topology == CLVOX_TOPOLOGY_AUTO && r->deviation > CLV_DENOISE_NOISY)
        w->depth = CLV_DENOISE_DEPTH * r->deviation * smallest_edge(&r->distance->grid);
    CLV_TRY(make_mesh(w, NULL, NULL, &r->surface, &r->facts));
    if (w->depth > 0 && w->options->distance)
        CLV_TRY(clv_surface_simplify(r->distance, w->depth, &r->simplified_voxels));
    r->topology.components_if_free = r->facts.components;
    r->topology.euler_if_free = r->facts.euler;
    CLV_TRY(keep_topology(w));
    r->volume_after = r->facts.volume;
    CLV_TRY(check_volume(w));
    if (!w->options->distance)
        clvox_volume_destroy(&r->distance);
end:
    return status;
}

int clvox_surface_denoise(clvox_context *context, const clvox_level_set *level_set,
                          const clvox_denoise_options *options, clvox_denoise_result *result)
{
    CLV_GIVEN(context, level_set, result);
    CLV_HOST_THREADS(context);
    clvox_denoise_options standard;
    clvox_denoise_defaults(&standard);
    options = options ? options : &standard;
    int status = CLVOX_OK;
    work w = {.level_set = level_set, .options = options, .result = result};
    double mark;
    CLV_TRY(clv_denoise_run(context, level_set, options, result));
    if (clv_progress_stage(options->progress, options->user, "mesh", 1)) {
        status = clvox_fail(CLVOX_ERROR_STOPPED, "stopped");
        goto end;
    }
    mark = clv_seconds();
    CLV_TRY(look_before(&w));
    CLV_TRY(mesh_of(&w));
    result->seconds_mesh = clv_seconds() - mark;
end:
    if (status < 0)
        clvox_denoise_result_destroy(result);
    return status;
}
