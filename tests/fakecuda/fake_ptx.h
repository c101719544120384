/*
 * fake_ptx.h: the instructions of PTX that kernels say in asm, as functions.
 *
 * fake_text.c makes a call of each asm: ptx_ and the instruction's name, first
 * what is written, then what is read. Those that a warp does together wait for
 * each other as shuffles do, and lay out matrices over the lanes as the PTX
 * manual says. Asynchronous copies are done when somebody waits for them, and
 * until then the place holds NaN: who reads too early gets it wrong.
 */
alignas(128) static char fake_shared[101376];

/* ---- numbers ------------------------------------------------------------- */

static inline float fake_widen(unsigned short h)
{
    unsigned sign = (unsigned)(h >> 15) << 31, exp = h >> 10 & 31, m = h & 1023;

    if (exp == 31)
        return fake_bits<float>(sign | 0x7f800000u | m << 13);
    if (exp)
        return fake_bits<float>(sign | (exp + 112) << 23 | m << 13);
    return fake_bits<float>(sign | fake_bits<unsigned>((float)m * 0x1p-24f));
}
static inline unsigned short fake_narrow(float f)
{
    unsigned u = fake_bits<unsigned>(f), sign = u >> 16 & 0x8000;
    float a = fake_bits<float>(u & 0x7fffffffu);

    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return 0x7fff;
    if (u >= 0x477ff000u)
        return (unsigned short)(sign | 0x7c00);
    if (u < 0x38800000u) /* a subnormal: the addition rounds */
        return (unsigned short)(sign |
                                (fake_bits<unsigned>(a + 0.5f) - 0x3f000000u));
    u += 0xfff + (u >> 13 & 1);
    return (unsigned short)(sign | ((u - 0x38000000u) >> 13));
}

/* To nearest even. */
static inline unsigned short fake_narrow_bf16(float f)
{
    unsigned u = fake_bits<unsigned>(f);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (unsigned short)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float fake_widen_bf16(unsigned short h)
{
    return fake_bits<float>((unsigned)h << 16);
}
static inline void ptx_cvt_f32_f16(float &to, unsigned short from)
{
    to = fake_widen(from);
}
static inline void ptx_cvt_rn_f16_f32(unsigned short &to, float from)
{
    to = fake_narrow(from);
}
static inline void ptx_cvt_rn_f16x2_f32(unsigned &to, float high, float low)
{
    to = (unsigned)fake_narrow(high) << 16 | fake_narrow(low);
}
static inline void ptx_cvt_rn_bf16x2_f32(unsigned &to, float high, float low)
{
    to = (unsigned)fake_narrow_bf16(high) << 16 | fake_narrow_bf16(low);
}

/* ---- the rest of the machine --------------------------------------------- */

static inline void ptx_trap()
{
    __trap();
}
/* mov.u64 x, %globaltimer: the only move that is known. */
static inline void ptx_mov_u64(unsigned long long &to)
{
    to = fake_thread.clock();
}

/* ---- shared memory ------------------------------------------------------- */

static inline size_t __cvta_generic_to_shared(const void *p)
{
    return (unsigned)((const char *)p - fake_shared);
}
static inline char *fake_at(unsigned address, unsigned alignment)
{
    if (address % alignment)
        fake_thread.stop(716); /* CUDA_ERROR_MISALIGNED_ADDRESS */
    return fake_shared + (int)address;
}
static inline int fake_index()
{
    return (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x +
                 threadIdx.x);
}

/* ---- asynchronous copies ------------------------------------------------- */

struct fake_copies {
    unsigned long long serial; /* of the block they belong to */
    unsigned n, commits;
    struct {
        char *to;
        const char *from;
        unsigned bytes, group;
    } copy[512];
};
static fake_copies fake_queue[1024];

static inline fake_copies &fake_own_copies()
{
    fake_copies &q = fake_queue[fake_index()];

    if (q.serial != fake_thread.serial) {
        q.n = q.commits = 0;
        q.serial = fake_thread.serial;
    }
    return q;
}
static inline void ptx_cp_async_cg_shared_global(unsigned to, const void *from,
                                                 unsigned bytes = 16)
{
    fake_copies &q = fake_own_copies();

    if (q.n == 512 || bytes > 16 || (size_t)from % 16)
        fake_thread.stop(716);
    q.copy[q.n++] = {fake_at(to, 16), (const char *)from, bytes, q.commits};
    __builtin_memset(fake_at(to, 16), 0xff, 16);
}
static inline void ptx_cp_async_commit_group()
{
    fake_own_copies().commits++;
}
/* All but the last `left` groups are there. */
static inline void ptx_cp_async_wait_group(unsigned left)
{
    fake_copies &q = fake_own_copies();
    unsigned kept = 0;

    for (unsigned i = 0; i < q.n; i++) {
        if (q.copy[i].group + left >= q.commits) {
            q.copy[kept++] = q.copy[i];
            continue;
        }
        __builtin_memset(q.copy[i].to, 0, 16);
        __builtin_memcpy(q.copy[i].to, q.copy[i].from, q.copy[i].bytes);
    }
    q.n = kept;
}

/* ---- matrices over a warp ------------------------------------------------ */

typedef unsigned fake_words[8];
static fake_words fake_lanes[1024];

/* What the lanes of the warp give; read it, then call __syncwarp. */
static inline const fake_words *fake_give(const unsigned *word, int n)
{
    int own = fake_index();

    for (int i = 0; i < n; i++)
        fake_lanes[own][i] = word[i];
    __syncwarp();
    return fake_lanes + own / 32 * 32;
}
/* Half c % 2 of the word that a row of 8 x 8 has for column c. */
static inline unsigned fake_half(const fake_words *lane, int word, int row,
                                 int column)
{
    return lane[row * 4 + column / 2][word] >> column % 2 * 16 & 0xffff;
}
static inline unsigned fake_matrix(const fake_words *lane, int first, int row,
                                   int column)
{
    unsigned short x;

    __builtin_memcpy(&x, fake_at(lane[first + row][0], 16) + column * 2, 2);
    return x;
}
template <bool turned>
static inline void fake_load_4(unsigned *to, unsigned address)
{
    const fake_words *lane = fake_give(&address, 1);
    int major = fake_lane() / 4, minor = fake_lane() % 4 * 2;

    for (int i = 0; i < 4; i++)
        to[i] = turned ? fake_matrix(lane, i * 8, minor, major) |
                             fake_matrix(lane, i * 8, minor + 1, major) << 16
                       : fake_matrix(lane, i * 8, major, minor) |
                             fake_matrix(lane, i * 8, major, minor + 1) << 16;
    __syncwarp();
}
static inline void ptx_ldmatrix_sync_aligned_m8n8_x4_shared_b16(
    unsigned &a, unsigned &b, unsigned &c, unsigned &d, unsigned address)
{
    unsigned to[4];

    fake_load_4<false>(to, address);
    a = to[0], b = to[1], c = to[2], d = to[3];
}
static inline void ptx_ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16(
    unsigned &a, unsigned &b, unsigned &c, unsigned &d, unsigned address)
{
    unsigned to[4];

    fake_load_4<true>(to, address);
    a = to[0], b = to[1], c = to[2], d = to[3];
}
static inline void ptx_movmatrix_sync_aligned_m8n8_trans_b16(unsigned &to,
                                                             unsigned from)
{
    const fake_words *lane = fake_give(&from, 1);
    int major = fake_lane() / 4, minor = fake_lane() % 4 * 2;

    to = fake_half(lane, 0, minor, major) | fake_half(lane, 0, minor + 1, major)
                                                << 16;
    __syncwarp();
}

/* c[16][8] += a[16][16] b[16][8]: of a, words 0 and 2 are rows 0 to 7, words 2
 * and 3 columns 8 to 15; of b, word 1 is rows 8 to 15, its columns over lanes
 * as rows of a. */
template <float (*widen)(unsigned short)>
static inline void fake_multiply(float *c, const unsigned *ab)
{
    const fake_words *lane = fake_give(ab, 6);

    for (int i = 0; i < 4; i++) {
        int row = fake_lane() / 4, column = fake_lane() % 4 * 2 + i % 2;
        float sum = 0;

        for (int k = 0; k < 16; k++)
            sum += widen((unsigned short)fake_half(lane, i / 2 + k / 8 * 2, row,
                                                   k % 8)) *
                   widen((unsigned short)fake_half(lane, 4 + k / 8, column,
                                                   k % 8));
        c[i] += sum;
    }
    __syncwarp();
}
#define FAKE_MMA(name, widen)                                                  \
    static inline void ptx_mma_sync_aligned_m16n8k16_row_col_##name(           \
        float &c0, float &c1, float &c2, float &c3, unsigned a0, unsigned a1,  \
        unsigned a2, unsigned a3, unsigned b0, unsigned b1)                    \
    {                                                                          \
        const unsigned ab[6] = {a0, a1, a2, a3, b0, b1};                       \
        float c[4] = {c0, c1, c2, c3};                                         \
                                                                               \
        fake_multiply<widen>(c, ab);                                           \
        c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];                            \
    }
FAKE_MMA(f32_bf16_bf16_f32, fake_widen_bf16)
FAKE_MMA(f32_f16_f16_f32, fake_widen)
