// A model of the effects of a Finish: it applies the plan of a finish to maps. Tests compare a real
// store's data with it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <semel/spi/finish_plan.h>

#include "tests/conformance/store_model.h"

namespace semel::conformance {

// A held row. Each message has a name of its own, in a header, that stays with its payload.
struct ModelRow {
  Bytes payload;
  Headers headers;
  std::string partition, position;
  std::optional<Bytes> key;
  std::optional<Fingerprint> fingerprint;
  std::optional<int> attempts;  // none: a record counts them
  std::optional<StoreTime> first_seen;
  bool first_seen_known = true;
  StoreTime due{};
  std::optional<StoreTime> hidden_until;
  std::optional<RowTag> tag;  // once it was taken
  int taken_by = 0;           // FinishModel::opened
  bool parked = false;
  std::optional<Bytes> line;
  int place = 0;  // in its line

  bool shows(StoreTime now) const { return !parked && (hidden_until ? *hidden_until : due) <= now; }
};

struct ModelLetter {
  Bytes key;
  Bytes payload;
  Headers headers;
  std::string reason, error, partition, position;
  int attempts = 0;
  int replayed = 0;
  StoreTime first_seen{};
  StoreTime dead_at{};
};

struct ModelRecord {
  Bytes key;
  std::optional<spi::Record> record;
  std::optional<int> held;  // its row
  StepJournal journal;
};

class FinishModel {
 public:
  explicit FinishModel(ConsumerNumber consumer) : consumer_(consumer) {}

  StoreTime now{std::chrono::hours(1)};
  int opened = 0;                // how often the store was: each has its own hand
  std::map<int, ModelRow> rows;  // by numbers that are used once
  std::map<Bytes, ModelRecord> records;
  // By key, or by the other values that identify a letter.
  std::map<std::pair<Bytes, Fingerprint>, ModelLetter> letters;
  std::size_t sent = 0;

  int append(ModelRow row);
  // Puts it at the end.
  void join(ModelRow& row, const Bytes& line) {
    row.line = line;
    row.place = ++places_;
  }
  bool has_line(const Bytes& line) const;
  // Whether all messages before it in its line are in this hand, or in `taken`.
  bool may_follow(const ModelRow& row, const std::set<int>& taken) const;
  bool first_in_line(const ModelRow& row) const;
  // `ack`: the row that the Finish names.
  Applied finish(const Finish& finish, std::optional<int> ack);
  // The same in the transaction that has claimed the key; `before`: the record as it was.
  Applied finish_in_unit(const Finish& finish, std::optional<int> ack,
                         const std::optional<spi::Record>& before);
  void release(int row);
  // Shows a row that this opening has in hand.
  void give_back(int row);
  // The plan for the key's record, which the model changes by the record machine.
  Claim claim(const spi::ClaimRequest& request, const Bytes& key);
  // The record that has this row as its own; null where there is none.
  const ModelRecord* owner_of(int row) const;
  bool unlock(const Bytes& key);

 private:
  ModelRecord* record_of(const Finish& finish);
  void wait(int row, bool parked, StoreTime due);
  void carry_out(const spi::FinishPlan& plan, const Finish& finish, std::optional<int> ack,
                 ModelRecord* record);
  std::optional<int> move(int row, bool parked, const spi::FinishPlan& plan, const Finish& finish,
                          const ModelRecord* record);
  void hold(const spi::FinishPlan& plan, const Finish& finish, std::optional<int> ack,
            ModelRecord* record);
  void bury(const spi::FinishPlan& plan, const Finish& finish, std::optional<int> ack,
            const ModelRecord* record);
  std::pair<Bytes, Fingerprint> identity_of(const Finish& finish);
  void note(const spi::FinishPlan& plan, const Finish& finish, ModelRecord& record);

  const ConsumerNumber consumer_;
  int last_ = 0;
  int places_ = 0;
  int unnamed_ = 0;
};

// The number of the model's steps in `time`. A server's clock runs on while the model's stands, so
// `time` may be longer than these steps.
std::int64_t model_steps_in(milliseconds time);
// Each message has one of its own.
std::string model_name_in(const Headers& headers);

// A message in progress.
struct InHand {
  Message message;
  Arrival arrival;
  std::optional<int> row;  // the model's
  std::optional<Lease> lease;
};

class FinishModelSuite : public StoreTest {
 protected:
  void SetUp() override;
  void step();
  // Acts as an engine: after a row of a line that is not in hand, no later row of that line stays
  // in hand.
  void give_back_behind();
  // Compares the store with the model, for the keys that may have changed.
  void check();
  void check_record(const Bytes& key);
  void unlock_all();
  void advance_one();
  void take_rows();
  std::uint64_t seed() const { return seed_; }
  std::vector<Bytes> known_keys() const;

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool chance(std::uint64_t of) { return below(of) == 0; }
  milliseconds any_delay() {
    return chance(2) ? milliseconds(0) : milliseconds(kStep * below(3) + kMargin);
  }
  Bytes any_key();
  Headers next_name();
  Message message_of(const Bytes& key, const Bytes& payload, Headers headers) const;
  Message keyless_message_of(const Arrival& arrival) const;
  InHand from_broker();
  InHand in_hand_of(Arrival arrival, std::optional<int> row) const;
  InHand& any_in_hand();
  Finish any_finish(const InHand& hand, Finish::To to);
  bool may_end_without_record(const InHand& hand) const;
  static bool keyed(const InHand& hand) { return !hand.message.key().text.empty(); }

  static std::optional<Bytes> line_of(const Arrival& arrival);
  void send();
  void hold_behind();
  void join_lines();
  void check_taken(const Arrival& arrival, const ModelRow& row);
  void claim_one();
  void settle(InHand& hand, const Claim& answer);
  void finish_one();
  void finish_without_record();
  void meet_record(InHand& hand);
  // Several messages of different keys that may end together, in the order in which they were
  // taken.
  std::vector<std::size_t> some_in_hand(std::uint64_t most,
                                        const std::function<bool(const InHand&)>& fits);
  void let_go(const std::vector<std::size_t>& hands);
  Finish::To any_end(const InHand& hand);
  void finish_batch();
  void finish_in_unit();
  void end_unit(UnitOfWork& unit, const std::vector<std::size_t>& hands,
                const std::vector<std::optional<spi::Record>>& before, bool inbox);
  void keep_step();
  bool letter_is_held(const Bytes& key) const;
  void operate();
  void unlock(const Bytes& key);
  void decide(const Bytes& key);

  const std::uint64_t seed_ = test::test_seed();
  test::SeededRandom random_{seed_};
  std::optional<FinishModel> model_;
  ConsumerNumber queue_{};
  std::vector<InHand> in_hand_;
  int names_ = 0;
  std::uint64_t first_key_ = 0;
  Bytes changed_;  // the key that a step was about
};

}  // namespace semel::conformance
