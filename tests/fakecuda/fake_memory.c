/*
 * fake_memory.c: memory of the fake driver's devices, which is the host's:
 * each piece lies between pages that nobody may touch.
 */
#include "tests/fakecuda/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fake_memory *memories;

static unsigned long long used_bytes(void)
{
    unsigned long long n = 0;

    for (const struct fake_memory *m = memories; m; m = m->next)
        n += m->host ? 0 : m->bytes;
    return n;
}

/* ---- memory ------------------------------------------------------------- */

static struct fake_memory *take(size_t bytes, bool host)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (bytes + page - 1) / page * page;
    struct fake_memory *m = calloc(1, sizeof(*m));

    m->mapped = inner + 2 * page;
    m->map = mmap(NULL, m->mapped, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->map == MAP_FAILED ||
        mprotect(m->map + page, inner, PROT_READ | PROT_WRITE)) {
        free(m);
        return NULL;
    }
    m->at = m->map + page;
    m->bytes = bytes;
    m->host = host;
    m->next = memories;
    memories = m;
    fake_state()->live[host ? FAKE_HOST : FAKE_MEMORY]++;
    return m;
}

/* The memory that has all of it, or NULL. */
struct fake_memory *fake_memory_of(uintptr_t at, size_t bytes)
{
    for (struct fake_memory *m = memories; m; m = m->next)
        if (at >= (uintptr_t)m->at && at - (uintptr_t)m->at <= m->bytes &&
            bytes <= m->bytes - (at - (uintptr_t)m->at))
            return m;
    return NULL;
}

static bool give(uintptr_t at, bool host)
{
    for (struct fake_memory **p = &memories; *p; p = &(*p)->next) {
        struct fake_memory *m = *p;

        if ((uintptr_t)m->at != at || m->host != host)
            continue;
        *p = m->next;
        if (m->map)
            munmap(m->map, m->mapped);
        free(m);
        fake_state()->live[host ? FAKE_HOST : FAKE_MEMORY]--;
        return true;
    }
    return false;
}

int cuMemAlloc_v2(cu_ptr *out, size_t bytes)
{
    struct fake_memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    if (!bytes)
        return CU__E_INVALID_VALUE;
    if (bytes > fake_device_bytes() - used_bytes())
        return CU__E_OUT_OF_MEMORY;
    m = take(bytes, false);
    if (!m)
        return CU__E_OUT_OF_MEMORY;
    *out = (cu_ptr)(uintptr_t)m->at;
    return 0;
}

int cuMemFree_v2(cu_ptr p)
{
    int e = fake_drain_all();

    if (e)
        return e;
    if (!fake_memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, false));
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    struct fake_memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    (void)flags;
    m = bytes ? take(bytes, true) : NULL;
    *out = m ? m->at : NULL;
    return m ? 0 : CU__E_INVALID_VALUE;
}

int cuMemFreeHost(void *p)
{
    int e = fake_drain_all();

    if (e)
        return e;
    if (!fake_memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, true));
}

int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
    struct fake_memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    if (flags || !bytes || fake_memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    m = calloc(1, sizeof(*m));
    m->at = p;
    m->bytes = bytes;
    m->host = true;
    m->next = memories;
    memories = m;
    fake_state()->live[FAKE_HOST]++;
    return 0;
}

int cuMemHostUnregister(void *p)
{
    int e = fake_drain_all();

    if (e)
        return e;
    if (!fake_memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, true));
}

int cuMemHostGetDevicePointer_v2(cu_ptr *out, void *p, unsigned flags)
{
    BEGIN_CONTEXT();
    *out = (cu_ptr)(uintptr_t)p;
    return flags || !fake_memory_of((uintptr_t)p, 0) ? CU__E_INVALID_VALUE : 0;
}

/* ---- memory that is mapped ------------------------------------------------
 *
 * Addresses are reserved as memory without access; what is mapped there is
 * that memory, so a piece is no more than its size.
 */

#define PIECE ((size_t)65536)

int cuMemGetAllocationGranularity(size_t *out, const cu_mem_prop *p,
                                  cu_enum which)
{
    BEGIN_CONTEXT();
    *out = PIECE;
    return p->type != CU__PINNED || p->location != CU__ON_DEVICE || which
               ? CU__E_INVALID_VALUE
               : 0;
}

int cuMemAddressReserve(cu_ptr *out, size_t bytes, size_t align, cu_ptr at,
                        unsigned long long flags)
{
    struct fake_memory *m;

    BEGIN_CONTEXT();
    NO_CAPTURE();
    (void)align;
    if (!bytes || bytes % PIECE || at || flags)
        return CU__E_INVALID_VALUE;
    m = take(bytes, false);
    if (!m || mprotect(m->at, bytes, PROT_NONE))
        return CU__E_OUT_OF_MEMORY;
    *out = (cu_ptr)(uintptr_t)m->at;
    return 0;
}

int cuMemAddressFree(cu_ptr p, size_t bytes)
{
    (void)bytes;
    if (!fake_memory_of((uintptr_t)p, 0))
        return CU__E_INVALID_VALUE;
    TURN_AFTER(give((uintptr_t)p, false));
}

int cuMemCreate(cu_memory *out, size_t bytes, const cu_mem_prop *p,
                unsigned long long flags)
{
    BEGIN_CONTEXT();
    if (!bytes || bytes % PIECE || p->type != CU__PINNED || flags)
        return CU__E_INVALID_VALUE;
    if (bytes > fake_device_bytes() - used_bytes())
        return CU__E_OUT_OF_MEMORY;
    *out = bytes;
    fake_state()->live[FAKE_MEMORY]++;
    return 0;
}

int cuMemRelease(cu_memory piece)
{
    (void)piece;
    TURN_AFTER(fake_state()->live[FAKE_MEMORY]--);
}

int cuMemMap(cu_ptr at, size_t bytes, size_t offset, cu_memory piece,
             unsigned long long flags)
{
    BEGIN_CONTEXT();
    return offset || flags || bytes != piece ||
                   !fake_memory_of((uintptr_t)at, bytes)
               ? CU__E_INVALID_VALUE
               : 0;
}

static int protect(cu_ptr at, size_t bytes, int how)
{
    if (!fake_memory_of((uintptr_t)at, bytes) ||
        mprotect((void *)(uintptr_t)at, bytes, how))
        return CU__E_INVALID_VALUE;
    return 0;
}

int cuMemUnmap(cu_ptr at, size_t bytes)
{
    TURN_AFTER(protect(at, bytes, PROT_NONE));
}

int cuMemSetAccess(cu_ptr at, size_t bytes, const cu_mem_access *a, size_t n)
{
    BEGIN_CONTEXT();
    if (n != 1 || a->location != CU__ON_DEVICE)
        return CU__E_INVALID_VALUE;
    return protect(at, bytes,
                   a->access == CU__READ_WRITE  ? PROT_READ | PROT_WRITE
                   : a->access == CU__READ_ONLY ? PROT_READ
                                                : PROT_NONE);
}

void fake_give_all(void)
{
    while (memories)
        give((uintptr_t)memories->at, memories->host);
}
