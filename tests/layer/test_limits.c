/* SPDX-License-Identifier: Apache-2.0 */
/* The layer keeps the limits that it states: those of the test's environment (meson.build). */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "check.h"

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static int open_device(void **state)
{
    cl_platform_id platform;
    cl_int error;
    (void)state;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return -1;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    queue = clCreateCommandQueue(context, device, 0, &error);
    return error;
}

static int close_device(void **state)
{
    (void)state;
    return clReleaseCommandQueue(queue) | clReleaseContext(context);
}

static void says_what_the_list_says(void **state)
{
    char name[64], extensions[16384];
    cl_ulong local;
    size_t items[3];
    cl_bool images;
    (void)state;
    assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), CL_SUCCESS);
    assert_string_equal(name, "Small One");
    clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    assert_null(strstr(extensions, "cl_khr_fp64"));
    assert_null(strstr(extensions, "cl_khr_int64"));
    clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local, NULL);
    clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL);
    clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL);
    assert_true(local == 4096 && items[0] == 64 && items[2] == 8 && !images);
}

static cl_int buffer_of(size_t bytes, cl_mem *out)
{
    cl_int error;
    *out = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
    return error;
}

static void memory_ends_where_it_says(void **state)
{
    cl_mem part[8], more;
    (void)state;
    assert_int_equal(buffer_of(((size_t)1 << 20) + 1, &more), CL_INVALID_BUFFER_SIZE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(buffer_of((size_t)1 << 20, &part[i]), CL_SUCCESS);
    assert_int_equal(buffer_of(4, &more), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    for (int i = 0; i < 4; i++)
        clReleaseMemObject(part[i]);
    assert_int_equal(buffer_of(4, &more), CL_SUCCESS);
    clReleaseMemObject(more);
}

static void there_are_no_images(void **state)
{
    const cl_image_format format = {CL_RGBA, CL_FLOAT};
    const cl_image_desc of = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4};
    cl_int error;
    (void)state;
    assert_null(clCreateImage(context, CL_MEM_READ_ONLY, &format, &of, NULL, &error));
    assert_int_equal(error, CL_INVALID_OPERATION);
}

static cl_program program_of(const char *text, const char *options, cl_int *built)
{
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    *built = clBuildProgram(program, 1, &device, options, NULL, NULL);
    return program;
}

static void sources_that_use_what_it_lacks_do_not_build(void **state)
{
    static const struct {
        const char *text, *options;
        bool builds;
    } of[] = {
        {"__kernel void f(__global float *a) { a[0] = 1; }", "", true},
        {"__kernel void f(__global float *a) { double d = a[0]; a[1] = d; }", "", false},
        {"__kernel void f(__global float *a) { double2 d = 1; a[1] = d.x; }", "", false},
        {"__kernel void f(__global long *a) { atom_add(a, 1L); }", "", false},
        {"__kernel void f(__global int *a) { atomic_add(a, 1); }", "", true},
        {"__kernel void f(read_only image2d_t a) {}", "", false},
        {"#ifdef cl_khr_fp64\n#error doubles\n#endif\n"
         "__kernel void f(__global int *a) { a[0] = 1; }", "", true},
        {"#ifdef cl_khr_int64_base_atomics\n#error atomics\n#endif\n"
         "__kernel void f(__global int *a) { a[0] = 1; }", "", true},
        {"__kernel void f(__global float *a) { a[0] = 1; }", "-cl-std=CL1.2", true},
        {"__kernel void f(__global float *a) { a[0] = 1; }", "-cl-std=CL2.0", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        cl_int built;
        cl_program program = program_of(of[i].text, of[i].options, &built);
        assert_that((built == CL_SUCCESS) == of[i].builds, "%d: %s", built, of[i].text);
        clReleaseProgram(program);
    }
}

static cl_int launch(cl_kernel kernel, size_t x, size_t y, size_t z)
{
    const size_t local[3] = {x, y, z};
    const cl_int error = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, local, local, 0, NULL, NULL);
    clFinish(queue);
    return error;
}

static void launches_beyond_its_groups_and_local_memory_fail(void **state)
{
    static const char text[] =
        "__kernel void plain(__global float *a) { a[0] = 1; }\n"
        "__kernel void given(__global float *a, __local float *b) { b[0] = a[0]; a[0] = b[0]; }\n"
        "__kernel void own(__global float *a) { __local float b[1025]; b[0] = a[0]; a[0] = b[0]; }\n";
    cl_int built, error;
    cl_ulong said = 0;
    cl_mem buffer;
    cl_program program = program_of(text, "", &built);
    (void)state;
    assert_int_equal(built, CL_SUCCESS);
    assert_int_equal(buffer_of(64, &buffer), CL_SUCCESS);
    cl_kernel plain = clCreateKernel(program, "plain", &error);
    cl_kernel given = clCreateKernel(program, "given", &error), own = clCreateKernel(program, "own", &error);
    size_t most;
    clGetKernelWorkGroupInfo(plain, device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    assert_true(most == 64);
    clSetKernelArg(plain, 0, sizeof buffer, &buffer);
    clSetKernelArg(given, 0, sizeof buffer, &buffer);
    clSetKernelArg(own, 0, sizeof buffer, &buffer);
    assert_int_equal(launch(plain, 64, 1, 1), CL_SUCCESS);
    assert_int_equal(launch(plain, 8, 4, 2), CL_SUCCESS);
    assert_int_equal(launch(plain, 64, 2, 1), CL_INVALID_WORK_GROUP_SIZE);
    assert_int_equal(launch(plain, 1, 1, 16), CL_INVALID_WORK_ITEM_SIZE);
    clSetKernelArg(given, 1, 4096, NULL);
    clGetKernelWorkGroupInfo(given, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof said, &said, NULL);
    if (said <= 4096) /* NVIDIA's driver adds some of its own */
        assert_int_equal(launch(given, 1, 1, 1), CL_SUCCESS);
    clSetKernelArg(given, 1, 4100, NULL);
    assert_int_equal(launch(given, 1, 1, 1), CL_OUT_OF_RESOURCES);
    clReleaseKernel(plain);
    clGetKernelWorkGroupInfo(own, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof said, &said, NULL);
    if (said) /* PoCL does not report what a kernel declares itself */
        assert_int_equal(launch(own, 1, 1, 1), CL_OUT_OF_RESOURCES);
    clReleaseKernel(given);
    clReleaseKernel(own);
    clReleaseProgram(program);
    clReleaseMemObject(buffer);
}

int main(void)
{
    char name[64] = "";
    if (open_device(NULL) != CL_SUCCESS)
        return test_skip_all("there is no OpenCL device");
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    if (strcmp(name, "Small One") != 0)
        return test_skip_all("the OpenCL loader here takes no layers");
    test_case(says_what_the_list_says, "a device says what the list says");
    test_case(memory_ends_where_it_says, "memory ends where the device says, in all and in one piece");
    test_case(there_are_no_images, "there are no images");
    test_case(sources_that_use_what_it_lacks_do_not_build, "sources that use what it lacks do not build");
    test_case(launches_beyond_its_groups_and_local_memory_fail,
              "launches beyond its work-groups and local memory fail");
    return test_run("limits", close_device);
}
