// LineReader: lines of a descriptor, handed out as they come and never kept longer than needed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <semel/result.h>

namespace semel::cli {

class LineReader {
 public:
  // `fd` is borrowed. A line longer than `longest` is kLimit.
  LineReader(int fd, std::size_t longest) : fd_(fd), longest_(longest) {}

  // The next line without its end, the first one without a byte order mark; nothing at the end of
  // the input. Waits for it.
  Result<std::optional<std::string>> next();
  // True where `next` would wait: nobody should be kept waiting for what was read before.
  bool would_wait() const;

 private:
  int fd_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what was not handed out
  std::size_t scanned_ = 0;  // no line end before it
  bool at_end_ = false;
  bool first_ = true;
};

}  // namespace semel::cli
