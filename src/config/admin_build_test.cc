#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/test_load.h"

namespace semel::config {
namespace {

constexpr std::string_view kPayments = R"yaml(
consumers:
  - name: payments
    source: { queue: {} }
    handler: { native: pay }
)yaml";

Loaded load_admin(const std::string& admin) {
  return load_text("version: 1\n" + admin + std::string(kPayments), "semel.yaml", with_env({}));
}

bool has_code(const Loaded& loaded, std::string_view code) {
  return std::ranges::find(loaded.diagnostics, code, &Diagnostic::code) != loaded.diagnostics.end();
}

TEST(AdminBuild, NothingListensWithoutIt) {
  const Loaded loaded = load_admin("");
  ASSERT_TRUE(loaded.config);
  EXPECT_FALSE(loaded.config->admin);
}

TEST(AdminBuild, ListensOnThisMachineByDefault) {
  const Loaded loaded = load_admin("admin: {}\n");
  ASSERT_TRUE(loaded.config);
  ASSERT_TRUE(loaded.config->admin);
  EXPECT_EQ(loaded.config->admin->listen.text(), "127.0.0.1:8585");
  EXPECT_TRUE(loaded.config->admin->tokens.empty());
}

TEST(AdminBuild, ReadsAddressAndTokens) {
  const Loaded loaded = load_admin(
      "admin: { listen: ':9000', auth: { tokens: [{ name: prometheus, secret: 0123456789abcdef "
      "}] } }\n");
  ASSERT_TRUE(loaded.config);
  EXPECT_EQ(loaded.config->admin->listen.port, 9'000);
  ASSERT_EQ(loaded.config->admin->tokens.size(), 1U);
  EXPECT_EQ(loaded.config->admin->tokens[0].name, "prometheus");
  EXPECT_EQ(loaded.config->admin->tokens[0].secret, "0123456789abcdef");
  EXPECT_EQ(loaded.config->admin->tokens[0].role, core::Role::kRead);
}

TEST(AdminBuild, ATokenHasARole) {
  for (const core::Role role : {core::Role::kRead, core::Role::kOperator, core::Role::kAdmin}) {
    const Loaded loaded =
        load_admin("admin: { auth: { tokens: [{ name: one, secret: 0123456789abcdef, role: " +
                   std::string(core::to_string(role)) + " }] } }\n");
    ASSERT_TRUE(loaded.config);
    EXPECT_EQ(loaded.config->admin->tokens[0].role, role);
  }
  EXPECT_FALSE(
      load_admin("admin: { auth: { tokens: [{ name: one, secret: 0123456789abcdef, role: root }] "
                 "} }\n")
          .config);
}

TEST(AdminBuild, TokensInClearTextAreWarnedAbout) {
  const std::string tokens = "auth: { tokens: [{ name: one, secret: 0123456789abcdef }] } }\n";
  const std::string tls = "tls: { certificate: cert.pem, key: key.pem }, ";
  const Loaded open = load_admin("admin: { listen: ':9000', " + tokens);
  EXPECT_TRUE(has_code(open, "W036"));
  ASSERT_TRUE(open.config);
  EXPECT_FALSE(open.config->admin->tls);
  const Loaded encrypted = load_admin("admin: { listen: ':9000', " + tls + tokens);
  EXPECT_FALSE(has_code(encrypted, "W036"));
  ASSERT_TRUE(encrypted.config);
  ASSERT_TRUE(encrypted.config->admin->tls);
  EXPECT_EQ(encrypted.config->admin->tls->certificate, "cert.pem");
  EXPECT_EQ(encrypted.config->admin->tls->key, "key.pem");
  EXPECT_FALSE(has_code(load_admin("admin: { listen: '127.0.0.1:9000', " + tokens), "W036"));
}

TEST(AdminBuild, TlsAloneLetsNobodyIn) {
  const Loaded loaded =
      load_admin("admin: { listen: ':9000', tls: { certificate: cert.pem, key: key.pem } }\n");
  EXPECT_TRUE(has_code(loaded, "E055"));
  EXPECT_FALSE(loaded.config);
  EXPECT_FALSE(load_admin("admin: { tls: { certificate: cert.pem } }\n").config);
}

TEST(AdminBuild, TheConfigHasItsEffectiveValuesWithoutSecrets) {
  const Loaded loaded =
      load_admin("admin: { auth: { tokens: [{ name: one, secret: 0123456789abcdef }] } }\n");
  ASSERT_TRUE(loaded.config);
  const auto& values = loaded.config->effective;
  EXPECT_EQ(values.size(), loaded.effective.size());
  const auto found = std::ranges::find(values, "admin.auth.tokens[0].role", &EffectiveValue::path);
  ASSERT_NE(found, values.end());
  EXPECT_EQ(found->value, "read");
  for (const EffectiveValue& one : values) {
    EXPECT_EQ(one.value.find("0123456789abcdef"), std::string::npos) << one.path;
  }
}

TEST(AdminBuild, OtherMachinesNeedAToken) {
  EXPECT_TRUE(has_code(load_admin("admin: { listen: ':8585' }\n"), "E055"));
  EXPECT_TRUE(has_code(load_admin("admin: { listen: ':0' }\n"), "E055"));
  EXPECT_TRUE(has_code(load_admin("admin: { listen: '0.0.0.0:8585' }\n"), "E055"));
  EXPECT_FALSE(has_code(load_admin("admin: { listen: '[::1]:8585' }\n"), "E055"));
}

TEST(AdminBuild, ASecretThatCanBeGuessedIsRefusedAndNotShown) {
  const Loaded loaded = load_admin("admin: { auth: { tokens: [{ name: a, secret: hunter2 }] } }\n");
  ASSERT_TRUE(has_code(loaded, "E055"));
  for (const Diagnostic& one : loaded.diagnostics) {
    EXPECT_EQ(format(one, false).find("hunter2"), std::string::npos);
  }
}

TEST(AdminBuild, AnAddressThatIsNoneIsNamed) {
  const Loaded loaded = load_admin("admin: { listen: localhost }\n");
  ASSERT_TRUE(has_code(loaded, "E014"));
  EXPECT_FALSE(has_code(loaded, "E055"));
}

}  // namespace
}  // namespace semel::config
