/*
 * cli_axes.c: a shape in words, as the axes of a pack: "M=16 N=4096" or
 * "M=16,N=4096"; what is left out takes its default where it has one.
 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#define MAX_AXES WSRT_MEMO_AXES

static int set_axis(struct cli *c, const struct wsrt_pack *p, const char *word,
                    int64_t *axes, bool *given)
{
    const char *eq = strchr(word, '=');
    char name[128];
    int a;

    if (!eq || eq == word || (size_t)(eq - word) >= sizeof(name))
        return cli_usage(c, "such as M=16", "'%s' is not axis=value", word);
    snprintf(name, sizeof(name), "%.*s", (int)(eq - word), word);
    a = wsrt_axis_find(p, name);
    if (a < 0)
        return cli_usage(c, NULL, "the pack has no axis '%s'", name);
    if (given[a])
        return cli_usage(c, NULL, "axis '%s' is given twice", name);
    if (wsrt_axis_value(p, (uint32_t)a, eq + 1, &axes[a]) != WSRT_OK)
        return cli_usage(c, "a whole number from 1 on, or the name of a type",
                         "'%s' is no value of axis '%s'", eq + 1, name);
    given[a] = true;
    return -1;
}

static int missing_axis(struct cli *c, const struct wsrt_pack *p, uint32_t a)
{
    char hint[512] = "the axes of the pack:";

    for (uint32_t i = 0; i < wsrt_axis_count(p); i++) {
        size_t used = strlen(hint);

        snprintf(hint + used, sizeof(hint) - used, " %s", wsrt_axis_name(p, i));
    }
    return cli_usage(c, hint, "axis '%s' is missing", wsrt_axis_name(p, a));
}

int cli_pack_axes(struct cli *c, const struct wsrt_pack *p, const char **word,
                  int n, int64_t *axes)
{
    bool given[MAX_AXES] = {false};
    char text[1024], *next;

    for (int i = 0; i < n; i++) {
        if (strlen(word[i]) >= sizeof(text))
            return cli_usage(c, NULL, "'%.40s...' is too long", word[i]);
        snprintf(text, sizeof(text), "%s", word[i]);
        for (char *at = text; at; at = next) {
            int rc;

            next = strchr(at, ',');
            if (next)
                *next++ = '\0';
            rc = set_axis(c, p, at, axes, given);
            if (rc >= 0)
                return rc;
        }
    }
    for (uint32_t a = 0; a < wsrt_axis_count(p); a++)
        if (!given[a] && wsrt_axis_default(p, a, &axes[a]) != WSRT_OK)
            return missing_axis(c, p, a);
    return -1;
}
