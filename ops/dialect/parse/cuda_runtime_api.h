/* For reading a source: see ws_cuda_parse.h. */
/* all of it is known already */
