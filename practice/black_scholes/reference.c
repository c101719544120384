/*
 * reference.c: prices of options by Black and Scholes, one thread an option, in
 * double. The cumulative normal distribution at d is erfc(-d / sqrt(2)) / 2.
 */
#include "ws_dialect.h"

#if T_IS_FLOAT64
typedef double real;
#else
typedef float real;
#endif

WS_KERNEL_BLOCK(64, 1, 1)
void value(WS_GLOBAL const real *options, WS_GLOBAL real *prices, int n)
{
    const int i = ws_block_x() * 64 + ws_thread_x();
    const double root = 0.70710678118654752; /* sqrt(1/2) */
    double stock, strike, years, wide, d1, d2;

    if (i >= n)
        return;
    stock = options[3 * i];
    years = options[3 * i + 2];
    strike = options[3 * i + 1];
    wide = (double)VOLATILITY * sqrt(years);
    d1 = log(stock / strike) + (double)RATE * years;
    d1 = d1 / wide + wide / 2;
    d2 = d1 - wide;
    strike *= exp(-(double)RATE * years); /* what it is worth today */
    prices[2 * i] =
        (real)((stock * erfc(-d1 * root) - strike * erfc(-d2 * root)) / 2);
    prices[2 * i + 1] =
        (real)((strike * erfc(d2 * root) - stock * erfc(d1 * root)) / 2);
}
