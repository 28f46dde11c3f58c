#pragma once

#include "backends/cpu/attention/kept_elements.hpp"
#include "backends/cpu/attention/softmax.hpp"
#include "backends/cpu/gemm/dots.hpp"
#include "graph/kv_view.hpp"

namespace tacet::cpu {

/// Keys that are scored together. Tiles lie at multiples of it.
inline constexpr std::uint32_t tile_keys = 32;
/// Queries that are answered together at most.
inline constexpr std::uint32_t max_queries = 24;
/// Elements of a head's keys and values: a tile of rows and the sums of all queries have to fit in
/// a thread's scratch memory.
inline constexpr std::uint32_t max_head_size = 1024;

/// The cells that a query sees.
struct CellRange {
  std::uint32_t begin, end;
};

/// One query of one head, and the softmax over the keys so far.
struct Query {
  const float* q;
  CellRange cells;
  std::uint32_t own;  ///< the query's own cell
  float slope;        ///< of ALiBi
  Softmax state;
};

/// The keys and values of one head of one sequence.
struct KvHead {
  const KvView* kv;
  const KvSequence* sequence;
  std::uint32_t layer, head;
  std::uint32_t k_size, v_size;
  std::uint32_t k_bytes, v_bytes;  ///< of a row
  DType k_type, v_type;
  bool values_in_keys;
  bool alibi;
  float scale, softcap;
};

/// Scratch for `fold_keys`: a tile of keys or values as floats, and the scores.
template <typename S>
[[gnu::always_inline]] inline constexpr std::size_t fold_scratch_floats(std::uint32_t k_size,
                                                                        std::uint32_t v_size) {
  return std::size_t{tile_keys} * padded<S>(most(k_size, v_size)) +
         std::size_t{max_queries} * tile_keys;
}

/// The rows [begin, end) of the tile at cell `tile` as floats: where they lie, or converted into
/// `buffer`.
template <typename S>
[[gnu::always_inline]] inline void tile_rows(const KvHead& h, bool values, std::uint32_t tile,
                                             std::uint32_t begin, std::uint32_t end, float* buffer,
                                             const float* (&rows)[tile_keys]) {
  const DType type = values ? h.v_type : h.k_type;
  const std::uint32_t size = values ? h.v_size : h.k_size;
  const std::size_t bytes = values ? h.v_bytes : h.k_bytes;
  const std::byte* row = nullptr;
  std::uint32_t left = 0;
  for (std::uint32_t i = begin; i < end; ++i, --left, row += bytes) {
    if (left == 0) {
      row = values ? h.kv->v_row(*h.sequence, h.layer, h.head, tile + i)
                   : h.kv->k_row(*h.sequence, h.layer, h.head, tile + i);
      left = h.kv->page_tokens - (tile + i) % h.kv->page_tokens;
    }
    if (type == DType::f32 && size % S::lanes == 0) {
      rows[i] = reinterpret_cast<const float*>(row);
    } else {
      rows[i] = buffer + std::size_t{i} * padded<S>(size);
      expand_kept<S>(type, row, size, buffer + std::size_t{i} * padded<S>(size));
    }
  }
}

/// Scores of as many keys and queries as make a register tile.
template <typename S, int Columns>
[[gnu::always_inline]] inline void score(const float* const* keys, const Query* queries,
                                         std::size_t size, float* scores) {
  constexpr int rows_of_tile = S::tile_weights;
  const std::byte* rows[rows_of_tile];
  for (int r = 0; r < rows_of_tile; ++r) rows[r] = reinterpret_cast<const std::byte*>(keys[r]);
  const float* columns[Columns];
  for (int c = 0; c < Columns; ++c) columns[c] = queries[c].q;
  typename S::F sums[rows_of_tile][Columns];
  for (int r = 0; r < rows_of_tile; ++r)
    for (int c = 0; c < Columns; ++c) sums[r][c] = S::zero();
  add_dots<S, F32Elements, rows_of_tile, Columns>(rows, columns, size, sums);
  for (int c = 0; c < Columns; ++c) {
    float results[rows_of_tile];
    reduce<S, rows_of_tile, Columns>(sums, c, results);
    __builtin_memcpy(scores + c * static_cast<int>(tile_keys), results, sizeof results);
  }
}

/// What becomes of products: c tanh(s / c), and the bias of the distance, for the first `end` keys
/// of a tile. Seldom asked for, so kept out of the way of the rest's registers.
template <typename S>
[[gnu::noinline]] void adjust(float* scores, const KvHead& h, const Query& query,
                              std::uint32_t tile, std::uint32_t end) {
  using F = typename S::F;
  if (h.softcap != 0) {
    const float c = h.softcap;
    for (std::uint32_t i = 0; i < tile_keys; i += S::lanes) {
      // tanh(x) = 1 - 2 / (1 + e^2x)
      const F e = exp<S>(S::mul(S::load(scores + i), S::set(2 / c)));
      const F part = S::div(S::set(2 * c), S::add(e, S::set(1.0f)));
      S::store(scores + i, S::sub(S::set(c), part));
    }
  }
  if (h.alibi) {
    const std::int64_t position = h.sequence->position_of(query.own);
    for (std::uint32_t i = 0; i < end; ++i) {
      const auto distance = static_cast<float>(position - h.sequence->position_of(tile + i));
      scores[i] -= query.slope * __builtin_fabsf(distance);
    }
  }
}

/// Turns the products of the keys [begin, end) of a tile into weights, and scales the softmax so
/// far.
template <typename S>
[[gnu::always_inline]] inline void weigh(float* scores, const KvHead& h, Query& query,
                                         std::uint32_t tile, std::uint32_t begin,
                                         std::uint32_t end) {
  using F = typename S::F;
  Softmax& state = query.state;
  // Stores of vectors may change anything: what loops need is read before.
  const F scale = S::set(h.scale);
  const std::uint32_t v_size = padded<S>(h.v_size);
  for (std::uint32_t i = 0; i < tile_keys; i += S::lanes)
    S::store(scores + i, S::mul(S::load(scores + i), scale));
  if (h.softcap != 0 || h.alibi) adjust<S>(scores, h, query, tile, end);
  if (begin != 0 || end != tile_keys) {
    for (std::uint32_t i = 0; i < begin; ++i) scores[i] = -__builtin_inff();
    for (std::uint32_t i = end; i < tile_keys; ++i) scores[i] = -__builtin_inff();
  }
  F highest = S::load(scores);
  for (std::uint32_t i = S::lanes; i < tile_keys; i += S::lanes)
    highest = S::max(highest, S::load(scores + i));
  const float largest = most(state.largest, S::largest(highest));
  const F base = S::set(largest);
  F sum = S::zero();
  for (std::uint32_t i = 0; i < tile_keys; i += S::lanes) {
    const F weights = exp<S>(S::sub(S::load(scores + i), base));
    S::store(scores + i, weights);
    sum = S::add(sum, weights);
  }
  if (largest != state.largest) {
    const F factor = S::set(exp<S>(state.largest - largest));
    float* values = state.values;
    state.sum *= S::first(factor);
    for (std::uint32_t i = 0; i < v_size; i += S::lanes)
      S::store(values + i, S::mul(S::load(values + i), factor));
    state.largest = largest;
  }
  state.sum += S::sum(sum);
}

/// Adds the weighted values of `n` keys, `Vectors` vectors from `at` on, in order of the keys.
template <typename S, int Vectors>
[[gnu::always_inline]] inline void add_values(const float* const* rows, const float* weights,
                                              std::size_t n, std::size_t at, float* values) {
  constexpr int lanes = S::lanes;
  typename S::F sums[Vectors];
  for (int i = 0; i < Vectors; ++i) sums[i] = S::load(values + at + lanes * i);
  for (std::size_t key = 0; key < n; ++key) {
    const typename S::F weight = S::set(weights[key]);
#pragma GCC unroll 8
    for (int i = 0; i < Vectors; ++i)
      sums[i] = S::fma(weight, S::load(rows[key] + at + lanes * i), sums[i]);
  }
  for (int i = 0; i < Vectors; ++i) S::store(values + at + lanes * i, sums[i]);
}

/// Adds the keys of the cells [begin, end) that they see to the softmaxes of `n` queries. Cells
/// that no query sees are not read. A query's result depends on nothing but its own cells and where
/// they are.
template <typename S>
void fold_keys(const KvHead& h, Query* queries, std::uint32_t n, std::uint32_t begin,
               std::uint32_t end, float* scratch) {
  static_assert(tile_keys % S::tile_weights == 0 && tile_keys % S::lanes == 0);
  constexpr std::uint32_t step = S::tile_weights;
  constexpr std::uint32_t wide = S::lanes * S::value_eights;
  float* scores = scratch;
  float* buffer = scratch + max_queries * tile_keys;
  const std::uint32_t v_size = padded<S>(h.v_size);
  CellRange seen{~0u, 0};
  for (std::uint32_t i = 0; i < n; ++i) {
    seen.begin = least(seen.begin, queries[i].cells.begin);
    seen.end = most(seen.end, queries[i].cells.end);
  }
  begin = most(begin, seen.begin);
  end = least(end, seen.end);
  if (begin >= end) return;
  for (std::uint32_t tile = begin / tile_keys * tile_keys; tile < end; tile += tile_keys) {
    const std::uint32_t low = most(begin, tile) - tile, high = least(tile_keys, end - tile);
    const float* rows[tile_keys];
    tile_rows<S>(h, false, tile, low, high, buffer, rows);
    for (std::uint32_t i = low; i % step != 0; --i) rows[i - 1] = rows[low];
    for (std::uint32_t i = high; i % step != 0; ++i) rows[i] = rows[high - 1];
    for (std::uint32_t key = low / step * step; key < high; key += step) {
      std::uint32_t i = 0;
      for (; i + S::tile_rows <= n; i += S::tile_rows)
        score<S, S::tile_rows>(rows + key, queries + i, h.k_size, scores + i * tile_keys + key);
      for (; i < n; ++i)
        score<S, 1>(rows + key, queries + i, h.k_size, scores + i * tile_keys + key);
    }
    if (!h.values_in_keys) tile_rows<S>(h, true, tile, low, high, buffer, rows);
    for (std::uint32_t i = 0; i < n; ++i) {
      Query& query = queries[i];
      const std::uint32_t first = most(query.cells.begin, tile + low) - tile;
      const std::uint32_t last = least(query.cells.end, tile + high) - tile;
      if (query.cells.end <= tile || first >= last) continue;
      float* weights = scores + i * tile_keys;
      weigh<S>(weights, h, query, tile, first, last);
      float* values = query.state.values;
      const std::size_t n_keys = last - first;
      std::uint32_t at = 0;
      for (; at + wide <= v_size; at += wide)
        add_values<S, S::value_eights>(rows + first, weights + first, n_keys, at, values);
      for (; at < v_size; at += S::lanes)
        add_values<S, 1>(rows + first, weights + first, n_keys, at, values);
    }
  }
}

}  // namespace tacet::cpu
