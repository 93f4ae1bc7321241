#include "admin/claim_memory.h"

#include <gtest/gtest.h>

#include <string>

namespace semel::admin {
namespace {

KeyId key_of(unsigned char last) {
  KeyId key;
  key.bytes.back() = last;
  return key;
}
Acquired claim_of(unsigned char last) {
  Acquired claim;
  claim.lease.key = key_of(last);
  claim.lease.nonce.bytes.front() = last;
  return claim;
}

TEST(ClaimMemory, AQuestionIsThatOfItsCallerItsRequestAndItsKey) {
  ClaimMemory memory;
  memory.note_given(ClaimMemory::question("mailer", "r-1", key_of(1)), claim_of(1));
  const auto found = memory.given(ClaimMemory::question("mailer", "r-1", key_of(1)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lease.nonce, claim_of(1).lease.nonce);
  EXPECT_FALSE(memory.given(ClaimMemory::question("mailer", "r-2", key_of(1))));
  EXPECT_FALSE(memory.given(ClaimMemory::question("mailer", "r-1", key_of(2))));
  EXPECT_FALSE(memory.given(ClaimMemory::question("mailerr", "-1", key_of(1))));
}

TEST(ClaimMemory, AnEndIsKnownByItsKeyAndNonceAndAsWhatItWas) {
  ClaimMemory memory;
  const Nonce nonce = claim_of(7).lease.nonce;
  EXPECT_FALSE(memory.was_ended(key_of(1), nonce, Finish::To::kCompleted));
  memory.note_ended(key_of(1), nonce, Finish::To::kCompleted);
  EXPECT_TRUE(memory.was_ended(key_of(1), nonce, Finish::To::kCompleted));
  EXPECT_FALSE(memory.was_ended(key_of(1), nonce, Finish::To::kDead));
  EXPECT_FALSE(memory.was_ended(key_of(1), claim_of(8).lease.nonce, Finish::To::kCompleted));
  EXPECT_FALSE(memory.was_ended(key_of(2), nonce, Finish::To::kCompleted)) << "of another key";
}

TEST(ClaimMemory, ItForgetsTheOldestFirst) {
  ClaimMemory memory(2);
  const auto question = [](unsigned char of) {
    return ClaimMemory::question("mailer", "r", key_of(of));
  };
  constexpr unsigned char kComing[] = {1, 2, 2, 3};
  for (const unsigned char of : kComing) memory.note_given(question(of), claim_of(of));
  EXPECT_FALSE(memory.given(question(1)));
  EXPECT_TRUE(memory.given(question(2)));
  EXPECT_TRUE(memory.given(question(3)));
}

}  // namespace
}  // namespace semel::admin
