/*
 * change.h: what a move changes in a kernel file, as data.
 *
 * A change sets the value at a path of the file's tree to a piece of YAML:
 *     parameters.ITEMS       {values: [1, 2, 4], default: 1}
 *     constraints[+]         "N % 4 == 0"            [+] appends
 *     launches[0].grid[1]    ceil_div(M, BLOCK)      a scalar is a list of one
 *     specialize[+]          N
 * Maps and lists are made where there are none. An empty piece removes what is
 * there. Who applies changes is spec (ws__spec_vary); what comes out is checked
 * as any kernel file is.
 */
#ifndef WS_CHANGE_H
#define WS_CHANGE_H

struct ws__change {
    const char *path, *yaml;
};

#endif
