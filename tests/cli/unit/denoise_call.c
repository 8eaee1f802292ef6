/* SPDX-License-Identifier: Apache-2.0 */
/* IN OUT.ply OUT.nii.gz: what `clvox surface denoise IN -o OUT.ply --sdf OUT.nii.gz` does, by the public
 * headers and the library alone; without OUT.nii.gz what it does without --sdf. */
#include <stdio.h>

#include <clvox/device.h>
#include <clvox/surface.h>
#include <clvox/volume.h>

int main(int argc, char **argv)
{
    clvox_level_set_source source;
    clvox_level_set level_set = {.distance = NULL};
    clvox_denoise_options options;
    clvox_denoise_result result = {.distance = NULL};
    clvox_context *context = NULL;
    clvox_volume *volume = NULL;
    clvox_surface *surface = NULL;
    int status = -1;
    if (argc < 3)
        return 2;
    clvox_level_set_source_defaults(&source);
    clvox_denoise_defaults(&options);
    source.whole = options.distance = argc > 3;
    if (clvox_surface_is_file(argv[1]) ? clvox_surface_read(argv[1], &surface) < 0
                                       : clvox_volume_read(argv[1], &volume) < 0)
        goto end;
    source.volume = volume;
    source.surface = surface;
    if (clvox_context_create(NULL, &context) < 0 || clvox_level_set_create(context, &source, &level_set) < 0 ||
        clvox_surface_denoise(context, &level_set, &options, &result) < 0 ||
        clvox_surface_write(result.surface, argv[2]) < 0)
        goto end;
    status = argc > 3 ? clvox_volume_write(result.distance, argv[3]) : 0;
end:
    if (status < 0)
        fprintf(stderr, "%s\n", clvox_message());
    clvox_denoise_result_destroy(&result);
    clvox_level_set_destroy(&level_set);
    clvox_context_destroy(&context);
    clvox_volume_destroy(&volume);
    clvox_surface_destroy(&surface);
    return status < 0;
}
