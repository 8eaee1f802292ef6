/* SPDX-License-Identifier: Apache-2.0 */
/* Every surface format there and back, real files, and what is refused. */
#include "clvox/surface.h"

#include <locale.h>
#include <unistd.h>

#include "check.h"
#include "files.h"
#include "io/surface/file.h"

static clvox_surface *reads(const char *path)
{
    clvox_surface *s = NULL;
    int status = clvox_surface_read(path, &s);
    assert_that(status == 0 && s, "%s", clvox_message());
    return s;
}

static void refuses(const char *name, const void *bytes, size_t size, const char *word)
{
    const char *path = files_in(name);
    clvox_surface *s = (clvox_surface *)1;
    assert_true(!files_write(path, bytes, size));
    int status = clvox_surface_read(path, &s);
    assert_that(status < 0 && !s, "%s: %d", name, status);
    assert_that(strstr(clvox_message(), word) && strstr(clvox_message(), path), "\"%s\" lacks \"%s\"",
                clvox_message(), word);
}

/* A strip of triangles, closed or not, with coordinates that float32 holds. */
static clvox_surface *some(size_t vertices, size_t triangles)
{
    clvox_surface *s = NULL;
    assert_ok(clvox_surface_create(vertices, triangles, &s));
    for (size_t i = 0; i < 3 * vertices; i++)
        s->points[i] = (double)(float)(100 * sin((double)i * 0.37) - (double)i / 7);
    for (size_t i = 0; i < 3 * triangles; i++)
        s->corners[i] = (int32_t)((i / 3 + i % 3) % vertices);
    return s;
}

/* As float32, which is what files state, in decimals or in bytes. */
static double gap(const clvox_surface *a, const clvox_surface *b)
{
    double most = 0;
    for (size_t i = 0; i < 3 * a->vertices; i++)
        most = fmax(most, fabs((double)((float)a->points[i] - (float)b->points[i])));
    return most;
}

static void same(const clvox_surface *a, const clvox_surface *b)
{
    assert_that(a->vertices == b->vertices && a->triangles == b->triangles, "%zu %zu, not %zu %zu",
                a->vertices, a->triangles, b->vertices, b->triangles);
    if (a->vertices != b->vertices || a->triangles != b->triangles)
        return;
    assert_that(gap(a, b) == 0, "vertices differ by %g", gap(a, b));
    assert_memory_equal(a->corners, b->corners, 3 * a->triangles * sizeof *a->corners);
}

/* The points of every corner, for STL, which keeps nothing else. */
static void same_corners(const clvox_surface *a, const clvox_surface *b)
{
    double most = 0;
    assert_true(a->triangles == b->triangles);
    for (size_t i = 0; a->triangles == b->triangles && i < 3 * a->triangles; i++)
        for (int k = 0; k < 3; k++)
            most = fmax(most, fabs(a->points[3 * a->corners[i] + k] - b->points[3 * b->corners[i] + k]));
    assert_that(most == 0, "corners differ by %g", most);
}

static const char *const names[] = {"a.surf.gii", "a.vtk",    "a.ply", "a.obj",
                                    "a.byu",      "lh.smoothwm", "a.fs",  "A.STL"};

static const size_t sizes[][2] = {{0, 0}, {3, 1}, {5, 0}, {4, 4}, {251, 499}, {10007, 20011}};

static void is_read_as_it_was_written(void **state)
{
    const int *given = *state;
    size_t f = (size_t)given[0];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        clvox_surface *s = some(sizes[i][0], sizes[i][1]);
        assert_that(!clvox_surface_write(s, files_in(names[f])), "%s", clvox_message());
        clvox_surface *back = reads(files_in(names[f]));
        if (back && strstr(names[f], "STL"))
            same_corners(s, back);
        else if (back)
            same(back, s);
        clvox_surface_destroy(&s);
        clvox_surface_destroy(&back);
    }
}

static void no_temporary_file_is_left(void **state)
{
    (void)state;
    clvox_surface *s = some(3, 2);
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        assert_ok(clvox_surface_write(s, files_in(names[f])));
    clvox_surface_destroy(&s);
    assert_that(files_count() == (int)(sizeof names / sizeof *names), "%d", files_count());
}

static void round_trips(void)
{
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        test_case_at(is_read_as_it_was_written, TEST_AT((int)f), "%s is read as it was written", names[f]);
    test_case(no_temporary_file_is_left, "no temporary file is left behind");
}

static void compressed_files_are_read_whatever(void **state)
{
    (void)state;
    clvox_surface *s = some(251, 499);
    for (size_t f = 0; f + 1 < sizeof names / sizeof *names; f++) {
        char name[64];
        size_t size;
        assert_ok(clvox_surface_write(s, files_in(names[f])));
        uint8_t *bytes = files_read(files_in(names[f]), &size);
        snprintf(name, sizeof name, "%s.gz", names[f]);
        assert_true(!files_write_gzip(files_in(name), bytes, size));
        clvox_surface *back = reads(files_in(name));
        if (back)
            same(back, s);
        clvox_surface_destroy(&back);
        free(bytes);
    }
    clvox_surface_destroy(&s);
}

static void members_one_after_the_other_a_large(void **state)
{
    (void)state;
    enum { LARGE = 3 << 20 };
    uint8_t *text = malloc(LARGE), *packed = malloc(LARGE);
    memset(text, ' ', LARGE);
    memcpy(text, "v 0 0 0\nv 1 0 0\nv 0 1 0\n", 24);
    memcpy(text + LARGE - 8, "\nf 1 2 3", 8);
    size_t first = files_gzip_member(text, 1000, packed, LARGE);
    size_t all = first + files_gzip_member(text + 1000, LARGE - 1000, packed + first, LARGE - first);
    assert_true(!files_write(files_in("m.obj.gz"), packed, all));
    clvox_surface *s = reads(files_in("m.obj.gz"));
    assert_true(s && s->vertices == 3 && s->triangles == 1);
    clvox_surface_destroy(&s);
    refuses("cut.obj.gz", packed, all - 9, "cut short");
    packed[first + 40] ^= 0x55;
    refuses("damaged.obj.gz", packed, all, "compressed data");
    free(text);
    free(packed);
}

static void compressed(void)
{
    test_case(compressed_files_are_read_whatever, "compressed files are read, whatever they hold");
    test_case(members_one_after_the_other_a_large,
              "members one after the other, a large expansion, damage and a cut in compressed files");
}

static void content_goes_before_the_name_names_without(void **state)
{
    (void)state;
    clvox_surface *s = some(3, 1);
    assert_ok(clvox_surface_write(s, files_in("x.ply")));
    assert_true(!rename(files_in("x.ply"), files_in("x.vtk")));
    clvox_surface *back = reads(files_in("x.vtk"));
    if (back)
        same(back, s);
    clvox_surface_destroy(&back);
    assert_ok(clvox_surface_write(s, files_in("rh.pial")));
    clvox_surface_destroy(&s);
    assert_true(!rename(files_in("rh.pial"), files_in("bare")));
    assert_true(clvox_surface_is_file(files_in("bare")) && clvox_surface_is_file("gone.gii.gz"));
    assert_true(!clvox_surface_is_file(files_in("none")) && !clvox_surface_is_file("/") &&
                !clvox_surface_is_file("a.nii.gz") && !clvox_surface_is_file("gii"));
    refuses("letter.txt", "Dear Sir", 8, "is no surface file");
    refuses("letter.obj", "P 0.3 0.3 0.4 10 1 81924 1\n1 2 3\n", 33, "MNI");
    refuses("nothing.ply", "", 0, "is empty");
    clvox_surface *none = NULL;
    assert_true(clvox_surface_read(files_in("gone.ply"), &none) == CLVOX_ERROR_FILE && !none);
    assert_true(clvox_surface_read(files_in(""), &none) == CLVOX_ERROR_FILE && !none);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    clvox_surface *s = some(3, 1);
    int before = files_count();
    assert_true(clvox_surface_write(s, files_in("y.nii")) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), "y.nii"));
    assert_int_equal(clvox_surface_write(s, files_in("y.gii.gz")), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_surface_write(s, files_in("lh.y.nii.gz")), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_surface_write(s, files_in("lh.smoothwm.gz")), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_surface_write(s, files_in("no/y.gii")), CLVOX_ERROR_FILE);
    s->points[4] = 1e300;
    assert_true(clvox_surface_write(s, files_in("y.ply")) == CLVOX_ERROR_DATA &&
                strstr(clvox_message(), "vertex 1"));
    s->points[4] = NAN;
    assert_int_equal(clvox_surface_write(s, files_in("y.ply")), CLVOX_ERROR_DATA);
    s->points[4] = 0;
    s->corners[2] = 3;
    assert_int_equal(clvox_surface_write(s, files_in("y.gii")), CLVOX_ERROR_ARGUMENT);
    s->corners[2] = -1;
    assert_int_equal(clvox_surface_write(s, files_in("y.stl")), CLVOX_ERROR_ARGUMENT);
    assert_true(files_count() == before);
    clvox_surface_destroy(&s);
}

static void numbers_have_a_point_whatever_the_language(void **state)
{
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "de_DE.utf8") &&
        !setlocale(LC_ALL, "fr_FR.utf8"))
        test_skip("no language with a comma is installed");
    clvox_surface *s = some(7, 5);
    for (int f = 0; f < 6; f++) {
        assert_true(!clvox_surface_write(s, files_in(names[f])));
        clvox_surface *back = reads(files_in(names[f]));
        if (back)
            same(back, s);
        clvox_surface_destroy(&back);
    }
    setlocale(LC_ALL, "C");
    clvox_surface_destroy(&s);
}

static void told_apart(void)
{
    test_case(content_goes_before_the_name_names_without,
              "content goes before the name; names without content are no surfaces");
    test_case(what_cannot_be_written_is_refused, "what cannot be written is refused and leaves no file");
    test_case(numbers_have_a_point_whatever_the_language, "numbers have a point whatever the language");
}

/* Every prefix of every format, and one byte changed at each place, ends without harm. */
static clvox_surface *whole;

static int cut_anywhere_set_up(void **state)
{
    (void)state;
    whole = some(4, 3);
    return 0;
}

static void cut_or_changed_anywhere_does_no_harm(void **state)
{
    const int *given = *state;
    size_t f = (size_t)given[0];
    size_t size, read_whole = 0;
    assert_ok(clvox_surface_write(whole, files_in(names[f])));
    uint8_t *bytes = files_read(files_in(names[f]), &size);
    const char *path = files_in(strstr(names[f], "lh.") ? "lh.cut" : names[f]);
    for (size_t cut = 0; cut < size; cut++) {
        clvox_surface *back = NULL;
        unlink(path); /* some file systems wait for the disk when a file is replaced */
        assert_ok(files_write(path, bytes, cut));
        int status = clvox_surface_read(path, &back);
        assert_true((status < 0) == !back);
        read_whole += back && back->triangles == whole->triangles;
        clvox_surface_destroy(&back);
        bytes[cut] ^= 0x81;
        unlink(path);
        assert_ok(files_write(path, bytes, size));
        status = clvox_surface_read(path, &back);
        assert_true((status < 0) == !back);
        clvox_surface_destroy(&back);
        bytes[cut] ^= 0x81;
    }
    /* The last number of a text may lose digits; the geometry behind FreeSurfer's triangles all. */
    size_t most = strstr(names[f], "lh.") || strstr(names[f], ".fs") ? 500 : 4;
    assert_that(read_whole < most, "%zu cuts are not seen", read_whole);
    free(bytes);
}

static int cut_anywhere_tear_down(void **state)
{
    (void)state;
    clvox_surface_destroy(&whole);
    return 0;
}

static void cut_anywhere(void)
{
    test_set_up(cut_anywhere_set_up);
    for (size_t f = 0; f < sizeof names / sizeof *names; f++)
        test_case_at(cut_or_changed_anywhere_does_no_harm, TEST_AT((int)f),
                     "%s cut or changed anywhere does no harm", names[f]);
    test_tear_down(cut_anywhere_tear_down);
}

static const char *const bodies[] = {"bert_lh_hippocampus", "bert_lh_wm", "bert_rh_hippocampus",
                                     "swm_lh_hippocampus", "swm_rh_hippocampus"};
static const struct {
    const char *name;
    size_t vertices, triangles;
} others[] = {{"surf_fsaverage5/pial_left.gii.gz", 10242, 20480},
              {"surf_fsaverage5/sphere_right.gii.gz", 10242, 20480},
              {"surf_byu_hipp_amyg/amygdala_01_surface.byu", 347, 690},
              {"surf_byu_hipp_amyg/hippocampus_05_surface.byu", 767, 1530},
              {"surf_deformetrica/AtlasConstruction2/hippo1.vtk", 1195, 2386},
              {"surf_deformetrica/AtlasConstruction2/amyg_prototype.vtk", 42, 80}};

static void is_the_same_as_ply_and_as_gifti(void **state)
{
    const int *given = *state;
    int i = given[0];
    clvox_surface *a = NULL, *b = NULL;
    char name[128];
    snprintf(name, sizeof name, "surf_derived/%s.ply", bodies[i]);
    const char *path = files_data(name);
    if (!path)
        test_skip("no ../shared/data");
    a = reads(path);
    snprintf(name, sizeof name, "surf_derived/%s.surf.gii", bodies[i]);
    b = reads(files_data(name));
    if (a && b)
        same(a, b);
    assert_true(a && a->triangles > 6000);
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
}

static void case_(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    const char *path = files_data(others[i].name);
    if (!path)
        test_skip("no ../shared/data");
    clvox_surface *s = reads(path);
    assert_true(s && s->vertices == others[i].vertices && s->triangles == others[i].triangles);
    /* Closed: every edge once in each direction, so that the sum over edges of any odd function is 0. */
    double sum = 0;
    for (size_t t = 0; s && t < s->triangles; t++)
        for (int k = 0; k < 3; k++) {
            double a = s->corners[3 * t + (size_t)k], b = s->corners[3 * t + (size_t)(k + 1) % 3];
            sum += (a - b) * (a * b + 17 * (a + b));
        }
    assert_that(sum == 0, "%g", sum);
    clvox_surface_destroy(&s);
}

static void real_files(void)
{
    for (int i = 0; i < 5; i++)
        test_case_at(is_the_same_as_ply_and_as_gifti, TEST_AT(i), "%s is the same as PLY and as GIFTI",
                     bodies[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        test_case_at(case_, TEST_AT((int)i), "%s", others[i].name);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    test_after_each(files_clear);
    round_trips();
    compressed();
    told_apart();
    cut_anywhere();
    real_files();
    return test_run("surface", tear_down);
}
