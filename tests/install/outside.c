/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside the tree that knows only the installed headers and library. */
#include <stdio.h>

#include <clvox/device.h>

int main(void)
{
    clvox_device *devices = NULL;
    int count = clvox_devices_list(&devices);
    if (count < 0)
        printf("no device: %s\n", clvox_message());
    for (int i = 0; i < count; i++)
        printf("%s%s\n", devices[i].limits.name, devices[i].is_default ? " (default)" : "");
    clvox_devices_free(&devices);
    printf("clvox %s\n", clvox_version());
    return devices ? 1 : 0;
}
