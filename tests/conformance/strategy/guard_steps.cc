#include "tests/conformance/strategy/guard_steps.h"

#include <gtest/gtest.h>

#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/guard.h>
#include <semel/reason.h>
#include <semel/spi/claim.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/key_encoding.h"
#include "tests/support/builders.h"

namespace semel::conformance {

namespace {

using Calls = std::vector<std::string>;
using Ended = Outcome::Kind;

// The outside service: the calls with their keys.
struct Service {
  Calls calls;
  Bytes called(const std::string& what, const Bytes& key) {
    calls.push_back(what + " " + key);
    return what + "ed";
  }
};

}  // namespace

void guard_keeps_steps(Store& store) {
  Guard guard(store, {.consumer = "stepping"});
  Service service;
  int tries = 0;
  const auto work = [&](const Attempt& attempt) {
    const Bytes hold =
        attempt.step("lock", "A7", [&](const Bytes& key) { return service.called("lock", key); });
    EXPECT_EQ(hold, "locked");
    if (++tries == 1) throw std::domain_error("in between");
    if (tries == 2) return retry("not yet");
    attempt.step("charge", "", [&](const Bytes& key) { return service.called("charge", key); });
    return done("paid");
  };
  const Fingerprint body = fingerprint_of("body");
  EXPECT_THROW((void)guard.run_once("o-1", body, work), std::domain_error);
  EXPECT_EQ(guard.run_once("o-1", body, work)->kind, Ended::kRetry);
  EXPECT_EQ(guard.run_once("o-1", fingerprint_of("other"), work)->kind, Ended::kConflict);
  const auto paid = guard.run_once("o-1", body, work);
  ASSERT_TRUE(paid.has_value()) << paid.error().message;
  EXPECT_EQ(paid->kind, Ended::kDone);
  EXPECT_EQ(guard.run_once("o-1", body, work)->kind, Ended::kDuplicate);
  EXPECT_EQ(service.calls, (Calls{"lock o-1/lock=A7", "charge o-1/charge"}));
}

void guard_undoes_steps(Store& store) {
  Service service;
  int refused = 1;
  const UndoHandler undo = [&](const Message&, const StepUndo& step, const Attempt&) {
    service.called("undo", step.key);
    return refused-- > 0 ? retry("busy", std::chrono::milliseconds(1)) : done();
  };
  Guard guard(store, {.consumer = "undoing", .steps = StepSpecs{{"lock", undo}, {"charge", undo}}});
  const auto work = [&](const Attempt& attempt) {
    for (const char* step : {"lock", "charge"}) {
      attempt.step(step, "", [&](const Bytes& key) { return service.called(step, key); });
    }
    return dead("no such order");
  };
  const Fingerprint body = fingerprint_of("body");
  Ended ended = Ended::kRetry;
  int runs = 0;
  const auto comes_again = [&] { return ended == Ended::kRetry || ended == Ended::kBusy; };
  for (; comes_again() && runs < 10; ++runs) {
    const auto outcome = guard.run_once("o-1", body, work);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    ended = outcome->kind;
    std::this_thread::sleep_for(outcome->delay);
  }
  EXPECT_EQ(ended, Ended::kDead);
  EXPECT_GE(runs, 3) << "it said dead, an undo failed, all is undone";
  EXPECT_EQ(guard.run_once("o-1", body, work)->kind, Ended::kDead);
  EXPECT_EQ(service.calls, (Calls{"lock o-1/lock", "charge o-1/charge", "undo o-1/charge/undo",
                                  "undo o-1/charge/undo", "undo o-1/lock/undo"}));
}

void guard_tries_at_most_once(Store& store) {
  Guard guard(store, {.consumer = "mailing", .at_most_once = true});
  const Fingerprint body = fingerprint_of("body");
  int mails = 0;
  const auto mail = [&] { ++mails; };
  EXPECT_EQ(guard.run_once("sent", body, mail)->kind, Ended::kDone);
  EXPECT_EQ(guard.run_once("sent", body, mail)->kind, Ended::kDuplicate);
  EXPECT_EQ(guard.run_once("busy", body, [] { return retry("the line is busy"); })->kind,
            Ended::kRetry);
  EXPECT_EQ(guard.run_once("busy", body, mail)->kind, Ended::kDone) << "nothing had happened";
  EXPECT_EQ(mails, 2);

  const auto breaks = [&] {
    ++mails;
    throw std::domain_error("in the midst of it");
  };
  EXPECT_THROW((void)guard.run_once("dark", body, breaks), std::domain_error);
  const auto again = guard.run_once("dark", body, mail);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->kind, Ended::kParked);
  EXPECT_EQ(again->reason, reason::kOutcomeUnknown);

  // The state after a process was killed while the mail was being sent.
  const ConsumerSpec spec{"mailing", "guard", false, std::chrono::hours(7 * 24)};
  const ConsumerNumber number = store.attach(spec).value();
  const Message killed = test::make_message(number, "killed", "body");
  const Message* const one = &killed;
  ClaimOptions options;
  options.lease = std::chrono::milliseconds(1);
  ASSERT_TRUE(std::holds_alternative<Acquired>(store.claim({&one, 1}, options).value().front()));
  Result<Outcome> taken = guard.run_once("killed", killed.fingerprint(), mail);
  while (taken && taken->kind == Ended::kBusy) {
    taken = guard.run_once("killed", killed.fingerprint(), mail);
  }
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  EXPECT_EQ(taken->kind, Ended::kParked);
  EXPECT_EQ(taken->reason, reason::kLeaseParked);
  EXPECT_EQ(mails, 3);

  RecordInspector& records = *store.facets().records;
  for (const char* key : {"dark", "killed"}) {
    const KeyId id = core::encode_key(number, key);
    const auto view = records.show(id).value();
    ASSERT_TRUE(view.has_value()) << key;
    EXPECT_EQ(view->state, RecordState::kParked);
    EXPECT_TRUE(view->outcome_unknown);
    EXPECT_EQ(view->key, key);
    // A person found out that there was no mail.
    const auto lease = records.seize(id, std::chrono::seconds(60)).value();
    ASSERT_TRUE(lease.has_value());
    Finish again_then;
    again_then.to = Finish::To::kRetrying;
    again_then.lease = *lease;
    ASSERT_EQ(store.finish({&again_then, 1}).value().front(), Applied::kYes);
  }
  EXPECT_EQ(guard.run_once("killed", killed.fingerprint(), mail)->kind, Ended::kDone);
  EXPECT_EQ(guard.run_once("dark", body, mail)->kind, Ended::kDone);
  EXPECT_EQ(mails, 5);
}

void guard_leaves_what_nobody_keeps(Store& store) {
  const Fingerprint body = fingerprint_of("body");
  Guard guard(store, {.consumer = "leaving"});
  EXPECT_EQ(guard.run_once("paid", body, [] {})->settle, Outcome::Settle::kAck);
  EXPECT_EQ(guard.run_once("paid", body, [] {})->settle, Outcome::Settle::kAck);
  const auto conflict = guard.run_once("paid", fingerprint_of("other"), [] {});
  ASSERT_TRUE(conflict.has_value()) << conflict.error().message;
  EXPECT_EQ(conflict->kind, Ended::kConflict);
  EXPECT_EQ(conflict->reason, reason::kKeyConflict);
  EXPECT_EQ(conflict->settle, Outcome::Settle::kLater);
  EXPECT_FALSE(conflict->error.empty());
  const auto no = [] { return dead("no"); };
  EXPECT_EQ(guard.run_once("no", body, no)->settle, Outcome::Settle::kAck) << "the work said so";
  EXPECT_EQ(guard.run_once("no", body, [] {})->settle, Outcome::Settle::kAck);

  // A person may let it run again.
  Guard once(store, {.consumer = "leaving-once", .at_most_once = true});
  EXPECT_THROW((void)once.run_once("dark", body, [] { throw std::domain_error("no"); }),
               std::domain_error);
  const auto parked = once.run_once("dark", body, [] {});
  ASSERT_TRUE(parked.has_value()) << parked.error().message;
  EXPECT_EQ(parked->kind, Ended::kParked);
  EXPECT_EQ(parked->settle, Outcome::Settle::kLater);

  // It said dead, and the undo of its step comes with the next call.
  const UndoHandler undo = [](const Message&, const StepUndo&, const Attempt&) { return done(); };
  Guard undoing(store, {.consumer = "leaving-steps", .steps = StepSpecs{{"lock", undo}}});
  const auto work = [&](const Attempt& attempt) {
    attempt.step("lock", "", [](const Bytes&) { return Bytes("locked"); });
    return dead("no such order");
  };
  const auto first = undoing.run_once("o-1", body, work);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(first->kind, Ended::kRetry);
  EXPECT_EQ(first->settle, Outcome::Settle::kLater);
}

void guard_behind_a_window(Store& store, std::shared_ptr<FrontWindow> window) {
  const Fingerprint body = fingerprint_of("body");
  GuardOptions options{.consumer = "fronted"};
  options.front = window;
  Guard guard(store, options);
  int ran = 0;
  const auto work = [&] {
    ++ran;
    return done("the answer");
  };
  // On a slow machine it may not be believed for a moment: then the record answers.
  const auto comes_from_window = [&](const char* key) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      const auto outcome = guard.run_once(key, body, work);
      if (!outcome || outcome->kind != Ended::kDuplicate) return false;
      if (outcome->reason == reason::kFront) return outcome->result.empty();
      EXPECT_EQ(outcome->result, "the answer") << "by its record";
    }
    return false;
  };
  EXPECT_EQ(guard.run_once("a", body, work)->kind, Ended::kDone);
  EXPECT_TRUE(comes_from_window("a"));
  EXPECT_EQ(guard.run_once("a", fingerprint_of("other"), work)->kind, Ended::kConflict);
  EXPECT_EQ(guard.run_once("b", body, [] { return retry("later"); })->kind, Ended::kRetry);
  EXPECT_THROW((void)guard.run_once("b", body, [] { throw std::domain_error("away"); }),
               std::domain_error);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(guard.run_once("b", body, work)->kind, Ended::kDone)
      << "only what is completed is kept";

  const ConsumerSpec spec{"fronted", "guard", false, std::chrono::hours(7 * 24)};
  const ConsumerNumber number = store.attach(spec).value();
  EXPECT_TRUE(store.facets().records->forget(core::encode_key(number, "a")).value());
  EXPECT_TRUE(reseal_fronts(store, number, system_environment()).value());
  const auto trusted_until = std::chrono::steady_clock::now() + kFrontTrusted;
  Ended ended = Ended::kDuplicate;
  for (bool last = false; ended == Ended::kDuplicate && !last;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    last = std::chrono::steady_clock::now() >= trusted_until;
    ended = guard.run_once("a", body, work)->kind;
  }
  EXPECT_EQ(ended, Ended::kDone) << "no window is believed for longer";
  EXPECT_EQ(ran, 3);
  EXPECT_TRUE(comes_from_window("a"));
}

}  // namespace semel::conformance
