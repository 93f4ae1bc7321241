// The settling part of FileSource: settlements, and the position that a store keeps.
#include "sources/file/file_source.h"

#include <fmt/format.h>

#include <algorithm>

namespace semel::sources {

using std::chrono::milliseconds;

Result<void> FileSource::settle(std::span<const Settlement> settlements) {
  bool again = false;
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    for (const Settlement& settlement : settlements) {
      const auto segment = std::find_if(segments_.begin(), segments_.end(), [&](const auto& s) {
        return s->number == settlement.tag.generation;
      });
      if (segment == segments_.end()) continue;
      LineLedger& ledger = (*segment)->ledger;
      if (settlement.kind == Settlement::Kind::kAck || settlement.kind == Settlement::Kind::kGone) {
        dirty_ = ledger.settle(settlement.tag.value) || dirty_;
        ++settled_since_save_;
      } else {
        again = ledger.give_back(settlement.tag.value) || again;
      }
    }
    // Once a file is settled, another may be opened.
    again = again || first_waiting() != segments_.end();
  }
  if (again) wake_.notify();
  save_when_due();
  return {};
}

Result<void> FileSource::extend(std::span<const Tag>, milliseconds) {
  return {};  // a line is delivered again only after it was given back
}

void FileSource::set_paused(std::string_view partition, bool paused) {
  if (!partition.empty() && partition != path_) return;
  {
    const system::MutexLock lock(mutex_);
    paused_ = paused;
  }
  wake_.notify();
}

// Covers all files with lines to read or to settle. Empty: from the start.
Bytes FileSource::position() const {
  std::vector<FilePosition> positions;
  for (const auto& segment : segments_) {
    const bool over = segment->closed && segment->ledger.open() == 0 && segment != segments_.back();
    if (segment->rewritten || over) continue;
    positions.push_back(
        {segment->file.status.st_ino, segment->ledger.last_settled().value_or(LineLedger::Line{})});
  }
  return encode(positions);
}

std::optional<Error> FileSource::taken_by_another() const {
  if (reservation_ == nullptr || !reservation_->lost()) return std::nullopt;
  // Waiting does not help: it is unknown what the other process has read.
  return Error{ErrorKind::kRejected, "R230",
               fmt::format("another process reads \"{}\" for this consumer now", path_),
               "one consumer of this name and file at a time; look whether this machine or its "
               "network stood still"};
}

Result<void> FileSource::save_position() {
  Bytes now;
  {
    const system::MutexLock lock(mutex_);
    if (auto taken = taken_by_another()) return failure(*std::move(taken));
    now = position();
    dirty_ = save_now_ = false;
    settled_since_save_ = 0;
  }
  saved_at_ = environment_.clock->now();
  if (now == saved_ || !options_.saves) return {};
  auto saved = positions_.save(consumer_, path_, now);
  if (saved) {
    saved_ = now;
    return {};
  }
  const system::MutexLock lock(mutex_);
  dirty_ = true;
  return saved;
}

// A position that cannot be saved now is saved later: an old one only makes a crash repeat more.
void FileSource::save_when_due() {
  if (!save_mutex_.try_lock()) return;
  const system::MutexLock saving(save_mutex_, std::adopt_lock);
  bool now = false;
  {
    const system::MutexLock lock(mutex_);
    if (!dirty_ || closed_) return;
    now = save_now_ || settled_since_save_ >= kSaveEveryLines;
  }
  if (now || environment_.clock->now() - saved_at_ >= kSaveEvery) (void)save_position();
}

Result<void> FileSource::close(milliseconds) {
  const system::MutexLock saving(save_mutex_);
  {
    const system::MutexLock lock(mutex_);
    if (closed_) return {};
    closed_ = true;
    if (taken_by_another()) {
      reservation_.reset();
      return {};
    }
  }
  auto saved = save_position();
  const system::MutexLock lock(mutex_);
  reservation_.reset();
  return saved;
}

}  // namespace semel::sources
