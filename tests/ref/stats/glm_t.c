/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/stats/glm_t.h"

#include <math.h>
#include <stdlib.h>

double ref_glm_t(const float *data, const double *weights, int subjects, int vectors, double dof,
                 double least)
{
    double left = 1, first = 0, rest = 0;
    for (int j = 0; j < vectors; j++) {
        double sum = 0;
        for (int s = 0; s < subjects; s++)
            sum += weights[j * subjects + s] * (double)data[s];
        left -= sum * sum;
        first = j ? first : sum;
    }
    for (int s = 0; s < subjects; s++) {
        double e = (double)data[s];
        for (int j = 0; j < vectors; j++)
            for (int i = 0; i < subjects; i++)
                e -= weights[j * subjects + s] * weights[j * subjects + i] * (double)data[i];
        rest += e * e;
    }
    left = left < 1e-3 ? rest : left;
    return left > least ? first * sqrt(dof / left) : 0;
}

double ref_glm_t_of_design(const double *data, const double *design, int subjects, int columns)
{
    enum { MOST = 16 };
    double a[MOST][2 * MOST] = {{0}}, b[MOST] = {0}, beta[MOST], rest = 0;
    for (int i = 0; i < columns; i++) {
        for (int s = 0; s < subjects; s++) {
            for (int j = 0; j < columns; j++)
                a[i][j] += design[i * subjects + s] * design[j * subjects + s];
            b[i] += design[i * subjects + s] * data[s];
        }
        a[i][columns + i] = 1;
    }
    for (int i = 0; i < columns; i++) { /* Gauss and Jordan, the largest pivot of the column */
        int best = i;
        for (int k = i + 1; k < columns; k++)
            best = fabs(a[k][i]) > fabs(a[best][i]) ? k : best;
        for (int j = 0; j < 2 * columns; j++) {
            double other = a[i][j];
            a[i][j] = a[best][j], a[best][j] = other;
        }
        for (int j = 2 * columns - 1; j >= 0; j--)
            a[i][j] /= a[i][i];
        for (int k = 0; k < columns; k++)
            for (int j = 2 * columns - 1; k != i && j >= i; j--)
                a[k][j] -= a[k][i] * a[i][j];
    }
    for (int i = 0; i < columns; i++) {
        beta[i] = 0;
        for (int j = 0; j < columns; j++)
            beta[i] += a[i][columns + j] * b[j];
    }
    for (int s = 0; s < subjects; s++) {
        double fit = 0;
        for (int i = 0; i < columns; i++)
            fit += beta[i] * design[i * subjects + s];
        rest += (data[s] - fit) * (data[s] - fit);
    }
    int last = columns - 1;
    return beta[last] / sqrt(rest / (subjects - columns) * a[last][columns + last]);
}
