#pragma once

#include "backends/device.hpp"
#include "graph/graph.hpp"

namespace tacet {

/// Consecutive layers of a model that one device computes: with the embedding if the first layer is
/// among them, and with the output if the last one is.
struct Place {
  Device* device = nullptr;
  std::uint32_t first_layer = 0;
  std::uint32_t end_layer = 0;
};

/// The part of a model's graph, as its family built it, that computes the layers from `first` to
/// `end`: from the residual stream before (ValueKind::stream), unless `first` is 0, to the stream
/// behind, unless `end` is the number of layers. What does not depend on the stream, such as the
/// table of rotations, is computed by each part that uses it.
Graph take_layers(Graph graph, std::uint32_t first, std::uint32_t end);

/// Bytes of the weights that a graph uses, as they lie in the file.
std::uint64_t weight_bytes(const Graph& graph);

/// How many of a model's last layers fit into `free` bytes of a device, if bytes_of(n) says how
/// much n of them need; it never falls.
template <typename BytesOf>
std::uint32_t layers_that_fit(std::uint32_t layers, std::uint64_t free, const BytesOf& bytes_of) {
  std::uint32_t fit = 0;
  for (std::uint32_t too_many = layers + 1; fit + 1 < too_many;) {
    const std::uint32_t half = (fit + too_many) / 2;
    (bytes_of(half) <= free ? fit : too_many) = half;
  }
  return fit;
}

}  // namespace tacet
