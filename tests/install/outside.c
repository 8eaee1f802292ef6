/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside the tree that knows only the installed headers and library. */
#include <stdio.h>

#include <clvox/device.h>
#include <clvox/volume.h>

int main(void)
{
    clvox_grid grid = {.size = {4, 3, 2},
                       .to_ras = {{2, 0, 0, -4}, {0, 2, 0, -3}, {0, 0, 3, 5}, {0, 0, 0, 1}}};
    clvox_volume *volume = NULL, *again = NULL;
    if (clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &volume) < 0)
        goto failed;
    for (int i = 0; i < 24; i++)
        volume->data[i] = (float)i;
    if (clvox_volume_write(volume, "outside.nii.gz") < 0 || clvox_volume_read("outside.nii.gz", &again) < 0)
        goto failed;
    double spacing[3];
    clvox_grid_spacing(&again->grid, spacing);
    if (!clvox_grid_equal(&grid, &again->grid) || spacing[2] != 3 || again->data[23] != 23)
        goto failed;
    clvox_volume_destroy(&volume);
    clvox_volume_destroy(&again);

    clvox_device *devices = NULL;
    int count = clvox_devices_list(&devices);
    if (count < 0)
        printf("no device: %s\n", clvox_message());
    for (int i = 0; i < count; i++)
        printf("%s%s\n", devices[i].limits.name, devices[i].is_default ? " (default)" : "");
    clvox_devices_destroy(&devices);
    printf("clvox %s\n", clvox_version());
    return 0;

failed:
    fprintf(stderr, "%s\n", clvox_message());
    clvox_volume_destroy(&volume);
    clvox_volume_destroy(&again);
    return 1;
}
