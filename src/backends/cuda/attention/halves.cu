#include "backends/cuda/attention/halves_few.cuh"
#include "backends/cuda/attention/halves_many.cuh"

// Compiled with TACET_CODED false, and true for keys and values of which some are in types with
// blocks: two modules.
namespace tacet::cuda {

extern "C" __global__ void __launch_bounds__(half_many_threads, 2)
    many_64(const AttentionArguments a, const RunContext run) {
  attend_many<64, TACET_CODED>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * half_few_warps(64), 2)
    few_64(const AttentionArguments a, const RunContext run) {
  attend_few<64, TACET_CODED>(a, run);
}

extern "C" __global__ void __launch_bounds__(half_many_threads, 2)
    many_128(const AttentionArguments a, const RunContext run) {
  attend_many<128, TACET_CODED>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * half_few_warps(128), 2)
    few_128(const AttentionArguments a, const RunContext run) {
  attend_few<128, TACET_CODED>(a, run);
}

extern "C" __global__ void __launch_bounds__(half_many_threads, 2)
    many_256(const AttentionArguments a, const RunContext run) {
  attend_many<256, TACET_CODED>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * half_few_warps(256), 2)
    few_256(const AttentionArguments a, const RunContext run) {
  attend_few<256, TACET_CODED>(a, run);
}

}  // namespace tacet::cuda
