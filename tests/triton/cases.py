"""cases.py: where each transformation applies and what it must refuse.

A case that is refused is a practice kernel, or one made to look alike by a small
edit of its source (old, new) or of its kernel file (path, YAML).
"""

APPLIES = {
    "even_mask": ("softmax", "gemm"),
    "divisible_args": ("layernorm", "rotary"),
    "contiguous_hint": ("gemm_relu", "gemm_relu"),
    "constant_axis": ("softmax", "rmsnorm"),
    "group_order": ("gemm", "gemm_relu"),
    "split_k": ("gemm", "col_sum"),
    "persistent_grid": ("gemm", "gelu"),
    "rows_a_program": ("rmsnorm", "rotary"),
    "late_reduce": ("row_sum", "col_sum"),
    "stream_tile": ("gemv", "embedding_bag"),
    "one_pass_softmax": ("softmax", "cross_entropy"),
    "one_pass_variance": ("layernorm", "row_zscore"),
    "sum_to_dot": ("batched_gemm", "head_scores"),
    "dot_precision": ("gemm_relu", "attention"),
    "reciprocal": ("softmax", "row_zscore"),
    "cache_hints": ("rmsnorm", "cross_entropy"),
    "loop_stages": ("row_sum", "argmax"),
    "hoist_load": ("rotary", "bias_residual"),
    "launch_shape": ("gemm", "softmax"),
    "launch_warps": ("gelu", "attention"),
    "launch_stages": ("gemm", "attention"),
    "launch_block": ("row_sum", "gemv"),
}

# rule: [(kernel, [(old, new)], [(path, yaml)], words of the reason)]
REFUSES = {
    "even_mask": [
        ("gemm", [("BLOCK_M + tl.arange(0, BLOCK_M)", "BLOCK_M + tl.arange(0, BLOCK_M) * 2")],
         [], "not a run of neighbours"),
        ("gelu", [], [("launches[0].grid", "ceil_div(N, 512)")],
         "goes through ceil_div(N, 512) blocks"),
        ("softmax", [("range(0, n, BLOCK)", "range(1, n, BLOCK)")], [],
         "do not lie one behind the other"),
        ("row_sum", [("cols < n", "cols <= n")], [], "is no comparison"),
    ],
    "divisible_args": [
        ("gemm_relu", [], [], "'N' is promised to be divisible already"),
        ("embedding", [], [], "neither an address nor a mask depends on 'tokens'"),
    ],
    "contiguous_hint": [
        ("gemm_relu", [("(pid_m * BLOCK_M + tl", "(pid_m * BLOCK_M + 1 + tl")], [],
         "does not begin at a multiple"),
        ("gemm_relu", [("tl.arange(0, BLOCK_N)) % N", "2 * tl.arange(0, BLOCK_N)) % N")],
         [], "not a run of neighbours"),
    ],
    "constant_axis": [
        ("embedding", [], [], "neither a loop nor a mask ends at 'tokens'"),
        ("layernorm", [("total / n", "total / n.to(tl.float32)")], [],
         "asks for more than a value"),
        ("rmsnorm", [("    row =", "    n += 0\n    row =")], [], "'n' is assigned"),
    ],
    "group_order": [
        ("attention", [], [], "are not read once each, by a name"),
        ("attention", [("rows = tl.program_id(0)", "block = tl.program_id(0)\n    rows = block")],
         [], "no load is shared along both directions"),
        ("gemm", [("pid_n = tl.program_id(1)",
                   "pid_m, pid_n = tl.swizzle2d(pid_m, tl.program_id(1), 4, 4, 2)")],
         [], "an order of their own already"),
        ("gemm_relu", [("pid % blocks_n", "pid % N")], [], "two different numbers"),
    ],
    "split_k": [
        ("attention", [], [], "more than one plain sum"),
        ("gemm_relu", [], [], "more than the sum in another type"),
        ("gemm", [("acc += tl.dot(a, b)", "acc = acc * 0.5 + tl.dot(a, b)")], [],
         "more than one plain sum"),
    ],
    "persistent_grid": [
        ("embedding", [], [], "returns early"),
        ("row_sum", [], [], "'x_ptr' is a parameter and changes"),
    ],
    "rows_a_program": [
        ("row_sum", [], [], "'x_ptr' is a parameter and changes"),
        ("gemm", [], [], "more than one dimension"),
    ],
    "late_reduce": [
        ("attention", [], [], "more than added to a sum"),
        ("row_sum", [("    tl.store", "        tl.store")], [], "the loop needs 'total'"),
    ],
    "stream_tile": [
        ("gemv", [("axis=1)", "axis=1) / tl.max(a, axis=1)")], [], "reduced 2 times"),
        ("gemv", [("mask=rows < M)", "mask=rows < M)\n    tl.store(x_ptr + cols, x)")],
         [], "'cols' is used behind the sum"),
        ("embedding_bag", [("axis=0", "axis=1")], [], "over another axis"),
    ],
    "one_pass_softmax": [
        ("softmax", [("total = 0.0", "total = 0.0 * top")], [], "does not begin as 0"),
        ("softmax", [("tl.exp(x - top), axis=0", "tl.exp(x - top) + 1.0, axis=0")], [],
         "not an exponential times something"),
        ("cross_entropy", [("tl.exp(x - top), 0.0", "tl.exp(top - x), 0.0")], [],
         "not taken off right below an exponential"),
    ],
    "one_pass_variance": [
        ("layernorm", [("tl.where(cols < n, x - mean, 0.0)", "x - mean")], [],
         "lanes behind the end"),
        ("layernorm", [("mean = total / n", "mean = total / (n - 1)")], [],
         "not over the length of the loop"),
        ("row_zscore", [("mean = total / n", "mean = total / n\n    n = n + 0")], [],
         "'n' changes between the loops"),
    ],
    "sum_to_dot": [
        ("batched_gemm", [], [("launches[0].constexprs.BM", "8")], "is under 16"),
        ("head_scores", [("axis=1) * scale", "axis=2) * scale")], [],
         "a sum over another axis"),
    ],
    "dot_precision": [
        ("gemm", [], [], "the operands are float16"),
        ("gemm_relu", [(', input_precision="ieee"', "")], [], "takes tf32 already"),
    ],
    "reciprocal": [
        ("softmax", [("        y = tl.exp", "        total = total + 0.0\n        y = tl.exp")],
         [], "the loop changes 'total'"),
        ("row_zscore", [("/ dev,", "/ n,")], [], "not one number of floating point"),
        ("softmax", [("/ total", "/ (total + 0.0)")], [], "the divisor is not a name"),
    ],
    "cache_hints": [
        ("gemm", [], [], "read it, too"),
        ("rmsnorm", [("tl.load(w_ptr + cols,",
                      'tl.load(w_ptr + cols, eviction_policy="evict_last",')], [],
         "it has a hint already"),
    ],
    "loop_stages": [
        ("gemm", [], [], "by the launch's stages"),
        ("rotary", [("tl.store(y_ptr", "tl.store(x_ptr")], [], "stores to 'x_ptr'"),
    ],
    "hoist_load": [
        ("rotary", [("tl.store(y_ptr + at, a", "tl.store(cos_ptr + at, a")], [],
         "may store where this loads from"),
        ("embedding", [], [], "it depends on 'cols'"),
    ],
    "launch_shape": [
        ("gelu", [], [("launches[0].warps", "4 if N > 1000 else 2")],
         "not two parts of the launch's shape"),
        ("col_sum", [], [("parameters.BLOCK_M", "[8, 16]")],
         "not two parts of the launch's shape"),
    ],
    "launch_warps": [
        ("gelu", [], [("launches[0].warps", "4 if N > 1000 else 2")], "is computed"),
        ("gelu", [], [("parameters.WARPS", "[2, 4]"), ("launches[0].warps", "WARPS")],
         "a parameter with 2 values already"),
    ],
    "launch_stages": [
        ("softmax", [], [], "no loop loads what tl.dot multiplies"),
        ("gemm", [], [("launches[0].stages", "2 if K > 64 else 1")], "is computed"),
    ],
    "launch_block": [
        ("attention", [], [], "'D' is 'D', which is computed"),
        ("gelu", [], [("parameters.BLOCK", "[512, 1024]")],
         "a parameter with 2 values already"),
        ("embedding_bag", [], [("launches[0].constexprs.BLOCK_L", "64")],
         "are 64 both"),
    ],
}
