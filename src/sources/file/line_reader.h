// LineReader: the lines of one open file from an offset on, in constant memory for any length of
// line. It notices when the content it read before is gone. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <semel/bytes.h>
#include <semel/result.h>

namespace semel::sources {

// A line's place in its file: [begin, end), its ending included.
struct LineSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const noexcept { return end - begin; }
};

// Reads up to `most` first bytes of `span`, ending included; false where the file no longer has
// them.
bool load_line(int fd, const LineSpan& span, std::size_t most, Bytes& into);

class LineReader {
 public:
  enum class Step {
    kLine,     // `span()` is the next line
    kMore,     // the scan budget was used up within a long line; call again
    kEnd,      // no whole line follows now
    kChanged,  // the file is shorter than what was read, or has other content there
    kFailed,   // reading failed: see `error`
  };

  // Reads from `begin` on. Up to `taken` an unfinished line was handed out before: it is handed out
  // again only if more was appended to it. `fd` is borrowed.
  LineReader(int fd, std::uint64_t begin, std::uint64_t taken);

  // `budget`: how many bytes may still be scanned; reduced by the bytes scanned.
  Step next(std::size_t& budget);
  // After kEnd: takes the unfinished last line as it is. False where there is none.
  bool take_rest() noexcept;

  const LineSpan& span() const noexcept { return span_; }
  // The bytes of the line just found, if all of them are in memory; else empty.
  BytesView view() const noexcept;

  // Up to where the file was read, unfinished line included.
  std::uint64_t end() const noexcept { return buffer_end(); }

  const Error& error() const noexcept { return error_; }

 private:
  static constexpr std::size_t kChunk = 256 << 10;
  static constexpr std::size_t kChecked = 4 << 10;

  Step fill();
  void remember_last(std::size_t fresh) noexcept;
  std::uint64_t buffer_end() const noexcept { return buffer_offset_ + filled_; }

  int fd_;
  std::unique_ptr<char[]> buffer_;  // from the first read on
  std::uint64_t buffer_offset_;     // the buffer's offset in the file
  std::size_t filled_ = 0;
  std::uint64_t line_begin_;  // of the line being looked for
  std::uint64_t scanned_;     // no line feed in [line_begin_, scanned_)
  std::uint64_t taken_;
  LineSpan span_;
  std::array<char, kChecked> last_{};  // the bytes before buffer_end(), checked at the next read
  std::size_t last_size_ = 0;
  Error error_;
};

}  // namespace semel::sources
