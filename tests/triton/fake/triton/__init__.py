"""A Triton for tests of what is around it: where nothing can run what the real one
makes.

It compiles functions of one form, `scale` of tests/data/triton-forge, whatever
their text is, for the driver of tests/fakecuda: a program multiplies a block of
numbers by FACTOR, and takes longer the more warps it has. Constants that it does not
know, as transformations add them, do not compile, but for those that change nothing
here.
"""
import ctypes
import inspect

__version__ = "3.6.0"
KNOWN = {"BLOCK", "FACTOR", "EVEN", "n"}
C_TYPE = {"*fp32": "float *", "i32": "int", "i64": "long long"}
CODE = """
extern "C" __global__ void scale({params})
{{
    float *x = x_ptr, *y = y_ptr;
    for (volatile int slow = 0; slow < {slow}; slow++)
        ;
    for (int e = threadIdx.x; e < {BLOCK}; e += blockDim.x) {{
        const long long i = (long long)blockIdx.x * {BLOCK} + e;
        if (i < n)
            y[i] = x[i] * {FACTOR};
    }}
}}
"""


class Parameter:
    def __init__(self, p):
        self.name = p.name
        self.is_constexpr = p.annotation is not inspect.Parameter.empty
        self.has_default = p.default is not inspect.Parameter.empty
        self.default = p.default


class Function:
    def __init__(self, fn):
        self.fn = fn
        self.params = [Parameter(p) for p in inspect.signature(fn).parameters.values()]
        self.arg_names = [p.name for p in self.params]


def jit(fn):
    return Function(fn)


class Compiled:
    pass


def cubin(code, arch):
    """By the compiler that stands for NVRTC."""
    lib = ctypes.CDLL("libnvrtc.so.13")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    option = (ctypes.c_char_p * 1)(f"--gpu-architecture=sm_{arch}".encode())
    lib.nvrtcCreateProgram(ctypes.byref(program), code.encode(), None, 0, None, None)
    if lib.nvrtcCompileProgram(program, 1, option):
        raise RuntimeError("the code is none")
    lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetCUBIN(program, data)
    return data.raw


def compile(src, target, options):
    values = dict(src.constexprs)
    unknown = sorted(set(values) - KNOWN)
    if unknown:
        raise ValueError(f"this compiler does not know {', '.join(unknown)}")
    given = [p for p in src.fn.arg_names if src.signature[p] != "constexpr"]
    params = ", ".join(f"{C_TYPE[src.signature[p]]} {p}" for p in given)
    code = "".join(f"#define {k} {int(v)}\n" for k, v in values.items()
                   if k not in ("BLOCK", "FACTOR"))
    code += CODE.format(params=params, slow=20 * options["num_warps"],
                        BLOCK=values["BLOCK"], FACTOR=values["FACTOR"])
    out = Compiled()
    out.metadata = Compiled()
    out.metadata.name, out.metadata.shared = "scale", 0
    out.metadata.num_warps = options["num_warps"]
    ptx = ", ".join(".param .b64 p" for p in given)
    threads = 32 * options["num_warps"]
    out.asm = {"ptx": f".entry scale ({ptx})\n.maxntid {threads}",
               "cubin": cubin(code, target.arch)}
    return out
