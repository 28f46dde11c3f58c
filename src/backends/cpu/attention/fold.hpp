#pragma once

#include "backends/cpu/attention/kept_elements.hpp"
#include "backends/cpu/attention/softmax.hpp"
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
  const std::uint32_t size = values ? h.v_size : h.k_size, room = padded<S>(size);
  const std::size_t bytes = values ? h.v_bytes : h.k_bytes;
  const bool as_they_lie = type == DType::f32 && size % S::lanes == 0;
  for (std::uint32_t i = begin, next; i < end; i = next) {
    const std::uint32_t in_page = h.kv->page_tokens - (tile + i) % h.kv->page_tokens;
    next = least(end, i + in_page);
    const std::byte* row = values ? h.kv->v_row(*h.sequence, h.layer, h.head, tile + i)
                                  : h.kv->k_row(*h.sequence, h.layer, h.head, tile + i);
    float* out = buffer + std::size_t{i} * room;
    if (!as_they_lie) expand_kept<S>(type, {row, bytes, next - i, size, out, room});
    for (std::uint32_t j = i; j < next; ++j, row += bytes, out += room)
      rows[j] = as_they_lie ? reinterpret_cast<const float*>(row) : out;
  }
}

/// Scores of as many keys and queries as make a register tile.
template <typename S, int Columns>
[[gnu::always_inline]] inline void score(const float* const* keys, const Query* queries,
                                         std::size_t size, float* scores) {
  constexpr int rows = S::tile_weights;
  using F = typename S::F;
  F sums[rows][Columns];
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < Columns; ++c) sums[r][c] = S::zero();
  const auto add = [&](std::size_t k, auto load) __attribute__((always_inline)) {
    F q[Columns];
#pragma GCC unroll 8
    for (int c = 0; c < Columns; ++c) q[c] = load(queries[c].q + k);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const F key = load(keys[r] + k);
#pragma GCC unroll 8
      for (int c = 0; c < Columns; ++c) sums[r][c] = S::fma(key, q[c], sums[r][c]);
    }
  };
  std::size_t k = 0;
  for (; k + S::lanes <= size; k += S::lanes)
    add(
        k, [](const float* p) __attribute__((always_inline)) { return S::load(p); });
  if (k < size)
    add(
        k, [=](const float* p)
               __attribute__((always_inline)) { return load_part<S>(p, size - k); });
  for (int c = 0; c < Columns; ++c) {
    float* to = scores + c * static_cast<int>(tile_keys);
    if constexpr (rows == 4)
      S::sum4(to, sums[0][c], sums[1][c], sums[2][c], sums[3][c]);
    else
      for (int r = 0; r < rows; ++r) to[r] = S::sum(sums[r][c]);
  }
}

/// The same for fewer queries than a register tile has.
template <typename S, int Columns = S::tile_rows - 1>
[[gnu::always_inline]] inline void score_rest(const float* const* keys, const Query* queries,
                                              std::uint32_t n, std::size_t size, float* scores) {
  if constexpr (Columns > 0) {
    if (n == Columns) return score<S, Columns>(keys, queries, size, scores);
    score_rest<S, Columns - 1>(keys, queries, n, size, scores);
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

/// All values from `at` on.
template <typename S, int Vectors = S::value_vectors>
[[gnu::always_inline]] inline void add_all_values(const float* const* rows, const float* weights,
                                                  std::size_t n, std::size_t at, std::size_t end,
                                                  float* values) {
  for (; at + Vectors * S::lanes <= end; at += Vectors * S::lanes)
    add_values<S, Vectors>(rows, weights, n, at, values);
  if constexpr (Vectors > 1) add_all_values<S, Vectors / 2>(rows, weights, n, at, end, values);
}

/// Adds the keys of the cells [begin, end) that they see to the softmaxes of `n` queries. Cells
/// that no query sees are not read. A query's result depends on nothing but its own cells and where
/// they are.
template <typename S>
void fold_keys(const KvHead& h, Query* queries, std::uint32_t n, std::uint32_t begin,
               std::uint32_t end, float* scratch) {
  static_assert(tile_keys % S::tile_weights == 0 && tile_keys % S::lanes == 0);
  constexpr std::uint32_t step = S::tile_weights;
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
      score_rest<S>(rows + key, queries + i, n - i, h.k_size, scores + i * tile_keys + key);
    }
    if (!h.values_in_keys) tile_rows<S>(h, true, tile, low, high, buffer, rows);
    for (std::uint32_t i = 0; i < n; ++i) {
      Query& query = queries[i];
      const std::uint32_t first = most(query.cells.begin, tile + low) - tile;
      const std::uint32_t last = least(query.cells.end, tile + high) - tile;
      if (query.cells.end <= tile || first >= last) continue;
      float* weights = scores + i * tile_keys;
      weigh<S>(weights, h, query, tile, first, last);
      add_all_values<S>(rows + first, weights + first, last - first, 0, v_size, query.state.values);
    }
  }
}

}  // namespace tacet::cpu
