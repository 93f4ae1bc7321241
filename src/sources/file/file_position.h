// FilePosition: how far a file was settled, in the form a store keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <semel/bytes.h>

#include "sources/file/line_ledger.h"

namespace semel::sources {

// Names the file by its inode, and what was settled by the last settled line, so that a file with
// other content under the same inode is told apart.
struct FilePosition {
  std::uint64_t inode = 0;
  LineLedger::Line last;  // empty: nothing is settled yet
};

// A store keeps one text for a source: the file it reads, and before it, oldest first, those that
// were rotated away and have lines to settle.
Bytes encode(std::span<const FilePosition> positions);
std::optional<std::vector<FilePosition>> decode(BytesView text);

// A hash of a line's last bytes, ending included: tells a changed file, proves nothing against a
// forger. Part of what stores keep: it must never change.
std::uint64_t line_hash(BytesView line) noexcept;
// What of a line is hashed, when it is read only for that.
LineSpan hashed_part(const LineSpan& line) noexcept;

// Whether `fd`, which has the position's inode, still holds the position's last line where it was.
bool still_there(int fd, const FilePosition& position);

}  // namespace semel::sources
