// Shared by the suites of stores.
//
// The suites are based on docs/contract.md and the public headers alone. An adapter of this tree
// joins with a StoreCase in a file of its own (memory_store_case.cc); an external one by
// run_store_suites (semel/conformance/store_case.h). The case declares what the adapter cannot do,
// and nothing is skipped silently.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/conformance/store_case.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/step_store.h>
#include <semel/spi/store.h>
#include <semel/spi/unit_of_work.h>

#include "tests/support/builders.h"

namespace semel::conformance {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

inline void PrintTo(const StoreCase& c, std::ostream* out) { *out << c.name; }
inline const testing::PrintToStringParamName kStoreCaseName;

bool is_there(const StoreFacets& facets, Facet facet);

// "Acquired(attempt 2, taken over)" …: the text in a failed test's message.
std::string describe(const Claim& claim);

template <class T>
bool is(const Claim& claim) {
  return std::holds_alternative<T>(claim);
}

// Makes the message a dead letter.
Finish letter_for(const Message& message, std::string reason = "key.conflict");

using Payloads = std::vector<Bytes>;
Payloads payloads(const std::vector<Arrival>& arrivals);

// One store, one consumer, and calls for single messages.
class StoreTest : public testing::TestWithParam<StoreCase> {
 protected:
  static constexpr milliseconds kLease = 60s;
  static constexpr milliseconds kPastLease = 61s;

  void SetUp() override;
  // After each test, checks the store's consistency if it can be checked.
  void TearDown() override;

  Store& store() { return *store_; }
  StorePlace& place() { return *place_; }
  bool durable() { return store_->traits().durable; }
  // As the case declares it, which StoreSuite.ItsFacetsAreThoseThatItsCaseDeclares verifies.
  static bool has(Facet facet) { return !GetParam().lacks.contains(facet); }
  // Closes and opens a durable store; any other stays as it is.
  void reopen();
  void advance(milliseconds by) { place_->advance(by); }
  bool set_back(milliseconds by) { return place_->set_back(by); }
  // Whether the answer is that of a retry which is not due and was given its message to keep.
  static bool is_retry(const Claim& answer) {
    return has(Facet::kHeld) ? is<Waiting>(answer) : is<Busy>(answer);
  }
  ConsumerNumber attach(const std::string& name, std::optional<milliseconds> ttl = std::nullopt);
  ConsumerNumber consumer() const { return consumer_; }
  Message message(BytesView key, BytesView payload = "{}") const {
    return test::make_message(consumer_, key, payload);
  }

  Claim claim(const Message& message, const ClaimOptions& options = {kLease, {}, false}) {
    return claim_on(store(), message, options);
  }
  static Claim claim_on(Store& store, const Message& message,
                        const ClaimOptions& options = {kLease, {}, false});
  // Fails the test where it is not Acquired.
  Acquired acquire(const Message& message);
  // The same, where StorePlace::draw_only() works: claims with one number have one nonce.
  Claim claim_by(std::uint64_t number, const Message& message);
  Acquired acquire_by(std::uint64_t number, const Message& message);
  // A store that holds no messages is given none.
  static Finish given(Finish finish);
  Applied finish(const Finish& finish) { return finish_on(store(), finish); }
  static Applied finish_on(Store& store, const Finish& finish);
  Applied renew(const Lease& lease, milliseconds by = kLease);

  // The record of `message` brought to a state, from new.
  void complete(const Message& message, Bytes result = {});
  void bring_to(const Message& message, RecordState state);

  HeldMessages& held() { return *store_->facets().held; }
  DeadLetters& dead_letters() { return *store_->facets().dead_letters; }
  RecordInspector& records() { return *store_->facets().records; }
  Positions& positions() { return *store_->facets().positions; }
  Gates& gates() { return *store_->facets().gates; }
  AuditLog& audit() { return *store_->facets().audit; }
  StepStore& steps() { return *store_->facets().steps; }

  std::vector<Arrival> take(std::size_t max = 100, milliseconds hidden = 60s) {
    return take_for(consumer_, max, hidden);
  }
  std::vector<Arrival> take_for(ConsumerNumber consumer, std::size_t max, milliseconds hidden);
  void append(std::vector<OutgoingMessage> messages);
  // One held message with `key`.
  static OutgoingMessage held_message(std::optional<Bytes> key, Bytes payload = "{}",
                                      milliseconds delay = 0ms);
  std::vector<DeadLetter> all_dead_letters();

 private:
  std::unique_ptr<StorePlace> place_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

class StoreSuite : public StoreTest {};
class HeldSuite : public StoreTest {};
// Payloads like "a:1" are in line "a"; those without a colon are in no line.
class HeldLinesSuite : public StoreTest {
 protected:
  static std::optional<Bytes> line_of(const Arrival& arrival);

  void send(const std::vector<Bytes>& payloads);
  std::vector<Arrival> take_from(Store& store, std::size_t max = 100, milliseconds hidden = 30s);
  std::vector<Arrival> take_lines(std::size_t max = 100, milliseconds hidden = 30s) {
    return take_from(store(), max, hidden);
  }
  void remove(const Arrival& arrival);
  void release(const Arrival& arrival, milliseconds delay = 0ms);
  // Parks the message of this row, under this key.
  void park(const Bytes& key, const Arrival& arrival);
  // Pairs of key and payload.
  std::vector<HeldMessages::Place> hold(const std::vector<std::pair<Bytes, Bytes>>& messages,
                                        std::size_t most = 1 << 20);
};
class DeadLetterSuite : public StoreTest {};
class RecordsSuite : public StoreTest {};
class PositionsSuite : public StoreTest {};
class GatesSuite : public StoreTest {};
class AuditSuite : public StoreTest {};
class StepsSuite : public StoreTest {
 protected:
  // A message of `consumer` that has died with one step in its journal.
  Message dead_with_step(ConsumerNumber consumer, BytesView key, const StepEntry& entry);
  // Lets time pass and purges until the record is gone.
  void purge_away(const Message& message);
  bool has_step(const Message& message) {
    return steps().read(message.key().id).value().entries.size() == 1;
  }
  // The letter of this key and payload.
  std::int64_t letter_of(const Message& message);
};
// For stores without HeldMessages.
class WithoutMessagesSuite : public StoreTest {};
// Opens nothing by itself: its tests fork before they open.
class RunMarkersSuite : public testing::TestWithParam<StoreCase> {};

}  // namespace semel::conformance
