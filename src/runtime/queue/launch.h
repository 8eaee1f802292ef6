/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels at work. */
#ifndef CLV_RUNTIME_LAUNCH_H
#define CLV_RUNTIME_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/queue/buffer.h"
#include "runtime/kernel/kernel.h"

typedef struct clv_arg {
    size_t bytes;
    const void *data;         /* NULL with bytes > 0: local memory; not NULL with 0: the buffer's image */
    const clv_buffer *buffer; /* a buffer argument, when bytes is 0; NULL is passed on as NULL */
} clv_arg;

#define CLV_BUF(b) ((clv_arg){0, NULL, (b)})
#define CLV_IMAGE(b) ((clv_arg){0, "image", (b)})
#define CLV_INT(v) ((clv_arg){sizeof(int32_t), &(int32_t){(v)}, NULL})
#define CLV_FLOAT(v) ((clv_arg){sizeof(float), &(float){(v)}, NULL})
#define CLV_INT4(a, b, c, d) ((clv_arg){16, (int32_t[4]){(a), (b), (c), (d)}, NULL})
#define CLV_FLOAT4(a, b, c, d) ((clv_arg){16, (float[4]){(a), (b), (c), (d)}, NULL})
#define CLV_FLOAT4V(p) ((clv_arg){16, (p), NULL})
#define CLV_LOCAL(n) ((clv_arg){(n), NULL, NULL})

/* Work-groups of a launch over so many elements, along each axis (groups may be
 * NULL) and in all. */
int clv_launch_groups(const clv_kernel *kernel, const int size[3], int groups[3]);

/* How often as many elements as a volume has voxels fill the device with such work-groups (a CPU: each core
 * with one): 2.1 are three rounds, the last of them a tenth full. -1: not known, or a group shares the
 * work on one element, which is no voxel then. */
double clv_launch_waves(const clvox_device_limits *limits, const clv_kernel *kernel, const int size[3]);

/* Queues a kernel over so many elements along each axis. moved: bytes that must cross device memory, counted once, for
 * --profile and the bench. Does not wait. */
int clv_launch_args(clvox_context *ctx, const clv_kernel *kernel, const int size[3], double moved,
                    const clv_arg *args, int count);
#define CLV_LAUNCH(ctx, kernel, size, moved, ...)                                     \
    clv_launch_args((ctx), (kernel), (size), (moved), (const clv_arg[]){__VA_ARGS__}, \
                    (int)(sizeof((const clv_arg[]){__VA_ARGS__}) / sizeof(clv_arg)))

#endif
