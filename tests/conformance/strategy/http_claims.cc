#include "tests/conformance/strategy/http_claims.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "admin/admin_server.h"
#include "admin/claim_memory.h"
#include "base/json.h"
#include "config/config.h"
#include "tests/support/http_get.h"
#include "tests/support/waiting.h"

namespace semel::conformance {

namespace {

constexpr int kKeysAtOnce = 100;
constexpr const char* kSecret = "the secret of workers";
constexpr const char* kConfig =
    "store: { memory: {} }\n"
    "admin: { auth: { tokens: [{ name: worker, secret: the secret of workers, claims: [mails] }] } "
    "}\n"
    "consumers: [{ name: mails, source: { claims: {} } }]\n";

std::string member(const std::string& body, const std::string& pointer) {
  json::Document document;
  if (!document.parse(body)) return "(no JSON) " + body;
  const auto found = document.at(json::Pointer::parse(pointer).value());
  if (!found) return "(wrong)";
  if (const auto* text = std::get_if<std::string>(&*found)) return *text;
  if (const auto* number = std::get_if<json::Integer>(&*found)) return std::string(number->written);
  if (const auto* flag = std::get_if<bool>(&*found)) return *flag ? "true" : "false";
  return "(absent)";
}

// A run's API over the store, and a client of it.
class HttpClaims {
 public:
  explicit HttpClaims(Store& store)
      : config_(config::load_text(kConfig, "semel.yaml").config.value()) {
    EXPECT_TRUE(store.attach({"mails", "recipe", false, std::nullopt}));
    admin::ApiSources sources;
    sources.config = &config_;
    sources.claims = &memory_;
    sources.with_store = [&store](const std::function<void(Store&)>& use) {
      use(store);
      return true;
    };
    admin::AdminOptions options;
    options.listen = {"127.0.0.1", 0};
    options.tokens.push_back({"worker", kSecret, core::Role::kRead, {"mails"}});
    server_ = admin::AdminServer::open(std::move(options), {{}, std::move(sources)}).value();
  }

  std::string post(const std::string& path, const std::string& body) const {
    const std::string answer = test::http_raw(
        server_->port(),
        fmt::format("POST /api/v1/consumers/mails/claims{} HTTP/1.1\r\nHost: localhost\r\n"
                    "Connection: close\r\nAuthorization: Bearer {}\r\n"
                    "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    path, kSecret, body.size(), body));
    return test::http_answer(answer).body;
  }
  // One key; the members of its answer.
  std::string claim(const std::string& key, const std::string& more = {}) const {
    return post("", fmt::format(R"({{{}"claims":[{{"key":"{}","payload":"p"}}]}})", more, key));
  }
  std::string finish(const std::string& key, const std::string& nonce,
                     const std::string& as) const {
    return member(post("/finish", fmt::format(R"({{"claims":[{{"key":"{}","nonce":"{}",{}}}]}})",
                                              key, nonce, as)),
                  "/claims/0/outcome");
  }
  std::string renew(const std::string& key, const std::string& nonce) const {
    return member(post("/renew", fmt::format(R"({{"lease":"1h","claims":[{{"key":"{}",)"
                                             R"("nonce":"{}"}}]}})",
                                             key, nonce)),
                  "/claims/0/outcome");
  }
  static std::string outcome(const std::string& body) { return member(body, "/claims/0/outcome"); }
  static std::string nonce(const std::string& body) { return member(body, "/claims/0/nonce"); }

 private:
  const config::Config config_;
  admin::ClaimMemory memory_;
  std::unique_ptr<admin::AdminServer> server_;
};

constexpr const char* kDone = R"("as":"done","result":"sent")";

void a_batch_is_done_once(const HttpClaims& client) {
  std::string keys, ends;
  for (int i = 0; i < kKeysAtOnce; ++i) {
    keys += fmt::format(R"({}{{"key":"k{}","payload":"p"}})", i == 0 ? "" : ",", i);
  }
  const std::string batch = R"({"claims":[)" + keys + "]}";
  const std::string given = client.post("", batch);
  const std::string held = client.post("", batch);
  for (int i = 0; i < kKeysAtOnce; ++i) {
    const std::string at = fmt::format("/claims/{}/", i);
    EXPECT_EQ(member(given, at + "outcome"), "new") << i;
    EXPECT_EQ(member(held, at + "outcome"), "busy") << i;
    ends += fmt::format(R"({}{{"key":"k{}","nonce":"{}",{}}})", i == 0 ? "" : ",", i,
                        member(given, at + "nonce"), kDone);
  }
  const std::string done = client.post("/finish", R"({"claims":[)" + ends + "]}");
  const std::string again = client.post("", batch);
  for (int i = 0; i < kKeysAtOnce; ++i) {
    const std::string at = fmt::format("/claims/{}/", i);
    EXPECT_EQ(member(done, at + "outcome"), "done") << i;
    EXPECT_EQ(member(again, at + "outcome"), "duplicate") << i;
    EXPECT_EQ(member(again, at + "result"), "sent") << i;
  }
  EXPECT_EQ(client.outcome(client.post("", R"({"claims":[{"key":"k1","payload":"q"}]})")),
            "conflict");
}

void a_client_that_died_is_taken_over(const HttpClaims& client) {
  const std::string dead = client.claim("taken", R"("lease":"300ms",)");
  ASSERT_EQ(client.outcome(dead), "new") << dead;
  std::string next;
  ASSERT_TRUE(test::comes_true([&] {
    next = client.claim("taken");
    return client.outcome(next) == "new";
  })) << next;
  EXPECT_EQ(member(next, "/claims/0/taken_over"), "true") << next;
  EXPECT_EQ(member(next, "/claims/0/attempt"), "2");
  EXPECT_GT(std::stoull(member(next, "/claims/0/token")),
            std::stoull(member(dead, "/claims/0/token")));
  EXPECT_EQ(client.renew("taken", client.nonce(dead)), "lease_lost");
  EXPECT_EQ(client.finish("taken", client.nonce(dead), kDone), "lease_lost");
  EXPECT_EQ(client.finish("taken", client.nonce(next), kDone), "done");
}

void a_lost_answer_is_the_same_again(const HttpClaims& client) {
  const std::string request = R"("request":"one",)";
  const std::string lost = client.claim("lost", request);
  ASSERT_EQ(client.outcome(lost), "new") << lost;
  EXPECT_EQ(client.claim("lost", request), lost);
  EXPECT_EQ(client.outcome(client.claim("lost", R"("request":"two",)")), "busy");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.finish("lost", client.nonce(lost), kDone), "done");
  EXPECT_EQ(client.outcome(client.claim("lost", request)), "duplicate");
}

void each_end_is_as_it_says(const HttpClaims& client) {
  const std::string given = client.claim("ends", R"("lease":"300ms",)");
  EXPECT_EQ(client.renew("ends", client.nonce(given)), "renewed");
  const std::string busy = client.claim("ends");
  EXPECT_GT(std::stoll("0" + member(busy, "/claims/0/retry_after_ms")), 0) << busy;
  EXPECT_EQ(client.finish("ends", client.nonce(given), R"("as":"release")"), "released");
  const std::string second = client.claim("ends");
  EXPECT_EQ(member(second, "/claims/0/attempt"), "1") << "as if the first had not been";
  EXPECT_EQ(client.finish("ends", client.nonce(second), R"("as":"retry","after":"1h")"), "retry");
  EXPECT_EQ(client.outcome(client.claim("ends")), "busy");

  const std::string third = client.claim("due");
  EXPECT_EQ(client.finish("due", client.nonce(third), R"("as":"retry","error":"not yet")"),
            "retry");
  const std::string fourth = client.claim("due");
  EXPECT_EQ(member(fourth, "/claims/0/attempt"), "2") << fourth;
  EXPECT_EQ(client.finish("due", client.nonce(fourth), R"("as":"dead","error":"never")"), "dead");
  EXPECT_EQ(client.outcome(client.claim("due")), "dead");
}

}  // namespace

void claims_over_http(Store& store) {
  const HttpClaims client(store);
  a_batch_is_done_once(client);
  a_client_that_died_is_taken_over(client);
  a_lost_answer_is_the_same_again(client);
  each_end_is_as_it_says(client);
}

}  // namespace semel::conformance
