#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "tacet/stop.hpp"
#include "types/dtype.hpp"

namespace tacet {

/// What a saved session is made of. Numbers in the file are little-endian: the 8 bytes
/// "tacetses", the version, then these fields in order, each array behind its length at a
/// multiple of 8, the pages at a multiple of 64, and a checksum of all before it
/// (base/checksum.hpp).
struct SessionImage {
  std::uint64_t model = 0;  ///< which model: ModelImpl::fingerprint
  DType k_type = DType::f16;
  DType v_type = DType::f16;
  std::uint32_t context = 0;  ///< tokens that the session could hold
  std::uint32_t window = 0;   ///< tokens that a token sees; 0: all
  std::uint32_t page_tokens = 0;
  std::uint32_t first_page = 0;  ///< pages before it were given up and are not in the file
  std::uint64_t page_bytes = 0;
  std::uint32_t computed = 0;  ///< cells that the pages hold, but for those given up
  std::uint64_t random_seed = 0;
  std::uint64_t random_drawn = 0;
  std::string_view held;       ///< text that waits for what follows it
  std::string_view note;       ///< the program's own
  std::string_view character;  ///< bytes of a character that is not whole yet, 0 to 3
  std::span<const std::int32_t> tokens;
  std::span<const std::int32_t> positions;  ///< of the tokens, rising; empty: 0, 1, 2, ...
  std::span<const float> logits;            ///< empty: none are readable
};

/// Gives the bytes of page `i`, which are valid until the next call.
using PageReader = std::function<Result<std::span<const std::byte>>(std::size_t i)>;

/// Writes a session to `path`, whole or not at all. `page` is called for each page from the first
/// to as many as the computed cells need. Errors: those of OutputFile and of `page`; Code::stopped
/// if `stop` fired.
Result<void> write_session_file(const std::string& path, const SessionImage& image,
                                const PageReader& page, const StopToken& stop = {});

/// A session's file that was read: the image and its pages point into the bytes.
struct SavedSession {
  SessionImage image;
  std::span<const std::byte> pages;  ///< page_bytes for each
};

/// Reads and checks a file of `write_session_file`; `bytes` is all of it, starts at a multiple of
/// 8, and must outlive the result. Takes time in proportion to the bytes that are there, looking at
/// `stop`. Errors: invalid_argument (not such a file), unsupported (another version), corrupt (says
/// where), stopped.
Result<SavedSession> read_session_file(std::span<const std::byte> bytes, std::string_view name,
                                       const StopToken& stop = {});

}  // namespace tacet
