// FunctionsModel: SQL functions and the C++ store use one database at random, in parallel with the
// record machine, and answers and stored rows are compared. For tests.
//
//   FunctionsModel model(*store, consumer, client);
//   model.run();
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/records.h>
#include <semel/guard.h>
#include <semel/spi/record_machine.h>
#include <semel/spi/unit_of_work.h>

#include "core/key_encoding.h"
#include "tests/support/builders.h"
#include "tests/support/finish_one.h"
#include "tests/support/test_environment.h"

namespace semel::sql {

// Calls the functions of one server as a client without our library. All calls are for one
// consumer. Nonces and rows are bytes; answers are in the words of the functions.
class FunctionsClient {
 public:
  using milliseconds = std::chrono::milliseconds;

  FunctionsClient() = default;
  FunctionsClient(const FunctionsClient&) = delete;
  FunctionsClient& operator=(const FunctionsClient&) = delete;
  virtual ~FunctionsClient() = default;

  virtual void begin_transaction() = 0;
  virtual void end_transaction(bool commits) = 0;
  // "outcome|reason".
  virtual std::string claim(const std::string& key, const std::string& payload) = 0;
  // The same for each, separated by "\n".
  virtual std::string claim_many(const std::vector<std::string>& keys,
                                 const std::vector<std::string>& payloads) = 0;
  struct Begun {
    std::string outcome;
    Lease lease;
    int attempt = 0;
    bool taken_over = false;
  };
  // Parsed from a row "outcome|nonce in hexadecimal|token|attempt|taken over", the last as "t" or
  // "1" where true.
  static Begun begun_of(ConsumerNumber consumer, const std::string& key, const std::string& row);
  virtual Begun begin(const std::string& key, const std::string& payload, milliseconds lease,
                      const std::optional<Nonce>& own_nonce) = 0;
  // These return the word that the SQL function returned.
  virtual std::string renew(const std::string& key, const Nonce& nonce, milliseconds lease) = 0;
  virtual std::string complete(const std::string& key, const Nonce& nonce,
                               const std::string& result) = 0;
  virtual std::string retry(const std::string& key, const Nonce& nonce, milliseconds after,
                            const std::string& reason) = 0;
  virtual std::string dead(const std::string& key, const Nonce& nonce,
                           const std::string& reason) = 0;
  virtual std::string release(const std::string& key, const Nonce& nonce) = 0;
  // Beside the functions.
  virtual void forget(const KeyId& id) = 0;
  // state|attempt|outcome_unknown|result|reason|its fingerprint is this|next_at is NULL|lease_until
  // is NULL: truth as "t" and "f", NULL as nothing; empty where there is no record.
  virtual std::string stored(const KeyId& id, const Fingerprint& fingerprint) = 0;
  virtual void advance(milliseconds by) = 0;
};

class FunctionsModel {
 public:
  FunctionsModel(Store& store, ConsumerNumber consumer, FunctionsClient& client)
      : store_(store), consumer_(consumer), client_(client) {}

  // Fails the test where an answer, or a stored row, differs from the record machine's.
  void run();

 private:
  using milliseconds = std::chrono::milliseconds;

  static constexpr int kSteps = 400;
  static constexpr std::uint64_t kKeys = 4;
  // The clock moves by a length that no lease and no delay has, so that the server's own time,
  // which passes meanwhile, decides nothing.
  static constexpr milliseconds kPasses = std::chrono::minutes(20);
  static constexpr milliseconds kLengths[] = {std::chrono::minutes(10), std::chrono::minutes(30)};
  // All answers of clients; the run continues until each has occurred.
  static constexpr const char* kAnswers[] = {"client new",    "client duplicate",
                                             "client busy",   "client retry",
                                             "client dead",   "client conflict",
                                             "client parked", "begin parked",
                                             "again new",     "unlocked",
                                             "begin new",     "begin duplicate",
                                             "begin busy",    "begin retry",
                                             "begin dead",    "begin conflict",
                                             "done",          "retry",
                                             "dead",          "lease_lost",
                                             "renewed",       "not renewed",
                                             "released",      "released and gone"};

  struct Modelled {
    std::optional<spi::Record> record;
    std::vector<Lease> leases;
  };

  void step();
  void claim_in_transaction();
  void claim_in_unit(const std::string& key, const std::string& payload);
  void claim_by_client(const std::vector<std::string>& keys,
                       const std::vector<std::string>& payloads);
  void claim_with_lease();
  void ask_again();
  void finish_any();
  void park_any();
  void unlock_any();
  void renew_any();
  void forget_any();
  void compare();

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool by_client() { return below(2) == 0; }
  std::string any_key() { return "key " + std::to_string(below(kKeys)); }
  std::string any_payload() { return below(6) == 0 ? "payload 1" : "payload 0"; }
  KeyId id(const std::string& key) const { return core::encode_key(consumer_, key); }
  milliseconds any_length() { return kLengths[below(std::size(kLengths))]; }
  const Lease& any_lease(const Modelled& modelled) {
    return modelled.leases[below(modelled.leases.size())];
  }
  static Nonce some_nonce() {
    Nonce nonce;
    nonce.bytes.fill(7);
    return nonce;
  }
  // The word of the SQL functions for a claim of `record`. Their callers settle nothing for a
  // retry, so the functions answer the same for one without a payload, which is Busy for a runner.
  static std::string word_of(const Claim& claim,
                             const std::optional<spi::Record>& record = std::nullopt);
  static const char* truth_of(bool truth) { return truth ? "t" : "f"; }
  // The model's answer to a claim of `key`; changes the model.
  Claim decided(std::optional<spi::Record>& record, const std::string& key,
                const std::string& payload, const Lease& lease, milliseconds length) const {
    return spi::decide_claim(
        record, {id(key), fingerprint_of(payload), lease.token, lease.nonce, length}, now_);
  }
  // As a claim in a transaction leaves it.
  Claim claimed_at_once(std::optional<spi::Record>& record, const std::string& key,
                        const std::string& payload) const;
  Applied finished(const Finish& finish);

  Store& store_;
  const ConsumerNumber consumer_;
  FunctionsClient& client_;
  const std::uint64_t seed_ = test::test_seed();
  test::SeededRandom random_{seed_};
  StoreTime now_{std::chrono::hours(1)};
  std::map<std::string, Modelled> model_;
  std::map<std::string, int> seen_;
};

inline FunctionsClient::Begun FunctionsClient::begun_of(ConsumerNumber consumer,
                                                        const std::string& key,
                                                        const std::string& row) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= row.size();) {
    const std::size_t end = std::min(row.find('|', at), row.size());
    fields.push_back(row.substr(at, end - at));
    at = end + 1;
  }
  Begun begun;
  begun.outcome = fields.at(0);
  begun.lease.key = core::encode_key(consumer, key);
  if (begun.outcome != "new") return begun;
  constexpr int kHexadecimal = 16;
  for (std::size_t i = 0; i < begun.lease.nonce.bytes.size(); ++i) {
    begun.lease.nonce.bytes.at(i) =
        static_cast<unsigned char>(std::stoi(fields.at(1).substr(2 * i, 2), nullptr, kHexadecimal));
  }
  begun.lease.token = static_cast<Token>(std::stoll(fields.at(2)));
  begun.attempt = std::stoi(fields.at(3));
  begun.taken_over = fields.at(4) == "t" || fields.at(4) == "1";
  return begun;
}

inline std::string FunctionsModel::word_of(const Claim& claim,
                                           const std::optional<spi::Record>& record) {
  const bool retries = record && record->state == RecordState::kRetrying;
  if (retries && std::holds_alternative<Busy>(claim)) return "retry";
  if (std::holds_alternative<Acquired>(claim)) return "new";
  if (std::holds_alternative<Completed>(claim)) return "duplicate";
  if (std::holds_alternative<Busy>(claim)) return "busy";
  if (std::holds_alternative<Waiting>(claim)) return "retry";
  if (const auto* closed = std::get_if<Closed>(&claim)) return closed->parked ? "parked" : "dead";
  return "conflict";
}

inline Claim FunctionsModel::claimed_at_once(std::optional<spi::Record>& record,
                                             const std::string& key,
                                             const std::string& payload) const {
  Claim answer = decided(record, key, payload, {id(key), {}, some_nonce()}, std::chrono::hours(1));
  if (std::holds_alternative<Acquired>(answer)) {
    const Finish done = test::completed(std::get<Acquired>(answer).lease);
    EXPECT_EQ(spi::decide_finish(record, done, now_), Applied::kYes);
  }
  return answer;
}

inline Applied FunctionsModel::finished(const Finish& finish) {
  return test::finish_one(store_, finish);
}

inline void FunctionsModel::claim_in_unit(const std::string& key, const std::string& payload) {
  const Message message = test::make_message(consumer_, key, payload);
  const Message* const one = &message;
  const auto unit = store_.facets().transactional->begin({}).value();
  const auto claims = unit->claim({&one, 1});
  ASSERT_TRUE(claims.has_value()) << claims.error().message;
  const Claim expected = claimed_at_once(model_[key].record, key, payload);
  ASSERT_EQ(word_of(claims->front()), word_of(expected));
  const auto* const acquired = std::get_if<Acquired>(&claims->front());
  if (acquired == nullptr) return;
  const Finish done = test::completed(acquired->lease);
  ASSERT_TRUE(unit->finish({&done, 1}).has_value());
  ASSERT_TRUE(unit->commit().has_value());
}

inline void FunctionsModel::claim_by_client(const std::vector<std::string>& keys,
                                            const std::vector<std::string>& payloads) {
  auto changed = model_;
  std::string expected;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto& record = changed[keys[i]].record;
    const Claim answer = claimed_at_once(record, keys[i], payloads[i]);
    const std::string word = word_of(answer, record);
    const auto* const closed = std::get_if<Closed>(&answer);
    if (!expected.empty()) expected += '\n';
    expected += word + "|" + (closed != nullptr ? closed->reason : "");
    ++seen_["client " + word];
  }
  client_.begin_transaction();
  std::string answered;
  if (below(2) == 0) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) answered += '\n';
      answered += client_.claim(keys[i], payloads[i]);
    }
  } else {
    answered = client_.claim_many(keys, payloads);
  }
  ASSERT_EQ(answered, expected);
  const bool commits = below(3) != 0;
  client_.end_transaction(commits);
  if (commits) model_ = changed;
}

inline void FunctionsModel::claim_in_transaction() {
  std::vector<std::string> keys, payloads;
  const std::uint64_t count = 1 + below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    keys.push_back(any_key());
    payloads.push_back(any_payload());
  }
  if (by_client()) return claim_by_client(keys, payloads);
  claim_in_unit(keys[0], payloads[0]);
}

inline void FunctionsModel::claim_with_lease() {
  const std::string key = any_key(), payload = any_payload();
  const milliseconds length = any_length();
  Modelled& modelled = model_[key];
  if (by_client()) {
    const FunctionsClient::Begun answer = client_.begin(key, payload, length, std::nullopt);
    const Claim expected = decided(modelled.record, key, payload, answer.lease, length);
    ASSERT_EQ(answer.outcome, word_of(expected, modelled.record));
    ++seen_["begin " + answer.outcome];
    const auto* const acquired = std::get_if<Acquired>(&expected);
    if (acquired == nullptr) return;
    EXPECT_EQ(answer.attempt, acquired->attempt);
    EXPECT_EQ(answer.taken_over, acquired->taken_over);
    modelled.leases.push_back(answer.lease);
    return;
  }
  const Message message = test::make_message(consumer_, key, payload);
  const Message* const one = &message;
  const Claim answer = store_.claim({&one, 1}, {length, {}, false}).value().front();
  Lease lease{id(key), {}, some_nonce()};
  const auto* const acquired = std::get_if<Acquired>(&answer);
  if (acquired != nullptr) lease = acquired->lease;
  const Claim expected = decided(modelled.record, key, payload, lease, length);
  ASSERT_EQ(word_of(answer), word_of(expected));
  if (acquired == nullptr) return;
  EXPECT_EQ(acquired->attempt, std::get<Acquired>(expected).attempt);
  EXPECT_EQ(acquired->taken_over, std::get<Acquired>(expected).taken_over);
  modelled.leases.push_back(lease);
}

// A client that draws the nonce itself and got no answer: under the last nonce of the key, or under
// that of an earlier holder.
inline void FunctionsModel::ask_again() {
  const std::string key = any_key(), payload = any_payload();
  Modelled& modelled = model_[key];
  if (modelled.leases.empty()) return;
  const Lease lease = any_lease(modelled);
  const milliseconds length = any_length();
  auto& record = modelled.record;
  const bool over = record && record->lease_until <= now_;
  std::optional<spi::Record> after = record;
  Claim expected = decided(after, key, payload, lease, length);
  std::optional<Acquired> before;
  if (std::holds_alternative<Busy>(expected) && !over) {
    before = spi::acquired_before(*after, {id(key), {}, {}, lease.nonce, length}, now_);
  }
  if (before) expected = *before;
  record = std::move(after);
  const std::string word = before ? "new" : word_of(expected, record);
  const FunctionsClient::Begun answer = client_.begin(key, payload, length, lease.nonce);
  ASSERT_EQ(answer.outcome, word);
  if (const auto* const acquired = std::get_if<Acquired>(&expected)) {
    EXPECT_EQ(answer.attempt, acquired->attempt);
    EXPECT_EQ(answer.taken_over, acquired->taken_over);
    modelled.leases.push_back(lease);
  }
  ++seen_[before ? "again new" : "again " + word];
}

// Clients cannot park, but are told of a parked record.
inline void FunctionsModel::park_any() {
  Modelled& modelled = model_[any_key()];
  if (modelled.leases.empty()) return;
  const Finish finish = test::parked(modelled.leases.back(), nullptr, "operator");
  ASSERT_EQ(finished(finish), spi::decide_finish(modelled.record, finish, now_));
}

inline void FunctionsModel::unlock_any() {
  const std::string key = any_key();
  Modelled& modelled = model_[key];
  if (!modelled.record) return;
  const bool unlocked = spi::decide_unlock(*modelled.record, now_);
  ASSERT_EQ(store_.facets().records->unlock(id(key)).value(), unlocked);
  if (unlocked) ++seen_["unlocked"];
}

inline void FunctionsModel::finish_any() {
  const std::string key = any_key();
  Modelled& modelled = model_[key];
  if (modelled.leases.empty()) return;
  // An earlier holder's lease too.
  const Lease lease = below(3) == 0 ? any_lease(modelled) : modelled.leases.back();
  const std::uint64_t which = below(5);
  const milliseconds delay = below(2) == 0 ? milliseconds(0) : any_length();
  Finish finish;
  std::string ended;
  if (which == 0) {
    finish = test::completed(lease, "result of " + key);
    ended = "done";
  } else if (which < 3) {
    finish = test::retrying(lease, delay, nullptr, "handler.timeout");
    ended = "retry";
  } else if (which == 4) {
    finish.to = Finish::To::kNotStarted;
    finish.lease = lease;
    ended = "released";
  } else {
    finish = test::dead(lease, nullptr, "payload.invalid");
    ended = "dead";
  }
  const Applied expected = spi::decide_finish(modelled.record, finish, now_);
  if (!by_client()) {
    ASSERT_EQ(finished(finish), expected);
    return;
  }
  std::string answered;
  if (ended == "done") answered = client_.complete(key, lease.nonce, finish.result);
  if (ended == "retry") answered = client_.retry(key, lease.nonce, delay, finish.reason);
  if (ended == "released") answered = client_.release(key, lease.nonce);
  if (ended == "dead") answered = client_.dead(key, lease.nonce, finish.reason);
  const std::string word = expected == Applied::kLeaseLost ? "lease_lost" : ended;
  ASSERT_EQ(answered, word);
  ++seen_[word];
  if (word == "released" && !modelled.record) ++seen_["released and gone"];
}

inline void FunctionsModel::renew_any() {
  const std::string key = any_key();
  Modelled& modelled = model_[key];
  if (modelled.leases.empty() || !modelled.record) return;
  const Lease lease = any_lease(modelled);
  const milliseconds length = any_length();
  const bool expected = spi::decide_renew(*modelled.record, lease.nonce, length, now_);
  if (by_client()) {
    ASSERT_EQ(client_.renew(key, lease.nonce, length), expected ? "renewed" : "lease_lost");
    ++seen_[expected ? "renewed" : "not renewed"];
    return;
  }
  const auto renewed = store_.renew({&lease, 1}, length).value();
  ASSERT_EQ(renewed.front() == Applied::kYes, expected);
}

// As an operator's command would: otherwise all keys are closed before long.
inline void FunctionsModel::forget_any() {
  const std::string key = any_key();
  client_.forget(id(key));
  model_.erase(key);
}

inline void FunctionsModel::compare() {
  for (const auto& [key, modelled] : model_) {
    std::string expected;
    if (modelled.record) {
      const spi::Record& record = *modelled.record;
      const bool open = record.state != RecordState::kCompleted;
      expected = std::string(to_string(record.state)) + "|" +
                 (open ? std::to_string(record.attempt) : "") + "|" +
                 (open ? truth_of(record.outcome_unknown) : "") + "|" + record.result + "|" +
                 (open ? record.reason : "") + "|t|" +
                 truth_of(record.state != RecordState::kRetrying) + "|" +
                 truth_of(record.state != RecordState::kConsuming);
    }
    const Fingerprint print = modelled.record ? modelled.record->fingerprint : Fingerprint{};
    ASSERT_EQ(client_.stored(id(key), print), expected) << key;
  }
}

inline void FunctionsModel::step() {
  const std::uint64_t which = below(16);
  if (which < 2) return claim_in_transaction();
  if (which < 6) return claim_with_lease();
  if (which < 10) return finish_any();
  if (which == 10) return renew_any();
  if (which == 11) return ask_again();
  if (which == 12) return park_any();
  if (which == 13) return unlock_any();
  if (which == 15) return forget_any();
  client_.advance(kPasses);
  now_ += kPasses;
}

inline void FunctionsModel::run() {
  SCOPED_TRACE("SEMEL_TEST_SEED=" + std::to_string(seed_));
  const auto all_seen = [&] {
    return std::ranges::all_of(kAnswers, [&](const char* one) { return seen_[one] > 0; });
  };
  for (int at = 0; at < kSteps || !all_seen(); ++at) {
    SCOPED_TRACE(at);
    ASSERT_LT(at, 20 * kSteps) << "some answer never comes";
    step();
    if (testing::Test::HasFatalFailure()) return;
    compare();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace semel::sql
