// In-memory positions and held messages, for the tests of the sources.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>
#include <atomic>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/source.h>

#include "tests/support/temp_dir.h"

namespace semel::sources {

inline constexpr ConsumerNumber kConsumer{1};

class FakePositions final : public Positions {
 public:
  Result<std::optional<Bytes>> load(ConsumerNumber, std::string_view partition) override {
    const auto found = kept.find(std::string(partition));
    return found == kept.end() ? std::nullopt : std::optional<Bytes>(found->second);
  }
  Result<void> save(ConsumerNumber, std::string_view partition, BytesView position) override {
    ++saves;
    if (failing) return failure({ErrorKind::kUnavailable, "R201", "the store is away", {}});
    if (taken) lost = true;
    if (taken) return failure({ErrorKind::kBlocked, "R230", "held by another reader", {}});
    kept[std::string(partition)] = position;
    return {};
  }
  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber,
                                               std::string_view partition) override {
    const bool busy = refusals > 0 && refusals-- > 0;
    if (busy || !reserved.insert(std::string(partition)).second) {
      return failure({ErrorKind::kBlocked, "R230", "held by another reader", {}});
    }
    return std::make_unique<Held>(*this, std::string(partition));
  }

  std::map<std::string, Bytes> kept;
  std::set<std::string> reserved;
  std::size_t saves = 0;
  std::size_t refusals = 0;  // how many of the next calls of reserve fail
  bool failing = false;
  std::atomic<bool> lost{false};   // all reservations
  std::atomic<bool> taken{false};  // the reservation is taken by another

 private:
  struct Held final : Reservation {
    Held(FakePositions& all, std::string mine) : all_(all), mine_(std::move(mine)) {}
    ~Held() override { all_.reserved.erase(mine_); }
    bool lost() const noexcept override { return all_.lost; }
    FakePositions& all_;
    std::string mine_;
  };
};

// Survives its process: one file, replaced at each save.
class PositionsOnDisk final : public Positions {
 public:
  explicit PositionsOnDisk(std::string path) : path_(std::move(path)) {}
  Result<std::optional<Bytes>> load(ConsumerNumber, std::string_view) override {
    if (!std::filesystem::exists(path_)) return std::nullopt;
    return test::read_file(path_);
  }
  Result<void> save(ConsumerNumber, std::string_view, BytesView position) override {
    test::write_file(path_ + ".new", position);
    std::filesystem::rename(path_ + ".new", path_);
    return {};
  }
  Result<std::unique_ptr<Reservation>> reserve(ConsumerNumber, std::string_view) override {
    return std::make_unique<Reservation>();
  }

 private:
  std::string path_;
};

inline std::vector<std::string> payloads(const Received& received) {
  std::vector<std::string> all;
  for (const Arrival& arrival : received.arrivals) all.push_back(arrival.payload);
  return all;
}

inline std::vector<Settlement> settlements(const std::vector<Arrival>& arrivals,
                                           Settlement::Kind kind = Settlement::Kind::kAck) {
  std::vector<Settlement> all;
  for (const Arrival& arrival : arrivals) all.push_back({arrival.tag, kind, {}});
  return all;
}

// Receives until the source has nothing more now.
inline Result<Received> receive_all(Source& source, const ReceiveLimits& limits = {}) {
  Received all;
  for (;;) {
    auto received = source.receive(limits);
    if (!received) return received;
    for (Arrival& arrival : received->arrivals) all.arrivals.push_back(std::move(arrival));
    for (std::string& notice : received->notices) all.notices.push_back(std::move(notice));
    all.at_end = received->at_end;
    const auto due = source.wakeup().due_in;
    if (received->arrivals.empty() && due != std::chrono::milliseconds(0)) return all;
    if (received->at_end) return all;
  }
}

}  // namespace semel::sources
