#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/test_load.h"
#include "tests/support/temp_dir.h"

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
  ASSERT_TRUE(loaded.config->admin->listen);
  EXPECT_EQ(loaded.config->admin->listen->text(), "127.0.0.1:8585");
  EXPECT_FALSE(loaded.config->admin->socket);
  EXPECT_TRUE(loaded.config->admin->tokens.empty());
}

TEST(AdminBuild, ReadsAddressAndTokens) {
  const Loaded loaded = load_admin(
      "admin: { listen: ':9000', auth: { tokens: [{ name: prometheus, secret: 0123456789abcdef "
      "}] } }\n");
  ASSERT_TRUE(loaded.config);
  ASSERT_TRUE(loaded.config->admin->listen);
  EXPECT_EQ(loaded.config->admin->listen->port, 9'000);
  ASSERT_EQ(loaded.config->admin->tokens.size(), 1U);
  EXPECT_EQ(loaded.config->admin->tokens[0].name, "prometheus");
  EXPECT_EQ(loaded.config->admin->tokens[0].secret, "0123456789abcdef");
  EXPECT_EQ(loaded.config->admin->tokens[0].role, core::Role::kRead);
}

TEST(AdminBuild, ASocketStandsInPlaceOfTheAddress) {
  const Loaded loaded = load_admin("admin: { socket: run/admin.sock }\n");
  ASSERT_TRUE(loaded.config);
  const AdminConfig& admin = *loaded.config->admin;
  EXPECT_FALSE(admin.listen) << "no port is opened that nobody asked for";
  ASSERT_TRUE(admin.socket);
  EXPECT_EQ(admin.socket->path, "run/admin.sock");
  EXPECT_FALSE(admin.socket->group);
  EXPECT_FALSE(admin.socket->role);
  for (const EffectiveValue& one : loaded.config->effective) {
    EXPECT_NE(one.path, "admin.listen") << "config show says what is in effect";
  }
  const Loaded both = load_admin(
      "admin: { listen: 127.0.0.1:8586, socket: { path: /run/a.sock, mode: 0660, role: operator } "
      "}\n");
  ASSERT_TRUE(both.config);
  EXPECT_EQ(both.config->admin->listen->port, 8'586);
  EXPECT_EQ(both.config->admin->socket->path, "/run/a.sock");
  EXPECT_TRUE(both.config->admin->socket->group);
  EXPECT_EQ(both.config->admin->socket->role, core::Role::kOperator);
}

TEST(AdminBuild, ARelativeSocketIsBesideTheFile) {
  const test::TempDir folder;
  const std::string file = folder.file("semel.yaml");
  test::write_file(file, "version: 1\nadmin: { socket: admin.sock }\n" + std::string(kPayments));
  const Loaded loaded = load_file(file, with_env({}));
  ASSERT_TRUE(loaded.config);
  EXPECT_EQ(loaded.config->admin->socket->path, folder.file("admin.sock"));
}

TEST(AdminBuild, RefusesASocketThatCannotBe) {
  EXPECT_TRUE(load_admin("admin: { socket: /" + std::string(106, 'a') + " }\n").config);
  EXPECT_TRUE(has_code(load_admin("admin: { socket: /" + std::string(107, 'a') + " }\n"), "E014"));
  EXPECT_FALSE(load_admin("admin: { socket: { path: /a, mode: 0666 } }\n").config);
  EXPECT_FALSE(load_admin("admin: { socket: { mode: 0660 } }\n").config) << "it has no path";
  EXPECT_TRUE(has_code(
      load_admin("admin: { socket: /run/a.sock, tls: { certificate: a, key: b } }\n"), "E038"));
  EXPECT_TRUE(has_code(load_admin("admin: { socket: { path: /a, claims: [payments] } }\n"), "E057"))
      << "nobody claims from it";
}

TEST(AdminBuild, ASocketMayGiveClaims) {
  constexpr const char* kMails = "consumers: [{ name: mails, source: { claims: {} } }]\n";
  const auto load = [&](const std::string& admin) {
    return load_text("version: 1\n" + admin + kMails, "semel.yaml", with_env({}));
  };
  EXPECT_TRUE(has_code(load("admin: { socket: /run/a.sock }\n"), "E057")) << "nobody may claim";
  const Loaded loaded = load("admin: { socket: { path: /run/a.sock, claims: [mails] } }\n");
  ASSERT_TRUE(loaded.config);
  EXPECT_EQ(loaded.config->admin->socket->claims, std::vector<std::string>{"mails"});
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

using Contents = core::Disclosure::Contents;
using Errors = core::Disclosure::Errors;

core::Disclosure shown_by(const std::string& admin) {
  const Loaded loaded = load_admin("admin: { " + admin + " }\n");
  EXPECT_TRUE(loaded.config) << admin;
  return loaded.config && loaded.config->admin ? loaded.config->admin->shows : core::Disclosure();
}

TEST(AdminBuild, WhatIsShownFollowsFromWhatIsWritten) {
  struct Row {
    const char* admin;
    Contents contents;
    Errors errors;
  };
  for (const Row& row :
       {Row{"", Contents::kFull, Errors::kText},
        Row{"payloads: full", Contents::kFull, Errors::kText},
        Row{"payloads: none", Contents::kNone, Errors::kCause},
        Row{"mask: ['json:/card']", Contents::kMasked, Errors::kCause},
        Row{"payloads: masked, mask: ['header:Authorization']", Contents::kMasked, Errors::kCause},
        Row{"payloads: none, errors: text", Contents::kNone, Errors::kText},
        Row{"payloads: full, errors: cause", Contents::kFull, Errors::kCause}}) {
    EXPECT_EQ(shown_by(row.admin).contents, row.contents) << row.admin;
    EXPECT_EQ(shown_by(row.admin).errors, row.errors) << row.admin;
  }
}

TEST(AdminBuild, AMaskHasPlacesAndHeaders) {
  const auto shows = shown_by("mask: ['json:/items/*/card', 'header:Authorization', 'json:']");
  ASSERT_EQ(shows.places.size(), 2U);
  EXPECT_EQ(shows.places[0].text(), "/items/*/card");
  EXPECT_EQ(shows.places[1].text(), "") << "all of it";
  EXPECT_EQ(shows.headers, std::vector<std::string>{"Authorization"});
  for (const char* wrong : {"card", "json:card", "'header:'", "'json:/a~2'", "''"}) {
    EXPECT_FALSE(load_admin(std::string("admin: { mask: [") + wrong + "] }\n").config) << wrong;
  }
  EXPECT_TRUE(has_code(load_admin("admin: { mask: [card] }\n"), "E032"));
}

TEST(AdminBuild, AMaskThatHidesNothingIsRefused) {
  EXPECT_TRUE(has_code(load_admin("admin: { payloads: masked }\n"), "E038"));
  EXPECT_TRUE(has_code(load_admin("admin: { payloads: full, mask: ['json:/a'] }\n"), "E038"));
  EXPECT_TRUE(has_code(load_admin("admin: { payloads: none, mask: ['json:/a'] }\n"), "E038"));
  EXPECT_TRUE(has_code(load_admin("admin: { payloads: hidden }\n"), "E016"));
}

TEST(AdminBuild, AKeyFromAMaskedPlaceIsWarnedOf) {
  const auto load_key = [](const std::string& mask, const std::string& key) {
    return load_text("version: 1\nadmin: { mask: ['" + mask +
                         "'] }\nconsumers:\n  - { name: payments, source: { queue: {} }, key: " +
                         key + ", handler: { native: pay } }\n",
                     "semel.yaml", with_env({}));
  };
  for (const auto& [mask, key] : std::vector<std::pair<std::string, std::string>>{
           {"json:/card/number", "json:/card/number"},
           {"json:/card", "json:/card/number"},
           {"json:/*/number", "json:/card/number"},
           {"json:", "json:/id"},
           {"header:X-Card", "'header:x-card'"},
           {"header:idempotency-KEY", "idempotency-key"},
           {"json:/b", "{ from: [json:/a, json:/b], join: true }"}}) {
    EXPECT_TRUE(has_code(load_key(mask, key), "W046")) << mask << " " << key;
  }
  EXPECT_FALSE(has_code(load_key("json:/card/number", "json:/card/id"), "W046"));
  EXPECT_FALSE(has_code(load_key("json:/card/number", "json:/card"), "W046"));
  EXPECT_FALSE(has_code(load_key("header:X-Card", "json:/X-Card"), "W046"));
}

// Checks the permissions of the listener's key file.
TEST(AdminBuild, AKeyThatEverybodyMayReadIsWarnedOf) {
  using std::filesystem::perms;
  const test::TempDir folder;
  const std::string key = folder.file("key.pem");
  const auto warns = [&](const std::string& listener) {
    const Loaded loaded = load_text(listener, "semel.yaml", with_env({}));
    EXPECT_TRUE(loaded.config) << all_of(loaded);
    return all_of(loaded).find("W037") != std::string::npos;
  };
  const auto admin = [&] {
    return warns(
        fmt::format("version: 1\nadmin: {{ listen: '127.0.0.1:0', tls: {{ certificate: "
                    "c.pem, key: {} }} }}\nconsumers:\n  - {{ name: a, key: json:/id, "
                    "handler: {{ native: pay }}, source: {{ queue: {{}} }} }}\n",
                    key));
  };
  const auto source = [&](const char* accept) {
    return warns(
        fmt::format("version: 1\nconsumers:\n  - {{ name: a, key: json:/id, handler: {{ "
                    "native: pay }}, source: {{ http: {{ listen: '127.0.0.1:8080', tls: "
                    "{{ certificate: c.pem, key: {} }} }} }}{} }}\n",
                    key, accept));
  };
  EXPECT_FALSE(admin()) << "there is none yet";
  test::write_file(key, "a key");
  std::filesystem::permissions(key, perms::owner_read | perms::others_read);
  EXPECT_TRUE(admin());
  EXPECT_TRUE(source(""));
  EXPECT_FALSE(source(", accept: [W037]"));
  std::filesystem::permissions(key, perms::owner_read | perms::group_read);
  EXPECT_FALSE(admin()) << "as Debian's group ssl-cert";
  EXPECT_FALSE(source(""));
}

}  // namespace
}  // namespace semel::config
