#include "cli/line_reader.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text_line.h"

namespace semel::cli {

namespace {

constexpr std::size_t kRead = 64 << 10;

}  // namespace

Result<std::optional<std::string>> LineReader::next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end != std::string::npos || (at_end_ && begin_ < buffer_.size())) {
      const std::size_t stop = end == std::string::npos ? buffer_.size() : end;
      std::string_view line = std::string_view(buffer_).substr(begin_, stop - begin_);
      if (std::exchange(first_, false)) line = text_line::without_mark(line);
      begin_ = scanned_ = end == std::string::npos ? stop : stop + 1;
      return std::string(text_line::without_ending(line));
    }
    if (at_end_) return std::nullopt;
    buffer_.erase(0, begin_);
    begin_ = 0;
    scanned_ = buffer_.size();
    if (buffer_.size() > longest_) {
      return failure({ErrorKind::kLimit,
                      {},
                      fmt::format("a line is longer than {} MiB", longest_ >> 20),
                      "one message a line"});
    }
    buffer_.resize(scanned_ + kRead);
    ssize_t got = 0;
    do {
      got = ::read(fd_, buffer_.data() + scanned_, kRead);
    } while (got < 0 && errno == EINTR);
    buffer_.resize(scanned_ + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (got < 0) {
      return failure({ErrorKind::kUnavailable,
                      {},
                      fmt::format("cannot read the messages: {}", std::strerror(errno)),
                      {}});
    }
    at_end_ = got == 0;
  }
}

bool LineReader::would_wait() const {
  if (at_end_ || buffer_.find('\n', begin_) != std::string::npos) return false;
  pollfd poll{fd_, POLLIN, 0};
  return ::poll(&poll, 1, 0) == 0;
}

}  // namespace semel::cli
