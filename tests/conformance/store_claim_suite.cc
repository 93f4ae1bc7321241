// Store: the answers to a claim.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>

#include <semel/spi/record_machine.h>

#include "tests/conformance/store_case.h"
#include "tests/support/test_environment.h"

namespace semel::conformance {
namespace {

using test::make_message;
using test::make_messages;
using test::pointers;

TEST_P(StoreSuite, ItsTraitsSayWhetherItHasTransactions) {
  EXPECT_EQ(store().traits().transactions, store().facets().transactional != nullptr);
}

TEST_P(StoreSuite, ItsFacetsAreThoseThatItsCaseDeclares) {
  for (const Facet facet : kAllFacets) {
    EXPECT_EQ(is_there(store().facets(), facet), has(facet)) << to_string(facet);
  }
  EXPECT_EQ(has(Facet::kHeld), has(Facet::kDeadLetters)) << "a message goes from one to the other";
  for (const Facet facet : {Facet::kTransactional, Facet::kRuns}) {
    EXPECT_TRUE(has(Facet::kHeld) || !has(facet)) << to_string(facet) << " needs held";
  }
  for (const Facet facet : {Facet::kHeld, Facet::kSteps}) {
    EXPECT_TRUE(has(Facet::kRecords) || !has(facet)) << to_string(facet) << " needs records";
  }
}

TEST_P(StoreSuite, AConsumersNumberStays) {
  const ConsumerNumber other = attach("refunds");
  EXPECT_NE(other, consumer());
  EXPECT_LE(static_cast<std::uint32_t>(other), kMaxConsumerNumber);
  EXPECT_EQ(attach("payments"), consumer());
  reopen();
  EXPECT_EQ(attach("refunds"), other);
  EXPECT_EQ(attach("payments"), consumer());
  EXPECT_NE(attach("third"), other);
}

TEST_P(StoreSuite, AChangedKeyRecipeIsRefusedUntilAccepted) {
  const auto refused = store().attach({"payments", "another recipe", false, {}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(refused.error().code, "R220");
  EXPECT_NE(refused.error().message.find("payments"), std::string::npos) << "it names the consumer";

  EXPECT_EQ(attach("payments"), consumer()) << "a refusal changes nothing";
  ASSERT_TRUE(store().attach({"payments", "another recipe", true, {}}).has_value());
  reopen();
  EXPECT_TRUE(store().attach({"payments", "another recipe", false, {}}).has_value());
  EXPECT_FALSE(store().attach({"payments", "recipe", false, {}}).has_value())
      << "going back is a change too";
}

TEST_P(StoreSuite, ANewKeyIsAcquired) {
  const Message m = message("m-1");
  const Acquired acquired = acquire(m);
  EXPECT_EQ(acquired.attempt, 1);
  EXPECT_FALSE(acquired.taken_over);
  EXPECT_FALSE(acquired.had_record);
  EXPECT_EQ(acquired.lease.key, m.key().id);
  EXPECT_NE(acquired.lease.nonce, Nonce{});
  EXPECT_NE(acquired.lease.token, Token{});
  EXPECT_LT(acquired.since_first, 5s);
}

TEST_P(StoreSuite, AHeldKeyIsBusyForAsLongAsItsLease) {
  const Message m = message("m-1");
  acquire(m);
  const Claim answer = claim(m);
  ASSERT_TRUE(is<Busy>(answer)) << describe(answer);
  EXPECT_GT(std::get<Busy>(answer).retry_after, 0ms);
  EXPECT_LE(std::get<Busy>(answer).retry_after, kLease);
  advance(kLease - 5s);
  EXPECT_TRUE(is<Busy>(claim(m)));
}

TEST_P(StoreSuite, ACompletedKeyIsCompletedWithItsResultWhereItIsWanted) {
  const Message m = message("m-1");
  const Bytes result("an answer\0with a zero", 21);
  complete(m, result);
  const Claim wanted = claim(m, {kLease, {}, true});
  ASSERT_TRUE(is<Completed>(wanted)) << describe(wanted);
  EXPECT_EQ(std::get<Completed>(wanted).result, result);
  EXPECT_GT(std::get<Completed>(wanted).completed_at.time_since_epoch(), 365 * 24h)
      << "a time of the store's clock";
  const Claim plain = claim(m);
  ASSERT_TRUE(is<Completed>(plain)) << describe(plain);
}

TEST_P(StoreSuite, ABigResultIsKeptWhole) {
  const Message m = message("m-1");
  const Bytes result(1 << 20, '\xff');
  complete(m, result);
  reopen();
  const Claim wanted = claim(m, {kLease, {}, true});
  ASSERT_TRUE(is<Completed>(wanted)) << describe(wanted);
  EXPECT_TRUE(std::get<Completed>(wanted).result == result);
}

TEST_P(StoreSuite, ARetryNotYetDueIsWaitingAndThenAnotherAttempt) {
  const Message m = message("m-1");
  const Acquired first = acquire(m);
  ASSERT_EQ(finish(test::retrying(first.lease, 30s, &m)), Applied::kYes);
  const Claim answer = claim(m);
  ASSERT_TRUE(is_retry(answer)) << describe(answer);
  if (has(Facet::kHeld)) {
    EXPECT_GT(std::get<Waiting>(answer).next_in, 0ms);
    EXPECT_LE(std::get<Waiting>(answer).next_in, 30s);
  }
  advance(31s);
  const Acquired second = acquire(m);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_FALSE(second.taken_over) << "its holder said how it ended";
  EXPECT_TRUE(second.had_record);
  EXPECT_GT(second.lease.token, first.lease.token);
  EXPECT_NE(second.lease.nonce, first.lease.nonce);
  EXPECT_GE(second.since_first, 30s);
}

TEST_P(StoreSuite, ARetryThatNobodyHoldsIsBusyUntilItIsDue) {
  const Message m = message("m-1");
  ASSERT_EQ(finish(test::retrying(acquire(m).lease, 30s, nullptr)), Applied::kYes);
  // The delivery that meets it has the only payload: it must come again.
  for (int times = 0; times < 2; ++times) {
    const Claim answer = claim(m);
    ASSERT_TRUE(is<Busy>(answer)) << describe(answer);
    EXPECT_GE(std::get<Busy>(answer).retry_after, spi::kShortestBusy);
    EXPECT_LE(std::get<Busy>(answer).retry_after, spi::kLongestBusy);
    reopen();
  }
  EXPECT_TRUE(is<Conflict>(claim(message("m-1", "another payload"))));
  advance(31s);
  const Acquired second = acquire(m);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_FALSE(second.taken_over);
  // From here on the store has the payload, or still has none.
  ASSERT_EQ(finish(test::retrying(second.lease, 30s, &m)), Applied::kYes);
  EXPECT_TRUE(is_retry(claim(m)));
}

TEST_P(StoreSuite, AParkedRecordSaysWhetherItsPayloadIsHeld) {
  const Message kept = message("kept"), unkept = message("unkept");
  ASSERT_EQ(finish(test::parked(acquire(kept).lease, &kept)), Applied::kYes);
  ASSERT_EQ(finish(test::parked(acquire(unkept).lease, nullptr)), Applied::kYes);
  reopen();
  for (const Message* const m : {&kept, &unkept}) {
    const Claim answer = claim(*m);
    ASSERT_TRUE(is<Closed>(answer)) << describe(answer);
    EXPECT_TRUE(std::get<Closed>(answer).parked);
    EXPECT_EQ(std::get<Closed>(answer).held, m == &kept && has(Facet::kHeld));
  }
}

TEST_P(StoreSuite, ARetryThatDoesNotCountGivesItsAttemptBack) {
  const Message m = message("m-1");
  Finish again = test::retrying(acquire(m).lease, 0ms, &m);
  again.counted = false;
  ASSERT_EQ(finish(again), Applied::kYes);
  advance(1s);
  EXPECT_EQ(acquire(m).attempt, 1);
}

TEST_P(StoreSuite, AParkedOrDeadKeyIsClosedWithItsReason) {
  const Message parked = message("parked");
  const Message dead = message("dead");
  ASSERT_EQ(finish(test::parked(acquire(parked).lease, &parked, "lease.parked")), Applied::kYes);
  ASSERT_EQ(finish(test::dead(acquire(dead).lease, &dead, "handler.native")), Applied::kYes);
  advance(24h);
  Claim answer = claim(parked);
  ASSERT_TRUE(is<Closed>(answer)) << describe(answer);
  EXPECT_TRUE(std::get<Closed>(answer).parked);
  EXPECT_EQ(std::get<Closed>(answer).reason, "lease.parked");
  answer = claim(dead);
  ASSERT_TRUE(is<Closed>(answer)) << describe(answer);
  EXPECT_FALSE(std::get<Closed>(answer).parked);
  EXPECT_EQ(std::get<Closed>(answer).reason, "handler.native");
}

TEST_P(StoreSuite, TheFingerprintIsComparedBeforeTheStateInEveryState) {
  for (const RecordState state :
       {RecordState::kConsuming, RecordState::kCompleted, RecordState::kRetrying,
        RecordState::kParked, RecordState::kDead}) {
    SCOPED_TRACE(to_string(state));
    const std::string key = std::string("key-") + to_string(state);
    const Message original = message(key, "one payload");
    const Message other = message(key, "another payload");
    bring_to(original, state);
    const Claim answer = claim(other);
    ASSERT_TRUE(is<Conflict>(answer)) << describe(answer);
    EXPECT_EQ(std::get<Conflict>(answer).recorded, original.fingerprint());
    EXPECT_EQ(std::get<Conflict>(answer).arrived, other.fingerprint());
  }
}

TEST_P(StoreSuite, AConflictOutranksAnEndedLeaseAndADueRetry) {
  const Message held = message("held", "one");
  const Message retrying = message("retrying", "one");
  const Lease lease = acquire(held).lease;
  ASSERT_EQ(finish(test::retrying(acquire(retrying).lease, 1s, &retrying)), Applied::kYes);
  advance(kPastLease);
  EXPECT_TRUE(is<Conflict>(claim(message("held", "two"))));
  EXPECT_TRUE(is<Conflict>(claim(message("retrying", "two"))));
  EXPECT_EQ(finish(test::completed(lease)), Applied::kYes) << "a conflict takes nothing over";
  EXPECT_EQ(acquire(retrying).attempt, 2) << "nor begins an attempt";
}

TEST_P(StoreSuite, WithoutFingerprintsEveryPayloadIsTheSame) {
  auto first = test::make_parts(consumer(), "m-1", "one");
  auto second = test::make_parts(consumer(), "m-1", "two");
  first.fingerprint = {};
  second.fingerprint = {};
  complete(Message(first));
  EXPECT_TRUE(is<Completed>(claim(Message(second))));
}

// Its record has no attempt to show, nor a reason.
TEST_P(StoreSuite, ARetryThatDidNotCountIsKnownToHaveARecord) {
  const Message m = message("m-1");
  Finish retry = test::retrying(acquire(m).lease, 1s, nullptr);
  retry.counted = false;
  retry.reason.clear();
  retry.error.clear();
  ASSERT_EQ(finish(retry), Applied::kYes);
  advance(2s);
  const Acquired second = acquire(m);
  EXPECT_EQ(second.attempt, 1);
  EXPECT_TRUE(second.had_record);
}

TEST_P(StoreSuite, AnEndedLeaseIsTakenOver) {
  const Message m = message("m-1");
  const Acquired first = acquire(m);
  advance(kPastLease);
  const Acquired second = acquire(m);
  EXPECT_TRUE(second.taken_over);
  EXPECT_TRUE(second.had_record);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_GT(second.lease.token, first.lease.token);
  EXPECT_NE(second.lease.nonce, first.lease.nonce);
  EXPECT_GE(second.since_first, kLease);
  EXPECT_TRUE(is<Busy>(claim(m)));
}

TEST_P(StoreSuite, OnlyTheClaimThatEndsALeaseSaysSo) {
  const Message m = message("m-1");
  EXPECT_FALSE(acquire(m).lease_ended);
  advance(kPastLease);
  const Acquired second = acquire(m);
  EXPECT_TRUE(second.lease_ended);
  ASSERT_EQ(finish(test::retrying(second.lease, 1s, nullptr)), Applied::kYes);
  advance(2s);
  const Acquired third = acquire(m);
  EXPECT_TRUE(third.taken_over);
  EXPECT_FALSE(third.lease_ended) << "the second one did, and said how it went";
  advance(kPastLease);
  EXPECT_TRUE(acquire(m).lease_ended);
}

TEST_P(StoreSuite, TokensGrowAndNeverRepeat) {
  const ConsumerNumber brief = attach("brief", 1h);
  const Message m = make_message(brief, "m-1");
  Token last{};
  const auto grows = [&](const char* after) {
    const Token token = acquire(m).lease.token;
    EXPECT_GT(token, last) << "after " << after;
    last = token;
  };
  grows("nothing");
  advance(kPastLease);
  grows("an expiry");
  advance(kPastLease);
  const Acquired taken = acquire(m);
  ASSERT_EQ(finish(test::not_started(taken.lease)), Applied::kYes);
  last = taken.lease.token;
  advance(kPastLease);
  grows("a release");
  reopen();
  advance(kPastLease);
  const Acquired reopened = acquire(m);
  EXPECT_GT(reopened.lease.token, last) << "after a reopen";
  last = reopened.lease.token;
  ASSERT_EQ(finish(test::completed(reopened.lease)), Applied::kYes);
  advance(30 * 24h);
  ASSERT_TRUE(store().purge(10s).has_value());
  ASSERT_TRUE(store().purge(10s).has_value());
  const Message other = make_message(brief, "m-2");
  EXPECT_GT(acquire(other).lease.token, last) << "over keys";
}

TEST_P(StoreSuite, AnEmptyBatchIsAnswered) {
  EXPECT_EQ(store().claim({}, {}).value().size(), 0U);
  EXPECT_EQ(store().finish({}).value().size(), 0U);
  EXPECT_EQ(store().renew({}, kLease).value().size(), 0U);
}

TEST_P(StoreSuite, AnswersComeInTheOrderOfTheRequest) {
  std::vector<Message> messages = make_messages(consumer(), "m-", 200);
  std::set<Bytes> done;
  for (std::size_t i = 0; i < messages.size(); i += 3) {
    complete(messages[i]);
    done.insert(messages[i].key().text);
  }
  std::ranges::shuffle(messages, std::mt19937(7));  // NOLINT: one order, always the same
  const auto claims = store().claim(pointers(messages), {}).value();
  ASSERT_EQ(claims.size(), messages.size());
  std::vector<Finish> finishes;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(is<Completed>(claims[i]), done.contains(messages[i].key().text)) << i;
    if (!is<Acquired>(claims[i])) continue;
    EXPECT_EQ(std::get<Acquired>(claims[i]).lease.key, messages[i].key().id);
    finishes.push_back(test::completed(std::get<Acquired>(claims[i]).lease));
    if (i % 2 == 0) finishes.back().lease->nonce.bytes[3] ^= 1U;
  }
  const auto applied = store().finish(finishes).value();
  for (std::size_t i = 0, f = 0; i < messages.size(); ++i) {
    if (!is<Acquired>(claims[i])) continue;
    EXPECT_EQ(applied[f++], i % 2 == 0 ? Applied::kLeaseLost : Applied::kYes) << i;
  }
}

TEST_P(StoreSuite, BatchesOfAnySize) {
  for (const std::size_t size : {1U, 100U, 1000U}) {
    SCOPED_TRACE(size);
    const auto messages = make_messages(consumer(), "size-" + std::to_string(size) + "-", size);
    const auto claims = store().claim(pointers(messages), {}).value();
    std::vector<Finish> finishes;
    std::vector<Lease> leases;
    for (const Claim& answer : claims) {
      ASSERT_TRUE(is<Acquired>(answer)) << describe(answer);
      leases.push_back(std::get<Acquired>(answer).lease);
      finishes.push_back(test::completed(leases.back()));
    }
    const auto renewed = store().renew(leases, kLease).value();
    EXPECT_EQ(std::ranges::count(renewed, Applied::kYes), static_cast<std::ptrdiff_t>(size));
    const auto applied = store().finish(finishes).value();
    EXPECT_EQ(std::ranges::count(applied, Applied::kYes), static_cast<std::ptrdiff_t>(size));
    const auto again = store().claim(pointers(messages), {}).value();
    EXPECT_TRUE(std::ranges::all_of(again, is<Completed>));
  }
}

TEST_P(StoreSuite, KeysAreBytes) {
  using namespace std::string_literals;
  const std::vector<Bytes> keys = {"abc",
                                   "ABC",
                                   "abc ",
                                   " abc",
                                   "\xc3\xa4"s + "bc",
                                   "a\xcc\x88"s + "bc",
                                   "abc\0"s,
                                   "abc\0\0"s,
                                   "\0abc"s,
                                   "\xff\xfe"s,
                                   "\xff"s,
                                   "'; DROP TABLE semel_live; --",
                                   "a\nb",
                                   "a\rb",
                                   Bytes(64 << 10, 'k'),
                                   Bytes((64 << 10) - 1, 'k'),
                                   "0",
                                   "00",
                                   "01890a5d-ac96-774b-bcce-b302099a8057",
                                   "01890A5D-AC96-774B-BCCE-B302099A8057",
                                   "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                                   "01arz3ndektsv4rrffq69g5fav"};
  std::vector<Message> messages;
  for (const Bytes& key : keys) messages.push_back(message(key));
  const auto claims = store().claim(pointers(messages), {}).value();
  std::set<KeyId> ids;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(is<Acquired>(claims[i])) << i << ": " << describe(claims[i]);
    ids.insert(std::get<Acquired>(claims[i]).lease.key);
  }
  EXPECT_EQ(ids.size(), keys.size());
  ASSERT_EQ(finish(test::completed(std::get<Acquired>(claims[0]).lease)), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(messages[0])));
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_TRUE(is<Busy>(claim(messages[i]))) << i;
}

TEST_P(StoreSuite, ConsumersDoNotMeet) {
  const ConsumerNumber other = attach("refunds");
  complete(message("m-1"));
  const Message same_key = make_message(other, "m-1");
  const Acquired acquired = acquire(same_key);
  EXPECT_EQ(acquired.attempt, 1);
  EXPECT_EQ(finish(test::completed(acquired.lease)), Applied::kYes);
}

TEST_P(StoreSuite, RaceForAKeyHasOneWinner) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kKeys = 200;
  const auto messages = make_messages(consumer(), "m-", kKeys);
  std::vector<std::vector<Claim>> answers(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        auto order = pointers(messages);
        if (t % 2 == 1) std::ranges::reverse(order);
        for (std::size_t at = 0; at < order.size(); at += 20) {
          auto claims = store().claim({order.data() + at, 20}, {}).value();
          std::ranges::move(claims, std::back_inserter(answers[t]));
        }
      });
    }
  }
  std::map<Bytes, int> acquired;
  for (const auto& claims : answers) {
    ASSERT_EQ(claims.size(), kKeys);
    for (const Claim& answer : claims) {
      if (const auto* mine = std::get_if<Acquired>(&answer)) {
        ++acquired[Bytes(mine->lease.key.view())];
      } else {
        EXPECT_TRUE(is<Busy>(answer)) << describe(answer);
      }
    }
  }
  EXPECT_EQ(acquired.size(), kKeys);
  for (const auto& [key, count] : acquired) EXPECT_EQ(count, 1);
}

TEST_P(StoreSuite, RaceOfManyThreadsFinishesWhatEachClaimed) {
  constexpr std::size_t kThreads = 4;
  std::vector<std::vector<Message>> messages;
  for (std::size_t t = 0; t < kThreads; ++t) {
    messages.push_back(make_messages(consumer(), "t" + std::to_string(t) + "-", 150));
  }
  std::atomic<std::size_t> applied = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (const Message& m : messages[t]) {
          const Claim answer = claim(m);
          if (!is<Acquired>(answer)) return;
          if (finish(test::completed(std::get<Acquired>(answer).lease)) == Applied::kYes) {
            ++applied;
          }
        }
      });
    }
  }
  EXPECT_EQ(applied, kThreads * 150);
  reopen();
  for (const auto& mine : messages) {
    const auto claims = store().claim(pointers(mine), {}).value();
    for (const Claim& answer : claims) {
      EXPECT_TRUE(is<Completed>(answer)) << describe(answer);
    }
  }
}

}  // namespace
}  // namespace semel::conformance
