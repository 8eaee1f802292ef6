/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_STATUS_H
#define CLVOX_STATUS_H

/* The version of these headers; clvox_version says that of the library. */
#define CLVOX_VERSION_MAJOR 0
#define CLVOX_VERSION_MINOR 2
#define CLVOX_VERSION_PATCH 0

#if defined(__GNUC__)
#define CLVOX_API __attribute__((visibility("default")))
#define CLVOX_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define CLVOX_API
#define CLVOX_PRINTF(at, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Every function that can fail returns one of these as an int: 0 or a positive
 * count on success, a negative code on failure. After a failure
 * clvox_message() holds one sentence for the person at the desk: which file or
 * argument, what is wrong with it, and what to do. NULL where a pointer is needed is a CLVOX_ERROR_ARGUMENT;
 * functions that return something else then return 0, NULL or nothing. */
typedef enum clvox_status {
    CLVOX_OK = 0,
    CLVOX_ERROR_ARGUMENT = -1, /* an argument or option is not usable */
    CLVOX_ERROR_FILE = -2,     /* a file cannot be opened, read or written */
    CLVOX_ERROR_FORMAT = -3,   /* a file's content is damaged or not supported */
    CLVOX_ERROR_MEMORY = -4,   /* host or device memory does not suffice */
    CLVOX_ERROR_DEVICE = -5,   /* no device, or an OpenCL call failed */
    CLVOX_ERROR_BUILD = -6,    /* a kernel does not build on the device */
    CLVOX_ERROR_DATA = -7,     /* the data make the task impossible (empty mask, no overlap) */
    CLVOX_ERROR_STOPPED = -8   /* interrupted by the user */
} clvox_status;

/* The sentence that explains the last failure in the calling thread.
 * Never NULL; empty when nothing has failed. Owned by the library and valid
 * until the next failure in this thread. */
CLVOX_API const char *clvox_message(void);

/* Stores the sentence for clvox_message and returns code: for a program's own steps and callbacks, so that
 * their failures read like the library's. At most 2047 bytes are kept. */
CLVOX_API int clvox_fail(clvox_status code, const char *format, ...) CLVOX_PRINTF(2, 3);

/* Puts "context: " before the last failure's sentence and returns code. */
CLVOX_API int clvox_fail_in(int code, const char *context);

/* Releases bytes or text that the library made and sets *text to NULL. NULL is legal. */
CLVOX_API void clvox_text_destroy(char **text);

/* The version of the library, "major.minor.patch". Static storage. */
CLVOX_API const char *clvox_version(void);

#ifdef __cplusplus
}
#endif

#endif
