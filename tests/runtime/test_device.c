/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "clvox/device.h"
#include "runtime/device/device.h"
#include "runtime/device/limits.h"
#include "runtime/device/select.h"
#include "runtime/driver/driver.h"

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

/* A processor with a driver for graphics. */
static void llvmpipe_has_to_be_asked_for(void **state)
{
    (void)state;
    clvox_device both[] = {
        device("llvmpipe (LLVM 15.0.6, 256 bits)", "rusticl", CLVOX_DEVICE_CPU, 64, ""),
        device("AMD EPYC", "Portable Computing Language", CLVOX_DEVICE_CPU, 2, ""),
        device("AMD Radeon RX 580", "rusticl", CLVOX_DEVICE_GPU, 36, ""),
    };
    unsetenv("CLVOX_DEVICE");
    clv_devices_rank(both, 2);
    assert_string_equal(both[0].limits.name, "AMD EPYC");
    assert_true(clv_device_select(both, 2, NULL) == 0 && clv_device_select(both, 2, "llvmpipe") == 1 &&
                clv_device_select(both, 2, "1") == 1 && clv_device_select(both, 2, "cpu") == 0);
    assert_int_equal(clv_device_select(&both[1], 1, NULL), CLVOX_ERROR_DEVICE);
    assert_that(strstr(clvox_message(), "llvmpipe") && strstr(clvox_message(), "pocl-opencl-icd"), "%s",
                clvox_message());
    assert_true(clv_device_select(&both[1], 1, "cpu") == 0);
    assert_true(clv_device_select(&both[2], 1, NULL) == 0);
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
    test_case(llvmpipe_has_to_be_asked_for, "a processor with a driver for graphics has to be asked for");
    test_case(nothing_usable, "without a usable device selection fails and says why");
}

/* ---- drivers ---- */

static void a_driver_is_known_by_its_platform(void **state)
{
    (void)state;
    const clv_driver *none = clv_driver_of("Some Vendor's OpenCL"), zeros = {.of_others = false};
    assert_memory_equal(none, &zeros, sizeof zeros);
    assert_true(clv_driver_of("Portable Computing Language")->two_steps &&
                clv_driver_of("rusticl")->of_others);
    for (size_t i = 0; clv_driver_at(i); i++)
        assert_ptr_equal(clv_driver_of(clv_driver_at(i)->platforms[0]), clv_driver_at(i));
}

/* The planner takes the forms for GPUs. */
static void llvmpipe_is_programmed_as_a_gpu(void **state)
{
    (void)state;
    const clv_driver *mesa = clv_driver_of("rusticl");
    clvox_device_limits llvmpipe = {.name = "llvmpipe (LLVM 15.0.6, 256 bits)", .type = CLVOX_DEVICE_CPU},
                        radeon = {.name = "AMD Radeon RX 580", .type = CLVOX_DEVICE_GPU};
    mesa->limits(NULL, &llvmpipe);
    mesa->limits(NULL, &radeon);
    assert_true(llvmpipe.type == CLVOX_DEVICE_ACCELERATOR && radeon.type == CLVOX_DEVICE_GPU);
}

static void nvidias_cache_that_others_could_write(void **state)
{
    (void)state;
    char folder[] = "/tmp/clvox-nvidia-XXXXXX", why[160] = "";
    const char *const names[] = {"CUDA_CACHE_DISABLE", "CUDA_CACHE_PATH", "HOME"};
    const clv_driver *nvidia = clv_driver_of("NVIDIA CUDA");
    const clvox_device_limits limits = {.capability_major = 9};
    char *kept[3];
    for (int k = 0; k < 3; k++) {
        kept[k] = getenv(names[k]) ? strdup(getenv(names[k])) : NULL;
        unsetenv(names[k]);
    }
    assert_true(mkdtemp(folder) != NULL);
    for (int by_path = 0; by_path < 2; by_path++) {
        nvidia->own_folder(); /* none at all */
        assert_false(nvidia->faulty(&limits, why, sizeof why));
        setenv(by_path ? "CUDA_CACHE_PATH" : "HOME", folder, 1);
        nvidia->own_folder();
        assert_null(getenv("CUDA_CACHE_DISABLE"));
        assert_false(nvidia->faulty(&limits, why, sizeof why));
        assert_int_equal(chmod(folder, 0777), 0);
        assert_true(nvidia->faulty(&limits, why, sizeof why));
        assert_that(strstr(why, folder) && strstr(why, "CUDA_CACHE_DISABLE=1"), "%s", why);
        nvidia->own_folder(); /* it goes without */
        assert_string_equal(getenv("CUDA_CACHE_DISABLE"), "1");
        assert_false(nvidia->faulty(&limits, why, sizeof why));
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
    char why[160] = "";
    const clv_driver *pocl = clv_driver_of("Portable Computing Language");
    assert_true(pocl->faulty(&(clvox_device_limits){.driver = "3.0-rc2"}, why, sizeof why));
    assert_false(pocl->faulty(&(clvox_device_limits){.driver = "6.0+debian"}, why, sizeof why));
    assert_that(strstr(why, "wrong kernels") != NULL, "%s", why);
    assert_true(pocl->faulty(&(clvox_device_limits){.driver = "7.1+debian"}, why, sizeof why));
    assert_true(pocl->faulty(&(clvox_device_limits){.driver = "10.0"}, why, sizeof why));
    assert_that(strstr(why, "twice") != NULL, "%s", why);
    assert_false(pocl->faulty(&(clvox_device_limits){.driver = "3.1+debian"}, why, sizeof why));
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

/* A program that uses the library alone: nothing prepares the environment. */
static void a_folder_of_pocl_that_others_could_write_is_refused(void **state)
{
    (void)state;
    static const char *const ways[] = {"POCL_CACHE_DIR=%s/open", "-u POCL_CACHE_DIR XDG_CACHE_HOME=%s/open",
                                       "-u POCL_CACHE_DIR -u XDG_CACHE_HOME HOME=%s/open"};
    char folder[] = "/tmp/clvox-open-XXXXXX", way[160], command[1024], line[2048], path[64];
    if (getenv("OCL_ICD_VENDORS") || access("/etc/OpenCL/vendors/pocl.icd", R_OK) != 0)
        test_skip("PoCL is not the driver here");
    assert_true(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/open", folder);
    assert_true(mkdir(path, 0777) == 0 && chmod(path, 0777) == 0);
    for (int i = 0; i < 3; i++) {
        snprintf(way, sizeof way, ways[i], folder);
        snprintf(command, sizeof command, "env %s OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd '%s' list",
                 way, self);
        FILE *from = popen(command, "r");
        line[0] = 0;
        assert_true(from && fgets(line, sizeof line, from) && pclose(from) == 0);
        assert_that(strstr(line, "no OpenCL device: PoCL runs what it finds") && strstr(line, path) &&
                        strstr(line, "set POCL_CACHE_DIR"),
                    "%s: %s", way, line);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
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
    snprintf(path, sizeof path, "%s/broken.icd", folder);
    FILE *file = fopen(path, "w");
    assert_true(file && fprintf(file, "libnosuchdriver.so.1\n") > 0 && fclose(file) == 0);
    say_devices(folder, line, sizeof line);
    assert_that(strstr(line, path) && strstr(line, "libnosuchdriver"), "%s", line);
    unlink(path);
    rmdir(folder);
}

static void check_drivers(void)
{
    test_case(a_driver_is_known_by_its_platform,
              "a driver is known by its platform, and one that is not listed is none");
    test_case(llvmpipe_is_programmed_as_a_gpu, "llvmpipe, a processor, is programmed as a GPU");
    test_case(nvidias_cache_that_others_could_write,
              "a GPU whose driver's cache others could write is not used");
    test_case(a_pocl_that_computes_wrongly_is_known, "a PoCL that computes wrongly is known");
    test_case(a_folder_of_pocl_that_others_could_write_is_refused,
              "PoCL whose folder others could write is not asked for devices, and the environment stays");
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
        assert_true(!l->capability_major || (l->architecture[0] && l->pci[0] && l->simd == 32));
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
    assert_int_equal(clvox_context_create(CONTEXT_OPTIONS(.device = "no such device"), &ctx),
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
        int before = 0, after = 0;
        while (environ[before])
            before++;
        int count = clvox_devices_list(&here);
        while (environ[after])
            after++;
        printf("%s\n", before != after ? "the environment is changed"
                       : count < 0     ? clvox_message()
                                       : "there are devices");
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
