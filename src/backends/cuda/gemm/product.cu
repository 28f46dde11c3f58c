#include "backends/cuda/gemm/few.cuh"
#include "backends/cuda/gemm/many.cuh"
#include "backends/cuda/gemm/one.cuh"

// The module of a type with tiles; the build names the type in TACET_PRODUCT.
namespace tacet::cuda {

using Kind = TACET_PRODUCT;

extern "C" __global__ void __launch_bounds__(32 * slices, blocks_of_one)
    one(const ProductArguments a, const RunContext run) {
  product_of_one<Kind, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * slices, blocks_of_one)
    one_pair(const ProductArguments a, const RunContext run) {
  product_of_one<Kind, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * slices, 2)
    few_8(const ProductArguments a, const RunContext run) {
  product_of_few<Kind, 1, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * slices, 2)
    few_8_pair(const ProductArguments a, const RunContext run) {
  product_of_few<Kind, 1, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * slices, 1)
    few_16(const ProductArguments a, const RunContext run) {
  product_of_few<Kind, 2, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(32 * slices, 1)
    few_16_pair(const ProductArguments a, const RunContext run) {
  product_of_few<Kind, 2, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(threads_of_many, 1)
    many(const ProductArguments a, const RunContext run) {
  product_of_many<Kind, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(threads_of_many, 1)
    many_pair(const ProductArguments a, const RunContext run) {
  product_of_many<Kind, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(256)
    embed(const EmbedArguments a, const RunContext run) {
  Kind::embed(a, run);
}

}  // namespace tacet::cuda
