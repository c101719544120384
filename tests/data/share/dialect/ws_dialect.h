/* Stands for the shipped dialect header in tests of loading. */
#define WS_TEST_DIALECT 1
