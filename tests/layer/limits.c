/* SPDX-License-Identifier: Apache-2.0 */
/* A device's limits: what it says of them, and the errors that its driver would give beyond. */
#include "layer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Vendors' queries, by number. */
enum { NV_MAJOR = 0x4000, NV_MINOR = 0x4001, NV_WARP = 0x4003 };
enum { AMD_BOARD = 0x4038, AMD_SIMDS = 0x4040, AMD_WAVEFRONT = 0x4043 };

static bool lacks(const char *what)
{
    return layer_is(what, "no");
}

/* Text of a setting; false: it is not there. */
static bool text_of(const char *name, char *out, size_t room)
{
    const char *value = layer_setting(name);
    if (!value || *value != ':')
        return false;
    snprintf(out, room, "%.*s", (int)strcspn(value + 1, ","), value + 1);
    return true;
}

static bool is_amd(const char *architecture)
{
    return !strncmp(architecture, "gfx", 3);
}

/* ---- answers ---------------------------------------------------------------- */

static void without(char *extensions, const char *name)
{
    const size_t length = strlen(name);
    for (char *at = extensions; (at = strstr(at, name));)
        memmove(at, at + length, strlen(at + length) + 1);
}

static cl_int extensions(cl_device_id device, size_t room, void *out, size_t *returned)
{
    char text[16384] = "", architecture[32] = "";
    const cl_int error =
        layer_next->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text - 64, text, NULL);
    if (error != CL_SUCCESS)
        return error;
    if (lacks("doubles"))
        without(text, "cl_khr_fp64");
    if (lacks("atomics")) {
        without(text, "cl_khr_int64_base_atomics");
        without(text, "cl_khr_int64_extended_atomics");
    }
    if (lacks("images"))
        without(text, "cl_khr_3d_image_writes");
    if (text_of("architecture", architecture, sizeof architecture))
        strcat(text, is_amd(architecture) ? " cl_amd_device_attribute_query"
                                          : " cl_nv_device_attribute_query");
    return layer_answer(text, strlen(text) + 1, room, out, returned);
}

/* A number that the device's listing has, of the size in which it is asked for. */
typedef struct figure {
    cl_device_info what;
    const char *name;
    int bytes, shift;
} figure;

static const figure figures[] = {
    {CL_DEVICE_MAX_COMPUTE_UNITS, "units", 4, 0},
    {CL_DEVICE_MAX_CLOCK_FREQUENCY, "clock", 4, 0},
    {CL_DEVICE_GLOBAL_MEM_SIZE, "memory", 8, 20},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, "largest", 8, 20},
    {CL_DEVICE_LOCAL_MEM_SIZE, "local", 8, 0},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, "group", 8, 0},
    {CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, "pixels", 8, 0},
    {AMD_SIMDS, "simds", 4, 0},
    {AMD_WAVEFRONT, "simd", 4, 0},
    {NV_WARP, "simd", 4, 0},
};

/* Its other answers; CL_INVALID_VALUE: it has none. */
static cl_int other_answer(cl_device_info what, size_t room, void *out, size_t *returned)
{
    char text[128], version[32], architecture[32] = "";
    const bool named = text_of("name", text, sizeof text);
    size_t items[3];
    int major = 0, minor = 0;
    text_of("architecture", architecture, sizeof architecture);
    if (what == CL_DEVICE_NAME && (named || is_amd(architecture))) {
        const char *name = is_amd(architecture) ? architecture : text;
        return layer_answer(name, strlen(name) + 1, room, out, returned);
    }
    if (what == AMD_BOARD && named && is_amd(architecture))
        return layer_answer(text, strlen(text) + 1, room, out, returned);
    if ((what == NV_MAJOR || what == NV_MINOR) && sscanf(architecture, "%d.%d", &major, &minor) == 2)
        return layer_answer(what == NV_MAJOR ? &major : &minor, sizeof major, room, out, returned);
    if (what == CL_DEVICE_VERSION && text_of("opencl", version, sizeof version)) {
        snprintf(text, sizeof text, "OpenCL %s simulated", version);
        return layer_answer(text, strlen(text) + 1, room, out, returned);
    }
    if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES && text_of("items", text, sizeof text) &&
        sscanf(text, "%zux%zux%zu", &items[0], &items[1], &items[2]) == 3)
        return layer_answer(items, sizeof items, room, out, returned);
    return CL_INVALID_VALUE;
}

static cl_int yes_or_no(bool is, size_t room, void *out, size_t *returned)
{
    const cl_bool answer = is ? CL_TRUE : CL_FALSE;
    return layer_answer(&answer, sizeof answer, room, out, returned);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t room, void *out,
                                      size_t *returned)
{
    const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const cl_device_local_mem_type kind = layer_is("kind", "global") ? CL_GLOBAL : CL_LOCAL;
    const cl_uint one = 1;
    const cl_device_fp_config none = 0;
    if (layer_setting("gpu") && what == CL_DEVICE_TYPE)
        return layer_answer(&gpu, sizeof gpu, room, out, returned);
    if (layer_setting("gpu") && layer_setting("name") && what == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT)
        return layer_answer(&one, sizeof one, room, out, returned);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        if (what == figures[i].what && layer_number(figures[i].name) > 0) {
            const uint64_t value = (uint64_t)layer_number(figures[i].name) << figures[i].shift;
            const uint32_t narrow = (uint32_t)value;
            return layer_answer(figures[i].bytes == 8 ? (const void *)&value : &narrow,
                                (size_t)figures[i].bytes, room, out, returned);
        }
    if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && layer_number("memory") > 0) {
        const cl_ulong quarter = (cl_ulong)layer_number("memory") << 18;
        return layer_answer(&quarter, sizeof quarter, room, out, returned);
    }
    if (what == CL_DEVICE_LOCAL_MEM_TYPE && layer_setting("kind"))
        return layer_answer(&kind, sizeof kind, room, out, returned);
    if (what == CL_DEVICE_DOUBLE_FP_CONFIG && lacks("doubles"))
        return layer_answer(&none, sizeof none, room, out, returned);
    if (what == CL_DEVICE_IMAGE_SUPPORT && lacks("images"))
        return yes_or_no(false, room, out, returned);
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && layer_setting("unified"))
        return yes_or_no(layer_is("unified", "yes"), room, out, returned);
    if (what == CL_DEVICE_EXTENSIONS)
        return extensions(device, room, out, returned);
    const cl_int answered = other_answer(what, room, out, returned);
    return answered != CL_INVALID_VALUE ? answered
                                        : layer_next->clGetDeviceInfo(device, what, room, out, returned);
}

static cl_int CL_API_CALL group_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                     size_t room, void *out, size_t *returned)
{
    const cl_int error = layer_next->clGetKernelWorkGroupInfo(kernel, device, what, room, out, returned);
    const long most = layer_number("group");
    if (error == CL_SUCCESS && out && what == CL_KERNEL_WORK_GROUP_SIZE && most > 0 &&
        *(size_t *)out > (size_t)most)
        *(size_t *)out = (size_t)most;
    return error;
}

/* ---- memory ------------------------------------------------------------------ */

static long largest(void)
{
    const long memory = layer_number("memory"), said = layer_number("largest");
    return said > 0 ? said << 20 : memory > 0 ? memory << 18 : 0;
}

cl_int limits_buffer(size_t bytes, size_t all)
{
    const long memory = layer_number("memory");
    if (largest() > 0 && bytes > (size_t)largest())
        return CL_INVALID_BUFFER_SIZE;
    return memory > 0 && all > (size_t)memory << 20 ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
}

static cl_mem CL_API_CALL image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                                const cl_image_desc *described, void *host, cl_int *error)
{
    const long pixels = layer_number("pixels");
    const cl_int refused = lacks("images") ? CL_INVALID_OPERATION
                           : pixels > 0 && described->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER &&
                                   described->image_width > (size_t)pixels
                               ? CL_INVALID_IMAGE_SIZE
                               : CL_SUCCESS;
    if (refused == CL_SUCCESS)
        return layer_next->clCreateImage(context, flags, format, described, host, error);
    if (error)
        *error = refused;
    return NULL;
}

/* ---- programs ------------------------------------------------------------------ */

cl_int limits_build(const char *options, cl_int refusal)
{
    char version[32];
    float asked = 0, has = 0;
    const char *standard = options ? strstr(options, "-cl-std=CL") : NULL;
    return standard && text_of("opencl", version, sizeof version) && sscanf(version, "%f", &has) == 1 &&
                   sscanf(standard, "-cl-std=CL%f", &asked) == 1 && asked > has
               ? refusal
               : CL_SUCCESS;
}

/* In front of the last text alone, where it has such words: those before it are the driver's own
 * declarations, or take their place. */
cl_program limits_program(cl_context context, cl_uint count, const char **texts, const size_t *lengths,
                          cl_int *error)
{
    static const char doubles[] = "#undef cl_khr_fp64\n"
                                  "#define double no_double_on_this_device\n"
                                  "#define double2 no_double_on_this_device\n"
                                  "#define double3 no_double_on_this_device\n"
                                  "#define double4 no_double_on_this_device\n"
                                  "#define double8 no_double_on_this_device\n"
                                  "#define double16 no_double_on_this_device\n";
    /* atom_ of 32 bits were OpenCL 1.0's. */
    static const char atomics[] = "#undef cl_khr_int64_base_atomics\n"
                                  "#undef cl_khr_int64_extended_atomics\n"
                                  "#define atom_add no_atomics_of_64_bits_on_this_device\n"
                                  "#define atom_min no_atomics_of_64_bits_on_this_device\n"
                                  "#define atom_max no_atomics_of_64_bits_on_this_device\n"
                                  "#define atom_xchg no_atomics_of_64_bits_on_this_device\n"
                                  "#define atom_cmpxchg no_atomics_of_64_bits_on_this_device\n";
    static const char images[] = "#undef __IMAGE_SUPPORT__\n"
                                 "#define image1d_buffer_t no_images_on_this_device\n"
                                 "#define image2d_t no_images_on_this_device\n"
                                 "#define image3d_t no_images_on_this_device\n";
    enum { MOST = 8 };
    const char *given[MOST + 1];
    size_t length[MOST + 1];
    char before[sizeof doubles + sizeof atomics + sizeof images + 16] = "";
    const char *last = count > 0 ? texts[count - 1] : "";
    if (lacks("doubles") && (strstr(last, "double") || strstr(last, "cl_khr_fp64")))
        strcat(before, doubles);
    if (lacks("atomics") && (strstr(last, "atom_") || strstr(last, "cl_khr_int64")))
        strcat(before, atomics);
    if (lacks("images") && (strstr(last, "image") || strstr(last, "IMAGE")))
        strcat(before, images);
    if (!before[0] || count > MOST)
        return layer_next->clCreateProgramWithSource(context, count, texts, lengths, error);
    strcat(before, "#line 1\n");
    for (cl_uint i = 0, to = 0; i < count; i++) {
        if (i + 1 == count) {
            given[to] = before;
            length[to++] = strlen(before);
        }
        given[to] = texts[i];
        length[to++] = lengths && lengths[i] ? lengths[i] : strlen(texts[i]);
    }
    return layer_next->clCreateProgramWithSource(context, count + 1, given, length, error);
}

/* ---- launches -------------------------------------------------------------------- */

/* Local memory that a kernel gets as arguments. */
enum { MOST_LOCAL = 1024 };
static struct {
    pthread_mutex_t lock;
    struct {
        cl_kernel kernel;
        cl_uint index;
        size_t bytes;
    } of[MOST_LOCAL];
    int count;
} handed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(cl_kernel kernel, bool all, cl_uint index)
{
    for (int i = handed.count - 1; i >= 0; i--)
        if (handed.of[i].kernel == kernel && (all || handed.of[i].index == index))
            handed.of[i] = handed.of[--handed.count];
}

/* A new kernel may lie where one was released. */
void limits_kernel(cl_kernel kernel)
{
    pthread_mutex_lock(&handed.lock);
    forget(kernel, true, 0);
    pthread_mutex_unlock(&handed.lock);
}

void limits_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
    pthread_mutex_lock(&handed.lock);
    forget(kernel, false, index);
    if (!value && bytes != sizeof(cl_mem) && handed.count < MOST_LOCAL) {
        handed.of[handed.count].kernel = kernel;
        handed.of[handed.count].index = index;
        handed.of[handed.count++].bytes = bytes;
    }
    pthread_mutex_unlock(&handed.lock);
}

static size_t local_of(cl_command_queue queue, cl_kernel kernel)
{
    cl_device_id device = NULL;
    cl_ulong own = 0;
    size_t sum = 0;
    layer_next->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    layer_next->clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof own, &own, NULL);
    pthread_mutex_lock(&handed.lock);
    for (int i = 0; i < handed.count; i++)
        sum += handed.of[i].kernel == kernel ? handed.of[i].bytes : 0;
    pthread_mutex_unlock(&handed.lock);
    return own > sum ? (size_t)own : sum;
}

cl_int limits_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *local)
{
    char text[128];
    size_t most[3], items = 1;
    const long group = layer_number("group"), room = layer_number("local");
    for (cl_uint d = 0; local && d < dimensions; d++)
        items *= local[d];
    if (group > 0 && items > (size_t)group)
        return CL_INVALID_WORK_GROUP_SIZE;
    if (text_of("items", text, sizeof text) &&
        sscanf(text, "%zux%zux%zu", &most[0], &most[1], &most[2]) == 3)
        for (cl_uint d = 0; local && d < dimensions; d++)
            if (local[d] > most[d])
                return CL_INVALID_WORK_ITEM_SIZE;
    return room > 0 && local_of(queue, kernel) > (size_t)room ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

void limits_take_over(cl_icd_dispatch *mine)
{
    mine->clGetDeviceInfo = device_info;
    mine->clGetKernelWorkGroupInfo = group_info;
    mine->clCreateImage = image;
}
