#include "backends/cuda/attention/queries.cuh"

/// Attention by multiply-adds of floats, to keys and values of every type and size.
namespace tacet::cuda {

namespace {

/// A warp has `PerWarp` queries of a tile, each lane `Columns` columns of their values; keys come
/// `Keys` at a time. With `Split` a block takes a split and leaves its part.
template <int PerWarp, int Columns, int Keys, bool Split>
__device__ void attend(const AttentionArguments& a, const RunContext& run) {
  constexpr std::uint32_t queries = PerWarp * attention_warps;
  extern __shared__ float4 memory[];
  const RunBlock& block = *run.block;
  const std::uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t kv_head = blockIdx.y;
  let_next_begin();
  const Tile tile = tile_at(a, block, blockIdx.x, queries);
  wait_for_previous();
  if (tile.sequence == nullptr) return;
  const SequenceArgs& sequence = *tile.sequence;
  const std::uint32_t k_pitch = (a.k_size + 3) / 4 * 4 + 4, v_pitch = (a.v_size + 3) / 4 * 4 + 4;
  auto* q_rows = reinterpret_cast<float*>(memory);
  float* k_rows = q_rows + queries * k_pitch;
  float* v_rows = k_rows + Keys * k_pitch;
  float* weights = v_rows + Keys * v_pitch + warp * (PerWarp * Keys);

  const auto row_of = [&](std::uint32_t query) {
    return sequence.begin + (tile.first + query) / a.group;
  };
  const auto head_of = [&](std::uint32_t query) {
    return kv_head * a.group + (tile.first + query) % a.group;
  };
  const Seen least = seen_by(a, block, sequence, row_of(0));
  const Seen most = seen_by(a, block, sequence, row_of(tile.count - 1));
  const std::uint32_t first_split = least.first / a.split;
  const std::uint32_t end_split = (most.end + a.split - 1) / a.split;
  // The blocks that have a split; where there is none, one of them leaves zeros.
  const std::uint32_t blocks = min(gridDim.z, max(1u, end_split - first_split));
  if (Split && blockIdx.z >= blocks) return;
  for (std::uint32_t query = warp; query < queries; query += attention_warps)
    for (std::uint32_t i = lane; i < k_pitch; i += 32) {
      const bool is_there = query < tile.count && i < a.k_size;
      q_rows[query * k_pitch + i] =
          is_there ? a.q[(std::size_t{row_of(query)} * a.heads + head_of(query)) * a.k_size + i]
                   : 0;
    }
  // What the keys lack up to a multiple of four stays zero.
  for (std::uint32_t i = threadIdx.x; i < Keys * (k_pitch + v_pitch); i += attention_threads)
    k_rows[i] = 0;

  Seen seen[PerWarp];
  std::int32_t position[PerWarp];
  float slope[PerWarp];
#pragma unroll
  for (int n = 0; n < PerWarp; ++n) {
    const std::uint32_t query = warp * PerWarp + n;
    seen[n] = {0, 0};
    position[n] = 0;
    slope[n] = 0;
    if (query >= tile.count) continue;
    const std::uint32_t row = row_of(query);
    seen[n] = seen_by(a, block, sequence, row);
    if (seen[n].end != 0)
      position[n] = position_of(block, sequence, sequence.past + row - sequence.begin);
    slope[n] = slope_of(a, head_of(query));
  }
  const LayerArgs& layer = block.layers[a.layer];
  const bool values_in_keys = a.values_in_keys;
  const std::size_t k_bytes = kept_row_bytes(a.k_type, a.k_size);
  const std::size_t v_bytes = values_in_keys ? k_bytes : kept_row_bytes(a.v_type, a.v_size);
  const std::uint64_t v_offset = values_in_keys ? layer.k_offset : layer.v_offset;
  const DType v_type = values_in_keys ? a.k_type : a.v_type;

  Softmax whole[PerWarp];
  float sums[PerWarp][Columns] = {};
  const std::uint32_t step = Split ? blocks : 1;
  for (std::uint32_t split = first_split + (Split ? blockIdx.z : 0); split < end_split;
       split += step) {
    Softmax part[PerWarp];
    float part_sums[PerWarp][Columns] = {};
    const std::uint32_t begin = max(split * a.split, least.first / Keys * Keys);
    const std::uint32_t end = min((split + 1) * a.split, most.end);
    for (std::uint32_t first = begin; first < end; first += Keys) {
      const int stop = threadIdx.x == 0 && asked_to_stop(run) ? 1 : 0;
      __syncthreads();
      for (std::uint32_t key = warp; key < Keys; key += attention_warps) {
        const std::uint32_t cell = first + key;
        const std::byte* k = nullptr;
        const std::byte* v = nullptr;
        if (cell >= least.first && cell < end) {
          k = kept_row(block, sequence, layer.k_offset, k_bytes, kv_head, cell);
          v = kept_row(block, sequence, v_offset, v_bytes, kv_head, cell);
        }
        float* k_row = k_rows + key * k_pitch;
        float* v_row = v_rows + key * v_pitch;
        if (k != nullptr && v != nullptr) {
          read_kept(a.k_type, k, a.k_size, k_row, lane);
          read_kept(v_type, v, a.v_size, v_row, lane);
        } else {
          for (std::uint32_t i = lane; i < k_pitch; i += 32) k_row[i] = 0;
          for (std::uint32_t i = lane; i < v_pitch; i += 32) v_row[i] = 0;
        }
      }
      if (__syncthreads_or(stop) != 0) return;
      // Scores: a key a lane.
      const std::uint32_t cell = first + lane;
      float score[PerWarp] = {};
      float4 dots[PerWarp] = {};
      if (lane < Keys) {
        const auto* k = reinterpret_cast<const float4*>(k_rows + lane * k_pitch);
        for (std::uint32_t i = 0; i < k_pitch / 4 - 1; ++i) {
          const float4 key = k[i];
#pragma unroll
          for (int n = 0; n < PerWarp; ++n) {
            const float4 query =
                reinterpret_cast<const float4*>(q_rows + (warp * PerWarp + n) * k_pitch)[i];
            dots[n].x = fmaf(query.x, key.x, dots[n].x);
            dots[n].y = fmaf(query.y, key.y, dots[n].y);
            dots[n].z = fmaf(query.z, key.z, dots[n].z);
            dots[n].w = fmaf(query.w, key.w, dots[n].w);
          }
        }
      }
#pragma unroll
      for (int n = 0; n < PerWarp; ++n)
        score[n] = (dots[n].x + dots[n].y) + (dots[n].z + dots[n].w);
#pragma unroll
      for (int n = 0; n < PerWarp; ++n) {
        const bool sees = lane < Keys && cell >= seen[n].first && cell < min(seen[n].end, end);
        float s = -INFINITY;
        if (sees) {
          s = score[n] * a.scale;
          if (a.softcap != 0) s = a.softcap * tanhf(s / a.softcap);
          if (slope[n] != 0)
            s -= slope[n] *
                 fabsf(static_cast<float>(position[n] - position_of(block, sequence, cell)));
        }
        const float largest = fmaxf(part[n].largest, warp_largest(s));
        const float before = share(part[n].largest, largest);
        const float weight = s == -INFINITY ? 0 : expf(s - largest);
        part[n].total = part[n].total * before + warp_sum(weight);
        part[n].largest = largest;
        if (lane < Keys) weights[n * Keys + lane] = weight;
#pragma unroll
        for (int c = 0; c < Columns; ++c) part_sums[n][c] *= before;
      }
      __syncwarp();
      for (std::uint32_t key = 0; key < Keys; ++key) {
        float value[Columns];
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
          const std::uint32_t column = lane + 32 * c;
          value[c] = column < a.v_size ? v_rows[key * v_pitch + column] : 0;
        }
#pragma unroll
        for (int n = 0; n < PerWarp; ++n) {
          const float weight = weights[n * Keys + key];
#pragma unroll
          for (int c = 0; c < Columns; ++c)
            part_sums[n][c] = fmaf(weight, value[c], part_sums[n][c]);
        }
      }
      __syncwarp();
    }
#pragma unroll
    for (int n = 0; n < PerWarp; ++n) {
      const std::uint32_t query = warp * PerWarp + n;
      if constexpr (Split) {
        if (query >= tile.count) continue;
        float* out = part_of(a, row_of(query), head_of(query), split);
#pragma unroll
        for (int c = 0; c < Columns; ++c)
          if (lane + 32 * c < a.v_size) out[lane + 32 * c] = part_sums[n][c];
        if (lane == 0) {
          out[a.v_size] = part[n].largest;
          out[a.v_size + 1] = part[n].total;
        }
      } else {
        if (part[n].largest == -INFINITY) continue;
        const float largest = fmaxf(whole[n].largest, part[n].largest);
        const float before = share(whole[n].largest, largest),
                    now = share(part[n].largest, largest);
        whole[n].total = whole[n].total * before + part[n].total * now;
        whole[n].largest = largest;
#pragma unroll
        for (int c = 0; c < Columns; ++c) sums[n][c] = sums[n][c] * before + part_sums[n][c] * now;
      }
    }
  }
  if constexpr (Split) {
    if (!is_last(a.arrivals + blockIdx.x * gridDim.y + blockIdx.y, blocks)) return;
#pragma unroll
    for (int n = 0; n < PerWarp; ++n) {
      const std::uint32_t query = warp * PerWarp + n;
      if (query < tile.count)
        merge_parts<Columns>(a, row_of(query), head_of(query), 0, seen[n].first / a.split,
                             (seen[n].end + a.split - 1) / a.split);
    }
  } else {
#pragma unroll
    for (int n = 0; n < PerWarp; ++n) {
      const std::uint32_t query = warp * PerWarp + n;
      if (query >= tile.count) continue;
      const float factor = finish(a, whole[n], head_of(query));
      float* out = a.out + (std::size_t{row_of(query)} * a.heads + head_of(query)) * a.v_size;
#pragma unroll
      for (int c = 0; c < Columns; ++c)
        if (lane + 32 * c < a.v_size) out[lane + 32 * c] = sums[n][c] * factor;
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    many_64(const AttentionArguments a, const RunContext run) {
  attend<8, 2, 32, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 2)
    few_64(const AttentionArguments a, const RunContext run) {
  attend<1, 2, 32, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    many_128(const AttentionArguments a, const RunContext run) {
  attend<8, 4, 32, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 2)
    few_128(const AttentionArguments a, const RunContext run) {
  attend<1, 4, 32, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    many_256(const AttentionArguments a, const RunContext run) {
  attend<4, 8, 32, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 2)
    few_256(const AttentionArguments a, const RunContext run) {
  attend<1, 8, 32, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    many_512(const AttentionArguments a, const RunContext run) {
  attend<2, 16, 16, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    few_512(const AttentionArguments a, const RunContext run) {
  attend<1, 16, 16, true>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    many_1024(const AttentionArguments a, const RunContext run) {
  attend<1, 32, 8, false>(a, run);
}

extern "C" __global__ void __launch_bounds__(attention_threads, 1)
    few_1024(const AttentionArguments a, const RunContext run) {
  attend<1, 32, 8, true>(a, run);
}

}  // namespace tacet::cuda
