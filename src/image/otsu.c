/* SPDX-License-Identifier: Apache-2.0 */
#include "image/otsu.h"

int clv_otsu(const double *counts, int bins)
{
    double total = 0, moment = 0, below = 0, below_moment = 0, best = -1;
    int at = 0;
    for (int i = 0; i < bins; i++) {
        total += counts[i];
        moment += counts[i] * i;
    }
    for (int i = 0; i < bins - 1; i++) {
        below += counts[i];
        below_moment += counts[i] * i;
        if (below == 0 || below == total)
            continue;
        double gap = below_moment / below - (moment - below_moment) / (total - below);
        double between = below * (total - below) * gap * gap;
        if (between > best) {
            best = between;
            at = i + 1;
        }
    }
    return at;
}
