// FileSource: JSON lines of a file, followed through growth, rotation and truncation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/source.h>

#include "sources/file/file_watch.h"
#include "sources/file/rotation.h"
#include "sources/file/segment.h"
#include "sources/line.h"
#include "sources/sources.h"
#include "sources/wake.h"
#include "system/mutex.h"

namespace semel::sources {

class FileSource final : public Source {
 public:
  // `path`: absolute. `reservation`: kept until close.
  FileSource(FileOptions options, std::string path, ConsumerNumber consumer, Positions& positions,
             std::unique_ptr<Positions::Reservation> reservation, Environment& environment);

  // Opens existing files and finds the place to read from.
  Result<void> open();

  const SourceTraits& traits() const noexcept override { return traits_; }
  Result<Received> receive(const ReceiveLimits& limits) override;
  Wakeup wakeup() override;
  Result<void> settle(std::span<const Settlement> settlements) override;
  Result<void> extend(std::span<const Tag> tags, std::chrono::milliseconds by) override;
  void set_paused(std::string_view partition, bool paused) override;
  std::optional<std::vector<std::string>> unread() override;
  Result<void> close(std::chrono::milliseconds deadline) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  // A crash repeats at most the lines settled within this time.
  static constexpr std::chrono::milliseconds kSaveEvery{500};
  // The deliveries that a crash brings again must fit the window of suspects.
  static constexpr std::size_t kSaveEveryLines = 256;
  // Rotated files that were not seen, or that a stored position names, wait until they are among
  // so many oldest ones.
  static constexpr std::size_t kOpenAtOnce = 16;
  using Segments = std::deque<std::unique_ptr<Segment>>;

  // Called by open.
  Result<void> resume(std::span<const FilePosition> positions, OpenFile opened);
  std::string unread_hint() const;
  void resume_renamed(const FilePosition& position, std::optional<NamedFile> renamed, bool newest);
  // Adds the file that has the path's name now, after those that had it since the last segment had.
  Result<void> add_present(OpenFile opened) SEMEL_EXCLUDES(mutex_);
  void add_segment(std::unique_ptr<Segment> segment) SEMEL_EXCLUDES(mutex_);
  void add_waiting(const FilePosition& position, std::uint64_t size) SEMEL_EXCLUDES(mutex_);
  Result<void> open_one(Segments::iterator place) SEMEL_EXCLUDES(mutex_);
  void open_waiting() SEMEL_EXCLUDES(mutex_);
  Segments::iterator first_waiting();

  // Called by the receiving thread, once in each receive.
  Result<void> look_at_path();
  void look_at_given_up() SEMEL_EXCLUDES(mutex_);
  void receive_given_back(Received& into, RemainingLimits& remaining) SEMEL_EXCLUDES(mutex_);
  Result<void> read_segments(Received& into, RemainingLimits& remaining);
  Result<void> read(Segment& segment, Received& into, RemainingLimits& remaining,
                    std::size_t& budget);
  static TimePoint given_up_at(const Segment& segment);
  bool finish(Segment& segment, Received& into, RemainingLimits& remaining);
  bool may_grow(const Segment& segment) const;
  bool drop_read_segments() SEMEL_EXCLUDES(mutex_);
  void hand_out(Segment& segment, const LineSpan& span, BytesView text, Received& into,
                RemainingLimits& remaining) SEMEL_EXCLUDES(mutex_);
  Arrival arrival_of(const Segment& segment, const LineSpan& span) const;
  bool fill(const Segment& segment, const LineSpan& span, Arrival& arrival) const;
  void changed(Segment& segment);
  void close_segment(Segment& segment, bool rewritten) SEMEL_EXCLUDES(mutex_);

  // How far everything is settled, and whether a store has not been told.
  Bytes position() const SEMEL_REQUIRES(mutex_);
  // R230 once another process reads the file; its saved position must stay.
  std::optional<Error> taken_by_another() const SEMEL_REQUIRES(mutex_);
  Result<void> save_position() SEMEL_REQUIRES(save_mutex_) SEMEL_EXCLUDES(mutex_);
  void save_when_due() SEMEL_EXCLUDES(mutex_);

  const FileOptions options_;
  const std::string path_;
  const ConsumerNumber consumer_;
  Positions& positions_;
  Environment& environment_;
  SourceTraits traits_ = kFileTraits;
  FileWatch watch_;
  Wake wake_;

  // Used by the receiving thread only.
  std::vector<std::string> notices_;
  bool more_ = true;  // the last receive ended at a limit, or there was none
  bool at_end_ = false;
  std::string
      cannot_open_;  // why the next file that waits is not open; empty: it is, or there is none
  std::atomic<bool> read_to_end_{false};  // at the last receive
  std::uint64_t next_number_ = 1;

  mutable system::Mutex mutex_;
  // Oldest first. Only the receiving thread changes it, with the lock held, and it reads it
  // without. Other threads read it with the lock held. The ledgers in it need the lock on every
  // thread.
  Segments segments_;
  std::unique_ptr<Positions::Reservation> reservation_ SEMEL_GUARDED_BY(mutex_);
  bool paused_ SEMEL_GUARDED_BY(mutex_) = false;
  bool closed_ SEMEL_GUARDED_BY(mutex_) = false;
  bool dirty_ SEMEL_GUARDED_BY(mutex_) = false;  // settled further than saved
  std::size_t settled_since_save_ SEMEL_GUARDED_BY(mutex_) = 0;
  // another file is read now: a crash must not forget that
  bool save_now_ SEMEL_GUARDED_BY(mutex_) = false;

  system::Mutex save_mutex_ SEMEL_ACQUIRED_BEFORE(mutex_);
  std::string saved_ SEMEL_GUARDED_BY(save_mutex_);
  TimePoint saved_at_ SEMEL_GUARDED_BY(save_mutex_);
};

}  // namespace semel::sources
