// A source of your own: each file of a folder is a message, in the order of their names. A file is
// removed once its record is durable; until then it comes again, also after a crash. A file that is
// being written would come in part: write it under a name that begins with a dot, then rename it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <semel/bytes.h>
#include <semel/consumer.h>
#include <semel/spi/source.h>

class SpoolSource final : public semel::Source {
 public:
  static constexpr semel::SourceTraits kTraits{.name = "spool"};

  // With `follow` it waits for further files; without, it ends with the last one.
  SpoolSource(std::string folder, bool follow) : folder_(std::move(folder)) {
    traits_.ends = !follow;
  }

  const semel::SourceTraits& traits() const noexcept override { return traits_; }

  semel::Result<semel::Received> receive(const semel::ReceiveLimits& limits) override {
    semel::Received received;
    if (is_paused()) return received;
    auto files = files_in_order();
    if (!files) return semel::failure(std::move(files.error()));
    const std::set<std::string> taken = files_in_hand();
    std::size_t bytes = 0;
    for (const std::string& file : *files) {
      if (received.arrivals.size() == limits.messages || bytes >= limits.bytes) return received;
      if (taken.contains(file)) continue;
      auto payload = read(file);
      if (!payload) {
        // Files that were read before it come first.
        if (!received.arrivals.empty()) return received;
        return semel::failure(std::move(payload.error()));
      }
      if (!*payload) continue;  // it was settled since the folder was read
      bytes += (*payload)->size();
      received.arrivals.push_back(hand_out(file, **std::move(payload)));
    }
    received.at_end = traits_.ends && received.arrivals.empty();
    return received;
  }

  // Nothing tells of a new file, so the folder is read again soon.
  semel::Wakeup wakeup() override { return {-1, std::chrono::milliseconds(20)}; }

  semel::Result<void> settle(std::span<const semel::Settlement> settlements) override {
    for (const semel::Settlement& one : settlements) {
      const auto file = take_back(one.tag);
      if (!file) continue;
      std::error_code ignored;  // a file that stays comes again, and meets its record
      if (one.kind == semel::Settlement::Kind::kAck) std::filesystem::remove(*file, ignored);
      const std::lock_guard lock(mutex_);
      taken_.erase(*file);
    }
    return {};
  }

  // A file in hand is given to nobody else, for however long.
  semel::Result<void> extend(std::span<const semel::Tag>, std::chrono::milliseconds) override {
    return {};
  }
  // The folder is its one partition.
  void set_paused(std::string_view partition, bool paused) override {
    const std::lock_guard lock(mutex_);
    if (partition.empty() || partition == folder_) paused_ = paused;
  }
  semel::Result<void> close(std::chrono::milliseconds) override {
    const std::lock_guard lock(mutex_);
    in_hand_.clear();
    taken_.clear();
    return {};
  }

 private:
  semel::Result<std::vector<std::string>> files_in_order() const {
    std::error_code problem;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator at(folder_, problem), end; !problem && at != end;
         at.increment(problem)) {
      std::error_code gone;
      const bool is_file = at->is_regular_file(gone);
      if (is_file && !at->path().filename().string().starts_with('.')) {
        files.push_back(at->path().string());
      }
    }
    if (problem) {
      return semel::failure({semel::ErrorKind::kUnavailable,
                             {},
                             folder_ + ": " + problem.message(),
                             "make the folder"});
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  // The whole of it, or why not; nullopt: it is gone.
  static semel::Result<std::optional<semel::Bytes>> read(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::error_code ignored;
    if (!stream && !std::filesystem::exists(file, ignored)) return std::nullopt;
    semel::Bytes payload;
    char part[1 << 14];
    while (stream) {
      stream.read(part, sizeof(part));
      payload.append(part, static_cast<std::size_t>(stream.gcount()));
    }
    if (stream.eof() && !stream.bad()) return payload;
    return semel::failure({semel::ErrorKind::kUnavailable,
                           {},
                           file + " cannot be read",
                           "mend it, or take it out of the folder"});
  }

  semel::Arrival hand_out(const std::string& file, semel::Bytes payload) {
    semel::Arrival arrival;
    arrival.payload = std::move(payload);
    arrival.partition = folder_;
    arrival.position = file;
    const std::lock_guard lock(mutex_);
    arrival.tag.value = ++last_tag_;
    in_hand_.emplace(arrival.tag, file);
    taken_.insert(file);
    return arrival;
  }
  // The file of a delivery that is settled now: the first settlement counts.
  std::optional<std::string> take_back(const semel::Tag& tag) {
    const std::lock_guard lock(mutex_);
    const auto found = in_hand_.find(tag);
    if (found == in_hand_.end()) return std::nullopt;
    std::string file = std::move(found->second);
    in_hand_.erase(found);
    return file;
  }
  std::set<std::string> files_in_hand() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  bool is_paused() const {
    const std::lock_guard lock(mutex_);
    return paused_;
  }

  const std::string folder_;
  semel::SourceTraits traits_ = kTraits;
  // settle comes from other threads than receive. It is held over no work with files.
  mutable std::mutex mutex_;
  std::map<semel::Tag, std::string> in_hand_;
  std::set<std::string> taken_;  // in hand, or being removed
  std::uint64_t last_tag_ = 0;
  bool paused_ = false;
};

inline semel::FromOwn from_spool(std::string folder) {
  return {SpoolSource::kTraits,
          [folder = std::move(folder)](const semel::SourceRequest& request)
              -> semel::Result<std::unique_ptr<semel::Source>> {
            return std::make_unique<SpoolSource>(folder, request.follow);
          }};
}
