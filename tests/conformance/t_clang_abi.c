/*
 * t_clang_abi.c: our declarations of libclang against the real header.
 *
 * All of it is compared by the compiler; where the header is not installed, or
 * is of another version, the test says so. The program itself opens the
 * library, if it is there, and has nothing else left to do.
 */
#include "base/t_base.h"

#include "xform/clang_api.h"

#if defined(__has_include)
#if __has_include(<clang-c/Index.h>)
#include <clang-c/Index.h>
#endif
#endif

#if defined(CINDEX_VERSION_MINOR) && CINDEX_VERSION_MINOR == 64 /* clang 19 */
#define HAVE_CLANG 1
#define WS_X(name, value) _Static_assert((int)(value) == (int)CX##name, #name);
CL_CONSTANTS(WS_X)
#undef WS_X
_Static_assert((int)CL_DETAILED ==
                   (int)CXTranslationUnit_DetailedPreprocessingRecord,
               "options");
_Static_assert((int)CL_CONTINUE == (int)CXChildVisit_Continue, "visit");
_Static_assert((int)CL_ERROR == (int)CXDiagnostic_Error, "severity");
_Static_assert((int)CL_INT_VALUE == (int)CXEval_Int, "evaluation");

#define SAME_SIZE(ours, theirs)                                                \
    _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SAME_SIZE(cl_index, CXIndex);
SAME_SIZE(cl_unit, CXTranslationUnit);
SAME_SIZE(cl_file, CXFile);
SAME_SIZE(cl_diagnostic, CXDiagnostic);
SAME_SIZE(cl_eval, CXEvalResult);
SAME_SIZE(struct cl_string, CXString);
SAME_SIZE(struct cl_unsaved, struct CXUnsavedFile);
SAME_SIZE(struct cl_location, CXSourceLocation);
SAME_SIZE(struct cl_range, CXSourceRange);
SAME_SIZE(struct cl_cursor, CXCursor);
SAME_SIZE(struct cl_type, CXType);
SAME_SIZE(int, enum CXCursorKind);

#define SAME_PLACE(ours, a, theirs, b)                                         \
    _Static_assert(offsetof(struct ours, a) == offsetof(theirs, b), #theirs)
SAME_PLACE(cl_string, flags, CXString, private_flags);
SAME_PLACE(cl_unsaved, text, struct CXUnsavedFile, Contents);
SAME_PLACE(cl_unsaved, length, struct CXUnsavedFile, Length);
SAME_PLACE(cl_location, data, CXSourceLocation, int_data);
SAME_PLACE(cl_range, begin, CXSourceRange, begin_int_data);
SAME_PLACE(cl_range, end, CXSourceRange, end_int_data);
SAME_PLACE(cl_cursor, xdata, CXCursor, xdata);
SAME_PLACE(cl_cursor, data, CXCursor, data);
SAME_PLACE(cl_type, data, CXType, data);
#endif

static void it_opens(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct cl_api api = {0};
    int rc = ws__clang_open(ctx, NULL, &api);

    (void)state;
    if (rc < 0) {
        assert_int_equal(rc, WS_ENODRIVER);
        assert_non_null(strstr(ws_ctx_error(ctx)->message, "clang"));
    } else {
#define WS_X(result, name, args) assert_true(api.name != NULL);
        CL_FUNCTIONS(WS_X)
#undef WS_X
    }
    ws__clang_close(&api);
    ws_ctx_free(ctx);
    if (rc < 0)
        SKIP("no libclang 19: nothing was opened");
#ifndef HAVE_CLANG
    SKIP("no <clang-c/Index.h> of clang 19; nothing was compared");
#endif
}

static void absent(void **state)
{
    struct ws_ctx *ctx = t_ctx(NULL);
    struct cl_api api = {0};

    (void)state;
    assert_int_equal(ws__clang_open(ctx, "no-such-library", &api),
                     WS_ENODRIVER);
    assert_true(ws_ctx_error(ctx)->message[0] != '\0');
    ws__clang_close(&api);
    ws_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens),
        cmocka_unit_test(absent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
