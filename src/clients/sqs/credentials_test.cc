// Tests each source of credentials; the services are simulated on this machine.
#include "clients/sqs/credentials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/http_server.h"
#include "tests/support/server_address.h"
#include "tests/support/temp_dir.h"

namespace semel::sqs {
namespace {

using namespace std::chrono_literals;
using test::HttpReply;
using test::HttpRequest;
using test::HttpServer;
using WallTime = CredentialChain::WallTime;

constexpr const char* kRole = "arn:aws:iam::123456789012:role/billing";

class SqsCredentials : public ::testing::Test {
 protected:
  SqsCredentials() {
    access_.region = "eu-west-1";
    // Only the test that simulates the machine's metadata service may use it.
    set("AWS_EC2_METADATA_DISABLED", "true");
  }
  void set(const std::string& name, const std::string& value) { variables_[name] = value; }
  std::string file(const std::string& name, const std::string& text) {
    test::write_file(folder_.file(name), text);
    return folder_.file(name);
  }
  CredentialChain chain() {
    return CredentialChain(access_, [this](const char* name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    });
  }
  std::string id_of(CredentialChain& from, WallTime now = kNow) {
    const auto keys = from.keys(now);
    return keys ? keys->access_key_id : keys.error().code + ": " + keys.error().message;
  }
  std::string id() {
    CredentialChain made = chain();
    return id_of(made);
  }
  // An answer of the container's or machine's service.
  static std::string answer(const std::string& id, const std::string& expires) {
    return fmt::format(R"({{"Code":"Success","AccessKeyId":"{}","SecretAccessKey":"s",)"
                       R"("Token":"t","Expiration":"{}"}})",
                       id, expires);
  }

  static constexpr WallTime kNow =
      std::chrono::sys_days(std::chrono::year(2026) / 3 / 1) + std::chrono::hours(12);
  core::SqsAccess access_;
  std::map<std::string, std::string> variables_;
  test::TempDir folder_;
};

TEST_F(SqsCredentials, TheConfigComesFirst) {
  set("AWS_ACCESS_KEY_ID", "of-environment");
  set("AWS_SECRET_ACCESS_KEY", "s");
  access_.keys = {"of-config", "s", {}};
  EXPECT_EQ(id(), "of-config");
  EXPECT_FALSE(chain().may_change());
}

TEST_F(SqsCredentials, ThenTheEnvironment) {
  set("AWS_ACCESS_KEY_ID", "of-environment");
  set("AWS_SECRET_ACCESS_KEY", "s");
  set("AWS_SESSION_TOKEN", "t");
  const auto keys = chain().keys(kNow);
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->access_key_id, "of-environment");
  EXPECT_EQ(keys->session_token, "t");
}

TEST_F(SqsCredentials, ThenTheSharedFilesWithTheirProfiles) {
  set("AWS_SHARED_CREDENTIALS_FILE",
      file("credentials",
           "[default]\naws_access_key_id = plain\naws_secret_access_key=s\n"
           "# a comment\n[billing]\n  aws_access_key_id = not this: a part of "
           "what is above\n"));
  set("AWS_CONFIG_FILE", file("config",
                              "[profile billing]\nAWS_ACCESS_KEY_ID = billed\r\n"
                              "aws_secret_access_key = s\n[profile sso]\nsso_session = corp\n"));
  EXPECT_EQ(id(), "plain");
  set("AWS_PROFILE", "billing");
  EXPECT_EQ(id(), "billed");
  set("AWS_PROFILE", "sso");
  EXPECT_NE(id().find("sso_session, which Semel does not use"), std::string::npos) << id();
  // The profile that the config names takes precedence over the environment's keys.
  set("AWS_ACCESS_KEY_ID", "of-environment");
  set("AWS_SECRET_ACCESS_KEY", "s");
  access_.profile = "billing";
  EXPECT_EQ(id(), "billed");
  access_.profile = "nobody";
  EXPECT_NE(id().find("R391"), std::string::npos) << id();
}

TEST_F(SqsCredentials, AWebIdentityIsTradedAtSts) {
  HttpServer sts;
  sts.on("/", test::reply(200,
                          "<AssumeRoleWithWebIdentityResponse><Credentials>"
                          "<AccessKeyId>of-sts</AccessKeyId>"
                          "<SecretAccessKey>s</SecretAccessKey>"
                          "<SessionToken>t</SessionToken>"
                          "<Expiration>2026-03-01T13:00:00Z</Expiration></Credentials>"));
  set("AWS_ENDPOINT_URL_STS", sts.url());
  set("AWS_WEB_IDENTITY_TOKEN_FILE", file("token", "a.b+c\n"));
  set("AWS_ROLE_ARN", kRole);
  EXPECT_EQ(id(), "of-sts");
  const auto requests = sts.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_NE(requests[0].body.find("Action=AssumeRoleWithWebIdentity"), std::string::npos);
  EXPECT_NE(requests[0].body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fbilling"),
            std::string::npos)
      << requests[0].body;
  EXPECT_TRUE(requests[0].body.ends_with("&WebIdentityToken=a.b%2Bc")) << requests[0].body;

  set("AWS_WEB_IDENTITY_TOKEN_FILE", folder_.file("none"));
  EXPECT_NE(id().find("cannot be read"), std::string::npos) << id();
}

TEST_F(SqsCredentials, AContainerHasAServiceOfItsOwn) {
  HttpServer service;
  service.on("/v2", test::reply(200, answer("of-container", "2026-03-01T13:00:00Z")));
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.url("/v2"));
  set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file("token", "Basic abc\n"));
  EXPECT_EQ(id(), "of-container");
  ASSERT_EQ(service.requests().size(), 1U);
  EXPECT_EQ(service.requests()[0].header("authorization"), "Basic abc");
}

// No name resolves and no port listens in these URLs, so one that passes fails with kUnavailable.
TEST_F(SqsCredentials, AContainersTokenIsSentToNoOtherHost) {
  const std::string closed = std::to_string(test::free_port());
  struct Row {
    const char* variable;
    std::string uri;
    const char* refused;  // empty: the service is asked
  };
  constexpr const char* kFull = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  constexpr const char* kRelative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  for (const Row& row : std::vector<Row>{
           {kFull, "http://example.invalid/v2?t=s3cret", "the host example.invalid, which is"},
           {kFull, "http://127.evil.invalid/v2?t=s3cret", "the host 127.evil.invalid, which is"},
           {kFull, "http://localhost.invalid/v2", "the host localhost.invalid, which is"},
           {kFull, "http://128.0.0.1/v2", "the host 128.0.0.1, which is"},
           {kFull, "http://localhost:80@evil.invalid/s3cret", "has a user before its host"},
           {kFull, "http://s3cret@127.0.0.1/v2", "has a user before its host"},
           {kFull, "https://:s3cret@evil.invalid/v2", "has a user before its host"},
           {kFull, "http://127.0.0.1:s3cret/v2", "is no URL that can be called"},
           {kFull, "ftp://127.0.0.1/s3cret", "neither this machine nor reached by TLS"},
           {kRelative, "@evil.invalid/s3cret", "does not begin with /"},
           {kRelative, ".evil.invalid/s3cret", "does not begin with /"},
           {kRelative, ":80@evil.invalid/s3cret", "does not begin with /"},
           {kFull, "http://127.0.0.1:" + closed + "/v2", ""},
           {kFull, "http://127.1.2.3:" + closed + "/v2", ""},
           {kFull, "http://localhost:" + closed + "/v2", ""},
           {kFull, "http://[::1]:" + closed + "/v2", ""},
           {kFull, "https://127.evil.invalid:" + closed + "/v2", ""},
       }) {
    variables_.erase(kFull);
    variables_.erase(kRelative);
    set(row.variable, row.uri);
    const auto keys = chain().keys(kNow);
    ASSERT_FALSE(keys) << row.uri;
    const Error& error = keys.error();
    const bool refused = *row.refused != '\0';
    EXPECT_EQ(error.kind, refused ? ErrorKind::kRejected : ErrorKind::kUnavailable) << row.uri;
    EXPECT_NE(error.message.find(refused ? row.refused : "the container's service"),
              std::string::npos)
        << row.uri << ": " << error.message;
    EXPECT_EQ(error.message.find("s3cret"), std::string::npos) << error.message;
  }
}

TEST_F(SqsCredentials, AMachineIsAskedWithASessionOfItsOwn) {
  HttpServer service;
  service.on("/latest/api/token", test::reply(200, "session"));
  const std::string roles = "/latest/meta-data/iam/security-credentials/";
  service.on(roles, test::reply(200, "billing\n"));
  service.on(roles + "billing", test::reply(200, answer("of-machine", "2026-03-01T13:00:00Z")));
  variables_.erase("AWS_EC2_METADATA_DISABLED");
  set("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url());
  EXPECT_EQ(id(), "of-machine");
  const auto requests = service.requests();
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].method, "PUT");
  EXPECT_EQ(requests[0].header("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
  EXPECT_EQ(requests[1].header("x-aws-ec2-metadata-token"), "session");
  EXPECT_EQ(requests[2].header("x-aws-ec2-metadata-token"), "session");
}

TEST_F(SqsCredentials, TheyAreAskedForAgainBeforeTheyExpire) {
  HttpServer service;
  service.on("/v2", [](const HttpRequest&, std::size_t times) {
    if (times == 0) return test::reply(200, answer("first", "2026-03-01T12:30:00Z"));
    if (times == 1) return test::reply(500);
    if (times == 2) return test::reply(200, answer("second", "2026-03-01T13:30:00Z"));
    return test::reply(404);
  });
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.url("/v2"));
  CredentialChain kept = chain();
  EXPECT_EQ(id_of(kept), "first");
  EXPECT_EQ(id_of(kept, kNow + 20min), "first");
  EXPECT_EQ(service.requests().size(), 1U) << "they are kept";
  EXPECT_EQ(id_of(kept, kNow + 26min), "first") << "the service fails, and they are good still";
  EXPECT_EQ(id_of(kept, kNow + 27min), "second");
  EXPECT_EQ(service.requests().size(), 3U);
  const auto gone = kept.keys(kNow + 2h);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, "R391");
  EXPECT_EQ(gone.error().kind, ErrorKind::kUnavailable) << "they were there: waited for";
}

// Each look-up would delay a call, and thereby a renewal.
TEST_F(SqsCredentials, WhileTheirServiceHangsManyCallsWaitForOneLook) {
  HttpServer service;
  service.on("/v2", [](const HttpRequest&, std::size_t times) {
    if (times == 0) return test::reply(200, answer("first", "2026-03-01T12:30:00Z"));
    return test::raw("", HttpReply::Then::kHang);
  });
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.url("/v2"));
  CredentialChain kept = chain();
  EXPECT_EQ(id_of(kept), "first");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(id_of(kept, kNow + 26min + i * 1s), "first");
  EXPECT_EQ(service.requests().size(), 2U);
  EXPECT_EQ(id_of(kept, kNow + 27min), "first");
  EXPECT_EQ(service.requests().size(), 3U) << "now and then it is asked";
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(kept.keys(kNow + 31min + i * 50ms));
  EXPECT_EQ(service.requests().size(), 4U) << "so without keys";
  kept.look_no_more();
  EXPECT_FALSE(kept.keys(kNow + 1h));
  EXPECT_EQ(service.requests().size(), 4U);
}

TEST_F(SqsCredentials, ThoseThatAlwaysExpireSoonAreLookedForNowAndThen) {
  HttpServer service;
  service.on("/v2", test::reply(200, answer("first", "2026-03-01T12:02:00Z")));
  set("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.url("/v2"));
  CredentialChain kept = chain();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(id_of(kept, kNow + i * 1s), "first");
  EXPECT_EQ(service.requests().size(), 1U);
  EXPECT_EQ(id_of(kept, kNow + 1min), "first");
  EXPECT_EQ(service.requests().size(), 2U);
}

TEST_F(SqsCredentials, WhereThereAreNoneItSaysWhereItLooked) {
  const auto none = chain().keys(kNow);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "R391");
  EXPECT_EQ(none.error().kind, ErrorKind::kRejected);
  EXPECT_NE(none.error().hint.find("AWS_ACCESS_KEY_ID"), std::string::npos);
}

}  // namespace
}  // namespace semel::sqs
