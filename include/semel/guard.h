// Guard: one call around any code, inside the user's own loop.
//
//   semel::Guard guard(store, {.consumer = "payments"});
//   auto outcome = guard.run_once(key, semel::fingerprint_of(body), [&](semel::Transaction& tx) {
//     tx.exec("UPDATE account SET balance = balance + ? WHERE id = ?", amount, account);
//     return semel::done();
//   });
//
// With a transactional store, work that takes a Transaction commits with its record. On a borrowed
// connection (semel/sqlite.h) so does all work, by the caller's own COMMIT. Other work is guarded
// by a lease, renewed while it runs: after a crash it may run again.
//
// Safe for several threads as far as its store is.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <semel/handler.h>
#include <semel/outcome.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {

// The digest that stands for `content` when a key is met again.
Fingerprint fingerprint_of(BytesView content) noexcept;

struct GuardOptions {
  std::string consumer;  // first half of every record's key; [a-z][a-z0-9_-]{0,62}
  std::optional<std::chrono::milliseconds> ttl = std::chrono::hours(7 * 24);  // none: for ever
  std::chrono::milliseconds lease{60'000};
};

class Guard {
 public:
  // `store` is borrowed and must outlive the guard. Throws SemelError when the consumer cannot be
  // attached.
  Guard(Store& store, GuardOptions options);
  ~Guard();
  Guard(Guard&&) noexcept;
  Guard& operator=(Guard&&) noexcept;

  // Runs `work` unless `key` is done. Work returns a Verdict, or nothing for done().
  //   kDone       it ran and is recorded (on a borrowed connection: with the caller's COMMIT)
  //   kDuplicate  it had been done; `result` is the stored one
  //   kBusy       someone else holds the key; try again after `delay`
  //   kConflict   the key was used with another fingerprint; nothing ran
  //   kRetry      work said retry; nothing is recorded, call again
  //   kDead       work said dead, now or before; the record is closed
  // An exception of `work` undoes its record and passes through. An Error means the store could not
  // tell; the work did not run, or (kInDoubt) call again to know.
  template <class Work>
  Result<Outcome> run_once(BytesView key, const Fingerprint& fingerprint, Work&& work) {
    if constexpr (std::is_invocable_v<Work&, Transaction&>) {
      return run(key, fingerprint, TransactionalHandler([&](const Message&, Transaction& tx) {
                   return verdict_of(work, tx);
                 }));
    } else if constexpr (std::is_invocable_v<Work&, const Attempt&>) {
      return run(key, fingerprint, PlainHandler([&](const Message&, const Attempt& attempt) {
                   return verdict_of(work, attempt);
                 }));
    } else {
      return run(key, fingerprint,
                 PlainHandler([&](const Message&, const Attempt&) { return verdict_of(work); }));
    }
  }

 private:
  template <class Work, class... Args>
  static Verdict verdict_of(Work& work, Args&&... args) {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&, Args...>>) {
      work(std::forward<Args>(args)...);
      return done();
    } else {
      return work(std::forward<Args>(args)...);
    }
  }
  Result<Outcome> run(BytesView key, const Fingerprint& fingerprint, const Handler& handler);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace semel
