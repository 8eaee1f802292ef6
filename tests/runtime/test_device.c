/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "clvox/device.h"
#include "runtime/device/device.h"
#include "runtime/device/limits.h"
#include "runtime/device/nvidia.h"
#include "runtime/device/pocl.h"
#include "runtime/device/select.h"

static clvox_device device(const char *name, const char *platform, clvox_device_type type, int units,
                           const char *pci)
{
    clvox_device d = {.usable = true};
    snprintf(d.limits.name, sizeof d.limits.name, "%s", name);
    snprintf(d.limits.platform, sizeof d.limits.platform, "%s", platform);
    snprintf(d.limits.pci, sizeof d.limits.pci, "%s", pci);
    d.limits.type = type;
    d.limits.compute_units = units;
    d.limits.clock_mhz = 1000;
    d.limits.opencl = 30;
    return d;
}

enum { RANKED = 6 };

/* Two of them are one device under two platforms. */
static void rank(clvox_device list[RANKED])
{
    const clvox_device devices[RANKED] = {
        device("Xeon", "Portable Computing Language", CLVOX_DEVICE_CPU, 64, ""),
        device("NVIDIA H200", "Portable Computing Language", CLVOX_DEVICE_GPU, 132, "0000:17:00.0"),
        device("T4", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 40, "0000:65:00.0"),
        device("old", "Old", CLVOX_DEVICE_GPU, 500, ""),
        device("H200", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 132, "0000:17:00.0"),
        device("FPGA", "Vendor", CLVOX_DEVICE_ACCELERATOR, 900, ""),
    };
    memcpy(list, devices, sizeof devices);
    list[3].usable = false;
    clv_devices_rank(list, RANKED);
}

static void ranking_gpu_accelerator_cpu_then(void **state)
{
    (void)state;
    clvox_device list[RANKED];
    const char *order[] = {"H200", "T4", "FPGA", "Xeon"};
    rank(list);
    for (int i = 0; i < 4; i++)
        assert_that(!strcmp(list[i].limits.name, order[i]) && list[i].usable, "%d is %s", i,
                    list[i].limits.name);
}

static void a_device_under_two_platforms_is_kept_once(void **state)
{
    (void)state;
    clvox_device list[RANKED];
    int seconds = 0;
    rank(list);
    for (int i = 4; i < RANKED; i++)
        if (!strcmp(list[i].limits.name, "NVIDIA H200")) {
            seconds++;
            assert_true(!list[i].usable && strstr(list[i].reason, "the same device as H200 of NVIDIA CUDA"));
        }
    assert_true(seconds == 1);
}

static void check_ranking(void)
{
    test_case(ranking_gpu_accelerator_cpu_then, "ranking: GPU, accelerator, CPU, then what is passed over");
    test_case(a_device_under_two_platforms_is_kept_once,
              "a device under two platforms is kept once, by its vendor's driver");
}

/* The last one is passed over. */
static clvox_device list[4];

static int list_devices(void **state)
{
    (void)state;
    list[0] = device("NVIDIA H200", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 132, "0000:17:00.0");
    list[1] = device("NVIDIA H200", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 132, "0000:18:00.0");
    list[2] = device("AMD EPYC", "Portable Computing Language", CLVOX_DEVICE_CPU, 64, "");
    list[3] = device("Ancient 9000", "Old", CLVOX_DEVICE_GPU, 5, "");
    list[3].usable = false;
    snprintf(list[3].reason, sizeof list[3].reason, "too old");
    return 0;
}

static void selection_by_index_type_part_of_a_name(void **state)
{
    (void)state;
    unsetenv("CLVOX_DEVICE");
    assert_true(clv_device_select(list, 4, NULL) == 0 && clv_device_select(list, 4, "") == 0);
    assert_true(clv_device_select(list, 4, "1") == 1 && clv_device_select(list, 4, "GPU") == 0);
    assert_true(clv_device_select(list, 4, "cpu") == 2 &&
                clv_device_select(list, 4, "epyc") == 2);
    assert_true(clv_device_select(list, 4, "portable") == 2);
}

static void selection_by_clvox_device_which_an_option(void **state)
{
    (void)state;
    setenv("CLVOX_DEVICE", "cpu", 1);
    assert_true(clv_device_select(list, 4, NULL) == 2 && clv_device_select(list, 4, "0") == 0);
    unsetenv("CLVOX_DEVICE");
}

static void what_is_unknown_ambiguous_or_passed_over(void **state)
{
    (void)state;
    const char *wrong[][2] = {{"42", "none such"}, {"fpga", "none such"}, {"accelerator", "none such"},
                              {"h200", "several"}, {"3", "too old"}, {"ancient", "too old"}};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(clv_device_select(list, 4, wrong[i][0]), CLVOX_ERROR_DEVICE);
        assert_that(strstr(clvox_message(), wrong[i][1]) && strstr(clvox_message(), "2 AMD EPYC"), "%s",
                    clvox_message());
    }
}

static void lists_of_devices(void **state)
{
    (void)state;
    int chosen[CLV_MOST_SELECTED];
    assert_true(clv_devices_select(list, 4, "gpu:all", chosen) == 2 && chosen[0] == 0 &&
                chosen[1] == 1);
    assert_true(clv_devices_select(list, 4, "CPU:ALL", chosen) == 1 && chosen[0] == 2);
    assert_true(clv_devices_select(list, 4, "1,cpu,1", chosen) == 3 && chosen[0] == 1 &&
                chosen[1] == 2 && chosen[2] == 1);
    assert_true(clv_devices_select(list, 4, NULL, chosen) == 1 && chosen[0] == 0);
    setenv("CLVOX_DEVICE", "1,0", 1);
    assert_true(clv_devices_select(list, 4, "", chosen) == 2 && chosen[0] == 1 && chosen[1] == 0);
    assert_int_equal(clv_device_select(list, 4, NULL), CLVOX_ERROR_DEVICE);
    assert_non_null(strstr(clvox_message(), "device \"1,0\": one device is taken here"));
    unsetenv("CLVOX_DEVICE");
    const char *wrong[][2] = {{"0,,1", "commas between"},
                              {"0,", "commas between"},
                              {",0", "commas between"},
                              {"0,fpga", "\"fpga\": there is none such"},
                              {"accelerator:all", "none such"},
                              {"h200:all", "are known"},
                              {"0,3", "too old"}};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(clv_devices_select(list, 4, wrong[i][0], chosen), CLVOX_ERROR_DEVICE);
        assert_that(strstr(clvox_message(), wrong[i][1]), "%s", clvox_message());
    }
    assert_int_equal(clv_device_select(list, 4, "gpu:all"), CLVOX_ERROR_DEVICE);
}

static void nothing_usable(void **state)
{
    (void)state;
    assert_int_equal(clv_device_select(&list[3], 1, NULL), CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "too old"), "%s", clvox_message());
    assert_int_equal(clv_device_select(&list[3], 1, "gpu"), CLVOX_ERROR_DEVICE);
}

static void check_selection(void)
{
    test_set_up(list_devices);
    test_case(selection_by_index_type_part_of_a_name, "selection by index, type, part of a name in any case");
    test_case(selection_by_clvox_device_which_an_option,
              "selection by CLVOX_DEVICE, which an option overrides");
    test_case(what_is_unknown_ambiguous_or_passed_over,
              "what is unknown, ambiguous or passed over is answered by what there is");
    test_case(lists_of_devices, "lists of devices, and all of a type");
    test_case(nothing_usable, "without a usable device selection fails and says why");
}

/* ---- the PoCL of a portable package ---- */

/* The folder of a package, with a file of that name, and an empty one. */
static void lend_set_up(char package[32], char empty[32])
{
    char path[64];
    strcpy(package, "/tmp/clvox-pocl-XXXXXX");
    strcpy(empty, "/tmp/clvox-none-XXXXXX");
    assert_true(mkdtemp(package) && mkdtemp(empty));
    snprintf(path, sizeof path, "%s/libpocl-1.so", package);
    FILE *file = fopen(path, "w");
    assert_true(file && fclose(file) == 0);
}

static void pocl_of_a_package_serves_where_no_driver_finds_a_device(void **state)
{
    (void)state;
    char package[32], empty[32], path[64], expected[64];
    const char *set = getenv("OCL_ICD_VENDORS");
    char *kept = set ? strdup(set) : NULL, *path_kept = strdup(getenv("PATH"));
    lend_set_up(package, empty);
    snprintf(expected, sizeof expected, "%s/libpocl-1.so", package);

    setenv("OCL_ICD_VENDORS", "chosen", 1);
    assert_int_equal(clv_pocl_lend(empty, package), 0);
    assert_string_equal(getenv("OCL_ICD_VENDORS"), "chosen");

    unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(clv_pocl_lend(empty, NULL), 0);
    assert_int_equal(clv_pocl_lend(empty, empty), 0);
    assert_null(getenv("OCL_ICD_VENDORS"));
    assert_int_equal(clv_pocl_lend("/nowhere", package), 1);
    assert_string_equal(getenv("OCL_ICD_VENDORS"), expected);
    assert_string_equal(getenv("PATH"), path_kept);

    /* With a linker. */
    char folder[64], linker[64], *longer = NULL;
    snprintf(folder, sizeof folder, "%s/bin", package);
    snprintf(linker, sizeof linker, "%s/bin/ld", package);
    assert_int_equal(mkdir(folder, 0700), 0);
    FILE *ld = fopen(linker, "w");
    assert_true(ld && fclose(ld) == 0);
    unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(clv_pocl_lend("/nowhere", package), 1);
    assert_string_equal(getenv("PATH"), path_kept); /* it cannot be run */
    assert_int_equal(chmod(linker, 0700), 0);
    unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(clv_pocl_lend("/nowhere", package), 1);
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
        assert_int_equal(clv_pocl_lend(empty, package), 1);
    }
    unlink(path);
    unlink(expected);
    rmdir(package);
    rmdir(empty);
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
        assert_that(clv_pocl_leave_out(folder, cases[i].device) == cases[i].left_out, "case %zu", i);
        const char *now = getenv("OCL_ICD_VENDORS"), *khronos = getenv("OCL_ICD_FILENAMES");
        assert_that((now && !strcmp(now, path)) == cases[i].left_out, "case %zu", i);
        assert_that((khronos && !strcmp(khronos, path)) == cases[i].left_out, "case %zu", i);
        unsetenv("OCL_ICD_FILENAMES");
    }

    setenv("CLVOX_TEST_GPU", "3.0", 1);
    setenv("OCL_ICD_VENDORS", "chosen", 1);
    assert_int_equal(clv_pocl_leave_out(folder, NULL), 0);
    assert_string_equal(getenv("OCL_ICD_VENDORS"), "chosen");
    unsetenv("OCL_ICD_VENDORS");
    setenv("CLVOX_DEVICE", "cpu", 1);
    assert_int_equal(clv_pocl_leave_out(folder, NULL), 0);
    assert_int_equal(clv_pocl_leave_out(folder, "gpu"), 1);
    unsetenv("CLVOX_DEVICE");
    unsetenv("OCL_ICD_VENDORS");
    put_line(folder, "pocl.icd", ""); /* and no other: there is nothing to leave out */
    put_line(folder, "third.icd", "");
    assert_int_equal(clv_pocl_leave_out(folder, NULL), 0);
    assert_int_equal(clv_pocl_leave_out("/nowhere", NULL), 0);

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
    assert_int_equal(clv_nvidia_little("/nowhere", NULL, true), 2); /* no driver of NVIDIA's: no harm */
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
        assert_int_equal(clv_nvidia_little(folder, cases[i].device, false), 0);
        assert_that(clv_nvidia_little(folder, cases[i].device, true) == cases[i].one, "case %zu", i);
        const char *now = getenv("CUDA_VISIBLE_DEVICES");
        assert_that((now && !strcmp(now, "0")) == cases[i].one, "case %zu", i);
        setenv("CUDA_VISIBLE_DEVICES", "", 1); /* none at all: the user's wish */
        assert_int_equal(clv_nvidia_little(folder, cases[i].device, true), 0);
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

static void nvidias_cache_that_others_could_write(void **state)
{
    (void)state;
    char folder[] = "/tmp/clvox-nvidia-XXXXXX";
    const char *const names[] = {"CUDA_CACHE_DISABLE", "CUDA_CACHE_PATH", "HOME"};
    char *kept[3];
    for (int k = 0; k < 3; k++) {
        kept[k] = getenv(names[k]) ? strdup(getenv(names[k])) : NULL;
        unsetenv(names[k]);
    }
    assert_true(mkdtemp(folder) != NULL);
    for (int by_path = 0; by_path < 2; by_path++) {
        clv_nvidia_cache_settle(); /* none at all */
        setenv(by_path ? "CUDA_CACHE_PATH" : "HOME", folder, 1);
        clv_nvidia_cache_settle();
        assert_null(getenv("CUDA_CACHE_DISABLE"));
        assert_int_equal(chmod(folder, 0777), 0);
        clv_nvidia_cache_settle();
        assert_string_equal(getenv("CUDA_CACHE_DISABLE"), "1");
        assert_int_equal(chmod(folder, 0700), 0);
        unsetenv("CUDA_CACHE_DISABLE");
        unsetenv("HOME");
    }
    rmdir(folder);
    for (int k = 0; k < 3; k++) {
        unsetenv(names[k]);
        if (kept[k])
            setenv(names[k], kept[k], 1);
        free(kept[k]);
    }
}

static void a_pocl_that_computes_wrongly_is_known(void **state)
{
    (void)state;
    assert_true(clv_pocl_is_wrong("Portable Computing Language", "3.0-rc2"));
    assert_false(clv_pocl_is_wrong("Portable Computing Language", "3.1+debian"));
    assert_false(clv_pocl_is_wrong("NVIDIA CUDA", "3.0-rc2"));
}

static void pocl_of_a_package_leaves_a_system_with_a_driver_alone(void **state)
{
    (void)state;
    char package[32], empty[32], path[64];
    if (getenv("OCL_ICD_VENDORS") || access("/etc/OpenCL/vendors/pocl.icd", R_OK) != 0)
        skip(); /* the suite runs on another runtime */
    lend_set_up(package, empty);
    assert_int_equal(clv_pocl_lend("/etc/OpenCL/vendors", package), 0);
    assert_null(getenv("OCL_ICD_VENDORS"));
    snprintf(path, sizeof path, "%s/libpocl-1.so", package);
    unlink(path);
    rmdir(package);
    rmdir(empty);
}

/* The loader reads its folder once a process: each case is a process. */
static const char *self;

/* The first line that it says of devices where the drivers are those of this folder. */
static void say_devices(const char *folder, char *line, int room)
{
    char command[512];
    snprintf(command, sizeof command, "OCL_ICD_VENDORS=%s '%s' list", folder, self);
    FILE *from = popen(command, "r");
    assert_true(from && fgets(line, room, from));
    assert_int_equal(pclose(from), 0);
}

static void no_driver_the_message_names_the_package(void **state)
{
    (void)state;
    char line[2048], folder[] = "/tmp/clvox-icd-XXXXXX";
    assert_true(mkdtemp(folder) != NULL);
    say_devices(folder, line, sizeof line);
    assert_that(strstr(line, "no OpenCL device") && strstr(line, "pocl-opencl-icd"), "%s", line);
    rmdir(folder);
}

static void a_broken_driver_the_message_names_the_file(void **state)
{
    (void)state;
    char line[2048], path[64], folder[] = "/tmp/clvox-icd-XXXXXX";
    assert_true(mkdtemp(folder) != NULL);
    put_line(folder, "broken.icd", "libnosuchdriver.so.1");
    say_devices(folder, line, sizeof line);
    snprintf(path, sizeof path, "%s/broken.icd", folder);
    assert_that(strstr(line, path) && strstr(line, "libnosuchdriver"), "%s", line);
    unlink(path);
    rmdir(folder);
}

static void check_drivers(void)
{
    test_case(pocl_of_a_package_serves_where_no_driver_finds_a_device,
              "the PoCL of a package serves where no driver of the system finds a device");
    test_case(pocl_is_left_out_beside_the_driver_of_a_gpu, "PoCL is left out beside the driver of a GPU");
    test_case(nvidia_opens_little, "NVIDIA's driver opens no more than is used");
    test_case(nvidias_cache_that_others_could_write, "NVIDIA's cache that others could write is not used");
    test_case(a_pocl_that_computes_wrongly_is_known, "a PoCL that computes wrongly is known");
    test_case(pocl_of_a_package_leaves_a_system_with_a_driver_alone,
              "the PoCL of a package leaves a system with a driver alone");
    test_case(no_driver_the_message_names_the_package, "no driver: the message names the package");
    test_case(a_broken_driver_the_message_names_the_file, "a broken driver: the message names the file");
}

static void the_devices_here(void **state)
{
    (void)state;
    clvox_device *here;
    int count = clvox_devices_list(&here);
    if (count < 0)
        test_skip("%s", clvox_message());
    int defaults = 0;
    for (int i = 0; i < count; i++) {
        const clvox_device_limits *l = &here[i].limits;
        printf("# %s (%s) %s %s\n", l->name, l->platform, l->architecture, l->pci);
        defaults += here[i].is_default;
        assert_true(here[i].usable != (here[i].reason[0] != 0));
        assert_true(l->name[0] && l->opencl >= 10 && l->compute_units > 0 && l->global_bytes > 0);
        assert_true(!here[i].usable || (l->max_group > 0 && l->local_bytes > 0 && l->simd > 0));
        assert_true(!l->nvidia_major || (l->architecture[0] && l->pci[0] && l->simd == 32));
    }
    assert_true(defaults == 1);
    clvox_devices_destroy(&here);
    assert_true(here == NULL);
    clvox_devices_destroy(&here);
}

static void a_context_on_a_device_that_does_not_exist(void **state)
{
    (void)state;
    clvox_context *ctx;
    assert_int_equal(clvox_context_create(&(clvox_context_options){.device = "no such device"}, &ctx),
                     CLVOX_ERROR_DEVICE);
    assert_true(ctx == NULL);
}

static void check_list(void)
{
    test_case(the_devices_here, "every device here has limits, and a reason where it is passed over");
    test_case(a_context_on_a_device_that_does_not_exist, "a context on a device that does not exist");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "list")) {
        clvox_device *here;
        int count = clvox_devices_list(&here);
        printf("%s\n", count < 0 ? clvox_message() : "there are devices");
        clvox_devices_destroy(&here);
        return 0;
    }
    self = argv[0];
    check_ranking();
    check_selection();
    check_drivers();
    check_list();
    return test_run("device", NULL);
}
