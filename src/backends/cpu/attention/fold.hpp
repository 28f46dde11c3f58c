#pragma once

#include "backends/cpu/gemm/dots.hpp"
#include "graph/kv_view.hpp"

namespace tacet::cpu {

/// Keys that are scored together. Tiles lie at multiples of it.
inline constexpr std::uint32_t tile_keys = 32;
/// Queries that are answered together at most.
inline constexpr std::uint32_t max_queries = 24;
inline constexpr std::uint32_t max_head_size = 1024;

/// A softmax over some keys in the making: the largest score, the sum of e^(score - largest), and
/// the values weighted so (arXiv:1805.02867).
struct Softmax {
  float largest;
  float sum;
  float* values;
};

/// One query of one head, and the softmax over the keys so far.
struct Query {
  const float* q;
  std::uint32_t keys;  ///< that it sees, from cell 0
  Softmax state;
};

/// The keys and values of one head.
struct KvHead {
  const KvView* kv;
  std::uint32_t layer, head;
  std::uint32_t k_size, v_size;
  DType k_type, v_type;
  float scale;
};

[[gnu::always_inline]] inline std::uint32_t padded(std::uint32_t n) {
  return (n + 7) & ~7u;
}

/// Scratch for `fold_keys`: a tile of keys or values as floats, and the scores.
[[gnu::always_inline]] inline constexpr std::size_t fold_scratch_floats(std::uint32_t k_size,
                                                                        std::uint32_t v_size) {
  return std::size_t{tile_keys} * ((most(k_size, v_size) + 7) & ~7u) +
         std::size_t{max_queries} * tile_keys;
}

template <typename S>
[[gnu::always_inline]] inline void clear(Softmax& state, std::uint32_t size) {
  state.largest = -__builtin_inff();
  state.sum = 0;
  for (std::uint32_t i = 0; i < size; i += 8) S::store(state.values + i, S::zero());
}

/// Adds a later part to `whole`. Parts are added in order of their keys.
template <typename S>
[[gnu::always_inline]] inline void merge(Softmax& whole, const Softmax& part, std::uint32_t size) {
  using F = typename S::F;
  const float largest = most(whole.largest, part.largest);
  const float a = exp<S>(whole.largest - largest), b = exp<S>(part.largest - largest);
  whole.largest = largest;
  whole.sum = whole.sum * a + part.sum * b;
  for_eights<S>(
      0, size, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
        const F scaled = S::mul(load(whole.values + i), S::set(a));
        store(whole.values + i, S::fma(load(part.values + i), S::set(b), scaled));
      });
}
template <typename S>
[[gnu::always_inline]] inline void copy(Softmax& whole, const Softmax& part, std::uint32_t size) {
  whole.largest = part.largest;
  whole.sum = part.sum;
  __builtin_memcpy(whole.values, part.values, size * sizeof(float));
}
/// The answer of a finished softmax; `out` may be its values.
template <typename S>
[[gnu::always_inline]] inline void finish(const Softmax& whole, std::uint32_t size, float* out) {
  const typename S::F factor = S::set(1.0f / whole.sum);
  for_eights<S>(
      0, size, [=](std::size_t i, auto load, auto store) __attribute__((always_inline)) {
        store(out + i, S::mul(load(whole.values + i), factor));
      });
}

/// The rows of a tile as floats: where they lie, or converted into `buffer`.
template <typename S>
[[gnu::always_inline]] inline void tile_rows(const KvHead& h, bool values, std::uint32_t cell,
                                             std::uint32_t n, float* buffer,
                                             const float* (&rows)[tile_keys]) {
  const DType type = values ? h.v_type : h.k_type;
  const std::uint32_t size = values ? h.v_size : h.k_size;
  const std::size_t bytes = offset(type, size);
  const std::byte* row = nullptr;
  std::uint32_t left = 0;
  for (std::uint32_t i = 0; i < n; ++i, --left, row += bytes) {
    if (left == 0) {
      row =
          values ? h.kv->v_row(h.layer, h.head, cell + i) : h.kv->k_row(h.layer, h.head, cell + i);
      left = h.kv->page_tokens - (cell + i) % h.kv->page_tokens;
    }
    if (type == DType::f32 && size % 8 == 0) {
      rows[i] = reinterpret_cast<const float*>(row);
    } else {
      rows[i] = buffer + std::size_t{i} * padded(size);
      expand<S>(type, row, size, buffer + std::size_t{i} * padded(size));
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

/// Turns the scores of the first `seen` keys of a tile into weights, and scales the softmax so far.
template <typename S>
[[gnu::always_inline]] inline void weigh(float* scores, std::uint32_t seen, float scale,
                                         Softmax& state, std::uint32_t size) {
  using F = typename S::F;
  for (std::uint32_t i = 0; i < tile_keys; i += 8)
    S::store(scores + i, S::mul(S::load(scores + i), S::set(scale)));
  for (std::uint32_t i = seen; i < tile_keys; ++i) scores[i] = -__builtin_inff();
  F highest = S::load(scores);
  for (std::uint32_t i = 8; i < tile_keys; i += 8) highest = S::max(highest, S::load(scores + i));
  const float largest = most(state.largest, S::largest(highest));
  F sum = S::zero();
  for (std::uint32_t i = 0; i < tile_keys; i += 8) {
    const F weights = exp<S>(S::sub(S::load(scores + i), S::set(largest)));
    S::store(scores + i, weights);
    sum = S::add(sum, weights);
  }
  if (largest != state.largest) {
    const F factor = S::set(exp<S>(state.largest - largest));
    state.sum *= S::first(factor);
    for (std::uint32_t i = 0; i < size; i += 8)
      S::store(state.values + i, S::mul(S::load(state.values + i), factor));
    state.largest = largest;
  }
  state.sum += S::sum(sum);
}

/// Adds the weighted values of `seen` keys, `Eights` eights from `at` on, in order of the keys.
template <typename S, int Eights>
[[gnu::always_inline]] inline void add_values(const float* const* rows, const float* weights,
                                              std::uint32_t seen, std::size_t at, float* values) {
  typename S::F sums[Eights];
  for (int i = 0; i < Eights; ++i) sums[i] = S::load(values + at + 8 * i);
  for (std::uint32_t key = 0; key < seen; ++key) {
    const typename S::F weight = S::set(weights[key]);
#pragma GCC unroll 8
    for (int i = 0; i < Eights; ++i)
      sums[i] = S::fma(weight, S::load(rows[key] + at + 8 * i), sums[i]);
  }
  for (int i = 0; i < Eights; ++i) S::store(values + at + 8 * i, sums[i]);
}

/// Adds the keys of the cells [begin, end) to the softmaxes of `n` queries. `begin` is a multiple
/// of `tile_keys`, and cells up to the last that any query sees are read. A query's result depends
/// on nothing but its own keys and where they start.
template <typename S>
void fold_keys(const KvHead& h, Query* queries, std::uint32_t n, std::uint32_t begin,
               std::uint32_t end, float* scratch) {
  float* scores = scratch;
  float* buffer = scratch + max_queries * tile_keys;
  const std::uint32_t v_size = padded(h.v_size);
  std::uint32_t seen_by_any = 0;
  for (std::uint32_t i = 0; i < n; ++i) seen_by_any = most(seen_by_any, queries[i].keys);
  end = least(end, seen_by_any);
  for (std::uint32_t cell = begin; cell < end; cell += tile_keys) {
    const std::uint32_t keys = least(tile_keys, end - cell);
    const float* rows[tile_keys];
    tile_rows<S>(h, false, cell, keys, buffer, rows);
    for (std::uint32_t i = keys; i % S::tile_weights != 0; ++i) rows[i] = rows[keys - 1];
    for (std::uint32_t key = 0; key < keys; key += S::tile_weights) {
      std::uint32_t i = 0;
      for (; i + S::tile_rows <= n; i += S::tile_rows)
        score<S, S::tile_rows>(rows + key, queries + i, h.k_size, scores + i * tile_keys + key);
      for (; i < n; ++i)
        score<S, 1>(rows + key, queries + i, h.k_size, scores + i * tile_keys + key);
    }
    tile_rows<S>(h, true, cell, keys, buffer, rows);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (queries[i].keys <= cell) continue;
      const std::uint32_t seen = least(keys, queries[i].keys - cell);
      float* weights = scores + i * tile_keys;
      Softmax& state = queries[i].state;
      weigh<S>(weights, seen, h.scale, state, v_size);
      std::uint32_t at = 0;
      for (; at + 8 * S::value_eights <= v_size; at += 8 * S::value_eights)
        add_values<S, S::value_eights>(rows, weights, seen, at, state.values);
      for (; at < v_size; at += 8) add_values<S, 1>(rows, weights, seen, at, state.values);
    }
  }
}

}  // namespace tacet::cpu
