#include "config/admin_build.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/listen_address.h"
#include "config/member.h"
#include "config/node.h"
#include "config/secrets.h"
#include "config/store_build.h"

namespace semel::config {
namespace {

constexpr std::size_t kShortestSecret = 16;

// The names of consumers in the list `claims`.
std::vector<std::string> claims_of(const View& holder) {
  std::vector<std::string> claims;
  for (std::size_t k = 0; k < holder.size("claims"); ++k) {
    const auto* consumer = holder.settings().find(join_path(holder.path("claims"), k));
    if (consumer != nullptr) claims.push_back(consumer->text);
  }
  return claims;
}

void build_socket(const View& admin, const std::string& folder, AdminConfig& made, Report& report) {
  if (!admin.written("socket")) return;
  const View socket = admin.in("socket");
  AdminSocket built{resolve_path(folder, socket.text("path")), false,
                    core::role_from(socket.text("role")), claims_of(socket)};
  if (const auto* mode = socket.find("mode")) built.group = index_of_word(*mode) == 1;
  const auto* path = socket.find("path");
  if (path != nullptr && built.path.size() > kLongestSocketPath) {
    report
        .error("E014", path->place, path->path,
               fmt::format("{}: it has {} bytes, and the path of a Unix socket {} at most",
                           path->path, built.path.size(), kLongestSocketPath))
        .help = "write a short one, as /run/semel/admin.sock";
  }
  made.socket = std::move(built);
}

// False if there is no address, or it cannot be read.
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
    made.tokens.push_back({token.text("name"), secret->text, role.value_or(core::Role::kRead), {}});
    made.tokens.back().claims = claims_of(token);
  }
}

void build_admin_tls(const View& admin, AdminConfig& made, Report& report) {
  if (!admin.written("tls")) return;
  const View tls = admin.in("tls");
  if (!made.listen && made.socket) {
    report
        .error("E038", tls.place("certificate"), admin.path("tls"),
               fmt::format("{} encrypts {}, which is not there: a Unix socket has no TLS",
                           admin.path("tls"), admin.path("listen")))
        .help = "admin.listen: 127.0.0.1:8585, or no admin.tls";
    return;
  }
  made.tls = AdminTls{tls.text("certificate"), tls.text("key")};
  if (const auto* key = tls.find("key")) warn_of_open_key(*key, key->text, report);
}

void warn_of_clear_text(const View& admin, const AdminConfig& made, Report& report) {
  const auto* listen = admin.find("listen");
  auto& warning = report.warning(
      "W036", listen->place, listen->path,
      fmt::format("{}: tokens come to {} in clear text", listen->path, made.listen->text()));
  warning.help =
      "admin.tls: { certificate: …, key: … }; or listen: 127.0.0.1:8585 behind a proxy with TLS";
}

constexpr std::string_view kJsonPlace = "json:";
constexpr std::string_view kHeaderPlace = "header:";

void build_mask(const View& admin, core::Disclosure& made, Report& report) {
  const std::string list = admin.path("mask");
  for (std::size_t i = 0; i < admin.settings().size(list); ++i) {
    const auto* place = admin.settings().find(join_path(list, i));
    if (place == nullptr) continue;
    const std::string_view text = place->text;
    if (text.starts_with(kHeaderPlace) && text.size() > kHeaderPlace.size()) {
      made.headers.emplace_back(text.substr(kHeaderPlace.size()));
      continue;
    }
    auto pointer =
        text.starts_with(kJsonPlace)
            ? json::Pointer::parse(text.substr(kJsonPlace.size()))
            : Result<json::Pointer>(
                  failure({ErrorKind::kRejected, "", "it is neither a json: nor a header:", {}}));
    if (pointer) {
      made.places.push_back(*std::move(pointer));
      continue;
    }
    report
        .error("E032", place->place, place->path,
               fmt::format("{}: {}: {}", place->path, in_quotes(text), pointer.error().message))
        .help = "json:/card/number or header:Authorization";
  }
}

void build_shown(const View& admin, core::Disclosure& made, Report& report) {
  using Contents = core::Disclosure::Contents;
  using Errors = core::Disclosure::Errors;
  build_mask(admin, made, report);
  const bool masks = admin.settings().size(admin.path("mask")) > 0;
  const auto* payloads = admin.find("payloads");
  made.contents = masks ? Contents::kMasked : Contents::kFull;
  if (payloads != nullptr) made.contents = static_cast<Contents>(index_of_word(*payloads));
  const bool is_masked = made.contents == Contents::kMasked;
  if (payloads != nullptr && masks != is_masked) {
    auto& error = report.error(
        "E038", payloads->place, payloads->path,
        masks
            ? fmt::format("{} is {}, and mask says what is hidden", payloads->path, payloads->text)
            : fmt::format("{} is masked, but mask does not say what is hidden", payloads->path));
    error.help = masks ? "payloads: masked, or no mask"
                       : "mask: [json:/card/number], or payloads: none, which shows nothing";
  }
  made.errors = made.contents == Contents::kFull ? Errors::kText : Errors::kCause;
  if (const auto* errors = admin.find("errors")) {
    made.errors = static_cast<Errors>(index_of_word(*errors));
  }
}

// True if `value` is the masked place or lies inside it.
bool hides(const json::Pointer& place, const json::Pointer& value) {
  const auto& hidden = place.parts();
  const auto& parts = value.parts();
  return hidden.size() <= parts.size() &&
         std::equal(hidden.begin(), hidden.end(), parts.begin(),
                    [](const std::string& one, const std::string& other) {
                      return one == other || one == "*";
                    });
}

bool is_hidden(const core::KeyPart& part, const core::Disclosure& shows) {
  if (const auto* json = std::get_if<core::KeyPart::JsonPart>(&part.what)) {
    return std::ranges::any_of(
        shows.places, [&](const json::Pointer& place) { return hides(place, json->pointer); });
  }
  std::string_view name;
  if (const auto* header = std::get_if<core::KeyPart::HeaderPart>(&part.what)) name = header->name;
  if (std::holds_alternative<core::KeyPart::IdempotencyKeyPart>(part.what)) name = part.text;
  if (std::holds_alternative<core::KeyPart::WebhookIdPart>(part.what)) name = part.text;
  return !name.empty() && std::ranges::any_of(shows.headers, [&](const std::string& hidden) {
    return ascii::alike(hidden, name);
  });
}

}  // namespace

void check_masked_keys(const Config& config, const ConsumerConfig& consumer, const View& view,
                       Report& report) {
  if (!config.admin || consumer.accept.contains("W046")) return;
  for (const core::KeyPart& part : consumer.key.parts) {
    if (!is_hidden(part, config.admin->shows)) continue;
    auto& made = report.warning("W046", view.place("key"), view.path("key"),
                                fmt::format("{}: {} is hidden by admin.mask, and keys are shown",
                                            view.path("key"), in_quotes(part.text)));
    made.help = "use an id as key that people may see";
  }
}

std::optional<AdminConfig> build_admin(const View& root, const std::string& folder,
                                       Report& report) {
  if (!root.written("admin")) return std::nullopt;
  const View admin = root.in("admin");
  AdminConfig made;
  build_socket(admin, folder, made, report);
  const bool readable = build_listen(admin, made, report);
  build_admin_tls(admin, made, report);
  build_tokens(admin, made, report);
  if (readable && !made.tokens.empty() && !made.listen->is_loopback() && !made.tls) {
    warn_of_clear_text(admin, made, report);
  }
  build_shown(admin, made.shows, report);
  if (readable && made.tokens.empty() && !made.listen->is_loopback()) {
    const auto* listen = admin.find("listen");
    auto& error = report.error("E055", listen->place, listen->path,
                               fmt::format("{}: other machines reach {}, and nobody needs a token",
                                           listen->path, made.listen->text()));
    error.help = "admin.auth.tokens, or listen: 127.0.0.1:8585";
  }
  return made;
}

}  // namespace semel::config
