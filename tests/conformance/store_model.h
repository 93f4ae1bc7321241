// A model of a store: the record machine on a map. Tests compare a real store's answers with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/record_machine.h>

#include "tests/conformance/store_case.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {

// All times are multiples of this plus or minus a margin, so that no answer depends on the speed of
// the test: a server's clock runs on meanwhile.
inline constexpr milliseconds kStep = 1000s;
inline constexpr milliseconds kMargin = 500s;

struct Modelled {
  std::optional<spi::Record> record;
  std::vector<Lease> leases;  // every one the store ever gave for the key
};

class Model {
 public:
  Model(std::uint64_t seed, std::uint64_t key_count) : random_(seed), key_count_(key_count) {}

  StoreTime now{std::chrono::hours(1)};
  using Keys = std::map<Bytes, Modelled>;
  Keys keys;

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  Bytes any_key();
  // Mostly the key's one payload, sometimes another.
  Message any_message(ConsumerNumber consumer, const Bytes& key);
  milliseconds any_lease() { return kStep * (1 + below(3)) + kMargin; }
  // A random choice among all endings of a holder.
  Finish any_finish(const Lease& lease, const Message* keep);

  // If it is acquired, the record has a nonce that only the model knows.
  Claim claim(const Message& message, milliseconds lease);
  // A `finish` that keeps the message makes a row for its record, which stays the record's.
  Applied finish(Modelled& modelled, const Finish& finish) const;

 private:
  test::SeededRandom random_;
  const std::uint64_t key_count_;
};

class StoreModelSuite : public StoreTest {
 protected:
  void step(Model& model);

 private:
  void claim_one(Model& model, const Message& m);
  void finish_one(Model& model, const Message& m);
  void renew_one(Model& model, const Message& m);
  void operate(Model& model, const Message& m);
};

// The part in which both must agree; times only up to the margin.
std::string essence(const Claim& claim);

}  // namespace semel::conformance
