#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/delivery_ledger.h"
#include "sources/line.h"
#include "sources/sources.h"
#include "sources/wake.h"
#include "system/mutex.h"

namespace semel::sources {

namespace {

constexpr std::size_t kChunk = 64 << 10;
constexpr std::size_t kMaxLine = FileOptions::kMaxLine;

class StdinSource final : public Source {
 public:
  explicit StdinSource(int fd) : fd_(fd), chunk_(std::make_unique_for_overwrite<char[]>(kChunk)) {
    waited_for_ = wake_.watch(fd_);
  }

  const SourceTraits& traits() const noexcept override { return kStdinTraits; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag>, std::chrono::milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override;
  Result<void> close(std::chrono::milliseconds) override {
    const system::MutexLock lock(mutex_);
    closed_ = true;
    return {};
  }

 private:
  // A line that was handed out and not settled. It is kept, because no other copy exists.
  struct Line {
    Bytes payload;
    std::size_t size = 0;  // the original size; a line that is too long is kept only in part
  };

  enum class Read { kSome, kNothingNow, kEnd };
  Result<Read> read_chunk();
  void receive_given_back(Received& into, RemainingLimits& remaining) SEMEL_EXCLUDES(mutex_);
  void split(Received& into, RemainingLimits& remaining);
  void add_to_line(BytesView part);
  void end_line(Received& into, RemainingLimits& remaining) SEMEL_EXCLUDES(mutex_);
  Arrival arrival_of(std::uint64_t number, const Line& line) const;

  const int fd_;
  Wake wake_;
  bool waited_for_ = false;  // a plain file cannot be polled, and need not be

  // Used by the receiving thread only.
  std::unique_ptr<char[]> chunk_;
  BytesView unread_;  // of the chunk
  Bytes line_;        // a line whose end has not been read yet
  std::size_t line_size_ = 0;
  std::uint64_t lines_ = 0;  // read so far, including blank ones
  bool end_ = false;
  bool more_ = true;

  system::Mutex mutex_;
  core::DeliveryLedger<Line> lines_out_ SEMEL_GUARDED_BY(mutex_);
  bool paused_ SEMEL_GUARDED_BY(mutex_) = false;
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
};

Result<Received> StdinSource::receive(const ReceiveLimits& limits) {
  Received received;
  wake_.clear();
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return failure({ErrorKind::kRejected, "R235", "standard input was closed", {}});
    if (paused_) return received;
  }
  RemainingLimits remaining(limits);
  more_ = false;
  receive_given_back(received, remaining);
  for (;;) {
    split(received, remaining);
    if (remaining.full()) {
      more_ = true;
      break;
    }
    if (end_) break;
    auto read = read_chunk();
    if (!read && received.arrivals.empty()) return failure(std::move(read.error()));
    if (!read || *read == Read::kNothingNow) break;
    if (*read == Read::kEnd) {
      end_ = true;
      if (line_size_ > 0) end_line(received, remaining);
      if (waited_for_) wake_.unwatch(fd_);
      waited_for_ = false;
    }
  }
  const system::MutexLock lock(mutex_);
  more_ = more_ || lines_out_.has_waiting();
  received.at_end = end_ && !more_;
  return received;
}

Result<StdinSource::Read> StdinSource::read_chunk() {
  pollfd ready{fd_, POLLIN, 0};
  const int polled = ::poll(&ready, 1, 0);
  if (polled == 0 || (polled < 0 && errno == EINTR)) return Read::kNothingNow;
  ssize_t got = 0;
  do {
    got = ::read(fd_, chunk_.get(), kChunk);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    unread_ = {chunk_.get(), static_cast<std::size_t>(got)};
    return Read::kSome;
  }
  if (got == 0) return Read::kEnd;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Read::kNothingNow;
  const bool final = errno == EBADF || errno == EISDIR || errno == EINVAL;
  return failure({final ? ErrorKind::kRejected : ErrorKind::kUnavailable,
                  "R234",
                  fmt::format("standard input cannot be read: {}", std::strerror(errno)),
                  {}});
}

void StdinSource::receive_given_back(Received& into, RemainingLimits& remaining) {
  const system::MutexLock lock(mutex_);
  while (!remaining.full()) {
    const auto [number, line] = lines_out_.take();
    if (line == nullptr) return;
    remaining.take(line->payload.size());
    into.arrivals.push_back(arrival_of(number, *line));
  }
}

void StdinSource::split(Received& into, RemainingLimits& remaining) {
  while (!unread_.empty() && !remaining.full()) {
    const std::size_t end = unread_.find('\n');
    add_to_line(unread_.substr(0, end));
    if (end == BytesView::npos) {
      unread_ = {};
      return;
    }
    unread_.remove_prefix(end + 1);
    end_line(into, remaining);
  }
}

void StdinSource::add_to_line(BytesView part) {
  line_size_ += part.size();
  if (line_size_ <= kMaxLine) {
    line_.append(part);
    return;
  }
  // Too long: from here on only its beginning is needed.
  if (line_.size() > kExcerpt) {
    line_.resize(kExcerpt);
    line_.shrink_to_fit();
  }
  line_.append(part.substr(0, kExcerpt - line_.size()));
}

void StdinSource::end_line(Received& into, RemainingLimits& remaining) {
  const std::uint64_t number = ++lines_;
  const std::size_t size = std::exchange(line_size_, 0);
  Bytes text = std::exchange(line_, {});
  if (number == 1) text.erase(0, text.size() - without_mark(text).size());
  if (size <= kMaxLine) text.resize(without_ending(text).size());
  if (is_blank(text) && size <= kMaxLine) return;
  remaining.take(text.size());
  Line line{std::move(text), size};
  into.arrivals.push_back(arrival_of(number, line));
  const system::MutexLock lock(mutex_);
  lines_out_.handed_out(number, std::move(line));
}

Arrival StdinSource::arrival_of(std::uint64_t number, const Line& line) const {
  Arrival arrival;
  arrival.payload = line.payload;
  arrival.partition = kStdinTraits.name;
  arrival.position = std::to_string(number);
  arrival.tag = {number, 0};
  if (line.size > kMaxLine) {
    refuse_too_long(arrival, fmt::format("line {} of standard input", number), line.size, kMaxLine);
  }
  return arrival;
}

Wakeup StdinSource::wakeup() {
  const system::MutexLock lock(mutex_);
  Wakeup wakeup{wake_.fd(), std::nullopt};
  const bool waiting = !end_ && !paused_ && !closed_;
  if (waiting != waited_for_) {
    if (!waiting) wake_.unwatch(fd_);
    waited_for_ = waiting && wake_.watch(fd_);
  }
  if (!paused_ && !closed_ && (more_ || (waiting && !waited_for_))) {
    wakeup.due_in = std::chrono::milliseconds(0);
  }
  return wakeup;
}

Result<void> StdinSource::settle(std::span<const Settlement> settlements) {
  bool again = false;
  {
    const system::MutexLock lock(mutex_);
    const std::size_t before = lines_out_.given_back();
    for (const Settlement& settlement : settlements) {
      lines_out_.settle(settlement.tag.value, settlement.kind);
    }
    again = lines_out_.given_back() > before;
  }
  if (again) wake_.notify();
  return {};
}

void StdinSource::set_paused(std::string_view partition, bool paused) {
  if (!partition.empty() && partition != kStdinTraits.name) return;
  {
    const system::MutexLock lock(mutex_);
    paused_ = paused;
  }
  wake_.notify();
}

}  // namespace

std::unique_ptr<Source> make_stdin_source(int fd) { return std::make_unique<StdinSource>(fd); }

}  // namespace semel::sources
