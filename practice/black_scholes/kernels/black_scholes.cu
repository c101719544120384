/* Black-Scholes prices of European options. One thread computes one option.
 * options: stock price, strike, years left; prices: call, put. */

/* cumulative normal distribution */
__device__ float cnd(float x)
{
    return 0.5f * erfcf(-x / sqrtf(2.0f));
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
