/* wave_linear.c: the little linear algebra that the fits need (dense, some
 * thousand rows at most), and orders drawn. */
#include "wave/wave.h"

#include <math.h>

#include "base/banned.h"

double ws__dot(const double *a, const double *b, size_t n)
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = 0;

    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++)
        s0 += a[i] * b[i];
    return s0 + s1 + (s2 + s3);
}

bool ws__cholesky(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n, d;

        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - ws__dot(row, a + j * n, j)) / a[j * n + j];
        d = row[i] - ws__dot(row, row, i);
        if (!(d > 0) || !isfinite(d))
            return false;
        row[i] = sqrt(d);
    }
    return true;
}

void ws__solve_lower(const double *l, size_t n, double *b)
{
    for (size_t i = 0; i < n; i++)
        b[i] = (b[i] - ws__dot(l + i * n, b, i)) / l[i * n + i];
}

void ws__solve_upper(const double *l, size_t n, double *b)
{
    for (size_t i = n; i-- > 0;) {
        b[i] /= l[i * n + i];
        for (size_t j = 0; j < i; j++)
            b[j] -= l[i * n + j] * b[i];
    }
}

void ws__wave_shuffle(struct ws__rng *rng, uint32_t *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)ws__rng_below(rng, i);
        uint32_t x = v[i - 1];

        v[i - 1] = v[j];
        v[j] = x;
    }
}
