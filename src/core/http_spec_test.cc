#include "core/http_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(HttpSpec, UrlsThatCanBeCalled) {
  for (const auto* url :
       {"http://localhost", "https://example.com/hook?a=b", "HTTP://127.0.0.1:8080/send",
        "http://[::1]:9000/", "https://user:password@example.com/x", "http://a?b=c"}) {
    EXPECT_FALSE(url_flaw(url)) << url << ' ' << *url_flaw(url);
  }
}

TEST(HttpSpec, UrlsThatCannot) {
  for (const auto* url : {"",
                          "example.com",
                          "ftp://example.com/",
                          "file:///etc/passwd",
                          "http:",
                          "http://",
                          "http:///path",
                          "http://:80/",
                          "http://host:/",
                          "http://host:port/",
                          "http://host:0/",
                          "http://host:70000/",
                          "http://[::1/",
                          "http://[]/",
                          "http://[::1]80/",
                          "http://user@/",
                          "http://host/a b",
                          "http://host/\r\nX: y",
                          "http://h\xC3\xB6st/",
                          "http://host/#part"}) {
    EXPECT_TRUE(url_flaw(url)) << url;
  }
}

TEST(HttpSpec, CredentialsInAUrlAreSeen) {
  EXPECT_TRUE(url_has_credentials("https://user:password@example.com/"));
  EXPECT_TRUE(url_has_credentials("https://token@example.com"));
  EXPECT_FALSE(url_has_credentials("https://example.com/@someone?mail=a@b"));
}

TEST(HttpSpec, HeadersThatAConfigMaySet) {
  for (const auto* name : {"Authorization", "X-Team", "content-type", "api_key", "Accept"}) {
    EXPECT_FALSE(header_flaw(name)) << name;
  }
  for (const auto* name :
       {"", "a b", "a:b", "a\r\nb", "Idempotency-Key", "WEBHOOK-ID", "semel-attempt", "Ce-Id",
        "traceparent", "Host", "content-length", "Transfer-Encoding", "Connection", "\xC3\xA4"}) {
    EXPECT_TRUE(header_flaw(name)) << name;
  }
  EXPECT_TRUE(export_header_flaw("Content-Type"));
  EXPECT_FALSE(export_header_flaw("semel-attempt")) << "a collector is no receiver of messages";
  EXPECT_TRUE(is_header_value("Bearer \xC3\xA4 x\ty"));
  EXPECT_TRUE(is_header_value(""));
  EXPECT_FALSE(is_header_value("a\r\nb"));
  EXPECT_FALSE(is_header_value("a\nb"));
  EXPECT_FALSE(is_header_value(std::string_view("a\0b", 3)));
}

TEST(HttpSpec, SecretsAreKnownByTheirHeader) {
  EXPECT_TRUE(sounds_secret("Authorization"));
  EXPECT_TRUE(sounds_secret("X-Api-Key"));
  EXPECT_FALSE(sounds_secret("X-Team"));
}

TEST(HttpSpec, SigningSecrets) {
  EXPECT_EQ(signing_key("whsec_c2VjcmV0"), "secret");
  EXPECT_FALSE(signing_key("c2VjcmV0"));
  EXPECT_FALSE(signing_key("whsec_"));
  EXPECT_FALSE(signing_key("whsec_c2VjcmV"));
  EXPECT_FALSE(signing_key("whsec_c2Vj cmV0"));
}

}  // namespace
}  // namespace semel::core
