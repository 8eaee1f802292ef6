/* SPDX-License-Identifier: Apache-2.0 */
#include "base/eigen.h"

#include <math.h>
#include <string.h>

static void rotate(double a[3][3], double v[3][3], int p, int q)
{
    if (a[p][q] == 0)
        return;
    double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 3; k++) {
        double kp = a[k][p], kq = a[k][q];
        a[k][p] = c * kp - s * kq;
        a[k][q] = s * kp + c * kq;
    }
    for (int k = 0; k < 3; k++) {
        double pk = a[p][k], qk = a[q][k];
        a[p][k] = c * pk - s * qk;
        a[q][k] = s * pk + c * qk;
    }
    for (int k = 0; k < 3; k++) {
        double kp = v[k][p], kq = v[k][q];
        v[k][p] = c * kp - s * kq;
        v[k][q] = s * kp + c * kq;
    }
}

static void swap_columns(double values[3], double v[3][3], int p, int q)
{
    double t = values[p];
    values[p] = values[q];
    values[q] = t;
    for (int k = 0; k < 3; k++) {
        t = v[k][p];
        v[k][p] = v[k][q];
        v[k][q] = t;
    }
}

void clv_eigen_symmetric(const double matrix[3][3], double values[3], double vectors[3][3])
{
    double a[3][3];
    memcpy(a, matrix, sizeof a);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            vectors[i][j] = i == j;
    for (int sweep = 0; sweep < 50; sweep++) {
        double off = fabs(a[0][1]) + fabs(a[0][2]) + fabs(a[1][2]);
        if (off <= 1e-15 * (fabs(a[0][0]) + fabs(a[1][1]) + fabs(a[2][2])))
            break;
        rotate(a, vectors, 0, 1);
        rotate(a, vectors, 0, 2);
        rotate(a, vectors, 1, 2);
    }
    for (int i = 0; i < 3; i++)
        values[i] = a[i][i];
    if (values[0] > values[1])
        swap_columns(values, vectors, 0, 1);
    if (values[1] > values[2])
        swap_columns(values, vectors, 1, 2);
    if (values[0] > values[1])
        swap_columns(values, vectors, 0, 1);
    double(*v)[3] = vectors;
    double determinant = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) -
                         v[0][1] * (v[1][0] * v[2][2] - v[1][2] * v[2][0]) +
                         v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
    if (determinant < 0)
        for (int k = 0; k < 3; k++)
            v[k][0] = -v[k][0];
}
