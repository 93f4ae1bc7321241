// Acts of operators through the API, and the log of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <semel/admin/audit.h>
#include <semel/admin/gates.h>

#include "admin/faceted_store.h"
#include "admin/interrupted_store.h"
#include "admin/test_api.h"

namespace semel::admin {
namespace {

class ApiWritesTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }

  std::vector<AuditEntry> entries() {
    return store_->facets().audit->list(std::nullopt, 100).value();
  }
  std::string letter() {
    return std::to_string(store_->facets().dead_letters->list({}).value().at(0).id);
  }
  std::string state_of(const std::string& key) {
    const auto id = config_.consumers[0].key.id_of(number_, key);
    const auto record = store_->facets().records->show(id).value();
    return record ? to_string(record->state) : "none";
  }
};

TEST_F(ApiWritesTest, PausesAndResumes) {
  const std::string consumer = "/api/v1/consumers/payments";
  const auto paused = post_as(Role::kOperator, consumer + "/pause", "{\"reason\":\"the bank\"}");
  EXPECT_EQ(paused.status, 200) << paused.body;
  EXPECT_EQ(text_at(paused.body, "/gate"), "paused");
  EXPECT_NE(paused.body.find("\"changed\":true"), std::string::npos);
  EXPECT_EQ(store_->facets().gates->state(number_).value()->why, "the bank");
  const auto again = post_as(Role::kOperator, consumer + "/pause");
  EXPECT_NE(again.body.find("\"changed\":false"), std::string::npos) << again.body;
  EXPECT_EQ(store_->facets().gates->state(number_).value()->why, "the bank");
  const auto resumed = post_as(Role::kOperator, consumer + "/resume", "");
  EXPECT_NE(resumed.body.find("\"changed\":true"), std::string::npos) << resumed.body;
  EXPECT_FALSE(store_->facets().gates->state(number_).value());
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/refunds/pause").status, 404);
}

TEST_F(ApiWritesTest, EachActHasItsEntry) {
  finish("given up", Finish::To::kDead, "handler.native");
  const std::string path = "/api/v1/dead-letters/" + letter() + "/replay";
  EXPECT_EQ(text_at(post_as(Role::kOperator, path, "{\"reason\":\"ticket 7\"}").body, "/replayed"),
            "1");
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/payments/resume").status, 200);
  const auto kept = entries();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[1].who, "operator");
  EXPECT_EQ(kept[1].action, "dead_letters.replay");
  EXPECT_EQ(kept[1].target, "payments " + letter() + " given up");
  EXPECT_EQ(kept[1].reason, "ticket 7");
  EXPECT_EQ(kept[1].outcome, "replayed");
  EXPECT_EQ(kept[0].outcome, "nothing done: it was so already");
  const auto listed = get_as(Role::kAdmin, "/api/v1/audit?limit=1");
  EXPECT_EQ(text_at(listed.body, "/entries/0/action"), "consumers.resume") << listed.body;
  const auto older = get_as(Role::kAdmin, "/api/v1/audit?before=" + text_at(listed.body, "/next"));
  EXPECT_EQ(text_at(older.body, "/entries/0/action"), "dead_letters.replay") << older.body;
}

TEST_F(ApiWritesTest, ReplaysAndDiscardsDeadLetters) {
  finish("one", Finish::To::kDead, "handler.native");
  const std::string path = "/api/v1/dead-letters/" + letter();
  EXPECT_EQ(post_as(Role::kOperator, path + "/replay").status, 200);
  EXPECT_EQ(state_of("one"), "retrying");
  EXPECT_EQ(text_at(post_as(Role::kAdmin, path + "/discard").body, "/discarded"), "1");
  EXPECT_EQ(post_as(Role::kAdmin, path + "/discard").status, 404);
  EXPECT_EQ(post_as(Role::kAdmin, path + "/replay").status, 404);
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/dead-letters/x/replay").status, 400);
}

TEST_F(ApiWritesTest, UnlocksAndForgetsRecords) {
  finish("one", Finish::To::kDead, "handler.native");
  finish("done", Finish::To::kCompleted);
  const std::string records = "/api/v1/consumers/payments/records/";
  EXPECT_EQ(post_as(Role::kOperator, records + "one/unlock").status, 200);
  EXPECT_EQ(state_of("one"), "retrying");
  const auto twice = post_as(Role::kOperator, records + "one/unlock");
  EXPECT_EQ(twice.status, 409) << twice.body;
  EXPECT_EQ(text_at(twice.body, "/code"), "R348");
  EXPECT_EQ(post_as(Role::kAdmin, records + "done/forget").status, 200);
  EXPECT_EQ(state_of("done"), "none");
  EXPECT_EQ(post_as(Role::kAdmin, records + "done/forget").status, 404);
}

// The operator agreed to forget the record that was shown. If the record has been completed since,
// forgetting it would lose the proof of its effect.
TEST_F(ApiWritesTest, ARecordThatMovedOnSinceItWasSeenStays) {
  const std::string path = "/api/v1/consumers/payments/records/one";
  finish("one", Finish::To::kDead, "handler.dead");
  const auto seen = get_as(Role::kRead, path);
  const std::string token = text_at(seen.body, "/records/0/token");
  ASSERT_EQ(text_at(seen.body, "/records/0/state"), "dead") << seen.body;
  const std::string other = std::to_string(std::stoull(token) + 1);
  const auto about = [](const std::string& state, const std::string& number) {
    return fmt::format(R"({{"state":"{}","token":{}}})", state, number);
  };
  for (const char* verb : {"/forget", "/unlock"}) {
    for (const std::string& body : {about("parked", token), about("dead", other)}) {
      const auto refused = post_as(Role::kAdmin, path + verb, body);
      EXPECT_EQ(refused.status, 409) << verb << body << refused.body;
      EXPECT_EQ(text_at(refused.body, "/code"), "R348");
      EXPECT_EQ(state_of("one"), "dead");
    }
    EXPECT_EQ(post_as(Role::kAdmin, path + verb, R"({"token":"x"})").status, 400);
  }
  EXPECT_EQ(post_as(Role::kAdmin, path + "/forget", about("dead", token)).status, 200);
  EXPECT_EQ(state_of("one"), "none");
}

// Only a person knows whether the message had its effect, and only an admin may say so.
TEST_F(ApiWritesTest, WhatBecameOfAnEffectIsForAdminsToSay) {
  finish("unclear", Finish::To::kParked, "outcome.unknown");
  const std::string path = "/api/v1/consumers/payments/records/unclear/unlock";
  EXPECT_EQ(post_as(Role::kOperator, path, "{\"as\":\"done\"}").status, 403);
  EXPECT_EQ(post_as(Role::kAdmin, path, "{\"as\":\"perhaps\"}").status, 400);
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(post_as(Role::kAdmin, path, "{\"as\":\"done\"}").status, 200);
  EXPECT_EQ(state_of("unclear"), "completed");
  EXPECT_EQ(entries().at(0).action, "records.unlock as done");
  EXPECT_EQ(entries().at(0).outcome, "ended as done");
}

TEST_F(ApiWritesTest, ABodyThatIsWrongChangesNothing) {
  const std::string path = "/api/v1/consumers/payments/pause";
  for (const char* body : {"{", "[]", "7", "{\"reason\":1}", "{\"reason\":\"a\",\"reason\":\"b\"}",
                           "{\"as\":\"done\"}", "{\"reason\":\"a\",\"Reason\":{\"b\":[1]}}",
                           "{\"\\u0061s\":\"done\"}"}) {
    EXPECT_EQ(post_as(Role::kOperator, path, body).status, 400) << body;
  }
  EXPECT_EQ(
      post_as(Role::kOperator, path, "{\"reason\":\"" + std::string(1'001, 'x') + "\"}").status,
      400);
  EXPECT_EQ(post_as(Role::kOperator, path, std::string(1 << 20, ' ')).status, 413);
  EXPECT_TRUE(entries().empty());
  EXPECT_FALSE(store_->facets().gates->state(number_).value());
}

TEST_F(ApiWritesTest, APageOfAnotherSiteChangesNothing) {
  const std::string path = "/api/v1/consumers/payments/pause";
  const std::string token = "Authorization: Bearer " + secret_of(Role::kAdmin);
  for (const char* type : {"Content-Type: text/plain", "Content-Type: multipart/form-data",
                           "Content-Type: application/x-www-form-urlencoded"}) {
    EXPECT_EQ(get(path, {token, type, "Content-Length: 0"}, "POST").status, 415) << type;
  }
  EXPECT_EQ(get(path, {token, "Content-Length: 0"}, "POST").status, 415);
  for (const char* other : {"Origin: https://evil.example", "Origin: null", "Origin: http://evil",
                            "Origin: http://localhost.evil", "Sec-Fetch-Site: cross-site",
                            "Sec-Fetch-Site: same-site"}) {
    EXPECT_EQ(post_as(Role::kAdmin, path, "{}", {other}).status, 403) << other;
  }
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(post_as(Role::kAdmin, path, "{}", {"Origin: http://localhost"}).status, 200);
}

// Something else happens while the entry of an act is written.
class MeanwhileTest : public ApiWritesTest {
 protected:
  Store& served() override { return interrupted_; }
  InterruptedStore interrupted_{*store_};
};

// The record was seen as a plain failure, but now has an unknown outcome: if it were tried again,
// its effect could happen twice.
TEST_F(MeanwhileTest, AnUnlockMeetsTheRecordThatWasSeenOrNone) {
  const std::string path = "/api/v1/consumers/payments/records/one";
  const auto id = config_.consumers[0].key.id_of(number_, "one");
  for (const std::string_view body : {"{}", R"({"as":"retry"})", "with the token"}) {
    finish("one", Finish::To::kParked, "operator");
    std::string sent(body);
    if (body == "with the token") {
      sent = fmt::format(R"({{"state":"parked","token":{}}})",
                         text_at(get_as(Role::kRead, path).body, "/records/0/token"));
    }
    interrupted_.audit.meanwhile = [&] {
      ASSERT_TRUE(store_->facets().records->unlock(id).value());
      finish("one", Finish::To::kParked, "outcome.unknown");
    };
    const auto answer = post_as(Role::kAdmin, path + "/unlock", sent);
    EXPECT_EQ(answer.status, 409) << body << answer.body;
    EXPECT_EQ(text_at(answer.body, "/code"), "R348") << answer.body;
    EXPECT_EQ(state_of("one"), "parked") << body;
    ASSERT_TRUE(store_->facets().records->forget(id).value());
  }
}

// An audit log that accepts no entry, in a store that works otherwise.
class NoAudit final : public AuditLog {
 public:
  Result<std::int64_t> append(const Nonce&, const AuditEntry&) override {
    return failure({ErrorKind::kUnavailable, "R250", "the disk is full", {}});
  }
  Result<void> end(std::int64_t, std::string_view) override { return {}; }
  Result<std::vector<AuditEntry>> list(std::optional<std::int64_t>, std::size_t) override {
    return std::vector<AuditEntry>();
  }
};

class UnauditedStore final : public FacetedStore {
 public:
  using FacetedStore::FacetedStore;
  StoreFacets facets() noexcept override {
    StoreFacets facets = FacetedStore::facets();
    facets.audit = &audit_;
    return facets;
  }

 private:
  NoAudit audit_;
};

// Like a Redis server that may forget messages.
class RecordsOnlyStore final : public FacetedStore {
 public:
  using FacetedStore::FacetedStore;
  StoreFacets facets() noexcept override {
    StoreFacets facets = FacetedStore::facets();
    facets.held = nullptr;
    facets.dead_letters = nullptr;
    facets.runs = nullptr;
    return facets;
  }
};

class RecordsOnlyTest : public ApiWritesTest {
 protected:
  Store& served() override { return records_only_; }
  RecordsOnlyStore records_only_{*store_};
};

TEST_F(RecordsOnlyTest, OnlyDeadLettersAreNotThere) {
  finish("one", Finish::To::kCompleted);
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/consumers/payments/records/one").status, 200);
  EXPECT_EQ(get_as(Role::kOperator, "/api/v1/doctor").status, 200);
  EXPECT_EQ(get_as(Role::kAdmin, "/api/v1/audit").status, 200);
  for (const char* path :
       {"/api/v1/dead-letters", "/api/v1/dead-letters/groups", "/api/v1/dead-letters/1"}) {
    const auto refused = get_as(Role::kRead, path);
    EXPECT_EQ(refused.status, 409) << path;
    EXPECT_EQ(text_at(refused.body, "/code"), "R267") << refused.body;
  }
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/dead-letters/1/replay").status, 409);
  EXPECT_TRUE(entries().empty());
}

class UnauditedTest : public ApiWritesTest {
 protected:
  Store& served() override { return unaudited_; }
  UnauditedStore unaudited_{*store_};
};

TEST_F(UnauditedTest, NothingIsDoneWithoutAnEntry) {
  finish("one", Finish::To::kDead, "handler.native");
  const std::string record = "/api/v1/consumers/payments/records/one";
  const std::string dead = "/api/v1/dead-letters/" + letter();
  for (const std::string& path :
       {std::string("/api/v1/consumers/payments/pause"), record + "/unlock", record + "/forget",
        dead + "/replay", dead + "/discard"}) {
    const auto answer = post_as(Role::kAdmin, path);
    EXPECT_EQ(answer.status, 503) << path << answer.body;
  }
  const auto edit =
      post_as(Role::kAdmin, dead + "/edit", R"({"payload":"{\"id\":\"one\"}","reason":"t"})");
  EXPECT_EQ(edit.status, 503) << edit.body;
  EXPECT_EQ(store_->facets().dead_letters->show(std::stoll(letter())).value()->payload,
            R"({"secret":1})");
  EXPECT_EQ(state_of("one"), "dead");
  EXPECT_EQ(store_->facets().dead_letters->list({})->size(), 1U);
  EXPECT_FALSE(store_->facets().gates->state(number_).value());
}

}  // namespace
}  // namespace semel::admin
