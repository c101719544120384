/*
 * http_address.c: where requests go. Kernel sources and a key travel there, so
 * only over TLS, unless the other end is this machine or the user says so.
 */
#include "llm/http/http_call.h"

#include <curl/curl.h>

#include "base/banned.h"

#define ENDPOINT "/chat/completions"

static int bad(struct ws_ctx *ctx, const char *what, const char *hint)
{
    ws__fail(ctx, WS_EINVAL, "the URL of the model %s", what);
    return ws__hint(ctx, "%s", hint);
}

static bool is_this_machine(const char *host)
{
    unsigned a, b, c, d;
    int end = 0;

    if (!strcmp(host, "localhost") || !strcmp(host, "[::1]"))
        return true;
    return sscanf(host, "%3u.%3u.%3u.%3u%n", &a, &b, &c, &d, &end) == 4 &&
           !host[end] && a == 127 && b < 256 && c < 256 && d < 256;
}

/* Into *out, curl_free; "" if there is no such part. */
static int part(struct ws_ctx *ctx, CURLU *u, CURLUPart what, char **out)
{
    CURLUcode e = curl_url_get(u, what, out, 0);

    if (e == CURLUE_OUT_OF_MEMORY)
        return ws__nomem(ctx);
    if (e)
        *out = NULL;
    return 0;
}

static int check_part(struct ws_ctx *ctx, const struct ws__llm_opts *o,
                      const char *scheme, const char *host, const char *user)
{
    bool tls = scheme && !strcmp(scheme, "https");

    if (!tls && (!scheme || strcmp(scheme, "http") != 0))
        return bad(ctx, "is none of https or http",
                   "as in https://host.example/v1");
    if (!host || !*host)
        return bad(ctx, "has no host", "as in https://host.example/v1");
    if (user)
        return bad(ctx, "has a user's name in it",
                   "a key is given apart, and sent in a header");
    if (!tls && !o->plain_http && !is_this_machine(host))
        return bad(ctx, "is not https, and its host is another machine",
                   "sources and the key would travel in the clear; use https, "
                   "or allow it by the option for plain HTTP");
    return 0;
}

static int check(struct ws_ctx *ctx, const struct ws__llm_opts *o, CURLU *u)
{
    char *scheme = NULL, *host = NULL, *user = NULL, *password = NULL;
    int rc;

    WS_TRY_DONE(part(ctx, u, CURLUPART_SCHEME, &scheme));
    WS_TRY_DONE(part(ctx, u, CURLUPART_HOST, &host));
    WS_TRY_DONE(part(ctx, u, CURLUPART_USER, &user));
    WS_TRY_DONE(part(ctx, u, CURLUPART_PASSWORD, &password));
    rc = check_part(ctx, o, scheme, host, user ? user : password);
done:
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    curl_free(password);
    return rc;
}

/* The path ends in the endpoint's, whether the user wrote that or not. */
static int set_path(struct ws_ctx *ctx, CURLU *u)
{
    char *path = NULL, whole[1024];
    size_t n, m = strlen(ENDPOINT);
    int rc = 0;

    WS_TRY(part(ctx, u, CURLUPART_PATH, &path));
    n = path ? strlen(path) : 0;
    while (n && path[n - 1] == '/')
        n--;
    if (n + m >= sizeof(whole))
        rc = bad(ctx, "is too long", "as in https://host.example/v1");
    else if (n < m || memcmp(path + n - m, ENDPOINT, m) != 0) {
        snprintf(whole, sizeof(whole), "%.*s%s", (int)n, path ? path : "",
                 ENDPOINT);
        if (curl_url_set(u, CURLUPART_PATH, whole, 0))
            rc = ws__nomem(ctx);
    }
    curl_free(path);
    return rc;
}

static int copy_url(struct ws_ctx *ctx, CURLU *u, char **out)
{
    char *url = NULL;
    CURLUcode e = curl_url_get(u, CURLUPART_URL, &url, 0);

    *out = e ? NULL : ws__strdup(ctx, url);
    curl_free(url);
    if (*out)
        return 0;
    return ws__nomem(ctx);
}

int ws__http_address(struct ws_ctx *ctx, const struct ws__llm_opts *opts,
                     char **address, char **shown)
{
    CURLU *u = curl_url();
    CURLUcode e;
    int rc;

    *address = *shown = NULL;
    if (!u)
        return ws__nomem(ctx);
    e = curl_url_set(u, CURLUPART_URL, opts->target, CURLU_NON_SUPPORT_SCHEME);
    if (e == CURLUE_OUT_OF_MEMORY)
        rc = ws__nomem(ctx);
    else if (e)
        rc = bad(ctx, "is none", "as in https://host.example/v1");
    else
        rc = check(ctx, opts, u);
    if (rc >= 0)
        rc = set_path(ctx, u);
    curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
    if (rc >= 0)
        rc = copy_url(ctx, u, address);
    curl_url_set(u, CURLUPART_QUERY, NULL, 0);
    if (rc >= 0)
        rc = copy_url(ctx, u, shown);
    curl_url_cleanup(u);
    if (rc < 0) {
        ws__free(ctx, *address);
        *address = NULL;
    }
    return rc;
}
