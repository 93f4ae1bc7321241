// The opening part of FileSource: where it reads from, and the files that wait to be read.
#include "sources/file/file_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace semel::sources {

Result<void> FileSource::open() {
  auto kept = positions_.load(consumer_, path_);
  if (!kept) return failure(std::move(kept.error()));
  auto opened = open_file(path_);
  if (!opened) return failure(std::move(opened.error()));
  if (!*opened && !options_.follow) {
    return failure({ErrorKind::kRejected, "R231", fmt::format("{} does not exist", path_),
                    "check the path; relative ones start at the config file's folder"});
  }
  std::optional<std::vector<FilePosition>> positions;
  if (*kept && options_.from == FileOptions::From::kKept) {
    positions = decode(**kept);
    if (!positions) {
      notices_.push_back(fmt::format("{}: its stored position cannot be read", path_));
    }
  }
  {
    const system::MutexLock saving(save_mutex_);
    saved_ = kept->value_or(Bytes());
  }
  auto resumed = resume(positions.value_or(std::vector<FilePosition>()),
                        *opened ? std::move(**opened) : OpenFile{});
  if (!resumed) return resumed;
  save_when_due();
  return {};
}

// `opened` may be empty: then no file has the name now.
Result<void> FileSource::resume(std::span<const FilePosition> positions, OpenFile opened) {
  for (const FilePosition& position : positions) {
    const bool newest = &position == &positions.back();
    if (!newest && segments_.size() >= kOpenAtOnce) {
      add_waiting(position, 0);
      continue;
    }
    const bool has_inode = opened.fd.valid() && opened.status.st_ino == position.inode;
    if (!has_inode || !newest) {
      // A new file often gets the inode of one that was rotated away and removed.
      Result<std::optional<NamedFile>> renamed = std::nullopt;
      if (!has_inode) renamed = find_renamed(path_, position);
      if (!renamed && newest) return failure(std::move(renamed.error()));
      if (renamed) {
        resume_renamed(position, std::move(*renamed), newest);
      } else {
        add_waiting(position, 0);
      }
    } else if (still_there(opened.fd.get(), position)) {
      add_segment(std::make_unique<Segment>(std::move(opened), next_number_, position));
      open_waiting();
      return {};
    } else {
      notices_.push_back(fmt::format(
          "{} was truncated or rewritten since it was read last: it is read from its start{}",
          path_, unread_hint()));
    }
  }
  return opened.fd.valid() ? add_present(std::move(opened)) : Result<void>();
}

// Without the file that was read last it is unknown which of the rotated ones came after it.
std::string FileSource::unread_hint() const {
  std::string name = segments_.empty() ? newest_rotated(path_) : std::string();
  if (name.empty()) return name;
  return fmt::format(". Lines that were not read before may be in {} and older files", name);
}

void FileSource::resume_renamed(const FilePosition& position, std::optional<NamedFile> renamed,
                                bool newest) {
  if (renamed) {
    const auto size = static_cast<std::uint64_t>(renamed->file.status.st_size);
    if (size != position.last.span.end) {
      notices_.push_back(fmt::format("{} was renamed to {}: what is left of that is read first",
                                     path_, renamed->name));
    }
    auto old = std::make_unique<Segment>(std::move(renamed->file), next_number_, position);
    old->renamed = environment_.clock->now();
    return add_segment(std::move(old));
  }
  if (newest) {
    notices_.push_back(fmt::format(
        "{} is not the file that was read last, and that one is gone: it is read from its start{}",
        path_, unread_hint()));
  } else {
    notices_.push_back(
        fmt::format("a file that was {} before is gone: what was left of it is not read", path_));
  }
}

Result<void> FileSource::add_present(OpenFile opened) {
  while (!segments_.empty() && segments_.back()->waits()) {
    if (auto last = open_one(std::prev(segments_.end())); !last) return last;
  }
  if (!segments_.empty() && !segments_.back()->file.same_as(opened.status)) {
    const auto known = [this](const struct stat& status) {
      return std::any_of(segments_.begin(), segments_.end(), [&](const auto& segment) {
        return segment->waits() ? segment->file.status.st_ino == status.st_ino
                                : segment->file.same_as(status);
      });
    };
    auto unseen = find_unseen(path_, segments_.back()->file, opened, known);
    if (!unseen) return failure(std::move(unseen.error()));
    for (std::string& notice : unseen->notices) notices_.push_back(std::move(notice));
    for (const struct stat& file : unseen->files) {
      add_waiting({file.st_ino, {}}, static_cast<std::uint64_t>(file.st_size));
    }
  }
  add_segment(std::make_unique<Segment>(std::move(opened), next_number_));
  open_waiting();
  return {};
}

void FileSource::add_segment(std::unique_ptr<Segment> segment) {
  next_number_ = segment->number + 1;
  if (options_.follow && !segment->waits()) segment->watch = watch_.add(segment->file.fd.get());
  const system::MutexLock lock(mutex_);
  segments_.push_back(std::move(segment));
  dirty_ = save_now_ = true;
}

// A file of which only the inode is known until it is read; `size` is how long it was.
void FileSource::add_waiting(const FilePosition& position, std::uint64_t size) {
  auto segment = std::make_unique<Segment>(OpenFile{}, next_number_, position);
  segment->file.status.st_ino = position.inode;
  segment->renamed = environment_.clock->now();
  segment->read_to = size;
  add_segment(std::move(segment));
}

FileSource::Segments::iterator FileSource::first_waiting() {
  return std::find_if(segments_.begin(), segments_.end(),
                      [](const auto& segment) { return segment->waits(); });
}

// Opens it, or removes it where it is gone.
Result<void> FileSource::open_one(Segments::iterator place) {
  const Segment& waiting = **place;
  FilePosition position{waiting.file.status.st_ino, {}};
  {
    const system::MutexLock lock(mutex_);
    position.last = waiting.ledger.last_settled().value_or(LineLedger::Line{});
  }
  auto found = find_renamed(path_, position);
  if (!found) return failure(std::move(found.error()));
  // Where another file that is read has the inode now, the one that waited was removed.
  const bool taken = *found && std::any_of(segments_.begin(), segments_.end(), [&](const auto& s) {
    return !s->waits() && s->file.same_as((*found)->file.status);
  });
  if (!*found || taken) {
    notices_.push_back(
        fmt::format("a file that was {} before is gone: what was left of it is not read", path_));
    const system::MutexLock lock(mutex_);
    segments_.erase(place);
    dirty_ = true;
    return {};
  }
  auto opened = std::make_unique<Segment>(std::move((*found)->file), waiting.number, position);
  opened->renamed = waiting.renamed;
  opened->read_to = waiting.read_to;
  if (options_.follow) opened->watch = watch_.add(opened->file.fd.get());
  const system::MutexLock lock(mutex_);
  *place = std::move(opened);
  return {};
}

// Opens the oldest of the files that wait, as far as they may be open. One that cannot be opened
// now keeps its place: none after it is read before it.
void FileSource::open_waiting() {
  std::string why;
  for (auto next = first_waiting(); next != segments_.end(); next = first_waiting()) {
    if (next - segments_.begin() >= static_cast<std::ptrdiff_t>(kOpenAtOnce)) break;
    if (auto opened = open_one(next); !opened) {
      why = opened.error().message;
      break;
    }
  }
  if (!why.empty() && cannot_open_.empty()) {
    notices_.push_back(
        fmt::format("files that were {} before wait until they can be opened: {}", path_, why));
  }
  cannot_open_ = std::move(why);
}

}  // namespace semel::sources
