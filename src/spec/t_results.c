/*
 * t_results.c: results of other tools: what is read, what is refused and
 * where, and that what is written reads back as the same. The real files of
 * the data folder are counted against its manifest where it is present.
 */
#include "base/t_base.h"

#include <unistd.h>
#include <zlib.h>

#include "base/fs.h"
#include "spec/results.h"
#include "spec/spec.h"

static const char t1[] =
    "{\"General\": {\"BenchmarkName\": \"small\"}, \"ConfigurationSpace\": "
    "{\"TuningParameters\": ["
    "{\"Name\": \"B\", \"Values\": [16, 32, 64]},"
    "{\"Name\": \"F\", \"Values\": [0.5, 2.0]},"
    "{\"Name\": \"U\", \"Values\": [true, false]},"
    "{\"Name\": \"S\", \"Values\": [\"row\", \"col,x\"]},"
    "{\"Name\": \"ONE\", \"Values\": [7]}],"
    "\"Conditions\": [{\"Expression\": \"B < 64 or U\"}]}}";

static const char op_text[] =
    "op: gemm\naxes: {M: var, N: var, D: 4, T: {types: [float32, float16]}}\n"
    "outputs: {C: {shape: [M, N], dtype: T}}\n"
    "workloads:\n- {M: 1, N: 2}\n- {M: 3, N: 4}\n";
static const char kernel_text[] =
    "kernel: k\nop: gemm\nsource: k.c\n"
    "parameters: {BM: [1, 2]}\n"
    "constraints: [BM <= M]\n"
    "launches: [{entry: f, grid: BM, block: 1, args: [C]}]\n";

/* All results of a reading, kept. */
struct kept {
    struct ws_ctx *ctx;
    struct ws__result *r;
    size_t n, cap;
    int stop_at;
};

static int keep(void *user, const struct ws__result *r)
{
    struct kept *k = user;
    struct ws__result *to;
    double *samples;

    if (k->stop_at && (int)k->n + 1 == k->stop_at)
        return 42;
    WS_TRY(ws__grow(k->ctx, (void **)&k->r, &k->cap, k->n, sizeof(*k->r)));
    samples = ws__alloc(k->ctx, r->nsample + 1, sizeof(*samples));
    if (!samples)
        return WS_ENOMEM;
    for (size_t i = 0; i < r->nsample; i++)
        samples[i] = r->sample_ns[i];
    to = &k->r[k->n++];
    *to = *r;
    to->reason = NULL;
    to->sample_ns = samples;
    return 0;
}

static void drop(struct kept *k)
{
    for (size_t i = 0; i < k->n; i++)
        ws__free(k->ctx, (void *)(uintptr_t)k->r[i].sample_ns);
    ws__free(k->ctx, k->r);
    memset(k, 0, sizeof(*k));
}

static struct ws_ctx *ctx;
static struct ws__spec *space, *gemm;
static struct ws__results_report rep;
static struct kept kept;

static struct ws__spec *t1_spec(struct ws_ctx *c, const char *text)
{
    struct ws__spec *s = NULL;

    return ws__spec_from_text(c, NULL, &text, NULL, 1, &s) < 0 ? NULL : s;
}

static int setup(void **state)
{
    const char *k = kernel_text, *source = "f BM";
    struct ws__workload *w;

    (void)state;
    ctx = t_ctx(NULL);
    space = t1_spec(ctx, t1);
    if (!space || ws__spec_from_text(ctx, op_text, &k, &source, 1, &gemm) < 0)
        return -1;
    w = ws__arena_alloc(&gemm->arena, 2, sizeof(*w));
    if (ws__spec_workload(gemm, "M=1,N=2", &w[0]) < 0 ||
        ws__spec_workload(gemm, "M=3,N=4", &w[1]) < 0)
        return -1;
    gemm->workload = w;
    gemm->nworkload = 2;
    kept.ctx = ctx;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    drop(&kept);
    ws__spec_free(space);
    ws__spec_free(gemm);
    ws_ctx_free(ctx);
    return 0;
}

static struct ws__results_spec about(const struct ws__spec *s)
{
    return (struct ws__results_spec){.kernel = s->kernel,
                                     .workload = s->workload,
                                     .nworkload = s->nworkload};
}

static int parse_as(const struct ws__results_spec *s, const char *text)
{
    struct ws_ctx *c = kept.ctx;

    drop(&kept);
    kept.ctx = c;
    return ws__results_parse(c, s, text, strlen(text), "file", keep, &kept,
                             &rep);
}

static int parse(const struct ws__spec *spec, const char *text)
{
    struct ws__results_spec s = about(spec);

    return parse_as(&s, text);
}

static void config_is(size_t i, const char *want)
{
    struct ws__config c;

    assert_true(i < kept.n);
    assert_int_equal(ws__config_parse(ctx, space->kernel, want, &c), 0);
    assert_memory_equal(&kept.r[i].config, &c, sizeof(c));
}

static void values_by_meaning(void **state)
{
    (void)state;
    assert_int_equal(parse(space, "B,F,U,S,time_ms,status\n"
                                  "16,0.5,True,row,2,ok\n"
                                  "16.0,5e-1,1,\"col,x\",0.25,ok\r\n"
                                  "0x20,2,false,row,,CompilationFailedConfig\n"
                                  "32,2.0,0,row,1,Correct"),
                     0);
    assert_string_equal(rep.format, "matrix");
    assert_int_equal(rep.used, 4);
    assert_int_equal(rep.foreign, 0);
    config_is(0, "B=16,F=0.5,U=true,S=row");
    assert_true(kept.r[0].figure_ns == 2e6);
    assert_int_equal(kept.r[0].nsample, 1);
    assert_true(kept.r[0].sample_ns[0] == 2e6);
    assert_int_equal(kept.r[0].line, 2);
    assert_int_equal(kept.r[1].config.at[3], 1);
    assert_true(kept.r[1].figure_ns == 0.25e6);
    assert_int_equal(kept.r[2].verdict, WS__V_BUILD);
    assert_int_equal(kept.r[2].nsample, 0);
    config_is(2, "B=32,F=2.0,U=false,S=row");
    config_is(3, "B=32,F=2.0,U=false,S=row");
}

static void foreign_rows(void **state)
{
    (void)state;
    assert_int_equal(parse(space, "B,F,U,S,time_ms\n"
                                  "16,0.5,1,row,1\n"
                                  ",0.5,1,row,1\n"
                                  "64,0.5,0,row,1\n"
                                  "17,0.5,0,row,1\n"),
                     0);
    assert_int_equal(rep.used, 1);
    assert_int_equal(rep.foreign, 3);
    assert_string_equal(rep.foreign_why, "line 3: '' is no value of 'B'");
    assert_int_equal(parse(space, "B,F,U,S,time_ms\n64,0.5,0,row,1\n"), 0);
    assert_string_equal(rep.foreign_why, "line 2: 'B < 64 or U' does not hold");
}

static void times(void **state)
{
    static const struct {
        const char *columns, *want;
        double ns;
    } cases[] = {
        {"time_ms_mean,time_ms_median,time_ms_min", NULL, 2e6},
        {"min_us,mean_us,median_us", NULL, 3e3},
        {"time_us,time_us_mean,x", NULL, 1e3},
        {"compile_overhead_us,duration_us,regs", NULL, 2e3},
        {"time_ms_min,time_ms_median,n", "time_ms_min", 1e6},
        {"wall_s,a,time_ns", NULL, 3},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        struct ws__results_spec s = about(space);
        char text[200];

        s.time = cases[i].want;
        snprintf(text, sizeof(text), "%s,B,F,U,S\n1,2,3,16,2,1,row\n",
                 cases[i].columns);
        assert_int_equal(parse_as(&s, text), 0);
        assert_true(kept.r[0].figure_ns == cases[i].ns);
    }
}

static void where_and_samples(void **state)
{
    struct ws__results_spec s = about(space);

    (void)state;
    s.where = "pass=3,src=a";
    assert_int_equal(parse_as(&s, "B,F,U,S,pass,src,time_us,samples_us,"
                                  "compile_ms\n"
                                  "16,2,1,row,1,a,1,,\n"
                                  "16,2,1,row,3.0,a,2,1; 2 ;3,1.5\n"
                                  "16,2,1,row,3,b,2,1;2;3,\n"),
                     0);
    assert_int_equal(rep.used, 1);
    assert_int_equal(rep.left, 2);
    assert_int_equal(kept.r[0].nsample, 3);
    assert_true(kept.r[0].sample_ns[1] == 2e3);
    assert_int_equal(kept.r[0].build_ns, 1500000);
    s.where = "pass=4";
    assert_int_equal(parse_as(&s, "B,F,U,S,pass,time_us\n16,2,1,row,3,1\n"),
                     WS_EINVAL);
    s.where = "nothing=1";
    assert_int_equal(parse_as(&s, "B,F,U,S,time_us\n"), WS_ESPEC);
    s.where = "B";
    assert_int_equal(parse_as(&s, "B,F,U,S,time_us\n"), WS_EINVAL);
}

static void axes(void **state)
{
    (void)state;
    assert_int_equal(parse(gemm, "M,N,T,BM,time_us\n"
                                 "3,4,float32,2,5\n"
                                 "1,2,float32,1,6\n"
                                 "1,2,float32,2,6\n" /* BM <= M */
                                 "1,2,float16,1,6\n"
                                 "8,8,float32,1,6\n"),
                     0);
    assert_int_equal(rep.used, 2);
    assert_int_equal(kept.r[0].workload, 1);
    assert_int_equal(kept.r[1].workload, 0);
    assert_int_equal(rep.foreign, 3);
    /* A type that is not said is the default; a variable axis must be. */
    assert_int_equal(parse(gemm, "M,N,BM,time_us\n3,4,2,5\n"), 0);
    assert_int_equal(rep.used, 1);
    assert_int_equal(parse(gemm, "M,BM,time_us\n3,2,5\n"), WS_ESPEC);
    assert_string_equal(ws_ctx_error(ctx)->message, "no value for axis 'N'");
    assert_int_equal(parse(gemm, "{\"results\": []}"), WS_EINVAL);
}

static void refused(void **state)
{
    static const struct {
        const char *text, *message;
        int rc;
        uint32_t line;
    } cases[] = {
        {"", "the file is empty", WS_EPARSE, 0},
        {" \n \n", "the file is empty", WS_EPARSE, 0},
        {"B,F,U,S\n16,2,1,row\n", "no column holds a time", WS_ESPEC, 1},
        {"F,U,S,time_us\n", "no value for parameter 'B'", WS_ESPEC, 1},
        {"B,F,U,S,time_us\n16,2,1,row\n", "4 cells in a row, but 5 columns",
         WS_EPARSE, 2},
        {"B,F,U,S,time_us\n\n16,2,1,row,fast\n", "'fast' in column 'time_us'",
         WS_EPARSE, 3},
        {"B,F,U,S,time_us\n16,2,1,row,-1\n", "'-1' in column 'time_us'",
         WS_EPARSE, 2},
        {"B,F,U,S,time_us,status\n16,2,1,row,1,fine\n",
         "'fine' in column 'status'", WS_EPARSE, 2},
        {"B,F,U,S,time_us\n16,2,1,\"row,1\n", "a quote is not closed",
         WS_EPARSE, 2},
        {"{\"a\": 1}", "not a file of results", WS_EPARSE, 0},
        {"{\"a\"\n: }", "no JSON: unexpected token near '}'", WS_EPARSE, 2},
        {"{\"cache\": {\"16\": {\"B\": 16}}}", "entry '16': it has no time",
         WS_EPARSE, 0},
        {"{\"cache\": {\"16\": {\"B\": 16, \"time\": 1}}}",
         "entry '16': no value for parameter 'F'", WS_ESPEC, 0},
        {"{\"cache\": {\"16\": {\"B\": 16, \"time\": \"Odd\"}}}",
         "entry '16': its time is no known failure", WS_EPARSE, 0},
        {"{\"cache\": {\"16\": {\"B\": 16, \"time\": NaN}}}",
         "entry '16': its time is no known failure", WS_EPARSE, 0},
        {"{\"results\": [{\"configuration\": {}}]}",
         "entry '0': 'invalidity' is missing or not known", WS_EPARSE, 0},
        {"{\"results\": [], \"metadata\": {\"timeunit\": \"days\"}}",
         "unit of time 'days' is not known", WS_EPARSE, 0},
        {"{\"results\": [], \"metadata\": {\"timeunit\": 3}}",
         "unit of time '(no text)' is not known", WS_EPARSE, 0},
        {"{\"cache\": {\"a\": 1, \"a\": 1}}",
         "no JSON: duplicate object key near '\"a\"'", WS_EPARSE, 1},
        {"{\"cache\": {}}", "no results in it", WS_EPARSE, 0},
        {"{\"results\": []}", "no results in it", WS_EPARSE, 0},
        {"B,F,U,S,time_us\n", "no results in it", WS_EPARSE, 0},
        {"B,F,U,S,time_us\r16,2,1,row,1\r",
         "a carriage return inside of the line of column names", WS_EPARSE, 1},
        {"B,F,U,S,time_us,B\n", "columns 1 and 6 are both called 'B'", WS_ESPEC,
         1},
        {"B,F,U,S,time_us,time_us\n",
         "columns 5 and 6 are both called 'time_us'", WS_ESPEC, 1},
        {"B,F,U,S,time_us,build_ms\n16,2,1,row,1,x\n",
         "'x' in column 'build_ms'", WS_EPARSE, 2},
        {"B,F,U,S,time_us,build_ms\n16,2,1,row,1,-1\n",
         "'-1' in column 'build_ms'", WS_EPARSE, 2},
        {"B,F,U,S,time_us,compile_ms\n16,2,1,row,1,1e300\n",
         "'1e300' in column 'compile_ms'", WS_EPARSE, 2},
        {"B,F,U,S,time_s\n16,2,1,row,1e10\n", "'1e10' in column 'time_s'",
         WS_EPARSE, 2},
        {"B,F,U,S,time_ns\n16,2,1,row,1e-4\n", "'1e-4' in column 'time_ns'",
         WS_EPARSE, 2},
        {"{\"cache\": {\"16\": {\"B\": 16, \"time\": 1, \"compile_time\": "
         "-1}}}",
         "entry '16': its time of building is no time", WS_EPARSE, 0},
        {"{\"cache\": {\"16\": {\"B\": 16, \"time\": 1, "
         "\"compile_time\": 1e300}}}",
         "entry '16': its time of building is no time", WS_EPARSE, 0},
        {"{\"cache\": {\"16\": {\"B\": 16, \"time\": 1e300}}}",
         "entry '16': it has no time", WS_EPARSE, 0},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        const struct ws_error *e = ws_ctx_error(ctx);

        assert_int_equal(parse(space, cases[i].text), cases[i].rc);
        assert_string_equal(e->message, cases[i].message);
        assert_int_equal(e->line, cases[i].line);
        assert_true(!e->line || !strcmp(e->file, "file"));
        assert_true(*e->hint);
    }
}

#define ENTRY                                                                  \
    "{\"B\": 16, \"F\": 2, \"U\": true, \"S\": \"row\", \"time\": 1.5, "       \
    "\"times\": [1, 2], \"GFLOP/s\": NaN, \"x\": -Infinity, "                  \
    "\"compile_time\": 2.5, "                                                  \
    "\"timestamp\": \"1970-01-01 01:00:01.500000+01:00\"}"

/* Of one T4 result, with these members in its measurement and more of them. */
static int parse_t4(const char *unit, const char *more)
{
    char text[600];

    snprintf(text, sizeof(text),
             "{\"results\": [{\"configuration\": {\"B\": 16, \"F\": 2, "
             "\"U\": true, \"S\": \"row\"}, \"invalidity\": \"correct\", "
             "\"measurements\": [{\"name\": \"time\", \"value\": 2%s}%s]}]}",
             unit, more);
    return parse(space, text);
}

static void t4_units(void **state)
{
    static const struct {
        const char *unit;
        double ns; /* 0: refused */
    } cases[] = {
        {"", 2e6},
        {", \"unit\": \"\"", 2e6},
        {", \"unit\": null", 2e6},
        {", \"unit\": \"ns\"", 2},
        {", \"unit\": \"usec\"", 2e3},
        {", \"unit\": \"\xc2\xb5s\"", 2e3},
        {", \"unit\": \"\xce\xbcs\"", 2e3},
        {", \"unit\": \"MilliSeconds\"", 2e6},
        {", \"unit\": \"Seconds\"", 2e9},
        {", \"unit\": \"sec\"", 2e9},
        {", \"unit\": \"bytes\"", 0},
        {", \"unit\": \"a unit of a very long name\"", 0},
        {", \"unit\": 3", 0},
    };
    (void)state;

    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        int rc = parse_t4(cases[i].unit, "");

        assert_int_equal(rc, cases[i].ns > 0 ? 0 : WS_EPARSE);
        if (!rc)
            assert_true(kept.r[0].figure_ns == cases[i].ns);
        else
            assert_non_null(strstr(ws_ctx_error(ctx)->message, "entry '0'"));
    }
    assert_int_equal(parse_t4("", ", {\"name\": \"energy\", \"unit\": \"J\"}"),
                     0);
    assert_int_equal(parse_t4("", ", {\"name\": \"time\", \"value\": 3}"),
                     WS_EPARSE);
}

static void cache_file(void **state)
{
    static const char *const ends[] = {"}}", "", ",",
                                       ",\n\"16,2\": {\"B\": 16, \"S\": \"}",
                                       "}"};

    (void)state;
    for (size_t i = 0; i < WS_COUNT(ends); i++) {
        char text[1000];

        snprintf(text, sizeof(text),
                 "{\"device_name\": \"GPU\", \"tune_params\": {\"B\": [16]}, "
                 "\"cache\": {\"a\": " ENTRY "%s",
                 ends[i]);
        assert_int_equal(parse(space, text), 0);
        assert_string_equal(rep.format, "cache");
        assert_string_equal(rep.device, "GPU");
        assert_int_equal(rep.unfinished, i > 0);
        assert_int_equal(rep.used, 1);
        assert_true(kept.r[0].figure_ns == 1.5e6);
        assert_int_equal(kept.r[0].nsample, 2);
        assert_int_equal(kept.r[0].build_ns, 2500000);
        assert_int_equal(kept.r[0].wall_ns, 1500000000u);
        config_is(0, "B=16,F=2.0,U=true,S=row");
    }
    assert_int_equal(parse(space, "{\"device_name\": \"G\", \"cache\": {"),
                     WS_EPARSE); /* begun, and nothing in it yet */
    assert_true(rep.unfinished);
    assert_int_equal(rep.used, 0);
    /* The callback ends the reading. */
    kept.stop_at = 1;
    {
        struct ws__results_spec s = about(space);
        const char *text = "B,F,U,S,time_us\n16,2,1,row,1\n";

        assert_int_equal(ws__results_parse(ctx, &s, text, strlen(text), "f",
                                           keep, &kept, &rep),
                         42);
    }
}

static bool near(double a, double b)
{
    return a == b || (a - b < 4e-16 * b && b - a < 4e-16 * b);
}

/* Writes what was kept, reads it, and compares. */
static void round_trip(const struct ws__spec *spec,
                       enum ws__results_format format, bool same_words)
{
    struct ws__results_spec s = about(spec);
    struct kept was = kept;
    struct ws__buf b;

    ws__buf_init(&b, ctx, 64 << 20);
    memset(&kept, 0, sizeof(kept));
    kept.ctx = ctx;
    assert_int_equal(ws__results_write(&s, format, "dev", was.r, was.n, &b), 0);
    assert_int_equal(ws__results_parse(ctx, &s, b.data, b.len, "again", keep,
                                       &kept, &rep),
                     0);
    assert_int_equal(kept.n, was.n);
    for (size_t i = 0; i < was.n; i++) {
        const struct ws__result *x = &was.r[i], *y = &kept.r[i];

        assert_memory_equal(&x->config, &y->config, sizeof(x->config));
        assert_int_equal(x->workload, y->workload);
        if (same_words)
            assert_int_equal(x->verdict, y->verdict);
        else
            assert_int_equal(x->verdict == WS__V_OK, y->verdict == WS__V_OK);
        assert_true(near(x->figure_ns, y->figure_ns));
        assert_int_equal(x->nsample, y->nsample);
        for (size_t j = 0; j < x->nsample; j++)
            assert_true(near(x->sample_ns[j], y->sample_ns[j]));
        assert_true(x->build_ns <= y->build_ns + 1 &&
                    y->build_ns <= x->build_ns + 1);
    }
    ws__buf_free(&b);
    drop(&was);
}

static void written_reads_back(void **state)
{
    (void)state;
    for (int f = WS__RESULTS_MATRIX; f <= WS__RESULTS_CACHE; f++) {
        assert_int_equal(parse(space,
                               "B,F,U,S,time_ms,samples_ms,status,compile_ms\n"
                               "16,0.5,True,row,2.1,1.7;2.5,ok,3\n"
                               "16,2,1,\"col,x\",0.1,,ok,\n"
                               "32,2,false,row,,,CompilationFailedConfig,1\n"
                               "32,0.5,false,row,,,crash,1\n"),
                         0);
        round_trip(space, (enum ws__results_format)f, f == WS__RESULTS_MATRIX);
    }
    assert_int_equal(parse(gemm, "M,N,T,BM,time_us\n3,4,float32,2,5\n"
                                 "1,2,float32,1,6\n"),
                     0);
    round_trip(gemm, WS__RESULTS_MATRIX, true);
    {
        struct ws__results_spec s = about(gemm);
        struct ws__buf b;

        ws__buf_init(&b, ctx, 1 << 20);
        assert_int_equal(ws__results_write(&s, WS__RESULTS_T4, NULL, kept.r,
                                           kept.n, &b),
                         WS_EINVAL);
        ws__buf_free(&b);
    }
}

static void write_gz(const char *path, const void *data, size_t n, size_t times)
{
    gzFile f = gzopen(path, "wb1");

    assert_non_null(f);
    for (size_t i = 0; i < times; i++)
        assert_int_equal(gzwrite(f, data, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

static void files(void **state)
{
    struct ws__results_spec s = about(space);
    const char *head = "B,F,U,S,time_us\n", *row = "16,2,1,row,1\n";
    static char big[1 << 20];
    char path[] = "/tmp/t_results_XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    kept.stop_at = 0;
    assert_int_equal(ws__results_read(ctx, &s, "/nowhere/x", keep, &kept, &rep),
                     WS_ENOENT);
    assert_int_equal(ws__results_read(ctx, &s, "/tmp", keep, &kept, &rep),
                     WS_EINVAL);
    assert_int_equal(ws__fs_write(ctx, path, head, strlen(head)), 0);
    assert_int_equal(ws__results_read(ctx, &s, path, keep, &kept, &rep),
                     WS_EPARSE);
    /* More than one read of rows, gzipped. */
    snprintf(big, sizeof(big), "%s", head);
    for (int i = 0; i < 20000; i++)
        snprintf(big + strlen(head) + (size_t)i * strlen(row), 20, "%s", row);
    write_gz(path, big, strlen(big), 1);
    assert_int_equal(ws__results_read(ctx, &s, path, keep, &kept, &rep), 0);
    assert_int_equal(rep.used, 20000);
    assert_int_equal(kept.r[kept.n - 1].line, 20001);
    /* Cut off; and a line that never ends. */
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(ws__results_read(ctx, &s, path, keep, &kept, &rep),
                     WS_ECORRUPT);
    memset(big, 'x', sizeof(big));
    write_gz(path, big, sizeof(big), 4);
    assert_int_equal(ws__results_read(ctx, &s, path, keep, &kept, &rep),
                     WS_ELIMIT);
    assert_int_equal(ws_ctx_error(ctx)->line, 1);
    /* A megabyte that unpacks to more than all limits. */
    memset(big, ' ', sizeof(big));
    big[0] = '{';
    write_gz(path, big, sizeof(big), 300);
    assert_int_equal(ws__results_read(ctx, &s, path, keep, &kept, &rep),
                     WS_ELIMIT);
    unlink(path);
}

static int torture_body(struct ws_ctx *c, void *user)
{
    struct ws__results_spec s = about(space);
    struct ws__results_report r;
    struct kept k = {.ctx = c};
    const char *text = user;
    int rc = ws__results_parse(c, &s, text, strlen(text), "f", keep, &k, &r);

    if (rc >= 0) {
        struct ws__buf b;

        ws__buf_init(&b, c, 1 << 20);
        for (int f = WS__RESULTS_MATRIX; f <= WS__RESULTS_CACHE && rc >= 0;
             f++) {
            b.len = 0;
            rc = ws__results_write(&s, (enum ws__results_format)f, "d", k.r,
                                   k.n, &b);
        }
        ws__buf_free(&b);
    }
    drop(&k);
    return rc;
}

static void torture(void **state)
{
    static char csv[] = "B,F,U,S,time_us,samples_us\n16,2,1,row,1,1;2;3\n"
                        "16,2,0,row,1,\n";
    static char json[] = "{\"cache\": {\"a\": " ENTRY "}}";

    (void)state;
    assert_true(t_torture(torture_body, csv) > 10);
    assert_true(t_torture(torture_body, json) > 5);
}

/* --- the files of the data folder ------------------------------------------
 */

static char *data_path(const char *name)
{
    static char path[600];
    const char *dir = getenv("WS_DATA");

    snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../shared/data", name);
    return path;
}

/* Before anything is made that a skipped test would leave behind. */
static void need_data(const char *name)
{
    if (!ws__fs_exists(data_path(name)))
        SKIP("no '%s'", data_path(name));
}

static struct ws__spec *data_spec(const char *name)
{
    struct ws__spec *s = NULL;

    need_data(name);
    assert_int_equal(ws__spec_load(ctx, data_path(name), NULL, &s), 0);
    return s;
}

static void read_data(const struct ws__spec *s, const char *name)
{
    struct ws__results_spec about_it = about(s);

    drop(&kept);
    kept.ctx = ctx;
    need_data(name);
    if (ws__results_read(ctx, &about_it, data_path(name), keep, &kept, &rep) <
        0)
        fail_msg("%s: %s", name, ws_ctx_error(ctx)->message);
}

static size_t count(enum ws__verdict v)
{
    size_t n = 0;

    for (size_t i = 0; i < kept.n; i++)
        n += kept.r[i].verdict == v;
    return n;
}

static void data_matrices(void **state)
{
    static const struct {
        const char *spec, *file;
        size_t ok, build, launch;
    } cases[] = {
        {"T1_convolution_milo.json", "convolution_milo__A100.csv.gz", 4201, 6,
         155},
        {"T1_convolution_milo.json", "convolution_milo__A4000.csv.gz", 4201, 6,
         155},
        {"T1_convolution_milo.json", "convolution_milo__A6000.csv.gz", 3889,
         252, 221},
        {"T1_dedispersion_milo.json", "dedispersion_milo__A100.csv.gz", 11130,
         0, 0},
        {"T1_dedispersion_milo.json", "dedispersion_milo__A4000.csv.gz", 11130,
         0, 0},
        {"T1_convolution.json", "convolution__RTX_3090.csv.gz", 5220, 1426,
         122},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        char spec[100], file[100];
        struct ws__spec *s;

        snprintf(spec, sizeof(spec), "benchmark_hub/%s", cases[i].spec);
        snprintf(file, sizeof(file), "benchmark_hub/%s", cases[i].file);
        s = data_spec(spec);
        read_data(s, file);
        if (rep.foreign)
            printf("# %s: %llu foreign: %s\n", file,
                   (unsigned long long)rep.foreign, rep.foreign_why);
        assert_int_equal(rep.foreign, 0);
        assert_int_equal(count(WS__V_OK), cases[i].ok);
        assert_int_equal(count(WS__V_BUILD), cases[i].build);
        assert_int_equal(count(WS__V_LAUNCH), cases[i].launch);
        ws__spec_free(s);
    }
}

/* One run in two formats: the same 2,442 results. */
static void data_t4_and_cache(void **state)
{
    static const char params[] =
        "{\"ConfigurationSpace\": {\"TuningParameters\": ["
        "{\"Name\": \"block_size_x\", \"Values\": \"[16*i for i in "
        "range(1,17)]\"}, {\"Name\": \"block_size_y\", \"Values\": "
        "[1, 2, 4, 8, 16]}, {\"Name\": \"tile_size_x\", \"Values\": "
        "[1, 2, 3, 4]}, {\"Name\": \"tile_size_y\", \"Values\": [1, 2, 3, 4]}, "
        "{\"Name\": \"read_only\", \"Values\": [0, 1]}, {\"Name\": "
        "\"use_padding\", \"Values\": [0, 1]}]}}";
    struct ws__spec *s;
    struct kept t4;

    (void)state;
    need_data("benchmark_hub/T4_convolution_A6000_original.json.gz");
    s = t1_spec(ctx, params);
    assert_non_null(s);
    read_data(s, "benchmark_hub/T4_convolution_A6000_original.json.gz");
    assert_string_equal(rep.format, "T4");
    t4 = kept;
    memset(&kept, 0, sizeof(kept));
    kept.ctx = ctx;
    read_data(s, "benchmark_hub/ktcache_convolution_A6000_original.json.gz");
    assert_string_equal(rep.format, "cache");
    assert_string_equal(rep.device, "NVIDIA RTX A6000");
    assert_int_equal(kept.n, 2442);
    assert_int_equal(count(WS__V_OK), 2266);
    assert_int_equal(count(WS__V_BUILD), 104);
    assert_int_equal(count(WS__V_LAUNCH), 72);
    assert_int_equal(t4.n, 2442);
    for (size_t i = 0; i < t4.n; i++) {
        assert_memory_equal(&t4.r[i].config, &kept.r[i].config,
                            sizeof(t4.r[i].config));
        assert_int_equal(t4.r[i].verdict, kept.r[i].verdict);
        assert_true(t4.r[i].figure_ns == kept.r[i].figure_ns);
        assert_int_equal(t4.r[i].nsample, kept.r[i].nsample);
        assert_int_equal(t4.r[i].wall_ns, kept.r[i].wall_ns);
    }
    drop(&t4);
    round_trip(s, WS__RESULTS_T4, true);
    round_trip(s, WS__RESULTS_CACHE, true);
    round_trip(s, WS__RESULTS_MATRIX, true);
    ws__spec_free(s);
}

static void data_fixtures(void **state)
{
    static const struct {
        const char *file, *params;
        size_t n;
    } cases[] = {
        {"kernel_tuner/test__test_cache_file.json",
         "{\"Name\": \"block_size_x\", \"Values\": \"[64*i for i in "
         "range(2, 17)]\"}",
         15},
        {"kernel_tuner/test__strategies__test_cache_file.json",
         "{\"Name\": \"block_size_x\", \"Values\": \"[64*i for i in "
         "range(2, 17)]\"}, {\"Name\": \"test_string\", \"Values\": "
         "[\"alg_1\", \"alg_2\"]}, {\"Name\": \"test_single\", \"Values\": "
         "[15]}, {\"Name\": \"test_bool\", \"Values\": [true, false]}, "
         "{\"Name\": \"test_mixed\", \"Values\": [1, 2.45]}",
         15},
        {"kernel_tuner/test__strategies__test_cache_time_energy.json",
         "{\"Name\": \"block_size_x\", \"Values\": \"[64*i for i in "
         "range(2, 17)]\"}, {\"Name\": \"nvml_gr_clock\", \"Values\": [1080]}",
         15},
        {"kernel_tuner/test__synthetic_fp32_cache_NVIDIA_RTX_A4000.json",
         "{\"Name\": \"nvml_gr_clock\", \"Values\": [2100, 1905, 1710, 1530, "
         "1335, 1155, 960, 780, 585, 405]}",
         10},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        char text[1200];
        struct ws__spec *s;

        snprintf(text, sizeof(text),
                 "{\"ConfigurationSpace\": {\"TuningParameters\": [%s]}}",
                 cases[i].params);
        need_data(cases[i].file);
        s = t1_spec(ctx, text);
        assert_non_null(s);
        read_data(s, cases[i].file);
        assert_int_equal(kept.n, cases[i].n);
        assert_int_equal(rep.foreign, 0);
        assert_int_equal(count(WS__V_OK), cases[i].n);
        round_trip(s, WS__RESULTS_CACHE, true);
        round_trip(s, WS__RESULTS_T4, true);
        ws__spec_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_meaning),
        cmocka_unit_test(foreign_rows),
        cmocka_unit_test(times),
        cmocka_unit_test(where_and_samples),
        cmocka_unit_test(axes),
        cmocka_unit_test(refused),
        cmocka_unit_test(cache_file),
        cmocka_unit_test(t4_units),
        cmocka_unit_test(written_reads_back),
        cmocka_unit_test(files),
        cmocka_unit_test(torture),
        cmocka_unit_test(data_matrices),
        cmocka_unit_test(data_t4_and_cache),
        cmocka_unit_test(data_fixtures),
    };

    return cmocka_run_group_tests_name("results", tests, setup, teardown);
}
