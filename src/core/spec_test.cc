// The core decides as the vectors of the wire contract say.
#include <gtest/gtest.h>

#include <semel/guard.h>
#include <semel/spi/record_machine.h>

#include "base/digest.h"
#include "core/headers_text.h"
#include "core/key_encoding.h"
#include "core/key_recipe.h"
#include "tests/support/builders.h"
#include "tests/support/spec_vectors.h"

namespace semel::core {
namespace {

using test::SpecVectors;

constexpr StoreTime kSpecNow{std::chrono::hours(1)};

KeyRecipe recipe_of(const char* part) {
  KeyRecipe recipe;
  recipe.parts.push_back(KeyPart::parse(part).value());
  return recipe;
}

TEST(Spec, KeysHaveTheirIds) {
  const SpecVectors keys("keys.json");
  for (const auto& [list, part] : {std::pair{"/ids", "json:/id"}, {"/by_position", "position"}}) {
    const KeyRecipe recipe = recipe_of(part);
    for (const std::string& at : keys.each(list)) {
      const Bytes key = keys.content(at, "key").value();
      const auto consumer = ConsumerNumber(keys.number(at + "/consumer"));
      EXPECT_EQ(digest::hex(recipe.id_of(consumer, key).view()), keys.text(at + "/id"))
          << key.substr(0, 80);
    }
  }
  for (const std::string& at : keys.each("/refused")) {
    const std::size_t size = keys.content(at, "key").value().size();
    EXPECT_TRUE(size == 0 || size > Limits{}.key) << size;
  }
}

TEST(Spec, PayloadsHaveTheirFingerprints) {
  const SpecVectors prints("fingerprints.json");
  for (const std::string& at : prints.each("/fingerprints")) {
    const auto payload = prints.content(at, "payload");
    EXPECT_EQ(payload ? fingerprint_of(*payload) : Fingerprint{},
              prints.fingerprint(at + "/fingerprint"))
        << payload.value_or("none");
  }
  for (const std::string& at : prints.each("/same")) {
    EXPECT_EQ(spi::same_fingerprint(prints.fingerprint(at + "/recorded"),
                                    prints.fingerprint(at + "/arrived")),
              prints.truth(at + "/same"))
        << at;
  }
}

// In the words of the vectors. A runner that finds a retry without a payload asks again sooner than
// that is due.
std::string spec_answer(const Claim& claim, const std::optional<spi::Record>& met) {
  const bool retries = met && met->state == RecordState::kRetrying;
  if (const auto* acquired = std::get_if<Acquired>(&claim)) {
    return "new " + std::to_string(acquired->attempt) + (acquired->taken_over ? " taken over" : "");
  }
  if (const auto* completed = std::get_if<Completed>(&claim)) {
    return "duplicate " + completed->result;
  }
  if (const auto* busy = std::get_if<Busy>(&claim)) {
    return (retries ? "retry " : "busy ") + std::to_string(busy->retry_after.count());
  }
  if (const auto* waiting = std::get_if<Waiting>(&claim)) {
    return "retry " + std::to_string(waiting->next_in.count());
  }
  if (const auto* closed = std::get_if<Closed>(&claim)) {
    return (closed->parked ? "parked " : "dead ") + closed->reason;
  }
  return "conflict";
}

TEST(Spec, ClaimsAreAnswered) {
  const SpecVectors claims("claims.json");
  for (const std::string& at : claims.each("/claims")) {
    SCOPED_TRACE(claims.text(at + "/name"));
    // As a retry whose payload the store keeps: then its time is answered exactly.
    for (const bool held : {false, true}) {
      auto record = claims.record(at + "/record", kSpecNow);
      if (record) record->held = held;
      const auto met = record;
      const bool waits = met && met->state == RecordState::kRetrying;
      const Nonce nonce = claims.nonce(at + "/claim/nonce");
      const std::chrono::milliseconds lease(claims.number(at + "/claim/lease"));
      const Fingerprint arrived = claims.fingerprint(at + "/claim/fingerprint");
      Claim answer = spi::decide_claim(record, {{}, arrived, {}, nonce, lease}, kSpecNow);
      if (record && std::holds_alternative<Busy>(answer)) {
        const spi::ClaimRequest again{{}, arrived, {}, nonce, lease};
        if (const auto before = spi::acquired_before(*record, again, kSpecNow)) answer = *before;
      }
      const bool sooner = waits && !held && std::holds_alternative<Busy>(answer);
      if (!sooner) {
        EXPECT_EQ(spec_answer(answer, met), claims.answer(at + "/answer"));
      }
      EXPECT_EQ(test::spec_text(record, kSpecNow),
                test::spec_text(claims.record(at + "/after", kSpecNow), kSpecNow));
    }
  }
}

struct Ended {
  std::string answer;
  std::optional<spi::Record> record;
};

Ended ended_by(const SpecVectors& endings, const std::string& at) {
  Ended ended{"", endings.record(at + "/record", kSpecNow)};
  const std::string call = endings.text(at + "/end/call");
  const Lease lease{{}, {}, endings.nonce(at + "/end/nonce")};
  if (call == "renew") {
    const std::chrono::milliseconds length(endings.number(at + "/end/lease"));
    const bool renewed =
        ended.record && spi::decide_renew(*ended.record, lease.nonce, length, kSpecNow);
    ended.answer = renewed ? "renewed" : "lease_lost";
    return ended;
  }
  Finish finish = test::completed(lease);
  if (call == "complete") {
    finish.result = endings.text(at + "/end/result");
  } else if (call == "release") {
    finish.to = Finish::To::kNotStarted;
  } else {
    finish.to = call == "retry" ? Finish::To::kRetrying : Finish::To::kDead;
    finish.reason = endings.text(at + "/end/reason");
    finish.error = endings.text(at + "/end/error");
    if (call == "retry") {
      finish.delay = std::chrono::milliseconds(endings.number(at + "/end/after"));
    }
  }
  const Applied applied = spi::decide_finish(ended.record, finish, kSpecNow);
  ended.answer = call == "complete" ? "done" : call == "release" ? "released" : call;
  if (applied == Applied::kLeaseLost) ended.answer = "lease_lost";
  return ended;
}

TEST(Spec, LeasesEnd) {
  const SpecVectors endings("endings.json");
  for (const std::string& at : endings.each("/endings")) {
    SCOPED_TRACE(endings.text(at + "/name"));
    const Ended ended = ended_by(endings, at);
    EXPECT_EQ(ended.answer, endings.text(at + "/answer"));
    EXPECT_EQ(test::spec_text(ended.record, kSpecNow),
              test::spec_text(endings.record(at + "/after", kSpecNow), kSpecNow));
  }
}

TEST(Spec, HeadersAreWritten) {
  const SpecVectors vectors("headers.json");
  for (const std::string& at : vectors.each("/headers")) {
    Headers headers;
    if (at != "/headers/0") {
      for (const std::string& one : vectors.each(at + "/headers")) {
        headers.push_back({vectors.text(one + "/name"), vectors.text(one + "/value")});
      }
    }
    EXPECT_EQ(text_of(headers), vectors.text(at + "/text"));
  }
}

}  // namespace
}  // namespace semel::core
