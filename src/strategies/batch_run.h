// BatchRun: runs one batch in as many transactions as it needs.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <semel/admin/records.h>

#include "core/lane_name.h"
#include "core/tracked_delivery.h"
#include "strategies/backoff.h"
#include "strategies/pipeline.h"
#include "strategies/slot.h"

namespace semel::strategies {

class BatchRun {
 public:
  BatchRun(const Context& context, const PipelineOptions& options, PipelineStats& stats,
           ClaimPolicy& policy, std::span<core::TrackedDelivery* const> batch, OutcomeSink& sink);

  PipelineResult run();

 private:
  // The most transactions of one window that may fail before its messages are given back.
  static constexpr int kMostTransactionTries = 6;
  // After this many transactions of one batch were undone by a message's error, each message gets a
  // transaction.
  static constexpr int kSinglyAfter = 4;
  enum class Progress {
    kWell,
    kUndone,  // by an error of one message, now known: send the others again
    kFailed,  // because of error_
  };
  class Reading;

  // One transaction, and its parts in their order.
  Progress transact();
  Progress enter(UnitOfWork& unit);
  // The store's time, where one of the window's messages may be too old for its claim.
  Result<std::optional<StoreTime>> time_at_gate() const;
  Progress run_handlers(UnitOfWork& unit);
  void plan();
  bool ends_all_well() const;
  Progress finish_at_once(std::unique_ptr<UnitOfWork> unit);
  Progress finish_in_steps(std::unique_ptr<UnitOfWork> unit);
  Progress commit_in_order(std::unique_ptr<UnitOfWork> unit);
  Progress commit(std::unique_ptr<UnitOfWork> unit);

  // Messages behind others of their ordering key (batch_order.cc).
  bool ends_in_order() const;
  void keep_in_order(std::vector<std::size_t>& places) const;
  void go_in_rounds();
  bool begin_next_round();
  void end(const Slot& slot, Outcome outcome);
  void leave_behind(const core::LaneName& name);
  void leave_given_back();
  void leave(const Slot& slot);

  Progress call(UnitOfWork& unit, std::size_t at);
  bool stopped_before_start(Slot& slot, const std::stop_token& stop);
  Progress mend(UnitOfWork& unit, std::size_t at, Error met);
  Progress send_rest(UnitOfWork& unit, std::size_t at, Reading& reading);
  void send_later(std::size_t at);
  void send_waiting(UnitOfWork& unit);
  Progress take_in(Result<FlushReport> report);
  // Whether the report names a message that was not known to fail.
  bool note(const FlushReport& report);
  bool undoes_beside();
  void forgive_early(Slot& slot, const Otherwise& otherwise);

  bool doubt_came_true(const Slot& slot, const Claim& claim) const;
  Resolution ending_of(const Slot& slot, const Claim& claim) const;
  bool nothing_to_commit() const;
  void end_window();
  void look_again(Slot& slot);
  void note_doubt();

  // Concurrency with the consumer's other transactions.
  Progress transact_in_turn();
  bool in_turn() const;
  void choose_company(UnitOptions& options);
  bool goes_alone();

  // Rows that another program has locked.
  static Error row_is_locked();
  void meet_stranger(Slot& slot, const Error& error, const RecordedStatement& blocked,
                     const StatementList& statements);
  void hold_back(Slot& slot, const Error& error, std::chrono::milliseconds wait);
  Progress hold_reader(UnitOfWork& unit, std::size_t at, std::chrono::milliseconds wait);
  static Outcome blocked_by(const Error& error, std::chrono::milliseconds wait);
  BlockedRows::Answer ask_for_blocked(Slot& slot, const StatementList& statements,
                                      const RecordedStatement* question);
  bool is_strangers(const Slot& slot) const;
  bool ends_untried();
  void look_out();
  void forget_meetings();
  void note_free_rows();
  void leave_window();

  // After a transaction that did not commit.
  void after_undone();
  void after_error();
  bool find_culprit();
  bool may_be_a_messages_own() const;
  bool blame(Slot& slot);
  void leave_out_payload(Slot& slot);
  bool shrink_letter(Slot& slot);
  void keep_without_payload(Slot& slot) const;
  static bool is_hopeless(const Slot& slot);
  void withhold_if_hopeless();
  void forget_hopeless();
  void count_hopeless(const Slot& slot);
  void pause(const Slot& slot);
  static void release(Slot& slot);
  void give_back(std::size_t count);
  void give_back_rest() { give_back(slots_.size() - first_); }
  Progress fail(Error error, bool at_begin = false);

  const Context& context_;
  const PipelineOptions& options_;
  PipelineStats& stats_;
  ClaimPolicy& policy_;
  OutcomeSink& sink_;
  const Resolver resolver_;
  std::unique_ptr<HandlerMonitor::Watch> watch_;

  std::vector<Slot> slots_;
  std::size_t first_ = 0;  // of the window: everything before it has ended
  std::size_t size_;       // of the window, the maximum
  Savepoints marks_ = Savepoints::kSparse;
  bool at_once_;  // try to end the transaction in one call
  // The window has messages behind others of their key.
  bool followers_ = false;
  std::deque<std::vector<Slot>> later_;  // rounds
  int undone_ = 0;                       // transactions undone by an error of one message
  int tries_ = 0;                        // transactions of this window that the store failed
  int hopeless_ = 0;                     // messages of this window that stats_ counts
  Backoff backoff_;
  TransactionLimit::Place* place_ = nullptr;  // of the running transaction
  bool was_alone_ = false;                    // the last transaction was
  bool names_blocked_ = false;                // UnitOptions::names_blocked of the last transaction
  bool patient_ = false;                      // it waits for rows as long as for claims
  bool held_back_ = false;              // a message of this window was, because its row is blocked
  bool in_vain_ = false;                // the last transaction waited in vain for a stranger
  bool waited_in_vain_ = false;         // one transaction of this window did
  std::optional<Error> contended_;      // a message was blocked by an unknown holder
  bool conflicted_ = false;             // this window had a conflict with the consumer's others
  bool stranger_ = false;               // another program has a row that the batch needs
  std::chrono::nanoseconds waited_{0};  // not reported yet
  Error error_;
  bool at_begin_ = false;
  // How far the newest transaction got.
  enum class Reached { kNothing, kEntered, kFlushed, kFinished };
  Reached reached_ = Reached::kNothing;
  PipelineResult ran_;

  // The current transaction's.
  std::span<Slot> window_;
  std::vector<const Message*> messages_;
  std::vector<Claim> claims_;
  std::optional<StoreTime> gate_time_;  // nullopt: none of its messages looks too old
  std::vector<Finish> finishes_;
  std::deque<StatementList> parts_;   // the parts of lists that were sent in parts, between queries
  bool sent_ = false;                 // the unit was given statements
  std::vector<std::size_t> waiting_;  // messages whose lists the unit does not have yet
};

}  // namespace semel::strategies
