#include "sources/http/signature.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/text_encoding.h"

namespace semel::sources {
namespace {

using Scheme = core::HttpSignature::Scheme;

SignatureCheck checked_by(Scheme scheme, std::vector<std::string> secrets) {
  return SignatureCheck({scheme, std::move(secrets), core::HttpSignature::kUsualTolerance});
}

// The example of the Standard Webhooks libraries.
constexpr const char* kStandardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kStandardBody = R"({"test": 2432232314})";
constexpr std::int64_t kStandardTime = 1614265330;
constexpr const char* kStandardSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

Headers standard_headers(const std::string& signature = kStandardSignature,
                         const std::string& time = std::to_string(kStandardTime)) {
  return {{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
          {"webhook-timestamp", time},
          {"webhook-signature", signature}};
}

TEST(SignatureCheck, StandardWebhooksTakesTheirExample) {
  const auto check = checked_by(Scheme::kStandardWebhooks, {kStandardSecret});
  EXPECT_EQ(check.flaw(standard_headers(), kStandardBody, kStandardTime), std::nullopt);
  EXPECT_NE(check.flaw(standard_headers(), "{}", kStandardTime), std::nullopt) << "another body";
  Headers renamed = standard_headers();
  renamed[0].value = "msg_other";
  EXPECT_NE(check.flaw(renamed, kStandardBody, kStandardTime), std::nullopt) << "another id";
}

TEST(SignatureCheck, AnyOfSeveralSecretsAndSignaturesIsEnough) {
  const auto rotated =
      checked_by(Scheme::kStandardWebhooks, {"whsec_bmV3", kStandardSecret, "whsec_b2xk"});
  const std::string list = fmt::format("v1,bm8= v1a,other {} v2,later", kStandardSignature);
  EXPECT_EQ(rotated.flaw(standard_headers(list), kStandardBody, kStandardTime), std::nullopt);
  const auto other = checked_by(Scheme::kStandardWebhooks, {"whsec_bmV3"});
  EXPECT_NE(other.flaw(standard_headers(list), kStandardBody, kStandardTime), std::nullopt);
}

TEST(SignatureCheck, ATimeOutsideOfTheWindowIsRefused) {
  const auto check = checked_by(Scheme::kStandardWebhooks, {kStandardSecret});
  const auto window = std::chrono::seconds(core::HttpSignature::kUsualTolerance).count();
  for (const std::int64_t now : {kStandardTime - window, kStandardTime + window}) {
    EXPECT_EQ(check.flaw(standard_headers(), kStandardBody, now), std::nullopt) << now;
  }
  for (const std::int64_t now : {kStandardTime - window - 1, kStandardTime + window + 1}) {
    const auto flaw = check.flaw(standard_headers(), kStandardBody, now);
    ASSERT_TRUE(flaw) << now;
    EXPECT_NE(flaw->find("301 seconds"), std::string::npos) << *flaw;
  }
}

TEST(SignatureCheck, WhatIsMissingOrNoSignatureIsNamed) {
  const auto check = checked_by(Scheme::kStandardWebhooks, {kStandardSecret});
  for (std::size_t left_out = 0; left_out < 3; ++left_out) {
    Headers headers = standard_headers();
    const std::string name = headers[left_out].name;
    headers.erase(headers.begin() + static_cast<std::ptrdiff_t>(left_out));
    const auto flaw = check.flaw(headers, kStandardBody, kStandardTime);
    ASSERT_TRUE(flaw) << name;
    EXPECT_NE(flaw->find(name), std::string::npos) << *flaw;
  }
  for (const char* signature : {"", "v1,", "v1,%%", "g0hM9SsE", "v1=g0hM", "v1,g0hM9SsE+OTPJTGt"}) {
    EXPECT_NE(check.flaw(standard_headers(signature), kStandardBody, kStandardTime), std::nullopt)
        << signature;
  }
  // A signed time that is not a time.
  const std::string odd = "soon";
  const Bytes content =
      fmt::format("msg_p5jXN8AQM9LWM0D4loKWxJek.{}.{}", odd, std::string(kStandardBody));
  const auto key = text::from_base64(std::string(kStandardSecret).substr(6)).value();
  const auto made = "v1," + text::base64(digest::view(digest::hmac_sha256(key, content)));
  const auto flaw = check.flaw(standard_headers(made, odd), kStandardBody, kStandardTime);
  EXPECT_EQ(flaw, "its time is no number of seconds");
}

constexpr std::int64_t kStripeTime = 1492774577;

TEST(SignatureCheck, Stripe) {
  const auto check = checked_by(Scheme::kStripe, {"whsec_other", "whsec_test_secret"});
  constexpr const char* kBody = R"({"id":"evt_1"})";
  const std::string good = "799c4ba7bb339f3c8601adfd112f0e477c930a268be1243d341abb8286501c2f";
  const auto flaw_of = [&](const std::string& header, std::int64_t now = kStripeTime) {
    return check.flaw({{"stripe-signature", header}}, kBody, now);
  };
  EXPECT_EQ(flaw_of(fmt::format("t={},v1={}", kStripeTime, good)), std::nullopt);
  EXPECT_EQ(flaw_of(fmt::format("t={},v1=00ff,v1={},v0=1234", kStripeTime, good)), std::nullopt);
  EXPECT_NE(flaw_of(fmt::format("t={},v0={}", kStripeTime, good)), std::nullopt)
      << "another version";
  EXPECT_NE(flaw_of(fmt::format("t={},v1={}", kStripeTime + 1, good)), std::nullopt)
      << "another time";
  EXPECT_EQ(flaw_of("v1=" + good), "its signature has no time");
  EXPECT_EQ(flaw_of(fmt::format("t={0},t={0},v1={1}", kStripeTime, good)),
            "its signature has two times");
  EXPECT_NE(flaw_of(fmt::format("t={},v1={}", kStripeTime, good), kStripeTime + 301), std::nullopt);
  EXPECT_NE(check.flaw({}, kBody, kStripeTime), std::nullopt);
}

// The example on GitHub's page.
TEST(SignatureCheck, GitHub) {
  const auto check = checked_by(Scheme::kGithub, {"It's a Secret to Everybody"});
  const std::string good = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const auto flaw_of = [&](const std::string& header) {
    return check.flaw({{"x-hub-signature-256", header}}, "Hello, World!", 0);
  };
  EXPECT_EQ(flaw_of("sha256=" + good), std::nullopt);
  EXPECT_NE(flaw_of(good), std::nullopt) << "without its method";
  EXPECT_NE(flaw_of("sha256=" + good.substr(2)), std::nullopt) << "cut off";
  EXPECT_NE(flaw_of("sha256=zz" + good.substr(2)), std::nullopt) << "not hexadecimal";
  EXPECT_NE(check.flaw({{"x-hub-signature", "sha1=" + good}}, "Hello, World!", 0), std::nullopt);
}

}  // namespace
}  // namespace semel::sources
