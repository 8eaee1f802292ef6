/* SPDX-License-Identifier: Apache-2.0 */
/* Values, places and kinds of volumes in NIfTI files. */
#include "clvox/volume.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/matrix.h"
#include "base/parallel.h"
#include "check.h"
#include "files.h"

static const int codes[] = {16, 64, 256, 2, 4, 512, 8, 768, 1024, 1280}; /* in clvox_type's order */
static const double lows[] = {-1e30, -1e30, -128, 0, -32768, 0, -2147483648.0, 0, -0x1p63, 0};
static const double highs[] = {1e30,          1e30,         127,     255,    32767, 65535,
                               2147483647.0, 4294967295.0, 0x1p62, 0x1p63};

/* The only frame's value, or NaN with the failure printed. */
static clvox_volume *reads(const char *path)
{
    clvox_volume *v = NULL;
    int status = clvox_volume_read(path, &v);
    CHECK_THAT(status == 0 && v, "%s", clvox_message());
    return v;
}

/* A read that must fail with that code and a sentence that holds a word. */
static void refuses(const char *path, int code, const char *word)
{
    clvox_volume *v = (clvox_volume *)1;
    int status = clvox_volume_read(path, &v);
    CHECK_THAT(status == code && !v, "%d instead of %d", status, code);
    CHECK_THAT(strstr(clvox_message(), word), "\"%s\" lacks \"%s\"", clvox_message(), word);
    if (status == 0)
        clvox_volume_destroy(&v);
}

static void refuses_header(const files_nifti *h, const char *word)
{
    float data[64] = {0};
    CHECK(!files_nifti_write(files_in("bad.nii"), h, data, sizeof data));
    refuses(files_in("bad.nii"), CLVOX_ERROR_FORMAT, word);
}

/* ---- values ------------------------------------------------------------- */

static void types(void)
{
    for (int version = 0; version < 3; version++)
        for (int t = 0; t < 10; t++)
            for (int swapped = 0; swapped < 2; swapped++) {
                CHECK_CASE("type %d is read, version %d, %s", codes[t], version,
                           swapped ? "swapped" : "native");
                const double values[] = {0, 1, lows[t], highs[t], 100, 3};
                files_nifti h = files_header(version, 3, 2, 1);
                uint8_t data[64];
                size_t size = 0;
                h.type = codes[t];
                h.swapped = swapped;
                for (int i = 0; i < 6; i++)
                    size += files_put(data + size, h.type, swapped, values[i]);
                const char *path = files_in("t.nii");
                if (version) {
                    CHECK(!files_nifti_write(path, &h, data, size));
                } else {
                    path = files_in("t.hdr");
                    CHECK(!files_nifti_write(path, &h, NULL, 0) &&
                          !files_write(files_in("t.img"), data, size));
                }
                clvox_volume *v = reads(path);
                if (!v)
                    continue;
                CHECK(v->type == (clvox_type)t && v->frames == 1);
                for (int i = 0; i < 6; i++)
                    CHECK_THAT(v->data[i] == (float)values[i], "%g instead of %g", (double)v->data[i],
                               values[i]);
                clvox_volume_destroy(&v);
            }
}

static void scaling(void)
{
    static const struct {
        double slope, inter, a, b;
    } cases[] = {{2, 10, 12, 50},  {0, 10, 1, 20},  {NAN, 10, 1, 20},     {INFINITY, 0, 1, 20},
                 {2, NAN, 2, 40},  {1, 0.5, 1.5, 20.5}, {-0.5, 0, -0.5, -10}, {1, 0, 1, 20}};
    CHECK_CASE("slope and intercept are applied, nonsense means none");
    for (int swapped = 0; swapped < 2; swapped++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint8_t data[2] = {1, 20};
            files_nifti h = files_header(1, 2, 1, 1);
            h.type = 2;
            h.swapped = swapped;
            h.slope = cases[i].slope;
            h.inter = cases[i].inter;
            CHECK(!files_nifti_write(files_in("s.nii"), &h, data, 2));
            clvox_volume *v = reads(files_in("s.nii"));
            if (!v)
                continue;
            CHECK_THAT(v->data[0] == (float)cases[i].a && v->data[1] == (float)cases[i].b,
                       "case %zu: %g %g", i, (double)v->data[0], (double)v->data[1]);
            clvox_volume_destroy(&v);
        }
    CHECK_CASE("integers that were scaled are written as floats, so that nothing is lost");
    uint8_t data[2] = {1, 2};
    files_nifti h = files_header(1, 2, 1, 1);
    h.type = 2;
    h.slope = 0.25;
    CHECK(!files_nifti_write(files_in("s.nii"), &h, data, 2));
    clvox_volume *v = reads(files_in("s.nii"));
    CHECK(v && v->type == CLVOX_TYPE_FLOAT32 && v->data[0] == 0.25f);
    clvox_volume_destroy(&v);

    CHECK_CASE("NaN and infinity are kept");
    float strange[3] = {NAN, INFINITY, -INFINITY};
    h = files_header(1, 3, 1, 1);
    h.slope = 3;
    CHECK(!files_nifti_write(files_in("s.nii.gz"), &h, strange, sizeof strange));
    v = reads(files_in("s.nii.gz"));
    CHECK(v && isnan(v->data[0]) && v->data[1] == INFINITY && v->data[2] == -INFINITY);
    clvox_volume_destroy(&v);
}

static clvox_volume *made(int x, int y, int z, int frames, clvox_kind kind)
{
    clvox_grid g = {{x, y, z}, {{0}}};
    clv_matrix_identity(g.to_ras);
    clvox_volume *v;
    if (clvox_volume_create(&g, frames, kind, &v))
        exit(99);
    return v;
}

static void written_types(void)
{
    static const float in[] = {0, 1.4f, -1.6f, 2.5f, -1e30f, 1e30f, NAN, 77, -INFINITY, INFINITY, 200.7f};
    for (int t = 0; t < 10; t++)
        for (int packed = 0; packed < 2; packed++) {
            CHECK_CASE("type %d is written, rounded and clamped%s", codes[t], packed ? ", compressed" : "");
            clvox_volume *v = made(11, 1, 1, 1, CLVOX_KIND_SCALAR), *w;
            memcpy(v->data, in, sizeof in);
            v->type = (clvox_type)t;
            const char *path = files_in(packed ? "w.nii.gz" : "w.nii");
            CHECK(clvox_volume_write(v, path) == 0);
            w = reads(path);
            for (int i = 0; w && i < 11; i++) {
                double x = (double)in[i];
                if (t > 1) {
                    x = isnan(x) ? 0 : rint(x);
                    double high = codes[t] == 1024 ? 0x1p63 : codes[t] == 1280 ? 0x1p64 : highs[t];
                    x = x < lows[t] ? lows[t] : x > high ? high : x;
                }
                CHECK_THAT((isnan(x) && isnan(w->data[i])) || w->data[i] == (float)x, "%g became %g",
                           (double)in[i], (double)w->data[i]);
            }
            CHECK(w && w->type == (clvox_type)t);
            clvox_volume_destroy(&v);
            clvox_volume_destroy(&w);
        }
}

/* ---- places ------------------------------------------------------------- */

static void set_rows(files_nifti *h, double xx, double yy, double zz, double x, double y, double z)
{
    memset(h->rows, 0, sizeof h->rows);
    h->rows[0][0] = xx;
    h->rows[1][1] = yy;
    h->rows[2][2] = zz;
    h->rows[0][3] = x;
    h->rows[1][3] = y;
    h->rows[2][3] = z;
}

/* Where a header with float values 2x2x2 puts voxel (1, 1, 1). */
static void place_is(const files_nifti *h, double x, double y, double z)
{
    float data[8] = {0};
    double at[3] = {1, 1, 1};
    CHECK(!files_nifti_write(files_in("p.nii"), h, data, sizeof data));
    clvox_volume *v = reads(files_in("p.nii"));
    if (!v)
        return;
    clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), at, at);
    CHECK_THAT(fabs(at[0] - x) + fabs(at[1] - y) + fabs(at[2] - z) < 1e-5, "(%g %g %g), not (%g %g %g)",
               at[0], at[1], at[2], x, y, z);
    clvox_volume_destroy(&v);
}

static void places(void)
{
    for (int version = 1; version < 3; version++)
        for (int swapped = 0; swapped < 2; swapped++) {
            CHECK_CASE("sform, qform, pixdim in this order, version %d, %s", version,
                       swapped ? "swapped" : "native");
            files_nifti h = files_header(version, 2, 2, 2);
            h.swapped = swapped;
            h.pixdim[1] = 2;
            h.pixdim[2] = 3;
            h.pixdim[3] = 4;
            place_is(&h, 2, 3, 4);
            h.quatern[2] = sqrt(0.5); /* a quarter turn about z */
            h.shift[0] = 10;
            place_is(&h, 2, 3, 4);
            h.qform = 1;
            place_is(&h, 10 - 3, 2, 4);
            h.pixdim[0] = -1;
            place_is(&h, 10 - 3, 2, -4);
            h.pixdim[0] = 0;
            place_is(&h, 10 - 3, 2, 4);
            set_rows(&h, -2, 5, 3, 1, 1, 1);
            h.rows[0][1] = 0.5; /* sheared */
            place_is(&h, 10 - 3, 2, 4);
            h.sform = 4;
            place_is(&h, -2 + 0.5 + 1, 6, 4);
            h.qform = 0;
            place_is(&h, -2 + 0.5 + 1, 6, 4);
        }
    CHECK_CASE("edges that are missing or absurd are 1 or positive");
    files_nifti h = files_header(1, 2, 2, 2);
    h.pixdim[1] = -2;
    h.pixdim[2] = 0;
    h.pixdim[3] = NAN;
    place_is(&h, 2, 1, 1);
    h.qform = 1;
    place_is(&h, 2, 1, 1);

    CHECK_CASE("metres and micrometres become millimetres");
    h = files_header(1, 2, 2, 2);
    h.units = 1;
    h.pixdim[1] = 0.002;
    place_is(&h, 2, 2000, 2000);
    h.units = 3;
    h.sform = 1;
    set_rows(&h, 500, 500, 500, 1000, 0, 0);
    place_is(&h, 1.5, 0.5, 0.5);

    CHECK_CASE("an sform of zeros gives way to a qform, other nonsense is refused");
    h = files_header(1, 2, 2, 2);
    h.sform = h.qform = 1;
    place_is(&h, 2, 2, 2);
    h.qform = 0;
    refuses_header(&h, "sform");
    set_rows(&h, 1, 1, 0, 0, 0, 0);
    h.qform = 1;
    refuses_header(&h, "singular");
    set_rows(&h, 1, 1, NAN, 0, 0, 0);
    refuses_header(&h, "sform");
    set_rows(&h, 1, 1, 1, INFINITY, 0, 0);
    refuses_header(&h, "sform");
    h.sform = 0;
    h.quatern[0] = NAN;
    refuses_header(&h, "qform");
}

static void grids_kept(void)
{
    double c = cos(0.3), s = sin(0.3);
    const double matrices[5][4][4] = {
        {{2, 0, 0, -90}, {0, 2, 0, -126}, {0, 0, 2, -72}, {0, 0, 0, 1}},
        {{-1.5 * c, 2 * s, 0, 90}, {1.5 * s, 2 * c, 0, -100}, {0, 0, 1, 7}, {0, 0, 0, 1}},
        {{0, 0, 1.5, 90}, {-2, 0, 0, -100}, {0, 1, 0, 7}, {0, 0, 0, 1}},
        {{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}},
        {{1, 0.2, 0, 5}, {0, 1, 0.1, 6}, {0, 0, 1, 7}, {0, 0, 0, 1}}};
    for (int i = 0; i < 5; i++) {
        CHECK_CASE("grid %d survives, with a qform where a quaternion can say it", i);
        clvox_volume *v = made(5, 4, 3, 1, CLVOX_KIND_SCALAR), *w;
        clv_matrix_copy(matrices[i], v->grid.to_ras);
        CHECK(clvox_volume_write(v, files_in("g.nii")) == 0);
        w = reads(files_in("g.nii"));
        CHECK(w && clvox_grid_equal(&v->grid, &w->grid));
        clvox_volume_destroy(&w);
        size_t size;
        uint8_t *bytes = files_read(files_in("g.nii"), &size);
        CHECK(size == 352 + 240);
        CHECK((bytes[252] == 1) == (i < 4) && bytes[254] == 1 && bytes[123] == 10);
        if (i < 4) {
            bytes[254] = 0; /* the qform alone says the same */
            CHECK(!files_write(files_in("g.nii"), bytes, size));
            w = reads(files_in("g.nii"));
            CHECK(w && clvox_grid_equal(&v->grid, &w->grid));
            clvox_volume_destroy(&w);
        }
        free(bytes);
        clvox_volume_destroy(&v);
    }
}

/* ---- shapes ------------------------------------------------------------- */

static void shapes(void)
{
    CHECK_CASE("one to seven dimensions");
    for (int n = 1; n < 8; n++) {
        float data[2 * 3 * 2 * 2 * 1 * 3 * 2];
        int64_t dims[8] = {n, 2, 3, 2, 2, 1, 3, 2};
        int values = 1;
        files_nifti h = files_header(1, 1, 1, 1);
        for (int i = 0; i < 8; i++)
            h.dim[i] = i <= n ? dims[i] : i % 3 - 1; /* what lies behind is not looked at */
        for (int i = 1; i <= n; i++)
            values *= (int)dims[i];
        for (int i = 0; i < values; i++)
            data[i] = (float)i;
        CHECK(!files_nifti_write(files_in("d.nii"), &h, data, (size_t)values * 4));
        clvox_volume *v = reads(files_in("d.nii"));
        if (!v)
            continue;
        CHECK((int)clvox_grid_voxels(&v->grid) * v->frames == values &&
              v->data[values - 1] == (float)(values - 1));
        CHECK(v->grid.size[0] == 2 && v->grid.size[1] == (n > 1 ? 3 : 1) &&
              v->grid.size[2] == (n > 2 ? 2 : 1));
        clvox_volume_destroy(&v);
    }
    CHECK_CASE("impossible dimensions are refused");
    static const int bad[][4] = {{0, 2, 2, 2},  {8, 2, 2, 2}, {-1, 2, 2, 2}, {3, 0, 2, 2},
                                 {3, -5, 2, 2}, {3, 2, 2, 0}, {3, 2, -1, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        files_nifti h = files_header(1, 1, 1, 1);
        for (int j = 0; j < 4; j++)
            h.dim[j] = bad[i][j];
        refuses_header(&h, "damaged");
    }
    for (int version = 1; version < 3; version++) {
        files_nifti h = files_header(version, 32767, 32767, 32767);
        refuses_header(&h, "cut short");
        h.dim[0] = 7;
        for (int i = 4; i < 8; i++)
            h.dim[i] = 32767;
        refuses_header(&h, "exceed");
    }
    files_nifti h = files_header(2, 1, 1, 1);
    h.dim[1] = INT64_MAX;
    refuses_header(&h, "exceed");
    h.dim[1] = INT64_MIN;
    refuses_header(&h, "damaged");
    h.dim[1] = 2147483648;
    refuses_header(&h, "exceed");

    CHECK_CASE("where the data start");
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const double offsets[] = {0, 100, 348, 352, 400, 352.5, 4000};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        size_t at = offsets[i] < 348 ? 352 : (size_t)offsets[i];
        h = files_header(1, 2, 2, 2);
        h.offset = offsets[i];
        uint8_t bytes[4100] = {0};
        files_header_bytes(&h, bytes);
        memcpy(bytes + at, data, sizeof data);
        for (int packed = 0; packed < 2; packed++) {
            const char *path = files_in(packed ? "o.nii.gz" : "o.nii");
            CHECK(!(packed ? files_write_gzip : files_write)(path, bytes, at + sizeof data));
            clvox_volume *v = reads(path);
            CHECK(v && v->data[0] == 1 && v->data[7] == 8);
            clvox_volume_destroy(&v);
        }
    }
    static const double nowhere[] = {NAN, -1, INFINITY, 1e30, -1e30};
    for (int i = 0; i < 5; i++) {
        h = files_header(1, 2, 2, 2);
        h.offset = nowhere[i];
        refuses_header(&h, "damaged");
    }
    h.offset = 1e9;
    refuses_header(&h, "cut short");
    h.offset = 4e18;
    refuses_header(&h, "cut short");

    CHECK_CASE("time steps are seconds");
    static const struct {
        int units;
        double step, seconds;
    } times[] = {{10, 2, 2}, {18, 2000, 2}, {26, 2e6, 2}, {2, 3, 3}, {34, 3, 0}, {10, NAN, 0}, {10, -1, 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        h = files_header(1, 1, 1, 1);
        h.dim[0] = 4;
        h.dim[4] = 2;
        h.units = times[i].units;
        h.pixdim[4] = times[i].step;
        CHECK(!files_nifti_write(files_in("d.nii"), &h, data, 8));
        clvox_volume *v = reads(files_in("d.nii"));
        CHECK_THAT(v && fabs(v->frame_seconds - times[i].seconds) < 1e-6, "%zu", i);
        if (v)
            CHECK(clvox_volume_write(v, files_in("d2.nii")) == 0);
        clvox_volume_destroy(&v);
        v = reads(files_in("d2.nii"));
        CHECK(v && fabs(v->frame_seconds - times[i].seconds) < 1e-6);
        clvox_volume_destroy(&v);
    }

    CHECK_CASE("a dimension beyond 32767 makes a NIfTI-2 file");
    clvox_volume *v = made(40000, 2, 1, 1, CLVOX_KIND_LABEL), *w;
    v->type = CLVOX_TYPE_INT16;
    v->grid.to_ras[0][3] = 1.0 / 3;
    v->data[79999] = 1234;
    CHECK(clvox_volume_write(v, files_in("l.nii.gz")) == 0);
    w = reads(files_in("l.nii.gz"));
    CHECK(w && w->grid.size[0] == 40000 && w->data[79999] == 1234 && w->kind == CLVOX_KIND_LABEL);
    CHECK(w && w->grid.to_ras[0][3] == 1.0 / 3);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&w);
}

/* ---- pairs, Analyze ----------------------------------------------------- */

static void pairs(void)
{
    float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    CHECK_CASE("a header and its image, either compressed, either named, in capitals too");
    static const char *const names[][2] = {{"a.hdr", "a.img"},
                                           {"b.hdr.gz", "b.img.gz"},
                                           {"c.hdr", "c.img.gz"},
                                           {"d.hdr.gz", "d.img"},
                                           {"E.HDR", "E.IMG"}};
    for (int i = 0; i < 5; i++)
        for (int version = 0; version < 2; version++) {
            files_nifti h = files_header(version, 2, 2, 2);
            h.magic = "ni1";
            h.offset = 16;
            uint8_t image[48] = {0};
            memcpy(image + 16, data, sizeof data);
            const char *header = files_in(names[i][0]), *values = files_in(names[i][1]);
            CHECK(!files_nifti_write(header, &h, NULL, 0));
            CHECK(!(strstr(names[i][1], ".gz") ? files_write_gzip : files_write)(values, image,
                                                                                 sizeof image));
            for (int which = 0; which < 2; which++) {
                clvox_volume *v = reads(which ? header : values);
                CHECK(v && v->data[7] == 8 && v->grid.to_ras[0][0] == 2 && v->grid.to_ras[0][3] == 0);
                clvox_volume_destroy(&v);
            }
            unlink(header);
            refuses(values, CLVOX_ERROR_FILE, "missing");
            CHECK(!files_nifti_write(header, &h, NULL, 0));
            unlink(values);
            refuses(header, CLVOX_ERROR_FILE, "missing");
            unlink(header);
        }
    CHECK_CASE("a header alone says that the data are elsewhere");
    files_nifti h = files_header(1, 2, 2, 2);
    h.magic = "ni1";
    CHECK(!files_nifti_write(files_in("alone.nii"), &h, data, sizeof data));
    refuses(files_in("alone.nii"), CLVOX_ERROR_FORMAT, ".img");
}

/* ---- kinds -------------------------------------------------------------- */

static void kinds(void)
{
    CHECK_CASE("a displacement is RAS in memory and LPS in ITK's layout on disk");
    clvox_volume *v = made(3, 2, 1, 3, CLVOX_KIND_DISPLACEMENT), *w;
    for (int i = 0; i < 18; i++)
        v->data[i] = (float)i;
    CHECK(clvox_volume_write(v, files_in("u.nii")) == 0);
    size_t size;
    uint8_t *bytes = files_read(files_in("u.nii"), &size);
    const int16_t dims[] = {5, 3, 2, 1, 1, 3, 1, 1};
    int16_t intent;
    float on_disk[18];
    memcpy(&intent, bytes + 68, 2);
    memcpy(on_disk, bytes + 352, sizeof on_disk);
    CHECK(!memcmp(bytes + 40, dims, sizeof dims) && intent == 1007);
    for (int i = 0; i < 18; i++)
        CHECK(on_disk[i] == (i < 12 ? -(float)i : (float)i));
    free(bytes);
    w = reads(files_in("u.nii"));
    CHECK(w && w->kind == CLVOX_KIND_DISPLACEMENT && w->frames == 3);
    CHECK(w && !memcmp(w->data, v->data, 18 * sizeof(float)));
    clvox_volume_destroy(&w);
    v->type = CLVOX_TYPE_FLOAT64;
    CHECK(clvox_volume_write(v, files_in("u.nii.gz")) == 0);
    w = reads(files_in("u.nii.gz"));
    CHECK(w && !memcmp(w->data, v->data, 18 * sizeof(float)));
    clvox_volume_destroy(&w);

    CHECK_CASE("scale and byte order go with the change of sign");
    files_nifti h = files_header(1, 3, 2, 1);
    uint8_t shorts[36];
    h.dim[0] = 5;
    h.dim[5] = 3;
    h.intent = 1007;
    h.swapped = 1;
    h.type = 4;
    h.slope = 0.5;
    h.inter = 3;
    for (int i = 0; i < 18; i++)
        files_put(shorts + 2 * i, 4, 1, i);
    CHECK(!files_nifti_write(files_in("u.nii"), &h, shorts, sizeof shorts));
    w = reads(files_in("u.nii"));
    for (int i = 0; w && i < 18; i++)
        CHECK(w->data[i] == (i < 12 ? -1 : 1) * (0.5f * (float)i + 3));
    clvox_volume_destroy(&w);
    clvox_volume_destroy(&v);

    CHECK_CASE("a tensor is the upper triangle in memory and the lower on disk");
    v = made(2, 1, 1, 6, CLVOX_KIND_TENSOR);
    for (int i = 0; i < 12; i++)
        v->data[i] = (float)(i / 2);
    CHECK(clvox_volume_write(v, files_in("t.nii")) == 0);
    bytes = files_read(files_in("t.nii"), &size);
    static const float lower[6] = {0, 1, 3, 2, 4, 5};
    memcpy(on_disk, bytes + 352, 12 * sizeof(float));
    for (int i = 0; i < 12; i++)
        CHECK(on_disk[i] == lower[i / 2]);
    free(bytes);
    w = reads(files_in("t.nii"));
    CHECK(w && w->kind == CLVOX_KIND_TENSOR && w->frames == 6 &&
          !memcmp(w->data, v->data, 12 * sizeof(float)));
    clvox_volume_destroy(&w);
    clvox_volume_destroy(&v);

    CHECK_CASE("labels, vectors and series keep their kind");
    for (int kind = 0; kind < 4; kind++) {
        if (kind == CLVOX_KIND_DISPLACEMENT)
            continue;
        v = made(2, 2, 2, kind == CLVOX_KIND_VECTOR ? 3 : 4, (clvox_kind)kind);
        v->data[5] = 5;
        CHECK(clvox_volume_write(v, files_in("k.nii.gz")) == 0);
        w = reads(files_in("k.nii.gz"));
        CHECK(w && w->kind == v->kind && w->frames == v->frames && w->data[5] == 5);
        clvox_volume_destroy(&w);
        clvox_volume_destroy(&v);
    }
    CHECK_CASE("frames that do not fit the kind are not written");
    v = made(2, 2, 2, 2, CLVOX_KIND_DISPLACEMENT);
    CHECK(clvox_volume_write(v, files_in("k.nii.gz")) == CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&v);
}

/* ---- what is refused ---------------------------------------------------- */

static void strangers(void)
{
    CHECK_CASE("types without one real number a voxel are refused");
    static const int bad[] = {1, 32, 128, 1536, 1792, 2048, 2304, 0, 7, 99, -1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        files_nifti h = files_header(1, 1, 1, 1);
        h.type = bad[i];
        refuses_header(&h, i < 7 ? "convert it" : "unknown");
    }
    CHECK_CASE("files of other kinds are named");
    uint8_t bytes[1000] = {0};
    CHECK(!files_write(files_in("e.nii"), bytes, 0));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "empty");
    CHECK(!files_write(files_in("e.nii"), bytes, 1));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "cut short");
    CHECK(!files_write(files_in("e.nii"), bytes, 1000));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "no NIfTI");
    CHECK(!files_write(files_in("e.mgz"), bytes, 1000));
    refuses(files_in("e.mgz"), CLVOX_ERROR_FORMAT, "mri_convert");
    CHECK(!files_write(files_in("e.nrrd"), "NRRD0004\n", 9));
    refuses(files_in("e.nrrd"), CLVOX_ERROR_FORMAT, "NRRD");
    CHECK(!files_write(files_in("e.nia"), "<nifti_image nx=4", 17));
    refuses(files_in("e.nia"), CLVOX_ERROR_FORMAT, "ASCII");
    memcpy(bytes + 128, "DICM", 4);
    CHECK(!files_write(files_in("e.dcm"), bytes, 1000));
    refuses(files_in("e.dcm"), CLVOX_ERROR_FORMAT, "dcm2niix");
    files_nifti h = files_header(2, 1, 1, 1);
    files_header_bytes(&h, bytes);
    bytes[4] = 'x';
    CHECK(!files_write(files_in("e.nii"), bytes, 1000));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "no NIfTI");
    refuses(files_in("none.nii"), CLVOX_ERROR_FILE, "No such file");
    refuses(files_in(""), CLVOX_ERROR_FILE, "directory");
    CHECK(!mkfifo(files_in("pipe.nii"), 0600));
    refuses(files_in("pipe.nii"), CLVOX_ERROR_FILE, "pipe");

    CHECK_CASE("a volume cannot be written everywhere");
    clvox_volume *v = made(40, 40, 40, 1, CLVOX_KIND_SCALAR);
    for (int i = 0; i < 64000; i++)
        v->data[i] = (float)sin(i * 0.37);
    int before = files_count();
    CHECK(clvox_volume_write(v, files_in("x.mgz")) == CLVOX_ERROR_ARGUMENT &&
          strstr(clvox_message(), ".nii"));
    CHECK(clvox_volume_write(v, files_in("x.img")) == CLVOX_ERROR_ARGUMENT);
    CHECK(clvox_volume_write(v, files_in("no/x.nii")) == CLVOX_ERROR_FILE);
    CHECK(clvox_volume_write(v, "/dev/null") == 0);
    if (!access("/dev/full", W_OK))
        CHECK(clvox_volume_write(v, "/dev/full") == CLVOX_ERROR_FILE &&
              strstr(clvox_message(), "No space left"));
    v->grid.to_ras[0][0] = NAN;
    CHECK(clvox_volume_write(v, files_in("x.nii")) == CLVOX_ERROR_ARGUMENT);
    v->grid.to_ras[0][0] = 1;
    CHECK(files_count() == before);

    CHECK_CASE("a disk that fills up while writing leaves the old file and nothing else");
    CHECK(!files_write(files_in("old.nii"), "old", 3) && !files_write(files_in("old.nii.gz"), "old", 3));
    before = files_count();
    struct rlimit unlimited, limit;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    signal(SIGXFSZ, SIG_IGN);
    for (int threads = 1; threads <= 8; threads++)
        for (int packed = 0; packed < 2; packed++) {
            size_t size = 0;
            limit = unlimited;
            limit.rlim_cur = 70000;
            clv_set_threads(threads);
            setrlimit(RLIMIT_FSIZE, &limit);
            int status = clvox_volume_write(v, files_in(packed ? "old.nii.gz" : "old.nii"));
            setrlimit(RLIMIT_FSIZE, &unlimited);
            CHECK(status == CLVOX_ERROR_FILE);
            CHECK_THAT(strstr(clvox_message(), "File too large"), "%s", clvox_message());
            uint8_t *bytes_now = files_read(files_in(packed ? "old.nii.gz" : "old.nii"), &size);
            CHECK(size == 3 && files_count() == before);
            free(bytes_now);
        }
    clv_set_threads(0);
    clvox_volume_destroy(&v);
}

/* Writes a large volume over and over until the parent interrupts. */
static void write_forever(int pipe_end)
{
    clvox_volume *v = made(100, 100, 100, 1, CLVOX_KIND_SCALAR);
    clv_file_guard_interrupts();
    for (;;) {
        if (write(pipe_end, "g", 1) != 1 || clvox_volume_write(v, files_in("big.nii.gz")))
            _exit(1);
    }
}

static void interrupts(void)
{
    CHECK_CASE("Ctrl-C at any moment of writing leaves a whole file or none");
    unlink(files_in("big.nii.gz"));
    int before = files_count(), whole = 0;
    for (int round = 0; round < 8; round++) {
        int ends[2], result;
        char letter;
        fflush(stdout);
        CHECK(!pipe(ends));
        pid_t child = fork();
        if (!child)
            write_forever(ends[1]);
        CHECK(read(ends[0], &letter, 1) == 1);
        usleep((unsigned)(1000 + 15000 * round));
        kill(child, SIGINT);
        CHECK(waitpid(child, &result, 0) == child && WIFSIGNALED(result) && WTERMSIG(result) == SIGINT);
        close(ends[0]);
        close(ends[1]);
        int left = files_count() - before;
        if (!access(files_in("big.nii.gz"), F_OK)) {
            clvox_volume *v = reads(files_in("big.nii.gz"));
            CHECK(v && v->grid.size[2] == 100);
            clvox_volume_destroy(&v);
            unlink(files_in("big.nii.gz"));
            left--;
            whole++;
        }
        CHECK_THAT(left == 0, "%d files left", left);
    }
    printf("# %d of 8 found the file whole\n", whole);
}

int main(void)
{
    types();
    scaling();
    written_types();
    places();
    grids_kept();
    shapes();
    pairs();
    kinds();
    strangers();
    interrupts();
    files_end();
    return check_end();
}
