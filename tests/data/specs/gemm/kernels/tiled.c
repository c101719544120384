/* Not a working kernel: its includes are what the tests look at.
#include "in_a_comment.h"
*/
#include "tile.h"
#include <math.h>
#include "tile.h" // once is enough
const char *text = "#include \"in_a_string.h\"";
void gemm(void) {}
void reduce(void) {}
int layout = LAYOUT;
