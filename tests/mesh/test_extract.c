/* SPDX-License-Identifier: Apache-2.0 */
/* The level set as a mesh: a closed, oriented 2-manifold whatever the values,
 * with the topology of the trilinear function, which a fine sampling counts. */
#include "check.h"

#include "base/matrix.h"
#include "clvox/threads.h"
#include "phantom/phantom.h"
#include "mesh/mesh.h"

static uint64_t noise_state;

/* From 0 to 1. */
static double uniform(void)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 7;
    noise_state ^= noise_state << 17;
    return (double)(noise_state >> 11) * 0x1p-53;
}

static clvox_volume *volume(int x, int y, int z)
{
    clvox_grid grid;
    clvox_volume *out = NULL;
    clvox_phantom_grid((int[3]){x, y, z}, (double[3]){1, 1, 1}, false, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &out));
    return out;
}

static void subtract(const double *a, const double *b, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a[i] - b[i];
}

/* The triangles around every vertex form one ring; the smallest area. */
static bool rings(const clvox_surface *s, double *area)
{
    /* next[3 t + i]: in triangle t, after the corner i comes ... */
    int *count = calloc(s->vertices + 1, sizeof *count), *at = calloc(s->vertices + 1, sizeof *at);
    int *list = calloc(3 * s->triangles + 1, sizeof *list);
    bool good = true;
    *area = INFINITY;
    for (size_t t = 0; t < 3 * s->triangles; t++)
        count[s->corners[t]]++;
    for (size_t v = 0; v < s->vertices; v++)
        at[v + 1] = at[v] + count[v];
    memset(count, 0, (s->vertices + 1) * sizeof *count);
    for (size_t t = 0; t < 3 * s->triangles; t++)
        list[at[s->corners[t]] + count[s->corners[t]]++] = (int)t;
    for (size_t v = 0; v < s->vertices; v++) {
        int walked = 0, corner = list[at[v]];
        do {
            int t = corner - corner % 3, last = s->corners[t + (corner + 2) % 3], found = -1;
            for (int i = 0; i < count[v]; i++) {
                int other = list[at[v] + i];
                if (s->corners[other - other % 3 + (other + 1) % 3] == last)
                    found = other;
            }
            walked++;
            corner = found;
        } while (corner >= 0 && corner != list[at[v]] && walked <= count[v]);
        good = good && walked == count[v] && corner >= 0 && count[v] >= 3;
    }
    for (size_t t = 0; t < s->triangles; t++) {
        double u[3], w[3];
        subtract(s->points + 3 * s->corners[3 * t + 1], s->points + 3 * s->corners[3 * t], u);
        subtract(s->points + 3 * s->corners[3 * t + 2], s->points + 3 * s->corners[3 * t], w);
        double c[3] = {u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]};
        *area = fmin(*area, 0.5 * sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]));
    }
    free(count);
    free(at);
    free(list);
    return good;
}

/* Extracts and checks what always holds. facts->euler is -1000 on failure. */
static void extract(const clvox_volume *v, double level, bool above, clvox_surface_facts *facts)
{
    clvox_surface *s = NULL;
    double area = 0;
    memset(facts, 0, sizeof *facts);
    facts->euler = -1000;
    int status = clvox_surface_extract(v, level, above, &s);
    assert_that(status == CLVOX_OK, "%s", clvox_message());
    if (!s)
        return;
    assert_ok(clvox_surface_inspect(s, facts));
    assert_that(!facts->open_edges && !facts->crowded_edges && !facts->flipped_edges,
                "%d open, %d crowded, %d flipped edges", facts->open_edges, facts->crowded_edges,
                facts->flipped_edges);
    assert_true(rings(s, &area));
    assert_that(area > 1e-9 && !facts->degenerate && !facts->unused_vertices, "area %g, %d unused", area,
                facts->unused_vertices);
    assert_that(facts->volume > 0, "volume %g", facts->volume);
    clvox_surface_destroy(&s);
}

/* ---- the topology, counted ---------------------------------------------- */

/* Twice the Euler characteristic of where the trilinear function is below 0,
 * sampled `fine` times a voxel: in [0] cells that touch at a corner are apart,
 * in [1] joined. The values are positive on the border. */
static void count_euler(const clvox_volume *v, int fine, int out[2])
{
    const int *n = v->grid.size;
    int m[3];
    for (int a = 0; a < 3; a++)
        m[a] = (n[a] - 1) * fine + 1;
    size_t row = (size_t)m[0], plane = row * (size_t)m[1];
    unsigned char *in = calloc(plane * (size_t)m[2], 1);
    for (int z = 0; z < m[2]; z++)
        for (int y = 0; y < m[1]; y++)
            for (int x = 0; x < m[0]; x++) {
                int at[3] = {x, y, z}, c[3];
                double f[3], sum = 0;
                for (int a = 0; a < 3; a++) {
                    /* A little off: no sample lies on a face between cells. */
                    double p = fmin((at[a] + 0.37) / fine, n[a] - 1.001);
                    c[a] = (int)p;
                    f[a] = p - c[a];
                }
                for (int i = 0; i < 8; i++) {
                    double w = 1;
                    int q[3];
                    for (int a = 0; a < 3; a++) {
                        w *= i >> a & 1 ? f[a] : 1 - f[a];
                        q[a] = c[a] + (i >> a & 1);
                    }
                    sum += w * (double)v->data[((size_t)q[2] * (size_t)n[1] + (size_t)q[1]) * (size_t)n[0] +
                                               (size_t)q[0]];
                }
                in[(size_t)z * plane + (size_t)y * row + (size_t)x] = sum < 0;
            }
    /* Cells of 1 to 8 samples: apart where all are inside, joined where any is. */
    int all = 0, any = 0;
    for (int z = 0; z + 1 < m[2]; z++)
        for (int y = 0; y + 1 < m[1]; y++)
            for (int x = 0; x + 1 < m[0]; x++) {
                const unsigned char *p = in + (size_t)z * plane + (size_t)y * row + (size_t)x;
                if (!(p[0] | p[1] | p[row] | p[row + 1] | p[plane] | p[plane + 1] | p[plane + row] |
                      p[plane + row + 1]))
                    continue;
                for (int shape = 0; shape < 8; shape++) {
                    bool every = true, some = false;
                    for (int i = 0; i < 8; i++) {
                        if (i & ~shape)
                            continue;
                        bool inside = p[(i & 1) + (i & 2 ? row : 0) + (i & 4 ? plane : 0)];
                        every = every && inside;
                        some = some || inside;
                    }
                    int sign = (shape & 1) ^ (shape >> 1 & 1) ^ (shape >> 2 & 1) ? -1 : 1;
                    all += every ? sign : 0;
                    any += some ? -sign : 0; /* dual: a voxel is the cell of three dimensions */
                }
            }
    free(in);
    out[0] = 2 * all;
    out[1] = 2 * any;
}

/* 1 where 48 samples a voxel still count otherwise: a bridge may be thinner. */
static int differs(const clvox_volume *v, const clvox_surface_facts *facts)
{
    for (int fine = 12; fine <= 48; fine *= 2) {
        int counted[2];
        count_euler(v, fine, counted);
        if (counted[0] == counted[1] && counted[0] == facts->euler)
            return 0;
    }
    return 1;
}

static void check_patterns(void **state)
{
    (void)state;
    int thin = 0, repeats = getenv("CLVOX_TEST_TINY") ? 1 : 2;
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int pattern = 1; pattern < 256; pattern++) {
            clvox_volume *v = volume(4, 4, 4);
            clvox_surface_facts facts;
            for (int i = 0; i < 64; i++) {
                int x = (i & 3) - 1, y = (i >> 2 & 3) - 1, z = (i >> 4) - 1;
                double value = 0.02 + uniform();
                bool within = x >= 0 && x < 2 && y >= 0 && y < 2 && z >= 0 && z < 2;
                v->data[i] = (float)(within && pattern >> (x + 2 * y + 4 * z) & 1 ? -value : value);
            }
            extract(v, 0, false, &facts);
            thin += (repeats == 2 || pattern % 16 == 1) && differs(v, &facts);
            clvox_volume_destroy(&v);
        }
    assert_that(thin <= 2, "%d of 510 differ", thin);
}

static void noise_every_ambiguous_cell(void **state)
{
    (void)state;
    int thin = 0, rounds = getenv("CLVOX_TEST_TINY") ? 15 : 150;
    for (int n = 0; n < rounds; n++) {
        clvox_volume *v = volume(5, 6, 5);
        clvox_surface_facts facts;
        for (int i = 0; i < 150; i++) {
            int x = i % 5, y = i / 5 % 6, z = i / 30;
            bool border = x == 0 || x == 4 || y == 0 || y == 5 || z == 0 || z == 4;
            double value = uniform() - 0.5;
            v->data[i] = (float)(border ? fabs(value) + 0.01 : value);
        }
        extract(v, 0, false, &facts);
        thin += differs(v, &facts);
        clvox_volume_destroy(&v);
    }
    assert_that(thin <= 3, "%d of %d differ", thin, rounds);
}

static void noise_up_to_the_border_whole_numbers_nan(void **state)
{
    (void)state;
    for (int n = 0; n < 60; n++) {
        clvox_volume *v = volume(7, 9, 19);
        clvox_surface_facts facts;
        for (int i = 0; i < 7 * 9 * 19; i++) {
            v->data[i] = (float)(n < 20 ? uniform() - 0.5 : floor(3 * uniform()) - 1);
            if (n >= 40 && uniform() < 0.2)
                v->data[i] = uniform() < 0.5 ? NAN : uniform() < 0.5 ? -INFINITY : INFINITY;
        }
        extract(v, 0, n % 2, &facts);
        clvox_volume_destroy(&v);
    }
}

static void check_noise(void)
{
    test_case(noise_every_ambiguous_cell, "noise: every ambiguous cell");
    test_case(noise_up_to_the_border_whole_numbers_nan,
              "noise up to the border, whole numbers, NaN and infinite values");
}

/* ---- known shapes ------------------------------------------------------- */

static double sphere(const double x[3])
{
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) - 12.3;
}

static double torus(const double x[3])
{
    double ring = sqrt(x[0] * x[0] + x[1] * x[1]) - 10;
    return sqrt(ring * ring + x[2] * x[2]) - 4;
}

typedef double (*solid)(const double x[3]);

/* A grid of 35 mm a side; bit 0 of form: oblique, 1: mirrored, 2: sheared. */
static clvox_volume *sampled(solid shape, const double spacing[3], int form)
{
    clvox_grid grid;
    clvox_volume *out = NULL;
    int size[3];
    for (int a = 0; a < 3; a++)
        size[a] = (int)(35 / spacing[a]);
    clvox_phantom_grid(size, spacing, form & 1, &grid);
    for (int i = 0; i < 3; i++) {
        if (form & 2) {
            grid.to_ras[i][3] += grid.to_ras[i][1] * (size[1] - 1);
            grid.to_ras[i][1] = -grid.to_ras[i][1];
        }
        if (form & 4) {
            grid.to_ras[i][2] += 0.3 * grid.to_ras[i][0];
            grid.to_ras[i][3] -= 0.15 * (size[2] - 1) * grid.to_ras[i][0];
        }
    }
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &out));
    float *to = out->data;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                double p[3];
                clv_matrix_apply(CLV_MATRIX(grid.to_ras), (double[3]){x, y, z}, p);
                *to++ = (float)shape(p);
            }
    return out;
}

typedef struct shape_given {
    solid shape;
    double spacing[3];
    int form;
    int euler;
    double volume_mm3;
} shape_given;

static void at_x_x_mm_form(void **state)
{
    const shape_given *given = *state;
    solid shape = given->shape;
    const double *spacing = given->spacing;
    int form = given->form;
    int euler = given->euler;
    double volume_mm3 = given->volume_mm3;
    clvox_volume *v = sampled(shape, spacing, form);
    clvox_surface_facts facts;
    clvox_surface *s = NULL;
    extract(v, 0, false, &facts);
    assert_that(facts.euler == euler && facts.components == 1, "Euler %d, %d components", facts.euler,
                facts.components);
    assert_that(fabs(facts.volume / volume_mm3 - 1) < 0.02, "%g for %g mm^3", facts.volume, volume_mm3);
    assert_ok(clvox_surface_extract(v, 0, false, &s));
    double sum = 0, coarse = fmax(spacing[0], fmax(spacing[1], spacing[2]));
    for (size_t i = 0; i < s->vertices; i++)
        sum += pow(shape(s->points + 3 * i), 2);
    assert_that(sqrt(sum / (double)s->vertices) < 0.02 * coarse * coarse, "rms %g mm",
                sqrt(sum / (double)s->vertices));
    clvox_surface_destroy(&s);
    clvox_volume_destroy(&v);
}

static void check_shape(const char *name, solid shape, const double spacing[3], int form, int euler,
                        double volume_mm3)
{
    test_case_at(
        at_x_x_mm_form,
        TEST_OF(((shape_given){shape, {spacing[0], spacing[1], spacing[2]}, form, euler, volume_mm3})),
        "%s at %gx%gx%g mm, form %d", name, spacing[0], spacing[1], spacing[2], form);
}

static void check_shapes(void)
{
    const double pi = 3.14159265358979, ball = 4.0 / 3 * pi * pow(12.3, 3), ring = 2 * pi * pi * 10 * 16;
    for (int form = 0; form < 8; form++) {
        check_shape("sphere", sphere, (double[3]){1, 1, 1}, form, 2, ball);
        check_shape("torus", torus, (double[3]){0.7, 1, 1.4}, form, 0, ring);
    }
}

static clvox_volume *filled(int x, int y, int z, float value)
{
    clvox_volume *v = volume(x, y, z);
    for (int i = 0; i < x * y * z; i++)
        v->data[i] = value;
    return v;
}

static void a_full_mask_becomes_the_grids_box(void **state)
{
    (void)state;
    clvox_surface_facts facts;
    clvox_volume *v = filled(5, 4, 3, 1);
    extract(v, 0.5, true, &facts);
    assert_that(facts.euler == 2 && facts.volume > 54 && facts.volume < 60, "Euler %d, %g mm^3", facts.euler,
                facts.volume);
    assert_that(fabs(facts.bounds[0][0] + 2.5) < 1e-12 && fabs(facts.bounds[1][2] - 1.5) < 1e-12, "%g, %g",
                facts.bounds[0][0], facts.bounds[1][2]);
    clvox_volume_destroy(&v);
}

static void one_voxel_one_slice_one_row(void **state)
{
    (void)state;
    clvox_surface_facts facts;
    clvox_volume *v = filled(1, 1, 1, -1);
    extract(v, 0, false, &facts);
    assert_true(facts.euler == 2 && fabs(facts.volume - 1.0 / 6) < 1e-12);
    clvox_volume_destroy(&v);
    v = filled(17, 13, 1, -1);
    v->data[17 * 6 + 8] = 1;
    extract(v, 0, false, &facts);
    assert_true(facts.euler == 0 && facts.components == 1);
    clvox_volume_destroy(&v);
    v = filled(1, 1, 23, -1);
    v->data[11] = NAN;
    extract(v, 0, false, &facts);
    assert_true(facts.euler == 4 && facts.components == 2);
    clvox_volume_destroy(&v);
}

static void values_at_the_level_are_outside(void **state)
{
    (void)state;
    clvox_surface_facts facts;
    clvox_volume *v = filled(6, 6, 6, 0);
    v->data[2 + 6 * (2 + 6 * 2)] = -1;
    extract(v, 0, false, &facts);
    assert_that(facts.euler == 2 && facts.volume > 1.3 && facts.volume < 1.34, "%g", facts.volume);
    v->data[2 + 6 * (2 + 6 * 2)] = 1;
    extract(v, 0, true, &facts);
    assert_that(facts.euler == 2 && facts.volume > 1.3 && facts.volume < 1.34, "%g", facts.volume);
    /* Voxels of a mask that touch along an edge or at a corner are apart. */
    v->data[3 + 6 * (3 + 6 * 2)] = v->data[4 + 6 * (4 + 6 * 3)] = 1;
    extract(v, 0.5, true, &facts);
    assert_that(facts.components == 3 && facts.euler == 6, "%d components", facts.components);
    clvox_volume_destroy(&v);
}

static void no_surface_is_said(void **state)
{
    (void)state;
    clvox_surface *s = NULL;
    clvox_volume *v = filled(4, 4, 4, 3);
    assert_true(clvox_surface_extract(v, 0, false, &s) == CLVOX_ERROR_ARGUMENT && !s);
    assert_that(strstr(clvox_message(), "not reached"), "%s", clvox_message());
    for (int i = 0; i < 64; i++)
        v->data[i] = NAN;
    assert_true(clvox_surface_extract(v, 0, true, &s) == CLVOX_ERROR_ARGUMENT && !s);
    assert_true(clvox_surface_extract(v, NAN, true, &s) == CLVOX_ERROR_ARGUMENT && !s);
    clvox_volume_destroy(&v);
    v = NULL;
}

static void check_borders(void)
{
    test_case(a_full_mask_becomes_the_grids_box, "a full mask becomes the grid's box with its edges cut");
    test_case(one_voxel_one_slice_one_row, "one voxel, one slice, one row");
    test_case(values_at_the_level_are_outside, "values at the level are outside, from either side");
    test_case(no_surface_is_said, "a volume without a surface is refused");
}

static void check_threads(void **state)
{
    (void)state;
    clvox_surface *a = NULL, *b = NULL;
    clvox_volume *v = volume(31, 29, 37);
    for (int i = 0; i < 31 * 29 * 37; i++)
        v->data[i] = (float)(uniform() - 0.5);
    clvox_threads_set(1);
    assert_ok(clvox_surface_extract(v, 0, false, &a));
    clvox_threads_set(5);
    assert_ok(clvox_surface_extract(v, 0, false, &b));
    clvox_threads_set(0);
    assert_true(a->vertices == b->vertices && a->triangles == b->triangles);
    assert_memory_equal(a->points, b->points, 3 * sizeof *a->points * a->vertices);
    assert_memory_equal(a->corners, b->corners, 3 * sizeof *a->corners * a->triangles);
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
    clvox_volume_destroy(&v);
}

int main(void)
{
    noise_state = 0x9e3779b97f4a7c15u;
    test_case(check_patterns, "all 256 patterns of a cell");
    check_noise();
    check_shapes();
    check_borders();
    test_case(check_threads, "the same with one thread and with five");
    return test_run("extract", NULL);
}
