/*
 * clang_api.h: the part of libclang 19 that we use, declared by us.
 *
 * No header of clang is needed to build, and no library to start: functions
 * are found at run time (clang_api.c). Types and constants have names of our
 * own (cl_, CL_), so that a test can include <clang-c/Index.h> beside this file
 * and compare them (tests/conformance/t_clang_abi.c). Functions and constants
 * are lists, so that nothing is compared by hand.
 */
#ifndef WS_CLANG_API_H
#define WS_CLANG_API_H

#include "base/ctx.h"

typedef void *cl_index, *cl_unit, *cl_file, *cl_diagnostic, *cl_eval;

struct cl_string {
    const void *data;
    unsigned flags;
};
struct cl_unsaved {
    const char *name, *text;
    unsigned long length;
};
struct cl_location {
    const void *ptr[2];
    unsigned data;
};
struct cl_range {
    const void *ptr[2];
    unsigned begin, end;
};
struct cl_cursor {
    int kind, xdata;
    const void *data[3];
};
struct cl_type {
    int kind;
    void *data[2];
};
typedef int (*cl_visitor)(struct cl_cursor c, struct cl_cursor parent,
                          void *user);

/* Constants: name after CL_ (and after CX), value. */
#define CL_CONSTANTS(X)                                                        \
    X(Cursor_FunctionDecl, 8)                                                  \
    X(Cursor_VarDecl, 9)                                                       \
    X(Cursor_ParmDecl, 10)                                                     \
    X(Cursor_Namespace, 22)                                                    \
    X(Cursor_LinkageSpec, 23)                                                  \
    X(Cursor_Constructor, 24)                                                  \
    X(Cursor_ConversionFunction, 26)                                           \
    X(Cursor_NonTypeTemplateParameter, 28)                                     \
    X(Cursor_FunctionTemplate, 30)                                             \
    X(Cursor_FirstRef, 40)                                                     \
    X(Cursor_OverloadedDeclRef, 49)                                            \
    X(Cursor_UnexposedExpr, 100)                                               \
    X(Cursor_DeclRefExpr, 101)                                                 \
    X(Cursor_MemberRefExpr, 102)                                               \
    X(Cursor_CallExpr, 103)                                                    \
    X(Cursor_IntegerLiteral, 106)                                              \
    X(Cursor_FloatingLiteral, 107)                                             \
    X(Cursor_ParenExpr, 111)                                                   \
    X(Cursor_UnaryOperator, 112)                                               \
    X(Cursor_ArraySubscriptExpr, 113)                                          \
    X(Cursor_BinaryOperator, 114)                                              \
    X(Cursor_CompoundAssignOperator, 115)                                      \
    X(Cursor_ConditionalOperator, 116)                                         \
    X(Cursor_CStyleCastExpr, 117)                                              \
    X(Cursor_InitListExpr, 119)                                                \
    X(Cursor_CXXStaticCastExpr, 124)                                           \
    X(Cursor_CXXReinterpretCastExpr, 126)                                      \
    X(Cursor_CXXFunctionalCastExpr, 128)                                       \
    X(Cursor_UnaryExpr, 136)                                                   \
    X(Cursor_UnexposedStmt, 200)                                               \
    X(Cursor_LabelStmt, 201)                                                   \
    X(Cursor_CompoundStmt, 202)                                                \
    X(Cursor_IfStmt, 205)                                                      \
    X(Cursor_SwitchStmt, 206)                                                  \
    X(Cursor_WhileStmt, 207)                                                   \
    X(Cursor_DoStmt, 208)                                                      \
    X(Cursor_ForStmt, 209)                                                     \
    X(Cursor_GotoStmt, 210)                                                    \
    X(Cursor_ContinueStmt, 212)                                                \
    X(Cursor_BreakStmt, 213)                                                   \
    X(Cursor_ReturnStmt, 214)                                                  \
    X(Cursor_GCCAsmStmt, 215)                                                  \
    X(Cursor_NullStmt, 230)                                                    \
    X(Cursor_DeclStmt, 231)                                                    \
    X(Cursor_CUDAGlobalAttr, 414)                                              \
    X(Cursor_CUDASharedAttr, 416)                                              \
    X(Cursor_MacroExpansion, 502)                                              \
    X(Type_Void, 2)                                                            \
    X(Type_Bool, 3)                                                            \
    X(Type_UChar, 5)                                                           \
    X(Type_UShort, 8)                                                          \
    X(Type_UInt, 9)                                                            \
    X(Type_ULong, 10)                                                          \
    X(Type_ULongLong, 11)                                                      \
    X(Type_SChar, 14)                                                          \
    X(Type_Short, 16)                                                          \
    X(Type_Int, 17)                                                            \
    X(Type_Long, 18)                                                           \
    X(Type_LongLong, 19)                                                       \
    X(Type_Float, 21)                                                          \
    X(Type_Double, 22)                                                         \
    X(Type_Half, 31)                                                           \
    X(Type_Float16, 32)                                                        \
    X(Type_Pointer, 101)                                                       \
    X(Type_Record, 105)                                                        \
    X(Type_ConstantArray, 112)                                                 \
    X(Type_Vector, 113)                                                        \
    X(Type_IncompleteArray, 114)                                               \
    X(Type_ExtVector, 176)                                                     \
    X(BinaryOperator_Mul, 3)                                                   \
    X(BinaryOperator_Div, 4)                                                   \
    X(BinaryOperator_Rem, 5)                                                   \
    X(BinaryOperator_Add, 6)                                                   \
    X(BinaryOperator_Sub, 7)                                                   \
    X(BinaryOperator_Shl, 8)                                                   \
    X(BinaryOperator_Shr, 9)                                                   \
    X(BinaryOperator_LT, 11)                                                   \
    X(BinaryOperator_GT, 12)                                                   \
    X(BinaryOperator_LE, 13)                                                   \
    X(BinaryOperator_GE, 14)                                                   \
    X(BinaryOperator_EQ, 15)                                                   \
    X(BinaryOperator_NE, 16)                                                   \
    X(BinaryOperator_LAnd, 20)                                                 \
    X(BinaryOperator_LOr, 21)                                                  \
    X(BinaryOperator_Assign, 22)                                               \
    X(BinaryOperator_MulAssign, 23)                                            \
    X(BinaryOperator_DivAssign, 24)                                            \
    X(BinaryOperator_AddAssign, 26)                                            \
    X(BinaryOperator_SubAssign, 27)                                            \
    X(BinaryOperator_ShlAssign, 28)                                            \
    X(BinaryOperator_ShrAssign, 29)                                            \
    X(BinaryOperator_Comma, 33)                                                \
    X(UnaryOperator_PostInc, 1)                                                \
    X(UnaryOperator_PostDec, 2)                                                \
    X(UnaryOperator_PreInc, 3)                                                 \
    X(UnaryOperator_PreDec, 4)                                                 \
    X(UnaryOperator_AddrOf, 5)                                                 \
    X(UnaryOperator_Deref, 6)                                                  \
    X(UnaryOperator_Minus, 8)                                                  \
    X(UnaryOperator_LNot, 10)

enum cl_constant {
#define WS_X(name, value) CL_##name = (value),
    CL_CONSTANTS(WS_X)
#undef WS_X
};

enum {
    CL_DETAILED = 0x01, /* CXTranslationUnit_DetailedPreprocessingRecord */
    CL_CONTINUE = 1,    /* CXChildVisit_Continue */
    CL_ERROR = 3,       /* CXDiagnostic_Error */
    CL_INT_VALUE = 1    /* CXEval_Int */
};

/* Functions: result, name after clang_, arguments. */
#define CL_FUNCTIONS(X)                                                        \
    X(cl_index, createIndex, (int, int))                                       \
    X(void, disposeIndex, (cl_index))                                          \
    X(int, parseTranslationUnit2,                                              \
      (cl_index, const char *, const char *const *, int, struct cl_unsaved *,  \
       unsigned, unsigned, cl_unit *))                                         \
    X(void, disposeTranslationUnit, (cl_unit))                                 \
    X(struct cl_cursor, getTranslationUnitCursor, (cl_unit))                   \
    X(cl_file, getFile, (cl_unit, const char *))                               \
    X(unsigned, visitChildren, (struct cl_cursor, cl_visitor, void *))         \
    X(struct cl_range, getCursorExtent, (struct cl_cursor))                    \
    X(struct cl_location, getRangeStart, (struct cl_range))                    \
    X(struct cl_location, getRangeEnd, (struct cl_range))                      \
    X(void, getFileLocation,                                                   \
      (struct cl_location, cl_file *, unsigned *, unsigned *, unsigned *))     \
    X(struct cl_string, getCursorSpelling, (struct cl_cursor))                 \
    X(struct cl_string, getTypeSpelling, (struct cl_type))                     \
    X(const char *, getCString, (struct cl_string))                            \
    X(void, disposeString, (struct cl_string))                                 \
    X(struct cl_type, getCursorType, (struct cl_cursor))                       \
    X(struct cl_type, getCanonicalType, (struct cl_type))                      \
    X(struct cl_type, getPointeeType, (struct cl_type))                        \
    X(struct cl_type, getElementType, (struct cl_type))                        \
    X(long long, getNumElements, (struct cl_type))                             \
    X(unsigned, isConstQualifiedType, (struct cl_type))                        \
    X(unsigned, isRestrictQualifiedType, (struct cl_type))                     \
    X(struct cl_cursor, getCursorReferenced, (struct cl_cursor))               \
    X(unsigned, equalCursors, (struct cl_cursor, struct cl_cursor))            \
    X(int, getCursorBinaryOperatorKind, (struct cl_cursor))                    \
    X(int, getCursorUnaryOperatorKind, (struct cl_cursor))                     \
    X(cl_eval, Cursor_Evaluate, (struct cl_cursor))                            \
    X(int, EvalResult_getKind, (cl_eval))                                      \
    X(long long, EvalResult_getAsLongLong, (cl_eval))                          \
    X(void, EvalResult_dispose, (cl_eval))                                     \
    X(unsigned, getNumDiagnostics, (cl_unit))                                  \
    X(cl_diagnostic, getDiagnostic, (cl_unit, unsigned))                       \
    X(void, disposeDiagnostic, (cl_diagnostic))                                \
    X(int, getDiagnosticSeverity, (cl_diagnostic))                             \
    X(struct cl_string, getDiagnosticSpelling, (cl_diagnostic))                \
    X(struct cl_location, getDiagnosticLocation, (cl_diagnostic))

struct cl_api {
#define WS_X(result, name, args) result(*name) args;
    CL_FUNCTIONS(WS_X)
#undef WS_X
    void *handle;
};

/* WS_ENODRIVER with the package's name if libclang is not there. Once opened
 * the library stays. `path`: a file to open instead of the usual names. */
int ws__clang_open(struct ws_ctx *ctx, const char *path, struct cl_api *out);
void ws__clang_close(struct cl_api *a);

#endif
