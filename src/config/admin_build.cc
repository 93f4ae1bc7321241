#include "config/admin_build.h"

#include <utility>

#include <fmt/format.h>

#include "config/node.h"
#include "config/secrets.h"

namespace semel::config {
namespace {

constexpr std::size_t kShortestSecret = 16;

// False where it cannot be read.
bool build_listen(const View& admin, AdminConfig& made, Report& report) {
  const auto* setting = admin.find("listen");
  if (setting == nullptr) return false;
  auto address = ListenAddress::parse(setting->text);
  if (address) {
    made.listen = *std::move(address);
    return true;
  }
  report
      .error("E014", setting->place, setting->path,
             fmt::format("{}: {}", setting->path, address.error().message))
      .help = "write " + address.error().hint;
  return false;
}

void build_tokens(const View& admin, AdminConfig& made, Report& report) {
  const auto& settings = admin.settings();
  const std::string list = admin.in("auth").path("tokens");
  for (std::size_t i = 0; i < settings.size(list); ++i) {
    const View token(settings, join_path(list, i));
    const auto* secret = token.find("secret");
    if (secret == nullptr) continue;
    if (secret->text.size() < kShortestSecret) {
      auto& error = report.error("E055", secret->place, secret->path,
                                 fmt::format("{}: it has {} characters, and needs {}", secret->path,
                                             secret->text.size(), kShortestSecret));
      error.excerpt.clear();
      error.help = "make a long one: openssl rand -hex 32";
    } else if (is_literal(*secret) && others_may_read(report.name(0))) {
      warn_of_secret(*secret, "a literal secret, in a file that others may read",
                     "${file:/run/secrets/…}, or chmod 600 " + report.name(0), report);
    }
    const auto role = core::role_from(token.text("role"));
    made.tokens.push_back({token.text("name"), secret->text, role.value_or(core::Role::kRead)});
  }
}

void build_admin_tls(const View& admin, AdminConfig& made) {
  if (!admin.written("tls")) return;
  const View tls = admin.in("tls");
  made.tls = AdminTls{tls.text("certificate"), tls.text("key")};
}

void warn_of_clear_text(const View& admin, const AdminConfig& made, Report& report) {
  const auto* listen = admin.find("listen");
  auto& warning = report.warning(
      "W036", listen->place, listen->path,
      fmt::format("{}: tokens come to {} in clear text", listen->path, made.listen.text()));
  warning.help =
      "admin.tls: { certificate: …, key: … }; or listen: 127.0.0.1:8585 behind a proxy with TLS";
}

}  // namespace

std::optional<AdminConfig> build_admin(const View& root, Report& report) {
  if (!root.written("admin")) return std::nullopt;
  const View admin = root.in("admin");
  AdminConfig made;
  const bool readable = build_listen(admin, made, report);
  build_admin_tls(admin, made);
  build_tokens(admin, made, report);
  if (readable && !made.tokens.empty() && !made.listen.is_loopback() && !made.tls) {
    warn_of_clear_text(admin, made, report);
  }
  if (readable && made.tokens.empty() && !made.listen.is_loopback()) {
    const auto* listen = admin.find("listen");
    auto& error = report.error("E055", listen->place, listen->path,
                               fmt::format("{}: other machines reach {}, and nobody needs a token",
                                           listen->path, made.listen.text()));
    error.help = "admin.auth.tokens, or listen: 127.0.0.1:8585";
  }
  return made;
}

}  // namespace semel::config
