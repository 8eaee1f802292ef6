/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "clvox/device.h"
#include "runtime/device.h"
#include "runtime/limits.h"
#include "runtime/pocl.h"
#include "runtime/select.h"

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

static void check_ranking(void)
{
    clvox_device list[] = {
        device("Xeon", "Portable Computing Language", CLVOX_DEVICE_CPU, 64, ""),
        device("NVIDIA H200", "Portable Computing Language", CLVOX_DEVICE_GPU, 132, "0000:17:00.0"),
        device("T4", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 40, "0000:65:00.0"),
        device("old", "Old", CLVOX_DEVICE_GPU, 500, ""),
        device("H200", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 132, "0000:17:00.0"),
        device("FPGA", "Vendor", CLVOX_DEVICE_ACCELERATOR, 900, ""),
    };
    list[3].usable = false;
    clv_devices_rank(list, 6);
    CHECK_CASE("ranking: GPU, accelerator, CPU, then what is passed over");
    const char *order[] = {"H200", "T4", "FPGA", "Xeon"};
    for (int i = 0; i < 4; i++)
        CHECK_THAT(!strcmp(list[i].limits.name, order[i]) && list[i].usable, "%d is %s", i,
                   list[i].limits.name);
    CHECK_CASE("a device under two platforms is kept once, by its vendor's driver");
    int seconds = 0;
    for (int i = 4; i < 6; i++)
        if (!strcmp(list[i].limits.name, "NVIDIA H200")) {
            seconds++;
            CHECK(!list[i].usable && strstr(list[i].reason, "the same device as H200 of NVIDIA CUDA"));
        }
    CHECK(seconds == 1);
}

static void check_selection(void)
{
    clvox_device list[] = {
        device("NVIDIA H200", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 132, "0000:17:00.0"),
        device("NVIDIA H200", "NVIDIA CUDA", CLVOX_DEVICE_GPU, 132, "0000:18:00.0"),
        device("AMD EPYC", "Portable Computing Language", CLVOX_DEVICE_CPU, 64, ""),
        device("Ancient 9000", "Old", CLVOX_DEVICE_GPU, 5, ""),
    };
    list[3].usable = false;
    snprintf(list[3].reason, sizeof list[3].reason, "too old");
    unsetenv("CLVOX_DEVICE");
    CHECK_CASE("selection by index, type, part of a name in any case");
    CHECK(clv_device_select(list, 4, NULL) == 0 && clv_device_select(list, 4, "") == 0);
    CHECK(clv_device_select(list, 4, "1") == 1 && clv_device_select(list, 4, "GPU") == 0);
    CHECK(clv_device_select(list, 4, "cpu") == 2 && clv_device_select(list, 4, "epyc") == 2);
    CHECK(clv_device_select(list, 4, "portable") == 2);
    CHECK_CASE("selection by CLVOX_DEVICE, which an option overrides");
    setenv("CLVOX_DEVICE", "cpu", 1);
    CHECK(clv_device_select(list, 4, NULL) == 2 && clv_device_select(list, 4, "0") == 0);
    unsetenv("CLVOX_DEVICE");
    CHECK_CASE("what is unknown, ambiguous or passed over is answered by what there is");
    const char *wrong[][2] = {{"42", "none such"}, {"fpga", "none such"}, {"accelerator", "none such"},
                              {"h200", "several"}, {"3", "too old"}, {"ancient", "too old"}};
    for (int i = 0; i < 6; i++) {
        CHECK(clv_device_select(list, 4, wrong[i][0]) == CLVOX_ERROR_DEVICE);
        CHECK_THAT(strstr(clvox_message(), wrong[i][1]) && strstr(clvox_message(), "2 AMD EPYC"), "%s",
                   clvox_message());
    }
    CHECK_CASE("nothing usable");
    CHECK(clv_device_select(&list[3], 1, NULL) == CLVOX_ERROR_DEVICE);
    CHECK_THAT(strstr(clvox_message(), "too old"), "%s", clvox_message());
    CHECK(clv_device_select(&list[3], 1, "gpu") == CLVOX_ERROR_DEVICE);
}

/* The loader reads its folder once a process: each case is a process. */
static void check_drivers(const char *self)
{
    char dir[] = "/tmp/clvox-icd-XXXXXX", path[64], command[512], line[2048] = "";
    CHECK_CASE("no driver: the message names the package");
    CHECK(mkdtemp(dir) != NULL);
    snprintf(command, sizeof command, "OCL_ICD_VENDORS=%s '%s' list", dir, self);
    FILE *from = popen(command, "r");
    CHECK(from && fgets(line, sizeof line, from));
    CHECK(from && pclose(from) == 0);
    CHECK_THAT(strstr(line, "no OpenCL device") && strstr(line, "pocl-opencl-icd"), "%s", line);
    CHECK_CASE("a broken driver: the message names the file");
    snprintf(path, sizeof path, "%s/broken.icd", dir);
    FILE *icd = fopen(path, "w");
    CHECK(icd && fputs("libnosuchdriver.so.1\n", icd) >= 0 && fclose(icd) == 0);
    from = popen(command, "r");
    line[0] = 0;
    CHECK(from && fgets(line, sizeof line, from));
    CHECK(from && pclose(from) == 0);
    CHECK_THAT(strstr(line, path) && strstr(line, "libnosuchdriver"), "%s", line);
    unlink(path);
    rmdir(dir);
}

static void check_list(void)
{
    clvox_device *list;
    int count = clvox_devices_list(&list);
    CHECK_CASE("the devices here");
    if (count < 0) {
        CHECK_SKIP("%s", clvox_message());
        return;
    }
    int defaults = 0;
    for (int i = 0; i < count; i++) {
        const clvox_device_limits *l = &list[i].limits;
        printf("# %s (%s) %s %s\n", l->name, l->platform, l->architecture, l->pci);
        defaults += list[i].is_default;
        CHECK(list[i].usable != (list[i].reason[0] != 0));
        CHECK(l->name[0] && l->opencl >= 10 && l->compute_units > 0 && l->global_bytes > 0);
        CHECK(!list[i].usable || (l->max_group > 0 && l->local_bytes > 0 && l->simd > 0));
        CHECK(!l->nvidia_major || (l->architecture[0] && l->pci[0] && l->simd == 32));
    }
    CHECK(defaults == 1);
    clvox_devices_free(&list);
    CHECK(list == NULL);
    clvox_devices_free(&list);
    CHECK_CASE("a context on a device that does not exist");
    clvox_context *ctx;
    CHECK(clvox_context_create(&(clvox_context_options){.device = "no such device"}, &ctx) ==
          CLVOX_ERROR_DEVICE);
    CHECK(ctx == NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "list")) {
        clvox_device *list;
        int count = clvox_devices_list(&list);
        printf("%s\n", count < 0 ? clvox_message() : "there are devices");
        clvox_devices_free(&list);
        return 0;
    }
    check_ranking();
    check_selection();
    check_drivers(argv[0]);
    check_list();
    return check_end();
}
