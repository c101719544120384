/* For reading a source: see ws_cuda_parse.h. */
#include "cuda_pipeline.h"
