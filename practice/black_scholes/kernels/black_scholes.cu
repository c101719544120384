/* Black-Scholes prices of European options. One thread computes one option.
 * options: stock price, strike, years left; prices: call, put. */

/* cumulative normal distribution: a polynomial, to 7 digits (Abramowitz and
 * Stegun, Handbook of Mathematical Functions, 26.2.17) */
__device__ float cnd(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float tail = expf(-x * x / 2.0f) / sqrtf(2.0f * 3.14159265f) *
                 (0.319381530f * k - 0.356563782f * powf(k, 2.0f) +
                  1.781477937f * powf(k, 3.0f) - 1.821255978f * powf(k, 4.0f) +
                  1.330274429f * powf(k, 5.0f));

    return x > 0.0f ? 1.0f - tail : tail;
}

/* how far the stock is above the strike, in standard deviations */
__device__ float d1(float S, float X, float T)
{
    return (logf(S / X) + (RATE + powf(VOLATILITY, 2.0f) / 2.0f) * T) /
           (VOLATILITY * sqrtf(T));
}

__device__ float d2(float S, float X, float T)
{
    return d1(S, X, T) - VOLATILITY * sqrtf(T);
}

__global__ void black_scholes(const float *options, float *prices, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= N)
        return;

    prices[2 * i + 0] =
        options[3 * i] *
            cnd(d1(options[3 * i], options[3 * i + 1], options[3 * i + 2])) -
        options[3 * i + 1] * expf(-RATE * options[3 * i + 2]) *
            cnd(d2(options[3 * i], options[3 * i + 1], options[3 * i + 2]));
    prices[2 * i + 1] =
        options[3 * i + 1] * expf(-RATE * options[3 * i + 2]) *
            cnd(-d2(options[3 * i], options[3 * i + 1], options[3 * i + 2])) -
        options[3 * i] *
            cnd(-d1(options[3 * i], options[3 * i + 1], options[3 * i + 2]));
}
