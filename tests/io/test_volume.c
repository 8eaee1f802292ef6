/* SPDX-License-Identifier: Apache-2.0 */
/* Values, places and kinds of volumes in NIfTI files. */
#include <sys/stat.h>
#include <unistd.h>

#include "io/volume_file.h"
#include "volumes.h"


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

    CHECK_CASE("two forms that differ are told apart, by millimetres");
    h = files_header(1, 2, 2, 2);
    h.qform = h.sform = 1;
    set_rows(&h, 2, 2, 2, 0, 0, 0);
    place_is(&h, 2, 2, 2);
    CHECK(clv_volume_forms_gap(files_in("p.nii")) == 0);
    h.rows[0][0] = 5;
    h.rows[1][3] = -4;
    place_is(&h, 5, -2, 2);
    CHECK(fabs(clv_volume_forms_gap(files_in("p.nii")) - 5) < 1e-6);
    h.qform = 0;
    place_is(&h, 5, -2, 2);
    CHECK(clv_volume_forms_gap(files_in("p.nii")) == 0);
    CHECK(clv_volume_forms_gap(files_in("none.nii")) == 0);
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
}

int main(void)
{
    types();
    scaling();
    places();
    shapes();
    pairs();
    strangers();
    files_end();
    return check_end();
}
