// What the source suite is run on.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <semel/spi/source.h>

namespace semel::conformance {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// By the held source, what it has brought.
inline constexpr milliseconds kHiddenFor = 60s;

// Where messages are put that a source brings; outlives the sources opened on it.
class SourcePlace {
 public:
  virtual ~SourcePlace() = default;
  virtual void add(const std::vector<Bytes>& payloads) = 0;
  // Nothing more will be added.
  virtual void finish() = 0;
  virtual std::unique_ptr<Source> open() = 0;
  // Lets time pass for what is delayed, hidden or reserved.
  virtual void advance(milliseconds by) = 0;
};

struct SourceCase {
  std::string name;
  std::function<std::unique_ptr<SourcePlace>()> make;
  // It may be at its end before `finish`: a file that nobody follows.
  bool ends_early = false;
  // Messages come in any order: the broker promises none.
  bool ordered = true;
  // Payloads are bytes; else text without most control characters.
  bool bytes = true;
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
  // As a process that dies: without a close.
  void die_and_reopen();

  // `count` payloads that tell their place.
  static std::vector<Bytes> numbered(std::size_t count, std::size_t from = 0);
  // Receives until `count` arrivals are there, waiting as an engine waits; fewer when it takes too
  // long.
  std::vector<Arrival> receive(std::size_t count, const ReceiveLimits& limits = {},
                               milliseconds patience = 60s);
  // What is there at once, and a little later.
  std::vector<Arrival> receive_whatever();
  void settle(const std::vector<Arrival>& arrivals, Settlement::Kind kind = Settlement::Kind::kAck,
              milliseconds delay = 0ms);
  // In their order; where the source has none, sorted, as `expected` has them.
  static std::vector<Bytes> payloads(const std::vector<Arrival>& arrivals);
  static std::vector<Bytes> expected(std::vector<Bytes> payloads);
  // Waits until the source asks for a receive.
  bool woken(milliseconds patience);

 private:
  std::unique_ptr<SourcePlace> place_;
  std::unique_ptr<Source> source_;
};

// For an adapter's own tests: a source that is received from again and again.
// Connects to a broker, and waits until what is there has come.
void wait_until_it_has_come(Source& source);

class Receiver {
 public:
  // `patience`: how long a receive waits where nothing else is said.
  Receiver(std::unique_ptr<Source> source, milliseconds patience)
      : source_(std::move(source)), patience_(patience) {}

  Source& source() { return *source_; }
  // Until there are so many; fewer when it takes too long.
  std::vector<Arrival> receive(std::size_t count) { return receive(count, patience_); }
  std::vector<Arrival> receive(std::size_t count, milliseconds patience);
  void settle(const std::vector<Arrival>& arrivals, Settlement::Kind kind = Settlement::Kind::kAck);
  // The first thing that goes wrong for good.
  Error failure_of();

 private:
  std::unique_ptr<Source> source_;
  const milliseconds patience_;
};

}  // namespace semel::conformance
