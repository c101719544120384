__device__ int lane() { return threadIdx.x; }
