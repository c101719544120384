/*
 * words.h: what compilers say, cut down to what helps.
 *
 * A log may have thousands of warnings before the first error, and names of
 * temporary files that are new every time. What is shown and kept begins with
 * the first error and says the same of the same mistake.
 */
#ifndef WS_WORDS_H
#define WS_WORDS_H

/* Logs longer than this are taken for none. */
#define WS__WORDS_MAX_BYTES ((size_t)256 << 20)

/* In place: without space at the ends; of a long text, the part with the
 * first error, 16 KiB at most. */
void ws__words_cut(char *text);
/* From the line of the first error on; all if there is none. */
const char *ws__words_first_error(const char *text);
/* In place: every absolute path that ends in `ending` (of 3 bytes or more)
 * becomes "source". */
void ws__words_hide(char *text, const char *ending);
/* In place: without `folder` and the slash behind it, wherever it stands. */
void ws__words_strip(char *text, const char *folder);

#endif
