/*
 * t_spec_errors.c: broken specifications. Each case names the place and
 * pieces of the message and of the hint: an error that does not say where,
 * what and what would be right is a bug.
 *
 * A case is an edit of a good op or kernel: the first occurrence of `find`
 * becomes `put`.
 */
#include "base/t_base.h"

#include "spec/spec.h"

static const char good_op[] = "op: gemm\n"                       /* 1 */
                              "axes:\n"                          /* 2 */
                              "  M: {range: [1, 64]}\n"          /* 3 */
                              "  N: var\n"                       /* 4 */
                              "  T: {types: [float32, int8]}\n"  /* 5 */
                              "  D: 8\n"                         /* 6 */
                              "inputs:\n"                        /* 7 */
                              "  A: {shape: [M, N], dtype: T}\n" /* 8 */
                              "  s: {dtype: int32}\n"            /* 9 */
                              "outputs:\n"                       /* 10 */
                              "  C: {shape: [M], dtype: T}\n"    /* 11 */
                              "require: [\"N % D == 0\"]\n"      /* 12 */
                              "tolerance: {reduction: N}\n"      /* 13 */
                              "cache: cold\n";                   /* 14 */

static const char good_kernel[] =
    "kernel: k1\n"                               /* 1 */
    "dialect: portable\n"                        /* 2 */
    "source: k.c\n"                              /* 3 */
    "options: [-cl-mad-enable]\n"                /* 4 */
    "specialize: [N]\n"                          /* 5 */
    "parameters:\n"                              /* 6 */
    "  BM: {values: [16, 32], default: 16}\n"    /* 7 */
    "  BN: {values: \"[4 * i for i in [1]]\"}\n" /* 8 */
    "constraints:\n"                             /* 9 */
    "  - BM * BN <= 512\n"                       /* 10 */
    "  - {require: N % BN == 0, about: x}\n"     /* 11 */
    "ranges: {M: [1, 32]}\n"                     /* 12 */
    "scratch: {tmp: {bytes: M * 4}}\n"           /* 13 */
    "launches:\n"                                /* 14 */
    "  - entry: f\n"                             /* 15 */
    "    grid: [\"ceil_div(M, BM)\", 2]\n"       /* 16 */
    "    block: BM\n"                            /* 17 */
    "    args: [A, s, C, tmp, {int32: M}]\n"     /* 18 */
    "wave: {grid: M, loop: N}\n";                /* 19 */

struct broken {
    const char *find, *put;
    int code;
    unsigned line, column;
    const char *message, *hint;
};

static const struct broken ops[] = {
    {"op: gemm\n", "", WS_ESPEC, 1, 1, "has no 'op'", "'op: ...'"},
    {"op: gemm", "op: 9x", WS_ESPEC, 1, 5, "'9x' is not a name", "digit"},
    {"op: gemm", "op: g\\b", WS_ESPEC, 1, 5, "not a name", "'-' and '.'"},
    {"op: gemm", "op: \"g\\e[1m\"", WS_ESPEC, 1, 6, "not a name", "letters"},
    {"op: gemm", "op: [a]", WS_ESPEC, 1, 5, "'op' is a list", "a name"},
    {"  N: var", "  N: {counts: sum}", WS_ESPEC, 4, 15, "'sum'", "nonzero max"},
    {"  N: var", "  N: {counts: {blocks: 0}}", WS_ESPEC, 4, 24, "cannot be 0",
     "1.."},
    {"  N: var", "  N: {counts: {block: 4}}", WS_ESPEC, 4, 16, "'block'",
     "'blocks'"},
    {"  N: var", "  N: {counts: {}}", WS_ESPEC, 4, 15, "no 'blocks'", "blocks"},
    {"  N: var", "  N: {counts: [1]}", WS_ESPEC, 4, 15, "is a list", ""},
    {"  N: var", "  N: {counts: max, value: 3}", WS_ESPEC, 4, 6,
     "of several kinds", "one of"},
    {"cache: cold", "cache: col", WS_ESPEC, 14, 8, "'col'", "'cold'"},
    {"cache: cold", "cach: cold", WS_ESPEC, 14, 1, "unknown key 'cach'",
     "'cache'"},
    {"cache: cold", "zzz: 1", WS_ESPEC, 14, 1, "unknown key 'zzz'", "its keys"},
    {"cache: cold", "constants: 5", WS_ESPEC, 14, 12, "'5' is a single value",
     "NAME: number"},
    {"cache: cold", "constants: {E: x}", WS_ESPEC, 14, 16,
     "constant 'E' is no number: 'x'", "1e-5"},
    {"cache: cold", "constants: {E: \"1\"}", WS_ESPEC, 14, 17,
     "constant 'E' is no number: '1'", "quotes"},
    {"cache: cold", "constants: {E: true}", WS_ESPEC, 14, 16, "no number",
     "1e-5"},
    {"cache: cold", "constants: {E: [1]}", WS_ESPEC, 14, 16, "'E' is a list",
     "a number"},
    {"cache: cold", "constants: {E: }", WS_ESPEC, 14, 13, "'E' has no value",
     "a number"},
    {"cache: cold", "constants: {E: 1e39}", WS_ESPEC, 14, 16,
     "constant 'E' cannot be 1e39", "float32"},
    {"cache: cold", "constants: {E: -1e-39}", WS_ESPEC, 14, 16,
     "constant 'E' cannot be -1e-39", "float32"},
    {"cache: cold", "constants: {E: 9007199254740993}", WS_ESPEC, 14, 16,
     "cannot be 9007199254740993", "2^53"},
    {"cache: cold", "constants: {E: 1, M: 2}", WS_ESPEC, 14, 19, "'M' is taken",
     "an axis"},
    {"cache: cold", "constants: {int8: 2}", WS_ESPEC, 14, 13,
     "'int8' cannot name a constant", "element type"},
    {"cache: cold", "constants: {min: 2}", WS_ESPEC, 14, 13,
     "'min' cannot name a constant", "expressions"},
    {"cache: cold", "constants: {A: 2}", WS_ESPEC, 8, 3, "'A' is taken",
     "a constant"},
    {"cache: cold", "cache:", WS_ESPEC, 14, 1, "'cache' has no value",
     "cache mode"},
    {"cache: cold", "op: b", WS_EPARSE, 14, 1, "'op' stands here twice",
     "line 1"},
    {"cache: cold", "cache: &a cold", WS_EPARSE, 14, 11, "anchor", "quote"},
    {"cache: cold", "cache: *a", WS_EPARSE, 14, 9, "alias", "write the value"},
    {"cache: cold", "cache: !!str cold", WS_EPARSE, 14, 14, "tag", "leave it"},
    {"cache: cold", "? [a]\n: b", WS_EPARSE, 14, 3, "a key must be a word",
     "NAME: VALUE"},
    {"  N: var", "\tN: var", WS_EPARSE, 4, 1, "tab", "spaces"},
    {"[M, N]", "[M, N", WS_EPARSE, 8, 29, "not valid YAML", "quotes"},
    {"N: var", "N: vra", WS_ESPEC, 4, 6, "'vra'", "var, a whole number"},
    {"N: var", "N: 1.5", WS_ESPEC, 4, 6, "'1.5'", "whole number"},
    {"N: var", "if: var", WS_ESPEC, 4, 3, "'if' cannot name", "meaning"},
    {"N: var", "float32: var", WS_ESPEC, 4, 3, "'float32' cannot name an axis",
     "element type"},
    {"  A:", "  int8:", WS_ESPEC, 8, 3, "'int8' cannot name a tensor",
     "element type"},
    {"N: var", "N-1: var", WS_ESPEC, 4, 3, "'N-1' is not a name for an axis",
     "letters, digits and '_', begins"},
    {"N % D == 0", "N % D", WS_EEXPR, 12, 12, "'N % D' is no condition",
     "== 0"},
    {"N % D == 0", "T == flot32", WS_EEXPR, 12, 17, "'flot32'", "'float32'"},
    {"N: var", "name: var", WS_ESPEC, 4, 3, "'name' cannot name an axis",
     "key of workloads"},
    {"N: var", "device_n: var", WS_ESPEC, 4, 3, "'device_n'", "meaning"},
    {"range: [1, 64]", "range: [64, 1]", WS_ESPEC, 3, 14, "64 is above 1",
     "[lowest, highest]"},
    {"range: [1, 64]", "range: [1]", WS_ESPEC, 3, 14, "1 numbers, not 2",
     "[lowest, highest]"},
    {"range: [1, 64]", "range: 5", WS_ESPEC, 3, 14, "'5' is a single value",
     "a range"},
    {"range: [1, 64]", "rnge: [1, 64]", WS_ESPEC, 3, 7, "'rnge' in an axis",
     "'range'"},
    {"range: [1, 64]", "range: [1, x]", WS_ESPEC, 3, 18, "'x'", "whole number"},
    {"range: [1, 64]", "range: [1, \"64\"]", WS_ESPEC, 3, 19, "'64'",
     "leave out the quotes"},
    {"range: [1, 64]", "range: [1, 2], value: 3", WS_ESPEC, 3, 6,
     "several kinds", "give one"},
    {"float32, int8", "float32, flaot16", WS_ESPEC, 5, 24, "'flaot16'",
     "'float16'"},
    {"float32, int8", "int8, int8", WS_ESPEC, 5, 21, "twice", ""},
    {"[M, N]", "[M, Q]", WS_EEXPR, 8, 18, "Q", ""},
    {"[M, N]", "[M, N / 2]", WS_EEXPR, 8, 18, "float", ""},
    {"[M, N]", "[ceil_div(M, 2), N]", WS_EEXPR, 8, 25, "", "needs quotes"},
    {"[M, N]", "[]", WS_ESPEC, 8, 14, "empty", "scalar"},
    {"[M, N]", "[1,1,1,1,1,1,1]", WS_ELIMIT, 8, 14, "7 dimensions", ""},
    {"  A: {shape: [M, N], dtype: T}", "  A: {shape: [M, N], dtype: N}",
     WS_ESPEC, 8, 29, "axis 'N' is no type", "types"},
    {"dtype: T}\n  s", "dtype: flot32}\n  s", WS_ESPEC, 8, 29, "'flot32'",
     "'float32'"},
    {"  A: {shape: [M, N], dtype: T}", "  A: {shape: [M, N]}", WS_ESPEC, 8, 6,
     "no 'dtype'", "dtype: ..."},
    {"  A:", "  M:", WS_ESPEC, 8, 3, "'M' is taken", "an axis"},
    {"dtype: int32}", "dtype: int32, fill: {normal: [0]}}", WS_ESPEC, 9, 36,
     "1 numbers, not 2", "mean"},
    {"dtype: int32}", "dtype: int32, fill: {normal: [0, -1]}}", WS_ESPEC, 9, 36,
     "cannot be [0, -1]", "deviation"},
    {"dtype: int32}", "dtype: int32, fill: gaussian}", WS_ESPEC, 9, 27,
     "'gaussian'", "normal native"},
    {"dtype: int32}", "dtype: int32, align: 3}", WS_ESPEC, 9, 28,
     "no power of two", "bytes"},
    {"dtype: int32}", "dtype: int32, align: 256}", WS_ESPEC, 9, 28,
     "an alignment cannot be 256", "1..128"},
    {"dtype: int32}", "dtype: int32, strides: [1]}", WS_ESPEC, 9, 30,
     "no strides", ""},
    {"  C: {shape: [M], dtype: T}", "  C: {dtype: T}", WS_ESPEC, 11, 3,
     "'C' has no shape", "scalars"},
    {"  C: {shape: [M], dtype: T}", "  C: {shape: [M], dtype: T, fill: normal}",
     WS_ESPEC, 11, 29, "has a fill", "inputs"},
    {"outputs:\n  C: {shape: [M], dtype: T}\n", "", WS_ESPEC, 1, 1,
     "no outputs", "inouts"},
    {"N % D == 0", "N % D = 0", WS_EEXPR, 12, 18, "", ""},
    {"{reduction: N}", "{reduction: N, atol: 1}", WS_ESPEC, 13, 12, "two kinds",
     "either"},
    {"{reduction: N}", "{atol: -1}", WS_ESPEC, 13, 19, "atol cannot be -1",
     "negative"},
    {"{reduction: N}", "{atol: 1, ratio: 1.5}", WS_ESPEC, 13, 29,
     "ratio cannot be 1.5", "at most 1"},
    {"{reduction: N}", "{rule: gpu-mod}", WS_ESPEC, 13, 19, "'gpu-mod'",
     "gpu-mode"},
    {"{reduction: N}", "{rule: gpu-mode, reduction: N}", WS_ESPEC, 13, 12,
     "two kinds", "a rule"},
    {"{reduction: N}", "{rule: gpu-mode, ratio: 0.9}", WS_ESPEC, 13, 29,
     "'gpu-mode' has no ratio", "without rule"},
    {"{reduction: N}", "{rule: flashinfer-bench, ratio: 2}", WS_ESPEC, 13, 44,
     "ratio cannot be 2", "at most 1"},
    {"cache: cold", "values: {huge: \"\"}", WS_ESPEC, 14, 17, "is empty",
     "say something"},
    {"cache: cold", "values: {hug: no}", WS_ESPEC, 14, 10, "'hug' in values",
     "'huge'"},
    {"cache: cold", "values: {plain: no}", WS_ESPEC, 14, 10,
     "'plain' values cannot be refused", "change those"},
    {"cache: cold", "values: {huge: {finit: no}}", WS_ESPEC, 14, 17, "'finit'",
     "'finite'"},
    {"cache: cold", "values: {huge: {}}", WS_ESPEC, 14, 16, "no 'finite'",
     "finite: ..."},
    {"cache: cold", "values: huge", WS_ESPEC, 14, 9, "'huge'", ""},
    {"s: {dtype: int32}", "s: {dtype: int32, infinite: true}", WS_ESPEC, 9, 21,
     "input 's' has a word on results", "outputs"},
    {"[M], dtype: T}", "[M], dtype: T, infinite: 3}", WS_ESPEC, 11, 39, "'3'",
     ""},
    {"{reduction: N}", "{atol: abc}", WS_ESPEC, 13, 19, "'abc'", "number"},
    {"cache: cold", "reference: {nativ: a}", WS_ESPEC, 14, 13, "'nativ'",
     "'native'"},
    {"cache: cold", "---\na: b", WS_EPARSE, 14, 1, "second document",
     "one document"},
};

static const struct broken kernels[] = {
    {"kernel: k1\n", "", WS_ESPEC, 1, 1, "no 'kernel'", "kernel: ..."},
    {"source: k.c\n", "", WS_ESPEC, 1, 1, "no 'source'", "source: ..."},
    {"dialect: portable", "dialect: hip", WS_ESPEC, 2, 10, "'hip'",
     "portable opencl cuda"},
    {"-cl-mad-enable", "-DBM=3", WS_ESPEC, 4, 11, "'-DBM=3'", "parameter"},
    {"-cl-mad-enable", "-cl-mad-enabel", WS_ESPEC, 4, 11, "not allowed",
     "'-cl-mad-enable'"},
    {"-cl-mad-enable", "--maxrregcount=x", WS_ESPEC, 4, 11, "not allowed", ""},
    {"-cl-mad-enable", "-I/etc", WS_ESPEC, 4, 11, "not allowed",
     "specification.md"},
    {"specialize: [N]", "specialize: [Z]", WS_ESPEC, 5, 14, "no axis 'Z'", ""},
    {"specialize: [N]", "specialize: [T]", WS_ESPEC, 5, 14, "does not vary",
     "leave it out"},
    {"  BM: {values", "  M: {values", WS_ESPEC, 7, 3, "'M' is taken",
     "an axis"},
    {"  BM: {values", "  C: {values", WS_ESPEC, 7, 3, "'C' is taken",
     "a tensor"},
    {"kernel: k1", "kernel: 'k 1'", WS_ESPEC, 1, 10, "'k 1' is not a name",
     "'-' and '.'"},
    {"  BM: {values", "  bfloat16: {values", WS_ESPEC, 7, 3,
     "'bfloat16' cannot name a parameter", "element type"},
    {"  BM: {values", "  B\u00e9: {values", WS_ESPEC, 7, 3, "not a name",
     "digits"},
    {"BM * BN <= 512", "BM * BN <= 32", WS_ESPEC, 10, 5,
     "the default values break 'BM * BN <= 32': BM=16, BN=4", "'default'"},
    {"BM * BN <= 512", "1 > 2", WS_ESPEC, 10, 5,
     "the default values break '1 > 2'", "no config"},
    {"BM * BN <= 512", "BM % (BN - 4) == 0", WS_EEXPR, 10, 8,
     "the default values: division by zero", ""},
    {"BM * BN <= 512", "5", WS_EEXPR, 10, 5, "'5' is no condition", "compare"},
    {"BM * BN <= 512", "BM % BN", WS_EEXPR, 10, 5, "'BM % BN' is no condition",
     "== 0"},
    {"BM * BN <= 512", "\"'a'\"", WS_EEXPR, 10, 6, "is no condition, it is",
     "compare"},
    {"{tmp: {bytes: M * 4}}", "{tmp: {bytes: M * 4, when: BM}}", WS_EEXPR, 13,
     37, "'BM' is no condition", "compare"},
    {"{tmp: {bytes: M * 4}}", "{int32: {bytes: M * 4}}", WS_ESPEC, 13, 11,
     "'int32' cannot name a scratch buffer", "element type"},
    {"entry: f", "entry: f-1", WS_ESPEC, 15, 12, "'f-1' is not a name", "_"},
    {"[16, 32]", "[16, x]", WS_ESPEC, 7, 21, "differ in type: 'x'", "all"},
    {"[16, 32]", "[16, 16]", WS_ESPEC, 7, 16, "values 1 and 2", "once"},
    {"[16, 32]", "[]", WS_ESPEC, 7, 16, "no values", "at least one"},
    {"default: 16", "default: 17", WS_ESPEC, 7, 35, "default 17", "'values'"},
    {"default: 16", "default: {cpu: 16}", WS_ESPEC, 7, 35, "no 'gpu'", "gpu"},
    {"default: 16", "default: {cpu: 16, gpu: 17}", WS_ESPEC, 7, 50,
     "default 17", "'values'"},
    {"default: 16", "default: {cpu: 16, tpu: 32}", WS_ESPEC, 7, 45, "'tpu'",
     "'cpu'"},
    {"default: 16", "defualt: 16", WS_ESPEC, 7, 26, "'defualt'", "'default'"},
    {"default: 16", "structural: yes", WS_ESPEC, 7, 38, "'yes'",
     "true or false"},
    {"values: [16, 32], default", "default", WS_ESPEC, 7, 7, "no 'values'",
     "values"},
    {"4 * i for i", "4 * j for i", WS_EEXPR, 8, 22, "j", ""},
    {"BM * BN <= 512", "BM * BX <= 512", WS_EEXPR, 10, 10, "BX", "BM"},
    {"BM * BN <= 512", "BM * (BN <= 512", WS_EEXPR, 10, 0, "", ""},
    {"{require: N % BN == 0, about: x}", "{about: x}", WS_ESPEC, 11, 5,
     "no 'require'", "require"},
    {"{require: N % BN == 0, about: x}", "{require: N > 1, prune: N > 2}",
     WS_ESPEC, 11, 29, "both require and prune", "two"},
    {"{require: N % BN == 0, about: x}", "{prune: N + 1}", WS_EEXPR, 11, 13,
     "N + 1", ""},
    {"{require: N % BN == 0, about: x}", "{if: N > 1}", WS_ESPEC, 11, 6,
     "'if' in a constraint", "require prune about"},
    {"{M: [1, 32]}", "{M: [0, 32]}", WS_ESPEC, 12, 14, "cannot be 0", "1.."},
    {"{tmp: {bytes: M * 4}}", "{tmp: {byte: M * 4}}", WS_ESPEC, 13, 17,
     "'byte'", "'bytes'"},
    {"{tmp: {bytes: M * 4}}", "{BM: {bytes: M * 4}}", WS_ESPEC, 13, 11,
     "'BM' is taken", "own"},
    {"{tmp: {bytes: M * 4}}", "{tmp: {bytes: M, zero: 2}}", WS_ESPEC, 13, 33,
     "'2'", "true or false"},
    {"    block: BM\n", "", WS_ESPEC, 15, 5, "no 'block'", "block"},
    {"block: BM", "block: [1, 1, 1, 1]", WS_ESPEC, 17, 12, "4 dimensions",
     "1 to 3"},
    {"grid: [\"ceil_div(M, BM)\", 2]", "grid: [ceil_div(M, BM)]", WS_EEXPR, 16,
     0, "", "needs quotes"},
    {"block: BM", "block: 'red'", WS_EEXPR, 17, 13, "red", ""},
    {"[A, s, C", "[A, s, Cc", WS_ESPEC, 18, 18, "'Cc' is no tensor",
     "did you mean"},
    {"{int32: M}", "M", WS_ESPEC, 18, 26, "'M' has no type", "{int32: M}"},
    {"{int32: M}", "{int31: M}", WS_ESPEC, 18, 27, "'int31'", "'int32'"},
    {"{int32: M}", "{int32: M, int8: N}", WS_ESPEC, 18, 26, "one key, not 2",
     "{int32: M}"},
    {"{int32: M}", "{float32: s}", WS_ESPEC, 18, 36, "passed as float32",
     "its name alone"},
    {"[A, s, C, tmp", "[A, s, tmp", WS_ESPEC, 15, 3, "output 'C'", "args"},
    {"wave: {grid: M, loop: N}", "wave: {gird: M}", WS_ESPEC, 19, 8, "'gird'",
     "'grid'"},
    {"wave: {grid: M, loop: N}", "wave: {grid: X}", WS_EEXPR, 19, 14, "'X'",
     ""},
    {"wave: {grid: M, loop: N}", "wave: {balanced: 1}", WS_ESPEC, 19, 18, "'1'",
     "true or false"},
    {"wave: {grid: M, loop: N}", "wave: {tile: BM}", WS_ESPEC, 19, 14,
     "'BM' is a single value", "rows, columns, depth"},
    {"wave: {grid: M, loop: N}", "wave: {tile: []}", WS_ESPEC, 19, 14,
     "a tile of 0 lengths", "left out"},
    {"wave: {grid: M, loop: N}", "wave: {tile: [1, 2, 3, 4]}", WS_ESPEC, 19, 14,
     "a tile of 4 lengths", "depth"},
    {"wave: {grid: M, loop: N}", "wave: {tile: [BM, BQ]}", WS_EEXPR, 19, 19,
     "'BQ'", ""},
    {"wave: {grid: M, loop: N}", "wave: [1]", WS_ESPEC, 19, 7, "is a list", ""},
    {"block: BM", "block: resident_blocks", WS_EEXPR, 17, 12, "resident_blocks",
     ""},
    {"wave: {grid: M, loop: N}", "- a", WS_EPARSE, 19, 0, "not valid YAML", ""},
};

static const struct broken workloads[] = {
    {"X", "[]", WS_ESPEC, 14, 12, "empty", "at least one"},
    {"X", "[{M: 1}]", WS_ESPEC, 14, 13, "without a value: N", "every"},
    {"X", "[{M: 1, N: 8, K: 2}]", WS_ESPEC, 14, 26, "no axis 'K'", ""},
    {"X", "[{M: 65, N: 8}]", WS_ESPEC, 14, 13, "'M' cannot be 65", "1..64"},
    {"X", "[{M: 1, N: 9}]", WS_ESPEC, 14, 13, "'N % D == 0' does not hold",
     "line 12"},
    {"X", "[{M: 1, N: 8, T: int16}]", WS_ESPEC, 14, 29, "'int16'", "line 5"},
    {"X", "[{M: 1, N: 8, D: 9}]", WS_ESPEC, 14, 13, "'D' cannot be 9", "8"},
    {"X", "[{M: 1, N: 8}, {M: 1, N: 8}]", WS_ESPEC, 14, 27, "twice", "line 14"},
    {"X", "[{M: 1, N: 8, weight: 0}]", WS_ESPEC, 14, 34, "weight 0", "leave"},
    {"X", "[{M: 1, N: 0}]", WS_ESPEC, 8, 18, "is 0", "at least 1"},
    {"X", "[{M: 64, N: 8796093022208}]", WS_ESPEC, 8, 3, "larger than 2^40",
     "smaller"},
    {"X", "[{M: 1, N: 99999999999999999999}]", WS_ESPEC, 14, 23,
     "not a whole number", ""},
    {"X", "[{M: 1, N: 8, name: \"a\\tb\"}]", WS_ESPEC, 14, 33, "behind 'a'",
     "one line"},
    {"X", "[{M: 1, N: 8, name: \"a\\x9bb\"}]", WS_ESPEC, 14, 33,
     "control character", "plain"},
    {"X", "[{M: 1, N: 8, name: \"\"}]", WS_ESPEC, 14, 33, "is empty", "leave"},
    {"X", "[5]", WS_ESPEC, 14, 13, "'5' is a single value", "a workload"},
    {"X", "nowhere.yaml", WS_ENOENT, 14, 12, "nowhere.yaml", ""},
};

static struct ws_ctx *ctx;
static int bad_cases;
static char dir[] = "/tmp/ws_spec_err_XXXXXX";

static char *edited(const char *text, const struct broken *b)
{
    static char out[4000];
    const char *at = strstr(text, b->find);

    assert_non_null(at);
    snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, b->put,
             at + strlen(b->find));
    return out;
}

static bool as_wanted(const struct broken *b, int rc, const struct ws_error *e)
{
    /* A few refusals (twice the same, limits) need no advice. */
    bool advised = !*b->hint || (*e->hint && strstr(e->hint, b->hint));

    return rc == b->code && e->code == b->code && e->line == b->line &&
           (!b->column || e->column == b->column) && *e->file &&
           strstr(e->message, b->message) && advised;
}

/* All cases are compared before the test fails. */
static void compare(const struct broken *b, int rc)
{
    const struct ws_error *e = ws_ctx_error(ctx);

    if (as_wanted(b, rc, e))
        return;
    bad_cases++;
    print_error("'%s': got %d %s:%u:%u: %s (%s)\n", b->put, rc, e->file,
                e->line, e->column, e->message, e->hint);
}

static int load_texts(const char *op, const char *kernel)
{
    struct ws__spec *s;
    int rc = ws__spec_from_text(ctx, op, &kernel, NULL, 1, &s);

    ws__spec_free(s);
    return rc;
}

/* What op files say of tolerance and values, and what it means. */
static void judging(void **state)
{
    static const struct broken edits[] = {
        {.find = "{reduction: N}", .put = "{rule: flashinfer-bench}"},
        {.find = "{reduction: N}", .put = "{rule: gpu-mode, atol: 0.02}"},
        {.find = "{reduction: N}", .put = "{atol: 0.02, rtol: 1e-5}"},
        {.find = "cache: cold", .put = "cache: cold\nvalues: {huge: it is}"},
        {.find = "cache: cold",
         .put = "cache: cold\nvalues: {huge: {finite: it is}}"},
        {.find = "[M], dtype: T}", .put = "[M], dtype: T, infinite: true}"},
    };
    const char *kernel = good_kernel;
    struct ws__hash hash[WS_COUNT(edits)];
    struct ws__spec *s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(edits); i++) {
        const struct ws__tolerance *t;
        const char *text = edited(good_op, &edits[i]);

        assert_int_equal(ws__spec_from_text(ctx, text, &kernel, NULL, 1, &s),
                         0);
        t = &s->op->tolerance;
        hash[i] = s->op->hash;
        assert_int_equal(t->kind, i == 0  ? WS__TOL_EITHER
                                  : i < 3 ? WS__TOL_EXPLICIT
                                          : WS__TOL_AUTO);
        if (i < 3)
            assert_true(t->atol == (i ? 0.02 : 0.01) &&
                        t->rtol == (i ? 1e-5 : 0.01) && t->ratio == 1);
        assert_string_equal(ws__tolerance_rule(t), i == 0   ? "flashinfer-bench"
                                                   : i == 1 ? "gpu-mode"
                                                   : i == 2 ? "explicit"
                                                            : "automatic");
        for (int f = 0; f < WS__NFAMILY; f++) {
            const char *why = ws__family_refused(s->op, (enum ws__family)f);
            bool huge = (i == 3 || i == 4) &&
                        (f == WS__FAMILY_HUGE || f == WS__FAMILY_ONE_SIDED);

            assert_true(huge == (why != NULL));
            assert_true(ws__family_finite(s->op, (enum ws__family)f) ==
                        (huge && i == 4));
        }
        assert_true(s->op->tensor[2].infinite == (i == 5));
        ws__spec_free(s);
    }
    /* A rule is its numbers; families are a part of the meaning. */
    assert_true(ws__hash_eq(hash[1], hash[2]));
    assert_false(ws__hash_eq(hash[0], hash[1]));
    assert_false(ws__hash_eq(hash[3], hash[4]));
    assert_false(ws__hash_eq(hash[3], hash[5]));
}

static void broken_ops(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(ops); i++)
        compare(&ops[i], load_texts(edited(good_op, &ops[i]), good_kernel));
    assert_int_equal(bad_cases, 0);
}

static void broken_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < WS_COUNT(kernels); i++)
        compare(&kernels[i],
                load_texts(good_op, edited(good_kernel, &kernels[i])));
    assert_int_equal(bad_cases, 0);
}

static void broken_workloads(void **state)
{
    char path[100], text[4000];

    (void)state;
    snprintf(path, sizeof(path), "%s/op.yaml", dir);
    for (size_t i = 0; i < WS_COUNT(workloads); i++) {
        struct broken b = workloads[i];
        struct ws__spec *s;
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        snprintf(text, sizeof(text), "workloads: %s", b.put);
        b.find = "cache: cold";
        b.put = text;
        fputs(edited(good_op, &b), f);
        fclose(f);
        compare(&b, ws__spec_load(ctx, path, NULL, &s));
    }
    remove(path);
    assert_int_equal(bad_cases, 0);
}

static char *with(const char *text, const char *find, const char *put)
{
    return edited(text, &(struct broken){.find = find, .put = put});
}

/* The texts that the cases edit are themselves good; and what is near a
 * mistake and none. */
static void the_good_ones_load(void **state)
{
    (void)state;
    static const char *const conditions[] = {
        "T == float32 or T == int8",
        "BM or BN == 4",
        "device_is_cpu or BM > 3",
        "not BM % 4",
        "(4 if T == float32 else 1) * BM <= 64",
        "bool == 12 and bool(BM)",
        "true"};

    (void)state;
    assert_int_equal(load_texts(good_op, good_kernel), 0);
    for (size_t i = 0; i < WS_COUNT(conditions); i++)
        if (load_texts(good_op,
                       with(good_kernel, "BM * BN <= 512", conditions[i])) < 0)
            fail_msg("%s: %s", conditions[i], ws_ctx_error(ctx)->message);
    assert_int_equal(load_texts(with(good_op, "op: gemm", "op: sum-2.b"),
                                good_kernel),
                     0);
    assert_int_equal(load_texts(good_op, with(good_kernel, "kernel: k1",
                                              "kernel: k-1.x")),
                     0);
}

/* Neither source nor launches: a space over axes, for recordings. */
static void space_only(void **state)
{
    static const char op[] = "op: gemm\naxes: {M: var}\n"
                             "outputs: {C: {shape: [M], dtype: float32}}\n";
    const char *kernel = "kernel: k\nop: gemm\nparameters: {B: [1, 2]}\n"
                         "constraints: [B <= M]\nwave: {grid: M * B}\n";
    const char *odd[] = {"kernel: k\nop: gemm\nscratch: {t: 4}\n",
                         "kernel: k\nop: gemm\noptions: []\n"};
    struct ws__spec *s;
    char *op_out, *kernel_out, *source;
    struct ws__config c;

    (void)state;
    assert_int_equal(ws__spec_from_text(ctx, op, &kernel, NULL, 1, &s), 0);
    assert_null(s->kernel[0].source);
    assert_int_equal(s->kernel[0].nlaunch, 0);
    assert_non_null(s->kernel[0].wave.coord[WSRT_W_GRID]);
    ws__config_default(&s->kernel[0], &c);
    assert_int_equal(ws__kernel_source(ctx, &s->kernel[0], &c, NULL, &source),
                     WS_ESPEC);
    assert_int_equal(ws__spec_to_text(s, 0, &op_out, &kernel_out), 0);
    assert_null(strstr(kernel_out, "source"));
    ws__free(ctx, op_out);
    ws__free(ctx, kernel_out);
    ws__spec_free(s);
    for (size_t i = 0; i < WS_COUNT(odd); i++) {
        assert_int_equal(ws__spec_from_text(ctx, op, &odd[i], NULL, 1, &s),
                         WS_ESPEC);
        assert_int_equal(ws_ctx_error(ctx)->line, 3);
        assert_non_null(strstr(ws_ctx_error(ctx)->message,
                               "without a source and launches"));
    }
}

/* A parameter that changes neither text nor launches is a mistake. */
static void unused_parameters(void **state)
{
    static const char *const texts[] = {"int x = BN;", "/* BN */",
                                        "#if BN\n#endif", "x(BN)"};
    static const char *const bad[] = {"int x = ABN, BN2;", "BM", " "};
    const char *kernel = good_kernel;
    struct ws__spec *s;

    (void)state;
    for (size_t i = 0; i < WS_COUNT(texts); i++) {
        assert_int_equal(ws__spec_from_text(ctx, good_op, &kernel, &texts[i], 1,
                                            &s),
                         0);
        ws__spec_free(s);
    }
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        assert_int_equal(ws__spec_from_text(ctx, good_op, &kernel, &bad[i], 1,
                                            &s),
                         WS_ESPEC);
        assert_string_equal(ws_ctx_error(ctx)->message,
                            "parameter 'BN' is used neither in the source nor "
                            "in the launch plan");
        assert_int_equal(ws_ctx_error(ctx)->line, 8);
    }
}

/* A foreign space may be named and tested in other ways. */
static void foreign_spaces(void **state)
{
    static const char t1[] =
        "{\"General\": {\"BenchmarkName\": \"a (b)\"}, "
        "\"ConfigurationSpace\": {\"TuningParameters\": ["
        "{\"Name\": \"int8\", \"Values\": [1, 2]}], \"Conditions\": ["
        "{\"Expression\": \"int8 > 1\"}, {\"Expression\": \"int8 & 2\"}]}}";
    const char *words;

    (void)state;
    assert_int_equal(load_texts(NULL, t1), 0);
    words = with(t1, "int8 & 2", "int8 == float32");
    assert_int_equal(load_texts(NULL, words), WS_EEXPR);
    words = with(t1, "a (b)", "a\\u0007");
    assert_int_equal(load_texts(NULL, words), WS_ESPEC);
}

/* Complaints of the YAML library: the file's format, and advice that fits. */
static void syntax(void **state)
{
    static const struct {
        const char *file, *text, *message, *hint;
    } bad[] = {
        {"a.yaml", "a:\n  b: 1\n c: 2\n", "not valid YAML", "one column"},
        {"a.yaml", "a: 1\n  b: 2\n", "not valid YAML", "deeper"},
        {"a.yaml", "a: b: c\n", "not valid YAML", "quotes"},
        {"a.yaml", "a: \"b\n", "not valid YAML", "end the text"},
        {"a.yaml", "a: @b\n", "not valid YAML", "into quotes"},
        {"a.yaml", "a: {b: c}}\n", "not valid YAML", "too many"},
        {"a.yaml", "a: \"\\q\"\n", "not valid YAML", "backslash"},
        {"a.yaml", "a: \xff\n", "not UTF-8", "UTF-8"},
        {"a.yaml", "a: 1\n- b\n", "not valid YAML", "'KEY: VALUE'"},
        {"a.json", "{\"a\": 1\n \"b\": 2}\n", "not valid JSON",
         "a comma, a colon"},
        {"a.json", "{\"a\": \"\\q\"}\n", "not valid JSON", "for a backslash"},
    };

    (void)state;
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        char path[100];
        struct ws__spec *s;
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", dir, bad[i].file);
        f = fopen(path, "w");
        assert_non_null(f);
        fputs(bad[i].text, f);
        fclose(f);
        if (ws__spec_load(ctx, path, NULL, &s) != WS_EPARSE ||
            !strstr(ws_ctx_error(ctx)->message, bad[i].message) ||
            !strstr(ws_ctx_error(ctx)->hint, bad[i].hint))
            fail_msg("%s: %s (%s)", bad[i].text, ws_ctx_error(ctx)->message,
                     ws_ctx_error(ctx)->hint);
        remove(path);
    }
}

static void write_file(const char *name, const char *text)
{
    char path[100];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A source that is not there: where it was looked for, and what is there. */
static void missing_source(void **state)
{
    static const char *const names[] = {"op.yaml", "kernel.yaml", "tile.cl"};
    char path[100], text[4000], real[4096];
    struct ws__spec *s;

    (void)state;
    write_file("op.yaml", good_op);
    write_file("tile.cl", "BM BN");
    snprintf(text, sizeof(text), "op: ./op.yaml\n%s",
             with(good_kernel, "k.c", "tyle.cl"));
    write_file("kernel.yaml", text);
    snprintf(path, sizeof(path), "%s/kernel.yaml", dir);
    assert_int_equal(ws__spec_load(ctx, path, NULL, &s), WS_ENOENT);
    assert_string_equal(ws_ctx_error(ctx)->message,
                        "source 'tyle.cl' is not found");
    assert_non_null(realpath(dir, real));
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, real));
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "did you mean 'tile.cl'?"));
    assert_int_equal(ws_ctx_error(ctx)->line, 4);
    for (size_t i = 0; i < WS_COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        remove(path);
    }
}

static void whole_files(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "empty"},
        {"# only a comment\n", "empty"},
        {"just words", "not a specification"},
        {"- a\n- b\n", "not a specification"},
        {"a: 1\n", "not a specification"},
        {"a: \"\xff\"\n", "UTF"},
        {"kernel: k\n", "names no op"},
        {"kernel: k\nop: no_such_op\n", "'no_such_op' is not known"},
        {"kernel: k\nop: ./none.yaml\n", "none.yaml"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "deep"},
    };
    static const struct ws__spec_opts opts = {.share_dir = "tests/data/share"};
    char path[100];
    struct ws__spec *s;

    (void)state;
    snprintf(path, sizeof(path), "%s/file.yaml", dir);
    for (size_t i = 0; i < WS_COUNT(bad); i++) {
        FILE *f = fopen(path, "w");

        assert_non_null(f);
        fputs(bad[i].text, f);
        fclose(f);
        assert_true(ws__spec_load(ctx, path, &opts, &s) < 0);
        if (!strstr(ws_ctx_error(ctx)->message, bad[i].message))
            fail_msg("case %zu: %s", i, ws_ctx_error(ctx)->message);
        assert_true(*ws_ctx_error(ctx)->hint);
    }
    remove(path);
    assert_int_equal(ws__spec_load(ctx, dir, NULL, &s), WS_ENOENT);
    assert_int_equal(ws__spec_load(ctx, path, NULL, &s), WS_ENOENT);
}

static int setup(void **state)
{
    (void)state;
    ctx = t_ctx(NULL);
    return ctx && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_good_ones_load),
        cmocka_unit_test(judging),
        cmocka_unit_test(broken_ops),
        cmocka_unit_test(broken_kernels),
        cmocka_unit_test(broken_workloads),
        cmocka_unit_test(space_only),
        cmocka_unit_test(unused_parameters),
        cmocka_unit_test(foreign_spaces),
        cmocka_unit_test(syntax),
        cmocka_unit_test(missing_source),
        cmocka_unit_test(whole_files),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
