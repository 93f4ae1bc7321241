#include "admin/api_route.h"

#include <algorithm>

#include <fmt/format.h>

#include "admin/problem.h"
#include "base/printable.h"
#include "base/url_text.h"

namespace semel::admin {

namespace {

using core::Role;

constexpr QueryParameter kConsumerParameter = {"consumer", "string", "Only this consumer's."};
constexpr QueryParameter kReasonParameter = {"reason", "string", "Only with this reason or cause."};
constexpr QueryParameter kReplayedParameter = {
    "replayed", "boolean", "Those that were replayed and are done since, and no others."};
constexpr QueryParameter kWhereParameter = {
    "where", "string", "A filter in the language of the commands: attempts>3 and age>1h."};

constexpr QueryParameter kGroupParameters[] = {kConsumerParameter, kReasonParameter,
                                               kReplayedParameter, kWhereParameter};
// Parameters of bulk work. A request without a filter must set `all`: a typo cannot widen it.
constexpr QueryParameter kBulkParameters[] = {
    kConsumerParameter,
    kReasonParameter,
    kReplayedParameter,
    kWhereParameter,
    {"all", "boolean", "All consumers of the run: required if there is no other filter."},
    {"limit", "integer", "At most so many, oldest first."}};
constexpr QueryParameter kListParameters[] = {
    kConsumerParameter,
    kReasonParameter,
    kReplayedParameter,
    kWhereParameter,
    {"limit", "integer", "At most this many."},
    {"after", "string", "The member `next` of the previous page."}};

constexpr QueryParameter kReasonMember = {"reason", "string",
                                          "Why, for the audit log and for those who look later."};
constexpr QueryParameter kActMembers[] = {kReasonMember};
constexpr QueryParameter kStateMember = {
    "state", "string",
    "The record's state as the caller saw it: if it differs now, nothing is done."};
constexpr QueryParameter kTokenMember = {
    "token", "integer",
    "The record's token as the caller saw it: if it differs now, nothing is done."};
constexpr QueryParameter kForgetMembers[] = {kReasonMember, kStateMember, kTokenMember};
constexpr QueryParameter kUnlockMembers[] = {
    kReasonMember,
    kStateMember,
    kTokenMember,
    {"as", "string",
     "What became of an effect that the record cannot know of: done, retry or dead. Needs the "
     "role admin."}};
constexpr QueryParameter kReloadMembers[] = {kReasonMember,
                                             {"dry_run", "boolean", "Only say what would change."}};
constexpr QueryParameter kBulkMembers[] = {
    kReasonMember,
    {"rate", "string", "The highest rate: 50/s, 3/m or 100/h."},
    {"dry_run", "boolean", "Only say what would be done."},
    {"up_to", "integer",
     "No letter with an id above this one: the `up_to` of a plan, so that letters that died since "
     "are left alone."}};
constexpr QueryParameter kEditMembers[] = {
    kReasonMember,
    {"payload", "string", "The whole new payload; without it and `payload_base64` it stays."},
    {"payload_base64", "string", "The same, in base64."},
    {"set_headers", "array",
     "Objects with `name`, and `value` or `value_base64`: each in place of all headers of its "
     "name."},
    {"remove_headers", "array", "Names of headers."},
    {"revision", "string",
     "The letter's `revision` as it was seen: where it is another, nothing is done."},
    {"replay", "boolean", "Try the edited letter again."},
    {"dry_run", "boolean", "Only say whether it can be done."}};
constexpr QueryParameter kAuditParameters[] = {
    {"limit", "integer", "At most this many."},
    {"before", "string", "The member `next` of the previous page."}};

constexpr QueryParameter kLeaseMember = {
    "lease", "string",
    "How long the claims last without renewal, such as 45s. Default: dedup.lease."};
constexpr QueryParameter kClaimMembers[] = {
    {"request", "string",
     "The client's own name for this request. Asked again with it, where the answer was lost, the "
     "same claims are given."},
    kLeaseMember,
    {"claims", "array",
     "Objects with `key`, and with `payload`, `payload_base64` or `fingerprint` where payloads are "
     "compared."}};
constexpr QueryParameter kRenewMembers[] = {
    kLeaseMember, {"claims", "array", "Objects with `key` and the `nonce` of its claim."}};
constexpr QueryParameter kFinishMembers[] = {
    {"claims", "array",
     "Objects with `key`, the `nonce` of its claim, and `as`: `done` (with `result` or "
     "`result_base64`), `retry` (with `after`: 30s, and `error`), `dead` (with `error`) or "
     "`release`."}};

constexpr std::span<const QueryParameter> kNoneOf;

constexpr ApiRoute reading(std::string_view path, std::string_view operation,
                           std::string_view meaning, std::string_view schema,
                           HttpResponse (*run)(const ApiCall&, const ApiSources&),
                           std::span<const QueryParameter> query = {}, Role role = Role::kRead,
                           std::chrono::milliseconds patience = Api::kPatience) {
  return {"GET", path, operation, meaning, role, query, kNoneOf, schema, patience, run};
}

constexpr ApiRoute writing(std::string_view path, std::string_view operation,
                           std::string_view meaning, std::string_view schema,
                           HttpResponse (*run)(const ApiCall&, const ApiSources&), Role role,
                           std::span<const QueryParameter> body = kActMembers) {
  return {"POST", path, operation, meaning, role, kNoneOf, body, schema, Api::kPatience, run};
}

constexpr ApiRoute claiming(std::string_view path, std::string_view operation,
                            std::string_view meaning, std::string_view schema,
                            HttpResponse (*run)(const ApiCall&, const ApiSources&),
                            std::span<const QueryParameter> body) {
  ApiRoute route = writing(path, operation, meaning, schema, run, Role::kRead, body);
  route.claims = true;
  return route;
}

constexpr ApiRoute at_once(ApiRoute route) {
  route.runs = Runs::kAtOnce;
  return route;
}

constexpr ApiRoute alone(ApiRoute route) {
  route.runs = Runs::kAlone;
  return route;
}

constexpr ApiRoute beginning(ApiRoute route) {
  route.query = kBulkParameters;
  route.begun = "job";
  return route;
}

constexpr ApiRoute limited(ApiRoute route, std::string_view too_much) {
  route.too_much = too_much;
  return route;
}

// A change of the run also asks the brokers.
constexpr ApiRoute changing_run(ApiRoute route) {
  route.begun = route.schema;
  route.too_much =
      "The config is wrong, and nothing was changed: `errors` has each with its place.";
  route.patience = Api::kDoctorPatience;
  return route;
}

constexpr ApiRoute kRoutes[] = {
    at_once(reading("/api/openapi.json", "openapi", "This document.", "", api::show_openapi)),
    reading("/api/v1/status", "showStatus",
            "The consumers of the store and what it holds for each, in all processes.", "status",
            api::show_status),
    at_once(reading("/api/v1/consumers", "listConsumers",
                    "The consumers of the run, and how they are.", "consumers",
                    api::list_consumers)),
    at_once(reading("/api/v1/consumers/{name}", "showConsumer",
                    "A consumer with its guarantee, its outages and what its sources report.",
                    "consumer", api::show_consumer)),
    at_once(reading("/api/v1/consumers/{name}/backlog", "showBacklog",
                    "How many messages wait for the consumer: one number, for a scaler.", "backlog",
                    api::show_backlog)),
    writing("/api/v1/consumers/{name}/pause", "pauseConsumer",
            "Begin no message until it is resumed, in every process and after a restart too.",
            "consumer_gate", api::pause_consumer, Role::kOperator),
    writing("/api/v1/consumers/{name}/resume", "resumeConsumer",
            "Go on: after a pause or a drain, or without waiting for the end of a break.",
            "consumer_gate", api::resume_consumer, Role::kOperator),
    writing("/api/v1/consumers/{name}/drain", "drainConsumer",
            "Finish what this process has of it and receive nothing more, until it is resumed or "
            "the process ends.",
            "consumer_drain", api::drain_consumer, Role::kOperator),
    reading("/api/v1/consumers/{name}/records/{key}", "showRecord", "The record of a key.",
            "records", api::show_record),
    writing("/api/v1/consumers/{name}/records/{key}/unlock", "unlockRecord",
            "Let a parked or dead record be tried again, now.", "unlock", api::unlock_record,
            Role::kOperator, kUnlockMembers),
    writing("/api/v1/consumers/{name}/records/{key}/forget", "forgetRecord",
            "Remove a record: the next delivery of its key is handled as new.", "forget",
            api::forget_record, Role::kAdmin, kForgetMembers),
    claiming("/api/v1/consumers/{name}/claims", "claimKeys",
             "Claim keys for work that the client does, each with a lease.", "claims",
             api::claim_keys, kClaimMembers),
    claiming("/api/v1/consumers/{name}/claims/renew", "renewClaims",
             "Renew leases: they end that long from now.", "claims_renewed", api::renew_claims,
             kRenewMembers),
    claiming("/api/v1/consumers/{name}/claims/finish", "finishClaims",
             "End claims: done, to be tried again, given up, or not begun.", "claims_finished",
             api::finish_claims, kFinishMembers),
    reading("/api/v1/dead-letters", "listDeadLetters", "Dead letters, oldest first, page by page.",
            "dead_letters", api::list_dead_letters, kListParameters),
    limited(reading("/api/v1/dead-letters/groups", "groupDeadLetters",
                    "Dead letters by consumer, reason and cause: how many, the oldest, the newest.",
                    "dead_letter_groups", api::group_dead_letters, kGroupParameters),
            "There are too many to group in time: ask for those of one consumer."),
    reading("/api/v1/dead-letters/{id}", "showDeadLetter",
            "A dead letter; with payload and headers where the caller's role is operator.",
            "dead_letter", api::show_dead_letter),
    beginning(writing("/api/v1/dead-letters:replay", "replayDeadLetters",
                      "Begin to try matching letters again; with dry_run only count them.",
                      "dead_letter_plan", api::replay_dead_letters, Role::kOperator, kBulkMembers)),
    beginning(writing("/api/v1/dead-letters:discard", "discardDeadLetters",
                      "Begin to remove matching letters; with dry_run only count them.",
                      "dead_letter_plan", api::discard_dead_letters, Role::kAdmin, kBulkMembers)),
    writing("/api/v1/dead-letters/{id}/replay", "replayDeadLetter",
            "Try a dead letter again; where its key is completed meanwhile it is skipped.",
            "replay", api::replay_dead_letter, Role::kOperator),
    limited(writing("/api/v1/dead-letters/{id}/edit", "editDeadLetter",
                    "Give a dead letter another payload, or other headers; its key stays.",
                    "dlq_edit", api::edit_dead_letter, Role::kAdmin, kEditMembers),
            "The edited message would have another key, or be a dead letter at once."),
    writing("/api/v1/dead-letters/{id}/discard", "discardDeadLetter",
            "Remove a dead letter; its record stays closed.", "discard", api::discard_dead_letter,
            Role::kAdmin),
    at_once(reading("/api/v1/jobs", "listJobs",
                    "Work on many dead letters that was begun in this run, the newest first.",
                    "jobs", api::list_jobs)),
    at_once(
        reading("/api/v1/jobs/{id}", "showJob", "A job and its progress.", "job", api::show_job)),
    writing("/api/v1/jobs/{id}/pause", "pauseJob", "Do nothing more of it until it is resumed.",
            "job", api::pause_job, Role::kOperator),
    writing("/api/v1/jobs/{id}/resume", "resumeJob",
            "Resume after a pause, or end a wait. A job that discards needs the role admin.", "job",
            api::resume_job, Role::kOperator),
    writing("/api/v1/jobs/{id}/cancel", "cancelJob", "End it: what it has done stays done.", "job",
            api::cancel_job, Role::kOperator),
    alone(reading("/api/v1/doctor", "runDoctor",
                  "Asks store and brokers whether they keep what the config promises.", "doctor",
                  api::run_doctor, {}, Role::kOperator, Api::kDoctorPatience)),
    at_once(reading("/api/v1/config", "showConfig",
                    "Every value in effect and where it comes from; secrets are not shown.",
                    "config", api::show_config, {}, Role::kAdmin)),
    at_once(reading("/api/v1/reload", "showReload",
                    "How the last reload ended, and which consumers it waits for still.",
                    "reload_state", api::show_reload)),
    changing_run(writing("/api/v1/reload", "reload",
                         "Take up the config as its file has it now: what changed is drained and "
                         "begun anew, the rest goes on.",
                         "reload", api::reload, Role::kAdmin, kReloadMembers)),
    reading("/api/v1/audit", "listAudit", "What people did through the API, the newest first.",
            "audit", api::list_audit, kAuditParameters, Role::kAdmin),
};

bool is_place(std::string_view part) noexcept { return part.starts_with('{'); }

}  // namespace

std::string_view ApiCall::value(std::string_view name) const noexcept {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? std::string_view() : found->second;
}

std::span<const ApiRoute> api_routes() noexcept { return kRoutes; }

tl::expected<std::vector<std::pair<std::string, std::string>>, HttpResponse> query_for(
    std::span<const QueryParameter> known, const HttpRequest& request) {
  auto query = request.query();
  if (!query) {
    return tl::unexpected(bad_request("the query has an escape that is none", "write % as %25"));
  }
  for (auto at = query->begin(); at != query->end(); ++at) {
    const auto& name = at->first;
    const std::string shown = printable_text(name);
    if (std::ranges::find(known, name, &QueryParameter::name) == known.end()) {
      std::vector<std::string_view> names;
      for (const QueryParameter& one : known) names.push_back(one.name);
      return tl::unexpected(bad_request(fmt::format("there is no parameter \"{}\" here", shown),
                                        names.empty()
                                            ? "this resource takes none"
                                            : fmt::format("it takes {}", fmt::join(names, ", "))));
    }
    if (std::any_of(query->begin(), at, [&](const auto& one) { return one.first == name; })) {
      return tl::unexpected(bad_request(fmt::format("\"{}\" stands there twice", shown), "once"));
    }
  }
  return *std::move(query);
}

std::optional<std::vector<std::string>> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  path.remove_prefix(std::min<std::size_t>(path.size(), 1));
  for (bool more = true; more;) {
    more = path.find('/') != std::string_view::npos;
    auto part = url_text::unescaped(url_text::cut_before(path, '/'));
    if (!part) return std::nullopt;
    parts.push_back(*std::move(part));
  }
  return parts;
}

std::optional<std::vector<std::string>> places_in(const ApiRoute& route,
                                                  const std::vector<std::string>& parts) {
  std::vector<std::string> places;
  std::string_view left = route.path.substr(1);
  for (const std::string& part : parts) {
    if (left.empty()) return std::nullopt;
    const std::string_view wanted = url_text::cut_before(left, '/');
    if (is_place(wanted) && !part.empty()) {
      places.push_back(part);
    } else if (wanted != part) {
      return std::nullopt;
    }
  }
  if (!left.empty()) return std::nullopt;
  return places;
}

HttpResponse json_answer(std::string document) {
  return {200, "application/json", std::move(document) + "\n", {}};
}

}  // namespace semel::admin
