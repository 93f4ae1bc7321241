// The routes of the API: one table for answering, for roles and for its description.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/api.h"
#include "admin/http_message.h"
#include "core/role.h"

namespace semel::admin {

struct QueryParameter {
  std::string_view name;
  std::string_view type;  // of JSON Schema: "string", "integer", "boolean"
  std::string_view meaning;
};

// A request whose route was found and whose caller may use it.
struct ApiCall {
  Caller caller;
  std::vector<std::string> path;  // the values of the placeholders in the route's path
  std::vector<std::pair<std::string, std::string>> query;  // names that the route has, each once
  std::string body;
  std::span<const QueryParameter> members = {};  // allowed in the body

  // Empty where it was not given.
  std::string_view value(std::string_view name) const noexcept;
  bool has(core::Role role) const noexcept { return caller.role >= role; }
};

// How a route's function is run.
enum class Runs {
  kTask,    // it asks the store: a task, which may wait
  kAtOnce,  // it needs no store: on the listener's thread
  kAlone    // a task, of which only one runs at a time
};

struct ApiRoute {
  std::string_view method;
  std::string_view path;       // "/api/v1/consumers/{name}"
  std::string_view operation;  // a name for programs: "showConsumer"
  std::string_view meaning;
  core::Role role;
  std::span<const QueryParameter> query;
  std::span<const QueryParameter> body;  // members of the JSON object of a write
  std::string_view schema;               // of a good answer: "consumers"; empty: another document
  std::chrono::milliseconds patience;
  HttpResponse (*run)(const ApiCall& call, const ApiSources& sources);
  Runs runs = Runs::kTask;
  std::string_view too_much = {};  // when it answers 422; empty: never
  std::string_view begun = {};     // of a 202: the answer for work that has begun; empty: never
  bool claims = false;             // for callers that may claim from the consumer in its path
};

std::span<const ApiRoute> api_routes() noexcept;

// The document served at /api/openapi.json.
std::string openapi_json();

// The names and values of the request's query; or 400 where one is unknown, or occurs twice.
tl::expected<std::vector<std::pair<std::string, std::string>>, HttpResponse> query_for(
    std::span<const QueryParameter> known, const HttpRequest& request);

// The parts of a path between its slashes, unescaped; nullopt where an escape is wrong.
std::optional<std::vector<std::string>> path_parts(std::string_view path);
// The values of the placeholders in the route's path; nullopt where the path is another.
std::optional<std::vector<std::string>> places_in(const ApiRoute& route,
                                                  const std::vector<std::string>& parts);

// A good answer.
HttpResponse json_answer(std::string document);

namespace api {
// One function for each route.
HttpResponse list_consumers(const ApiCall& call, const ApiSources& sources);
HttpResponse show_consumer(const ApiCall& call, const ApiSources& sources);
HttpResponse show_backlog(const ApiCall& call, const ApiSources& sources);
HttpResponse show_record(const ApiCall& call, const ApiSources& sources);
HttpResponse list_dead_letters(const ApiCall& call, const ApiSources& sources);
HttpResponse group_dead_letters(const ApiCall& call, const ApiSources& sources);
HttpResponse show_dead_letter(const ApiCall& call, const ApiSources& sources);
HttpResponse show_status(const ApiCall& call, const ApiSources& sources);
HttpResponse run_doctor(const ApiCall& call, const ApiSources& sources);
HttpResponse show_config(const ApiCall& call, const ApiSources& sources);
HttpResponse show_openapi(const ApiCall& call, const ApiSources& sources);
HttpResponse pause_consumer(const ApiCall& call, const ApiSources& sources);
HttpResponse resume_consumer(const ApiCall& call, const ApiSources& sources);
HttpResponse unlock_record(const ApiCall& call, const ApiSources& sources);
HttpResponse forget_record(const ApiCall& call, const ApiSources& sources);
HttpResponse replay_dead_letter(const ApiCall& call, const ApiSources& sources);
HttpResponse edit_dead_letter(const ApiCall& call, const ApiSources& sources);
HttpResponse discard_dead_letter(const ApiCall& call, const ApiSources& sources);
HttpResponse replay_dead_letters(const ApiCall& call, const ApiSources& sources);
HttpResponse discard_dead_letters(const ApiCall& call, const ApiSources& sources);
HttpResponse list_jobs(const ApiCall& call, const ApiSources& sources);
HttpResponse show_job(const ApiCall& call, const ApiSources& sources);
HttpResponse pause_job(const ApiCall& call, const ApiSources& sources);
HttpResponse resume_job(const ApiCall& call, const ApiSources& sources);
HttpResponse cancel_job(const ApiCall& call, const ApiSources& sources);
HttpResponse drain_consumer(const ApiCall& call, const ApiSources& sources);
HttpResponse reload(const ApiCall& call, const ApiSources& sources);
HttpResponse show_reload(const ApiCall& call, const ApiSources& sources);
HttpResponse list_audit(const ApiCall& call, const ApiSources& sources);
HttpResponse claim_keys(const ApiCall& call, const ApiSources& sources);
HttpResponse renew_claims(const ApiCall& call, const ApiSources& sources);
HttpResponse finish_claims(const ApiCall& call, const ApiSources& sources);
}  // namespace api

}  // namespace semel::admin
