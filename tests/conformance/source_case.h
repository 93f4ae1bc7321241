// The case that the source suite runs on.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <semel/spi/source.h>

namespace semel::conformance {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// How long the held source hides the messages that it delivered.
inline constexpr milliseconds kHiddenFor = 60s;

// The place where a source's messages are put; outlives the sources opened on it.
class SourcePlace {
 public:
  virtual ~SourcePlace() = default;
  virtual void add(const std::vector<Bytes>& payloads) = 0;
  // No more messages will be added.
  virtual void finish() = 0;
  virtual std::unique_ptr<Source> open() = 0;
  // Lets time pass for delayed, hidden or reserved messages.
  virtual void advance(milliseconds by) = 0;
  // Sources opened from now on may die: a broker with its own clock hides their messages briefly.
  virtual void expect_death() {}
};

struct SourceCase {
  std::string name;
  std::function<std::unique_ptr<SourcePlace>()> make;
  // The source may be at its end before `finish`: a file that is not followed.
  bool ends_early = false;
  // Messages come in any order: the broker promises none.
  bool ordered = true;
  // Payloads are bytes; else text without most control characters.
  bool bytes = true;
  // All that are opened have one name at the broker.
  bool one_name = false;
};
inline void PrintTo(const SourceCase& c, std::ostream* out) { *out << c.name; }

class SourceSuite : public testing::TestWithParam<SourceCase> {
 protected:
  // A row taken is hidden for this long, where it is hidden at all.
  static constexpr milliseconds kHidden = 60s;

  void SetUp() override { place_ = GetParam().make(); }
  void TearDown() override { source_.reset(); }

  SourcePlace& place() { return *place_; }
  void open();
  Source& source() { return *source_; }
  const SourceTraits& traits() { return source_->traits(); }
  // Closes and opens again.
  void reopen();
  // Ends the source like a process that dies, without a close, and opens another.
  void die_and_reopen();

  // `count` payloads that contain their position.
  static std::vector<Bytes> numbered(std::size_t count, std::size_t from = 0);
  // Receives until `count` arrivals are there, waiting as an engine waits; fewer when it takes too
  // long.
  std::vector<Arrival> receive(std::size_t count, const ReceiveLimits& limits = {},
                               milliseconds patience = 60s);
  // Receives what is available now and a little later.
  std::vector<Arrival> receive_whatever();
  void settle(const std::vector<Arrival>& arrivals, Settlement::Kind kind = Settlement::Kind::kAck,
              milliseconds delay = 0ms);
  // In their order; if the source has none, sorted like `expected`.
  static std::vector<Bytes> payloads(const std::vector<Arrival>& arrivals);
  static std::vector<Bytes> expected(std::vector<Bytes> payloads);
  // Waits until the source asks for a receive.
  bool woken(milliseconds patience);

 private:
  std::unique_ptr<SourcePlace> place_;
  std::unique_ptr<Source> source_;
};

// For an adapter's own tests with a source that is received from repeatedly. Connects to a broker,
// and waits until the available messages have arrived.
void wait_until_it_has_come(Source& source);

class Receiver {
 public:
  // `patience`: the default wait of a receive.
  Receiver(std::unique_ptr<Source> source, milliseconds patience)
      : source_(std::move(source)), patience_(patience) {}

  Source& source() { return *source_; }
  // Receives until there are `count`; fewer if it takes too long.
  std::vector<Arrival> receive(std::size_t count) { return receive(count, patience_); }
  std::vector<Arrival> receive(std::size_t count, milliseconds patience);
  void settle(const std::vector<Arrival>& arrivals, Settlement::Kind kind = Settlement::Kind::kAck);
  // The first permanent error.
  Error failure_of();

 private:
  std::unique_ptr<Source> source_;
  const milliseconds patience_;
};

// How much waits, as the source tells it; nullopt: it does not.
inline std::optional<std::int64_t> lag_told_by(Source& source) {
  for (const SourceFigure& figure : source.figures()) {
    if (figure.name == "lag") return figure.value;
  }
  return std::nullopt;
}

}  // namespace semel::conformance
