/* SPDX-License-Identifier: Apache-2.0 */
/* Files of other projects: 48 orientations of one head, odd, truncated and
 * hostile ones. Skipped where they are missing. */
#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/matrix.h"
#include "check.h"
#include "clvox/transform.h"
#include "clvox/volume.h"
#include "files.h"

static clvox_volume *load(const char *name)
{
    clvox_volume *v = NULL;
    const char *path = files_data(name);
    if (!path)
        test_skip("the data are missing");
    else
        assert_that(clvox_volume_read(path, &v) == 0, "%s", clvox_message());
    return v;
}

/* ---- one head ----------------------------------------------------------- */

/* Every voxel of v lies on one of the reference and has its value. */
static void same_head(const clvox_volume *v, const clvox_volume *reference)
{
    double to_voxel[4][4], step[4][4];
    assert_true(!clv_matrix_invert(reference->grid.to_ras, to_voxel));
    clv_matrix_multiply(CLV_MATRIX(to_voxel), v->grid.to_ras, step);
    const int *n = v->grid.size, *m = reference->grid.size;
    size_t at = 0, wrong = 0;
    for (int k = 0; k < n[2]; k++)
        for (int j = 0; j < n[1]; j++)
            for (int i = 0; i < n[0]; i++, at++) {
                double x[3] = {i, j, k};
                long r[3];
                clv_matrix_apply(CLV_MATRIX(step), x, x);
                for (int c = 0; c < 3; c++) {
                    r[c] = lround(x[c]);
                    if (fabs(x[c] - (double)r[c]) > 0.01 || r[c] < 0 || r[c] >= m[c])
                        r[0] = -1;
                }
                if (r[0] < 0 ||
                    fabsf(v->data[at] - reference->data[r[0] + m[0] * (r[1] + m[1] * r[2])]) > 1e-3f)
                    wrong++;
            }
    assert_that(!wrong && clvox_grid_voxels(&v->grid) == clvox_grid_voxels(&reference->grid),
                "%zu of %zu voxels differ", wrong, clvox_grid_voxels(&v->grid));
}

static const char axes[] = "RLAPSI";

static clvox_volume *reference;
static int named; /* cases of an orientation */

static int reference_set_up(void **state)
{
    (void)state;
    const char *path = files_data("formats_48_orientations/RAS.nii.gz");
    return path ? clvox_volume_read(path, &reference) : 0;
}

static int reference_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&reference);
    return 0;
}

static void the_head_is_there(void **state)
{
    (void)state;
    clvox_volume *v = load("formats_48_orientations/RAS.nii.gz");
    clvox_volume_destroy(&v);
}

static void is_the_same_head(void **state)
{
    const int *given = *state;
    int a = given[0], b = given[1], c = given[2];
    char name[64];
    snprintf(name, sizeof name, "formats_48_orientations/%c%c%c.nii.gz", axes[a], axes[b], axes[c]);
    clvox_volume *v = load(name);
    /* The axes are what the name says: where they come from. */
    const int letters[3] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        double along = v->grid.to_ras[letters[i] / 2][i];
        assert_that((letters[i] % 2 ? -along : along) > 0.5, "axis %d: %g", i, along);
    }
    same_head(v, reference);
    clvox_volume_destroy(&v);
}

static void all_48_were_tried(void **state)
{
    (void)state;
    assert_int_equal(named, 48);
}

static void orientations(void)
{
    test_set_up(reference_set_up);
    test_case(the_head_is_there, "the head is there");
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int c = 0; c < 6; c++)
                if (a / 2 != b / 2 && b / 2 != c / 2 && c / 2 != a / 2) {
                    test_case_at(is_the_same_head, TEST_AT(a, b, c), "%c%c%c is the same head", axes[a],
                                 axes[b], axes[c]);
                    named++;
                }
    test_case(all_48_were_tried, "all 48 were tried");
    test_tear_down(reference_tear_down);
}

/* ---- valid, if odd ------------------------------------------------------ */

/* The answers of nibabel for these files: size, frames, mean of the finite values, place of the last voxel. */
static const struct {
    const char *name;
    int size[3], frames;
    double mean, last[3];
} valid[] = {
    {"formats_nibabel/standard.nii.gz", {4, 5, 7}, 1, 54.6428571, {3, 12, 12}},
    {"formats_nibabel/reoriented_anat_moved.nii",
     {21, 26, 22},
     1,
     2725.58853,
     {44.7021027, 52.0224152, 56.4005909}},
    {"formats_nibabel/resampled_anat_moved.nii", {17, 21, 3}, 1, 8442.21906, {-32, 40, 16}},
    {"formats_nibabel/example4d.nii.gz", {128, 96, 24}, 2, 172.908115, {-136.144897, 143.6025, 73.3908062}},
    {"formats_nibabel/example_nifti2.nii.gz",
     {32, 20, 12},
     2,
     450.963672,
     {55.8551025, -2.13323462, 22.7740459}},
    {"formats_nibabel/anatomical.nii", {33, 41, 25}, 1, 8401.06673, {-32, 40, 32}},
    {"formats_nibabel/functional.nii", {17, 21, 3}, 20, 3637.40851, {-32, 40, 16}},
    {"formats_nifti_jl/example4d.hdr.gz",
     {128, 96, 24},
     2,
     172.908115,
     {-136.144897, 143.6025, 73.3908062}},
    {"formats_nifti_jl/example4d.img.gz",
     {128, 96, 24},
     2,
     172.908115,
     {-136.144897, 143.6025, 73.3908062}},
    {"formats_nifti_jl/example4d.nii.gz",
     {128, 96, 24},
     2,
     172.908115,
     {-136.144897, 143.6025, 73.3908062}},
    {"formats_nifti_jl/example_nifti2.nii.gz",
     {32, 20, 12},
     2,
     450.963672,
     {55.8551025, -2.13323462, 22.7740459}},
    {"formats_nifti_jl/avg152T1_RL_nifti.nii.gz", {91, 109, 91}, 1, 82.8971615, {90, 90, 108}},
    {"formats_nifti_reader_js/big.nii.gz", {64, 64, 21}, 1, 0.135420992, {-252, 252, 120}},
    {"formats_nifti_reader_js/little.nii.gz", {64, 64, 21}, 1, 0.135420992, {-252, 252, 120}},
    {"formats_nifti_reader_js/5D_zeros.nii.gz",
     {256, 256, 170},
     3,
     0,
     {80.6860436, -72.7688044, 165.246887}},
    {"formats_nifti_reader_js/with_extension.nii.gz", {161, 191, 151}, 1, 0.317196598, {-80, -110, -65}},
    {"formats_nifti_reader_js/avg152T1_LR_nifti.nii", {91, 109, 91}, 1, 82.8971615, {-90, 90, 108}},
    {"formats_nifti_reader_js/avg152T1_LR_nifti.nii.gz", {91, 109, 91}, 1, 82.8971615, {-90, 90, 108}},
    {"formats_nifti_reader_js/avg152T1_LR_nifti2.nii.gz", {91, 109, 91}, 1, 82.8971615, {-90, 90, 108}},
    {"formats_nifti_reader_js/air.hdr.gz",
     {79, 67, 64},
     1,
     33.6483954,
     {74.5070941, 75.6382627, -71.7625365}},
    {"formats_nifti_reader_js/air2.hdr.gz",
     {79, 67, 64},
     1,
     33.6483954,
     {74.5070941, 75.6382627, -71.7625365}},
    {"formats_nifti_rs/minimal.nii", {64, 64, 10}, 1, 31.5, {189, 189, 27}},
    {"formats_nifti_rs/minimal.nii.gz", {64, 64, 10}, 1, 31.5, {189, 189, 27}},
    {"formats_nifti_rs/minimal.hdr", {64, 64, 10}, 1, 31.5, {189, 189, 27}},
    {"formats_nifti_rs/minimal.hdr.gz", {64, 64, 10}, 1, 31.5, {189, 189, 27}},
    {"formats_nifti_rs/minimal_extended_hdr.nii", {8, 8, 1}, 1, 0, {7, 7, 0}},
    {"formats_nifti_rs/f32.nii.gz", {11, 11, 11}, 1, 0.124718257, {10, 10, 10}},
    {"formats_nifti_rs/zstat1.nii.gz", {64, 64, 21}, 1, 0.135420992, {-252, 252, 120}},
    {"formats_nifti_rs/27/int8.nii", {3, 3, 3}, 1, 13, {2, 2, 2}},
    {"formats_nifti_rs/27/uint64.nii", {3, 3, 3}, 1, 13, {2, 2, 2}},
    {"formats_nifti_rs/27/float64.nii", {3, 3, 3}, 1, 13, {2, 2, 2}},
};

static void reads_as_nibabel_reads(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    clvox_volume *v = load(valid[i].name);
    if (!v)
        return;
    assert_true(!memcmp(v->grid.size, valid[i].size, sizeof v->grid.size) && v->frames == valid[i].frames);
    double sum = 0, x[3];
    size_t count = 0;
    for (size_t at = 0; at < clvox_grid_voxels(&v->grid) * (size_t)v->frames; at++)
        if (isfinite(v->data[at])) {
            sum += v->data[at];
            count++;
        }
    assert_that(fabs(sum / (double)count - valid[i].mean) <= 1e-5 * (1 + fabs(valid[i].mean)),
                "mean %.9g, not %.9g", sum / (double)count, valid[i].mean);
    for (int c = 0; c < 3; c++)
        x[c] = v->grid.size[c] - 1;
    clv_matrix_apply(CLV_MATRIX(v->grid.to_ras), x, x);
    for (int c = 0; c < 3; c++)
        assert_that(fabs(x[c] - valid[i].last[c]) < 1e-3, "axis %d ends at %g, not %g", c, x[c],
                    valid[i].last[c]);
    clvox_volume_destroy(&v);
}

static void valid_files(void)
{
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        test_case_at(reads_as_nibabel_reads, TEST_AT((int)i), "%s reads as nibabel reads it", valid[i].name);
}

/* ---- hostile ------------------------------------------------------------ */

/* Reads a file in a process of its own: within 100 MB, so that little of what it
 * promises is unpacked or cleared, it must say one sentence. */
static void refused_in_little(const char *path, const char *name)
{
    int ends[2], result = 0;
    char sentence[4096] = "";
    struct rusage usage;
    bool sanitized = getenv("CLVOX_SANITIZED") != NULL; /* which keeps more memory beside */
    fflush(stdout);
    assert_true(!pipe(ends));
    pid_t child = fork();
    if (!child) {
        clvox_volume *v;
        clvox_transform *t;
        int bad = clvox_volume_read(path, &v) >= 0;
        size_t length = strlen(clvox_message());
        if (write(ends[1], clvox_message(), length) != (ssize_t)length)
            bad = 1;
        bad = bad || clvox_transform_read(path, &t) >= 0;
        _exit(bad);
    }
    assert_true(wait4(child, &result, 0, &usage) == child);
    close(ends[1]);
    if (read(ends[0], sentence, sizeof sentence - 1) < 0)
        sentence[0] = 0;
    close(ends[0]);
    assert_that(WIFEXITED(result) && !WEXITSTATUS(result), "status %#x", (unsigned)result);
    assert_that(!strncmp(sentence, path, strlen(path) - 8) && !strchr(sentence, '\n'), "%s", sentence);
    assert_that(sanitized || usage.ru_maxrss < 100 * 1024, "%ld KiB", usage.ru_maxrss);
    printf("# %s\n", sentence + strlen(path) - strlen(name));
}

static const char *const hostile[] = {
    "formats_nibabel/row_major.dconn.nii",
    "formats_nibabel/nifti1.hdr",
    "formats_nibabel/nifti2.hdr",
    "formats_nibabel/analyze.hdr",
    "formats_nibabel/example4d+orig.BRIK.gz",
    "formats_nifti_jl/empty.nii.gz",
    "formats_nifti_reader_js/not-nifti.nii",
    "formats_nifti_rs/rgb/4D.nii",
    "formats_nifti_rs/rgba/4D.nii",
    "formats_nifti_rs/complex/complex32.nii",
    "formats_nifti_rs/complex/complex64.nii",
    "formats_nifti_rs/fuzz_artifacts/crash-1.nii",
    "formats_nifti_rs/fuzz_artifacts/crash-08123ef33416bd6f0c5fa63d44b681b8581d62a0",
    "formats_nifti_rs/fuzz_artifacts/crash-98aa054390f8d3f932f190dc22ef62c6ff2d6619",
    "formats_nifti_rs/fuzz_artifacts/crash-d03c6346fe83a026738f6b8cd2a9335a3f8cb158",
    "formats_nifti_rs/fuzz_artifacts/crash-ed7d46344d7efb3b9f0c374d66d2e02f66cc447d.nii",
    "formats_truncated_bids/sub-01_ses-01_T1w.nii",
    "formats_truncated_bids/sub-01_ses-01_task-nback_run-01_bold.nii",
    "formats_truncated_bids/sub-01_ses-01_task-nback_run-02_bold.nii",
    "formats_truncated_bids/sub-01_ses-01_task-rest_bold.nii"};

static void is_refused_in_little_memory(void **state)
{
    const int *given = *state;
    const char *name = hostile[given[0]], *path = files_data(name);
    if (!path)
        test_skip("the data are missing");
    refused_in_little(path, name);
}

/* Headers that promise gigabytes, behind which there is little or nothing. */
static const int sizes[][3] = {
    {2000, 2000, 2000}, {32767, 32767, 1}, {32767, 32767, 32767}, {1024, 1024, 100}};
static const size_t behind[] = {0, 1000, 300000, 3000000};
enum { PLAIN, NOISE, ZEROS, KINDS };

static void promised_name(int s, int b, int kind, char name[64])
{
    static const char *const ends[] = {"plain.nii", "noise.nii.gz", "zeros.nii.gz"};
    snprintf(name, 64, "%d_%zu_%s", s, behind[b], ends[kind]);
}

static void promises_are_refused_in_little_memory(void **state)
{
    const int *given = *state;
    int s = given[0], b = given[1], kind = given[2];
    char name[64];
    uint8_t *values = calloc(1, 3000000);
    for (size_t i = 0; kind != ZEROS && i < 3000000; i++)
        values[i] = (uint8_t)(i * 2654435761u >> 13);
    files_nifti h = files_header(1, sizes[s][0], sizes[s][1], sizes[s][2]);
    promised_name(s, b, kind, name);
    const char *path = files_in(name);
    assert_true(!files_nifti_write(path, &h, values, behind[b]));
    refused_in_little(path, name);
    unlink(path);
    free(values);
}

static void hostile_files(void)
{
    for (int i = 0; i < (int)(sizeof hostile / sizeof *hostile); i++)
        test_case_at(is_refused_in_little_memory, TEST_AT(i),
                     "%s is refused with a sentence and in little memory", hostile[i]);
    for (int s = 0; s < 4; s++)
        for (int b = 0; b < 4; b++)
            for (int kind = 0; kind < KINDS; kind++) {
                char name[64];
                promised_name(s, b, kind, name);
                test_case_at(promises_are_refused_in_little_memory, TEST_AT(s, b, kind),
                             "%s is refused with a sentence and in little memory", name);
            }
}

static int tear_down(void **state)
{
    (void)state;
    files_end();
    return 0;
}

int main(void)
{
    orientations();
    valid_files();
    hostile_files();
    return test_run("formats", tear_down);
}
