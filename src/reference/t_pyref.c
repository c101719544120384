/*
 * t_pyref.c: references in Python: what they get and give, and everything
 * that code of a user can do wrong. Whatever it is, the tool says what and
 * where, and goes on.
 *
 * The op is C[M,N] = A[M,N] * s, built by hand; A's rows have gaps. The Python
 * is WAVESMITH_PYTHON, else that of the distribution, which has the packages.
 */
#include "base/t_base.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reference/refpriv.h"

#define LIMIT_NS 60000000000u
#define ROWS 3
#define COLS 5
#define GAP 2

#define GOOD "def run(A, s):\n    return A * s\n"

struct fixture {
    struct ws__op op;
    struct ws__workload work;
    struct ws__instance in;
};

static struct ws_ctx *ctx;
static bool has_numpy, has_torch;

static void set_shape(struct ws__tensor_shape *s, enum ws__dtype t, int64_t gap)
{
    int64_t stride = COLS + gap;

    *s = (struct ws__tensor_shape){
        .ndim = 2,
        .dim = {ROWS, COLS},
        .stride = {stride, 1},
        .dtype = t,
        .elements = ROWS * COLS,
        .bytes = (uint64_t)(stride * (ROWS - 1) + COLS) * ws__dtype_bytes(t),
        .contiguous = !gap,
    };
}

static void make(struct fixture *f, enum ws__dtype t, const char *text)
{
    static const char *const names[] = {"A", "s", "C"};

    memset(f, 0, sizeof(*f));
    f->op.name = "scale";
    f->op.python = (struct ws__python){.text = text,
                                       .file = "x/ref.py",
                                       .function = "run"};
    f->op.naxis = 3;
    f->op.axis[0].name = "M";
    f->op.axis[1].name = "N";
    f->op.axis[2].name = "T";
    f->op.axis[2].kind = WS__AXIS_TYPE;
    f->op.nconstant = 2;
    f->op.constant[0].name = "EPS";
    f->op.constant[0].value.type = WS__FLOAT;
    f->op.constant[0].value.u.f = 0.1;
    f->op.constant[1].name = "TOPK";
    f->op.constant[1].value.type = WS__INT;
    f->op.constant[1].value.u.i = 8;
    f->op.ntensor = 3;
    for (size_t i = 0; i < 3; i++) {
        f->op.tensor[i].name = names[i];
        f->op.tensor[i].role = i < 2 ? WS__INPUT : WS__OUTPUT;
        f->op.tensor[i].ndim = i == 1 ? 0 : 2;
        f->op.tensor[i].align = 16;
        f->op.tensor[i].fill = (struct ws__fill){WS__FILL_INTEGERS, 1, 3};
    }
    f->work.axis[0] = ROWS;
    f->work.axis[1] = COLS;
    f->work.axis[2] = t;
    f->in.op = &f->op;
    f->in.workload = &f->work;
    f->in.reduction = 1;
    set_shape(&f->in.shape[0], t, GAP);
    f->in.shape[1] = (struct ws__tensor_shape){.dtype = WS__DT_F32,
                                               .elements = 1,
                                               .bytes = 4,
                                               .contiguous = true};
    set_shape(&f->in.shape[2], t, 0);
}

static struct ws_ctx *python_ctx(const char *python)
{
    struct ws_ctx_opts o = {.size = sizeof(o),
                            .python = python,
                            .share_dir = getenv("WAVESMITH_SHARE"),
                            .worker_path = getenv("WAVESMITH_WORKER")};
    struct ws_ctx *c = ws_ctx_new(&o);

    assert_non_null(c);
    return c;
}

/* One run; the problem stays for the caller if `keep` is not NULL. */
static int run_once(struct ws_ctx *c, const struct fixture *f, uint64_t limit,
                    struct ws__problem **keep)
{
    struct ws__reference *r = NULL;
    struct ws__problem *p = NULL;
    int rc;

    rc = ws__reference_open(c, &f->op, 1, limit, &r);
    if (rc >= 0)
        rc = ws__problem_new(c, &f->in, &p);
    if (rc >= 0)
        rc = ws__problem_fill(p, r, 7, 1);
    if (rc >= 0)
        rc = ws__reference_run(r, p);
    ws__reference_close(r);
    if (keep)
        *keep = p;
    else
        ws__problem_free(p);
    return rc;
}

static void need_numpy(void)
{
    if (!has_numpy)
        SKIP("no Python with numpy (Debian: python3-numpy)");
}

static void need_torch(void)
{
    if (!has_torch)
        SKIP("no Python with torch (Debian: python3-torch)");
}

static void expect_product(const struct fixture *f, struct ws__problem *p)
{
    enum ws__dtype t = f->in.shape[0].dtype;
    double s = ws__dtype_get(WS__DT_F32, p->input[1], 0);

    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLS; j++) {
            double a = ws__dtype_get(t, p->input[0], i * (COLS + GAP) + j);

            if (p->result[2][i * COLS + j] != a * s)
                fail_msg("%s [%zu,%zu]: %g * %g is not %g", ws__dtype_name(t),
                         i, j, a, s, p->result[2][i * COLS + j]);
        }
}

static void every_type(const char *text, enum ws__py_arrays arrays)
{
#define WS_X(code, name, text, bytes, eps) (code),
    static const int types[] = {WS__DTYPE_MAP(WS_X)};
#undef WS_X

    struct ws__reference *r = NULL;
    struct ws__problem *p;
    struct fixture f;

    for (size_t i = 0; i < WS_COUNT(types); i++) {
        make(&f, (enum ws__dtype)types[i], text);
        f.op.python.arrays = arrays;
        if (ws__dtype_is_float(f.in.shape[0].dtype))
            f.op.tensor[0].fill = (struct ws__fill){WS__FILL_NORMAL, 0, 1};
        if (!r) /* one worker serves all types */
            assert_int_equal(ws__reference_open(ctx, &f.op, 1, LIMIT_NS, &r),
                             0);
        assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
        assert_int_equal(ws__problem_fill(p, r, 7, 1), 0);
        if (ws__reference_run(r, p) < 0)
            fail_msg("%s: %s", ws__dtype_name(f.in.shape[0].dtype),
                     ws_ctx_error(ctx)->message);
        expect_product(&f, p);
        ws__problem_free(p);
    }
    ws__reference_close(r);
}

static void numpy_gets_exact_values(void **state)
{
    (void)state;
    need_numpy();
    every_type("import numpy as np\n"
               "def run(A, s, *, N, T):\n"
               "    assert A.shape[1] == N and not A.flags.writeable\n"
               "    assert isinstance(T, str) and isinstance(s, float)\n"
               "    assert A.dtype == (np.float64 if 'float' in T else T), T\n"
               "    return A.astype(float) * s\n",
               WS__PY_NUMPY);
}

static void torch_gets_own_types(void **state)
{
    (void)state;
    need_torch();
    every_type(
        "import torch\n"
        "def run(A, s, T=None):\n"
        "    assert A.dtype == getattr(torch, T, torch.float32), A.dtype\n"
        "    return (A.to(torch.float64) * s,)\n",
        WS__PY_TORCH);
}

/* ---- what may go wrong --------------------------------------------------- */

struct bad {
    const char *text, *message, *hint;
};

static const struct bad mistakes[] = {
    {"def other(A):\n    return A\n", "has no function 'run'", "other"},
    {"run = 3\n", "has no function 'run'", "none"},
    {"def run(A, s)\n    return A\n", "not valid Python", ""},
    {"def run(A, s)\n    return A\n", "(ref.py:1: def run(A, s))", ""},
    {"import nosuchmodule\n", "module 'nosuchmodule' is not installed",
     "WAVESMITH_PYTHON"},
    {"1 / 0\n", "loading 'ref.py' failed: ZeroDivisionError", ""},
    {"def run(A, s):\n    x = 1\n    return f(A)\n\ndef f(A):\n    return "
     "1/0\n",
     "ZeroDivisionError: division by zero (ref.py:6: return 1/0)", "traceback"},
    {"def run(A):\n    return A\n", "TypeError", ""},
    {"def run(A, s):\n    A[0, 0] = 1\n    return A\n", "read-only", ""},
    {"def run(A, s):\n    return A.T\n", "has shape [5, 3], not [3, 5]", "op"},
    {"def run(A, s):\n    return A[0]\n", "has shape [5], not [3, 5]", ""},
    {"def run(A, s):\n    return A, A\n", "has shape [2, 3, 5]", ""},
    {"def run(A, s):\n    pass\n", "returned nothing", "return C"},
    {"def run(A, s):\n    return {'D': A}\n", "no 'C'", "return C"},
    {"def run(A, s):\n    return A * 1j\n", "type complex128", "real"},
    {"def run(A, s):\n    return 'text'\n", "elements of type", "real"},
    {"def run(A, s):\n    return [[1], [2, 3]]\n", "'run' of 'ref.py'", ""},
    {"def run(A, s):\n    B = A * 1.0\n    B[1, 2] = float('nan')\n"
     "    return B\n",
     "has 1 NaN, the first at [1, 2]", "a number"},
    {"import sys\ndef run(A, s):\n    sys.exit(3)\n", "SystemExit: 3", ""},
    {"def run(A, s):\n    return run(A, s)\n", "RecursionError", ""},
    {"import os\ndef run(A, s):\n    os._exit(3)\n", "crashed: exit status 3",
     ""},
    {"import ctypes\ndef run(A, s):\n    ctypes.string_at(1)\n",
     "signal 11 (Segmentation fault): Fatal Python error", ""},
    {"import numpy\ndef run(A, s):\n"
     "    return [numpy.zeros(1 << 27) for _ in range(9999)]\n",
     "MemoryError", "smaller"},
    {"import numpy\ndef run(A, s):\n    return numpy.ones(1 << 45)\n",
     "MemoryError", "smaller"},
    {"raise MemoryError\n", "MemoryError", "smaller"},
    {"import os\ndef run(A, s):\n    os.write(3, b'nonsense' * 9)\n"
     "    return A\n",
     "reference of 'scale'", ""},
    {"import os, struct\ndef run(A, s):\n    B = b''.join(struct.pack('<Q', 1)"
     " + b'\\0' for _ in range(2))\n"
     "    os.write(3, struct.pack('<III', 4 + len(B), 103, 0) + B)\n"
     "    while True: pass\n",
     "left out elements of 'C'", ""},
    {"import os\nos.close(3)\ndef run(A, s):\n    return A\n", "crashed", ""},
};

static void mistakes_are_told(void **state)
{
    (void)state;
    need_numpy();
    for (size_t i = 0; i < WS_COUNT(mistakes); i++) {
        const struct bad *b = &mistakes[i];
        struct fixture f;

        make(&f, WS__DT_F32, b->text);
        assert_int_equal(run_once(ctx, &f, LIMIT_NS, NULL), WS_EREFERENCE);
        if (!strstr(ws_ctx_error(ctx)->message, b->message) ||
            !strstr(ws_ctx_error(ctx)->hint, b->hint))
            fail_msg("%s: '%s' (%s)", b->text, ws_ctx_error(ctx)->message,
                     ws_ctx_error(ctx)->hint);
    }
}

static const char *const harmless[] = {
    "def run(A, s):\n    print('x' * 100000)\n    return A * s\n",
    "import sys\ndef run(A, s):\n    for i in range(1000):\n"
    "        sys.stderr.write('y' * 100000)\n    return A * s\n",
    "import os\ndef run(A, s):\n    os.write(1, b'z' * 100000)\n"
    "    return A * s\n",
    "def run(A, s):\n    input_ended = False\n    try:\n        input()\n"
    "    except EOFError:\n        input_ended = True\n"
    "    assert input_ended\n    return A * s\n",
    "def run(A, s):\n    return [A * s]\n",
    ("def run(A, s, EPS, TOPK=1, M=0, more=3):\n"
     "    assert (EPS, TOPK, M, more) == (0.1, 8, 3, 3)\n"
     "    assert isinstance(TOPK, int) and isinstance(M, int)\n"
     "    return A * s\n"),
    "def run(A, s):\n    return {'C': A * s, 'more': 1}\n",
    "def run(A, s):\n    return (A * s).tolist()\n",
    "import os\nassert 'SECRET' not in os.environ and os.getcwd() == '/tmp'\n"
    "assert not os.environ.get('CUDA_VISIBLE_DEVICES')\n"
    "def run(A, s):\n    return A * s\n",
    "import random, numpy\ndef run(A, s):\n"
    "    assert random.random() == random.Random(7).random()\n"
    "    return A * s + numpy.zeros(1)\n",
};

static void the_rest_is_fine(void **state)
{
    (void)state;
    need_numpy();
    setenv("SECRET", "token", 1);
    for (size_t i = 0; i < WS_COUNT(harmless); i++) {
        struct ws__problem *p;
        struct fixture f;

        make(&f, WS__DT_F32, harmless[i]);
        if (run_once(ctx, &f, LIMIT_NS, &p) < 0)
            fail_msg("%s: %s", harmless[i], ws_ctx_error(ctx)->message);
        expect_product(&f, p);
        ws__problem_free(p);
    }
    unsetenv("SECRET");
}

static void loops_are_ended(void **state)
{
    static const char *const text[] = {
        "while True:\n    pass\n",
        "def run(A, s):\n    while True:\n        pass\n",
        ("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         "def run(A, s):\n    time.sleep(1000)\n")};
    struct fixture f;

    (void)state;
    need_numpy();
    for (size_t i = 0; i < WS_COUNT(text); i++) {
        make(&f, WS__DT_F32, text[i]);
        assert_int_equal(run_once(ctx, &f, 1500000000u, NULL), WS_EREFERENCE);
        assert_non_null(
            strstr(ws_ctx_error(ctx)->message, "did not end within 1.5 s"));
    }
}

/* A worker that failed or was lost is replaced; one that is well is kept. */
static void calls_go_on(void **state)
{
    static const char text[] =
        "calls = 0\nimport os\n"
        "def run(A, s):\n    global calls\n    calls += 1\n"
        "    if calls == 2:\n        raise ValueError('second')\n"
        "    if calls == 4:\n        os._exit(1)\n"
        "    return A * s\n";
    struct ws__reference *r;
    struct ws__problem *p;
    struct fixture f;

    (void)state;
    need_numpy();
    make(&f, WS__DT_F32, text);
    assert_int_equal(ws__reference_open(ctx, &f.op, 1, LIMIT_NS, &r), 0);
    assert_int_equal(ws__reference_mutants(r), 0);
    assert_null(ws__reference_mutant_name(r, 0));
    assert_int_equal(ws__problem_new(ctx, &f.in, &p), 0);
    for (unsigned i = 1; i <= 4; i++) {
        memset(p->results.p, 0, p->results.bytes);
        assert_int_equal(ws__problem_fill(p, r, i, 1), 0);
        assert_int_equal(ws__reference_run(r, p), i == 2 ? WS_EREFERENCE : 0);
        if (i != 2)
            expect_product(&f, p);
    }
    ws__problem_free(p);
    ws__reference_close(r);
}

static void missing_parts_are_named(void **state)
{
    static const struct {
        const char *python, *message;
    } cases[] = {
        {"/nonexistent/python3", "cannot start Python '/nonexistent/python3'"},
        {"/bin/false", "crashed: exit status 1"},
        {"/etc/passwd", "cannot start Python"},
    };
    struct fixture f;

    (void)state;
    make(&f, WS__DT_F32, GOOD);
    for (size_t i = 0; i < WS_COUNT(cases); i++) {
        struct ws_ctx *c = python_ctx(cases[i].python);

        assert_int_equal(run_once(c, &f, LIMIT_NS, NULL), WS_EREFERENCE);
        if (!strstr(ws_ctx_error(c)->message, cases[i].message))
            fail_msg("%s", ws_ctx_error(c)->message);
        ws_ctx_free(c);
    }
}

/* An interpreter without packages: the script's own words. */
static void missing_packages_are_named(void **state)
{
    static const char *const name[] = {"numpy", "torch"};
    struct fixture f;

    (void)state;
    need_numpy();
    for (int i = 0; i < 2; i++) {
        char dir[] = "/tmp/ws_pyref_XXXXXX", path[64], text[400];
        struct ws_ctx *c;
        FILE *file;

        assert_non_null(mkdtemp(dir));
        snprintf(path, sizeof(path), "%s/python", dir);
        assert_non_null(file = fopen(path, "w"));
        fprintf(file,
                "#!/bin/sh\nexec %s -c 'import sys, runpy\n"
                "sys.modules[\"%s\"] = None\n"
                "sys.argv = sys.argv[-2:]\n"
                "runpy.run_path(sys.argv[0], run_name=\"__main__\")' \"$@\"\n",
                ctx->python, name[i]);
        fclose(file);
        assert_int_equal(chmod(path, 0755), 0);
        c = python_ctx(path);
        make(&f, WS__DT_F32, GOOD);
        f.op.python.arrays = WS__PY_TORCH;
        assert_int_equal(run_once(c, &f, LIMIT_NS, NULL), WS_EREFERENCE);
        snprintf(text, sizeof(text), "Python module '%s' is not installed",
                 name[i]);
        if (!strstr(ws_ctx_error(c)->message, text))
            fail_msg("%s", ws_ctx_error(c)->message);
        assert_non_null(strstr(ws_ctx_error(c)->hint, "Debian: python3-"));
        ws_ctx_free(c);
        unlink(path);
        rmdir(dir);
    }
}

/* ---- sockets ------------------------------------------------------------- */

/* Each tries to get a socket and says "free" if it got one. */
static const char *const escapes[] = {
    "import socket\nsocket.socket()\n",
    "import socket\nsocket.socketpair()\n",
    "import os, socket\nsocket.socket(fileno=os.dup(3)).bind('x')\n",
    "import socket\nsocket.create_connection(('127.0.0.1', 9))\n",
    "import os, socket, threading\nerrors = []\n"
    "def f():\n    try:\n        socket.socket()\n"
    "    except PermissionError as e:\n        errors.append(e)\n"
    "t = threading.Thread(target=f)\nt.start()\nt.join()\nraise errors[0]\n",
};

/* System calls by number: socket, io_uring_setup, ptrace, pidfd_getfd; on
 * x86-64 those of x32 and, through int 0x80, of i386, too. */
static const char raw_calls[] =
    "import ctypes, os, platform\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "x86 = platform.machine() == 'x86_64'\n"
    "numbers = [41, 53, 42, 49, 50, 43, 288, 101, 310, 311] if x86 else\\\n"
    "    [198, 199, 203, 200, 201, 202, 242, 117, 270, 271]\n"
    "numbers += [425, 426, 427, 438]\n"
    "if x86:\n    numbers += [0x40000000 + 41, 0x40000000 + 39]\n"
    "for n in numbers:\n"
    "    ctypes.set_errno(0)\n"
    "    r = libc.syscall(ctypes.c_long(n), 1, 1, 0, 0, 0, 0)\n"
    "    assert r == -1 and ctypes.get_errno() == 1, (n, r)\n"
    "def run(A, s):\n    return A * s\n";

/* getpid of i386 on x86-64, through int 0x80. */
static const char other_abi[] =
    "import ctypes, mmap\n"
    "code = mmap.mmap(-1, 4096, prot=7)\n"
    "code.write(bytes.fromhex('b814000000cd80c3'))\n"
    "at = ctypes.addressof(ctypes.c_char.from_buffer(code))\n"
    "ctypes.CFUNCTYPE(ctypes.c_int)(at)()\n" GOOD;

/* Files that are open may be written to, /dev/null as well; no others. */
static const char writes[] = "import os\n"
                             "open('/dev/null', 'w').write('x')\n"
                             "open('/tmp/ws_pyref_file', 'w')\n" GOOD;

static void sockets_are_denied(void **state)
{
    struct fixture f;

    (void)state;
    need_numpy();
    for (size_t i = 0; i < WS_COUNT(escapes); i++) {
        make(&f, WS__DT_F32, escapes[i]);
        assert_int_equal(run_once(ctx, &f, LIMIT_NS, NULL), WS_EREFERENCE);
        if (!strstr(ws_ctx_error(ctx)->message, "PermissionError") ||
            !strstr(ws_ctx_error(ctx)->hint, "network"))
            fail_msg("%s: %s", escapes[i], ws_ctx_error(ctx)->message);
    }
    make(&f, WS__DT_F32, raw_calls);
    if (run_once(ctx, &f, LIMIT_NS, NULL) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
#if defined(__x86_64__)
    make(&f, WS__DT_F32, other_abi);
    assert_int_equal(run_once(ctx, &f, LIMIT_NS, NULL), WS_EREFERENCE);
    if (!strstr(ws_ctx_error(ctx)->message, "signal 31"))
        fail_msg("%s", ws_ctx_error(ctx)->message);
#endif
}

/* A child would outlive the worker where the tool is killed. */
static const char *const starts[] = {
    "import os\nif not os.fork():\n    os._exit(0)\n",
    "import os\nif not os.fork():\n    os.execv('/bin/sleep', ['x', '1'])\n",
    "import os\nos.posix_spawn('/bin/true', ['true'], {})\n",
    "import subprocess\nsubprocess.run(['/bin/true'])\n",
    "import subprocess\nsubprocess.run('true', shell=True)\n",
    "import multiprocessing as m\n"
    "m.get_context('fork').Process(target=print).start()\n",
};

/* fork, vfork, clone as fork does; clone3 and openat2 are
 * not there at all. */
static const char raw_starts[] =
    "import ctypes, os, platform\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "x86 = platform.machine() == 'x86_64'\n"
    "calls = [(57, 0, 1), (58, 0, 1), (56, 17, 1), (56, 0, 1)] if x86 else\\\n"
    "    [(220, 17, 1)]\n"
    "calls += [(435, 0, 38), (437, 0, 38)]\n"
    "for n, a, e in calls:\n"
    "    r = libc.syscall(ctypes.c_long(n), a, 0, 0, 0, 0, 0)\n"
    "    if not r:\n        os._exit(0)\n"
    "    assert r == -1 and ctypes.get_errno() == e, (n, r)\n"
    "def run(A, s):\n    return A * s\n";

static void no_process_is_started(void **state)
{
    struct fixture f;

    (void)state;
    need_numpy();
    for (size_t i = 0; i < WS_COUNT(starts); i++) {
        make(&f, WS__DT_F32, starts[i]);
        assert_int_equal(run_once(ctx, &f, LIMIT_NS, NULL), WS_EREFERENCE);
        if (!strstr(ws_ctx_error(ctx)->message, "PermissionError") ||
            !strstr(ws_ctx_error(ctx)->hint, "processes"))
            fail_msg("%s: %s", starts[i], ws_ctx_error(ctx)->message);
    }
    make(&f, WS__DT_F32, raw_starts);
    if (run_once(ctx, &f, LIMIT_NS, NULL) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
}

/* Of root all but two are gone, and so the way into the tool's process. */
static const char capabilities[] =
    "for line in open('/proc/self/status'):\n"
    "    if line.startswith('Cap'):\n"
    "        assert not int(line.split()[1], 16) & ~6, line\n"
    "import ctypes\n"
    "assert ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 1\n" GOOD;

static const char *const peeks[] = {
    "import os\nopen(f'/proc/{os.getppid()}/environ').read()\n",
    "import os\nopen(f'/proc/{os.getppid()}/mem', 'rb').read(0)\n",
    "import os\nos.open(f'/proc/{os.getppid()}/fd/0', 0)\n",
};

static void root_is_nobody_special(void **state)
{
    struct fixture f;

    (void)state;
    need_numpy();
    if (geteuid())
        SKIP("only root has capabilities");
    make(&f, WS__DT_F32, capabilities);
    if (run_once(ctx, &f, LIMIT_NS, NULL) < 0)
        fail_msg("%s", ws_ctx_error(ctx)->message);
    for (size_t i = 0; i < WS_COUNT(peeks); i++) {
        make(&f, WS__DT_F32, peeks[i]);
        assert_int_equal(run_once(ctx, &f, LIMIT_NS, NULL), WS_EREFERENCE);
        if (!strstr(ws_ctx_error(ctx)->message, "PermissionError"))
            fail_msg("%s: %s", peeks[i], ws_ctx_error(ctx)->message);
    }
}

static void files_are_not_written(void **state)
{
    struct fixture f;

    (void)state;
    need_numpy();
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
        SKIP("the kernel has no Landlock");
    make(&f, WS__DT_F32, writes);
    assert_int_equal(run_once(ctx, &f, LIMIT_NS, NULL), WS_EREFERENCE);
    if (!strstr(ws_ctx_error(ctx)->message, "PermissionError") ||
        !strstr(ws_ctx_error(ctx)->message, "ref.py:3"))
        fail_msg("%s", ws_ctx_error(ctx)->message);
}

/* In a child whose system does not have the call, as in some containers. */
static int without(int call, const char *text, const char *words)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {WS_COUNT(code), code};
    struct fixture f;
    int rc;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
        return 2;
    make(&f, WS__DT_F32, text);
    rc = run_once(ctx, &f, LIMIT_NS, NULL);
    if (rc != (words ? WS_EREFERENCE : 0))
        return 3;
    return !words || strstr(ws_ctx_error(ctx)->message, words) ? 0 : 4;
}

static void must_bear(int call, const char *text, const char *words)
{
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(without(call, text, words));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void no_filter_no_reference(void **state)
{
    (void)state;
    must_bear(SYS_seccomp, GOOD, "cannot deny sockets");
}

/* Without Landlock the rest is as it was. */
static void calls_are_denied_without_landlock(void **state)
{
    (void)state;
    need_numpy();
    must_bear(SYS_landlock_create_ruleset, raw_calls, NULL);
    must_bear(SYS_landlock_create_ruleset, starts[0], "PermissionError");
    if (!geteuid()) {
        must_bear(SYS_landlock_create_ruleset, capabilities, NULL);
        must_bear(SYS_landlock_create_ruleset, peeks[0], "PermissionError");
    }
}

static void trust_is_needed(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, WS__DT_F32, GOOD);
    assert_int_equal(ws__reference_allowed(ctx, &f.op, false), WS_EACCES);
    assert_non_null(strstr(ws_ctx_error(ctx)->message, "'x/ref.py'"));
    assert_non_null(strstr(ws_ctx_error(ctx)->hint, "--trust-python"));
    assert_int_equal(ws__reference_allowed(ctx, &f.op, true), 0);
    f.op.python.text = NULL;
    assert_int_equal(ws__reference_allowed(ctx, &f.op, false), 0);
}

/* ---- memory -------------------------------------------------------------- */

static int torture_one(struct ws_ctx *c)
{
    struct fixture f;

    make(&f, WS__DT_F32, GOOD);
    return run_once(c, &f, LIMIT_NS, NULL);
}

static void memory_may_fail(void **state)
{
    struct t_alloc a = {0};
    const char *python = ctx->python;

    (void)state;
    need_numpy();
    for (long at = 1;; at++) {
        struct ws_ctx_opts o = {.size = sizeof(o), .python = python};
        struct ws_alloc alloc = {t_realloc, t_free, &a};
        struct ws_ctx *c;
        int rc;

        o.alloc = &alloc;
        o.share_dir = getenv("WAVESMITH_SHARE");
        o.worker_path = getenv("WAVESMITH_WORKER");
        a = (struct t_alloc){0};
        c = ws_ctx_new(&o);
        assert_non_null(c);
        a.calls = 0;
        a.fail_at = at;
        rc = torture_one(c);
        ws_ctx_free(c);
        assert_int_equal(a.live, 0);
        if (a.calls < at) {
            assert_int_equal(rc, 0);
            break;
        }
        assert_int_equal(rc, WS_ENOMEM);
    }
}

/* ---- setup --------------------------------------------------------------- */

static bool works(const char *text, enum ws__py_arrays arrays)
{
    struct fixture f;

    make(&f, WS__DT_F32, text);
    f.op.python.arrays = arrays;
    if (run_once(ctx, &f, LIMIT_NS, NULL) >= 0)
        return true;
    printf("# %s\n", ws_ctx_error(ctx)->message);
    return false;
}

static int setup(void **state)
{
    const char *python = getenv("WAVESMITH_PYTHON");

    (void)state;
    ctx = python_ctx(python ? python : "/usr/bin/python3");
    has_numpy = works(GOOD, WS__PY_NUMPY);
    has_torch = has_numpy && works(GOOD, WS__PY_TORCH);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ws_ctx_free(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trust_is_needed),
        cmocka_unit_test(numpy_gets_exact_values),
        cmocka_unit_test(torch_gets_own_types),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(the_rest_is_fine),
        cmocka_unit_test(loops_are_ended),
        cmocka_unit_test(calls_go_on),
        cmocka_unit_test(missing_parts_are_named),
        cmocka_unit_test(missing_packages_are_named),
        cmocka_unit_test(sockets_are_denied),
        cmocka_unit_test(no_process_is_started),
        cmocka_unit_test(root_is_nobody_special),
        cmocka_unit_test(files_are_not_written),
        cmocka_unit_test(no_filter_no_reference),
        cmocka_unit_test(calls_are_denied_without_landlock),
        cmocka_unit_test(memory_may_fail),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
