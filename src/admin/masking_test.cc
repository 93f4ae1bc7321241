#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/gates.h>
#include <semel/reason.h>

#include "admin/faceted_store.h"
#include "admin/pages.h"
#include "admin/test_api.h"
#include "telemetry/recent_deliveries.h"
#include "tests/support/builders.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

// Must never be visible; it occurs in the payload, a header, the result and the error.
constexpr const char* kCard = "4111222233334444";

// Refuses replays with a text that quotes a message.
class QuotingLetters final : public DeadLetters {
 public:
  explicit QuotingLetters(DeadLetters& letters) : letters_(letters) {}
  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    return letters_.list(filter);
  }
  Result<std::optional<DeadLetter>> show(std::int64_t id) override { return letters_.show(id); }
  Result<ReplayReport> replay(std::span<const std::int64_t>) override {
    return failure({ErrorKind::kRejected, "", std::string("wrong value ") + kCard, {}});
  }
  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    return letters_.discard(ids);
  }
  Result<Edited> edit(const LetterEdit& edit) override { return letters_.edit(edit); }
  Result<bool> replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                        const Fingerprint& original) override {
    return letters_.replaces(record, key, now, original);
  }
  Result<AddReport> add(std::span<const ForeignLetter> letters) override {
    return letters_.add(letters);
  }
  Result<ExpiryReport> expire(std::span<const LetterLife> lives, std::int64_t after,
                              std::size_t most) override {
    return letters_.expire(lives, after, most);
  }

 private:
  DeadLetters& letters_;
};

class QuotingStore final : public FacetedStore {
 public:
  explicit QuotingStore(Store& store)
      : FacetedStore(store), letters_(*store.facets().dead_letters) {}
  StoreFacets facets() noexcept override {
    StoreFacets facets = FacetedStore::facets();
    facets.dead_letters = &letters_;
    return facets;
  }

 private:
  QuotingLetters letters_;
};

// `admin`: the rest of the config's admin section.
class Masking : public ApiTest {
 protected:
  Store& served() override { return quoting_; }
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

  ApiSources sources() override {
    ApiSources made = ApiTest::sources();
    made.recent = &recent_;
    made.readiness = [] {
      Readiness running;
      running.phase = Readiness::Phase::kRunning;
      return running;
    };
    return made;
  }
  // A job that a store refuses with a message's text, a gate that a handler shut, and a delivery
  // that ended with such an error.
  void meet_everywhere() {
    give_up_usual();
    Outcome outcome;
    outcome.kind = Outcome::Kind::kRetry;
    outcome.reason = "handler.native";
    outcome.error = error_;
    recent_.on_ended("payments", {message("one"), Arrival()}, outcome,
                     std::chrono::milliseconds(1));
    finish("doubt", Finish::To::kParked, std::string(reason::kOutcomeUnknown));
    ASSERT_TRUE(store_->facets().gates->shut(number_, error_, std::nullopt));
    const auto begun = post_as(Role::kAdmin, "/api/v1/dead-letters:replay?consumer=payments", "{}");
    job_ = text_at(begun.body, "/job/id");
    ASSERT_TRUE(test::comes_true([&] {
      return get_as(Role::kRead, job_path()).body.find("\"failed\":1") != npos;
    })) << get_as(Role::kRead, job_path()).body;
  }
  std::string job_path() const { return "/api/v1/jobs/" + job_; }

  // Every place that may show a text of a message, a handler or a store.
  std::vector<std::string> telling_faces() {
    return {letter_path(),
            "/api/v1/dead-letters",
            "/api/v1/dead-letters/groups",
            "/api/v1/consumers/payments/records/one",
            "/api/v1/jobs",
            job_path(),
            "/api/v1/status",
            "/dead-letters",
            "/letters?consumer=payments",
            "/letter?id=" + std::to_string(letter()),
            "/record?key=one",
            "/stuck",
            "/live",
            "/job?id=" + job_};
  }
  // Pages and routes that show no such text, whatever the config allows.
  static std::vector<std::string> silent_faces() {
    return {"/",
            "/consumer?name=payments",
            "/doctor",
            "/audit",
            "/metrics",
            "/livez",
            "/readyz",
            "/startupz",
            "/api/openapi.json",
            "/api/v1/consumers",
            "/api/v1/consumers/payments",
            "/api/v1/consumers/payments/backlog",
            "/api/v1/doctor",
            "/api/v1/config",
            "/api/v1/reload",
            "/api/v1/audit"};
  }
  std::vector<std::string> faces() {
    std::vector<std::string> all = telling_faces();
    std::ranges::move(silent_faces(), std::back_inserter(all));
    return all;
  }
  static bool tells(const std::string& body) { return body.find(kCard) != std::string::npos; }

  static constexpr std::size_t npos = std::string::npos;
  telemetry::RecentDeliveries recent_;
  std::string job_;
  QuotingStore quoting_{*store_};
};

TEST_F(Masking, NothingOfAMaskedPlaceIsOnAnyFace) {
  use("mask: [json:/card/number, 'header:x-card']");
  meet_everywhere();
  for (const std::string& path : faces()) {
    for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
      const auto answer = get_as(role, path);
      EXPECT_TRUE(answer.status == 200 || (answer.status == 403 && role != Role::kAdmin)) << path;
      EXPECT_FALSE(tells(answer.body)) << path << " " << answer.body;
    }
  }
}

TEST_F(Masking, WithoutAMaskTheSameFacesTellIt) {
  use("payloads: full");
  meet_everywhere();
  for (const std::string& path : telling_faces()) {
    EXPECT_TRUE(tells(get_as(Role::kOperator, path).body)) << path;
  }
}

// Every route and page must be in one of the lists above.
TEST_F(Masking, NoFaceIsLeftOut) {
  use("payloads: full");
  meet_everywhere();
  std::vector<std::string> paths;
  for (const std::string& face : faces()) paths.push_back(face.substr(0, face.find('?')));
  const auto is_looked_at = [&](const auto& answers) {
    return std::ranges::any_of(paths, answers);
  };
  for (const ApiRoute& route : api_routes()) {
    if (route.method != "GET") continue;
    EXPECT_TRUE(is_looked_at([&](const std::string& path) {
      return places_in(route, path_parts(path).value()).has_value();
    })) << route.path;
  }
  for (const auto& table : {letter_pages(), one_letter_pages(), record_pages(), consumer_pages(),
                            stuck_pages(), live_pages(), run_pages()}) {
    for (const Page& page : table) {
      EXPECT_TRUE(is_looked_at([&](const std::string& path) { return path == page.path; }))
          << page.path;
    }
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
  // The limits of the role apply too.
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

TEST_F(Masking, AnEditNeitherTellsNorPutsBackWhatIsHidden) {
  use("mask: [json:/card/number, 'header:x-card']");
  give_up("one", std::string("{\"id\":\"one\",\"card\":{\"number\":\"") + kCard + "\"}}",
          {{"X-Card", kCard}, {"x-kind", "test"}});
  const std::string shown =
      text_at(get_as(Role::kAdmin, letter_path()).body, "/dead_letter/payload");
  const auto edit = [&](const std::string& payload) {
    json::Writer body;
    body.begin_object().member("payload", payload).member("reason", "t").end_object();
    return post_as(Role::kAdmin, letter_path() + "/edit", body.text());
  };
  const auto put_back = edit(shown);
  EXPECT_EQ(put_back.status, 422) << put_back.body;
  EXPECT_EQ(text_at(put_back.body, "/code"), "R349");
  const auto wrong = edit("{\"id\":\"two\"}");
  EXPECT_EQ(wrong.status, 422);
  const auto headers = post_as(Role::kAdmin, letter_path() + "/edit",
                               R"({"remove_headers":["x-kind"],"reason":"t"})");
  EXPECT_EQ(headers.status, 200) << headers.body;
  const auto whole = edit("{\"id\":\"one\",\"card\":{\"number\":\"4000\"}}");
  EXPECT_EQ(whole.status, 200) << whole.body;
  const auto id = letter();
  EXPECT_EQ(find_header(store_->facets().dead_letters->show(id).value()->headers, "x-card"), kCard)
      << "a header that nobody touched stays";
  for (const auto& answer : {put_back, wrong, headers, whole}) EXPECT_FALSE(tells(answer.body));
  const auto entries = store_->facets().audit->list(std::nullopt, 10).value();
  for (const AuditEntry& entry : entries) {
    EXPECT_FALSE(tells(entry.target)) << entry.target;
    EXPECT_FALSE(tells(entry.outcome.value_or(""))) << *entry.outcome;
  }
}

TEST_F(Masking, NoneShowsNothingToAnybody) {
  use("payloads: none");
  meet_everywhere();
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

// The refusal and its log line give the cause without the hidden text.
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

// Answers to "does the error contain 4111?" would reveal it digit by digit.
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
