/*
 * glowmcu_pairwise_coupling.h: probabilities of classes from those of each pair of them.
 */
#ifndef GLOWMCU_PAIRWISE_COUPLING_H
#define GLOWMCU_PAIRWISE_COUPLING_H

#include "glowmcu_base.h"

typedef struct {
    int32_t rows;
    int32_t classes; /* at least 2 */
    int32_t rounds;  /* at most */
    float start;     /* 1 / classes */
    float bound;     /* of errors */
} glowmcu_pairwise_coupling;

/* `q` [classes][classes] from the `pairs` (0, 1), (0, 2), ..., (1, 2), ... of a row. */
GLOWMCU_CODE
static void glowmcu_pairwise_problem(int32_t classes, const float *pairs, float *q)
{
    for (int32_t i = 0; i < classes; ++i) {
        for (int32_t j = i + 1; j < classes; ++j) {
            const float first = *pairs; /* of i beside j */
            const float second = 1.0f - first;
            q[i * classes + j] = first;
            q[j * classes + i] = second;
            ++pairs;
        }
    }
    for (int32_t i = 0; i < classes; ++i) {
        float sum = 0.0f;
        for (int32_t j = 0; j < classes; ++j) {
            if (j != i) {
                const float square = q[j * classes + i] * q[j * classes + i];
                sum += square;
            }
        }
        q[i * classes + i] = sum;
    }
    for (int32_t i = 0; i < classes; ++i) {
        for (int32_t j = i + 1; j < classes; ++j) {
            const float product = q[i * classes + j] * q[j * classes + i];
            q[i * classes + j] = -product;
            q[j * classes + i] = -product;
        }
    }
}

/* `pairs` [rows][classes * (classes - 1) / 2], `out` [rows][classes]; nothing overlaps. `scratch`
 * has classes * (classes + 1) floats. */
GLOWMCU_CODE
static void glowmcu_pairwise_coupling_f32(const glowmcu_pairwise_coupling *p, const float *pairs,
    float *out, void *scratch)
{
    const int32_t n = p->classes;
    float *q = (float *)scratch;
    float *qp = q + n * n;

    for (int32_t row = 0; row < p->rows; ++row) {
        glowmcu_pairwise_problem(n, pairs, q);
        for (int32_t i = 0; i < n; ++i) {
            out[i] = p->start;
        }
        for (int32_t round = 0; round < p->rounds; ++round) {
            float total = 0.0f;
            int32_t is_done = 1;
            for (int32_t i = 0; i < n; ++i) {
                qp[i] = 0.0f;
                for (int32_t j = 0; j < n; ++j) {
                    const float product = q[i * n + j] * out[j];
                    qp[i] += product;
                }
            }
            for (int32_t i = 0; i < n; ++i) {
                const float product = out[i] * qp[i];
                total += product;
            }
            for (int32_t i = 0; i < n; ++i) {
                const float wrong = qp[i] - total;
                if (((wrong < 0.0f) ? -wrong : wrong) >= p->bound) {
                    is_done = 0;
                }
            }
            if (is_done != 0) {
                break;
            }
            for (int32_t i = 0; i < n; ++i) {
                const float step = (total - qp[i]) / q[i * n + i];
                const float scale = 1.0f + step;
                const float square = step * q[i * n + i];
                const float twice = 2.0f * qp[i];
                const float change = step * (square + twice);
                out[i] += step;
                total = (total + change) / scale / scale;
                for (int32_t j = 0; j < n; ++j) {
                    const float product = step * q[i * n + j];
                    qp[j] = (qp[j] + product) / scale;
                    out[j] /= scale;
                }
            }
        }
        pairs += n * (n - 1) / 2;
        out += n;
    }
}

#endif /* GLOWMCU_PAIRWISE_COUPLING_H */
