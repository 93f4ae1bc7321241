// Guard: one call around any code, inside the user's own loop.
//
//   semel::Guard guard(store, {.consumer = "payments"});
//   auto outcome = guard.run_once(key, semel::fingerprint_of(body), [&](semel::Transaction& tx) {
//     tx.exec("UPDATE account SET balance = balance + ? WHERE id = ?", amount, account);
//     return semel::done();
//   });
//
// With a transactional store, work that takes a Transaction commits with its record. On a borrowed
// connection (borrow_sqlite, borrow_postgres, borrow_mysql) so does all work, by the caller's own
// COMMIT. Other work is guarded by a lease, renewed while it runs, up to a timeout: after a crash
// it may run again.
//
// `run_batch` is the same for many messages in one transaction; `begin` is for an effect that
// begins in one place and ends in another (guard_claim.h).
//
// As thread-safe as its store.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <semel/bytes.h>
#include <semel/environment.h>
#include <semel/front.h>
#include <semel/guard_claim.h>
#include <semel/handler.h>
#include <semel/key.h>
#include <semel/outcome.h>
#include <semel/queues.h>
#include <semel/result.h>
#include <semel/spi/store.h>
#include <semel/step_spec.h>

namespace semel {

// The digest of `content`, compared when a key is met again.
[[nodiscard]] Fingerprint fingerprint_of(BytesView content) noexcept;

struct GuardOptions {
  std::string consumer;  // first half of every record's key; [a-z][a-z0-9_-]{0,62}
  // As in a config. Options beyond them are refused.
  static constexpr std::chrono::days kLongestTtl{3650};
  static constexpr std::chrono::days kLongestLease{1};

  // How long a completed key is known at least; nullopt: for ever. It is forgotten by Store::purge,
  // which somebody must call: a Guard does not (docs/guard.md).
  std::optional<std::chrono::milliseconds> ttl = std::chrono::hours(7 * 24);
  std::chrono::milliseconds lease{60'000};
  // For work and claims under a lease: the time until the stop token fires, and how much longer the
  // lease is renewed after that. Then the lease ends, the next caller may claim the key, and the
  // late result is refused with lease.lost. A timeout of zero renews without end: work that hangs
  // and a claim that is forgotten then keep their key for as long as the process lives.
  std::chrono::milliseconds timeout{30'000};
  std::chrono::milliseconds grace{10'000};
  // Consumers that work may send to (the outbox): `tx.publish("mails", …)`, or `return
  // semel::done({}, {{"mails", …}})`. The message leaves with the record, by the same commit, under
  // the key "CONSUMER/KEY": others may send to them too. Work that names another destination fails
  // (kRetry).
  Queues receivers{};
  // The steps of work that takes an Attempt (`attempt.step(…)`), and how each is undone when the
  // work returns dead. nullopt: any step is allowed, and none is undone. Not on a borrowed
  // connection.
  std::optional<StepSpecs> steps{};
  // Work outside of a transaction is not repeated where it may have had its effect: it threw,
  // reported that (Verdict::Retry::unknown), or was begun by a process that is gone. The key is
  // parked (kParked, with reason outcome.unknown or lease.parked) until `semel records unlock --as`
  // says how it ended. Not with steps, nor on a borrowed connection.
  bool at_most_once = false;
  // A window in front of the records (front.h): a key that it knows to be completed is kDuplicate
  // without a round trip to the store, with reason `front` and without the stored result. Its time
  // to live must be shorter than `ttl`. The guards of a consumer may share one. A thread of the
  // guard keeps asking the store whether the window's content still counts. Not on a borrowed
  // connection.
  std::shared_ptr<FrontWindow> front{};
  Environment* environment = nullptr;  // null: system_environment(); borrowed
};

// One message of a batch.
struct BatchMessage {
  Bytes key;
  Fingerprint fingerprint{};
};

class Guard {
 public:
  // `store` is borrowed and must outlive the guard. A guard that was moved from may only be
  // destroyed or assigned to. Throws SemelError when the consumer cannot be attached, and for
  // options that cannot be used.
  Guard(Store& store, GuardOptions options);
  ~Guard();
  Guard(Guard&&) noexcept;
  Guard& operator=(Guard&&) noexcept;

  // Runs `work` unless `key` is done. Work returns a Verdict, or nothing for done().
  //   kDone       it ran and is recorded (on a borrowed connection: with the caller's COMMIT)
  //   kDuplicate  it had been done; `result` is the stored one
  //   kBusy       someone else holds the key, or its retry is not due: try again after `delay`. Or
  //               (reason lease.lost) the work ran, but another took the key over before it ended,
  //               and nothing of it is recorded
  //   kConflict   the key was used with another fingerprint; nothing ran and nothing is kept:
  //               keep the message yourself, or let its source bring it again (settle is kLater)
  //   kRetry      work said retry; nothing is recorded but the steps that are done. Or it said
  //               dead, and its steps are still to be undone. Call again, after `delay`. A guard
  //               counts no attempts: where it is enough, let the work return dead
  //   kDead       work said dead, now or before; the record is closed (settle is kAck). Or the key
  //               is empty (reason key.invalid) or too long (too_large): nothing ran and nothing is
  //               recorded. Keep the message yourself (settle is kLater)
  //   kDiscarded  work said discard
  //   kParked     it waits for a person, who may let it run again (settle is kLater): see
  //               at_most_once, and docs/steps.md
  // A guard never has the payload. `settle` is kAck only where the message is not needed again.
  // Throws what `work` throws: its record is undone, and finished steps stay. With a Transaction
  // that includes StatementRefused, and StatementFailed: recorded statements run after `work` has
  // returned, so run_once itself throws StatementFailed if one of them fails. An Error means that
  // this store cannot do such work (kRejected), or could not answer (kUnavailable with R250 where a
  // borrowed connection is lost): the work had no effect, or (kInDoubt) its outcome is unknown, and
  // a second call tells: kDuplicate where it was recorded. Work under a lease that was not recorded
  // is kBusy until the lease ends, and then runs again (parked under at_most_once).
  template <class Work>
  [[nodiscard]] Result<Outcome> run_once(BytesView key, const Fingerprint& fingerprint,
                                         Work&& work) {
    if constexpr (std::is_invocable_v<Work&, Transaction&>) {
      return run(key, fingerprint, TransactionalHandler([&](const Message&, Transaction& tx) {
                   return verdict_of(work, tx);
                 }));
    } else if constexpr (std::is_invocable_v<Work&, const Attempt&>) {
      return run(key, fingerprint, PlainHandler([&](const Message&, const Attempt& attempt) {
                   return verdict_of(work, attempt);
                 }));
    } else if constexpr (std::is_invocable_v<Work&>) {
      return run(key, fingerprint,
                 PlainHandler([&](const Message&, const Attempt&) { return verdict_of(work); }));
    } else {
      static_assert(kNone<Work>, "work takes (Transaction&), (const Attempt&) or nothing");
    }
  }

  // The same for many messages: `work(index)`, `work(index, Transaction&)` or `work(index, const
  // Attempt&)` is called for each whose key is not done, and the answers come in the order of
  // `messages`, each what run_once would have answered.
  //
  // In a transaction there is one claim for all, the work's statements, one finish, one commit (on
  // a borrowed connection the caller's own). Without one, all keys are claimed first, the work of
  // each is called in turn, and what has ended is recorded together; steps are journalled one by
  // one, and at_most_once takes one message after the other.
  //
  //   a twin (same key and fingerprint again)  kDuplicate of the first one's success; where the
  //                                            first did not succeed, its outcome. It is not run
  //   same key, other fingerprint              claimed after the first, in a transaction more
  //   the work threw, or a statement failed    kRetry, with the error's text; the exception does
  //                                            not pass through. kParked where at_most_once says so
  //   a key that is not allowed                kDead for this message alone
  //
  // A message that does not succeed leaves no effect in the transaction, and the others still
  // succeed: work that was undone together with it runs again without it. So `work` may be called
  // several times for a message, before its one outcome; it must keep its effects to the
  // transaction. On a store of Semel's own each good message is committed when this returns, in as
  // few transactions as the faults allow. On a borrowed connection failed work is rolled back to
  // where it began, and the caller commits the rest, or rolls all of it back. Where an answer is an
  // Error the caller must roll back: the connection may be unusable.
  //
  // An Error for a message means that the store could not answer for it: its work had no effect,
  // or (kInDoubt) that is unknown, and a second call tells, as of run_once. An exception of `work`
  // does not leave this call.
  template <class Work>
  [[nodiscard]] std::vector<Result<Outcome>> run_batch(std::span<const BatchMessage> messages,
                                                       Work&& work) {
    if constexpr (std::is_invocable_v<Work&, std::size_t, Transaction&>) {
      return run_each(messages, EachInTransaction([&](std::size_t index, Transaction& tx) {
                        return verdict_of(work, index, tx);
                      }));
    } else if constexpr (std::is_invocable_v<Work&, std::size_t, const Attempt&>) {
      return run_each(messages, EachPlain([&](std::size_t index, const Attempt& attempt) {
                        return verdict_of(work, index, attempt);
                      }));
    } else if constexpr (std::is_invocable_v<Work&, std::size_t>) {
      return run_each(messages, EachPlain([&](std::size_t index, const Attempt&) {
                        return verdict_of(work, index);
                      }));
    } else {
      static_assert(kNone<Work>,
                    "work takes (std::size_t), (std::size_t, Transaction&) or "
                    "(std::size_t, const Attempt&)");
    }
  }

  // Claims the key for an effect outside of any transaction; the GuardClaim ends it. Where there is
  // no claim, the outcome says why, as from run_once. Not on a borrowed connection, nor with
  // GuardOptions::steps (kRejected). An Error means that the store could not answer: nothing is
  // held, or (kInDoubt) a lease that ends by itself.
  [[nodiscard]] Result<Begun> begin(BytesView key, const Fingerprint& fingerprint);

 private:
  friend struct GuardAccess;
  using EachInTransaction = std::function<Verdict(std::size_t, Transaction&)>;
  using EachPlain = std::function<Verdict(std::size_t, const Attempt&)>;
  using EachWork = std::variant<EachInTransaction, EachPlain>;

  template <class>
  static constexpr bool kNone = false;

  template <class Work, class... Args>
  static Verdict verdict_of(Work& work, Args&&... args) {
    using Answer = std::invoke_result_t<Work&, Args...>;
    if constexpr (std::is_void_v<Answer>) {
      work(std::forward<Args>(args)...);
      return done();
    } else {
      static_assert(std::is_convertible_v<Answer, Verdict>, "work returns a Verdict, or nothing");
      return work(std::forward<Args>(args)...);
    }
  }
  Result<Outcome> run(BytesView key, const Fingerprint& fingerprint, const Handler& handler);
  std::vector<Result<Outcome>> run_each(std::span<const BatchMessage> messages,
                                        const EachWork& work);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
