#pragma once

/// Marks functions that the host and kernels call.
#if defined(__CUDACC__)
#define TACET_ON_BOTH __host__ __device__
#else
#define TACET_ON_BOTH
#endif
