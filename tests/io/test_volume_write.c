/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes that are written: what is in the file, and what is left when
 * writing fails or is interrupted. */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "clvox/threads.h"
#include "interrupts.h"
#include "volumes.h"

static const float in[] = {0, 1.4f, -1.6f, 2.5f, -1e30f, 1e30f, NAN, 77, -INFINITY, INFINITY, 200.7f};

static void type_is_written_rounded_and_clamped(void **state)
{
    const int *given = *state;
    int t = given[0], packed = given[1];
    clvox_volume *v = made(11, 1, 1, 1, CLVOX_KIND_SCALAR), *w;
    memcpy(v->data, in, sizeof in);
    v->type = (clvox_type)t;
    const char *path = files_in(packed ? "w.nii.gz" : "w.nii");
    assert_true(clvox_volume_write(v, path) == 0);
    w = reads(path);
    for (int i = 0; w && i < 11; i++) {
        double x = (double)in[i];
        if (t > 1) {
            x = isnan(x) ? 0 : rint(x);
            double high = codes[t] == 1024 ? 0x1p63 : codes[t] == 1280 ? 0x1p64 : highs[t];
            x = x < lows[t] ? lows[t] : x > high ? high : x;
        }
        assert_that((isnan(x) && isnan(w->data[i])) || w->data[i] == (float)x, "%g became %g", (double)in[i],
                    (double)w->data[i]);
    }
    assert_true(w && w->type == (clvox_type)t);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&w);
}

/* Checks the values read back that were stored for an image with the first six of them. */
static void stored_as(clvox_output output, clvox_type disk, double tolerance, const float values[6], const float want[6])
{
    clvox_volume *v = made(6, 1, 1, 1, CLVOX_KIND_SCALAR), *source = made(6, 1, 1, 1, CLVOX_KIND_SCALAR), *w;
    memcpy(source->data, values, 6 * sizeof *values);
    memcpy(v->data, values, 6 * sizeof *values);
    source->stored = CLVOX_TYPE_UINT16;
    v->data[5] *= 3; /* as cubic interpolation may go beyond the image's values */
    assert_true(clvox_volume_set_output(v, source, NAN, output) == 0);
    const char *path = files_in("stored.nii");
    assert_true(clvox_volume_write(v, path) == 0);
    w = reads(path);
    assert_true(w && w->stored == disk);
    for (int i = 0; w && i < 6; i++)
        assert_that(fabs((double)w->data[i] - (double)want[i]) <= tolerance, "output %d: %g became %g, not %g", (int)output,
                    (double)v->data[i], (double)w->data[i], (double)want[i]);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&source);
    clvox_volume_destroy(&w);
}

static void output_types(void **state)
{
    (void)state;
    const float whole[6] = {0, 1, 2, 3, 7, 255}, cut[6] = {0, 1, 2, 3, 7, 765};
    const float share[6] = {0, 0.25f, 0.5f, 0.125f, NAN, 1}, ends[6] = {0, 0.25f, 0.5f, 0.125f, 0, 1};
    const float both[6] = {0, -300, 2, 0.5f, 0, 1000};
    const float both_cut[6] = {0, -300, 2, 0.5f, 0, 1000}, both_free[6] = {0, -300, 2, 0.5f, 0, 3000};
    /* As they are, rounded and ending where the type ends. */
    stored_as(CLVOX_OUTPUT_UCHAR, CLVOX_TYPE_UINT8, 0, whole, whole);
    stored_as(CLVOX_OUTPUT_SHORT, CLVOX_TYPE_INT16, 0, whole, cut);
    stored_as(CLVOX_OUTPUT_INPUT, CLVOX_TYPE_UINT16, 0, whole, cut);
    stored_as(CLVOX_OUTPUT_INT, CLVOX_TYPE_INT32, 0, whole, cut);
    stored_as(CLVOX_OUTPUT_FLOAT, CLVOX_TYPE_FLOAT32, 0, both, both_free);
    stored_as(CLVOX_OUTPUT_DOUBLE, CLVOX_TYPE_FLOAT64, 0, both, both_free);
    /* By a slope: within half a step of the type, and what lies beyond the image's values ends at them. */
    stored_as(CLVOX_OUTPUT_UCHAR, CLVOX_TYPE_UINT8, 0.51 / 255, share, ends);
    stored_as(CLVOX_OUTPUT_USHORT, CLVOX_TYPE_UINT16, 0.51 / 65535, share, ends);
    stored_as(CLVOX_OUTPUT_UCHAR, CLVOX_TYPE_UINT8, 1.01 * 1300 / 254, both, both_cut);
    stored_as(CLVOX_OUTPUT_SHORT, CLVOX_TYPE_INT16, 0.51 * 1000 / 32767, both, both_cut);
    clvox_volume *v = made(6, 1, 1, 1, CLVOX_KIND_SCALAR);
    memcpy(v->data, share, sizeof share);
    assert_true(clvox_volume_set_output(v, v, 0, CLVOX_OUTPUT_SHORT) == 0);
    assert_true(clvox_volume_write(v, files_in("stored.mgh")) == CLVOX_ERROR_ARGUMENT); /* no slope there */
    v->kind = CLVOX_KIND_LABEL;
    v->type = CLVOX_TYPE_INT64;
    v->slope = 0;
    assert_true(clvox_volume_set_output(v, v, 0, CLVOX_OUTPUT_UCHAR) == 0 && v->type == CLVOX_TYPE_INT64);
    clvox_volume_destroy(&v);
}

static void written_types(void)
{
    for (int t = 0; t < 10; t++)
        for (int packed = 0; packed < 2; packed++)
            test_case_at(type_is_written_rounded_and_clamped, TEST_AT(t, packed),
                         "type %d is written, rounded and clamped%s", codes[t], packed ? ", compressed" : "");
}

static void grid_survives_with_a_qform(void **state)
{
    const int *given = *state;
    int i = given[0];
    const double c = cos(0.3), s = sin(0.3);
    const double matrices[5][4][4] = {
        {{2, 0, 0, -90}, {0, 2, 0, -126}, {0, 0, 2, -72}, {0, 0, 0, 1}},
        {{-1.5 * c, 2 * s, 0, 90}, {1.5 * s, 2 * c, 0, -100}, {0, 0, 1, 7}, {0, 0, 0, 1}},
        {{0, 0, 1.5, 90}, {-2, 0, 0, -100}, {0, 1, 0, 7}, {0, 0, 0, 1}},
        {{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}},
        {{1, 0.2, 0, 5}, {0, 1, 0.1, 6}, {0, 0, 1, 7}, {0, 0, 0, 1}}};
    clvox_volume *v = made(5, 4, 3, 1, CLVOX_KIND_SCALAR), *w;
    clv_matrix_copy(matrices[i], v->grid.to_ras);
    assert_true(clvox_volume_write(v, files_in("g.nii")) == 0);
    w = reads(files_in("g.nii"));
    assert_true(w && clvox_grid_equal(&v->grid, &w->grid));
    clvox_volume_destroy(&w);
    size_t size;
    uint8_t *bytes = files_read(files_in("g.nii"), &size);
    assert_true(size == 352 + 240);
    assert_true((bytes[252] == 1) == (i < 4) && bytes[254] == 1 && bytes[123] == 10);
    if (i < 4) {
        bytes[254] = 0; /* the qform alone says the same */
        assert_true(!files_write(files_in("g.nii"), bytes, size));
        w = reads(files_in("g.nii"));
        assert_true(w && clvox_grid_equal(&v->grid, &w->grid));
        clvox_volume_destroy(&w);
    }
    free(bytes);
    clvox_volume_destroy(&v);
}

static void grids_kept(void)
{
    for (int i = 0; i < 5; i++)
        test_case_at(grid_survives_with_a_qform, TEST_AT(i),
                     "grid %d survives, with a qform where a quaternion can say it", i);
}

static void long_volume(void **state)
{
    (void)state;
    clvox_volume *v = made(40000, 2, 1, 1, CLVOX_KIND_LABEL), *w;
    v->type = CLVOX_TYPE_INT16;
    v->grid.to_ras[0][3] = 1.0 / 3;
    v->data[79999] = 1234;
    assert_true(clvox_volume_write(v, files_in("l.nii.gz")) == 0);
    w = reads(files_in("l.nii.gz"));
    assert_true(w && w->grid.size[0] == 40000 && w->data[79999] == 1234 && w->kind == CLVOX_KIND_LABEL);
    assert_true(w && w->grid.to_ras[0][3] == 1.0 / 3);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&w);
}

/* ---- kinds -------------------------------------------------------------- */

static void a_displacement_is_ras_in_memory_and_lps(void **state)
{
    (void)state;
    clvox_volume *v = made(3, 2, 1, 3, CLVOX_KIND_DISPLACEMENT);
    for (int i = 0; i < 18; i++)
        v->data[i] = (float)i;
    assert_true(clvox_volume_write(v, files_in("u.nii")) == 0);
    size_t size;
    uint8_t *bytes = files_read(files_in("u.nii"), &size);
    const int16_t dims[] = {5, 3, 2, 1, 1, 3, 1, 1};
    int16_t intent;
    float on_disk[18];
    memcpy(&intent, bytes + 68, 2);
    memcpy(on_disk, bytes + 352, sizeof on_disk);
    assert_true(!memcmp(bytes + 40, dims, sizeof dims) && intent == 1007);
    for (int i = 0; i < 18; i++)
        assert_true(on_disk[i] == (i < 12 ? -(float)i : (float)i));
    free(bytes);
    clvox_volume *w = reads(files_in("u.nii"));
    assert_true(w && w->kind == CLVOX_KIND_DISPLACEMENT && w->frames == 3);
    assert_true(w && !memcmp(w->data, v->data, 18 * sizeof(float)));
    clvox_volume_destroy(&w);
    v->type = CLVOX_TYPE_FLOAT64;
    assert_true(clvox_volume_write(v, files_in("u.nii.gz")) == 0);
    w = reads(files_in("u.nii.gz"));
    assert_true(w && !memcmp(w->data, v->data, 18 * sizeof(float)));
    clvox_volume_destroy(&w);
    clvox_volume_destroy(&v);
}

static void scale_and_byte_order_go_with_the_change(void **state)
{
    (void)state;
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
    assert_true(!files_nifti_write(files_in("u.nii"), &h, shorts, sizeof shorts));
    clvox_volume *w = reads(files_in("u.nii"));
    for (int i = 0; w && i < 18; i++)
        assert_true(w->data[i] == (i < 12 ? -1 : 1) * (0.5f * (float)i + 3));
    clvox_volume_destroy(&w);
}

static void a_tensor_is_the_upper_triangle_in_memory(void **state)
{
    (void)state;
    size_t size;
    float on_disk[18];
    clvox_volume *v = made(2, 1, 1, 6, CLVOX_KIND_TENSOR);
    for (int i = 0; i < 12; i++)
        v->data[i] = (float)(i / 2);
    assert_true(clvox_volume_write(v, files_in("t.nii")) == 0);
    uint8_t *bytes = files_read(files_in("t.nii"), &size);
    static const float lower[6] = {0, 1, 3, 2, 4, 5};
    memcpy(on_disk, bytes + 352, 12 * sizeof(float));
    for (int i = 0; i < 12; i++)
        assert_true(on_disk[i] == lower[i / 2]);
    free(bytes);
    clvox_volume *w = reads(files_in("t.nii"));
    assert_true(w && w->kind == CLVOX_KIND_TENSOR && w->frames == 6 &&
                !memcmp(w->data, v->data, 12 * sizeof(float)));
    clvox_volume_destroy(&w);
    clvox_volume_destroy(&v);
}

static void labels_vectors_and_series_keep_their_kind(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        if (kind == CLVOX_KIND_DISPLACEMENT)
            continue;
        clvox_volume *v = made(2, 2, 2, kind == CLVOX_KIND_VECTOR ? 3 : 4, (clvox_kind)kind);
        v->data[5] = 5;
        assert_true(clvox_volume_write(v, files_in("k.nii.gz")) == 0);
        clvox_volume *w = reads(files_in("k.nii.gz"));
        assert_true(w && w->kind == v->kind && w->frames == v->frames &&
                    w->data[5] == 5);
        clvox_volume_destroy(&w);
        clvox_volume_destroy(&v);
    }
}

static void frames_that_do_not_fit_the_kind(void **state)
{
    (void)state;
    clvox_volume *v = made(2, 2, 2, 2, CLVOX_KIND_DISPLACEMENT);
    assert_int_equal(clvox_volume_write(v, files_in("k.nii.gz")), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&v);
}

/* In NIfTI's description, to the last bit of a float; what is none there is not taken for one. */
static void a_momentum_says_its_flow(void **state)
{
    (void)state;
    static const char *const none[] = {"clvox momentum", "clvox momentum 2,0,1", "clvox momentum 2,0,0 timesteps 4",
                                       "clvox momentum 2,-1,1 timesteps 4", "clvox momentum 2,nan,1 timesteps 4",
                                       "clvox momentum 2,0 1 timesteps 4", "clvox momentum 2,0,1 timesteps 0",
                                       "clvox momentum 2,0,1, timesteps 4", "a clvox momentum 2,0,1 timesteps 4"};
    enum { DESCRIPTION = 148, ROOM = 80 };
    clvox_volume *v = made(3, 2, 2, 3, CLVOX_KIND_DISPLACEMENT), *w;
    v->flow = (clvox_flow){(double)7.6543219e-5f, (double)1.2345678e-5f, (double)(1 / 3.f), 32};
    const char *path = files_in("m.nii");
    assert_true(clvox_volume_write(v, path) == 0);
    w = reads(path);
    assert_true(w && (float)w->flow.alpha == (float)v->flow.alpha && (float)w->flow.beta == (float)v->flow.beta);
    assert_true(w && (float)w->flow.gamma == (float)v->flow.gamma && w->flow.timesteps == 32);
    clvox_volume_destroy(&w);
    size_t size;
    uint8_t *bytes = files_read(path, &size);
    for (int i = 0; i < (int)(sizeof none / sizeof *none); i++) {
        memset(bytes + DESCRIPTION, 0, ROOM);
        memcpy(bytes + DESCRIPTION, none[i], strlen(none[i]));
        assert_true(files_write(path, bytes, size) == 0);
        w = reads(path);
        assert_that(w && w->flow.gamma == 0 && w->flow.timesteps == 0, "'%s' is taken for a flow", none[i]);
        clvox_volume_destroy(&w);
    }
    free(bytes);
    v->flow = (clvox_flow){0};
    assert_true(clvox_volume_write(v, path) == 0);
    w = reads(path);
    assert_true(w && w->flow.gamma == 0);
    clvox_volume_destroy(&w);
    clvox_volume_destroy(&v);
}

static void kinds(void)
{
    test_case(a_momentum_says_its_flow, "a momentum says its operator and time steps");
    test_case(a_displacement_is_ras_in_memory_and_lps,
              "a displacement is RAS in memory and LPS in ITK's layout on disk");
    test_case(scale_and_byte_order_go_with_the_change, "scale and byte order go with the change of sign");
    test_case(a_tensor_is_the_upper_triangle_in_memory,
              "a tensor is the upper triangle in memory and the lower on disk");
    test_case(labels_vectors_and_series_keep_their_kind, "labels, vectors and series keep their kind");
    test_case(frames_that_do_not_fit_the_kind, "frames that do not fit the kind are not written");
}

/* ---- failures ----------------------------------------------------------- */

/* Little of it is compressed away. */
static clvox_volume *waves(void)
{
    clvox_volume *v = made(40, 40, 40, 1, CLVOX_KIND_SCALAR);
    for (int i = 0; i < 64000; i++)
        v->data[i] = (float)sin(i * 0.37);
    return v;
}

static void a_volume_cannot_be_written_everywhere(void **state)
{
    (void)state;
    clvox_volume *v = waves();
    int before = files_count();
    assert_true(clvox_volume_write(v, files_in("x.nrrd")) == CLVOX_ERROR_ARGUMENT &&
                strstr(clvox_message(), ".nii"));
    assert_int_equal(clvox_volume_write(v, files_in("x.img")), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_volume_write(v, files_in("no/x.nii")), CLVOX_ERROR_FILE);
    assert_true(clvox_volume_write(v, "/dev/null") == 0);
    if (!access("/dev/full", W_OK))
        assert_true(clvox_volume_write(v, "/dev/full") == CLVOX_ERROR_FILE &&
                    strstr(clvox_message(), "No space left"));
    v->grid.to_ras[0][0] = NAN;
    assert_int_equal(clvox_volume_write(v, files_in("x.nii")), CLVOX_ERROR_ARGUMENT);
    assert_true(files_count() == before);
    clvox_volume_destroy(&v);
}

static void a_disk_that_fills_up_while_writing_leaves(void **state)
{
    (void)state;
    clvox_volume *v = waves();
    assert_true(!files_write(files_in("old.nii"), "old", 3) &&
                !files_write(files_in("old.nii.gz"), "old", 3));
    int before = files_count();
    struct rlimit unlimited, limit;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    signal(SIGXFSZ, SIG_IGN);
    for (int threads = 1; threads <= 8; threads++)
        for (int packed = 0; packed < 2; packed++) {
            size_t size = 0;
            limit = unlimited;
            limit.rlim_cur = 70000;
            clvox_threads_set(threads);
            setrlimit(RLIMIT_FSIZE, &limit);
            int status = clvox_volume_write(v, files_in(packed ? "old.nii.gz" : "old.nii"));
            setrlimit(RLIMIT_FSIZE, &unlimited);
            assert_int_equal(status, CLVOX_ERROR_FILE);
            assert_that(strstr(clvox_message(), "File too large"), "%s", clvox_message());
            uint8_t *bytes_now = files_read(files_in(packed ? "old.nii.gz" : "old.nii"), &size);
            assert_true(size == 3 && files_count() == before);
            free(bytes_now);
        }
    clvox_threads_set(0);
    clvox_volume_destroy(&v);
}

static void failures(void)
{
    test_case(a_volume_cannot_be_written_everywhere, "a volume cannot be written everywhere");
    test_case(a_disk_that_fills_up_while_writing_leaves,
              "a disk that fills up while writing leaves the old file and nothing else");
}

/* Writes a large volume over and over until the parent interrupts. */
static void write_forever(int pipe_end)
{
    clvox_volume *v = made(100, 100, 100, 1, CLVOX_KIND_SCALAR);
    interrupts_guard();
    for (;;) {
        if (write(pipe_end, "g", 1) != 1 || clvox_volume_write(v, files_in("big.nii.gz")))
            _exit(1);
    }
}

/* Waits, a minute at most, until the folder holds a file with such a name. */
static bool appears(const char *start)
{
    for (int ms = 0; ms < 60000; ms++) {
        bool found = false;
        DIR *dir = opendir(files_in(""));
        for (const struct dirent *one; dir && !found && (one = readdir(dir));)
            found = !strncmp(one->d_name, start, strlen(start));
        if (dir)
            closedir(dir);
        if (found)
            return true;
        usleep(1000);
    }
    return false;
}

/* Now while a file is unfinished, now when one is whole and the next is begun. */
static void interrupts(void **state)
{
    (void)state;
    int before = files_count(), whole = 0;
    for (int round = 0; round < 8; round++) {
        int ends[2], result;
        char letter;
        fflush(stdout);
        assert_true(!pipe(ends));
        pid_t child = fork();
        if (!child)
            write_forever(ends[1]);
        assert_true(read(ends[0], &letter, 1) == 1);
        const bool begun = appears(round % 2 ? "big.nii.gz" : ".clvox-");
        kill(child, SIGINT);
        assert_true(waitpid(child, &result, 0) == child && WIFSIGNALED(result) && WTERMSIG(result) == SIGINT);
        close(ends[0]);
        close(ends[1]);
        assert_true(begun);
        int left = files_count() - before;
        if (!access(files_in("big.nii.gz"), F_OK)) {
            clvox_volume *v = reads(files_in("big.nii.gz"));
            assert_true(v && v->grid.size[2] == 100);
            clvox_volume_destroy(&v);
            unlink(files_in("big.nii.gz"));
            left--;
            whole++;
        }
        assert_that(left == 0, "%d files left", left);
    }
    printf("# %d of 8 found the file whole\n", whole);
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    written_types();
    grids_kept();
    test_case(output_types, "images are stored as asked for: whole as they are, others by a slope, labels as before");
    test_case(long_volume, "a dimension beyond 32767 makes a NIfTI-2 file");
    kinds();
    failures();
    test_case(interrupts, "Ctrl-C at any moment of writing leaves a whole file or none");
    return test_run("volume write", tear_down);
}
