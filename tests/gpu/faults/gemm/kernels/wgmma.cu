// C = A W^T, 128 x 256 a block, 64 of K a turn, STAGES turns in flight. Each of
// the two warpgroups multiplies 64 rows of A with all 256 of W.
//
// A stage is rows of 64 bfloat16 (128 bytes) in wgmma's 128-byte swizzle: the
// 16-byte piece p of row r lies at piece p ^ (r % 8), and 8 rows, 1 KiB, are
// what the pattern repeats after. So stages begin at multiples of 1 KiB.
#include <cuda_bf16.h>

#define STAGES 4
#define ROW_BYTES 128
#define A_BYTES (128 * ROW_BYTES)
#define STAGE_BYTES (A_BYTES + 256 * ROW_BYTES)

// Rows of 64 of a matrix with K columns into a stage, a piece a thread.
__device__ void stage(unsigned to, const __nv_bfloat16 *from, int rows, int K)
{
#pragma unroll
    for (int i = threadIdx.x; i < rows * 8; i += 256) {
        int row = i / 8, piece = i % 8;
        unsigned at = to + row * ROW_BYTES + ((piece ^ (row % 8)) << 4);

        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from + (long long)row * K + piece * 8));
    }
}

// Where a matrix begins, 1 KiB from 8 rows to the next 8, 128-byte swizzle.
__device__ unsigned long long descriptor(unsigned at)
{
    return (at >> 4 & 0x3fff) | 1ull << 16 | (1024ull >> 4) << 32 | 1ull << 62;
}

// sum += 64 rows of a by 256 of w, over 16 of K.
__device__ void multiply(float (&sum)[8][16], unsigned long long a, unsigned long long w)
{
#define R1(i, j) "+f"(sum[i][j])
#define R4(i, j) R1(i, j), R1(i, j + 1), R1(i, j + 2), R1(i, j + 3)
#define R16(i) R4(i, 0), R4(i, 4), R4(i, 8), R4(i, 12)
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,"
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31,"
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47,"
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63,"
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79,"
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95,"
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111,"
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 0;\n"
                 : R16(0), R16(1), R16(2), R16(3), R16(4), R16(5), R16(6), R16(7)
                 : "l"(a), "l"(w));
}

__global__ void __launch_bounds__(256, 1)
    product(const __nv_bfloat16 *__restrict__ A, const __nv_bfloat16 *__restrict__ W, __nv_bfloat16 *__restrict__ C, int N, int K)
{
    extern __shared__ unsigned char memory[];
    unsigned base = ((unsigned)__cvta_generic_to_shared(memory) + 1023) & ~1023u;
    int group = threadIdx.x / 128, turns = K / 64;
    long long row = blockIdx.x * 128, col = blockIdx.y * 256;
    float sum[8][16] = {};

    A += row * K;
    W += col * K;
    for (int t = 0; t < STAGES - 1; t++) {
        if (t < turns) {
            stage(base + t * STAGE_BYTES, A + t * 64, 128, K);
            stage(base + t * STAGE_BYTES + A_BYTES, W + t * 64, 256, K);
        }
        asm volatile("cp.async.commit_group;");
    }
    for (int t = 0; t < turns; t++) {
        unsigned now = base + t % STAGES * STAGE_BYTES;
        int next = t + STAGES - 1;

        // Stage t is there, and turn t - 1 is done in both warpgroups.
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 4; k++)
            multiply(sum, descriptor(now + group * 64 * ROW_BYTES + k * 32), descriptor(now + A_BYTES + k * 32));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (next < turns) {
            stage(base + next % STAGES * STAGE_BYTES, A + next * 64, 128, K);
            stage(base + next % STAGES * STAGE_BYTES + A_BYTES, W + next * 64, 256, K);
        }
        asm volatile("cp.async.commit_group;");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

    // Four threads a row, 8 columns a turn; a warp has 16 rows.
    row += group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    col += threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            *(__nv_bfloat162 *)(C + (row + half * 8) * N + col + i * 8) =
                __floats2bfloat162_rn(sum[i / 4][i % 4 * 4 + half * 2], sum[i / 4][i % 4 * 4 + half * 2 + 1]);
}
