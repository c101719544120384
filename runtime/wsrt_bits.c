/*
 * wsrt_bits.c: the arithmetic that is part of the format: check sum, logarithm
 * and its inverse, hash of a shape.
 *
 * The writer and the reader call these same functions, so a pack that the
 * writer made is what the reader expects, bit by bit, under any compiler and
 * flags: all of it is integer arithmetic.
 *
 * The check sum runs over 64-bit words in four lanes, as one chain of
 * multiplications would wait for itself. Every step is a bijection of the
 * lane for a fixed word and of the word for a fixed lane, and so is the
 * joining of the lanes: damage inside one word never goes unseen. The
 * rotation brings high bits down, where the multiplication spreads them.
 */
#include "wsrt_format.h"

#include <string.h>

#define LANES 4
/* Fractions of the golden ratio and of the square root of three. */
#define ODD_1 UINT64_C(0x9e3779b97f4a7c15)
#define ODD_2 UINT64_C(0xbb67ae8584caa73b)

static uint64_t step(uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 29 | lane >> 35) * ODD_1;
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof(w));
    return w;
}

uint64_t wsrt__file_sum(const void *file, size_t bytes)
{
    const unsigned char *p = file;
    size_t field = offsetof(struct wsrt_f_header, check_sum);
    uint64_t lane[LANES] = {ODD_1, ODD_2, ~ODD_1, ~ODD_2};
    uint64_t sum = bytes;
    size_t at;

    for (at = 0; at < field; at += 8)
        lane[at / 8 % LANES] = step(lane[at / 8 % LANES], word_at(p + at));
    at += 8;
    for (; bytes - at >= 8 * LANES; at += 8 * LANES)
        for (size_t i = 0; i < LANES; i++)
            lane[i] = step(lane[i], word_at(p + at + 8 * i));
    for (size_t i = 0; at < bytes; at += 8, i++)
        lane[i] = step(lane[i], word_at(p + at));
    for (size_t i = 0; i < LANES; i++)
        sum = step(sum, lane[i]) ^ ODD_2;
    return sum ^ sum >> 31;
}

/*
 * round(2^30 * log2(1 + i / 256)). Between two points the curve is taken as
 * straight, which is off by less than 2^-18.
 */
static const uint32_t log2_table[257] = {
    0,          6039314,    12055174,   18047761,   24017256,   29963836,
    35887675,   41788947,   47667823,   53524472,   59359063,   65171760,
    70962728,   76732128,   82480119,   88206862,   93912511,   99597222,
    105261148,  110904440,  116527248,  122129721,  127712004,  133274244,
    138816582,  144339162,  149842124,  155325606,  160789745,  166234679,
    171660541,  177067464,  182455581,  187825021,  193175914,  198508388,
    203822568,  209118580,  214396548,  219656594,  224898839,  230123404,
    235330407,  240519966,  245692198,  250847218,  255985140,  261106077,
    266210141,  271297442,  276368092,  281422197,  286459867,  291481207,
    296486323,  301475319,  306448299,  311405366,  316346620,  321272163,
    326182095,  331076513,  335955515,  340819199,  345667660,  350500993,
    355319292,  360122651,  364911162,  369684916,  374444004,  379188517,
    383918542,  388634168,  393335482,  398022572,  402695523,  407354420,
    411999347,  416630388,  421247625,  425851141,  430441017,  435017334,
    439580170,  444129607,  448665721,  453188592,  457698295,  462194908,
    466678506,  471149164,  475606957,  480051959,  484484242,  488903880,
    493310944,  497705506,  502087636,  506457405,  510814882,  515160136,
    519493235,  523814248,  528123241,  532420281,  536705435,  540978767,
    545240343,  549490228,  553728485,  557955178,  562170370,  566374123,
    570566499,  574747559,  578917365,  583075977,  587223455,  591359858,
    595485245,  599599675,  603703206,  607795895,  611877800,  615948977,
    620009483,  624059373,  628098702,  632127527,  636145900,  640153876,
    644151509,  648138853,  652115959,  656082880,  660039669,  663986377,
    667923055,  671849754,  675766525,  679673418,  683570481,  687457766,
    691335320,  695203192,  699061430,  702910083,  706749198,  710578822,
    714399001,  718209783,  722011213,  725803337,  729586201,  733359850,
    737124328,  740879680,  744625951,  748363183,  752091421,  755810707,
    759521085,  763222597,  766915285,  770599192,  774274358,  777940826,
    781598637,  785247830,  788888448,  792520529,  796144114,  799759243,
    803365955,  806964289,  810554283,  814135978,  817709409,  821274617,
    824831638,  828380510,  831921271,  835453956,  838978604,  842495250,
    846003931,  849504683,  852997541,  856482542,  859959719,  863429109,
    866890747,  870344666,  873790901,  877229486,  880660455,  884083842,
    887499680,  890908003,  894308843,  897702233,  901088206,  904466794,
    907838029,  911201944,  914558569,  917907937,  921250079,  924585025,
    927912807,  931233456,  934547002,  937853475,  941152905,  944445323,
    947730758,  951009239,  954280797,  957545460,  960803257,  964054218,
    967298370,  970535742,  973766362,  976990259,  980207461,  983417995,
    986621888,  989819169,  993009864,  996194001,  999371606,  1002542707,
    1005707329, 1008865499, 1012017244, 1015162589, 1018301561, 1021434185,
    1024560487, 1027680492, 1030794226, 1033901713, 1037002979, 1040098049,
    1043186948, 1046269699, 1049346328, 1052416858, 1055481314, 1058539720,
    1061592099, 1064638476, 1067678873, 1070713315, 1073741824};

/* log2 with 30 fraction bits. */
static uint64_t log2_30(int64_t x)
{
    uint64_t u = (uint64_t)x;
    uint32_t whole = 63u - (uint32_t)__builtin_clzll(u);
    /* The bits behind the leading one: 8 choose the table's place, 32 the
     * point between it and the next. */
    uint64_t rest = whole ? u << (64 - whole) : 0;
    uint32_t i = (uint32_t)(rest >> 56);
    uint64_t between = rest >> 24 & UINT32_MAX;
    uint64_t part =
        log2_table[i] + ((log2_table[i + 1] - log2_table[i]) * between >> 32);

    return ((uint64_t)whole << 30) + part;
}

int32_t wsrt__log2(int64_t x)
{
    return (int32_t)((log2_30(x) + (1u << 13)) >> 14);
}

int32_t wsrt__log2_20(int64_t x)
{
    return (int32_t)((log2_30(x) + (1u << 9)) >> 10);
}

/* round(2^30 * c) of a polynomial for 2^x, 0 <= x < 1, off by less than 1e-6 of
 * the value. */
static const uint32_t exp2_term[] = {2016032,   9652231,   59943051,
                                     257862979, 744267446, 1073741717};

double wsrt__exp2(int32_t x)
{
    int32_t whole = x >> WSRT_WAVE_Q;
    uint64_t part = (uint64_t)((uint32_t)x & ((1u << WSRT_WAVE_Q) - 1))
                    << (30 - WSRT_WAVE_Q);
    uint64_t y = exp2_term[0], bits;
    double r;

    for (int i = 1; i < 6; i++)
        y = (y * part >> 30) + exp2_term[i];
    /* 2^30 <= y < 2^31 but for the rounding of the ends. */
    y = y < (1u << 30) ? 1u << 30 : y > (1u << 31) - 1 ? (1u << 31) - 1 : y;
    if (whole < -1000 || whole > 1000)
        return 0;
    bits = (uint64_t)(whole + 1023) << 52 | (y - (1u << 30)) << 22;
    memcpy(&r, &bits, sizeof(r));
    return r;
}

uint64_t wsrt__shape_hash(const int64_t *axes, uint32_t naxis)
{
    uint64_t h = ODD_2;

    for (uint32_t i = 0; i < naxis; i++) {
        h = (h ^ (uint64_t)axes[i]) * ODD_1;
        h ^= h >> 32;
    }
    return h;
}
