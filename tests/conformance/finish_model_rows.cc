// The rows of a long random run: messages that come, are held in their lines and are taken.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/key_encoding.h"
#include "tests/conformance/finish_model.h"

namespace semel::conformance {
namespace {

constexpr milliseconds kFinishModelHidden = 2 * kStep + kMargin;
constexpr std::string_view kNameHeader = "name";
constexpr std::uint64_t kFinishModelKeyless = 12;

}  // namespace

std::int64_t model_steps_in(milliseconds time) { return (time + milliseconds(100)) / kStep; }

std::string model_name_in(const Headers& headers) {
  for (const Header& header : headers) {
    if (header.name == kNameHeader) return header.value;
  }
  return {};
}

Headers FinishModelSuite::next_name() {
  return {{std::string(kNameHeader), fmt::format("m{}", ++names_)}};
}

Message FinishModelSuite::message_of(const Bytes& key, const Bytes& payload,
                                     Headers headers) const {
  auto parts = test::make_parts(consumer(), key, payload);
  parts.headers = std::move(headers);
  return Message(parts);
}

// As an engine names it, which keeps it without a record.
Message FinishModelSuite::keyless_message_of(const Arrival& arrival) const {
  auto parts = test::make_parts(consumer(), {}, arrival.payload);
  parts.key.id =
      core::encode_refused(consumer(), arrival.partition, arrival.position, arrival.payload);
  parts.headers = arrival.headers;
  return Message(parts);
}

// Keys in two lines, or in none.
std::optional<Bytes> FinishModelSuite::line_of(const Arrival& arrival) {
  if (!arrival.key) return "line 0";
  const int number = arrival.key->back() - '0';
  if (number % 3 == 0) return std::nullopt;
  return fmt::format("line {}", number % 2);
}

InHand FinishModelSuite::from_broker() {
  Arrival arrival;
  arrival.headers = next_name();
  arrival.payload = chance(8) ? "other" : "payload";
  arrival.partition = fmt::format("orders-{}", below(3));
  arrival.position = fmt::format("{}", names_);
  if (chance(3)) arrival.since_first = kStep * below(3);
  if (!chance(kFinishModelKeyless)) arrival.key = any_key();
  arrival.line = line_of(arrival);
  return in_hand_of(std::move(arrival), {});
}

InHand FinishModelSuite::in_hand_of(Arrival arrival, std::optional<int> row) const {
  Message message = arrival.key ? message_of(*arrival.key, arrival.payload, arrival.headers)
                                : keyless_message_of(arrival);
  return {std::move(message), std::move(arrival), row, std::nullopt};
}

void FinishModelSuite::send() {
  const bool keyless = chance(kFinishModelKeyless);
  const Headers name = next_name();
  // One without a key and a place is known by what it says.
  OutgoingMessage sent =
      keyless ? held_message({}, model_name_in(name), any_delay())
              : held_message(any_key(), chance(8) ? "other" : "payload", any_delay());
  sent.headers = name;
  ModelRow row;
  row.payload = sent.payload;
  row.headers = sent.headers;
  row.key = sent.key;
  row.attempts = 0;
  row.due = model_->now + sent.delay;
  model_->append(row);
  append({sent});
}

// A message that follows others of its line, if some are held.
void FinishModelSuite::hold_behind() {
  const InHand hand = from_broker();
  if (!hand.arrival.line) return;
  const Follower follower{&hand.message, &hand.arrival};
  const auto places = held().hold_behind(consumer(), {&follower, 1}, 1 << 20);
  ASSERT_TRUE(places.has_value()) << places.error().message;
  const bool held_now = model_->has_line(*hand.arrival.line);
  using Place = HeldMessages::Place;
  ASSERT_EQ(places->front(), held_now ? Place::kHeld : Place::kFree);
  if (!held_now) return;
  ModelRow row;
  row.payload = hand.message.payload();
  row.headers = hand.message.headers();
  row.partition = hand.arrival.partition;
  row.position = hand.arrival.position;
  if (keyed(hand)) row.key = hand.message.key().text;
  if (keyed(hand)) row.fingerprint = hand.message.fingerprint();
  row.attempts = 0;
  row.due = model_->now;
  model_->join(row, *hand.arrival.line);
  model_->append(std::move(row));
}

// Rows stand in their lines when they are first met, oldest due first.
void FinishModelSuite::join_lines() {
  std::vector<std::pair<StoreTime, int>> due;
  for (const auto& [number, row] : model_->rows) {
    if (!row.line && row.shows(model_->now)) due.emplace_back(row.due, number);
  }
  std::ranges::sort(due);
  for (const auto& [time, number] : due) {
    ModelRow& row = model_->rows.at(number);
    Arrival arrival;
    arrival.key = row.key;
    if (const auto line = line_of(arrival)) model_->join(row, *line);
  }
}

void FinishModelSuite::check_taken(const Arrival& arrival, const ModelRow& row) {
  const std::string name = model_name_in(row.headers);
  ASSERT_EQ(arrival.payload, row.payload) << name;
  ASSERT_EQ(arrival.partition, row.partition) << name;
  ASSERT_EQ(arrival.position, row.position) << name;
  ASSERT_EQ(arrival.key, row.key) << name;
  ASSERT_EQ(arrival.fingerprint, row.fingerprint) << name;
  ASSERT_EQ(arrival.line, row.line) << name;
  if (row.attempts) {
    ASSERT_EQ(arrival.attempts, *row.attempts) << name;
  }
  ASSERT_EQ(arrival.since_first.has_value(), row.first_seen.has_value()) << name;
  if (row.first_seen && row.first_seen_known) {
    ASSERT_EQ(model_steps_in(*arrival.since_first), model_steps_in(model_->now - *row.first_seen))
        << name;
  }
}

// A row behind others of its line may come with them, or after them.
void FinishModelSuite::take_rows() {
  join_lines();
  std::map<std::string, int> shown;
  std::set<int> expected;
  for (const auto& [number, row] : model_->rows) {
    if (!row.shows(model_->now)) continue;
    shown[model_name_in(row.headers)] = number;
    if (model_->first_in_line(row)) expected.insert(number);
  }
  auto taken = held().take(consumer(), 1'000, 64 << 20, kFinishModelHidden, line_of);
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  std::set<int> numbers;
  for (Arrival& arrival : *taken) {
    const std::string name = model_name_in(arrival.headers);
    ASSERT_TRUE(shown.contains(name)) << name;
    const int number = shown[name];
    ModelRow& row = model_->rows.at(number);
    ASSERT_TRUE(model_->may_follow(row, numbers)) << name << " is before its turn";
    check_taken(arrival, row);
    if (HasFatalFailure()) return;
    numbers.insert(number);
    row.tag = arrival.row;
    in_hand_.push_back(in_hand_of(std::move(arrival), number));
  }
  for (const int number : numbers) {
    model_->rows.at(number).hidden_until = model_->now + kFinishModelHidden;
    model_->rows.at(number).taken_by = model_->opened;
  }
  ASSERT_TRUE(std::ranges::includes(numbers, expected)) << "a first one of its line is missing";
}

void FinishModelSuite::give_back_behind() {
  const auto behind_others = [this](const auto& one) {
    const ModelRow& row = one.second;
    const bool mine =
        row.hidden_until && *row.hidden_until > model_->now && row.taken_by == model_->opened;
    return mine && !model_->may_follow(row, {});
  };
  for (;;) {
    const auto behind = std::ranges::find_if(model_->rows, behind_others);
    if (behind == model_->rows.end()) return;
    ASSERT_TRUE(held().release({&*behind->second.tag, 1}, 0ms).has_value());
    model_->release(behind->first);
  }
}

}  // namespace semel::conformance
