// The scripts decide as the record machine does: long random runs of batches, after which stored
// records are compared field by field, and their journals of steps too.
#include <fmt/format.h>

#include <map>
#include <optional>

#include <semel/spi/record_machine.h>

#include "stores/redis/journal.h"
#include "stores/redis/test_place.h"
#include "tests/support/test_environment.h"

namespace semel::redis {
namespace {

constexpr int kSteps = 1500;
constexpr std::uint64_t kKeys = 5;

// Everything that a claim returns, and a record contains.
std::string told(const Claim& claim) {
  if (const auto* one = std::get_if<Acquired>(&claim)) {
    return fmt::format("acquired {} {} {}", one->attempt, one->taken_over,
                       one->since_first.count());
  }
  if (const auto* one = std::get_if<Completed>(&claim)) {
    return fmt::format("completed {} {}", one->result,
                       one->completed_at.time_since_epoch().count());
  }
  if (const auto* one = std::get_if<Busy>(&claim)) {
    return fmt::format("busy {}", one->retry_after.count());
  }
  if (const auto* one = std::get_if<Waiting>(&claim)) {
    return fmt::format("waiting {}", one->next_in.count());
  }
  if (const auto* one = std::get_if<Closed>(&claim)) {
    return fmt::format("closed {} {} {}", one->parked, one->reason, one->held);
  }
  const auto& both = std::get<Conflict>(claim);
  return fmt::format("conflict {} {}", both.recorded.bytes[0], both.arrived.bytes[0]);
}

std::string told(const std::optional<spi::Record>& record) {
  if (!record) return "none";
  return fmt::format(
      "{} print {} token {} nonce {} lease {} attempt {} unknown {} next {} first {} completed {} "
      "'{}' '{}' '{}'",
      to_string(record->state), record->fingerprint.bytes[0],
      static_cast<std::uint64_t>(record->token), fmt::join(record->nonce.bytes, ""),
      record->lease_until.time_since_epoch().count(), record->attempt, record->outcome_unknown,
      record->next_at.time_since_epoch().count(), record->first_seen.time_since_epoch().count(),
      record->completed_at.time_since_epoch().count(), record->reason, record->error,
      record->result);
}

class RedisDecisions : public testing::Test {
 protected:
  struct Modelled {
    std::optional<spi::Record> record;
    std::vector<Lease> leases;
    std::vector<std::string> steps;
    std::string giving_up;
    void end(const Finish& finish, StoreTime now);
  };

  void pass(milliseconds by) {
    now_ += by;
    place_.server().query(
        fmt::format("SET {} {}", kClockName, now_.time_since_epoch().count() * 1000 + 7));
  }
  void claim();
  void finish();
  void renew();
  void keep_steps();
  // As an operator's command would: otherwise all keys are closed before long.
  void forget();
  void compare();

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  // Some distinct keys.
  std::vector<Bytes> some_keys() {
    std::vector<Bytes> keys;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      if (below(3) == 0) keys.push_back(fmt::format("key {}", i));
    }
    return keys;
  }
  Message any_message(const Bytes& key) {
    auto parts = test::make_parts(place_.consumer(), key);
    parts.fingerprint = {};
    parts.fingerprint.bytes[0] = static_cast<unsigned char>(below(8) == 0 ? below(3) : 1);
    return Message(parts);
  }
  Finish any_finish(const Lease& lease);

  const std::string kClockName = "clock_of_" + test::RedisServer::shared().new_database();
  StoreTime now_{milliseconds(1'700'000'000'000)};
  const std::uint64_t seed_ = test::test_seed();
  test::SeededRandom random_{seed_};
  TestPlace place_{
      test::RedisServer::shared(), {}, fmt::format("(redis.call('GET', '{}') or 1)", kClockName)};
  std::map<Bytes, Modelled> model_;
};

// Ends the journal; a key with a journal keeps its record too, though its claim was undone.
void RedisDecisions::Modelled::end(const Finish& finish, StoreTime now) {
  const auto before = record;
  if (spi::decide_finish(record, finish, now) != Applied::kYes) return;
  if (finish.to == Finish::To::kCompleted) steps.clear();
  if (finish.giving_up) giving_up = finish.giving_up->reason;
  if (finish.to == Finish::To::kCompleted || finish.to == Finish::To::kDead) giving_up.clear();
  if (record || (steps.empty() && giving_up.empty())) return;
  record = before;
  record->state = RecordState::kRetrying;
  record->next_at = now;
  record->attempt = 0;
  record->nonce = {};
  record->lease_until = {};
}

Finish RedisDecisions::any_finish(const Lease& lease) {
  constexpr Finish::To kAll[] = {
      Finish::To::kCompleted, Finish::To::kRetrying,   Finish::To::kRetrying,  Finish::To::kParked,
      Finish::To::kDead,      Finish::To::kNotStarted, Finish::To::kNotStarted};
  Finish finish;
  finish.to = kAll[below(std::size(kAll))];
  finish.lease = lease;
  if (below(2) == 0) finish.reason = fmt::format("reason {}", below(9));
  if (below(2) == 0) finish.error = fmt::format("error {}", below(9));
  if (below(2) == 0) finish.result = fmt::format("result {}", below(9));
  finish.counted = below(3) != 0;
  finish.unknown = finish.to != Finish::To::kCompleted && below(3) == 0;
  finish.delay = milliseconds(below(3) * 1000);
  const bool may_give_up = finish.to == Finish::To::kRetrying || finish.to == Finish::To::kParked;
  if (may_give_up && below(4) == 0) {
    finish.giving_up = GivingUp{fmt::format("why {}", below(9)), "what", 1, 0};
  }
  return finish;
}

void RedisDecisions::claim() {
  std::vector<Message> messages;
  for (const Bytes& key : some_keys()) messages.push_back(any_message(key));
  const milliseconds lease(below(3) * 1000);
  const auto claims = place_.store().claim(test::pointers(messages), {lease, {}, true}).value();
  ASSERT_EQ(claims.size(), messages.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    Modelled& modelled = model_[messages[i].key().text];
    spi::ClaimRequest request{messages[i].key().id, messages[i].fingerprint(), {}, {}, lease};
    if (const auto* acquired = std::get_if<Acquired>(&claims[i])) {
      request.token = acquired->lease.token;
      request.nonce = acquired->lease.nonce;
      modelled.leases.push_back(acquired->lease);
    }
    ASSERT_EQ(told(claims[i]), told(spi::decide_claim(modelled.record, request, now_)));
  }
}

void RedisDecisions::finish() {
  std::vector<Finish> batch;
  std::vector<Modelled*> whose;
  for (const Bytes& key : some_keys()) {
    Modelled& modelled = model_[key];
    if (modelled.leases.empty()) continue;
    const std::size_t back = below(4) == 0 ? below(modelled.leases.size()) : 0;
    batch.push_back(any_finish(modelled.leases[modelled.leases.size() - 1 - back]));
    whose.push_back(&modelled);
  }
  const auto applied = place_.store().finish(batch).value();
  ASSERT_EQ(applied.size(), batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    auto record = whose[i]->record;
    ASSERT_EQ(applied[i], spi::decide_finish(record, batch[i], now_)) << i;
    whose[i]->end(batch[i], now_);
  }
}

void RedisDecisions::keep_steps() {
  for (const Bytes& key : some_keys()) {
    Modelled& modelled = model_[key];
    if (modelled.leases.empty()) continue;
    const Lease& lease = below(4) == 0 ? modelled.leases.front() : modelled.leases.back();
    StepEntry entry;
    entry.name = fmt::format("step {}", below(3));
    const auto applied = place_.store().facets().steps->keep(lease, entry).value();
    const auto& record = modelled.record;
    const bool holds =
        record && record->state == RecordState::kConsuming && record->nonce == lease.nonce;
    ASSERT_EQ(applied, holds ? Applied::kYes : Applied::kLeaseLost);
    if (!holds) continue;
    std::erase(modelled.steps, entry.name);
    modelled.steps.push_back(entry.name);
  }
}

void RedisDecisions::renew() {
  std::vector<Lease> leases;
  std::vector<Modelled*> whose;
  for (const Bytes& key : some_keys()) {
    Modelled& modelled = model_[key];
    if (modelled.leases.empty()) continue;
    leases.push_back(modelled.leases[below(2) == 0 ? modelled.leases.size() - 1
                                                   : below(modelled.leases.size())]);
    whose.push_back(&modelled);
  }
  const milliseconds by(below(3) * 1000);
  const auto applied = place_.store().renew(leases, by).value();
  for (std::size_t i = 0; i < leases.size(); ++i) {
    auto& record = whose[i]->record;
    const bool holds = record && spi::decide_renew(*record, leases[i].nonce, by, now_);
    ASSERT_EQ(applied[i], holds ? Applied::kYes : Applied::kLeaseLost) << i;
  }
}

void RedisDecisions::forget() {
  for (const Bytes& key : some_keys()) {
    model_[key].record.reset();
    model_[key].steps.clear();
    model_[key].giving_up.clear();
    place_.server().run({"DEL", place_.name(place_.message(key))});
  }
}

void RedisDecisions::compare() {
  for (const auto& [key, modelled] : model_) {
    const Bytes bytes = place_.server().run({"GET", place_.name(place_.message(key))});
    std::optional<spi::Record> stored;
    if (!bytes.empty()) stored = decoded(bytes);
    ASSERT_EQ(told(stored), told(modelled.record)) << key;
    const StepJournal journal = bytes.empty() ? StepJournal() : journal_in(bytes);
    std::vector<std::string> steps;
    for (const StepEntry& entry : journal.entries) steps.push_back(entry.name);
    ASSERT_EQ(steps, modelled.steps) << key;
    ASSERT_EQ(journal.giving_up ? journal.giving_up->reason : "", modelled.giving_up) << key;
    const bool has_one = !steps.empty() || journal.giving_up;
    if (bytes.empty()) continue;
    ASSERT_EQ(bytes[0], has_one ? kJournalFormat : kFormat) << key;
  }
}

TEST_F(RedisDecisions, AreThoseOfTheRecordMachine) {
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed_);
  pass(0ms);
  for (int i = 0; i < kSteps; ++i) {
    SCOPED_TRACE(i);
    switch (below(7)) {
      case 0:
      case 1:
        claim();
        break;
      case 2:
        finish();
        break;
      case 3:
        renew();
        break;
      case 4:
        if (below(4) == 0) forget();
        break;
      case 5:
        keep_steps();
        break;
      default:
        pass(milliseconds(below(4) * 500));
    }
    if (!HasFatalFailure() && i % 4 == 0) compare();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace semel::redis
