#include "sources/file/file_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace semel::sources {

using std::chrono::milliseconds;

namespace {

// After a rename a writer continues with the renamed file until it is told to reopen. A file that
// did not grow for this time is given up.
constexpr milliseconds kRenamedFor{5'000};
// Used where the kernel reports no changes.
constexpr milliseconds kLookAgain{1'000};
// Bytes scanned in one receive, so that it also returns from the middle of a long line.
constexpr std::size_t kScanBudget = 64 << 20;

}  // namespace

FileSource::FileSource(FileOptions options, std::string path, ConsumerNumber consumer,
                       Positions& positions, std::unique_ptr<Positions::Reservation> reservation,
                       Environment& environment)
    : options_(std::move(options)),
      path_(std::move(path)),
      consumer_(consumer),
      positions_(positions),
      environment_(environment),
      watch_(std::filesystem::path(path_).parent_path().string()),
      reservation_(std::move(reservation)),
      saved_at_(environment.clock->now()) {
  traits_.ends = !options_.follow;
  if (options_.follow && watch_.fd() >= 0) wake_.watch(watch_.fd());
}

Result<Received> FileSource::receive(const ReceiveLimits& limits) {
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return failure({ErrorKind::kRejected, "R235", path_ + " was closed", {}});
    if (auto taken = taken_by_another()) return failure(*std::move(taken));
  }
  wake_.clear();
  watch_.clear();
  Received received;
  more_ = false;
  at_end_ = false;
  bool paused = false;
  {
    const system::MutexLock lock(mutex_);
    paused = paused_;
  }
  if (paused) {
    // A file that is open is not lost by further rotations. An error is met again later.
    (void)look_at_path();
    save_when_due();
  } else {
    RemainingLimits remaining(limits);
    receive_given_back(received, remaining);
    look_at_given_up();
    auto looked = look_at_path();
    open_waiting();
    auto read = read_segments(received, remaining);
    if (!looked) read = std::move(looked);
    // Arrivals already read are returned first; the error will still occur in the next call.
    if (!read && received.arrivals.empty()) return failure(std::move(read.error()));
    if (!read) more_ = true;
    if (drop_read_segments() && first_waiting() != segments_.end()) more_ = true;
    save_when_due();
    const bool all = !more_ && first_waiting() == segments_.end();
    at_end_ = !options_.follow && all;
    read_to_end_.store(all, std::memory_order_relaxed);
  }
  received.at_end = at_end_;
  received.notices = std::exchange(notices_, {});
  return received;
}

std::optional<std::vector<std::string>> FileSource::unread() {
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return std::nullopt;
  }
  if (read_to_end_.load(std::memory_order_relaxed)) return std::vector<std::string>();
  return std::vector<std::string>{path_};
}

Result<void> FileSource::look_at_path() {
  if (!options_.follow && !segments_.empty()) return {};
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return failure({ErrorKind::kUnavailable,
                    "R234",
                    fmt::format("{} cannot be examined: {}", path_, std::strerror(errno)),
                    {}});
  }
  if (!segments_.empty()) {
    Segment& last = *segments_.back();
    if (last.file.same_as(status) && !last.closed) return {};
    if (!last.renamed && !last.closed) {
      last.renamed = environment_.clock->now();
      notices_.push_back(fmt::format(
          "{} was replaced by another file: the old one is read to its end, then the new one",
          path_));
    }
  }
  auto opened = open_file(path_);
  if (opened && !*opened) return {};
  auto added =
      opened ? add_present(std::move(**opened)) : Result<void>(failure(std::move(opened.error())));
  // It was a file before, and may be one again.
  if (!added) added.error().kind = ErrorKind::kUnavailable;
  return added;
}

// A writer that was not told of the rotation, or late, may go on with the file that was given up
// last.
void FileSource::look_at_given_up() {
  if (!options_.follow) return;
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    struct stat now {};
    if (!segment.closed || segment.rewritten || !segment.renamed ||
        ::fstat(segment.file.fd.get(), &now) != 0)
      continue;
    if (static_cast<std::uint64_t>(now.st_size) <= segment.reader.end()) continue;
    if (!std::exchange(segment.grew_late, true)) {
      notices_.push_back(fmt::format(
          "the file that was {} before went on growing after it was given up: it is read on, and "
          "its writer should be told to open the new one",
          path_));
    }
    const system::MutexLock lock(mutex_);
    segment.closed = false;
    dirty_ = save_now_ = true;
  }
}

void FileSource::receive_given_back(Received& into, RemainingLimits& remaining) {
  for (const auto& segment : segments_) {
    while (!remaining.full()) {
      std::optional<LineLedger::Line> line;
      {
        const system::MutexLock lock(mutex_);
        line = segment->ledger.take_given_back();
      }
      if (!line) break;
      Arrival arrival = arrival_of(*segment, line->span);
      const LineSpan part = hashed_part(line->span);
      Bytes hashed;
      if (load_line(segment->file.fd.get(), part, part.size(), hashed) &&
          line_hash(hashed) == line->hash && fill(*segment, line->span, arrival)) {
        remaining.take(arrival.payload.size());
        into.arrivals.push_back(std::move(arrival));
        continue;
      }
      notices_.push_back(
          fmt::format("{}: the line at {} was to be read again, but the file was changed there",
                      path_, arrival.position));
      const system::MutexLock lock(mutex_);
      segment->ledger.settle(line->span.end);
      dirty_ = true;
    }
  }
  const system::MutexLock lock(mutex_);
  for (const auto& segment : segments_) more_ = more_ || segment->ledger.given_back() > 0;
}

Result<void> FileSource::read_segments(Received& into, RemainingLimits& remaining) {
  std::size_t budget = kScanBudget;
  for (std::size_t i = 0; i < segments_.size() && !segments_[i]->waits(); ++i) {
    auto done = read(*segments_[i], into, remaining, budget);
    if (!done) return done;
    // A truncated file is opened again, as a new segment after the existing ones.
    if (segments_[i]->closed && i + 1 == segments_.size() && options_.follow) {
      if (auto looked = look_at_path(); !looked) return looked;
    }
    if (more_) return {};
  }
  return {};
}

Result<void> FileSource::read(Segment& segment, Received& into, RemainingLimits& remaining,
                              std::size_t& budget) {
  while (!segment.closed) {
    if (remaining.full() || budget == 0) {
      more_ = true;
      return {};
    }
    switch (segment.reader.next(budget)) {
      case LineReader::Step::kLine:
        hand_out(segment, segment.reader.span(), segment.reader.view(), into, remaining);
        break;
      case LineReader::Step::kMore:
        break;
      case LineReader::Step::kEnd:
        if (finish(segment, into, remaining)) close_segment(segment, false);
        return {};
      case LineReader::Step::kChanged:
        changed(segment);
        return {};
      case LineReader::Step::kFailed: {
        Error error = segment.reader.error();
        error.message = fmt::format("{}: {}", path_, error.message);
        return failure(std::move(error));
      }
    }
  }
  return {};
}

FileSource::TimePoint FileSource::given_up_at(const Segment& segment) {
  return std::max(*segment.renamed, segment.grew.value_or(*segment.renamed)) + kRenamedFor;
}

// Called at the current end of a file. Takes an unfinished last line if no writer will finish it.
// True if nothing more will be read.
bool FileSource::finish(Segment& segment, Received& into, RemainingLimits& remaining) {
  const TimePoint now = environment_.clock->now();
  if (segment.reader.end() != std::exchange(segment.read_to, segment.reader.end())) {
    segment.grew = now;
  }
  const bool old = &segment != segments_.back().get();
  const bool over = old && (!options_.follow || !segment.renamed || now >= given_up_at(segment));
  if ((over || !options_.follow) && segment.reader.take_rest()) {
    hand_out(segment, segment.reader.span(), {}, into, remaining);
  }
  return over;
}

void FileSource::close_segment(Segment& segment, bool rewritten) {
  const system::MutexLock lock(mutex_);
  segment.closed = true;
  segment.rewritten = rewritten;
  dirty_ = true;
}

void FileSource::changed(Segment& segment) {
  close_segment(segment, true);
  struct stat now {};
  const bool named = &segment == segments_.back().get() && ::stat(path_.c_str(), &now) == 0 &&
                     segment.file.same_as(now);
  notices_.push_back(
      named
          ? fmt::format(
                "{} was truncated or rewritten while it was read: it is read from its start", path_)
          : fmt::format("a file that was {} before was truncated or rewritten while it was read: "
                        "what is in it now is not read",
                        path_));
  if (!options_.follow && &segment == segments_.back().get()) {
    auto opened = open_file(path_);
    if (opened && *opened)
      add_segment(std::make_unique<Segment>(std::move(**opened), next_number_));
    more_ = true;
  }
}

Arrival FileSource::arrival_of(const Segment& segment, const LineSpan& span) const {
  Arrival arrival;
  arrival.partition = path_;
  arrival.position = fmt::format("{}:{}", segment.file.status.st_ino, span.begin);
  arrival.tag = {span.end, segment.number};
  return arrival;
}

// Loads the payload from the file; false if it is no longer there.
bool FileSource::fill(const Segment& segment, const LineSpan& span, Arrival& arrival) const {
  const bool too_long = span.size() > options_.max_line;
  if (!load_line(segment.file.fd.get(), span, too_long ? kExcerpt : span.size(), arrival.payload)) {
    return false;
  }
  if (too_long) {
    refuse_too_long(arrival, path_ + " at " + arrival.position, span.size(), options_.max_line);
  } else {
    arrival.payload.resize(without_ending(arrival.payload).size());
    if (span.begin == 0) {
      arrival.payload.erase(0, arrival.payload.size() - without_mark(arrival.payload).size());
    }
  }
  return true;
}

void FileSource::hand_out(Segment& segment, const LineSpan& span, BytesView text, Received& into,
                          RemainingLimits& remaining) {
  if (span.begin == 0) text = without_mark(text);
  if (!text.empty() && is_blank(text)) return;
  Arrival arrival = arrival_of(segment, span);
  LineLedger::Line line{span, 0};
  if (!text.empty() && span.size() <= options_.max_line) {
    arrival.payload = without_ending(text);
    line.hash = line_hash(segment.reader.view());
  } else {
    const LineSpan part = hashed_part(span);
    Bytes hashed;
    if (!load_line(segment.file.fd.get(), part, part.size(), hashed) ||
        !fill(segment, span, arrival)) {
      return changed(segment);  // between two reads
    }
    if (is_blank(arrival.payload) && !arrival.refused) return;
    line.hash = line_hash(hashed);
  }
  {
    const system::MutexLock lock(mutex_);
    segment.ledger.handed_out(line);
  }
  remaining.take(arrival.payload.size());
  into.arrivals.push_back(std::move(arrival));
}

// The file that was given up last stays as long as it has a name.
bool FileSource::may_grow(const Segment& segment) const {
  struct stat now {};
  return options_.follow && !segment.rewritten && ::fstat(segment.file.fd.get(), &now) == 0 &&
         now.st_nlink > 0;
}

bool FileSource::drop_read_segments() {
  const system::MutexLock lock(mutex_);
  const std::size_t before = segments_.size();
  while (segments_.size() > 1 && segments_.front()->closed &&
         segments_.front()->ledger.open() == 0 &&
         (segments_[1]->closed || !may_grow(*segments_.front()))) {
    watch_.remove(segments_.front()->watch);
    segments_.pop_front();
    dirty_ = true;
  }
  return segments_.size() < before;
}

Wakeup FileSource::wakeup() {
  Wakeup wakeup{wake_.fd(), std::nullopt};
  const auto at_latest = [&](TimePoint when) {
    const auto left = std::chrono::ceil<milliseconds>(when - environment_.clock->now());
    const milliseconds due = std::max(left, milliseconds(0));
    wakeup.due_in = wakeup.due_in ? std::min(*wakeup.due_in, due) : due;
  };
  const system::MutexLock saving(save_mutex_);
  const system::MutexLock lock(mutex_);
  if (dirty_) at_latest(saved_at_ + kSaveEvery);
  if (closed_) return wakeup;
  if (options_.follow && !watch_.works()) at_latest(environment_.clock->now() + kLookAgain);
  if (paused_) return wakeup;
  if (more_) wakeup.due_in = milliseconds(0);
  if (!cannot_open_.empty()) at_latest(environment_.clock->now() + kLookAgain);
  if (!options_.follow) return wakeup;
  for (const auto& segment : segments_) {
    if (segment->waits()) break;  // none after it is read
    const bool old = segment != segments_.back();
    if (old && !segment->closed) at_latest(given_up_at(*segment));
  }
  return wakeup;
}

}  // namespace semel::sources
