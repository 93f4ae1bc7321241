// A Finish changes a store as its plan says: long random runs of messages that arrive, are claimed
// and end in every way, compared with the model after each step.
#include "tests/conformance/finish_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/key_encoding.h"
#include "tests/support/rounds.h"

namespace semel::conformance {
namespace {

constexpr std::size_t kFinishModelSteps = 1'500;  // of a night
constexpr std::uint64_t kFinishModelKeys = 3;
constexpr std::uint64_t kFinishModelKeyEach = 25;
constexpr std::uint64_t kFinishModelLately = 4;
constexpr std::uint64_t kFinishModelBatch = 4;

// A record in the form that store and model share. For a completed one, only its state.
std::string record_text(const std::optional<RecordView>& view) {
  if (!view) return "none";
  if (view->state == RecordState::kCompleted) return "completed " + view->result;
  return fmt::format("{} attempt {} unknown {} reason {} error {}", to_string(view->state),
                     view->attempt, view->outcome_unknown, view->reason, view->error);
}

std::string journal_text(const StepJournal& journal) {
  std::string text;
  for (const StepEntry& entry : journal.entries) text += entry.name + " ";
  if (!journal.giving_up) return text;
  const GivingUp& note = *journal.giving_up;
  return fmt::format("{}giving up {} {} {} {} {}", text, note.reason, note.error, note.attempts,
                     note.undo_tries, note.uncounted_undo_tries);
}

std::string letter_text(const DeadLetter& letter) {
  return fmt::format("{} {} {} after {} attempts {} replayed {} from {} {} for {}: {}", letter.key,
                     model_name_in(letter.headers), letter.payload,
                     model_steps_in(letter.dead_at - letter.first_seen), letter.attempts,
                     letter.replayed, letter.partition, letter.position, letter.reason,
                     letter.error);
}

}  // namespace

InHand& FinishModelSuite::any_in_hand() {
  // Mostly a recent one.
  const std::uint64_t back = chance(4) ? in_hand_.size() : kFinishModelLately;
  const std::uint64_t behind = below(std::min<std::uint64_t>(back, in_hand_.size()));
  InHand& hand = in_hand_[in_hand_.size() - 1 - behind];
  changed_ = hand.message.key().text;
  return hand;
}

std::vector<Bytes> FinishModelSuite::known_keys() const {
  std::vector<Bytes> keys;
  for (const auto& [key, record] : model_->records) keys.push_back(key);
  return keys;
}

void FinishModelSuite::SetUp() {
  StoreTest::SetUp();
  model_.emplace(consumer());
  queue_ = attach("sent");
}

// Completed is for ever: new keys come, and old ones are let alone.
Bytes FinishModelSuite::any_key() {
  if (chance(kFinishModelKeyEach)) ++first_key_;
  return fmt::format("k{}", first_key_ + below(kFinishModelKeys));
}

void FinishModelSuite::advance_one() {
  advance(kStep);
  model_->now += kStep;
}

void FinishModelSuite::claim_one() {
  if (in_hand_.empty() || chance(2)) in_hand_.push_back(from_broker());
  InHand& hand = any_in_hand();
  if (hand.lease || !keyed(hand)) return;
  const milliseconds lease = kStep * (1 + below(2)) + kMargin;
  const Claim answer = claim(hand.message, {lease, {}, true});
  spi::ClaimRequest request{hand.message.key().id, hand.message.fingerprint(), {}, {}, lease};
  request.nonce.bytes.fill(0xee);
  const Bytes key = hand.message.key().text;
  ASSERT_EQ(essence(answer), essence(model_->claim(request, key)));
  if (!is<Acquired>(answer)) return settle(hand, answer);
  hand.lease = std::get<Acquired>(answer).lease;
  model_->records[key].record->nonce = hand.lease->nonce;
}

// As an engine ends what it may not handle.
void FinishModelSuite::settle(InHand& hand, const Claim& answer) {
  const auto* const closed = std::get_if<Closed>(&answer);
  if (is<Busy>(answer) || (closed != nullptr && closed->parked && !closed->held)) {
    if (hand.arrival.row) {
      const RowTag row = *hand.arrival.row;
      ASSERT_TRUE(held().release({&row, 1}, 0ms).has_value());
      model_->give_back(*hand.row);
    }
  } else if (is<Conflict>(answer)) {
    const Finish letter = any_finish(hand, Finish::To::kDead);
    ASSERT_EQ(finish(letter), model_->finish(letter, hand.row));
  } else if (hand.arrival.row) {
    const Finish ack = test::ack_only(*hand.arrival.row);
    ASSERT_EQ(finish(ack), model_->finish(ack, hand.row));
  }
  in_hand_.erase(in_hand_.begin() + (&hand - in_hand_.data()));
}

Finish FinishModelSuite::any_finish(const InHand& hand, Finish::To to) {
  Finish finish;
  finish.to = to;
  if (to != Finish::To::kAckOnly) finish.lease = hand.lease;
  finish.ack = hand.arrival.row;
  // One whose row has gone on would be there twice: then nobody can tell the two apart.
  const bool gone_on = hand.row && !model_->rows.contains(*hand.row);
  if (!gone_on && !chance(4)) finish.keep = &hand.message;
  // A message is held in the line that its arrival names, and letters without a key by its place.
  if (!chance(4) || hand.arrival.line) finish.arrival = &hand.arrival;
  finish.attempts = static_cast<int>(below(9));
  finish.delay = any_delay();
  finish.counted = !chance(3);
  finish.inbox = chance(4);
  if (to == Finish::To::kCompleted) {
    if (chance(2)) finish.result = fmt::format("result {}", below(100));
  } else if (to != Finish::To::kNotStarted && to != Finish::To::kAckOnly) {
    finish.reason = chance(2) ? "handler.native" : "operator";
    if (chance(2)) finish.error = fmt::format("error {}", below(100));
    finish.unknown = chance(4);
  }
  const bool waits = to == Finish::To::kRetrying || to == Finish::To::kParked;
  if (hand.lease && waits && chance(3)) finish.giving_up = GivingUp{"attempts", "why", 8, 1, 5};
  for (auto count = below(6); count > 4; --count) {
    finish.outgoing.push_back({queue_, held_message("sent", "sent")});
  }
  return finish;
}

Finish::To FinishModelSuite::any_end(const InHand& hand) {
  constexpr Finish::To kEnds[] = {
      Finish::To::kCompleted, Finish::To::kRetrying, Finish::To::kRetrying,  Finish::To::kRetrying,
      Finish::To::kParked,    Finish::To::kDead,     Finish::To::kNotStarted};
  constexpr Finish::To kEndsWithoutRecord[] = {Finish::To::kCompleted, Finish::To::kRetrying,
                                               Finish::To::kParked,    Finish::To::kDead,
                                               Finish::To::kAckOnly,   Finish::To::kNotStarted};
  if (!hand.lease) return kEndsWithoutRecord[below(std::size(kEndsWithoutRecord))];
  const auto to = kEnds[below(std::size(kEnds))];
  const ModelRecord& record = model_->records[hand.message.key().text];
  // Steps were done: it has started.
  const bool started = to == Finish::To::kNotStarted && !record.journal.entries.empty();
  return started ? Finish::To::kRetrying : to;
}

void FinishModelSuite::finish_one() {
  if (in_hand_.empty()) return;
  InHand& hand = any_in_hand();
  if (!hand.lease) return;
  const Finish end = any_finish(hand, any_end(hand));
  ASSERT_EQ(finish(end), model_->finish(end, hand.row));
  // Sometimes the same ending is sent twice.
  if (!chance(5)) in_hand_.erase(in_hand_.begin() + (&hand - in_hand_.data()));
}

// A row that a record waits for is ended with that record: a store whose records and rows share no
// commit asks the record what is to become of it.
bool FinishModelSuite::may_end_without_record(const InHand& hand) const {
  return std::ranges::none_of(model_->records, [&](const auto& record) {
    return hand.row && record.second.held == hand.row;
  });
}

void FinishModelSuite::finish_without_record() {
  if (in_hand_.empty() || chance(2)) in_hand_.push_back(from_broker());
  InHand& hand = any_in_hand();
  if (hand.lease) return;
  if (!may_end_without_record(hand)) return meet_record(hand);
  const Finish end = any_finish(hand, any_end(hand));
  ASSERT_EQ(finish(end), model_->finish(end, hand.row));
  in_hand_.erase(in_hand_.begin() + (&hand - in_hand_.data()));
}

// Somebody has met the record of a row, which waits with it, and has done nothing.
void FinishModelSuite::meet_record(InHand& hand) {
  const ModelRecord* const owner = model_->owner_of(*hand.row);
  if (owner == nullptr || owner->record->state == RecordState::kConsuming) return;
  const Finish ack = test::ack_only(*hand.arrival.row);
  ASSERT_EQ(finish(ack), model_->finish(ack, hand.row));
  in_hand_.erase(in_hand_.begin() + (&hand - in_hand_.data()));
}

std::vector<std::size_t> FinishModelSuite::some_in_hand(
    std::uint64_t most, const std::function<bool(const InHand&)>& fits) {
  std::vector<std::size_t> hands;
  std::set<Bytes> keys;
  for (std::size_t at = in_hand_.size(); at > 0 && hands.size() < most; --at) {
    const InHand& hand = in_hand_[at - 1];
    if (chance(3) || !fits(hand) || !keys.insert(hand.message.key().text).second) continue;
    hands.push_back(at - 1);
  }
  std::ranges::reverse(hands);
  return hands;
}

void FinishModelSuite::let_go(const std::vector<std::size_t>& hands) {
  for (auto at = hands.rbegin(); at != hands.rend(); ++at) {
    in_hand_.erase(in_hand_.begin() + static_cast<std::ptrdiff_t>(*at));
  }
}

// Several that end in one commit.
void FinishModelSuite::finish_batch() {
  const auto hands = some_in_hand(kFinishModelBatch, [this](const InHand& hand) {
    return hand.lease || may_end_without_record(hand);
  });
  if (hands.empty()) return;
  std::vector<Finish> batch;
  for (const std::size_t at : hands) {
    batch.push_back(any_finish(in_hand_[at], any_end(in_hand_[at])));
  }
  const auto applied = store().finish(batch);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    ASSERT_EQ(applied->at(i), model_->finish(batch[i], in_hand_[hands[i]].row)) << i;
  }
  let_go(hands);
}

// A transaction that claims its keys and ends them.
void FinishModelSuite::finish_in_unit() {
  if (store().facets().transactional == nullptr) return;
  if (in_hand_.empty() || chance(2)) in_hand_.push_back(from_broker());
  auto hands = some_in_hand(1 + below(kFinishModelBatch),
                            [](const InHand& hand) { return !hand.lease && keyed(hand); });
  if (hands.empty()) return;
  UnitOptions options;
  options.want_result = true;
  options.inbox = chance(2);
  auto begun = store().facets().transactional->begin(options);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  std::vector<const Message*> messages;
  for (const std::size_t at : hands) messages.push_back(&in_hand_[at].message);
  const auto claims = (*begun)->claim(messages);
  ASSERT_TRUE(claims.has_value()) << claims.error().message;
  std::vector<std::optional<spi::Record>> before;
  std::vector<std::size_t> acquired;
  for (std::size_t i = 0; i < hands.size(); ++i) {
    InHand& hand = in_hand_[hands[i]];
    const Bytes key = hand.message.key().text;
    auto as_it_was = model_->records[key].record;
    const spi::ClaimRequest request{hand.message.key().id, hand.message.fingerprint(), {}, {}, {}};
    ASSERT_EQ(essence(claims->at(i)), essence(model_->claim(request, key)));
    if (!is<Acquired>(claims->at(i))) continue;
    hand.lease = std::get<Acquired>(claims->at(i)).lease;
    before.push_back(std::move(as_it_was));
    acquired.push_back(hands[i]);
  }
  if (acquired.empty()) return;
  end_unit(**begun, acquired, before, options.inbox);
}

void FinishModelSuite::end_unit(UnitOfWork& unit, const std::vector<std::size_t>& hands,
                                const std::vector<std::optional<spi::Record>>& before, bool inbox) {
  constexpr Finish::To kEnds[] = {Finish::To::kCompleted, Finish::To::kCompleted,
                                  Finish::To::kRetrying,  Finish::To::kParked,
                                  Finish::To::kDead,      Finish::To::kNotStarted};
  std::vector<Finish> batch;
  for (const std::size_t at : hands) {
    batch.push_back(any_finish(in_hand_[at], kEnds[below(std::size(kEnds))]));
    batch.back().inbox = inbox;
  }
  const auto applied = unit.finish(batch);
  ASSERT_TRUE(applied.has_value()) << applied.error().message;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Applied expected = model_->finish_in_unit(batch[i], in_hand_[hands[i]].row, before[i]);
    ASSERT_EQ(applied->at(i), expected) << i;
  }
  const auto committed = unit.commit();
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
  let_go(hands);
}

void FinishModelSuite::keep_step() {
  if (in_hand_.empty() || store().facets().steps == nullptr) return;
  const InHand& hand = any_in_hand();
  if (!hand.lease) return;
  ModelRecord& record = model_->records[hand.message.key().text];
  const bool holds = record.record && record.record->state == RecordState::kConsuming &&
                     record.record->nonce == hand.lease->nonce;
  StepEntry entry;
  entry.name = fmt::format("step{}", record.journal.entries.size());
  ASSERT_EQ(steps().keep(*hand.lease, entry).value(), holds ? Applied::kYes : Applied::kLeaseLost);
  if (holds) record.journal.entries.push_back(entry);
}

// A copy of what the dead letter of a record keeps is in a row already.
bool FinishModelSuite::letter_is_held(const Bytes& key) const {
  const auto& record = model_->records.at(key).record;
  if (!record) return false;
  const auto letter = model_->letters.find({key, record->fingerprint});
  if (letter == model_->letters.end()) return false;
  return std::ranges::any_of(model_->rows, [&](const auto& row) {
    return model_name_in(row.second.headers) == model_name_in(letter->second.headers);
  });
}

void FinishModelSuite::operate() {
  const Bytes key = any_key();
  const ModelRecord& record = model_->records[key];
  if (chance(2)) return decide(key);
  // A finish does not decide what an unlock finds for a record that was parked without its message.
  if (record.record && record.record->state == RecordState::kParked && !record.held) return;
  if (letter_is_held(key)) return;
  unlock(key);
}

// Its row joins a line anew, among the rows of that time. A server's clock goes on between two
// calls, and the model's does not, so no two rows have one time here.
void FinishModelSuite::unlock(const Bytes& key) {
  advance_one();
  ASSERT_EQ(records().unlock(core::encode_key(consumer(), key)).value(), model_->unlock(key));
  advance_one();
}

// A person says what became of it: without the message, and without the row it came from.
void FinishModelSuite::decide(const Bytes& key) {
  ModelRecord& record = model_->records[key];
  record.key = key;
  Nonce nonce;
  nonce.bytes.fill(0xee);
  const bool seized =
      record.record && spi::decide_seize(*record.record, nonce, kMargin, model_->now);
  const auto lease = records().seize(core::encode_key(consumer(), key), kMargin).value();
  ASSERT_EQ(lease.has_value(), seized);
  if (!seized) return;
  record.record->nonce = lease->nonce;
  constexpr Finish::To kEnds[] = {Finish::To::kCompleted, Finish::To::kRetrying, Finish::To::kDead};
  Finish end;
  end.to = kEnds[below(std::size(kEnds))];
  end.lease = lease;
  end.attempts = 3;
  if (end.to != Finish::To::kCompleted) end.reason = "operator";
  ASSERT_EQ(finish(end), model_->finish(end, std::nullopt));
}

void FinishModelSuite::step() {
  const auto what = below(100);
  if (what < 8) {
    send();
  } else if (what < 14) {
    take_rows();
  } else if (what < 45) {
    claim_one();
  } else if (what < 58) {
    finish_one();
  } else if (what < 64) {
    finish_batch();
  } else if (what < 66) {
    hold_behind();
  } else if (what < 72) {
    finish_without_record();
  } else if (what < 80) {
    finish_in_unit();
  } else if (what < 84) {
    keep_step();
  } else if (what < 90) {
    operate();
  } else if (what < 91) {
    reopen();
    if (durable()) ++model_->opened;
  } else {
    advance_one();
  }
}

void FinishModelSuite::check_record(const Bytes& key) {
  const ModelRecord& record = model_->records[key];
  const KeyId id = core::encode_key(consumer(), key);
  std::optional<RecordView> expected;
  if (record.record) expected = spi::view_of(id, *record.record);
  ASSERT_EQ(record_text(records().show(id).value()), record_text(expected)) << key;
  if (store().facets().steps == nullptr || !record.record) return;
  ASSERT_EQ(journal_text(steps().read(id).value()), journal_text(record.journal)) << key;
}

void FinishModelSuite::check() {
  std::set<Bytes> keys;
  if (!changed_.empty()) keys.insert(changed_);
  for (std::uint64_t i = 0; i < kFinishModelKeys; ++i) {
    keys.insert(fmt::format("k{}", first_key_ + i));
  }
  for (const Bytes& key : keys) {
    check_record(key);
    if (HasFatalFailure()) return;
  }
  std::size_t waiting = 0;
  for (const auto& [number, row] : model_->rows) waiting += row.parked ? 0U : 1U;
  ASSERT_EQ(held().depth(consumer()).value().rows, waiting);
  ASSERT_EQ(held().depth(queue_).value().rows, model_->sent);
  std::set<std::string> letters, expected;
  for (const DeadLetter& letter : all_dead_letters()) letters.insert(letter_text(letter));
  for (const auto& [identity, kept] : model_->letters) {
    DeadLetter letter;
    letter.key = kept.key;
    letter.payload = kept.payload;
    letter.headers = kept.headers;
    letter.reason = kept.reason;
    letter.error = kept.error;
    letter.attempts = kept.attempts;
    letter.replayed = kept.replayed;
    letter.partition = kept.partition;
    letter.position = kept.position;
    letter.first_seen = kept.first_seen;
    letter.dead_at = kept.dead_at;
    expected.insert(letter_text(letter));
  }
  ASSERT_EQ(letters, expected);
}

void FinishModelSuite::unlock_all() {
  for (const auto& [key, record] : model_->records) {
    if (!record.record || record.record->state != RecordState::kParked || !record.held) continue;
    unlock(key);
    if (HasFatalFailure()) return;
  }
  for (int i = 0; i < 4; ++i) advance_one();
}

TEST_P(FinishModelSuite, AllIsKeptAsThePlanOfAFinishSays) {
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed());
  for (std::size_t i = 0; i < test::rounds(kFinishModelSteps); ++i) {
    SCOPED_TRACE(i);
    step();
    if (HasFatalFailure()) return;
    give_back_behind();
    if (HasFatalFailure()) return;
    check();
    if (HasFatalFailure()) return;
  }
  for (const Bytes& key : known_keys()) {
    check_record(key);
    if (HasFatalFailure()) return;
  }
  unlock_all();
  if (HasFatalFailure()) return;
  take_rows();
}

}  // namespace semel::conformance
