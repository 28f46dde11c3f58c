#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tacet {

/// The positions of a session's cells, rising: cell i has position i, until tokens are removed. A
/// value; one thread.
class Positions {
 public:
  explicit Positions(std::uint32_t context) noexcept : context_(context) {}
  /// Those that were given for the first cells, rising; the others go on from them.
  Positions(std::uint32_t context, std::span<const std::int32_t> given);
  Positions(const Positions& other) : Positions(other.context_, other.given_) {}
  Positions(Positions&&) noexcept = default;
  Positions& operator=(const Positions&) = delete;
  Positions& operator=(Positions&&) noexcept = default;

  std::int32_t operator[](std::uint32_t cell) const noexcept;
  /// Whether the first `cells` have their numbers as positions.
  bool plain(std::uint32_t cells) const noexcept { return given_.empty() || cells <= plain_; }
  std::uint32_t plain_cells() const noexcept { return given_.empty() ? context_ : plain_; }
  /// Those of the first `cells` cells as a run takes them: none if they are plain. Valid until the
  /// next change; asking for more cells is none.
  std::span<const std::int32_t> of_run(std::uint32_t cells) noexcept;
  /// The first cell that the token at `cell` sees through a window of so many positions; 0: no
  /// window.
  std::uint32_t first_seen(std::uint32_t cell, std::uint32_t window) const noexcept;

  /// Lets the cells behind the first `cells` go on from those.
  void truncate(std::uint32_t cells) noexcept;
  /// The same without the cells from `begin` to `end`, as far as the first `cells` go. With
  /// `close_gap` those before `begin` move up to what is left behind `end`.
  Positions without(std::uint32_t begin, std::uint32_t end, std::uint32_t cells,
                    bool close_gap) const;
  /// Whether `more` positions behind the first `cells` cells still are numbers.
  bool have_room(std::uint32_t cells, std::uint32_t more) const noexcept;

 private:
  void extend(std::uint32_t cells) noexcept;

  std::uint32_t context_;
  std::uint32_t plain_ = 0;          ///< the first cells of `given_` whose position is their number
  std::vector<std::int32_t> given_;  ///< room for the context; empty: all are plain
};

}  // namespace tacet
