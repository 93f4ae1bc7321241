// The SQL functions decide as the record machine does, side by side with the C++ store: long random
// runs on one database, and what is answered and stored is compared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include <semel/spi/record_machine.h>

#include "core/key_encoding.h"
#include "stores/postgres/test_functions.h"
#include "tests/support/test_environment.h"

namespace semel::postgres {
namespace {

constexpr int kModelSteps = 400;
constexpr std::uint64_t kModelKeys = 4;
// The clock passes by as much as no lease and no delay is long, so that the server's own time,
// which goes on meanwhile, decides nothing.
constexpr milliseconds kModelPasses = 20min;
constexpr milliseconds kModelLengths[] = {10min, 30min};

// All of what clients are answered; the run goes on until each has come.
constexpr const char* kModelAnswers[] = {"client new",    "client duplicate",
                                         "client busy",   "client retry",
                                         "client dead",   "client conflict",
                                         "client parked", "begin parked",
                                         "again new",     "unlocked",
                                         "begin new",     "begin duplicate",
                                         "begin busy",    "begin retry",
                                         "begin dead",    "begin conflict",
                                         "done",          "retry",
                                         "dead",          "lease_lost",
                                         "renewed",       "not renewed"};

// The word that the SQL functions have for a claim of `record`. Their callers settle nothing for a
// retry, so that they answer the same for one without a payload, which is Busy to a run.
std::string word_of(const Claim& claim, const std::optional<spi::Record>& record = std::nullopt) {
  const bool retries = record && record->state == RecordState::kRetrying;
  if (retries && std::holds_alternative<Busy>(claim)) return "retry";
  if (std::holds_alternative<Acquired>(claim)) return "new";
  if (std::holds_alternative<Completed>(claim)) return "duplicate";
  if (std::holds_alternative<Busy>(claim)) return "busy";
  if (std::holds_alternative<Waiting>(claim)) return "retry";
  if (const auto* closed = std::get_if<Closed>(&claim)) return closed->parked ? "parked" : "dead";
  return "conflict";
}

class FunctionsModel : public FunctionsTest {
 protected:
  struct Modelled {
    std::optional<spi::Record> record;
    std::vector<Lease> leases;
  };

  void claim_in_transaction();
  void claim_with_lease();
  void ask_again();
  void finish_any();
  void park_any();
  void unlock_any();
  void renew_any();
  void forget();
  void compare();

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool by_client() { return below(2) == 0; }
  std::string any_key() { return fmt::format("key {}", below(kModelKeys)); }
  std::string any_payload() { return fmt::format("payload {}", below(6) == 0 ? 1 : 0); }
  KeyId id(const std::string& key) const { return core::encode_key(consumer_, key); }
  milliseconds any_length() { return kModelLengths[below(std::size(kModelLengths))]; }
  static std::string interval_of(milliseconds length) {
    return fmt::format("{} milliseconds", length.count());
  }
  // The model's answer to a claim of `key`; changes the model.
  Claim decided(std::optional<spi::Record>& record, const std::string& key,
                const std::string& payload, const Lease& lease, milliseconds length) const {
    return spi::decide_claim(
        record, {id(key), fingerprint_of(payload), lease.token, lease.nonce, length}, now_);
  }
  static Nonce some_nonce() {
    Nonce nonce;
    nonce.bytes.fill(7);
    return nonce;
  }
  // As a claim in a transaction leaves it.
  Claim claimed_at_once(std::optional<spi::Record>& record, const std::string& key,
                        const std::string& payload) const {
    Claim answer = decided(record, key, payload, {id(key), {}, some_nonce()}, 1h);
    if (std::holds_alternative<Acquired>(answer)) {
      const Finish done = test::completed(std::get<Acquired>(answer).lease);
      EXPECT_EQ(spi::decide_finish(record, done, now_), Applied::kYes);
    }
    return answer;
  }

  const std::uint64_t seed_ = test::test_seed();
  test::SeededRandom random_{seed_};
  StoreTime now_{1h};
  std::map<std::string, Modelled> model_;
  std::map<std::string, int> seen_;
};

void FunctionsModel::claim_in_transaction() {
  std::vector<std::string> keys, payloads;
  const std::uint64_t count = 1 + below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    keys.push_back(any_key());
    payloads.push_back(any_payload());
  }
  if (!by_client()) {
    Held held = claim_in_unit(*store_, test::make_message(consumer_, keys[0], payloads[0]));
    auto& record = model_[keys[0]].record;
    const Claim expected = claimed_at_once(record, keys[0], payloads[0]);
    ASSERT_EQ(word_of(held.claim), word_of(expected));
    if (is<Acquired>(held.claim)) held.complete();
    return;
  }
  auto changed = model_;
  std::string expected;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto& record = changed[keys[i]].record;
    const Claim answer = claimed_at_once(record, keys[i], payloads[i]);
    const std::string word = word_of(answer, record);
    if (!expected.empty()) expected += '\n';
    expected += word;
    const auto* closed = std::get_if<Closed>(&answer);
    expected += fmt::format("|{}", closed != nullptr ? closed->reason : "");
    ++seen_["client " + word];
  }
  client_.ask("BEGIN");
  std::string answered;
  if (below(2) == 0) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) answered += '\n';
      answered += client_.ask(fmt::format(
          "SELECT outcome, reason FROM semel.claim('payments', '{}', '{}')", keys[i], payloads[i]));
    }
  } else {
    answered = client_.ask(
        fmt::format("SELECT outcome, reason FROM semel.claim_many('payments', ARRAY['{}'], "
                    "ARRAY['{}']::bytea[]) ORDER BY ordinality",
                    fmt::join(keys, "', '"), fmt::join(payloads, "', '")));
  }
  ASSERT_EQ(answered, expected);
  const bool commits = below(3) != 0;
  client_.ask(commits ? "COMMIT" : "ROLLBACK");
  if (commits) model_ = changed;
}

void FunctionsModel::claim_with_lease() {
  const std::string key = any_key(), payload = any_payload();
  const milliseconds length = any_length();
  Modelled& modelled = model_[key];
  if (by_client()) {
    const Begun answer = begun(client_, key, interval_of(length), payload);
    const Claim expected = decided(modelled.record, key, payload, answer.lease, length);
    ASSERT_EQ(answer.outcome, word_of(expected, modelled.record));
    ++seen_["begin " + answer.outcome];
    const auto* acquired = std::get_if<Acquired>(&expected);
    if (acquired == nullptr) return;
    EXPECT_EQ(answer.rest,
              fmt::format("{}|{}", acquired->attempt, acquired->taken_over ? "t" : "f"));
    modelled.leases.push_back(answer.lease);
    return;
  }
  const Message message = test::make_message(consumer_, key, payload);
  const Message* const one = &message;
  const Claim answer = store_->claim({&one, 1}, {length, {}, false}).value().front();
  Lease lease{id(key), {}, some_nonce()};
  if (is<Acquired>(answer)) lease = std::get<Acquired>(answer).lease;
  const Claim expected = decided(modelled.record, key, payload, lease, length);
  ASSERT_EQ(word_of(answer), word_of(expected));
  if (!is<Acquired>(answer)) return;
  EXPECT_EQ(std::get<Acquired>(answer).attempt, std::get<Acquired>(expected).attempt);
  EXPECT_EQ(std::get<Acquired>(answer).taken_over, std::get<Acquired>(expected).taken_over);
  modelled.leases.push_back(lease);
}

// A client that draws the nonce itself, and was not answered: under the last of the key, or under
// that of an earlier holder.
void FunctionsModel::ask_again() {
  const std::string key = any_key(), payload = any_payload();
  Modelled& modelled = model_[key];
  if (modelled.leases.empty()) return;
  const Lease lease = modelled.leases[below(modelled.leases.size())];
  const milliseconds length = any_length();
  auto& record = modelled.record;
  const bool over = record && record->lease_until <= now_;
  std::optional<spi::Record> after = record;
  Claim expected = decided(after, key, payload, lease, length);
  std::optional<Acquired> before;
  if (is<Busy>(expected) && !over) {
    before = spi::acquired_before(id(key), *record, lease.nonce, now_);
  }
  if (before) {
    after->lease_until = now_ + length;
    expected = *before;
  }
  record = std::move(after);
  const std::string word = before ? "new" : word_of(expected, record);
  std::string rest = "|";
  if (const auto* acquired = std::get_if<Acquired>(&expected)) {
    rest = fmt::format("{}|{}", acquired->attempt, acquired->taken_over ? "t" : "f");
    modelled.leases.push_back(lease);
  }
  ASSERT_EQ(client_.ask(fmt::format("SELECT outcome, attempt, taken_over FROM semel.begin("
                                    "'payments', '{}', '{}'::bytea, '{}', own_nonce => {})",
                                    key, payload, interval_of(length),
                                    bytes(sql::Param(lease.nonce).bytes()))),
            word + "|" + rest);
  ++seen_[before ? "again new" : "again " + word];
}

// Clients know no parking, and are answered that it is so.
void FunctionsModel::park_any() {
  Modelled& modelled = model_[any_key()];
  if (modelled.leases.empty()) return;
  const Finish finish = test::parked(modelled.leases.back(), nullptr, "operator");
  ASSERT_EQ(LiveTest::finish(*store_, finish), spi::decide_finish(modelled.record, finish, now_));
}

void FunctionsModel::unlock_any() {
  const std::string key = any_key();
  Modelled& modelled = model_[key];
  if (!modelled.record) return;
  const bool unlocked = spi::decide_unlock(*modelled.record, now_);
  ASSERT_EQ(store_->facets().records->unlock(id(key)).value(), unlocked);
  if (unlocked) ++seen_["unlocked"];
}

void FunctionsModel::finish_any() {
  const std::string key = any_key();
  Modelled& modelled = model_[key];
  if (modelled.leases.empty()) return;
  // An earlier holder's too.
  const Lease lease =
      below(3) == 0 ? modelled.leases[below(modelled.leases.size())] : modelled.leases.back();
  const std::uint64_t which = below(4);
  Finish finish;
  std::string call, ended;
  const std::string nonce = bytes(sql::Param(lease.nonce).bytes());
  if (which == 0) {
    finish = test::completed(lease, "result of " + key);
    call = fmt::format("complete('payments', '{}', {}, 'result of {}')", key, nonce, key);
    ended = "done";
  } else if (which < 3) {
    const milliseconds delay = below(2) == 0 ? 0ms : any_length();
    finish = test::retrying(lease, delay, nullptr, "handler.timeout");
    call = fmt::format("retry('payments', '{}', {}, '{}', 'handler.timeout')", key, nonce,
                       interval_of(delay));
    ended = "retry";
  } else {
    finish = test::dead(lease, nullptr, "payload.invalid");
    call = fmt::format("dead('payments', '{}', {}, 'payload.invalid')", key, nonce);
    ended = "dead";
  }
  const Applied expected = spi::decide_finish(modelled.record, finish, now_);
  if (by_client()) {
    const bool lost = expected == Applied::kLeaseLost;
    ASSERT_EQ(called(client_, call), lost ? "lease_lost" : ended);
    ++seen_[lost ? "lease_lost" : ended];
  } else {
    ASSERT_EQ(LiveTest::finish(*store_, finish), expected);
  }
}

void FunctionsModel::renew_any() {
  const std::string key = any_key();
  Modelled& modelled = model_[key];
  if (modelled.leases.empty() || !modelled.record) return;
  const Lease lease = modelled.leases[below(modelled.leases.size())];
  const milliseconds length = any_length();
  const bool expected = spi::decide_renew(*modelled.record, lease.nonce, length, now_);
  if (by_client()) {
    ASSERT_EQ(
        called(client_, fmt::format("renew('payments', '{}', {}, '{}')", key,
                                    bytes(sql::Param(lease.nonce).bytes()), interval_of(length))),
        expected ? "renewed" : "lease_lost");
    ++seen_[expected ? "renewed" : "not renewed"];
    return;
  }
  const auto renewed = store_->renew({&lease, 1}, length).value();
  ASSERT_EQ(renewed.front() == Applied::kYes, expected);
}

// As an operator's command would: else all keys are closed before long.
void FunctionsModel::forget() {
  const std::string key = any_key();
  const std::string gone =
      fmt::format("DELETE FROM semel.semel_record WHERE id = {}", bytes(id(key).view()));
  client_.ask(gone);
  model_.erase(key);
}

void FunctionsModel::compare() {
  for (const auto& [key, modelled] : model_) {
    const std::string stored = client_.ask(
        fmt::format("SELECT state, attempt, outcome_unknown, convert_from(result, 'UTF8'), "
                    "convert_from(reason, 'UTF8'), encode(fingerprint, 'hex') = encode({}, 'hex'), "
                    "next_at IS NULL, lease_until IS NULL FROM semel.semel_record WHERE id = {}",
                    bytes(modelled.record ? modelled.record->fingerprint.view() : BytesView()),
                    bytes(id(key).view())));
    std::string expected;
    if (modelled.record) {
      const spi::Record& record = *modelled.record;
      const bool open = record.state != RecordState::kCompleted;
      expected =
          fmt::format("{}|{}|{}|{}|{}|t|{}|{}", to_string(record.state),
                      open ? std::to_string(record.attempt) : "",
                      open ? (record.outcome_unknown ? "t" : "f") : "", record.result,
                      open ? record.reason : "", record.state == RecordState::kRetrying ? "f" : "t",
                      record.state == RecordState::kConsuming ? "f" : "t");
    }
    ASSERT_EQ(stored, expected) << key;
  }
}

TEST_F(FunctionsModel, TheyDecideAsTheRecordMachineDoes) {
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed_));
  const auto all_seen = [&] {
    return std::ranges::all_of(kModelAnswers, [&](const char* one) { return seen_[one] > 0; });
  };
  for (int step = 0; step < kModelSteps || !all_seen(); ++step) {
    SCOPED_TRACE(step);
    ASSERT_LT(step, 20 * kModelSteps) << "some answer never comes";
    const std::uint64_t which = below(16);
    if (which < 2) {
      claim_in_transaction();
    } else if (which < 6) {
      claim_with_lease();
    } else if (which < 10) {
      finish_any();
    } else if (which == 10) {
      renew_any();
    } else if (which == 11) {
      ask_again();
    } else if (which == 12) {
      park_any();
    } else if (which == 13) {
      unlock_any();
    } else if (which == 14) {
      advance(kModelPasses);
      now_ += kModelPasses;
    } else {
      forget();
    }
    if (HasFatalFailure()) return;
    compare();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace semel::postgres
