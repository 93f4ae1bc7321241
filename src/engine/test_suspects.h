// Shared by the tests of suspects: run markers that a test controls, and an engine over them.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <semel/spi/run_markers.h>

#include "core/suspect_group.h"
#include "engine/test_engine.h"

namespace semel::engine {

// Run markers as a store would keep them, controlled by the test. One thread at a time.
class FakeMarkers final : public RunMarkers {
 public:
  Result<Begun> begin(ConsumerNumber, std::size_t window) override {
    begun_window = window;
    if (away) return failure({ErrorKind::kUnavailable, "R206", "locked", {}});
    return begun;
  }
  Result<void> end(ConsumerNumber) override {
    ended = true;
    return {};
  }
  Result<bool> sweep() override { return false; }
  Result<std::vector<std::optional<int>>> crashes(std::span<const KeyId> keys) override {
    std::vector<std::optional<int>> answer;
    for (const KeyId& key : keys) {
      answer.push_back(completed.contains(key) ? std::nullopt : std::optional(kept_of(key)));
    }
    if (looked) looked();
    return answer;
  }
  Result<std::vector<int>> change_crashes(std::span<const CrashChange> changes) override {
    std::vector<int> answer;
    std::vector<int> counts;
    for (const CrashChange& change : changes) {
      const int kept = kept_of(change.key);
      answer.push_back(core::crashes_after(kept, {change.from, change.to}));
      if (answer.back() != kept) counts.push_back(answer.back());
      this->kept[change.key] = answer.back();
      EXPECT_EQ(change.highest, core::highest_from({change.from, change.to}));
    }
    changed.push_back(counts);
    if (lost_answers == 0) return answer;
    --lost_answers;
    return failure({ErrorKind::kUnavailable, {}, "lost", {}});
  }
  int kept_of(const KeyId& key) const {
    const auto found = kept.find(key);
    return found == kept.end() ? 0 : found->second;
  }

  Begun begun;
  std::atomic<bool> away{false};
  std::atomic<std::size_t> begun_window{0};  // zero: begin() was not called
  std::map<KeyId, int> kept;
  std::set<KeyId> completed;
  std::vector<std::vector<int>> changed;  // the new counts of changed messages, call by call
  int lost_answers = 0;
  std::function<void()> looked;
  std::atomic<bool> ended{false};
};

class StoreWithMarkers final : public Store {
 public:
  StoreWithMarkers(Store& inner, RunMarkers& markers) : inner_(inner), markers_(markers) {}
  const StoreTraits& traits() const noexcept override { return inner_.traits(); }
  StoreFacets facets() noexcept override {
    StoreFacets facets = inner_.facets();
    facets.runs = &markers_;
    return facets;
  }
  Result<ConsumerNumber> attach(const ConsumerSpec& c) override { return inner_.attach(c); }
  Result<std::vector<Claim>> claim(std::span<const Message* const> m,
                                   const ClaimOptions& o) override {
    return inner_.claim(m, o);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> l, milliseconds d) override {
    return inner_.renew(l, d);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> b) override {
    return inner_.finish(b);
  }
  Result<PurgeReport> purge(milliseconds b) override { return inner_.purge(b); }

 private:
  Store& inner_;
  RunMarkers& markers_;
};

class SuspectsTest : public EngineTest {
 protected:
  SuspectsTest() : marked_(*store_, markers_) {
    markers_.begun = {true, 6};
    options_.batch_first = 100;
  }
  KeyId id(BytesView key) const { return test::make_message(options_.number, key).key().id; }
  void send_many(int count) {
    for (int i = 0; i < count; ++i) send("k" + std::to_string(i));
    topic_.finish();
  }
  // Notes in which batch, and with which stored count, each message ran; `script` sets its outcome.
  std::unique_ptr<Engine> noting(ScriptedStrategy::Script script, bool redelivers = true) {
    return engine(
        [this, script](core::TrackedDelivery& delivery, std::size_t batch) {
          const Bytes key = delivery.message.key().text;
          batch_of_[key].push_back(batch);
          kept_when_run_[key].push_back(markers_.kept_of(delivery.message.key().id));
          return script(delivery, batch);
        },
        redelivers, &marked_);
  }
  static Outcome is_done(core::TrackedDelivery&, std::size_t) {
    return semel::engine::ended(kDone);
  }
  bool nothing_kept() const {
    return std::ranges::all_of(markers_.kept, [](const auto& one) { return one.second == 0; });
  }

  static constexpr Outcome::Kind kDone = Outcome::Kind::kDone;
  FakeMarkers markers_;
  StoreWithMarkers marked_;
  std::map<Bytes, std::vector<std::size_t>> batch_of_;
  std::map<Bytes, std::vector<int>> kept_when_run_;
};

}  // namespace semel::engine
