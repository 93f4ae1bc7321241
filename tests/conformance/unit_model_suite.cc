// Random units of work among two-phase claims, compared step by step with the record machine: each
// effect is there as often as a completed record says, and no more.
#include <set>

#include "tests/conformance/unit_model.h"

namespace semel::conformance {
namespace {

constexpr int kUnitModelSteps = 400;
constexpr std::uint64_t kUnitModelKeys = 100;
constexpr std::uint64_t kLargestBatch = 5;

}  // namespace

void UnitModelSuite::unit_step(Model& model) {
  std::set<Bytes> keys;
  for (auto size = 1 + model.below(kLargestBatch); size != 0; --size) keys.insert(model.any_key());
  std::vector<Message> messages;
  for (const Bytes& key : keys) messages.push_back(model.any_message(consumer(), key));
  UnitOptions options;
  options.savepoints = model.below(2) == 0 ? Savepoints::kEach : Savepoints::kSparse;
  options.want_result = true;
  const auto before = model.keys;
  auto effects = effects_;
  Batch batch = claim_in_unit(messages, options);
  ASSERT_EQ(batch.claims.size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(essence(batch.claims[i]), essence(model.claim(messages[i], kStep))) << i;
  }
  end_batch(model, batch, before, effects);
  if (HasFatalFailure()) return;
  if (model.below(4) != 0) {
    commit(batch);
    effects_ = effects;
  } else {
    model.keys = before;
  }
}

void UnitModelSuite::end_batch(Model& model, Batch& batch, const Model::Keys& before,
                               std::map<Bytes, std::int64_t>& effects) {
  std::vector<Finish> endings;
  std::vector<std::size_t> ended;
  for (std::size_t i = 0; i < batch.messages.size(); ++i) {
    if (!is<Acquired>(batch.claims[i])) continue;
    endings.push_back(model.any_finish(batch.lease(i), &batch.messages[i]));
    ended.push_back(i);
    if (endings.back().to != Finish::To::kCompleted) continue;
    batch.unit->run(i, effect(batch.messages[i].key().text));
    ++effects[batch.messages[i].key().text];
  }
  const FlushReport report = flushed(batch);
  ASSERT_TRUE(report.failed.empty());
  const auto applied = batch.unit->finish(endings);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const Bytes& key = batch.messages[ended[i]].key().text;
    Modelled& ends = model.keys[key];
    if (endings[i].to == Finish::To::kNotStarted) {
      // Within one transaction the claim was never there: also a late holder is who it was.
      ASSERT_EQ((*applied)[i], Applied::kYes);
      ends.record = before.contains(key) ? before.at(key).record : std::nullopt;
      continue;
    }
    Finish modelled = endings[i];
    modelled.lease->nonce = ends.record->nonce;
    ASSERT_EQ((*applied)[i], model.finish(ends, modelled));
  }
}

void UnitModelSuite::other_step(Model& model) {
  const Message m = model.any_message(consumer(), model.any_key());
  Modelled& modelled = model.keys[m.key().text];
  const auto what = model.below(4);
  if (what == 0) {
    advance(kStep);
    model.now += kStep;
  } else if (what == 1) {
    const milliseconds lease = model.any_lease();
    const Claim answer = claim(m, {lease, {}, true});
    ASSERT_EQ(essence(answer), essence(model.claim(m, lease)));
    if (!is<Acquired>(answer)) return;
    modelled.leases.push_back(std::get<Acquired>(answer).lease);
    modelled.record->nonce = modelled.leases.back().nonce;
  } else if (!modelled.leases.empty()) {
    // Two phases without effect: what a late holder may not end is often a unit's by now.
    const Lease lease = modelled.leases[model.below(modelled.leases.size())];
    const Finish late = test::retrying(lease, kMargin, &m);
    ASSERT_EQ(finish(late), model.finish(modelled, late));
  }
}

TEST_P(UnitModelSuite, EffectsAreAsManyAsRecordsSay) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed);
  Model model(seed, kUnitModelKeys);
  for (int i = 0; i < kUnitModelSteps; ++i) {
    SCOPED_TRACE(i);
    if (model.below(2) == 0) {
      unit_step(model);
    } else {
      other_step(model);
    }
    if (HasFatalFailure()) return;
  }
  std::int64_t sum = 0;
  for (const auto& [key, count] : effects_) {
    EXPECT_EQ(effects(key), count) << key;
    EXPECT_LE(count, 1) << key << ": completed is for ever";
    sum += count;
  }
  EXPECT_GT(sum, 0);
  EXPECT_EQ(effects(), sum);
}

}  // namespace semel::conformance
