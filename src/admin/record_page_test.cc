#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <semel/admin/audit.h>
#include <semel/reason.h>

#include "admin/html.h"
#include "admin/page_parts.h"
#include "admin/test_api.h"

namespace semel::admin {
namespace {

class RecordPageTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }
  ApiSources sources() override {
    ApiSources made = ApiTest::sources();
    made.recent = &recent_;
    return made;
  }
  std::string page(Role role, const std::string& key) const {
    return get_as(role, "/" + page::record_link("payments", key)).body;
  }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }
  void delivered(const std::string& key, Outcome::Kind kind) {
    Outcome outcome;
    outcome.kind = kind;
    recent_.on_ended("payments", {message(key), Arrival()}, outcome, std::chrono::milliseconds(1));
  }

  telemetry::RecentDeliveries recent_;
};

TEST_F(RecordPageTest, SaysWhyADuplicateWasSuppressed) {
  finish("one", Finish::To::kCompleted);
  delivered("one", Outcome::Kind::kDuplicate);
  delivered("two", Outcome::Kind::kDead);
  const auto answer = get_as(Role::kRead, "/record?consumer=payments&key=one");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(shows(answer.body, "<p class=\"story\">Delivered again at "));
  EXPECT_TRUE(shows(answer.body, ", so nothing was done.</p>"));
  EXPECT_TRUE(shows(answer.body, "delivered, duplicate: nothing was done"));
  EXPECT_TRUE(shows(answer.body, "its effect was recorded</li>"));
  EXPECT_FALSE(shows(answer.body, "given up")) << "that is another key's";
  EXPECT_TRUE(shows(answer.body, "href=\"consumer?name=payments\""));
}

TEST_F(RecordPageTest, ContentsAreForThoseWhoMaySeeThem) {
  finish("one", Finish::To::kCompleted);
  EXPECT_TRUE(shows(page(Role::kOperator, "one"), "<code>the result</code>"));
  EXPECT_FALSE(shows(page(Role::kRead, "one"), "the result"));
  EXPECT_TRUE(shows(page(Role::kRead, "one"), "10 bytes, not shown"));
}

TEST_F(RecordPageTest, OnlyWhatRoleAndStateAllowIsOffered) {
  finish("dead", Finish::To::kDead, "handler.native");
  finish("doubt", Finish::To::kParked, std::string(reason::kOutcomeUnknown));
  const std::string unlock = "data-post=\"api/v1/consumers/payments/records/dead/unlock\"";
  const std::string forget = "data-post=\"api/v1/consumers/payments/records/dead/forget\"";
  EXPECT_FALSE(shows(page(Role::kRead, "dead"), "data-post"));
  EXPECT_TRUE(shows(page(Role::kRead, "dead"), "To unlock it needs a token"));
  EXPECT_TRUE(shows(page(Role::kOperator, "dead"), unlock)) << page(Role::kOperator, "dead");
  EXPECT_FALSE(shows(page(Role::kOperator, "dead"), forget));
  EXPECT_TRUE(shows(page(Role::kAdmin, "dead"), forget));
  EXPECT_TRUE(shows(page(Role::kAdmin, "dead"), "data-question=\"Forget the record of dead?"));
  EXPECT_FALSE(shows(page(Role::kAdmin, "dead"), "data-as"));
  // Its effect may have happened: an unlock alone would be refused.
  EXPECT_FALSE(shows(page(Role::kOperator, "doubt"), "data-post"));
  EXPECT_TRUE(shows(page(Role::kAdmin, "doubt"), "data-as=\"done\""));
  EXPECT_TRUE(shows(page(Role::kAdmin, "doubt"), "data-as=\"retry\""));
  EXPECT_TRUE(shows(page(Role::kAdmin, "doubt"), "data-as=\"dead\""));
}

TEST_F(RecordPageTest, WhatIsHeldIsLeftAlone) {
  const Message one = message("held");
  const Message* const pointer = &one;
  ASSERT_TRUE(store_->claim({&pointer, 1}, {}));
  const std::string seen = page(Role::kAdmin, "held");
  EXPECT_FALSE(shows(seen, "data-post")) << seen;
  EXPECT_TRUE(shows(seen, "Nothing while a worker holds it"));
  EXPECT_TRUE(shows(seen, "A worker holds it until "));
}

TEST_F(RecordPageTest, ItsButtonsAskForWhatTheApiDoes) {
  finish("a/b c\xff", Finish::To::kDead, "handler.native");
  const std::string seen = page(Role::kAdmin, "a/b c\xff");
  const std::string path = "api/v1/consumers/payments/records/a%2Fb%20c%FF/";
  EXPECT_TRUE(shows(seen, "data-post=\"" + path + "unlock\"")) << seen;
  EXPECT_TRUE(shows(seen, "<h2 id=\"record\" class=\"key-title\">a/b c\\xff</h2>"));
  EXPECT_EQ(post_as(Role::kAdmin, "/" + path + "forget", "{\"reason\":\"ticket 7\"}").status, 200);
  const auto entries = store_->facets().audit->list(std::nullopt, 10).value();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].action, "records.forget");
  EXPECT_EQ(entries[0].reason, "ticket 7");
  EXPECT_TRUE(shows(page(Role::kAdmin, "a/b c\xff"), "No record of “a/b c\\xff”"));
}

TEST_F(RecordPageTest, AKeyIsLookedUpInEveryConsumer) {
  finish("one", Finish::To::kCompleted);
  EXPECT_TRUE(shows(get_as(Role::kRead, "/record?key=one&consumer=").body, "class=\"story\""));
  EXPECT_TRUE(shows(get_as(Role::kRead, "/record?key=one").body, "class=\"story\""));
}

TEST_F(RecordPageTest, AByteThatIsNoTextIsWrittenAsItIsShown) {
  finish(std::string("k\xff\x00z", 4), Finish::To::kCompleted);
  EXPECT_TRUE(shows(get_as(Role::kRead, "/record?key=k%5Cxff%5Cx00z").body, "class=\"story\""));
  finish("k\\xff", Finish::To::kDead, "handler.native");
  EXPECT_TRUE(shows(get_as(Role::kRead, "/record?key=k%5Cxff").body, "<span class=\"state\">dead"))
      << "what is written so comes first";
}

TEST_F(RecordPageTest, WithoutAKeyItIsABox) {
  const auto answer = get_as(Role::kRead, "/record");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(shows(answer.body, "<form action=\"record\" method=\"get\" role=\"search\">"));
  EXPECT_TRUE(shows(answer.body, "<option>payments</option>"));
  EXPECT_NE(answer.header("Content-Security-Policy").find("form-action 'self'"), std::string::npos);
}

TEST_F(RecordPageTest, NoRecordSaysWhatThatMeans) {
  const auto answer = get_as(Role::kRead, "/record?key=nobody");
  EXPECT_EQ(answer.status, 404);
  EXPECT_TRUE(shows(answer.body, "No record of “nobody”")) << answer.body;
  EXPECT_TRUE(shows(answer.body, "No delivery of it was taken yet"));
  EXPECT_TRUE(shows(answer.body, "finished records are removed then"));
  EXPECT_EQ(get_as(Role::kRead, "/record?consumer=nobody&key=x").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/record?kee=x").status, 400);
  EXPECT_EQ(get("/record?key=x").status, 401);
}

TEST_F(RecordPageTest, NothingFromOutsideBecomesMarkup) {
  error_ = "<script>alert(2)</script>";
  const std::string key = "\"><script>alert(1)</script>'&";
  finish(key, Finish::To::kDead, "<i>\"'");
  delivered(key, Outcome::Kind::kDead);
  for (const std::string& path :
       {"/" + page::record_link("payments", key),
        std::string("/record?key=%22%3E%3Cscript%3Ealert(3)%3C/script%3E"),
        std::string("/record?consumer=%3Cscript%3Ealert(4)&key=x")}) {
    const std::string seen = get_as(Role::kAdmin, path).body;
    EXPECT_FALSE(shows(seen, "<script>alert")) << seen;
    EXPECT_FALSE(shows(seen, "<i>")) << seen;
  }
}

TEST_F(RecordPageTest, NoLinkLeavesItsPathPrefix) {
  finish("one", Finish::To::kDead, "handler.native");
  for (const std::string& seen : {page(Role::kAdmin, "one"), page(Role::kAdmin, "none")}) {
    for (const char* absolute : {"href=\"/", "src=\"/", "action=\"/", "data-post=\"/"}) {
      EXPECT_FALSE(shows(seen, absolute)) << absolute;
    }
  }
}

}  // namespace
}  // namespace semel::admin
