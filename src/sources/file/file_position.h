// FilePosition: how far a file was settled, in the form that a store keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <semel/bytes.h>

#include "sources/file/line_ledger.h"

namespace semel::sources {

// Identifies the file by its inode, and the settled part by its last line, so that another content
// under the same inode is recognised.
struct FilePosition {
  std::uint64_t inode = 0;
  LineLedger::Line last;  // empty: nothing is settled yet
};

// A store keeps one text for a source: the file it reads, preceded, oldest first, by files that
// were rotated away and still have lines to settle.
Bytes encode(std::span<const FilePosition> positions);
std::optional<std::vector<FilePosition>> decode(BytesView text);

// A hash of a line's last bytes, ending included: detects a changed file, but no forgery. Stores
// keep it: it must never change.
std::uint64_t line_hash(BytesView line) noexcept;
// The part of a line to read when only its hash is needed.
LineSpan hashed_part(const LineSpan& line) noexcept;

// Whether `fd`, which has the position's inode, still contains the position's last line at its
// place.
bool still_there(int fd, const FilePosition& position);

}  // namespace semel::sources
