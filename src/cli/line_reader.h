// LineReader: reads lines from a descriptor and hands them out as they arrive.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <semel/result.h>

namespace semel::cli {

class LineReader {
 public:
  // Borrows `fd`. A line longer than `longest` is an error (kLimit).
  LineReader(int fd, std::size_t longest) : fd_(fd), longest_(longest) {}

  // Waits for and returns the next line without its line end, the first one without a byte order
  // mark; nothing at the end of the input.
  Result<std::optional<std::string>> next();
  // True if `next` would wait: the caller should first finish with the lines that it has read.
  bool would_wait() const;

 private:
  int fd_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what is not handed out yet
  std::size_t scanned_ = 0;  // no line end before this position
  bool at_end_ = false;
  bool first_ = true;
};

}  // namespace semel::cli
