/*
 * wire.c: framed messages over a socket, and the packing of payloads. See
 * spawn.h.
 *
 * A frame is {u32 length of payload, u32 type}, little-endian, then the
 * payload. A descriptor rides on the first byte of the frame. Sockets stay in
 * blocking mode; every call is MSG_DONTWAIT behind a poll of at most
 * SLICE_MS, so that a wait notices cancellation within that time.
 *
 * Whoever is on the other side may die at any byte: end of file and reset are
 * both WS_ECRASH, and the caller, who knows the process, says how it ended.
 */
#include "base/spawn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/banned.h"

#define SLICE_MS 50
#define HEAD_BYTES ((size_t)8)

/* end_ns 0: no deadline. */
static int wait_for(struct ws_ctx *ctx, int sock, short events, uint64_t end_ns)
{
    for (;;) {
        struct pollfd p = {.fd = sock, .events = events};
        int slice = SLICE_MS, n;

        WS_TRY(ws__check_stop(ctx));
        if (end_ns) {
            uint64_t now = ws__now_ns();

            if (now >= end_ns)
                return ws__fail(ctx, WS_ETIMEOUT,
                                "no answer from the worker in time");
            if ((end_ns - now) / 1000000 < SLICE_MS)
                slice = (int)((end_ns - now) / 1000000) + 1;
        }
        n = poll(&p, 1, slice);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return ws__fail(ctx, WS_EIO, "cannot wait for the worker: %s",
                            strerror(errno));
    }
}

static int peer_fail(struct ws_ctx *ctx, int e)
{
    if (e == 0 || e == EPIPE || e == ECONNRESET)
        return ws__fail(ctx, WS_ECRASH, "the worker is gone");
    return ws__fail(ctx, WS_EIO, "cannot talk to the worker: %s", strerror(e));
}

union control {
    struct cmsghdr align;
    char raw[CMSG_SPACE(sizeof(int))];
};

static void attach_fd(struct msghdr *m, union control *c, int fd)
{
    struct cmsghdr *h;

    memset(c, 0, sizeof(*c));
    m->msg_control = c->raw;
    m->msg_controllen = sizeof(c->raw);
    h = CMSG_FIRSTHDR(m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &fd, sizeof(int));
}

static void put_word(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> (i * 8));
}

static uint32_t get_word(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static int send_frame(struct ws_ctx *ctx, int sock, uint32_t type,
                      const void *data, size_t n, int fd, uint64_t end_ns)
{
    unsigned char head[HEAD_BYTES];
    union control control;
    size_t sent = 0;

    if (n > WS__WIRE_MAX)
        return ws__fail(ctx, WS_ELIMIT, "message of %zu bytes is too long", n);
    put_word(head, (uint32_t)n);
    put_word(head + 4, type);
    while (sent < HEAD_BYTES + n) {
        size_t in_head = sent < HEAD_BYTES ? HEAD_BYTES - sent : 0;
        size_t done = sent < HEAD_BYTES ? 0 : sent - HEAD_BYTES;
        struct iovec v[2] = {{head + HEAD_BYTES - in_head, in_head},
                             {n ? (char *)data + done : NULL, n - done}};
        struct msghdr m = {.msg_iov = v, .msg_iovlen = n - done ? 2 : 1};
        ssize_t got;

        if (sent == 0 && fd >= 0)
            attach_fd(&m, &control, fd);
        WS_TRY(wait_for(ctx, sock, POLLOUT, end_ns));
        got = sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return peer_fail(ctx, errno);
        if (got > 0)
            sent += (size_t)got;
    }
    return 0;
}

int ws__wire_send(struct ws_ctx *ctx, int sock, uint32_t type, const void *data,
                  size_t n, int fd)
{
    return send_frame(ctx, sock, type, data, n, fd, 0);
}

int ws__wire_send_within(struct ws_ctx *ctx, int sock, uint32_t type,
                         const void *data, size_t n, uint64_t timeout_ns)
{
    return send_frame(ctx, sock, type, data, n, -1, ws__now_ns() + timeout_ns);
}

/* Keeps the first descriptor that came along; none leaks. */
static void take_fds(struct msghdr *m, int *fd)
{
    for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
        size_t n;

        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int got;

            memcpy(&got, CMSG_DATA(h) + i * sizeof(int), sizeof(int));
            if (*fd < 0)
                *fd = got;
            else
                close(got);
        }
    }
}

static int recv_some(struct ws_ctx *ctx, int sock, void *p, size_t n,
                     size_t *had, int *fd, uint64_t end_ns)
{
    union control control;
    struct iovec v = {(char *)p + *had, n - *had};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = control.raw,
                       .msg_controllen = sizeof(control.raw)};
    ssize_t got;

    WS_TRY(wait_for(ctx, sock, POLLIN, end_ns));
    got = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : peer_fail(ctx, errno);
    take_fds(&m, fd);
    if (got == 0)
        return peer_fail(ctx, 0);
    *had += (size_t)got;
    return 0;
}

static int recv_all(struct ws_ctx *ctx, int sock, void *p, size_t n, int *fd,
                    uint64_t end_ns)
{
    size_t had = 0;

    while (had < n)
        WS_TRY(recv_some(ctx, sock, p, n, &had, fd, end_ns));
    return 0;
}

static int recv_frame(struct ws_ctx *ctx, int sock, uint32_t *type,
                      struct ws__buf *in, int *fd, uint64_t end_ns)
{
    unsigned char head[HEAD_BYTES];
    char piece[16384];
    size_t left;

    WS_TRY(recv_all(ctx, sock, head, HEAD_BYTES, fd, end_ns));
    left = get_word(head);
    *type = get_word(head + 4);
    if (left > WS__WIRE_MAX)
        return ws__fail(ctx, WS_EPROTO, "message of %zu bytes is too long",
                        left);
    /* Piece by piece: a broken length does not make us allocate it. */
    while (left) {
        size_t n = left < sizeof(piece) ? left : sizeof(piece);

        WS_TRY(recv_all(ctx, sock, piece, n, fd, end_ns));
        WS_TRY(ws__buf_add(in, piece, n));
        left -= n;
    }
    return 0;
}

int ws__wire_recv(struct ws_ctx *ctx, int sock, uint32_t *type,
                  struct ws__buf *in, int *fd, uint64_t timeout_ns)
{
    uint64_t end_ns = timeout_ns ? ws__now_ns() + timeout_ns : 0;
    int got = -1, rc;

    in->len = 0;
    if (in->data)
        in->data[0] = '\0';
    rc = recv_frame(ctx, sock, type, in, &got, end_ns);
    if (got >= 0 && (rc < 0 || !fd)) {
        close(got);
        got = -1;
    }
    if (fd)
        *fd = got;
    return rc;
}

/* --- packing ------------------------------------------------------------ */

void ws__put_u32(struct ws__buf *b, uint32_t v)
{
    unsigned char raw[4];

    put_word(raw, v);
    ws__buf_add(b, raw, sizeof(raw));
}

void ws__put_u64(struct ws__buf *b, uint64_t v)
{
    ws__put_u32(b, (uint32_t)v);
    ws__put_u32(b, (uint32_t)(v >> 32));
}

void ws__put_f64(struct ws__buf *b, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    ws__put_u64(b, bits);
}

void ws__put_blob(struct ws__buf *b, const void *p, size_t n)
{
    ws__put_u64(b, n);
    ws__buf_add(b, p, n);
}

/* A string is a blob with its NUL; NULL is the blob without bytes. */
void ws__put_str(struct ws__buf *b, const char *s)
{
    ws__put_blob(b, s, s ? strlen(s) + 1 : 0);
}

struct ws__reader ws__reader_of(const struct ws__buf *in)
{
    const unsigned char *p = (const unsigned char *)in->data;

    return (struct ws__reader){p, p ? p + in->len : p, !p};
}

static const unsigned char *take(struct ws__reader *r, uint64_t n)
{
    const unsigned char *p = r->p;

    if (r->bad || n > (uint64_t)(r->end - r->p)) {
        r->bad = true;
        return NULL;
    }
    r->p += n;
    return p;
}

uint32_t ws__get_u32(struct ws__reader *r)
{
    const unsigned char *p = take(r, 4);

    return p ? get_word(p) : 0;
}

uint64_t ws__get_u64(struct ws__reader *r)
{
    const unsigned char *p = take(r, 8);

    return p ? get_word(p) | (uint64_t)get_word(p + 4) << 32 : 0;
}

double ws__get_f64(struct ws__reader *r)
{
    uint64_t bits = ws__get_u64(r);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

const void *ws__get_blob(struct ws__reader *r, size_t *n)
{
    uint64_t len = ws__get_u64(r);
    const unsigned char *p = take(r, len);

    *n = p ? (size_t)len : 0;
    return p;
}

const char *ws__get_str(struct ws__reader *r)
{
    size_t n;
    const char *s = ws__get_blob(r, &n);

    if (n && s[n - 1] != '\0') {
        r->bad = true;
        return NULL;
    }
    return n ? s : NULL;
}
