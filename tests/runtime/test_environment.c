/* SPDX-License-Identifier: Apache-2.0 */
/* What is set in the environment before a driver is loaded. */
#include "runtime/driver/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* ---- the PoCL of a portable package ---- */

/* The folder of a package's libraries, with PoCL among them, and an empty one. */
static void lend_set_up(char package[32], char empty[32])
{
    char path[64];
    strcpy(package, "/tmp/clvox-pocl-XXXXXX");
    strcpy(empty, "/tmp/clvox-none-XXXXXX");
    assert_true(mkdtemp(package) && mkdtemp(empty));
    snprintf(path, sizeof path, "%s/pocl", package);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/pocl/libpocl-1.so", package);
    FILE *file = fopen(path, "w");
    assert_true(file && fclose(file) == 0);
}

static void lend_tear_down(const char *package, const char *empty)
{
    char path[64];
    snprintf(path, sizeof path, "%s/pocl/libpocl-1.so", package);
    unlink(path);
    snprintf(path, sizeof path, "%s/pocl", package);
    rmdir(path);
    rmdir(package);
    rmdir(empty);
}

static void pocl_of_a_package_serves_where_no_driver_finds_a_device(void **state)
{
    (void)state;
    char package[32], empty[32], path[64], expected[64];
    const char *set = getenv("OCL_ICD_VENDORS");
    char *kept = set ? strdup(set) : NULL, *path_kept = strdup(getenv("PATH"));
    lend_set_up(package, empty);
    snprintf(expected, sizeof expected, "%s/pocl/libpocl-1.so", package);

    setenv("OCL_ICD_VENDORS", "chosen", 1);
    assert_int_equal(clv_environment_lend(empty, package), 0);
    assert_string_equal(getenv("OCL_ICD_VENDORS"), "chosen");

    unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(clv_environment_lend(empty, NULL), 0);
    assert_int_equal(clv_environment_lend(empty, empty), 0);
    assert_null(getenv("OCL_ICD_VENDORS"));
    assert_int_equal(clv_environment_lend("/nowhere", package), 1);
    assert_string_equal(getenv("OCL_ICD_VENDORS"), expected);
    assert_string_equal(getenv("PATH"), path_kept);

    /* With a linker. */
    char folder[64], linker[64], *longer = NULL;
    snprintf(folder, sizeof folder, "%s/pocl/bin", package);
    snprintf(linker, sizeof linker, "%s/pocl/bin/ld", package);
    assert_int_equal(mkdir(folder, 0700), 0);
    FILE *ld = fopen(linker, "w");
    assert_true(ld && fclose(ld) == 0);
    unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(clv_environment_lend("/nowhere", package), 1);
    assert_string_equal(getenv("PATH"), path_kept); /* it cannot be run */
    assert_int_equal(chmod(linker, 0700), 0);
    unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(clv_environment_lend("/nowhere", package), 1);
    assert_true(asprintf(&longer, "%s:%s", folder, path_kept) > 0);
    assert_string_equal(getenv("PATH"), longer);
    setenv("PATH", path_kept, 1);
    unlink(linker);
    rmdir(folder);
    free(longer);

    /* Drivers that cannot be loaded, or that know no OpenCL, are none. */
    static const char *const no_drivers[] = {"libnosuchdriver.so.1\n", "libc.so.6\n", ""};
    snprintf(path, sizeof path, "%s/some.icd", empty);
    for (size_t i = 0; i < sizeof no_drivers / sizeof *no_drivers; i++) {
        FILE *icd = fopen(path, "w");
        assert_true(icd && fputs(no_drivers[i], icd) >= 0 && fclose(icd) == 0);
        unsetenv("OCL_ICD_VENDORS");
        assert_int_equal(clv_environment_lend(empty, package), 1);
    }
    unlink(path);
    lend_tear_down(package, empty);
    unsetenv("OCL_ICD_VENDORS");
    if (kept)
        setenv("OCL_ICD_VENDORS", kept, 1);
    free(kept);
    free(path_kept);
}

static void put_line(const char *folder, const char *name, const char *line)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_true(file && fprintf(file, "%s\n", line) > 0 && fclose(file) == 0);
}

static void pocl_is_left_out_beside_the_driver_of_a_gpu(void **state)
{
    (void)state;
    const char *driver = getenv("CLVOX_TEST_DRIVER"), *set = getenv("OCL_ICD_VENDORS"),
               *word = getenv("CLVOX_DEVICE");
    char *kept = set ? strdup(set) : NULL, *kept_word = word ? strdup(word) : NULL;
    char folder[32] = "/tmp/clvox-icd-XXXXXX", path[64];
    static const struct {
        const char *device, *gpu, *third; /* another driver */
        int left_out;
    } cases[] = {
        {NULL, "3.0 of a test", NULL, 1}, {"", "1.2", NULL, 1},    {"gpu", "3.0", NULL, 1},
        {"GPU:all", "3.0", NULL, 1},      {"cpu", "3.0", NULL, 0}, {"0", "3.0", NULL, 0},
        {"h200", "3.0", NULL, 0},         {NULL, "1.1", NULL, 0},  {NULL, "none", NULL, 0},
        {NULL, "busy", NULL, 0},          {NULL, "new", NULL, 0},  {NULL, "3.0", "libother.so", 0},
        {NULL, "3.0", "libpocl-2.so", 1},
    };
    if (!driver)
        skip();
    assert_true(mkdtemp(folder));
    unsetenv("CLVOX_DEVICE");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsetenv("OCL_ICD_VENDORS");
        setenv("CLVOX_TEST_GPU", cases[i].gpu, 1);
        put_line(folder, "gpu.icd", driver);
        put_line(folder, "pocl.icd", "/usr/lib/libpocl.so.2");
        put_line(folder, "third.icd", cases[i].third ? cases[i].third : "");
        snprintf(path, sizeof path, "%s/gpu.icd", folder);
        assert_that(clv_environment_spare(folder, cases[i].device) == cases[i].left_out, "case %zu", i);
        const char *now = getenv("OCL_ICD_VENDORS"), *khronos = getenv("OCL_ICD_FILENAMES");
        assert_that((now && !strcmp(now, path)) == cases[i].left_out, "case %zu", i);
        assert_that((khronos && !strcmp(khronos, path)) == cases[i].left_out, "case %zu", i);
        unsetenv("OCL_ICD_FILENAMES");
    }

    setenv("CLVOX_TEST_GPU", "3.0", 1);
    setenv("OCL_ICD_VENDORS", "chosen", 1);
    assert_int_equal(clv_environment_spare(folder, NULL), 0);
    assert_string_equal(getenv("OCL_ICD_VENDORS"), "chosen");
    unsetenv("OCL_ICD_VENDORS");
    setenv("CLVOX_DEVICE", "cpu", 1);
    assert_int_equal(clv_environment_spare(folder, NULL), 0);
    assert_int_equal(clv_environment_spare(folder, "gpu"), 1);
    unsetenv("CLVOX_DEVICE");
    unsetenv("OCL_ICD_VENDORS");
    put_line(folder, "pocl.icd", ""); /* and no other: there is nothing to leave out */
    put_line(folder, "third.icd", "");
    assert_int_equal(clv_environment_spare(folder, NULL), 0);
    assert_int_equal(clv_environment_spare("/nowhere", NULL), 0);

    static const char *const names[] = {"gpu.icd", "pocl.icd", "third.icd"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
    unsetenv("OCL_ICD_FILENAMES");
    unsetenv("CLVOX_TEST_GPU");
    if (kept)
        setenv("OCL_ICD_VENDORS", kept, 1);
    if (kept_word)
        setenv("CLVOX_DEVICE", kept_word, 1);
    free(kept);
    free(kept_word);
}

static void nvidia_opens_little(void **state)
{
    (void)state;
    static const struct {
        const char *device, *model[3];
        int one;
    } cases[] = {
        {NULL, {"H200", "H200", "H200"}, 1},
        {"", {"H200", "H200"}, 1},
        {"GPU", {"H200", "H200"}, 1},
        {NULL, {"H200"}, 0},
        {NULL, {NULL}, 0},
        {NULL, {"H200", "H100"}, 0},
        {NULL, {"H200", "H200", "A2"}, 0},
        {"gpu:all", {"H200", "H200"}, 0},
        {"0", {"H200", "H200"}, 0},
        {"cpu", {"H200", "H200"}, 0},
    };
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS",
                                        "NV_OPENCL_DISABLE_UVM", "CLVOX_DEVICE"};
    char *kept[4];
    char folder[32] = "/tmp/clvox-gpus-XXXXXX", gpu[64], path[96];
    assert_true(mkdtemp(folder));
    for (int k = 0; k < 4; k++) {
        const char *set = getenv(names[k]);
        kept[k] = set ? strdup(set) : NULL;
        unsetenv(names[k]);
    }
    assert_int_equal(clv_nvidia_narrow("/nowhere", NULL, true), 2); /* no driver of NVIDIA's: no harm */
    assert_string_equal(getenv(names[1]), "1");
    assert_string_equal(getenv(names[2]), "1");
    assert_null(getenv(names[0]));
    setenv(names[1], "8", 1);
    setenv(names[2], "0", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < 3; k++) {
            snprintf(gpu, sizeof gpu, "%s/0000:%02d:00.0", folder, k);
            snprintf(path, sizeof path, "%s/information", gpu);
            unlink(path);
            rmdir(gpu);
            if (!cases[i].model[k])
                continue;
            assert_int_equal(mkdir(gpu, 0700), 0);
            FILE *file = fopen(path, "w");
            assert_true(file && fprintf(file, "Model: \t\t NVIDIA %s\nIRQ: %d\n", cases[i].model[k], k) > 0 &&
                        fclose(file) == 0);
        }
        unsetenv("CUDA_VISIBLE_DEVICES");
        assert_int_equal(clv_nvidia_narrow(folder, cases[i].device, false), 0);
        assert_that(clv_nvidia_narrow(folder, cases[i].device, true) == cases[i].one, "case %zu", i);
        const char *now = getenv("CUDA_VISIBLE_DEVICES");
        assert_that((now && !strcmp(now, "0")) == cases[i].one, "case %zu", i);
        setenv("CUDA_VISIBLE_DEVICES", "", 1); /* none at all: the user's wish */
        assert_int_equal(clv_nvidia_narrow(folder, cases[i].device, true), 0);
        assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "");
    }
    for (int k = 0; k < 3; k++) {
        snprintf(gpu, sizeof gpu, "%s/0000:%02d:00.0", folder, k);
        snprintf(path, sizeof path, "%s/information", gpu);
        unlink(path);
        rmdir(gpu);
    }
    rmdir(folder);
    assert_string_equal(getenv(names[1]), "8");
    assert_string_equal(getenv(names[2]), "0");
    for (int k = 0; k < 4; k++) {
        unsetenv(names[k]);
        if (kept[k])
            setenv(names[k], kept[k], 1);
        free(kept[k]);
    }
}

static void pocl_of_a_package_leaves_a_system_with_a_driver_alone(void **state)
{
    (void)state;
    char package[32], empty[32];
    if (getenv("OCL_ICD_VENDORS") || access("/etc/OpenCL/vendors/pocl.icd", R_OK) != 0)
        skip(); /* the suite runs on another runtime */
    lend_set_up(package, empty);
    assert_int_equal(clv_environment_lend("/etc/OpenCL/vendors", package), 0);
    assert_null(getenv("OCL_ICD_VENDORS"));
    lend_tear_down(package, empty);
}

static void clffts_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/clvox-clfft-XXXXXX", expected[64];
    const char *const names[] = {"CLFFT_CACHE_PATH", "CLVOX_CACHE_DIR"};
    char *kept[2];
    for (int k = 0; k < 2; k++) {
        kept[k] = getenv(names[k]) ? strdup(getenv(names[k])) : NULL;
        unsetenv(names[k]);
    }
    assert_true(mkdtemp(folder) != NULL);
    setenv("CLVOX_CACHE_DIR", "", 1); /* no cache */
    clv_environment_clfft(false);
    assert_null(getenv("CLFFT_CACHE_PATH"));
    setenv("CLVOX_CACHE_DIR", folder, 1);
    clv_environment_clfft(true);
    assert_null(getenv("CLFFT_CACHE_PATH"));
    assert_int_equal(chmod(folder, 0777), 0);
    clv_environment_clfft(false);
    assert_null(getenv("CLFFT_CACHE_PATH"));
    assert_int_equal(chmod(folder, 0700), 0);
    clv_environment_clfft(false);
    snprintf(expected, sizeof expected, "%s/clfft", folder);
    assert_string_equal(getenv("CLFFT_CACHE_PATH"), expected);
    assert_int_equal(access(expected, F_OK), -1);

    setenv("CLFFT_CACHE_PATH", folder, 1); /* the user's wish */
    clv_environment_clfft(false);
    assert_string_equal(getenv("CLFFT_CACHE_PATH"), folder);
    snprintf(expected, sizeof expected, "%s/open", folder);
    assert_true(mkdir(expected, 0777) == 0 && chmod(expected, 0777) == 0);
    setenv("CLFFT_CACHE_PATH", expected, 1);
    clv_environment_clfft(false);
    assert_null(getenv("CLFFT_CACHE_PATH"));
    rmdir(expected);
    rmdir(folder);
    for (int k = 0; k < 2; k++) {
        unsetenv(names[k]);
        if (kept[k])
            setenv(names[k], kept[k], 1);
        free(kept[k]);
    }
}

int main(void)
{
    test_case(pocl_of_a_package_serves_where_no_driver_finds_a_device,
              "the PoCL of a package serves where no driver of the system finds a device");
    test_case(pocl_of_a_package_leaves_a_system_with_a_driver_alone,
              "the PoCL of a package leaves a system with a driver alone");
    test_case(pocl_is_left_out_beside_the_driver_of_a_gpu, "PoCL is left out beside the driver of a GPU");
    test_case(nvidia_opens_little, "NVIDIA's driver opens no more than is used");
    test_case(clffts_folder, "clFFT's folder is the user's own");
    return test_run("environment", NULL);
}
