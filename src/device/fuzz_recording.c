/* fuzz_recording.c: recordings from any bytes. The first byte says whether the
 * others are a whole file, or the content of a frame, which a checksum would
 * keep from us. Every record is read as what it says it is. */
#include <stddef.h>
#include <stdint.h>

#include "device/recfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUNDS 4
#define BYTES 256

static void read_one(struct ws__recreader *r, struct ws__record *rec)
{
    static unsigned char out[BYTES];
    struct ws__dev_sample sample[ROUNDS];
    struct ws__device_info info;
    struct ws__built built = {0};
    struct ws__dev_batch batch = {.rounds = ROUNDS, .nprog = 1};
    struct ws__call c = {.op = rec->op,
                         .arg = {1, 0, BYTES},
                         .out = out,
                         .built = &built,
                         .batch = &batch,
                         .sample = sample};

    if (rec->op == WS__CALL_OPEN) {
        ws__rec_info(r, rec, &info);
        return;
    }
    ws__rec_results(r, rec, &c);
    ws__free(r->ctx, built.log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[16] = "wsrec\r\n\x1a\x01";
    struct ws_ctx *ctx = ws_ctx_new(NULL);
    struct ws__recreader r;
    struct ws__record rec;
    int rc = -1;

    if (ctx && size > 1 && data[0] == '0')
        rc = ws__recreader_open(ctx, "input", data + 1, size - 1, &r);
    else if (ctx && size > 1)
        rc = ws__recreader_open(ctx, "input", head, sizeof(head), &r);
    if (rc >= 0) {
        if (data[0] != '0')
            ws__buf_add(&r.content, data + 1, size - 1);
        while (ws__recreader_next(&r, &rec) > 0)
            read_one(&r, &rec);
        ws__recreader_free(&r);
    }
    ws_ctx_free(ctx);
    return 0;
}
