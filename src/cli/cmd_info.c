/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/matrix.h"
#include "cli/shapes.h"

static const char *const kinds[] = {"scalar", "label", "displacement", "vector", "tensor", "colour"};
static const char *const types[] = {"float32", "float64", "int8",   "uint8", "int16",
                                    "uint16",  "int32",   "uint32", "int64", "uint64"};

/* ---- grids -------------------------------------------------------------- */

static void print_grid(const command *cli, const clvox_grid *grid, cJSON *to)
{
    double spacing[3], center[3], middle[3];
    char letters[4];
    clvox_grid_spacing(grid, spacing);
    for (int i = 0; i < 3; i++)
        middle[i] = (grid->size[i] - 1) * 0.5;
    cli_matrix_apply(grid->to_ras, middle, center);
    double angle, skew;
    clvox_grid_axes(grid, letters, &angle, &skew);
    cli_print(cli, "  size         %d x %d x %d voxels\n", grid->size[0], grid->size[1], grid->size[2]);
    cli_print(cli, "  spacing      %g x %g x %g mm\n", spacing[0], spacing[1], spacing[2]);
    cli_print(cli, "  orientation  %s", letters);
    if (angle > 0.01)
        cli_print(cli, ", oblique by %.1f degrees", angle);
    if (skew > 0.01)
        cli_print(cli, ", axes off the right angle by %.2f degrees", skew);
    cli_print(cli, "\n  centre       %.2f %.2f %.2f mm (RAS)\n", center[0], center[1], center[2]);
    clvox_record_grid(to, "grid", grid);
    cJSON_AddStringToObject(to, "orientation", letters);
    cJSON_AddNumberToObject(to, "oblique_degrees", angle);
    cJSON_AddNumberToObject(to, "shear_degrees", skew);
}

/* ---- values ------------------------------------------------------------- */

typedef struct range {
    double smallest, largest, mean;
    size_t finite, nan, infinite;
} range;

static range range_of(const float *values, size_t n)
{
    range r = {.smallest = INFINITY, .largest = -INFINITY};
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) {
            r.nan += isnan(values[i]) != 0;
            r.infinite += isnan(values[i]) == 0;
            continue;
        }
        r.smallest = fmin(r.smallest, (double)values[i]);
        r.largest = fmax(r.largest, (double)values[i]);
        sum += (double)values[i];
        r.finite++;
    }
    r.mean = r.finite ? sum / (double)r.finite : NAN;
    if (!r.finite)
        r.smallest = r.largest = NAN;
    return r;
}

static void print_lengths(const command *cli, const clvox_volume *warp, cJSON *to)
{
    size_t n = clvox_grid_voxels(&warp->grid), counted = 0;
    double longest = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double u[3] = {(double)warp->data[i], (double)warp->data[n + i], (double)warp->data[2 * n + i]};
        double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
        if (!isfinite(length))
            continue;
        counted++;
        sum += length;
        longest = fmax(longest, length);
    }
    double mean = counted ? sum / (double)counted : NAN;
    cli_print(cli, "  displacement largest %.4g mm, mean %.4g mm\n", longest, mean);
    cJSON_AddNumberToObject(to, "largest_displacement_mm", longest);
    clvox_record_number(to, "mean_displacement_mm", mean);
}

static void print_volume(const command *cli, const clvox_volume *v, cJSON *to)
{
    size_t values = clvox_grid_voxels(&v->grid) * (size_t)v->frames;
    print_grid(cli, &v->grid, to);
    cli_print(cli, "  type         %s", types[v->stored]);
    if (v->stored != v->type)
        cli_print(cli, " stored, %s after scaling", types[v->type]);
    cli_print(cli, ", %s", kinds[v->kind]);
    if (v->frames > 1)
        cli_print(cli, ", %d frames", v->frames);
    if (v->frame_seconds > 0)
        cli_print(cli, " %g s apart", v->frame_seconds);
    cli_print(cli, "\n");
    if (v->flow.gamma > 0) {
        const double op[3] = {v->flow.alpha, v->flow.beta, v->flow.gamma};
        cli_print(cli, "  momentum     of the operator %g,%g,%g, %d time steps\n", op[0], op[1], op[2],
                  v->flow.timesteps);
        cJSON *momentum = cJSON_AddObjectToObject(to, "momentum");
        cJSON_AddItemToObject(momentum, "operator", cJSON_CreateDoubleArray(op, 3));
        cJSON_AddNumberToObject(momentum, "timesteps", v->flow.timesteps);
    }
    if (v->hint != CLVOX_LABELS_NONE)
        cli_print(cli, "  labels       looks like them: %s\n", clvox_label_reason(v->hint));
    cJSON_AddStringToObject(to, "labels", clvox_label_reason(v->hint));
    cJSON_AddStringToObject(to, "type", types[v->type]);
    cJSON_AddStringToObject(to, "stored_type", types[v->stored]);
    cJSON_AddStringToObject(to, "kind", kinds[v->kind]);
    cJSON_AddNumberToObject(to, "frames", v->frames);
    cJSON_AddNumberToObject(to, "frame_seconds", v->frame_seconds);
    range r = range_of(v->data, values);
    if (v->names) {
        r.smallest = v->name_count > 1 && v->names[1] < 0 ? (double)v->names[1] : 0;
        r.largest = (double)v->names[v->name_count - 1];
        r.mean = NAN;
    }
    if (v->kind == CLVOX_KIND_DISPLACEMENT && v->frames == 3)
        print_lengths(cli, v, to);
    cli_print(cli, "  values       smallest %.10g, largest %.10g", r.smallest, r.largest);
    if (!v->names) /* names have none */
        cli_print(cli, ", mean %g", r.mean);
    cli_print(cli, "\n");
    if (r.nan || r.infinite)
        cli_print(cli, "  not finite   %zu NaN, %zu infinite of %zu\n", r.nan, r.infinite, values);
    clvox_record_number(to, "smallest", r.smallest);
    clvox_record_number(to, "largest", r.largest);
    clvox_record_number(to, "mean", r.mean);
    cJSON_AddNumberToObject(to, "nan", (double)r.nan);
    cJSON_AddNumberToObject(to, "infinite", (double)r.infinite);
}

/* ---- affines ------------------------------------------------------------ */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* matrix = R K: R a rotation, K upper triangular with the scales on its
 * diagonal and shears (relative to the scale of their row) above; a mirrored
 * matrix has a negative first scale. */
static void decompose(const double m[4][4], double rotation[3][3], double scale[3], double skew[3])
{
    double q[3][3]; /* rows: the columns of m, made orthonormal */
    double k[3][3] = {{0}};
    for (int a = 0; a < 3; a++) {
        for (int i = 0; i < 3; i++)
            q[a][i] = m[i][a];
        for (int b = 0; b < a; b++) {
            k[b][a] = dot(q[b], q[a]);
            for (int i = 0; i < 3; i++)
                q[a][i] -= k[b][a] * q[b][i];
        }
        k[a][a] = sqrt(dot(q[a], q[a]));
        for (int i = 0; i < 3; i++)
            q[a][i] /= k[a][a];
    }
    if (cli_matrix_determinant(m) < 0)
        for (int i = 0; i < 3; i++) {
            q[0][i] = -q[0][i];
            k[0][i] = -k[0][i];
        }
    for (int i = 0; i < 3; i++) {
        scale[i] = k[i][i];
        for (int j = 0; j < 3; j++)
            rotation[i][j] = q[j][i];
    }
    skew[0] = k[0][1] / k[0][0];
    skew[1] = k[0][2] / k[0][0];
    skew[2] = k[1][2] / k[1][1];
}

static void print_affine(const command *cli, const double m[4][4], cJSON *to)
{
    double r[3][3], scale[3], skew[3], axis[3];
    decompose(m, r, scale, skew);
    axis[0] = r[2][1] - r[1][2];
    axis[1] = r[0][2] - r[2][0];
    axis[2] = r[1][0] - r[0][1];
    double sine = sqrt(dot(axis, axis)) / 2, cosine = (r[0][0] + r[1][1] + r[2][2] - 1) / 2;
    double degrees = atan2(sine, cosine) * 57.29577951308232, det = cli_matrix_determinant(m);
    cli_print(cli, "  kind         affine, fixed to moving, RAS mm\n");
    for (int i = 0; i < 3; i++)
        cli_print(cli, "  %-11s  %12.8f %12.8f %12.8f %12.6f\n", i ? "" : "matrix", m[i][0], m[i][1], m[i][2],
                  m[i][3]);
    cli_print(cli, "  rotation     %.4f degrees", degrees);
    if (sine > 1e-9)
        cli_print(cli, " around (%.4f, %.4f, %.4f)", axis[0] / (2 * sine), axis[1] / (2 * sine),
                  axis[2] / (2 * sine));
    cli_print(cli, "\n  scale        %.6f %.6f %.6f\n", scale[0], scale[1], scale[2]);
    cli_print(cli, "  shear        %.6f %.6f %.6f (xy, xz, yz)\n", skew[0], skew[1], skew[2]);
    cli_print(cli, "  translation  %.4f %.4f %.4f mm\n", m[0][3], m[1][3], m[2][3]);
    cli_print(cli, "  determinant  %.6f\n", det);
    cJSON_AddStringToObject(to, "kind", "affine");
    cJSON *rows = cJSON_AddArrayToObject(to, "matrix_ras");
    for (int i = 0; i < 4; i++)
        cJSON_AddItemToArray(rows, cJSON_CreateDoubleArray(m[i], 4));
    cJSON_AddNumberToObject(to, "rotation_degrees", degrees);
    cJSON_AddItemToObject(to, "scale", cJSON_CreateDoubleArray(scale, 3));
    cJSON_AddItemToObject(to, "shear", cJSON_CreateDoubleArray(skew, 3));
    cJSON_AddItemToObject(to, "translation_mm",
                          cJSON_CreateDoubleArray((double[3]){m[0][3], m[1][3], m[2][3]}, 3));
    cJSON_AddNumberToObject(to, "determinant", det);
}

/* ---- surfaces ----------------------------------------------------------- */

/* Prints what keeps a surface from bounding a body, if anything. */
static void print_faults(const command *cli, const clvox_surface_facts *f)
{
    const struct {
        int count;
        const char *what;
    } faults[] = {{f->open_edges, "open edges (of one triangle)"},
                  {f->crowded_edges, "crowded edges (of more than two triangles)"},
                  {f->flipped_edges, "flipped edges (whose triangles run in the same direction)"},
                  {f->degenerate, "triangles without area"},
                  {f->unused_vertices, "vertices in no triangle"}};
    for (int i = 0; i < 5; i++)
        if (faults[i].count)
            cli_print(cli, "  faults       %d %s\n", faults[i].count, faults[i].what);
}

static int print_surface(const command *cli, const clvox_surface *s, cJSON *to)
{
    clvox_surface_facts f;
    int status = clvox_surface_inspect(s, &f);
    if (status < 0)
        return status;
    bool closed = s->triangles && !f.open_edges, oriented = closed && !f.crowded_edges && !f.flipped_edges;
    cli_print(cli, "  kind         surface, RAS mm\n");
    cli_print(cli, "  counts       %zu vertices, %zu triangles, %d component%s\n", s->vertices, s->triangles,
              f.components, f.components == 1 ? "" : "s");
    if (s->triangles) {
        cli_print(cli, "  bounds       %.2f to %.2f, %.2f to %.2f, %.2f to %.2f mm\n", f.bounds[0][0],
                  f.bounds[1][0], f.bounds[0][1], f.bounds[1][1], f.bounds[0][2], f.bounds[1][2]);
        cli_print(cli, "  area         %.6g mm^2\n", f.area);
        const char *faces = f.volume < 0 ? "inward" : "outward";
        if (oriented)
            cli_print(cli, "  closed       yes, its triangles face %s\n", faces);
        else
            cli_print(cli, "  closed       %s\n",
                      closed ? "yes, but its triangles do not fit together" : "no");
        if (closed)
            cli_print(cli, "  volume       %.6g mm^3\n", f.volume);
        cli_print(cli, "  Euler        %d\n", f.euler);
    }
    print_faults(cli, &f);
    cJSON_AddStringToObject(to, "kind", "surface");
    cJSON_AddNumberToObject(to, "vertices", (double)s->vertices);
    cJSON_AddNumberToObject(to, "triangles", (double)s->triangles);
    cJSON_AddNumberToObject(to, "components", f.components);
    cJSON_AddItemToObject(to, "least_mm", cJSON_CreateDoubleArray(f.bounds[0], 3));
    cJSON_AddItemToObject(to, "largest_mm", cJSON_CreateDoubleArray(f.bounds[1], 3));
    cJSON_AddNumberToObject(to, "area_mm2", f.area);
    cJSON_AddNumberToObject(to, "volume_mm3", f.volume);
    cJSON_AddNumberToObject(to, "euler", f.euler);
    cJSON_AddBoolToObject(to, "closed", closed);
    cJSON_AddNumberToObject(to, "open_edges", f.open_edges);
    cJSON_AddNumberToObject(to, "crowded_edges", f.crowded_edges);
    cJSON_AddNumberToObject(to, "flipped_edges", f.flipped_edges);
    cJSON_AddNumberToObject(to, "degenerate_triangles", f.degenerate);
    cJSON_AddNumberToObject(to, "unused_vertices", f.unused_vertices);
    return CLVOX_OK;
}

/* ---- curves ------------------------------------------------------------- */

static int print_curves(const command *cli, const clvox_shape *s, cJSON *to)
{
    double length, least[3] = {0}, largest[3] = {0};
    size_t lines = 0;
    int status = clvox_shape_size(s, &length);
    if (status < 0)
        return status;
    for (size_t i = 0; i < s->elements; i++) /* a segment that does not begin where the last one ended */
        lines += i == 0 || s->corners[2 * i] != s->corners[2 * i - 1];
    for (size_t i = 0; i < 3 * s->vertices; i++) {
        least[i % 3] = i < 3 ? s->points[i] : fmin(least[i % 3], s->points[i]);
        largest[i % 3] = i < 3 ? s->points[i] : fmax(largest[i % 3], s->points[i]);
    }
    cli_print(cli, "  kind         curves, RAS mm\n");
    cli_print(cli, "  counts       %zu vertices, %zu segments, %zu line%s\n", s->vertices, s->elements, lines,
              lines == 1 ? "" : "s");
    cJSON_AddStringToObject(to, "kind", "curves");
    cJSON_AddNumberToObject(to, "vertices", (double)s->vertices);
    cJSON_AddNumberToObject(to, "segments", (double)s->elements);
    cJSON_AddNumberToObject(to, "lines", (double)lines);
    cJSON_AddNumberToObject(to, "length_mm", length);
    if (s->vertices) {
        cli_print(cli, "  bounds       %.2f to %.2f, %.2f to %.2f, %.2f to %.2f mm\n", least[0], largest[0],
                  least[1], largest[1], least[2], largest[2]);
        cJSON_AddItemToObject(to, "least_mm", cJSON_CreateDoubleArray(least, 3));
        cJSON_AddItemToObject(to, "largest_mm", cJSON_CreateDoubleArray(largest, 3));
    }
    cli_print(cli, "  length       %.6g mm\n", length);
    return CLVOX_OK;
}

/* ---- files -------------------------------------------------------------- */

/* A composite's, in the order in which a point passes them. */
static void print_parts(const command *cli, clvox_transform *const *part, int parts, cJSON *to)
{
    cJSON *list = parts > 1 ? cJSON_AddArrayToObject(to, "parts") : NULL;
    for (int i = 0; i < parts; i++) {
        cJSON *entry = list ? cJSON_CreateObject() : to;
        if (list) {
            cJSON_AddItemToArray(list, entry);
            cli_print(cli, "  part %d of %d\n", i + 1, parts);
        }
        if (part[i]->is_warp)
            print_volume(cli, part[i]->warp, entry);
        else
            print_affine(cli, CLI_MATRIX(part[i]->matrix), entry);
    }
}

/* A file of VTK polydata may hold either. */
static int read_surface_or_curves(command *cli, const char *path, clvox_surface **surface,
                                  clvox_shape **curves)
{
    int status = cli_read_surface(cli, path, surface);
    const bool faceless = status < 0 && strstr(clvox_message(), "has no POLYGONS");
    if (status >= 0 || (status = cli_read_curves(cli, path, false, curves)) >= 0)
        return CLVOX_OK;
    if (faceless && !strstr(clvox_message(), "has no LINES"))
        return status; /* it holds curves, which are damaged */
    return cli_read_surface(cli, path, surface); /* for what is wrong with it */
}

static int info(command *cli, const char *path, cJSON *to)
{
    int status;
    clvox_volume *volume = NULL;
    clvox_transform *part[CLI_MAX_LINKS];
    int parts = 0;
    clvox_surface *surface = NULL;
    clvox_shape *curves = NULL;
    if (clvox_volume_is_file(path))
        CLI_TRY(cli_load(cli, &(cli_input){path, &volume, CLI_AS_LABELS}, 1, NULL, NULL, false));
    else if (clvox_surface_is_file(path))
        CLI_TRY(read_surface_or_curves(cli, path, &surface, &curves));
    else if (cli_shape_tracks(path))
        CLI_TRY(cli_read_curves(cli, path, false, &curves));
    else
        CLI_TRY(cli_read_transforms(cli, path, part, CLI_MAX_LINKS, &parts));
    cli_print(cli, "%s\n", path);
    cJSON_AddStringToObject(to, "path", path);
    if (volume)
        print_volume(cli, volume, to);
    else if (surface)
        CLI_TRY(print_surface(cli, surface, to));
    else if (curves)
        CLI_TRY(print_curves(cli, curves, to));
    else
        print_parts(cli, part, parts, to);
end:
    clvox_volume_destroy(&volume);
    for (int i = 0; i < parts; i++)
        clvox_transform_destroy(&part[i]);
    clvox_surface_destroy(&surface);
    clvox_shape_destroy(&curves);
    return status;
}

int cmd_info(command *cli, int argc, char **argv)
{
    const cli_usage usage = {
        .options = NULL,
        .least = 1,
        .most = 1 << 20,
    };
    char **files;
    int count, status = cli_parse(cli, &usage, argc, argv, &files, &count);
    if (status)
        return status;
    cJSON *list = cJSON_AddArrayToObject(cli->log, "files");
    for (int i = 0; i < count; i++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(list, entry);
        CLI_TRY(info(cli, files[i], entry));
    }
end:
    return status;
}
