// An unusable spec is refused when the handler is made.
#include "handlers/http/http_handler.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace semel::handlers {
namespace {

core::HttpSpec good() {
  core::HttpSpec spec;
  spec.consumer = "c";
  spec.url = "http://127.0.0.1:1/";
  spec.response_limit = 100;
  return spec;
}

std::string refusal(core::HttpSpec spec) {
  auto made = make_http_handler(std::move(spec), system_environment());
  if (made) return "";
  EXPECT_EQ(made.error().kind, ErrorKind::kRejected);
  EXPECT_EQ(made.error().code, "R255");
  EXPECT_FALSE(made.error().hint.empty());
  return made.error().message;
}

TEST(HttpHandler, IsMadeAndGoesWithoutACall) { EXPECT_EQ(refusal(good()), ""); }

TEST(HttpHandler, RefusesAUrlThatCannotBeCalled) {
  for (const auto* url : {"", "ftp://host/", "http://", "http://host/\n", "https://[::zz]/"}) {
    core::HttpSpec spec = good();
    spec.url = url;
    EXPECT_NE(refusal(spec).find("URL"), std::string::npos) << url;
  }
}

TEST(HttpHandler, RefusesHeadersThatAreNotTheConfigs) {
  core::HttpSpec spec = good();
  spec.headers = {{"webhook-id", "x"}};
  EXPECT_NE(refusal(spec).find("\"webhook-id\" is a header that Semel sends"), std::string::npos);
  spec.headers = {{"a\r\nb", "x"}};
  EXPECT_NE(refusal(spec).find("a%0D%0Ab"), std::string::npos);
  spec.headers = {{"X-A", "x\r\nInjected: yes"}};
  EXPECT_NE(refusal(spec).find("line end"), std::string::npos);
  spec = good();
  spec.method = "PO ST";
  EXPECT_NE(refusal(spec), "");
}

TEST(HttpHandler, RefusesSecretsAndCertificatesThatAreNone) {
  core::HttpSpec spec = good();
  spec.signing_secrets = {"whsec_c2VjcmV0", "hunter2"};
  const std::string told = refusal(spec);
  EXPECT_NE(told.find("whsec_"), std::string::npos);
  EXPECT_EQ(told.find("hunter2"), std::string::npos) << "a secret is not shown";
  spec = good();
  test::TempDir folder;
  spec.ca_file = folder.file("none.pem");
  EXPECT_NE(refusal(spec).find("none.pem"), std::string::npos);
}

}  // namespace
}  // namespace semel::handlers
