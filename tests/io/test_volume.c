/* SPDX-License-Identifier: Apache-2.0 */
/* Values, places and kinds of volumes in NIfTI files. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "clvox/command/inputs.h"
#include "clvox/files.h"
#include "io/volume/file.h"
#include "volumes.h"


static void refuses_header(const files_nifti *h, const char *word)
{
    float data[64] = {0};
    assert_true(!files_nifti_write(files_in("bad.nii"), h, data, sizeof data));
    refuses(files_in("bad.nii"), CLVOX_ERROR_FORMAT, word);
}

/* ---- values ------------------------------------------------------------- */

static void type_is_read_version(void **state)
{
    const int *given = *state;
    int version = given[0], t = given[1], swapped = given[2];
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
        assert_true(!files_nifti_write(path, &h, data, size));
    } else {
        path = files_in("t.hdr");
        assert_true(!files_nifti_write(path, &h, NULL, 0) && !files_write(files_in("t.img"), data, size));
    }
    clvox_volume *v = reads(path);
    if (!v)
        return;
    assert_true(v->type == (clvox_type)t && v->frames == 1);
    for (int i = 0; i < 6; i++)
        assert_that(v->data[i] == (float)values[i], "%g instead of %g", (double)v->data[i], values[i]);
    clvox_volume_destroy(&v);
}

static void types(void)
{
    for (int version = 0; version < 3; version++)
        for (int t = 0; t < 10; t++)
            for (int swapped = 0; swapped < 2; swapped++)
                test_case_at(type_is_read_version, TEST_AT(version, t, swapped),
                             "type %d is read, version %d, %s", codes[t], version,
                             swapped ? "swapped" : "native");
}

static void slope_and_intercept_are_applied_nonsense(void **state)
{
    (void)state;
    static const struct {
        double slope, inter, a, b;
    } cases[] = {{2, 10, 12, 50},  {0, 10, 1, 20},  {NAN, 10, 1, 20},     {INFINITY, 0, 1, 20},
                 {2, NAN, 2, 40},  {1, 0.5, 1.5, 20.5}, {-0.5, 0, -0.5, -10}, {1, 0, 1, 20}};
    for (int swapped = 0; swapped < 2; swapped++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            uint8_t data[2] = {1, 20};
            files_nifti h = files_header(1, 2, 1, 1);
            h.type = 2;
            h.swapped = swapped;
            h.slope = cases[i].slope;
            h.inter = cases[i].inter;
            assert_true(!files_nifti_write(files_in("s.nii"), &h, data, 2));
            clvox_volume *v = reads(files_in("s.nii"));
            if (!v)
                continue;
            assert_that(v->data[0] == (float)cases[i].a && v->data[1] == (float)cases[i].b, "case %zu: %g %g",
                        i, (double)v->data[0], (double)v->data[1]);
            clvox_volume_destroy(&v);
        }
}

static void integers_that_were_scaled_are_written(void **state)
{
    (void)state;
    uint8_t data[2] = {1, 2};
    files_nifti h = files_header(1, 2, 1, 1);
    h.type = 2;
    h.slope = 0.25;
    assert_true(!files_nifti_write(files_in("s.nii"), &h, data, 2));
    clvox_volume *v = reads(files_in("s.nii"));
    assert_true(v && v->type == CLVOX_TYPE_FLOAT32 && v->data[0] == 0.25f);
    clvox_volume_destroy(&v);
}

static void nan_and_infinity_are_kept(void **state)
{
    (void)state;
    float strange[3] = {NAN, INFINITY, -INFINITY};
    files_nifti h = files_header(1, 3, 1, 1);
    h.slope = 3;
    assert_true(!files_nifti_write(files_in("s.nii.gz"), &h, strange, sizeof strange));
    clvox_volume *v = reads(files_in("s.nii.gz"));
    assert_true(v && isnan(v->data[0]) && v->data[1] == INFINITY && v->data[2] == -INFINITY);
    clvox_volume_destroy(&v);
}

static void scaling(void)
{
    test_case(slope_and_intercept_are_applied_nonsense,
              "slope and intercept are applied, nonsense means none");
    test_case(integers_that_were_scaled_are_written,
              "integers that were scaled are written as floats, so that nothing is lost");
    test_case(nan_and_infinity_are_kept, "NaN and infinity are kept");
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

/* Checks the position of voxel (1, 1, 1) by a header with float values 2x2x2. */
static void place_is(const files_nifti *h, double x, double y, double z)
{
    float data[8] = {0};
    double at[3] = {1, 1, 1};
    assert_true(!files_nifti_write(files_in("p.nii"), h, data, sizeof data));
    clvox_volume *v = reads(files_in("p.nii"));
    if (!v)
        return;
    clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), at, at);
    assert_that(fabs(at[0] - x) + fabs(at[1] - y) + fabs(at[2] - z) < 1e-5, "(%g %g %g), not (%g %g %g)",
                at[0], at[1], at[2], x, y, z);
    clvox_volume_destroy(&v);
}

static void sform_qform_pixdim_in_this_order_version(void **state)
{
    const int *given = *state;
    int version = given[0], swapped = given[1];
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

static void edges_that_are_missing_or_absurd_are_1(void **state)
{
    (void)state;
    files_nifti h = files_header(1, 2, 2, 2);
    h.pixdim[1] = -2;
    h.pixdim[2] = 0;
    h.pixdim[3] = NAN;
    place_is(&h, 2, 1, 1);
    h.qform = 1;
    place_is(&h, 2, 1, 1);
}

static void metres_and_micrometres_become_millimetres(void **state)
{
    (void)state;
    files_nifti h = files_header(1, 2, 2, 2);
    h.units = 1;
    h.pixdim[1] = 0.002;
    place_is(&h, 2, 2000, 2000);
    h.units = 3;
    h.sform = 1;
    set_rows(&h, 500, 500, 500, 1000, 0, 0);
    place_is(&h, 1.5, 0.5, 0.5);
}

static void an_sform_of_zeros_gives_way_to_a_qform(void **state)
{
    (void)state;
    files_nifti h = files_header(1, 2, 2, 2);
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

static void two_forms_that_differ_are_told_apart(void **state)
{
    (void)state;
    files_nifti h = files_header(1, 2, 2, 2);
    h.qform = h.sform = 1;
    set_rows(&h, 2, 2, 2, 0, 0, 0);
    place_is(&h, 2, 2, 2);
    clvox_input_facts facts;
    assert_ok(clvox_input_look(files_in("p.nii"), &facts));
    assert_true(facts.forms_gap == 0 && !facts.unplaced);
    h.rows[0][0] = 5;
    h.rows[1][3] = -4;
    place_is(&h, 5, -2, 2);
    assert_ok(clvox_input_look(files_in("p.nii"), &facts));
    assert_true(fabs(facts.forms_gap - 5) < 1e-6);
    h.qform = 0;
    place_is(&h, 5, -2, 2);
    assert_ok(clvox_input_look(files_in("p.nii"), &facts));
    assert_true(facts.forms_gap == 0 && !facts.unplaced);
    assert_int_equal(clvox_input_look(files_in("none.nii"), &facts), CLVOX_ERROR_FILE);
    assert_true(facts.forms_gap == 0);
    h.sform = 0;
    place_is(&h, 2, 2, 2);
    assert_ok(clvox_input_look(files_in("p.nii"), &facts));
    assert_true(facts.forms_gap == 0 && facts.unplaced);
}

static void how_axes_run(void **state)
{
    (void)state;
    files_nifti h = files_header(1, 2, 2, 2);
    clvox_grid grid, ras;
    char letters[4];
    double oblique, skew;
    h.sform = 1;
    set_rows(&h, 0, 0, -3, 5, 0, 0);
    h.rows[0][1] = -2; /* j to the left, i to the front, sheared towards j */
    h.rows[1][0] = 1;
    h.rows[0][0] = .1;
    place_is(&h, 5 - 2 + .1, 1, -3);
    assert_ok(clvox_grid_read(files_in("p.nii"), &grid));
    clvox_grid_axes(&grid, letters, &oblique, &skew);
    assert_string_equal(letters, "ALI");
    const double degrees = atan(.1) * 57.29577951308232;
    assert_that(fabs(oblique - degrees) < 1e-4 && fabs(skew - degrees) < 1e-4, "%g %g", oblique, skew);
    clvox_grid_canonical(&grid, &ras);
    clvox_grid_axes(&ras, letters, NULL, NULL);
    assert_string_equal(letters, "RAS");
    assert_true(fabs(ras.to_ras[0][0] - 2) < 1e-6 && fabs(ras.to_ras[1][1] - 1) < 1e-6);
    assert_int_equal(clvox_grid_read(files_in("none.nii"), &grid), CLVOX_ERROR_FILE);
}

static void places(void)
{
    for (int version = 1; version < 3; version++)
        for (int swapped = 0; swapped < 2; swapped++)
            test_case_at(sform_qform_pixdim_in_this_order_version, TEST_AT(version, swapped),
                         "sform, qform, pixdim in this order, version %d, %s", version,
                         swapped ? "swapped" : "native");
    test_case(edges_that_are_missing_or_absurd_are_1, "edges that are missing or absurd are 1 or positive");
    test_case(metres_and_micrometres_become_millimetres, "metres and micrometres become millimetres");
    test_case(an_sform_of_zeros_gives_way_to_a_qform,
              "an sform of zeros gives way to a qform, other nonsense is refused");
    test_case(how_axes_run, "how the axes of a grid run");
    test_case(two_forms_that_differ_are_told_apart, "two forms that differ are told apart, by millimetres");
}

/* ---- shapes ------------------------------------------------------------- */

static void one_to_seven_dimensions(void **state)
{
    (void)state;
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
        assert_true(!files_nifti_write(files_in("d.nii"), &h, data, (size_t)values * 4));
        clvox_volume *v = reads(files_in("d.nii"));
        if (!v)
            continue;
        assert_true((int)clvox_grid_voxels(&v->grid) * v->frames == values &&
                    v->data[values - 1] == (float)(values - 1));
        assert_true(v->grid.size[0] == 2 && v->grid.size[1] == (n > 1 ? 3 : 1) &&
                    v->grid.size[2] == (n > 2 ? 2 : 1));
        clvox_volume_destroy(&v);
    }
}

/* State that cases hand on. */
static struct {
    files_nifti h;
    float data[8];
} shared;

static void frames_of_0_are_one(void **state)
{
    (void)state;
    const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int version = 1; version < 3; version++)
        for (int zero = 4; zero < 8; zero++) {
            files_nifti h = files_header(version, 2, 2, 2);
            h.dim[0] = 7;
            for (int i = 4; i < 8; i++)
                h.dim[i] = i < zero;
            assert_true(!files_nifti_write(files_in("z.nii"), &h, data, sizeof data));
            clvox_volume *v = reads(files_in("z.nii"));
            assert_true(v && v->frames == 1 && v->grid.size[2] == 2 && v->data[7] == 8);
            clvox_volume_destroy(&v);
            h.dim[zero] = -1;
            refuses_header(&h, "damaged");
        }
}

/* The last number of voxels that is taken fails for want of bytes, the next one for itself. */
static void more_voxels_than_are_counted_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t size[3];
        const char *says;
    } of[] = {{{32768, 21845, 1}, "cut short"},    {{715827882, 1, 1}, "cut short"},
              {{715827883, 1, 1}, "2^31 / 3"},     {{30000, 30000, 1}, "2^31 / 3"},
              {{895, 895, 895}, "2^31 / 3"},       {{894, 894, 894}, "cut short"},
              {{1, 2147483647, 65536}, "2^31 / 3"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        files_nifti h = files_header(2, 1, 1, 1);
        for (int k = 0; k < 3; k++)
            h.dim[k + 1] = of[i].size[k];
        refuses_header(&h, of[i].says);
    }
}

static void impossible_dimensions_are_refused(void **state)
{
    (void)state;
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
        refuses_header(&h, "2^31 / 3");
        h.dim[0] = 7;
        for (int i = 4; i < 8; i++)
            h.dim[i] = 32767;
        refuses_header(&h, "exceed");
    }
    shared.h = files_header(2, 1, 1, 1);
    shared.h.dim[1] = INT64_MAX;
    refuses_header(&shared.h, "exceed");
    shared.h.dim[1] = INT64_MIN;
    refuses_header(&shared.h, "damaged");
    shared.h.dim[1] = 2147483648;
    refuses_header(&shared.h, "exceed");
}

static void where_the_data_start(void **state)
{
    (void)state;
    memcpy(shared.data, (float[8]){1, 2, 3, 4, 5, 6, 7, 8}, sizeof shared.data);
    static const double offsets[] = {0, 100, 348, 352, 400, 352.5, 4000};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        size_t at = offsets[i] < 348 ? 352 : (size_t)offsets[i];
        shared.h = files_header(1, 2, 2, 2);
        shared.h.offset = offsets[i];
        uint8_t bytes[4100] = {0};
        files_header_bytes(&shared.h, bytes);
        memcpy(bytes + at, shared.data, sizeof shared.data);
        for (int packed = 0; packed < 2; packed++) {
            const char *path = files_in(packed ? "o.nii.gz" : "o.nii");
            assert_true(!(packed ? files_write_gzip : files_write)(path, bytes, at + sizeof shared.data));
            clvox_volume *v = reads(path);
            assert_true(v && v->data[0] == 1 && v->data[7] == 8);
            clvox_volume_destroy(&v);
        }
    }
    static const double nowhere[] = {NAN, -1, INFINITY, 1e30, -1e30};
    for (int i = 0; i < 5; i++) {
        shared.h = files_header(1, 2, 2, 2);
        shared.h.offset = nowhere[i];
        refuses_header(&shared.h, "damaged");
    }
    shared.h.offset = 1e9;
    refuses_header(&shared.h, "cut short");
    shared.h.offset = 4e18;
    refuses_header(&shared.h, "cut short");
}

static void time_steps_are_seconds(void **state)
{
    (void)state;
    static const struct {
        int units;
        double step, seconds;
    } times[] = {{10, 2, 2}, {18, 2000, 2}, {26, 2e6, 2}, {2, 3, 3}, {34, 3, 0}, {10, NAN, 0}, {10, -1, 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        shared.h = files_header(1, 1, 1, 1);
        shared.h.dim[0] = 4;
        shared.h.dim[4] = 2;
        shared.h.units = times[i].units;
        shared.h.pixdim[4] = times[i].step;
        assert_true(!files_nifti_write(files_in("d.nii"), &shared.h, shared.data, 8));
        clvox_volume *v = reads(files_in("d.nii"));
        assert_that(v && fabs(v->frame_seconds - times[i].seconds) < 1e-6, "%zu", i);
        if (v)
            assert_true(clvox_volume_write(v, files_in("d2.nii")) == 0);
        clvox_volume_destroy(&v);
        v = reads(files_in("d2.nii"));
        assert_true(v && fabs(v->frame_seconds - times[i].seconds) < 1e-6);
        clvox_volume_destroy(&v);
    }
}

static void shapes(void)
{
    test_case(one_to_seven_dimensions, "one to seven dimensions");
    test_case(frames_of_0_are_one, "dimensions of 0 behind the third are 1");
    test_case(more_voxels_than_are_counted_are_refused, "more voxels than 2^31 / 3 are refused");
    test_case(impossible_dimensions_are_refused, "impossible dimensions are refused");
    test_case(where_the_data_start, "where the data start");
    test_case(time_steps_are_seconds, "time steps are seconds");
}

/* ---- pairs, Analyze ----------------------------------------------------- */

static void a_header_and_its_image_either_compressed(void **state)
{
    (void)state;
    memcpy(shared.data, (float[8]){1, 2, 3, 4, 5, 6, 7, 8}, sizeof shared.data);
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
            memcpy(image + 16, shared.data, sizeof shared.data);
            const char *header = files_in(names[i][0]), *values = files_in(names[i][1]);
            assert_true(!files_nifti_write(header, &h, NULL, 0));
            assert_true(
                !(strstr(names[i][1], ".gz") ? files_write_gzip : files_write)(values, image, sizeof image));
            for (int which = 0; which < 2; which++) {
                clvox_volume *v = reads(which ? header : values);
                assert_true(v && v->data[7] == 8 && v->grid.to_ras[0][0] == 2 && v->grid.to_ras[0][3] == 0);
                clvox_volume_destroy(&v);
            }
            unlink(header);
            refuses(values, CLVOX_ERROR_FILE, "missing");
            assert_true(!files_nifti_write(header, &h, NULL, 0));
            unlink(values);
            refuses(header, CLVOX_ERROR_FILE, "missing");
            unlink(header);
        }
}

static void a_header_alone_says_that_the_data(void **state)
{
    (void)state;
    files_nifti h = files_header(1, 2, 2, 2);
    h.magic = "ni1";
    assert_true(!files_nifti_write(files_in("alone.nii"), &h, shared.data, sizeof shared.data));
    refuses(files_in("alone.nii"), CLVOX_ERROR_FORMAT, ".img");
}

static void pairs(void)
{
    test_case(a_header_and_its_image_either_compressed,
              "a header and its image, either compressed, either named, in capitals too");
    test_case(a_header_alone_says_that_the_data, "a header alone says that the data are elsewhere");
}

/* ---- what is refused ---------------------------------------------------- */

static void types_without_one_real_number_a_voxel(void **state)
{
    (void)state;
    static const int bad[] = {1, 32, 1536, 1792, 2048, 0, 7, 99, -1};
    files_nifti wide = files_header(1, 1, 1, 1);
    wide.type = 1536;
    refuses_header(&wide, "float128");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        files_nifti h = files_header(1, 1, 1, 1);
        h.type = bad[i];
        refuses_header(&h, i < 5 ? "convert it to float64" : "unknown");
    }
}

static void files_of_other_kinds_are_named(void **state)
{
    (void)state;
    uint8_t bytes[1000] = {0};
    assert_true(!files_write(files_in("e.nii"), bytes, 0));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "empty");
    assert_true(!files_write(files_in("e.nii"), bytes, 1));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "cut short");
    assert_true(!files_write(files_in("e.nii"), bytes, 1000));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "not a NIfTI");
    assert_true(!files_write(files_in("e.mgz"), bytes, 1000));
    refuses(files_in("e.mgz"), CLVOX_ERROR_FORMAT, "not a FreeSurfer");
    assert_true(!files_write(files_in("e.nrrd"), "NRRD0004\n", 9));
    refuses(files_in("e.nrrd"), CLVOX_ERROR_FORMAT, "does not end");
    assert_true(!files_write(files_in("e.nia"), "<nifti_image nx=4", 17));
    refuses(files_in("e.nia"), CLVOX_ERROR_FORMAT, "ASCII");
    memcpy(bytes + 128, "DICM", 4);
    assert_true(!files_write(files_in("e.dcm"), bytes, 1000));
    refuses(files_in("e.dcm"), CLVOX_ERROR_FORMAT, "dcm2niix");
    files_nifti h = files_header(2, 1, 1, 1);
    files_header_bytes(&h, bytes);
    bytes[4] = 'x';
    assert_true(!files_write(files_in("e.nii"), bytes, 1000));
    refuses(files_in("e.nii"), CLVOX_ERROR_FORMAT, "not a NIfTI");
    refuses(files_in("none.nii"), CLVOX_ERROR_FILE, "No such file");
    refuses(files_in(""), CLVOX_ERROR_FILE, "directory");
    assert_true(!mkfifo(files_in("pipe.nii"), 0600));
    refuses(files_in("pipe.nii"), CLVOX_ERROR_FILE, "pipe");
}

static void strangers(void)
{
    test_case(types_without_one_real_number_a_voxel, "types without one real number a voxel are refused");
    test_case(files_of_other_kinds_are_named, "files of other kinds are named");
}

/* ---- facts for logs --------------------------------------------------------- */

static uint32_t crc_of(const char *path)
{
    size_t size;
    uint8_t *bytes = files_read(path, &size);
    const uint32_t crc = (uint32_t)crc32(0, bytes, (uInt)size);
    free(bytes);
    return crc;
}

/* Changes the last byte and sets the file's time back (or on), so that a second read alone can tell. */
static void change_secretly(const char *path, long later)
{
    struct stat info;
    FILE *file = fopen(path, "r+b");
    assert_true(file && !stat(path, &info) && !fseek(file, -1, SEEK_END));
    fputc(77, file);
    fclose(file);
    const struct timespec times[2] = {info.st_atim, {info.st_mtim.tv_sec + later, info.st_mtim.tv_nsec}};
    assert_true(!utimensat(AT_FDCWD, path, times, 0));
}

static void a_file_is_not_read_again_for_its_log(void **state)
{
    (void)state;
    enum { N = 70, VALUES = N * N * N + 3 }; /* more than a piece, and values that nobody asks for */
    static const char *const names[] = {"c.nii", "c.nii.gz", "c.txt"};
    float *data = calloc(VALUES, sizeof *data);
    const files_nifti h = files_header(1, N, N, N);
    clvox_input_facts facts;
    for (uint32_t i = 0, x = 1; i < VALUES; i++, x = x * 1664525 + 1013904223)
        data[i] = (float)x;
    for (int k = 0; k < 3; k++) {
        const char *path = files_in(names[k]);
        char *text = NULL;
        if (k < 2) {
            assert_true(!files_nifti_write(path, &h, data, VALUES * sizeof *data));
            clvox_volume *v = reads(path);
            clvox_volume_destroy(&v);
        } else {
            assert_true(!files_write(path, "1 0 0", 5));
            assert_ok(clvox_file_read(path, 100, &text, NULL));
            clvox_text_destroy(&text);
        }
        const uint32_t crc = crc_of(path);
        assert_ok(clvox_input_look(path, &facts));
        assert_that(facts.crc == crc, "%s: %08x, not %08x", names[k], facts.crc, crc);
        assert_true(facts.unplaced == (k < 2));
        change_secretly(path, 0);
        assert_true(crc_of(path) != crc);
        assert_ok(clvox_input_look(path, &facts));
        assert_that(facts.crc == crc, "%s was read again", names[k]);
        change_secretly(path, 1); /* by its time another file */
        assert_ok(clvox_input_look(path, &facts));
        assert_true(facts.crc == crc_of(path));
    }
    free(data);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    types();
    scaling();
    places();
    shapes();
    pairs();
    strangers();
    test_case(a_file_is_not_read_again_for_its_log, "a file is not read again for its log");
    return test_run("volume", tear_down);
}
