#include "admin/api.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "admin/departed_consumers.h"
#include "admin/pinned_sources.h"
#include "admin/problem.h"
#include "admin/rate_limit.h"
#include "base/ascii.h"
#include "base/printable.h"

namespace semel::admin {

namespace {

HttpResponse no_caller() {
  HttpResponse made = problem(401, {ErrorKind::kRejected, "R341", "a token is needed",
                                    "send a secret of admin.auth.tokens as Authorization: Bearer"});
  made.headers.emplace_back("WWW-Authenticate", "Bearer");
  return made;
}

HttpResponse role_too_small(const ApiRoute& route, const Caller& caller) {
  std::string who = "without tokens in the config everybody has the role read";
  if (caller.by_socket) {
    who =
        fmt::format("without a token the socket gives the role {}", core::to_string(*caller.role));
  } else if (!caller.name.empty()) {
    who = fmt::format("the token {} has the role {}", caller.name, core::to_string(*caller.role));
  }
  return problem(403, {ErrorKind::kRejected, "R342",
                       fmt::format("{} needs the role {}: {}", route.operation,
                                   core::to_string(route.role), who),
                       "a token of admin.auth.tokens with that role"});
}

// A caller may end the claims of a consumer that is gone, if it could claim from it before.
bool may_claim(const Caller& caller, const std::string& consumer,
               const DepartedConsumers* departed) {
  if (std::ranges::find(caller.claims, consumer) != caller.claims.end()) return true;
  return departed != nullptr && !caller.by_socket && departed->may_end(consumer, caller.name);
}

HttpResponse may_not_claim(const ApiRoute& route, const std::string& consumer) {
  return problem(403, {ErrorKind::kRejected, "R342",
                       fmt::format("{} needs a token that may claim from {}", route.operation,
                                   printable_text(consumer)),
                       "a token of admin.auth.tokens whose claims name the consumer, or "
                       "admin.socket.claims"});
}

// True for the path /api/v1/consumers/NAME/claims and the paths below it.
bool is_about_claims(const std::vector<std::string>& parts) {
  constexpr std::size_t kNoun = 4;
  return parts.size() > kNoun && parts[2] == "consumers" && parts[kNoun] == "claims";
}

HttpResponse too_many_requests() {
  return problem(429, {ErrorKind::kUnavailable, "R347", "too many requests of one caller",
                       "ask less often: clients that poll need a second at least"});
}

HttpResponse not_begun() {
  return problem(503, {ErrorKind::kUnavailable, "R345", "too many requests wait for the store",
                       "ask again later"});
}

HttpResponse runs_already(const ApiRoute& route) {
  return problem(
      503, {ErrorKind::kUnavailable, "R345",
            fmt::format("another {} runs: one at a time", route.operation), "ask again later"});
}

HttpResponse not_in_time(const ApiRoute& route) {
  const bool writes = route.method != "GET";
  return problem(504, {ErrorKind::kUnavailable, "R345", "the store did not answer in time",
                       route.claims ? "it may still be done: ask the same again"
                       : writes     ? "it may still be done: GET /api/v1/audit says how it ended"
                                    : "look at /readyz: is the store away?"});
}

HttpResponse foreign_page(std::string message) {
  return problem(403, {ErrorKind::kRejected, "R346", std::move(message),
                       "ask from a program, or from a page of this host"});
}

// An image or a script of another site can send a request with the credentials that the browser has
// for this host. That site cannot read the answer, but the request would be executed.
bool from_another_site(const HttpRequest& request) {
  return request.header("Sec-Fetch-Site").value_or("none") == "cross-site";
}

// With the credentials that the browser has for this host, a page of another site can send a form.
// It can send JSON only after a preflight request, which this server never allows, and it cannot
// forge the Origin header.
std::optional<HttpResponse> refusal_of_write(const HttpRequest& request) {
  std::string_view type = request.header("Content-Type").value_or("");
  type = type.substr(0, type.find(';'));
  if (!ascii::alike(type, "application/json")) {
    return problem(415,
                   {ErrorKind::kRejected, "R344", "a write must have the type application/json",
                    "Content-Type: application/json, also without a body"});
  }
  if (const auto origin = request.header("Origin")) {
    const auto scheme = origin->find("://");
    const std::string_view host =
        scheme == std::string_view::npos ? std::string_view() : origin->substr(scheme + 3);
    if (!ascii::alike(host, request.header("Host").value_or(""))) {
      return foreign_page("the Origin header names another host");
    }
  }
  const std::string_view site = request.header("Sec-Fetch-Site").value_or("none");
  if (site != "none" && site != "same-origin") return foreign_page("a page of another site asks");
  return std::nullopt;
}

HttpResponse other_method(std::string_view allowed) {
  HttpResponse made =
      problem(405, {ErrorKind::kRejected, "R344", fmt::format("only {}", allowed), {}});
  made.headers.emplace_back("Allow", allowed);
  return made;
}

class RoutedApi final : public Api {
 public:
  explicit RoutedApi(ApiSources sources) : sources_(std::move(sources)) {}

  HttpReply answer(const HttpRequest& request, const std::optional<Caller>& caller) override;
  std::optional<HttpResponse> refusal_of_rate(const Caller& caller) override {
    return refusal_by(rate_, caller);
  }

 private:
  static std::optional<HttpResponse> refusal_by(RateLimit& rate, const Caller& caller) {
    if (rate.allows(caller.name, std::chrono::steady_clock::now())) return std::nullopt;
    return too_many_requests();
  }
  HttpReply run(const ApiRoute& route, ApiCall call);
  HttpResponse run_alone(const ApiRoute& route, const ApiCall& call, const ApiSources& sources);

  const ApiSources sources_;
  RateLimit rate_{kRequestsPerSecond, kBurst};
  RateLimit claim_rate_{kClaimCallsPerSecond, kClaimBurst};
  std::atomic<bool> one_runs_{false};  // a route that runs alone
};

// Without a token a caller cannot learn which paths exist.
HttpReply RoutedApi::answer(const HttpRequest& request, const std::optional<Caller>& caller) {
  if (!caller) return no_caller();
  if (from_another_site(request)) return foreign_page("a page of another site asks");
  const auto parts = path_parts(request.path);
  RateLimit& rate = parts && is_about_claims(*parts) ? claim_rate_ : rate_;
  if (auto refused = refusal_by(rate, *caller)) return *std::move(refused);
  if (!parts) return bad_request("the path has an escape that is none", "write % as %25");
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  // The first route that matches sets it; other routes of this path differ by method only.
  std::string_view path;
  std::string allowed;
  for (const ApiRoute& route : api_routes()) {
    auto places = places_in(route, *parts);
    if (!places || (!path.empty() && route.path != path)) continue;
    path = route.path;
    if (route.method != method) {
      if (!allowed.empty()) allowed += ", ";
      allowed += route.method == "GET" ? "GET, HEAD" : std::string(route.method);
      continue;
    }
    if (route.claims && !may_claim(*caller, places->front(), sources_.departed)) {
      return may_not_claim(route, places->front());
    }
    if (!route.claims && !caller->role) return no_caller();
    if (!route.claims && caller->role < route.role) return role_too_small(route, *caller);
    if (method != "GET") {
      if (auto refused = refusal_of_write(request)) return *std::move(refused);
    }
    auto query = query_for(route.query, request);
    if (!query) return std::move(query.error());
    return run(route, {*caller, *std::move(places), *std::move(query), std::string(request.body),
                       route.body});
  }
  if (!allowed.empty()) return other_method(allowed);
  return not_found("the API has no such path", "GET /api/openapi.json");
}

HttpReply RoutedApi::run(const ApiRoute& route, ApiCall call) {
  auto sources = pinned(sources_);
  if (route.runs == Runs::kAtOnce) return route.run(call, sources->sources);
  HttpTask task;
  task.run = [this, &route, call = std::move(call), sources = std::move(sources)] {
    return route.runs == Runs::kAlone ? run_alone(route, call, sources->sources)
                                      : route.run(call, sources->sources);
  };
  task.patience = route.patience;
  task.refused = not_begun();
  task.late = not_in_time(route);
  return task;
}

HttpResponse RoutedApi::run_alone(const ApiRoute& route, const ApiCall& call,
                                  const ApiSources& sources) {
  if (one_runs_.exchange(true)) return runs_already(route);
  struct Release {
    std::atomic<bool>& runs;
    ~Release() { runs = false; }
  } const release{one_runs_};
  return route.run(call, sources);
}

}  // namespace

std::unique_ptr<Api> Api::create(ApiSources sources) {
  return std::make_unique<RoutedApi>(std::move(sources));
}

}  // namespace semel::admin
