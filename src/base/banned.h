/*
 * banned.h: functions that no source of ours may call, turned into compile
 * errors. Include it last. Allocation goes through base/mem.h, so that every
 * failure can be injected; text goes through base/buf.h or snprintf.
 */
#ifndef WS_BANNED_H
#define WS_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atof alloca
#pragma GCC poison rand srand system gets tmpnam
#ifndef WS_BASE_ALLOC
#pragma GCC poison malloc calloc realloc strdup strndup
#endif

#endif
