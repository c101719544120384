/*
 * reference.c: attention of one head, in double: the scores, one thread each;
 * the largest of a row and the sum of its exponentials, one thread a row; the
 * output, one thread an element. score is [l][s], so that threads of a row each
 * read neighbours.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void scores(WS_GLOBAL const real *q, WS_GLOBAL const real *k,
            WS_GLOBAL double *score, int ns, int nl)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int l = at / ns, s = at % ns;
    double sum = 0;

    if (l >= nl)
        return;
    for (int i = 0; i < D; i++)
        sum += (double)q[s * D + i] * k[l * D + i];
    score[at] = sum / sqrt((double)D);
}

WS_KERNEL_BLOCK(64, 1, 1)
void rows(WS_GLOBAL const double *score, WS_GLOBAL double *most,
          WS_GLOBAL double *total, int ns, int nl)
{
    const int s = ws_block_x() * 64 + ws_thread_x();
    double large, sum = 0;

    if (s >= ns)
        return;
    large = score[s];
    for (int l = 1; l < nl; l++)
        if (score[l * ns + s] > large)
            large = score[l * ns + s];
    for (int l = 0; l < nl; l++)
        sum += exp(score[l * ns + s] - large);
    most[s] = large;
    total[s] = sum;
}

WS_KERNEL_BLOCK(64, 1, 1)
void output(WS_GLOBAL const double *score, WS_GLOBAL const double *most,
            WS_GLOBAL const double *total, WS_GLOBAL const real *v,
            WS_GLOBAL real *o, int ns, int nl)
{
    const int at = ws_block_x() * 64 + ws_thread_x();
    const int s = at / D, i = at % D;
    double sum = 0;

    if (s >= ns)
        return;
    for (int l = 0; l < nl; l++)
        sum += exp(score[l * ns + s] - most[s]) * v[l * D + i];
    o[at] = (real)(sum / total[s]);
}
