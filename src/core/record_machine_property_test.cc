// Random interleavings of several holders, checked against invariants.
#include <semel/spi/record_machine.h>

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <vector>

namespace semel::spi {
namespace {

struct Holder {
  std::optional<Lease> lease;  // as it believes; it does not learn when it loses it
};

class RecordWorld {
 public:
  explicit RecordWorld(std::uint64_t seed) : seed_(seed), random_(seed) {}

  void run() {
    for (int step = 0; step < 400; ++step) {
      before_ = record_;
      pass_time();
      Holder& holder = holders_[random_() % holders_.size()];
      switch (random_() % 4) {
        case 0:
        case 1:
          claim(holder);
          break;
        case 2:
          if (holder.lease && record_) renew(*holder.lease);
          break;
        default:
          if (holder.lease) finish(*holder.lease);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  int completed = 0, taken_over = 0, lost = 0, conflicts = 0, vanished = 0;

 private:
  void pass_time() { now_ += milliseconds(random_() % 60); }
  Nonce draw() {
    Nonce nonce;
    for (unsigned char& byte : nonce.bytes) byte = static_cast<unsigned char>(random_());
    return nonce;
  }
  bool holds(const Lease& lease) const {
    return before_ && before_->state == RecordState::kConsuming && before_->nonce == lease.nonce;
  }
  void expect_unchanged() {
    ASSERT_EQ(record_.has_value(), before_.has_value()) << "seed " << seed_;
    if (!record_) return;
    ASSERT_EQ(record_->state, before_->state) << "seed " << seed_;
    ASSERT_EQ(record_->nonce, before_->nonce) << "seed " << seed_;
    ASSERT_EQ(record_->token, before_->token) << "seed " << seed_;
    ASSERT_EQ(record_->attempt, before_->attempt) << "seed " << seed_;
    ASSERT_EQ(record_->lease_until, before_->lease_until) << "seed " << seed_;
    ASSERT_EQ(record_->next_at, before_->next_at) << "seed " << seed_;
    ASSERT_EQ(record_->reason, before_->reason) << "seed " << seed_;
    ASSERT_EQ(record_->result, before_->result) << "seed " << seed_;
  }

  void claim(Holder& holder) {
    ClaimRequest request;
    request.fingerprint.bytes.fill(random_() % 4 == 0 ? 2 : 1);
    request.token = Token{++tokens_};
    request.nonce = draw();
    request.lease = milliseconds(50);
    const Claim answer = decide_claim(record_, request, now_);
    const bool same = !before_ || before_->fingerprint == request.fingerprint;
    ASSERT_EQ(std::holds_alternative<Conflict>(answer), !same) << "seed " << seed_;
    if (!same) ++conflicts;
    const auto* acquired = std::get_if<Acquired>(&answer);
    if (acquired == nullptr) return expect_unchanged();
    // No claim is granted for a record that another holds, or that is finished.
    ASSERT_TRUE(!before_ || before_->state == RecordState::kRetrying ||
                (before_->state == RecordState::kConsuming && before_->lease_until <= now_))
        << "seed " << seed_;
    ASSERT_EQ(acquired->attempt, before_ ? before_->attempt + 1 : 1) << "seed " << seed_;
    ASSERT_GT(acquired->lease.token, last_token_) << "seed " << seed_;
    if (before_ && before_->state == RecordState::kConsuming) {
      ASSERT_TRUE(acquired->taken_over) << "seed " << seed_;
      ++taken_over;
    }
    last_token_ = acquired->lease.token;
    holder.lease = acquired->lease;
  }

  void renew(const Lease& lease) {
    const bool renewed = decide_renew(*record_, lease.nonce, milliseconds(50), now_);
    ASSERT_EQ(renewed, holds(lease)) << "seed " << seed_;
    if (!renewed) {
      ++lost;
      return expect_unchanged();
    }
    ASSERT_EQ(record_->lease_until, now_ + milliseconds(50)) << "seed " << seed_;
  }

  void finish(const Lease& lease) {
    static constexpr Finish::To kAll[] = {Finish::To::kRetrying,   Finish::To::kRetrying,
                                          Finish::To::kNotStarted, Finish::To::kParked,
                                          Finish::To::kDead,       Finish::To::kCompleted};
    Finish finish;
    finish.to = kAll[random_() % std::size(kAll)];
    finish.lease = lease;
    finish.delay = milliseconds(random_() % 40);
    finish.counted = random_() % 3 != 0;
    finish.reason = "reason";
    const Applied applied = decide_finish(record_, finish, now_);
    ASSERT_EQ(applied == Applied::kYes, holds(lease)) << "seed " << seed_;
    if (applied == Applied::kLeaseLost) {
      ++lost;
      return expect_unchanged();
    }
    if (!record_) {
      ASSERT_EQ(finish.to, Finish::To::kNotStarted) << "seed " << seed_;
      ASSERT_EQ(before_->attempt, 1) << "seed " << seed_;
      ASSERT_FALSE(before_->outcome_unknown) << "seed " << seed_;
      ++vanished;
      return;
    }
    ASSERT_NE(record_->state, RecordState::kConsuming) << "seed " << seed_;
    ASSERT_GE(record_->attempt, 0) << "seed " << seed_;
    ASSERT_LE(record_->attempt, before_->attempt) << "seed " << seed_;
    if (record_->state == RecordState::kCompleted) {
      ++completed;
      // A completed record stays: from here on every step must change nothing.
    } else if (record_->state != RecordState::kRetrying && random_() % 2 == 0) {
      ASSERT_TRUE(decide_unlock(*record_, now_)) << "seed " << seed_;
    }
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::optional<Record> record_, before_;
  std::vector<Holder> holders_{4};
  StoreTime now_{milliseconds(1'000'000)};
  std::uint64_t tokens_ = 0;
  Token last_token_{};
};

TEST(RecordMachineProperty, WhateverSeveralHoldersDo) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  int completed = 0, taken_over = 0, lost = 0, conflicts = 0, vanished = 0;
  for (std::uint64_t run = 0; run < 500; ++run) {
    RecordWorld world(seed + run);
    world.run();
    if (HasFatalFailure()) return;
    completed += world.completed;
    taken_over += world.taken_over;
    lost += world.lost;
    conflicts += world.conflicts;
    vanished += world.vanished;
    ASSERT_LE(world.completed, 1) << "completed twice; seed " << seed + run;
  }
  // The runs must have met these cases.
  EXPECT_GT(completed, 20);
  EXPECT_GT(taken_over, 500);
  EXPECT_GT(lost, 500);
  EXPECT_GT(conflicts, 500);
  EXPECT_GT(vanished, 3);
}

}  // namespace
}  // namespace semel::spi
