#include "sources/file/line_reader.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace semel::sources {

namespace {

// Reads all of [offset, offset + size), or returns false.
bool read_all(int fd, char* into, std::size_t size, std::uint64_t offset) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, into, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    size -= static_cast<std::size_t>(got);
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

LineReader::LineReader(int fd, std::uint64_t begin, std::uint64_t taken)
    : fd_(fd), buffer_offset_(begin), line_begin_(begin), scanned_(begin), taken_(taken) {
  const std::size_t before = std::min<std::uint64_t>(begin, kChecked);
  if (before > 0 && read_all(fd_, last_.data(), before, begin - before)) last_size_ = before;
}

LineReader::Step LineReader::next(std::size_t& budget) {
  for (;;) {
    const char* from = buffer_.get() + (scanned_ - buffer_offset_);
    const std::size_t left = buffer_end() - scanned_;
    const auto* found =
        left == 0 ? nullptr : static_cast<const char*>(std::memchr(from, '\n', left));
    const std::size_t looked = found == nullptr ? left : found - from + 1;
    budget -= std::min(budget, looked);
    scanned_ += looked;
    if (found != nullptr) {
      span_ = {line_begin_, scanned_};
      line_begin_ = scanned_;
      // The line was taken unfinished before; only its newline was missing.
      if (span_.begin < taken_ && taken_ + 1 == span_.end) continue;
      return Step::kLine;
    }
    if (budget == 0) return Step::kMore;
    const Step filled = fill();
    if (filled != Step::kMore) return filled;
  }
}

LineReader::Step LineReader::fill() {
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<char[]>(kChunk);
  // The whole buffer was scanned. Keep only the unfinished line, unless it fills the buffer: then
  // the line is read again once its end is known.
  const bool too_long_to_keep =
      line_begin_ < buffer_offset_ || (line_begin_ == buffer_offset_ && filled_ == kChunk);
  const std::size_t dropped = too_long_to_keep ? filled_ : line_begin_ - buffer_offset_;
  if (dropped > 0) {
    std::memmove(buffer_.get(), buffer_.get() + dropped, filled_ - dropped);
    buffer_offset_ += dropped;
    filled_ -= dropped;
  }
  std::array<char, kChecked> again;
  const iovec parts[] = {{again.data(), last_size_}, {buffer_.get() + filled_, kChunk - filled_}};
  ssize_t got = 0;
  do {
    got = ::preadv(fd_, parts, 2, static_cast<off_t>(buffer_end() - last_size_));
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    error_ = {ErrorKind::kUnavailable,
              "R234",
              fmt::format("reading failed: {}", std::strerror(errno)),
              {}};
    return Step::kFailed;
  }
  const std::size_t size = static_cast<std::size_t>(got);
  if (size < last_size_ || std::memcmp(again.data(), last_.data(), last_size_) != 0) {
    return Step::kChanged;
  }
  if (size == last_size_) return Step::kEnd;
  const std::size_t fresh = size - last_size_;
  filled_ += fresh;
  remember_last(fresh);
  return Step::kMore;
}

void LineReader::remember_last(std::size_t fresh) noexcept {
  const std::size_t from_buffer = std::min(fresh, kChecked);
  const std::size_t kept = std::min(last_size_, kChecked - from_buffer);
  std::memmove(last_.data(), last_.data() + (last_size_ - kept), kept);
  std::memcpy(last_.data() + kept, buffer_.get() + filled_ - from_buffer, from_buffer);
  last_size_ = kept + from_buffer;
}

bool LineReader::take_rest() noexcept {
  if (scanned_ <= line_begin_ || scanned_ <= taken_) return false;
  span_ = {line_begin_, scanned_};
  taken_ = scanned_;
  return true;
}

BytesView LineReader::view() const noexcept {
  if (span_.begin < buffer_offset_ || span_.end > buffer_end()) return {};
  return {buffer_.get() + (span_.begin - buffer_offset_), span_.size()};
}

bool load_line(int fd, const LineSpan& span, std::size_t most, Bytes& into) {
  into.resize(std::min<std::uint64_t>(span.size(), most));
  return read_all(fd, into.data(), into.size(), span.begin);
}

}  // namespace semel::sources
