#include "admin/admin_routes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "admin/page_parts.h"
#include "admin/pages.h"
#include "admin/pinned_sources.h"
#include "admin/problem.h"
#include "base/ascii.h"
#include "base/same_bytes.h"
#include "base/text_encoding.h"
#include "system/mutex.h"

namespace semel::admin {

namespace {

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kHtml = "text/html; charset=utf-8";
constexpr const char* kCss = "text/css; charset=utf-8";
constexpr const char* kJavaScript = "text/javascript; charset=utf-8";
constexpr const char* kPaths =
    "not found; there are /, /record, /dead-letters, /stuck, /live, /doctor, /audit, /metrics, "
    "/livez, /readyz, /startupz and "
    "/api/openapi.json\n";
constexpr const char* kOtherHost =
    "the Host header must be localhost or an address of this machine";
constexpr const char* kBearer = "Bearer";
constexpr const char* kBasic = "Basic realm=\"Semel\"";

// A page of another site may reach this server under a host name of its own (DNS rebinding). This
// server cannot have such an address.
bool names_this_machine(std::string_view host) {
  if (host.starts_with('[')) return host.find(']') != std::string_view::npos;
  host = host.substr(0, host.find(':'));
  return ascii::alike(host, "localhost") ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

HttpResponse text_response(int status, std::string body) {
  return {status, kText, std::move(body), {}};
}

// The scheme's name may be written in any case (RFC 9110, 11.1).
std::optional<std::string_view> after_scheme(std::string_view header, std::string_view scheme) {
  if (!ascii::begins_alike(header, scheme)) return std::nullopt;
  return header.substr(scheme.size());
}

// A program sends the token as a bearer token, a browser as the password of any user (RFC 7617).
std::optional<std::string> token_of(std::string_view header) {
  if (const auto token = after_scheme(header, "Bearer ")) return std::string(*token);
  const auto encoded = after_scheme(header, "Basic ");
  const auto credentials = encoded ? text::from_base64(*encoded) : std::nullopt;
  if (!credentials || credentials->find(':') == std::string::npos) return std::nullopt;
  return credentials->substr(credentials->find(':') + 1);
}

HttpResponse unauthorized(const char* scheme) {
  HttpResponse refused = text_response(401, "a token of admin.auth.tokens is needed\n");
  refused.headers.emplace_back("WWW-Authenticate", scheme);
  return refused;
}

constexpr const char* kPolicies[] = {
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"};

// The page loads nothing from elsewhere, sends forms only to this server and cannot be framed.
HttpResponse as_page(HttpResponse page, bool has_form = false) {
  page.headers.emplace_back("Content-Security-Policy", kPolicies[has_form ? 1 : 0]);
  page.headers.emplace_back("Referrer-Policy", "no-referrer");
  return page;
}

HttpReply as_page(HttpReply reply, bool has_form) {
  if (auto* response = std::get_if<HttpResponse>(&reply)) {
    return as_page(std::move(*response), has_form);
  }
  auto& task = std::get<HttpTask>(reply);
  task.refused = as_page(std::move(task.refused), has_form);
  task.late = as_page(std::move(task.late), has_form);
  task.run = [run = std::move(task.run), has_form] { return as_page(run(), has_form); };
  return reply;
}

using Tokens = AdminRoutes::Tokens;

// The listener that a request came through.
struct Entrance {
  const Tokens& tokens;
  const AdminOptions::Socket* socket = nullptr;  // null: TCP
};

// The name of a user of the socket, for the audit log and the rate limits.
std::string name_of_user(const HttpRequest& request) {
  return request.user ? fmt::format("uid {}", *request.user) : std::string();
}

// The role of a caller that shows no token depends on the listener it came through.
std::optional<Caller> caller_without_token(const HttpRequest& request, const Entrance& entrance) {
  const AdminOptions::Socket* const socket = entrance.socket;
  const bool is_trusted = socket != nullptr && socket->trusts();
  if (!is_trusted && !entrance.tokens.empty()) return std::nullopt;
  if (socket == nullptr) return Caller{};
  auto role = socket->role;
  if (!role && entrance.tokens.empty()) role = core::Role::kRead;
  return Caller{name_of_user(request), role, socket->claims, true};
}

std::optional<Caller> caller_of(const HttpRequest& request, const Entrance& entrance) {
  const Tokens& tokens = entrance.tokens;
  const auto shown = request.header("Authorization");
  const bool needs_no_token =
      tokens.empty() && (entrance.socket == nullptr || !entrance.socket->trusts());
  // A wrong token is refused even where a caller without a token would have a role.
  if (!shown || needs_no_token) return caller_without_token(request, entrance);
  const auto secret = token_of(*shown);
  if (!secret) return std::nullopt;
  const auto found = std::ranges::find_if(tokens, [&](const AdminOptions::Token& token) {
    return !token.secret.empty() && same_bytes(*secret, token.secret);
  });
  if (found == tokens.end()) return std::nullopt;
  return Caller{found->name, found->role, found->claims};
}

bool may_read(const std::optional<Caller>& caller) { return caller && caller->role; }

// Where a token is needed, a page of another site has none. A browser reaches a socket only through
// a proxy, and the Host header then names the proxy's address.
bool names_another_host(const HttpRequest& request, const Entrance& entrance) {
  const bool by_socket = entrance.socket != nullptr && entrance.socket->trusts();
  const bool needs_none =
      entrance.tokens.empty() || (by_socket && !request.header("Authorization"));
  return needs_none && !names_this_machine(request.header("Host").value_or("localhost"));
}

class RoutedAdmin final : public AdminRoutes {
 public:
  RoutedAdmin(Tokens tokens, AdminSources sources)
      : tokens_(std::make_shared<const Tokens>(std::move(tokens))),
        sources_(std::move(sources)),
        api_(Api::create(sources_.api)) {}

  void set_tokens(Tokens tokens) override SEMEL_EXCLUDES(tokens_mutex_) {
    auto next = std::make_shared<const Tokens>(std::move(tokens));
    const system::MutexLock lock(tokens_mutex_);
    tokens_ = std::move(next);
  }
  // A request is judged by one set of tokens, even if a reload replaces the set meanwhile.
  HttpReply answer(const HttpRequest& request, const AdminOptions::Socket* socket) override
      SEMEL_EXCLUDES(answer_mutex_) {
    const auto tokens = this->tokens();
    const Entrance entrance{*tokens, socket};
    const system::MutexLock lock(answer_mutex_);
    if (Api::owns(request.path)) return to_api(request, entrance);
    if (auto page = to_page(request, entrance)) return *std::move(page);
    return guarded(route(request, entrance));
  }

 private:
  std::shared_ptr<const Tokens> tokens() const SEMEL_EXCLUDES(tokens_mutex_) {
    const system::MutexLock lock(tokens_mutex_);
    return tokens_;
  }
  // Browsers must not cache the response or guess another content type.
  static HttpResponse guarded(HttpResponse response) {
    response.headers.emplace_back("Cache-Control", "no-store");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    return response;
  }
  static HttpReply guarded(HttpReply reply);
  HttpReply to_api(const HttpRequest& request, const Entrance& entrance)
      SEMEL_REQUIRES(answer_mutex_);
  std::optional<HttpReply> to_page(const HttpRequest& request, const Entrance& entrance)
      SEMEL_REQUIRES(answer_mutex_);
  HttpResponse route(const HttpRequest& request, const Entrance& entrance) const;
  HttpResponse metrics(const HttpRequest& request) const;
  HttpResponse health(const HttpRequest& request, bool is_authorized) const;

  mutable system::Mutex tokens_mutex_;
  std::shared_ptr<const Tokens> tokens_ SEMEL_GUARDED_BY(tokens_mutex_);
  const AdminSources sources_;
  system::Mutex answer_mutex_;
  const std::unique_ptr<Api> api_;
};

HttpReply RoutedAdmin::to_api(const HttpRequest& request, const Entrance& entrance) {
  if (names_another_host(request, entrance)) {
    return guarded(problem(403, {ErrorKind::kRejected, "R346", kOtherHost, {}}));
  }
  return guarded(api_->answer(request, caller_of(request, entrance)));
}

HttpReply RoutedAdmin::guarded(HttpReply reply) {
  if (auto* response = std::get_if<HttpResponse>(&reply)) return guarded(std::move(*response));
  auto& task = std::get<HttpTask>(reply);
  task.refused = guarded(std::move(task.refused));
  task.late = guarded(std::move(task.late));
  task.run = [run = std::move(task.run)] { return guarded(run()); };
  return reply;
}

// Pages that ask the store. nullopt: another path, or a request that route() refuses.
std::optional<HttpReply> RoutedAdmin::to_page(const HttpRequest& request,
                                              const Entrance& entrance) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  if (names_another_host(request, entrance)) return std::nullopt;
  const Page* const found = find_page(request.path);
  if (found == nullptr) return std::nullopt;
  const auto caller = caller_of(request, entrance);
  if (!may_read(caller)) return guarded(unauthorized(kBasic));
  // A link from another site may be followed, but an image or script of one is refused.
  const std::string_view site = request.header("Sec-Fetch-Site").value_or("none");
  const bool is_ours = site == "none" || site == "same-origin";
  const bool follows = request.header("Sec-Fetch-Dest").value_or("") == "document";
  if (found->acts ? request.method != "GET" || !is_ours : site == "cross-site" && !follows) {
    return guarded(text_response(403, "a page of another site asks\n"));
  }
  if (auto refused = api_->refusal_of_rate(*caller)) {
    return guarded(as_page(page::readable(*std::move(refused))));
  }
  const auto sources = pinned(sources_.api);
  auto reply = page_reply(*found, request, *caller, sources->sources);
  return holding(guarded(as_page(std::move(reply), found->has_form)), sources);
}

HttpResponse RoutedAdmin::route(const HttpRequest& request, const Entrance& entrance) const {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = text_response(405, "only GET and HEAD\n");
    refused.headers.emplace_back("Allow", "GET, HEAD");
    return refused;
  }
  if (names_another_host(request, entrance)) {
    return text_response(403, std::string(kOtherHost) + "\n");
  }
  const bool is_authorized = may_read(caller_of(request, entrance));
  if (request.path == "/") {
    if (!is_authorized) return unauthorized(kBasic);
    return as_page({200, kHtml, overview_page(sources_.api.overview()), {}});
  }
  if (request.path == "/style.css") return {200, kCss, std::string(page_style()), {}};
  if (request.path == "/page.js") return {200, kJavaScript, std::string(page_script()), {}};
  if (request.path == "/act.js") return {200, kJavaScript, std::string(page::act_script()), {}};
  if (request.path == "/keys.js") return {200, kJavaScript, std::string(page::keys_script()), {}};
  if (request.path == "/metrics") {
    return is_authorized ? metrics(request) : unauthorized(kBearer);
  }
  if (request.path == "/livez") return text_response(200, "alive\n");
  if (request.path == "/readyz" || request.path == "/startupz") {
    return health(request, is_authorized);
  }
  return text_response(404, kPaths);
}

HttpResponse RoutedAdmin::metrics(const HttpRequest& request) const {
  const std::string_view accept = request.header("Accept").value_or("");
  const auto format = accept.find("application/openmetrics-text") != std::string_view::npos
                          ? MetricsFormat::kOpenMetrics
                          : MetricsFormat::kPrometheus;
  return {200, std::string(content_type(format)), sources_.metrics(format), {}};
}

HttpResponse RoutedAdmin::health(const HttpRequest& request, bool is_authorized) const {
  const Readiness now = sources_.api.readiness();
  const bool well =
      request.path == "/startupz" ? now.phase != Readiness::Phase::kStarting : now.ready();
  const int status = well ? 200 : 503;
  if (!is_authorized) return text_response(status, std::string(now.word()) + "\n");
  return {status, kJson, now.json(), {}};
}

}  // namespace

std::unique_ptr<AdminRoutes> AdminRoutes::create(Tokens tokens, AdminSources sources) {
  return std::make_unique<RoutedAdmin>(std::move(tokens), std::move(sources));
}

}  // namespace semel::admin
