#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <semel/reason.h>

#include "admin/test_api.h"
#include "tests/support/builders.h"

namespace semel::admin {
namespace {

// Nobody may see it, and it stands in the payload, a header, the result and the error.
constexpr const char* kCard = "4111222233334444";

// `admin`: how its config goes on.
class Masking : public ApiTest {
 protected:
  void use(const std::string& admin) {
    config_ =
        config::load_text("admin: { " + admin + " }\n" + kApiConfig, "semel.yaml").config.value();
    error_ = std::string("handler.http.422: no such card ") + kCard;
    open(true);
  }
  void give_up(const std::string& key, std::string payload, Headers headers) {
    Message::Parts parts = test::make_parts(number_, key, std::move(payload));
    parts.key.id = config_.consumers[0].key.id_of(number_, key);
    parts.headers = std::move(headers);
    const Message one(std::move(parts));
    const Message* const pointer = &one;
    const auto claims = store_->claim({&pointer, 1}, {}).value();
    Finish finish;
    finish.to = Finish::To::kDead;
    finish.lease = std::get<Acquired>(claims[0]).lease;
    finish.reason = "attempts.exhausted";
    finish.error = error_;
    finish.keep = &one;
    ASSERT_EQ(store_->finish({&finish, 1}).value()[0], Applied::kYes);
  }
  void give_up_usual() {
    give_up("one",
            std::string("{\"id\":1,\"card\":{\"number\":\"") + kCard + "\",\"brand\":\"x\"}}",
            {{"X-Card", kCard}, {"x-kind", "test"}, {"semel-error", error_}});
  }
  std::int64_t letter() { return store_->facets().dead_letters->list({}).value().at(0).id; }
  std::string letter_path() { return "/api/v1/dead-letters/" + std::to_string(letter()); }

  // Every place where something of a message may be read.
  std::vector<std::string> faces() {
    return {letter_path(),
            "/api/v1/dead-letters",
            "/api/v1/dead-letters/groups",
            "/api/v1/consumers/payments/records/one",
            "/dead-letters",
            "/letters?consumer=payments",
            "/letter?id=" + std::to_string(letter()),
            "/record?key=one"};
  }
  static bool tells(const std::string& body) { return body.find(kCard) != std::string::npos; }
};

TEST_F(Masking, NothingOfAMaskedPlaceIsOnAnyFace) {
  use("mask: [json:/card/number, 'header:x-card']");
  give_up_usual();
  for (const std::string& path : faces()) {
    for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
      const auto answer = get_as(role, path);
      EXPECT_EQ(answer.status, 200) << path;
      EXPECT_FALSE(tells(answer.body)) << path << " " << answer.body;
    }
  }
}

TEST_F(Masking, WithoutAMaskTheSameFacesTellIt) {
  use("payloads: full");
  give_up_usual();
  for (const std::string& path : faces()) {
    EXPECT_TRUE(tells(get_as(Role::kOperator, path).body)) << path;
  }
}

TEST_F(Masking, TheRestOfTheLetterIsShown) {
  use("mask: [json:/card/number, 'header:x-card']");
  give_up_usual();
  const std::string body = get_as(Role::kOperator, letter_path()).body;
  EXPECT_EQ(text_at(body, "/dead_letter/payload"),
            R"({"id":1,"card":{"number":"***","brand":"x"}})");
  EXPECT_EQ(text_at(body, "/dead_letter/headers/0/name"), "X-Card");
  EXPECT_EQ(text_at(body, "/dead_letter/headers/0/value_bytes"), "16");
  EXPECT_EQ(text_at(body, "/dead_letter/headers/0/value"), "(absent)");
  EXPECT_EQ(text_at(body, "/dead_letter/headers/1/value"), "test");
  EXPECT_EQ(text_at(body, "/dead_letter/cause"), "handler.http.422");
  EXPECT_EQ(text_at(body, "/dead_letter/error"), "(absent)");
  EXPECT_EQ(text_at(body, "/dead_letter/error_bytes"), std::to_string(error_.size()));
  EXPECT_NE(body.find("\"masked\":true"), std::string::npos);
  // The role's rights are on top of it.
  const std::string read = get_as(Role::kRead, letter_path()).body;
  EXPECT_EQ(text_at(read, "/dead_letter/payload"), "(absent)");
  EXPECT_EQ(text_at(read, "/dead_letter/headers/1/value"), "(absent)");
}

TEST_F(Masking, WhatIsNoJsonIsNotShown) {
  use("mask: [json:/card/number]");
  give_up("one", std::string("card=") + kCard, {});
  const std::string body = get_as(Role::kAdmin, letter_path()).body;
  EXPECT_EQ(text_at(body, "/dead_letter/payload"), "(absent)");
  EXPECT_EQ(text_at(body, "/dead_letter/payload_bytes"), "21");
  EXPECT_FALSE(tells(body));
}

TEST_F(Masking, NoneShowsNothingToAnybody) {
  use("payloads: none");
  give_up_usual();
  const std::string body = get_as(Role::kAdmin, letter_path()).body;
  EXPECT_EQ(text_at(body, "/dead_letter/payload"), "(absent)");
  EXPECT_EQ(text_at(body, "/dead_letter/headers/1/value"), "(absent)");
  for (const std::string& path : faces())
    EXPECT_FALSE(tells(get_as(Role::kAdmin, path).body)) << path;
}

TEST_F(Masking, ResultsAreContents) {
  use("mask: [json:/card/number]");
  const Message one = message("done");
  const Message* const pointer = &one;
  const auto claims = store_->claim({&pointer, 1}, {}).value();
  Finish finish;
  finish.to = Finish::To::kCompleted;
  finish.lease = std::get<Acquired>(claims[0]).lease;
  finish.result = std::string("{\"card\":{\"number\":") + kCard + "},\"ok\":true}";
  ASSERT_EQ(store_->finish({&finish, 1}).value()[0], Applied::kYes);
  const std::string body = get_as(Role::kOperator, "/api/v1/consumers/payments/records/done").body;
  EXPECT_EQ(text_at(body, "/records/0/result"), R"({"card":{"number":"***"},"ok":true})");
}

// It says why it is refused, and the log of it too.
TEST_F(Masking, ARefusalQuotesNoTextThatIsNotShown) {
  for (const bool shown : {false, true}) {
    use(shown ? "payloads: full" : "mask: [json:/card/number]");
    const std::string key = shown ? "full" : "masked";
    finish(key, Finish::To::kParked, std::string(reason::kOutcomeUnknown));
    const auto refused =
        post_as(Role::kAdmin, "/api/v1/consumers/payments/records/" + key + "/unlock");
    EXPECT_EQ(text_at(refused.body, "/code"), "R242") << refused.body;
    EXPECT_NE(refused.body.find("handler.http.422"), std::string::npos) << refused.body;
    EXPECT_EQ(tells(refused.body), shown) << refused.body;
    EXPECT_EQ(tells(get_as(Role::kAdmin, "/api/v1/audit").body), shown);
  }
}

// An answer to "does the error contain 4111?" would tell it digit by digit.
TEST_F(Masking, NobodyAsksAboutTextsThatAreNotShown) {
  use("mask: [json:/card/number]");
  give_up_usual();
  for (const char* path : {"/api/v1/dead-letters?where=error~4111",
                           "/api/v1/dead-letters/groups?where=age%3C1d+and+error~4111",
                           "/letters?where=error~4111", "/dead-letters?where=error~4111"}) {
    EXPECT_EQ(get_as(Role::kAdmin, path).status, 400) << path;
  }
  EXPECT_EQ(
      post_as(Role::kAdmin, "/api/v1/dead-letters:replay?where=error~4111", "{\"dry_run\":true}")
          .status,
      400);
  EXPECT_EQ(get_as(Role::kRead, "/letters?where=cause%3Dhandler.http.422").status, 200);
}

TEST_F(Masking, TextsOfErrorsAreShownWhereTheConfigSaysSo) {
  use("mask: [json:/card/number], errors: text");
  give_up_usual();
  EXPECT_TRUE(tells(get_as(Role::kRead, "/letters?where=error~4111").body));
  const std::string body = get_as(Role::kOperator, letter_path()).body;
  EXPECT_EQ(text_at(body, "/dead_letter/error"), error_);
}

TEST_F(Masking, APageSaysThatATextIsNotShown) {
  use("payloads: none");
  give_up_usual();
  for (const char* path : {"/dead-letters", "/letters?consumer=payments"}) {
    const std::string seen = get_as(Role::kRead, path).body;
    EXPECT_NE(seen.find("handler.http.422 <span class=\"unseen\">text not shown</span>"),
              std::string::npos)
        << seen;
  }
}

}  // namespace
}  // namespace semel::admin
