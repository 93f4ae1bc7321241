// Edits of a dead letter's payload through the API.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <semel/admin/audit.h>
#include <semel/spi/held_messages.h>

#include "admin/interrupted_store.h"
#include "admin/test_api.h"

namespace semel::admin {
namespace {

class LetterEditTest : public ApiTest {
 protected:
  // A letter under the key `one` that can be replayed.
  void SetUp() override {
    open(true);
    bury("one", R"({"id":"one","amount":"x"})");
  }
  void bury(const std::string& key, const std::string& payload) {
    Message::Parts parts = test::make_parts(number_, key, payload);
    parts.key.id = config_.consumers[0].key.id_of(number_, key);
    parts.headers = {{"x-kind", "test"}, {"X-Kind", "again"}};
    const Message one(std::move(parts));
    const Message* const pointer = &one;
    const auto claims = store_->claim({&pointer, 1}, {}).value();
    Finish finish = test::dead(std::get<Acquired>(claims[0]).lease, &one, "handler.native");
    ASSERT_EQ(store_->finish({&finish, 1}).value()[0], Applied::kYes);
  }
  DeadLetter letter() {
    const auto listed = store_->facets().dead_letters->list({}).value();
    return store_->facets().dead_letters->show(listed.at(0).id).value().value();
  }
  std::string path() { return fmt::format("/api/v1/dead-letters/{}", letter().id); }
  test::HttpAnswer edit(const std::string& body, Role role = Role::kAdmin) {
    return post_as(role, path() + "/edit", body);
  }
  std::vector<AuditEntry> entries() {
    return store_->facets().audit->list(std::nullopt, 100).value();
  }
  // The edit is refused with these values, and nothing is changed or begun.
  void refuses(const std::string& body, int status, const std::string& code,
               const std::string& detail) {
    const DeadLetter before = letter();
    const auto answer = edit(body);
    EXPECT_EQ(answer.status, status) << body << answer.body;
    EXPECT_EQ(text_at(answer.body, "/code"), code) << body << answer.body;
    EXPECT_NE(answer.body.find(detail), std::string::npos) << body << answer.body;
    EXPECT_NE(text_at(answer.body, "/fix"), "(absent)") << body;
    EXPECT_EQ(letter().payload, before.payload);
    EXPECT_EQ(letter().headers.size(), before.headers.size());
    EXPECT_TRUE(entries().empty()) << body;
  }

  static constexpr const char* kMended =
      R"({"payload":"{\"id\":\"one\",\"amount\":5}","reason":"ticket 7"})";
};

TEST_F(LetterEditTest, GivesItAnotherPayloadAndSaysWhatChanged) {
  const Fingerprint before = letter().fingerprint;
  const auto answer = edit(kMended);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(text_at(answer.body, "/schema"), "semel.v1.dlq_edit");
  EXPECT_NE(answer.body.find("\"edited\":true"), std::string::npos);
  EXPECT_EQ(letter().payload, R"({"id":"one","amount":5})");
  EXPECT_EQ(letter().key, "one");
  EXPECT_NE(letter().fingerprint, before);
  EXPECT_EQ(letter().headers.back().name, "semel-edited");
  const auto entry = entries().at(0);
  EXPECT_EQ(entry.action, "dead_letters.edit");
  EXPECT_EQ(entry.who, "admin");
  EXPECT_EQ(entry.reason, "ticket 7");
  EXPECT_EQ(entry.outcome, "edited");
  EXPECT_TRUE(entry.target.starts_with(
      fmt::format("payments {} one: payload 25 to 23 bytes, fingerprint {}", letter().id,
                  text_at(answer.body, "/fingerprint_before"))))
      << entry.target;
  EXPECT_EQ(entry.target.find("amount"), std::string::npos) << "no text of a payload";
}

TEST_F(LetterEditTest, SetsAndRemovesHeadersAndReplays) {
  const auto answer = edit(
      R"({"set_headers":[{"name":"X-kind","value":"mended"},{"name":"new","value_base64":"AP8="}],)"
      R"("replay":true,"reason":"t"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(text_at(answer.body, "/replayed"), "1");
  const Headers headers = letter().headers;
  ASSERT_EQ(headers.size(), 3U);
  EXPECT_EQ(headers[0].value, "mended");
  EXPECT_EQ(headers[1].value, Bytes("\0\xff", 2));
  EXPECT_EQ(entries().at(0).outcome, "edited; replayed");
  EXPECT_NE(entries().at(0).target.find("headers set: X-kind, new"), std::string::npos);
  const auto held = store_->facets().held->take(number_, 1, 1 << 20, std::chrono::seconds(1), {});
  ASSERT_EQ(held->size(), 1U);
  EXPECT_EQ(find_header(held->at(0).headers, "x-kind"), "mended");
  EXPECT_EQ(held->at(0).key, "one");
  EXPECT_EQ(text_at(edit(kMended).body, "/code"), "R348") << "it is on its way";
}

TEST_F(LetterEditTest, RemovesAHeader) {
  ASSERT_EQ(edit(R"({"remove_headers":["x-KIND"],"reason":"t"})").status, 200);
  ASSERT_EQ(letter().headers.size(), 1U);
  EXPECT_EQ(letter().headers[0].name, "semel-edited");
  EXPECT_NE(entries().at(0).target.find("headers removed: x-kind, X-Kind"), std::string::npos)
      << entries().at(0).target;
}

TEST_F(LetterEditTest, WhatIsSoAlreadyIsNoEdit) {
  const auto answer = edit(R"({"payload":"{\"id\":\"one\",\"amount\":\"x\"}","reason":"t"})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("\"edited\":false"), std::string::npos) << answer.body;
  EXPECT_EQ(letter().headers.size(), 2U) << "no mark";
  EXPECT_EQ(entries().at(0).outcome, "nothing to edit: it was so already");
}

TEST_F(LetterEditTest, TheKeyStays) {
  refuses(R"({"payload":"{\"id\":\"two\"}","reason":"t"})", 422, "R349", "another key");
  refuses(R"({"payload":"{}","reason":"t"})", 422, "R349", "key.missing");
  refuses(R"({"payload":"no JSON","reason":"t"})", 422, "R349", "payload.invalid");
}

// A payload that was not kept cannot show the key, so the new payload must.
TEST_F(LetterEditTest, TheKeyStaysWhereThePayloadWasNotKept) {
  const std::int64_t first = letter().id;
  ASSERT_TRUE(store_->facets().dead_letters->discard({&first, 1}));
  bury("two", "");
  refuses(R"({"payload":"{\"id\":\"three\"}","reason":"t"})", 422, "R349", "another key");
  EXPECT_EQ(edit(R"({"payload":"{\"id\":\"two\"}","reason":"t"})").status, 200);
}

TEST_F(LetterEditTest, ABodyThatIsWrongIsRefused) {
  refuses("", 400, "R344", "the body");
  refuses("{", 400, "R344", "the body");
  refuses("[]", 400, "R344", "no JSON object");
  refuses("{}", 400, "R344", "reason");
  refuses(R"({"reason":""})", 400, "R344", "needs a");
  refuses(R"({"reason":7})", 400, "R344", "must be a string");
  refuses(R"({"reason":"t","payload":"a","payload_base64":"YQ=="})", 400, "R344", "one of payload");
  refuses(R"({"reason":"t","payload_base64":"YQ"})", 400, "R344", "no base64");
  refuses(R"({"reason":"t","payload":{"id":1}})", 400, "R344", "must be a string");
  refuses(R"({"reason":"t","Payload":"a"})", 400, "R344", "unknown member");
  refuses(R"({"reason":"t","replay":"yes"})", 400, "R344", "true or false");
  refuses(R"({"reason":"t","set_headers":{}})", 400, "R344", "must be an array");
  refuses(R"({"reason":"t","set_headers":[{"name":"a"}]})", 400, "R344", "set_headers[0]");
  refuses(R"({"reason":"t","set_headers":[{"name":"a","value":"b","c":"d"}]})", 400, "R344",
          "unknown member");
  refuses(R"({"reason":"t","remove_headers":[1]})", 400, "R344", "remove_headers[0]");
  refuses(R"({"reason":"t","set_headers":[{"name":"a","value":"1"},{"name":"A","value":"2"}]})",
          422, "R349", "named twice");
  refuses(R"({"reason":"t","set_headers":[{"name":"","value":"1"}]})", 422, "R349", "no name");
  refuses(R"({"reason":"t","remove_headers":["Semel-edited"]})", 422, "R349", "Semel's own");
  refuses(fmt::format(R"({{"reason":"{}"}})", std::string(1'001, 'x')), 400, "R344", "too long");
  EXPECT_EQ(edit(std::string(1 << 20, ' ')).status, 413);
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/dead-letters/x/edit", kMended).status, 400);
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/dead-letters/4711/edit", kMended).status, 404);
}

TEST_F(LetterEditTest, LimitsOfTheConsumerHold) {
  config_.consumers[0].limits.payload = 100;
  config_.consumers[0].limits.headers = 200;
  refuses(fmt::format(R"({{"payload":"{{\"id\":\"one\",\"x\":\"{}\"}}","reason":"t"}})",
                      std::string(100, 'x')),
          422, "R349", "too_large");
  refuses(fmt::format(R"({{"set_headers":[{{"name":"x","value":"{}"}}],"reason":"t"}})",
                      std::string(200, 'x')),
          422, "R349", "too_large");
}

TEST_F(LetterEditTest, ARevisionThatIsGoneChangesNothing) {
  const std::string seen = text_at(get_as(Role::kOperator, path()).body, "/revision");
  ASSERT_EQ(seen.size(), 32U);
  EXPECT_EQ(text_at(get_as(Role::kRead, path()).body, "/revision"), "(absent)");
  // Only headers change: the fingerprint stays, but the revision changes.
  const auto first = edit(fmt::format(
      R"({{"set_headers":[{{"name":"a","value":"b"}}],"revision":"{}","reason":"t"}})", seen));
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(text_at(first.body, "/fingerprint"), text_at(first.body, "/fingerprint_before"));
  EXPECT_EQ(text_at(get_as(Role::kOperator, path()).body, "/revision"),
            text_at(first.body, "/revision"));
  const auto second =
      edit(fmt::format(R"({{"remove_headers":["x-kind"],"revision":"{}","reason":"t"}})", seen));
  EXPECT_EQ(second.status, 409) << second.body;
  EXPECT_EQ(text_at(second.body, "/code"), "R348");
  EXPECT_EQ(letter().headers.size(), 4U);
  EXPECT_EQ(entries().size(), 1U);
}

TEST_F(LetterEditTest, ADryRunSaysWhetherItCanBeDone) {
  const std::string dry = R"({"dry_run":true,"payload":"{\"id\":\"one\"}","reason":"t"})";
  const auto answer = edit(dry);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.body.find("\"dry_run\":true,\"edited\":false"), std::string::npos);
  EXPECT_NE(text_at(answer.body, "/fingerprint"), text_at(answer.body, "/fingerprint_before"));
  const std::int64_t id = letter().id;
  ASSERT_EQ(store_->facets().dead_letters->replay({&id, 1})->replayed, 1U);
  EXPECT_EQ(edit(dry).status, 409);
  EXPECT_TRUE(entries().empty());
}

TEST_F(LetterEditTest, ARecordThatSpeaksForAnotherIsLeftAlone) {
  bury("two", R"({"id":"two"})");
  const auto id = config_.consumers[0].key.id_of(number_, "one");
  ASSERT_TRUE(store_->facets().records->forget(id).value());
  finish("one", Finish::To::kCompleted);
  const auto answer = edit(kMended);
  EXPECT_EQ(answer.status, 409) << answer.body;
  EXPECT_EQ(text_at(answer.body, "/code"), "R349") << answer.body;
  EXPECT_EQ(letter().payload, R"({"id":"one","amount":"x"})");
  EXPECT_TRUE(entries().at(0).outcome->starts_with("nothing done: ")) << *entries().at(0).outcome;
}

TEST_F(LetterEditTest, OnlyAdminsEdit) {
  EXPECT_EQ(edit(kMended, Role::kRead).status, 403);
  EXPECT_EQ(edit(kMended, Role::kOperator).status, 403);
  EXPECT_EQ(
      get(path() + "/edit", {"Content-Type: application/json", "Content-Length: 0"}, "POST").status,
      401);
  EXPECT_TRUE(entries().empty());
}

// Another edit happens while the entry of the first one is written.
class InterruptedEditTest : public LetterEditTest {
 protected:
  Store& served() override { return interrupted_; }
  InterruptedStore interrupted_{*store_};
};

TEST_F(InterruptedEditTest, TheFirstOfTwoEditsStays) {
  interrupted_.audit.meanwhile = [&] {
    ASSERT_EQ(edit(R"({"set_headers":[{"name":"a","value":"b"}],"reason":"first"})").status, 200);
  };
  const auto second = edit(kMended);
  EXPECT_EQ(second.status, 409) << second.body;
  EXPECT_EQ(text_at(second.body, "/code"), "R348") << second.body;
  EXPECT_EQ(letter().payload, R"({"id":"one","amount":"x"})");
  EXPECT_EQ(find_header(letter().headers, "a"), "b");
}

}  // namespace
}  // namespace semel::admin
