// LockOrder: one session stops in the middle of a change of held rows or dead letters, while
// another changes the same ones. For tests.
//
//   LockOrder order({first, second}, texts, [] { return server.lock_waiters(database); });
//   order.fill();
//   EXPECT_EQ(order.a_batch_moves_a_row_and_then_removes_one(), "");
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/spi/store.h>

#include "stores/sql/batch_finish.h"
#include "stores/sql/dead_letters.h"
#include "stores/sql/server_database.h"
#include "tests/support/builders.h"
#include "tests/support/waiting.h"

namespace semel::sql {

// Calls back before one statement, after `times` earlier calls of it.
class StoppedSession final : public Session {
 public:
  StoppedSession(Session& session, const SqlText& before, std::function<void()> stopped,
                 int times = 0)
      : session_(session), before_(before), stopped_(std::move(stopped)), times_(times) {}

  Answer ask(const SqlText& text, std::initializer_list<Param> params) override {
    if (&text == &before_ && stopped_ && times_-- == 0) std::exchange(stopped_, nullptr)();
    return session_.ask(text, params);
  }
  void queue(const SqlText& text, std::initializer_list<Param> params) override {
    session_.queue(text, params);
  }
  std::int64_t next_number(Counter counter) override { return session_.next_number(counter); }
  StoreTime now() override { return session_.now(); }
  void begin(std::chrono::milliseconds patience) override {
    ++begun_;
    session_.begin(patience);
  }
  void commit() override { session_.commit(); }
  bool borrowed() const noexcept override { return session_.borrowed(); }
  void note_commit() noexcept override { session_.note_commit(); }
  void roll_back() noexcept override { session_.roll_back(); }
  bool whole() const noexcept override { return session_.whole(); }
  bool stopped() const noexcept { return stopped_ == nullptr; }
  // Transactions; one more for each that the server undid.
  int begun() const noexcept { return begun_; }

 private:
  Session& session_;
  const SqlText& before_;
  std::function<void()> stopped_;
  int times_;
  int begun_ = 0;
};

class LockOrder {
 public:
  // `waiters`: how many sessions of the database wait for a lock.
  LockOrder(std::pair<Session&, Session&> sessions, const TableTexts& texts,
            std::function<int()> waiters)
      : first_(sessions.first),
        second_(sessions.second),
        texts_(texts),
        waiters_(std::move(waiters)) {}

  // A row in each of two lines, and one in no line, whose number is between theirs.
  void fill() {
    first_.begin(kPatience);
    Consumers(first_, texts_.consumers)
        .add({"orders", "recipe", false, {}}, static_cast<std::int64_t>(kConsumer));
    HeldRows held(first_, texts_.held, wake_ups_);
    const StoreTime now = first_.now();
    for (const BytesView line : {"a", "", "b"}) {
      HeldContent content;
      content.consumer = kConsumer;
      content.due = now;
      content.payload = "payload";
      if (!line.empty()) content.line = line;
      rows_.emplace_back(RowTag{held.add(content, now)});
    }
    held.take(rows_, kInstance, now + std::chrono::minutes(10));
    first_.commit();
  }

  // Each returns what the server refused, in either session.
  std::string a_batch_moves_a_row_and_then_removes_one() {
    Finish later;
    later.to = Finish::To::kRetrying;
    later.ack = in_line();
    Finish dead;
    dead.to = Finish::To::kDead;
    dead.ack = in_other_line();
    dead.keep = &message_;
    return meet(batch({later, dead}), texts_.held.lines.lock,
                [&](HeldRows& held, StoreTime now) { held.release(in_line(), {}, now); });
  }
  std::string a_batch_removes_from_a_line_and_then_moves_a_row() {
    Finish later;
    later.to = Finish::To::kRetrying;
    later.ack = in_no_line();
    return meet(batch({test::ack_only(in_line()), later}), texts_.held.lined,
                [&](HeldRows& held, StoreTime now) { held.release(two_rows(), {}, now); });
  }
  std::string rows_are_extended_while_they_are_removed() {
    return while_they_are_removed([&](HeldRows& held, StoreTime now) {
      held.hide(two_rows(), now + std::chrono::minutes(20), now);
    });
  }
  std::string rows_of_a_dead_process_show_while_they_are_removed() {
    return while_they_are_removed(
        [](HeldRows& held, StoreTime now) { held.show_again(kInstance, now); });
  }

  // A batch of a holder, and a late one of two former holders. `records`: of the first session.
  std::string a_mixed_batch_meets_a_late_holder(Store& store, ManyRecords& records) {
    const ConsumerNumber consumer = store.attach({"orders", "recipe", false, {}}).value();
    std::vector<Message> messages = test::make_messages(consumer, "k", 2);
    std::ranges::sort(messages, {}, [](const Message& message) { return message.key().id; });
    std::vector<Finish> later;
    const std::vector<Claim> claims = store.claim(test::pointers(messages), {}).value();
    for (const Claim& claim : claims) {
      const Message* const message = &messages[later.size()];
      later.push_back(
          test::retrying(std::get<Acquired>(claim).lease, std::chrono::seconds(1), message));
    }
    const std::vector<Finish> mixed = {test::completed(*later[1].lease), later[0]};
    std::vector<Finish> late = later;
    for (Finish& one : late) one.lease->nonce.bytes[0] ^= 1U;
    const Change change = [&](Tables& tables, Session& session) {
      const std::vector<Applied> applied =
          BatchFinish(session, tables, records, nullptr).run(mixed);
      EXPECT_EQ(applied, std::vector(2, Applied::kYes));
    };
    return meet(change, texts_.records.find_locked, [&](HeldRows&, StoreTime) {
      Tables tables(second_, texts_, wake_ups_);
      NoRecords none;
      const std::vector<Applied> applied = BatchFinish(second_, tables, none, nullptr).run(late);
      EXPECT_EQ(applied, std::vector(2, Applied::kLeaseLost));
    });
  }

  // Each returns what the server refused, or undid because of the other.
  std::string letters_are_discarded_in_either_order() {
    return operators_meet(texts_.dead_letters.discard, [](DeadLetters& letters, const Ids& ids) {
      return letters.discard(ids).map([](std::size_t) {});
    });
  }
  std::string letters_are_replayed_in_either_order() {
    return operators_meet(texts_.dead_letters.find_locked,
                          [](DeadLetters& letters, const Ids& ids) {
                            return letters.replay(ids).map([](const ReplayReport&) {});
                          });
  }

  // How many rows another session sees while this one has locked a row of a line.
  std::size_t rows_left_by_a_lock_in_a_line() {
    first_.begin(kPatience);
    HeldRows(first_, texts_.held, wake_ups_).lock(two_rows().first(1));
    second_.begin(kPatience);
    HeldRows held(second_, texts_.held, wake_ups_);
    const StoreTime later = second_.now() + std::chrono::hours(1);
    const std::size_t left = held.due(kConsumer, rows_.size(), 1 << 20, later).rows.size();
    second_.roll_back();
    first_.roll_back();
    return left;
  }

 private:
  static constexpr ConsumerNumber kConsumer{1};
  static constexpr std::int64_t kInstance = 7;
  static constexpr std::chrono::seconds kPatience{30};

  using Ids = std::vector<std::int64_t>;
  using Operation = std::function<Result<void>(DeadLetters&, const Ids&)>;
  using Change = std::function<void(Tables&, Session&)>;
  using OtherChange = std::function<void(HeldRows&, StoreTime)>;

  class NoWakeUps final : public WakeUps {
   public:
    int fd(std::optional<ConsumerNumber>) noexcept override { return -1; }
    void drain(ConsumerNumber) override {}
    void ring(Session&, ConsumerNumber) override {}
  };
  // For batches that complete no record.
  class NoRecords final : public ManyRecords {
   public:
    void lock(std::span<const KeyId>) override {}
    std::vector<KeyId> complete(std::span<const Finish* const>) override { return {}; }
    void set_results(std::span<const WithResult>) override {}
    void keep(std::span<const Kept>) override {}
  };

  class NoInstances final : public Instances {
   public:
    std::int64_t number() override { return kInstance; }
    std::int64_t number_for(Session&) override { return kInstance; }
    std::vector<std::int64_t> gone(Session&) override { return {}; }
    bool is_gone(Session&, std::int64_t) override { return false; }
  };
  // The store's own port to dead letters, over one session.
  class Operator {
   public:
    Operator(LockOrder& order, Session& session, const SqlText& at, std::function<void()> stopped)
        : pool_(
              [this, &session, &at, stopped] {
                auto lent = std::make_unique<StoppedSession>(session, at, stopped, 1);
                lent_ = lent.get();
                return lent;
              },
              1, kPatience),
          database_({pool_, order.texts_, order.wake_ups_, instances_}),
          letters_(make_dead_letters(database_)) {}

    std::string run(const Operation& operation, const Ids& ids) {
      const auto done = operation(*letters_, ids);
      if (!done) return done.error().message;
      return lent_->begun() == 1 ? "" : "undone by the server";
    }
    bool stopped() const { return lent_->stopped(); }

   private:
    StoppedSession* lent_ = nullptr;
    NoInstances instances_;
    Pool pool_;
    ServerDatabase database_;
    const std::unique_ptr<DeadLetters> letters_;
  };

  // Two letters without a record, which no one has locked before them.
  Ids add_letters() {
    first_.begin(kPatience);
    DeadLetterRows letters(first_, texts_.dead_letters);
    for (const std::string_view position : {"1", "2"}) {
      HeldContent content;
      content.consumer = kConsumer;
      content.payload = "payload";
      content.position = position;
      letters.keep(content, std::nullopt, {}, first_.now(), first_.now());
    }
    Ids ids;
    for (const DeadLetterRow& row : letters.list({}, kConsumer)) ids.push_back(row.letter.id);
    first_.commit();
    return ids;
  }

  // One operator stops when it has its first letter.
  std::string operators_meet(const SqlText& at, const Operation& operation) {
    const Ids ids = add_letters();
    EXPECT_EQ(ids.size(), 2U);
    const Ids other_way(ids.rbegin(), ids.rend());
    std::string undone_to_other;
    std::atomic<bool> done = false;
    std::thread thread;
    Operator other(*this, second_, at, nullptr);
    Operator one(*this, first_, at, [&] {
      thread = std::thread([&] {
        undone_to_other = other.run(operation, ids);
        done = true;
      });
      EXPECT_TRUE(test::comes_true([&] { return done || waiters_() > 0; }));
    });
    const std::string undone = one.run(operation, other_way);
    EXPECT_TRUE(one.stopped()) << "it never came to where it should stop";
    if (thread.joinable()) thread.join();
    return undone + undone_to_other;
  }

  RowTag in_line() const { return rows_.at(0); }
  RowTag in_no_line() const { return rows_.at(1); }
  RowTag in_other_line() const { return rows_.at(2); }
  std::span<const RowTag> two_rows() const { return std::span(rows_).first(2); }

  static Change batch(std::vector<Finish> finishes) {
    return [finishes = std::move(finishes)](Tables& tables, Session& session) {
      NoRecords records;
      BatchFinish(session, tables, records, nullptr).run(finishes);
    };
  }

  std::string while_they_are_removed(const OtherChange& other) {
    return meet([&](Tables& tables, Session&) { tables.held.take_out(two_rows()); },
                texts_.held.lined, other);
  }

  // The other change begins before the first one sends `at`, which continues once the other waits
  // for it or is done.
  std::string meet(const Change& change, const SqlText& at, const OtherChange& other) {
    std::string refused;
    std::string refused_to_other;
    std::atomic<bool> done = false;
    std::thread thread;
    StoppedSession session(first_, at, [&] {
      thread = std::thread([&] {
        refused_to_other = run(second_, [&] {
          HeldRows held(second_, texts_.held, wake_ups_);
          other(held, second_.now());
        });
        done = true;
      });
      EXPECT_TRUE(test::comes_true([&] { return done || waiters_() > 0; }));
    });
    refused = run(session, [&] {
      Tables tables(session, texts_, wake_ups_);
      change(tables, session);
    });
    EXPECT_TRUE(session.stopped()) << "it never came to where it should stop";
    if (thread.joinable()) thread.join();
    return refused + refused_to_other;
  }

  static std::string run(Session& session, const std::function<void()>& change) {
    try {
      session.begin(kPatience);
      change();
      session.commit();
      return {};
    } catch (const Failure& failed) {
      session.roll_back();
      return failed.error().message;
    }
  }

  Session& first_;
  Session& second_;
  const TableTexts& texts_;
  const std::function<int()> waiters_;
  const Message message_ = test::make_message(kConsumer, "key", "payload");
  NoWakeUps wake_ups_;
  std::vector<RowTag> rows_;
};

}  // namespace semel::sql
