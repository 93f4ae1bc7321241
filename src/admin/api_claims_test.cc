// Claims over HTTP: permissions, refusals, and calls whose answer was lost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <semel/admin/gates.h>
#include <semel/guard.h>

#include "admin/faceted_store.h"
#include "admin/test_api.h"
#include "operate/views.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

const std::string kClaims = "/api/v1/consumers/mails/claims";

class ApiClaimsTest : public ApiTest {
 protected:
  ApiClaimsTest() : ApiTest(kClaimsConfig) {
    mails_ = store_->attach({"mails", "recipe", false, {}}).value();
    claims_of_tokens_ = {"mails"};
  }
  void SetUp() override { open(true); }

  test::HttpAnswer claim(const std::string& items, const std::string& more = {}) const {
    return post_as(Role::kRead, kClaims, fmt::format(R"({{{}"claims":[{}]}})", more, items));
  }
  test::HttpAnswer finish_claims(const std::string& items) const {
    return post_as(Role::kRead, kClaims + "/finish", fmt::format(R"({{"claims":[{}]}})", items));
  }
  static std::string at(const test::HttpAnswer& answer, int index, const char* member) {
    return text_at(answer.body, fmt::format("/claims/{}/{}", index, member));
  }
  // The nonce of the claim on a key.
  std::string nonce_of(const std::string& key) const {
    return at(claim(fmt::format(R"({{"key":"{}"}})", key)), 0, "nonce");
  }
  static std::string end(const std::string& key, const std::string& nonce, const std::string& as) {
    return fmt::format(R"({{"key":"{}","nonce":"{}","as":"{}"}})", key, nonce, as);
  }

  ConsumerNumber mails_{};
};

TEST_F(ApiClaimsTest, AKeyIsClaimedAndDoneOnce) {
  const auto given = claim(R"({"key":"order-17","payload":"five"},{"key":"order-18"})");
  EXPECT_EQ(given.status, 200) << given.body;
  EXPECT_EQ(text_at(given.body, "/schema"), "semel.v1.claims");
  EXPECT_EQ(at(given, 0, "outcome"), "new");
  EXPECT_EQ(at(given, 0, "attempt"), "1");
  EXPECT_EQ(at(given, 1, "outcome"), "new");
  EXPECT_EQ(at(claim(R"({"key":"order-17","payload":"five"})"), 0, "outcome"), "busy");
  const auto done = finish_claims(
      fmt::format(R"({{"key":"order-17","nonce":"{}","as":"done","result":"sent as 77"}})",
                  at(given, 0, "nonce")));
  EXPECT_EQ(at(done, 0, "outcome"), "done") << done.body;
  const auto again = claim(R"({"key":"order-17","payload":"five"})");
  EXPECT_EQ(at(again, 0, "outcome"), "duplicate") << again.body;
  EXPECT_EQ(at(again, 0, "result"), "sent as 77");
  EXPECT_EQ(at(claim(R"({"key":"order-17","payload":"six"})"), 0, "outcome"), "conflict");
  const std::string same = operate::hex_of(fingerprint_of("five").view());
  EXPECT_EQ(
      at(claim(fmt::format(R"({{"key":"order-17","fingerprint":"{}"}})", same)), 0, "outcome"),
      "duplicate");
  EXPECT_EQ(at(claim(R"({"key":"order-17","payload_base64":"Zml2ZQ=="})"), 0, "outcome"),
            "duplicate");
}

TEST_F(ApiClaimsTest, EachEndIsAsItSays) {
  EXPECT_EQ(at(finish_claims(end("a", nonce_of("a"), "release")), 0, "outcome"), "released");
  EXPECT_EQ(at(claim(R"({"key":"a"})"), 0, "attempt"), "1") << "as if it had not been";
  const auto later = finish_claims(fmt::format(
      R"({{"key":"b","nonce":"{}","as":"retry","after":"1h","error":"the bank is away"}})",
      nonce_of("b")));
  EXPECT_EQ(at(later, 0, "outcome"), "retry") << later.body;
  const auto waits = claim(R"({"key":"b"})");
  EXPECT_EQ(at(waits, 0, "outcome"), "busy") << waits.body;
  EXPECT_GT(std::stoll(at(waits, 0, "retry_after_ms")), 0);
  EXPECT_EQ(at(finish_claims(end("c", nonce_of("c"), "dead")), 0, "outcome"), "dead");
  const auto closed = claim(R"({"key":"c"})");
  EXPECT_EQ(at(closed, 0, "outcome"), "dead");
  EXPECT_EQ(at(closed, 0, "reason"), "handler.native");
  EXPECT_EQ(at(finish_claims(end("d", nonce_of("d"), "retry")), 0, "outcome"), "retry");
  EXPECT_EQ(at(claim(R"({"key":"d"})"), 0, "attempt"), "2") << "it is due at once, and counted";
}

TEST_F(ApiClaimsTest, ALateHolderChangesNothing) {
  const std::string late = nonce_of("a");
  EXPECT_EQ(at(finish_claims(end("a", late, "release")), 0, "outcome"), "released");
  const std::string held = nonce_of("a");
  ASSERT_NE(held, late);
  EXPECT_EQ(at(finish_claims(end("a", late, "done")), 0, "outcome"), "lease_lost");
  const auto renew = [&](const std::string& nonce) {
    return post_as(Role::kRead, kClaims + "/renew",
                   fmt::format(R"({{"lease":"5m","claims":[{{"key":"a","nonce":"{}"}}]}})", nonce));
  };
  EXPECT_EQ(at(renew(late), 0, "outcome"), "lease_lost");
  EXPECT_EQ(at(renew(held), 0, "outcome"), "renewed");
  EXPECT_EQ(at(finish_claims(end("a", held, "done")), 0, "outcome"), "done");
  EXPECT_EQ(at(renew(held), 0, "outcome"), "lease_lost") << "it is over";
}

// After a lost answer, the client repeats the call with the same request name.
TEST_F(ApiClaimsTest, ALostAnswerAskedAgainIsTheSame) {
  const std::string request = R"("request":"worker-1 batch-9",)";
  const auto lost = claim(R"({"key":"a"},{"key":"b"})", request);
  ASSERT_EQ(at(lost, 0, "outcome"), "new") << lost.body;
  const auto again = claim(R"({"key":"a"},{"key":"b"})", request);
  for (const int i : {0, 1}) {
    for (const char* member : {"outcome", "nonce", "token", "attempt"}) {
      EXPECT_EQ(at(again, i, member), at(lost, i, member)) << member;
    }
  }
  EXPECT_EQ(at(claim(R"({"key":"a"})", R"("request":"worker-2 batch-9",)"), 0, "outcome"), "busy");
  EXPECT_EQ(at(claim(R"({"key":"a"})"), 0, "outcome"), "busy");
  // A request of the same name under another token is a different request.
  const auto other = post_as(Role::kAdmin, kClaims, "{" + request + R"("claims":[{"key":"a"}]})");
  EXPECT_EQ(at(other, 0, "outcome"), "busy") << other.body;

  const std::string both =
      end("a", at(lost, 0, "nonce"), "done") + "," + end("b", at(lost, 1, "nonce"), "release");
  for (int i = 0; i < 2; ++i) {
    const auto ended = finish_claims(both);
    EXPECT_EQ(at(ended, 0, "outcome"), "done") << ended.body;
    EXPECT_EQ(at(ended, 1, "outcome"), "released");
  }
  EXPECT_EQ(at(finish_claims(end("a", at(lost, 0, "nonce"), "dead")), 0, "outcome"), "lease_lost");
  // The store decides: claims that are over are not given again, whatever was answered before.
  const auto late = claim(R"({"key":"a"},{"key":"b"})", request);
  EXPECT_EQ(at(late, 0, "outcome"), "duplicate") << late.body;
  EXPECT_EQ(at(late, 1, "outcome"), "new");
  EXPECT_NE(at(late, 1, "nonce"), at(lost, 1, "nonce"));
}

// A store that holds back the answers to its first claim.
class HoldingStore final : public FacetedStore {
 public:
  using FacetedStore::FacetedStore;
  ~HoldingStore() override { release(); }

  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    const bool first = calls_.fetch_add(1) == 0;
    auto answers = FacetedStore::claim(messages, options);
    if (first) {
      held_.set_value();
      go_.get_future().wait();
    }
    return answers;
  }
  void wait_until_held() { held_.get_future().wait(); }
  void release() {
    if (!std::exchange(released_, true)) go_.set_value();
  }

 private:
  std::atomic<int> calls_ = 0;
  std::promise<void> held_, go_;
  bool released_ = false;
};

class SlowClaimsTest : public ApiClaimsTest {
 protected:
  Store& served() override { return holding_; }

  HoldingStore holding_{*store_};
};

TEST_F(SlowClaimsTest, ACallAskedAgainWhileItsFirstHangsIsGivenTheSameClaim) {
  const auto ask = [this](const char* keys) {
    return std::async(std::launch::async,
                      [this, keys] { return claim(keys, R"("request":"worker-1 batch-9",)"); });
  };
  auto first = ask(R"({"key":"a"},{"key":"b"})");
  holding_.wait_until_held();
  EXPECT_EQ(at(claim(R"({"key":"a"})", R"("request":"worker-2",)"), 0, "outcome"), "busy");
  auto again = ask(R"({"key":"c"},{"key":"a"})");
  EXPECT_TRUE(test::comes_true([&] {
    return claims_.waiting() == 1 ||
           again.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }));
  holding_.release();
  const auto one = first.get();
  const auto two = again.get();
  ASSERT_EQ(at(one, 0, "outcome"), "new") << one.body;
  EXPECT_EQ(at(two, 0, "outcome"), "new") << two.body;
  EXPECT_EQ(at(two, 1, "outcome"), "new") << two.body;
  EXPECT_EQ(at(two, 1, "nonce"), at(one, 0, "nonce"));
}

TEST_F(ApiClaimsTest, TwinsInABatchAreAskedOneAfterTheOther) {
  const std::string twins = R"({"key":"a","payload":"1"},{"key":"a","payload":"1"},)"
                            R"({"key":"a","payload":"2"})";
  for (int i = 0; i < 2; ++i) {
    const auto given = claim(twins, R"("request":"r",)");
    EXPECT_EQ(at(given, 0, "outcome"), "new") << given.body;
    EXPECT_EQ(at(given, 1, "outcome"), "busy");
    EXPECT_EQ(at(given, 2, "outcome"), "conflict");
  }
}

TEST_F(ApiClaimsTest, WhatCannotBeAKeyCostsNoNeighbour) {
  const std::string long_key(config_.find("mails")->limits.key + 1, 'k');
  EXPECT_EQ(post_as(Role::kRead, kClaims, "{\"claims\":[{\"key\":\"" + long_key + "\"}]}").status,
            413)
      << "it is longer than a body";
  const auto given = claim(R"({"key":""},{"key":"good"})");
  EXPECT_EQ(at(given, 0, "outcome"), "invalid") << given.body;
  EXPECT_EQ(at(given, 1, "outcome"), "new");
  const auto done =
      finish_claims(fmt::format(R"({{"key":"good","nonce":"{}","as":"done","result":"{}"}})",
                                at(given, 1, "nonce"), std::string(101, 'r')));
  EXPECT_EQ(at(done, 0, "outcome"), "invalid") << done.body;
  EXPECT_EQ(at(claim(R"({"key":"good"})"), 0, "outcome"), "busy") << "nothing was changed";
}

TEST_F(ApiClaimsTest, AWrongBodyIsRefusedWhole) {
  struct Row {
    const char* path;
    const char* body;
    const char* said;
  };
  for (const Row& row : {
           Row{"", "[]", "it is no JSON object"},
           Row{"", R"({"claims":{}})", "\"claims\" must be an array"},
           Row{"", R"({"claims":[{"key":"a"},{"key":1}]})", "claims[1]: \"key\" must be a string"},
           Row{"", R"({"claims":[{}]})", "claims[0]: it has no key"},
           Row{"", R"({"claims":[{"key":"a","nonce":"1"}]})",
               "claims[0]: unknown member \"nonce\": there are key, payload, payload_base64, "
               "fingerprint"},
           Row{"", R"({"claims":[{"key":"a","key":"b"}]})",
               "claims[0]: \"key\" stands there twice"},
           Row{"", R"({"claims":[{"key":"a","fingerprint":"12"}]})",
               "claims[0]: the fingerprint is none: 32 hexadecimal digits"},
           Row{"", R"({"claims":[{"key":"a","payload":"1","payload_base64":"MQ=="}]})",
               "claims[0]: one of payload, payload_base64 and fingerprint"},
           Row{"", R"({"claims":[],"lease":"1ms"})",
               "lease is out of range: from \"100ms\" to \"1d\""},
           Row{"", R"({"claims":[],"request":""})", "request has 1 to 200 bytes"},
           Row{"/renew", R"({"claims":[{"key":"a"}]})", "claims[0]: it has no nonce"},
           Row{"/finish", R"({"claims":[{"key":"a","nonce":"00112233445566778899aabbccddeeff"}]})",
               "claims[0]: it does not say as what it ends"},
           Row{"/finish",
               R"({"claims":[{"key":"a","nonce":"00112233445566778899aabbccddeeff","as":"sent"}]})",
               "claims[0]: as cannot be \"sent\": done, retry, dead or release"},
           Row{"/finish", R"({"lease":"1m"})", "unknown member \"lease\": there are claims"},
       }) {
    const auto refused = post_as(Role::kRead, kClaims + row.path, row.body);
    EXPECT_EQ(refused.status, 400) << row.body;
    EXPECT_EQ(text_at(refused.body, "/code"), "R344") << row.body;
    EXPECT_EQ(text_at(refused.body, "/detail"), std::string("the body: ") + row.said);
  }
  std::string many = R"({"key":"k"})";
  for (int i = 0; i < 250; ++i) many += fmt::format(R"(,{{"key":"k{}"}})", i);
  EXPECT_EQ(claim(many).status, 400);
  EXPECT_EQ(at(claim(R"({"key":"k"})"), 0, "outcome"), "new") << "nothing of it was done";
}

TEST_F(ApiClaimsTest, OnlyATokenThatNamesTheConsumerClaims) {
  const std::string body = R"({"claims":[{"key":"a"}]})";
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/consumers/payments/claims", body).status, 403);
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/consumers/nobody/claims", body).status, 403);
  server_.reset();
  claims_of_tokens_.clear();
  open(true);
  const auto refused = post_as(Role::kAdmin, kClaims, body);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(text_at(refused.body, "/code"), "R342") << refused.body;
  // A token for a consumer whose messages the run handles itself cannot claim from it.
  server_.reset();
  claims_of_tokens_ = {"payments"};
  open(true);
  EXPECT_EQ(post_as(Role::kRead, "/api/v1/consumers/payments/claims", body).status, 404);
}

// The work of such claims may have its effect by now.
TEST_F(ApiClaimsTest, ClaimsOfARemovedConsumerAreRenewedAndEnded) {
  const std::string nonce = nonce_of("a");
  const config::Config before = config_;
  config_ = config::load_text(kApiConfig, "semel.yaml").config.value();
  departed_.note(before, config_);
  server_->set_tokens({{"worker", secret_of(Role::kRead), Role::kRead, {}},
                       {"chief", secret_of(Role::kAdmin), Role::kAdmin, {}}});
  const std::string held = fmt::format(R"({{"claims":[{{"key":"a","nonce":"{}"}}]}})", nonce);
  EXPECT_EQ(post_as(Role::kAdmin, kClaims + "/renew", held).status, 403) << "it could not claim";
  const auto renewed = post_as(Role::kRead, kClaims + "/renew", held);
  EXPECT_EQ(at(renewed, 0, "outcome"), "renewed") << renewed.body;
  const auto refused = claim(R"({"key":"b"})");
  EXPECT_EQ(refused.status, 404) << refused.body;
  EXPECT_NE(refused.body.find("has removed the consumer"), std::string::npos) << refused.body;
  const auto ended = finish_claims(end("a", nonce, "done"));
  EXPECT_EQ(at(ended, 0, "outcome"), "done") << ended.body;
  // A reload brings it back, and its token with it.
  departed_.note(config_, before);
  EXPECT_EQ(post_as(Role::kRead, kClaims + "/renew", held).status, 403);
}

TEST_F(ApiClaimsTest, APausedConsumerGivesNothing) {
  ASSERT_TRUE(store_->facets().gates->shut(mails_, "the bank", std::nullopt));
  const auto paused = claim(R"({"key":"a"})");
  EXPECT_EQ(at(paused, 0, "outcome"), "busy") << paused.body;
  EXPECT_EQ(at(paused, 0, "reason"), "paused");
  ASSERT_TRUE(store_->facets().gates->resume(mails_));
  EXPECT_EQ(at(claim(R"({"key":"a"})"), 0, "outcome"), "new");
}

TEST_F(ApiClaimsTest, WithoutAStoreAClientAsksLater) {
  running_ = false;
  const auto answer = claim(R"({"key":"a"})");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(text_at(answer.body, "/code"), "R345");
  EXPECT_EQ(answer.header("Retry-After"), "1");
}

// Claims have a rate limit of their own, higher than that of other callers.
TEST_F(ApiClaimsTest, ManyCallsAreNoMoreThanACallerMayMake) {
  for (int i = 0; i < static_cast<int>(2 * Api::kBurst); ++i) {
    ASSERT_EQ(claim(fmt::format(R"({{"key":"k{}"}})", i)).status, 200) << i;
  }
}

}  // namespace
}  // namespace semel::admin
