// Segment: one opened file. A file source has several while one is rotated away.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <semel/result.h>

#include "sources/file/file_position.h"
#include "sources/file/line_ledger.h"
#include "sources/file/line_reader.h"
#include "system/descriptor.h"

namespace semel::sources {

struct OpenFile {
  system::Descriptor fd;
  struct stat status {};
  bool same_as(const struct stat& other) const noexcept {
    return status.st_dev == other.st_dev && status.st_ino == other.st_ino;
  }
};

// Opens a regular file for reading. nullopt where there is none. R232: not a regular file; R233:
// not permitted; R234 (kUnavailable): anything else.
Result<std::optional<OpenFile>> open_file(const std::string& path);

struct Segment {
  // Reads `opened` from its start.
  Segment(OpenFile opened, std::uint64_t its_number)
      : file(std::move(opened)),
        number(its_number),
        ledger(std::nullopt),
        reader(file.fd.get(), 0, 0) {}
  // Reads on after the position.
  Segment(OpenFile opened, std::uint64_t its_number, const FilePosition& position);

  // It is opened later; only the inode of `file` is known.
  bool waits() const noexcept { return !file.fd.valid(); }

  OpenFile file;
  std::uint64_t number;  // generation of its lines' tags
  LineLedger ledger;     // under the source's mutex
  // Under the source's mutex, and written only by the receiving thread.
  bool closed = false;     // nothing more will be read
  bool rewritten = false;  // the file no longer contains what was read
  // The rest belongs to the receiving thread.
  LineReader reader;
  int watch = -1;                                                // of FileWatch; -1: none
  std::optional<std::chrono::steady_clock::time_point> renamed;  // since when another has its name
  std::optional<std::chrono::steady_clock::time_point> grew;     // when growth was seen last
  std::uint64_t read_to = 0;                                     // its end then
  bool grew_late = false;                                        // after it was given up
};

}  // namespace semel::sources
