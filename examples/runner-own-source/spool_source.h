// A source of your own: each file of a folder is a message, in the order of their names. A file is
// removed once its record is durable; until then it comes again, also after a crash.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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
    auto files = files_in_order();
    if (!files) return semel::failure(std::move(files.error()));
    semel::Received received;
    const std::lock_guard lock(mutex_);
    for (const std::string& file : *files) {
      if (received.arrivals.size() == limits.messages) return received;
      if (is_in_hand(file)) continue;
      semel::Arrival arrival;
      std::ifstream stream(file, std::ios::binary);
      if (!stream) continue;  // it was settled since the folder was read
      arrival.payload.assign(std::istreambuf_iterator<char>(stream), {});
      arrival.partition = folder_;
      arrival.position = file;
      arrival.tag.value = ++last_tag_;
      in_hand_.emplace(arrival.tag.value, file);
      received.arrivals.push_back(std::move(arrival));
    }
    received.at_end = traits_.ends && received.arrivals.empty();
    return received;
  }

  // Nothing tells of a new file, so the folder is read again soon.
  semel::Wakeup wakeup() override { return {-1, std::chrono::milliseconds(20)}; }

  semel::Result<void> settle(std::span<const semel::Settlement> settlements) override {
    const std::lock_guard lock(mutex_);
    for (const semel::Settlement& one : settlements) {
      const auto found = in_hand_.find(one.tag.value);
      if (found == in_hand_.end()) continue;
      std::error_code ignored;  // a file that stays comes again, and meets its record
      if (one.kind == semel::Settlement::Kind::kAck) {
        std::filesystem::remove(found->second, ignored);
      }
      in_hand_.erase(found);
    }
    return {};
  }

  // A file in hand is given to nobody else, for however long.
  semel::Result<void> extend(std::span<const semel::Tag>, std::chrono::milliseconds) override {
    return {};
  }
  void set_paused(std::string_view, bool) override {}
  semel::Result<void> close(std::chrono::milliseconds) override {
    const std::lock_guard lock(mutex_);
    in_hand_.clear();
    return {};
  }

 private:
  semel::Result<std::vector<std::string>> files_in_order() const {
    std::error_code problem;
    std::vector<std::string> files;
    for (std::filesystem::directory_iterator at(folder_, problem), end; !problem && at != end;
         at.increment(problem)) {
      files.push_back(at->path().string());
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
  bool is_in_hand(const std::string& file) const {
    return std::any_of(in_hand_.begin(), in_hand_.end(),
                       [&](const auto& one) { return one.second == file; });
  }

  const std::string folder_;
  semel::SourceTraits traits_ = kTraits;
  std::mutex mutex_;                              // settle comes from other threads than receive
  std::map<std::uint64_t, std::string> in_hand_;  // by tag
  std::uint64_t last_tag_ = 0;
};

inline semel::FromOwn from_spool(std::string folder) {
  return {SpoolSource::kTraits,
          [folder = std::move(folder)](const semel::SourceRequest& request)
              -> semel::Result<std::unique_ptr<semel::Source>> {
            return std::make_unique<SpoolSource>(folder, request.follow);
          }};
}
