/* Black-Scholes prices of European options. One thread computes one option.
 * options: stock price, strike, years left; prices: call, put. */

/* cumulative normal distribution: a polynomial, to 7 digits (Abramowitz and
 * Stegun, Handbook of Mathematical Functions, 26.2.17) */
static float cnd(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    float tail = exp(-x * x / 2.0f) / sqrt(2.0f * 3.14159265f) *
                 (0.319381530f * k - 0.356563782f * pow(k, 2.0f) +
                  1.781477937f * pow(k, 3.0f) - 1.821255978f * pow(k, 4.0f) +
                  1.330274429f * pow(k, 5.0f));

    return x > 0.0f ? 1.0f - tail : tail;
}

/* how far the stock is above the strike, in standard deviations */
static float d1(float S, float X, float T)
{
    return (log(S / X) + (RATE + pow(VOLATILITY, 2.0f) / 2.0f) * T) /
           (VOLATILITY * sqrt(T));
}

static float d2(float S, float X, float T)
{
    return d1(S, X, T) - VOLATILITY * sqrt(T);
}

__kernel void black_scholes(__global const float *options,
                            __global float *prices, int N)
{
    int i = get_global_id(0);

    if (i >= N)
        return;

    prices[2 * i + 0] =
        options[3 * i] *
            cnd(d1(options[3 * i], options[3 * i + 1], options[3 * i + 2])) -
        options[3 * i + 1] * exp(-RATE * options[3 * i + 2]) *
            cnd(d2(options[3 * i], options[3 * i + 1], options[3 * i + 2]));
    prices[2 * i + 1] =
        options[3 * i + 1] * exp(-RATE * options[3 * i + 2]) *
            cnd(-d2(options[3 * i], options[3 * i + 1], options[3 * i + 2])) -
        options[3 * i] *
            cnd(-d1(options[3 * i], options[3 * i + 1], options[3 * i + 2]));
}
