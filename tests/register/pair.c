/* SPDX-License-Identifier: Apache-2.0 */
#include "register/pair.h"

#include "base/matrix.h"
#include "check.h"

void pair_fill(pair *p, double amplitude, uint64_t seed)
{
    const double(*matrix)[4] = CLV_MATRIX(p->matrix);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &p->moving_grid, seed, 0, &p->phantom));
    assert_ok(clv_phantom_warp_make(&p->fixed_grid, amplitude, seed, &p->warp));
    assert_ok(clv_phantom_image(&p->phantom, &p->fixed_grid, matrix, &p->warp, 1, &p->fixed));
    assert_ok(clv_phantom_image(&p->phantom, &p->moving_grid, NULL, NULL, 2, &p->moving));
    assert_ok(clv_phantom_labels(&p->phantom, &p->fixed_grid, matrix, &p->warp, &p->labels));
}

void pair_make(pair *p, const int size[3], const double spacing[3], bool oblique, double amplitude,
               uint64_t seed)
{
    clvox_phantom_grid(size, spacing, oblique, &p->fixed_grid);
    p->moving_grid = p->fixed_grid;
    clv_matrix_identity(p->matrix);
    pair_fill(p, amplitude, seed);
}

void pair_free(pair *p)
{
    clv_phantom_free(&p->phantom);
    clvox_volume_destroy(&p->fixed);
    clvox_volume_destroy(&p->moving);
    clvox_volume_destroy(&p->labels);
}

double pair_error(const pair *p, const clvox_register_result *r, const clvox_volume *mask, double *largest)
{
    const int *size = p->fixed_grid.size;
    const clvox_volume *where = mask ? mask : p->labels;
    double edge[3], sum = 0;
    size_t n = clvox_grid_voxels(&p->fixed_grid), count = 0, i = 0;
    clvox_grid_spacing(&p->fixed_grid, edge);
    *largest = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                double at[3], truth[3], found[3], error = 0;
                if (!(where->data[i] > 0))
                    continue;
                clv_matrix_apply(p->fixed_grid.to_ras, (double[3]){x, y, z}, at);
                clv_phantom_warp_at(&p->warp, at, truth);
                for (int k = 0; k < 3; k++) {
                    truth[k] += at[k];
                    found[k] = at[k] + (double)r->warp->data[(size_t)k * n + i];
                }
                clv_matrix_apply(CLV_MATRIX(p->matrix), truth, truth);
                clv_matrix_apply(r->matrix, found, found);
                for (int k = 0; k < 3; k++)
                    error += (found[k] - truth[k]) * (found[k] - truth[k]);
                error = sqrt(error) / fmin(edge[0], fmin(edge[1], edge[2]));
                sum += error;
                *largest = fmax(*largest, error);
                count++;
            }
    return count ? sum / (double)count : 0;
}

double pair_start(const pair *p, const clvox_volume *mask)
{
    clvox_register_result none = {0};
    double largest;
    clv_matrix_copy(CLV_MATRIX(p->matrix), none.matrix);
    assert_ok(clvox_volume_create(&p->fixed_grid, 3, CLVOX_KIND_DISPLACEMENT, &none.warp));
    double mean = pair_error(p, &none, mask, &largest);
    clvox_register_result_destroy(&none);
    return mean;
}

/* Mean and largest length of n vectors in mm, in voxels of grid. */
static double lengths(const double *v, size_t n, const clvox_grid *grid, double *largest)
{
    double edge[3], sum = 0;
    clvox_grid_spacing(grid, edge);
    double voxel = fmin(edge[0], fmin(edge[1], edge[2]));
    *largest = 0;
    for (size_t i = 0; i < n; i++) {
        double length = sqrt(v[3 * i] * v[3 * i] + v[3 * i + 1] * v[3 * i + 1] + v[3 * i + 2] * v[3 * i + 2]);
        sum += length / voxel;
        *largest = length / voxel > *largest || isnan(length) ? length / voxel : *largest;
    }
    return n ? sum / (double)n : 0;
}

double pair_detour_of(const clvox_link *links, int link_count, const clvox_volume *mask, double *largest)
{
    const int *size = mask->grid.size;
    size_t count = 0, i = 0;
    double *start = malloc(3 * clvox_grid_voxels(&mask->grid) * sizeof *start), *end = NULL;
    assert_ok(start ? CLVOX_OK : CLVOX_ERROR_MEMORY);
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++)
                if (mask->data[i] > 0)
                    clv_matrix_apply(mask->grid.to_ras, (double[3]){x, y, z}, start + 3 * count++);
    end = malloc(3 * (count + 1) * sizeof *end);
    assert_ok(end ? CLVOX_OK : CLVOX_ERROR_MEMORY);
    memcpy(end, start, 3 * count * sizeof *end);
    assert_ok(clvox_apply_points(links, link_count, end, (int)count));
    for (size_t k = 0; k < 3 * count; k++)
        end[k] -= start[k];
    double mean = lengths(end, count, &mask->grid, largest);
    free(start);
    free(end);
    return mean;
}

double pair_detour(const clvox_volume *first, const clvox_volume *then, const clvox_volume *mask,
                   double *largest)
{
    const clvox_transform transforms[2] = {{.is_warp = 1, .warp = (clvox_volume *)first},
                                           {.is_warp = 1, .warp = (clvox_volume *)then}};
    const clvox_link links[2] = {{&transforms[0], 0}, {&transforms[1], 0}};
    return pair_detour_of(links, 2, mask, largest);
}

double pair_there_and_back(const clvox_register_result *there, const clvox_register_result *back,
                           const clvox_volume *mask, double *largest)
{
    const clvox_register_result *both[2] = {there, back};
    clvox_transform transforms[4];
    clvox_link links[4];
    int count = 0;
    for (int i = 0; i < 2; i++) {
        if (both[i]->warp)
            transforms[count++] = (clvox_transform){.is_warp = 1, .warp = both[i]->warp};
        transforms[count] = (clvox_transform){.is_warp = 0};
        clv_matrix_copy(CLV_MATRIX(both[i]->matrix), transforms[count++].matrix);
    }
    for (int i = 0; i < count; i++)
        links[i] = (clvox_link){&transforms[i], 0};
    return pair_detour_of(links, count, mask, largest);
}

double pair_distance(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask, double *largest)
{
    size_t n = clvox_grid_voxels(&a->grid), count = 0;
    double *apart = malloc(3 * n * sizeof *apart);
    assert_ok(apart ? CLVOX_OK : CLVOX_ERROR_MEMORY);
    for (size_t i = 0; i < n; i++)
        if (!mask || mask->data[i] > 0) {
            for (size_t k = 0; k < 3; k++)
                apart[3 * count + k] = (double)a->data[k * n + i] - (double)b->data[k * n + i];
            count++;
        }
    double mean = lengths(apart, count, &a->grid, largest);
    free(apart);
    return mean;
}

void pair_apart(pair *p, double amplitude, uint64_t seed)
{
    static const double matrix[4][4] = {
        {1.0321, -.1003, .0512, 3}, {.0914, .9817, -.0721, -4}, {-.0398, .0642, 1.0187, 2.5}, {0, 0, 0, 1}};
    clvox_phantom_grid((int[3]){41, 47, 31}, (double[3]){1.5, 1.2, 2}, true, &p->fixed_grid);
    clvox_phantom_grid((int[3]){45, 40, 37}, (double[3]){1.4, 1.5, 1.8}, false, &p->moving_grid);
    for (int i = 0; i < 3; i++) {
        p->fixed_grid.to_ras[i][3] += p->fixed_grid.to_ras[i][0] * (p->fixed_grid.size[0] - 1);
        p->fixed_grid.to_ras[i][0] = -p->fixed_grid.to_ras[i][0];
    }
    clv_matrix_copy(matrix, p->matrix);
    pair_fill(p, amplitude, seed);
}

void pair_options(clvox_register_options *o, clvox_deform deform, clvox_metric metric)
{
    clvox_register_defaults(o);
    o->deform = deform;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
    o->metric = metric;
    o->levels = 2;
    o->shrink[0] = 2;
    o->shrink[1] = 1;
    o->iterations[0] = 30;
    o->iterations[1] = 20;
    o->step = 1;
    o->finest_step = .5;
    o->momentum = 0;
    o->update_damping = 0;
    o->tolerance = 0;
}

const pair_model pair_models[PAIR_MODELS] = {{CLVOX_DEFORM_GREEDY, "greedy"},
                                             {CLVOX_DEFORM_SYN, "syn"},
                                             {CLVOX_DEFORM_LDDMM, "lddmm"},
                                             {CLVOX_DEFORM_SHOOTING, "shooting"}};

clvox_volume *pair_ball(const int size[3], const double spacing[3], const double middle[3], double radius,
                        double cosine)
{
    const double sine = sqrt(1 - cosine * cosine),
                 turn[3][3] = {{cosine, -sine, 0}, {sine, cosine, 0}, {0, 0, 1}};
    clvox_grid grid = {.size = {size[0], size[1], size[2]}};
    clvox_volume *out;
    grid.to_ras[3][3] = 1;
    for (int r = 0; r < 3; r++) {
        grid.to_ras[r][3] = middle[r];
        for (int c = 0; c < 3; c++) {
            grid.to_ras[r][c] = turn[r][c] * spacing[c];
            grid.to_ras[r][3] -= grid.to_ras[r][c] * (size[c] - 1) / 2.;
        }
    }
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &out));
    for (int z = 0, i = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const double at[3] = {(x - (size[0] - 1) / 2.) * spacing[0],
                                      (y - (size[1] - 1) / 2.) * spacing[1],
                                      (z - (size[2] - 1) / 2.) * spacing[2]};
                double r = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
                out->data[i] = (float)(100 / (1 + exp((r - radius) / 1.2)));
            }
    return out;
}

clvox_volume *pair_tissues(const clvox_volume *image, int tissues, double certain)
{
    const size_t n = clvox_grid_voxels(&image->grid);
    clvox_volume *out;
    double most = 0;
    assert_ok(clvox_volume_create(&image->grid, tissues, CLVOX_KIND_SCALAR, &out));
    for (size_t i = 0; i < n; i++)
        most = fmax(most, (double)image->data[i]);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < tissues; k++)
            out->data[(size_t)k * n + i] =
                (float)(certain * fmax(0, 1 - fabs((double)image->data[i] / most * tissues - k - 1)));
    return out;
}

int pair_register(clvox_context *ctx, const clvox_volume *fixed, const clvox_volume *moving,
                  const clvox_volume *fixed_mask, const clvox_volume *moving_mask,
                  const clvox_register_options *o, clvox_register_result *r)
{
    const clvox_register_images images = {.fixed = {fixed},
                                          .moving = {moving},
                                          .channels = 1,
                                          .fixed_mask = fixed_mask,
                                          .moving_mask = moving_mask};
    return clvox_register(ctx, &images, o, r);
}

bool pair_same(const clvox_volume *a, const clvox_volume *b)
{
    return !memcmp(a->data, b->data, 3 * clvox_grid_voxels(&a->grid) * sizeof(float));
}

void pair_shape_options(clvox_register_options *o, clvox_deform deform)
{
    pair_options(o, deform, CLVOX_METRIC_LNCC);
    o->surface_width[0] = 8;
    o->surface_width[1] = 4;
    o->surface_widths = 2;
}
