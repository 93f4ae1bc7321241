// Every store decides as the record machine does: long random runs, compared step
// by step.
#include "tests/conformance/store_model.h"

namespace semel::conformance {
namespace {

constexpr int kStoreModelSteps = 1500;
constexpr std::uint64_t kStoreModelKeys = 12;

}  // namespace

void StoreModelSuite::claim_one(Model& model, const Message& m) {
  const milliseconds lease = model.any_lease();
  const Claim answer = claim(m, {lease, {}, true});
  const Claim expected = model.claim(m, lease);
  ASSERT_EQ(essence(answer), essence(expected));
  if (!is<Acquired>(answer)) return;
  Modelled& modelled = model.keys[m.key().text];
  const Lease& given = std::get<Acquired>(answer).lease;
  modelled.leases.push_back(given);
  modelled.record->nonce = given.nonce;
  modelled.record->token = given.token;
}

void StoreModelSuite::finish_one(Model& model, const Message& m) {
  Modelled& modelled = model.keys[m.key().text];
  if (modelled.leases.empty()) return;
  // Often the newest lease, sometimes a late holder's.
  const std::size_t back = model.below(3) == 0 ? model.below(modelled.leases.size()) : 0;
  const Lease lease = modelled.leases[modelled.leases.size() - 1 - back];
  const Finish ending = model.any_finish(lease, &m);
  ASSERT_EQ(finish(ending), model.finish(modelled, given(ending)));
}

void StoreModelSuite::renew_one(Model& model, const Message& m) {
  Modelled& modelled = model.keys[m.key().text];
  if (modelled.leases.empty()) return;
  const Lease lease = modelled.leases[model.below(modelled.leases.size())];
  const milliseconds by = model.any_lease();
  const bool holds =
      modelled.record && spi::decide_renew(*modelled.record, lease.nonce, by, model.now);
  ASSERT_EQ(renew(lease, by), holds ? Applied::kYes : Applied::kLeaseLost);
}

void StoreModelSuite::operate(Model& model, const Message& m) {
  if (!has(Facet::kRecords)) return;
  auto& record = model.keys[m.key().text].record;
  if (model.below(2) == 0) {
    const bool opens = record && spi::decide_unlock(*record, model.now);
    ASSERT_EQ(records().unlock(m.key().id).value(), opens);
    return;
  }
  const auto forgotten = records().forget(m.key().id);
  const bool held_now =
      record && record->state == RecordState::kConsuming && model.now < record->lease_until;
  ASSERT_EQ(forgotten.has_value(), !held_now);
  if (held_now) return;
  ASSERT_EQ(*forgotten, record.has_value());
  record.reset();
}

void StoreModelSuite::step(Model& model) {
  const Message m = model.any_message(consumer(), model.any_key());
  SCOPED_TRACE(m.key().text);
  const auto what = model.below(100);
  if (what < 38) {
    claim_one(model, m);
  } else if (what < 76) {
    finish_one(model, m);
  } else if (what < 84) {
    renew_one(model, m);
  } else if (what < 90) {
    operate(model, m);
  } else if (what < 91) {
    reopen();
  } else {
    advance(kStep);
    model.now += kStep;
  }
}

TEST_P(StoreModelSuite, AnswersAsTheRecordMachineDoes) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed);
  Model model(seed, kStoreModelKeys);
  for (int i = 0; i < kStoreModelSteps; ++i) {
    SCOPED_TRACE(i);
    step(model);
    if (HasFatalFailure()) return;
  }
}

}  // namespace semel::conformance
