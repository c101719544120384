/*
 * fake_exec.c: modules of the fake driver, and how their kernels run.
 *
 * A module is a shared library that the host's compiler made of CUDA C. The
 * threads of a block run one after the other on stacks of their own: one that
 * waits for others (a barrier, a shuffle) gives way, and all go on when nobody
 * else can run. Threads that never wait share one stack, so that a block of
 * them costs a loop. Signals that a kernel causes end it: the page that it
 * touched is not the device's, its address was odd.
 */
#include "tests/fakecuda/fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "device/cuda/cuda_api.h"

#define STACK_BYTES ((size_t)128 << 10)

struct uint3 {
    unsigned v[3];
};
/* As in fake_shim.h. */
struct fake_thread {
    struct uint3 thread, block, block_dim, grid_dim;
    void (*yield)(int whole_block);
    unsigned long long (*exchange)(unsigned long long v, int lane);
    unsigned long long (*clock)(void);
    void (*stop)(int error);
    unsigned long long serial;
};

struct fake_module {
    void *lib;
    const struct fake_kernel *kernel; /* the last has no address */
    struct fake_thread *thread;
};

/* ---- loading ------------------------------------------------------------ */

/* From a file of a name of its own: the loader takes one that it has seen for
 * the same. */
static void *open_library(const void *image, size_t bytes)
{
    const char *dir = getenv("TMPDIR");
    char path[256];
    void *lib = NULL;
    int fd;

    snprintf(path, sizeof(path), "%s/fakecuda-XXXXXX", dir ? dir : "/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        return NULL;
    if (write(fd, image, bytes) == (ssize_t)bytes)
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(fd);
    unlink(path);
    return lib;
}

static unsigned long long clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u +
           (unsigned long long)t.tv_nsec;
}

static int load_elf(const Elf64_Ehdr *head, bool picky, struct fake_module *m)
{
    size_t bytes = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
    const unsigned own = (unsigned)fake_setting("FAKECUDA_CAPABILITY", 90) / 10;
    Elf64_Ehdr *copy;

    if (head->e_machine != EM_CUDA || !head->e_ident[EI_NIDENT - 1])
        return CU__E_INVALID_IMAGE;
    if (picky && (head->e_flags & 0xff) / 10 != own)
        return CU__E_NO_BINARY_FOR_GPU;
    if (picky && fake_setting("FAKECUDA_VERSION", 13000) < 13000)
        return CU__E_INVALID_IMAGE;
    copy = malloc(bytes);
    memcpy(copy, head, bytes);
    copy->e_machine = copy->e_ident[EI_NIDENT - 1];
    copy->e_ident[EI_NIDENT - 1] = 0;
    copy->e_flags = 0;
    m->lib = open_library(copy, bytes);
    free(copy);
    return m->lib ? 0 : CU__E_INVALID_IMAGE;
}

/* Its kernels follow the head, a line each, then C++ names; then CUDA C. */
static int load_ptx(const char *text, struct fake_module *m, char *log,
                    size_t log_bytes)
{
    const char *expr[32], *p = text + strlen(FAKE_PTX);
    char *names = strdup(p), *name = names, *words = NULL;
    void *image = NULL;
    size_t n = 0, bytes = 0;
    int e = CU__E_INVALID_PTX;

    if (fake_setting("FAKECUDA_VERSION", 13000) < 13000) {
        free(names);
        return CU__E_UNSUPPORTED_PTX_VERSION;
    }
    while (!strncmp(name, "// .entry ", 10))
        name = strchr(name, '\n') + 1;
    while (!strncmp(name, "//! ", 4) && n < 32) {
        char *end = strchr(name, '\n');

        expr[n++] = name + 4;
        *end = '\0';
        name = end + 1;
    }
    if (!fake_compile("kernel.ptx", name, NULL, 0, expr, n, NULL, 0, &image,
                      &bytes, &words))
        e = load_elf(image, true, m);
    if (log && words)
        snprintf(log, log_bytes, "ptxas error: %s", words);
    free(words);
    free(image);
    free(names);
    return e;
}

int fake_module_load(const void *image, bool picky, struct fake_module **out,
                     char *log, size_t log_bytes)
{
    struct fake_module *m = calloc(1, sizeof(*m));
    int e = CU__E_INVALID_IMAGE;

    if (!memcmp(image, ELFMAG, SELFMAG))
        e = load_elf(image, picky, m);
    else if (!strncmp(image, FAKE_PTX, strlen(FAKE_PTX)))
        e = load_ptx(image, m, log, log_bytes);
    else if (strstr(image, ".version"))
        e = CU__E_INVALID_PTX;
    if (!e) {
        m->kernel = dlsym(m->lib, "fake_kernels");
        m->thread = dlsym(m->lib, "fake_thread");
        e = m->kernel && m->thread ? 0 : CU__E_INVALID_IMAGE;
    }
    *out = m;
    if (e)
        fake_module_free(m);
    return e;
}

void fake_module_free(struct fake_module *m)
{
    if (m->lib)
        dlclose(m->lib);
    free(m);
}

const struct fake_kernel *fake_module_kernels(const struct fake_module *m)
{
    return m->kernel;
}

const struct fake_kernel *fake_module_find(struct fake_module *m,
                                           const char *name)
{
    for (const struct fake_kernel *k = m->kernel; k->address; k++) {
        Dl_info info;

        if (dladdr(k->address, &info) && info.dli_sname &&
            !strcmp(info.dli_sname, name))
            return k;
    }
    return NULL;
}

/* ---- running ------------------------------------------------------------ */

enum fiber_state { FREE, READY, WAITS_FOR_SOME, WAITS_FOR_ALL };

/* ---- stacks: who leaves one comes back to where it left ------------------ */

#ifdef __x86_64__
/* Twenty times as fast as swapcontext, which asks the kernel for the signal
 * mask; and blocks of threads that wait switch a lot. */
typedef struct {
    void *sp;
} place;

void fake_switch(place *from, const place *to);
__asm__(".pushsection .text\n"
        ".hidden fake_switch\n"
        ".globl fake_switch\n"
        ".type fake_switch, @function\n"
        "fake_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fake_switch, . - fake_switch\n"
        ".popsection\n");

/* As if `begin` had been called: its return address, which is none, lies 8
 * below a multiple of 16. */
static void prepare(place *p, char *stack, void (*begin)(void))
{
    uintptr_t *top = (uintptr_t *)(void *)(stack + STACK_BYTES);

    *--top = 0;
    *--top = (uintptr_t)begin;
    top -= 6;
    memset(top, 0, 6 * sizeof(*top));
    p->sp = top;
}
#else
typedef ucontext_t place;

static void fake_switch(place *from, const place *to)
{
    swapcontext(from, to);
}

static void prepare(place *p, char *stack, void (*begin)(void))
{
    getcontext(p);
    p->uc_stack.ss_sp = stack;
    p->uc_stack.ss_size = STACK_BYTES;
    p->uc_link = NULL;
    makecontext(p, begin, 0);
}
#endif

struct fiber {
    place place;
    enum fiber_state state;
    unsigned thread;
    char *stack;
};

/* Of the block that runs. */
static struct {
    const struct fake_launch *launch;
    void **params;
    struct uint3 block;
    unsigned next, nthread, nfiber;
    struct fiber fiber[FAKE_MAX_THREADS], *current;
    unsigned long long slot[FAKE_MAX_THREADS], serial;
    place outside, nowhere;
    volatile int error;
} run;

static void show_indices(void)
{
    struct fake_thread *t = run.launch->module->thread;
    const unsigned *b = run.launch->block;
    unsigned i = run.current->thread;

    t->thread = (struct uint3){{i % b[0], i / b[0] % b[1], i / b[0] / b[1]}};
}

static void leave(enum fiber_state why)
{
    struct fiber *self = run.current;

    self->state = why;
    fake_switch(&self->place, &run.outside);
    run.current = self;
    show_indices();
}

static void yield(int whole_block)
{
    leave(whole_block ? WAITS_FOR_ALL : WAITS_FOR_SOME);
}

static unsigned long long exchange(unsigned long long v, int lane)
{
    unsigned own = run.current->thread, from = own / 32 * 32 + (unsigned)lane;
    unsigned long long got;

    run.slot[own] = v;
    yield(0);
    got = from < run.nthread ? run.slot[from] : v;
    yield(0);
    return got;
}

static void stop(int error)
{
    run.error = error;
    fake_switch(&run.nowhere, &run.outside);
}

static void on_signal(int sig)
{
    stop(sig == SIGILL    ? CU__E_MISALIGNED_ADDRESS
         : sig == SIGSEGV ? CU__E_ILLEGAL_ADDRESS
         : sig == SIGBUS  ? CU__E_ILLEGAL_ADDRESS
                          : CU__E_LAUNCH_FAILED);
}

static void work(void)
{
    while (run.next < run.nthread) {
        run.current->thread = run.next++;
        show_indices();
        run.launch->kernel->call(run.params);
    }
    leave(FREE);
}

static void resume(struct fiber *f)
{
    run.current = f;
    fake_switch(&run.outside, &f->place);
}

static struct fiber *new_fiber(void)
{
    struct fiber *f = NULL;

    for (unsigned i = 0; i < run.nfiber && !f; i++)
        if (run.fiber[i].state == FREE)
            f = &run.fiber[i];
    if (!f)
        f = &run.fiber[run.nfiber++];
    if (!f->stack)
        f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    prepare(&f->place, f->stack, work);
    f->state = READY;
    return f;
}

/* Lets those who wait for this go on; false: nobody does. Of those who wait for
 * some, one warp: it goes as far as it can, so that results of others which it
 * should have waited for are not there yet. In every other block it is the last
 * one that goes first. */
static bool release(enum fiber_state what)
{
    unsigned warp = 0;
    bool any = false;

    for (unsigned i = 0; i < run.nfiber; i++) {
        unsigned turn = run.serial % 2 ? i : run.nfiber - 1 - i;
        struct fiber *f = &run.fiber[turn];

        if (f->state != what)
            continue;
        if (what == WAITS_FOR_SOME && any && f->thread / 32 != warp)
            continue;
        warp = f->thread / 32;
        f->state = READY;
        any = true;
    }
    return any;
}

static int run_block(void)
{
    run.next = 0;
    run.launch->module->thread->serial = ++run.serial;
    for (unsigned i = 0; i < run.nfiber; i++)
        run.fiber[i].state = FREE;
    do {
        for (unsigned i = 0; i < run.nfiber && !run.error; i++)
            if (run.fiber[i].state == READY)
                resume(&run.fiber[i]);
        while (run.next < run.nthread && !run.error)
            resume(new_fiber());
    } while (!run.error && (release(WAITS_FOR_SOME) || release(WAITS_FOR_ALL)));
    return run.error;
}

static int run_blocks(const struct fake_launch *l)
{
    struct fake_thread *t = l->module->thread;
    unsigned x, y, z;

    for (z = 0; z < l->grid[2]; z++)
        for (y = 0; y < l->grid[1]; y++)
            for (x = 0; x < l->grid[0]; x++) {
                t->block = (struct uint3){{x, y, z}};
                if (run_block())
                    return run.error;
            }
    return 0;
}

int fake_run(const struct fake_launch *l, void **params)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct sigaction was[4],
        own = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    struct fake_thread *t = l->module->thread;
    int e;

    run.launch = l;
    run.params = params;
    run.nthread = l->block[0] * l->block[1] * l->block[2];
    run.error = 0;
    memcpy(t->block_dim.v, l->block, sizeof(l->block));
    memcpy(t->grid_dim.v, l->grid, sizeof(l->grid));
    t->yield = yield;
    t->exchange = exchange;
    t->clock = clock_now;
    t->stop = stop;
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &own, &was[i]);
    e = run_blocks(l);
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &was[i], NULL);
    return e;
}
