#include "admin/api_route.h"

#include <algorithm>

#include "base/url_text.h"

namespace semel::admin {

namespace {

using core::Role;

constexpr QueryParameter kConsumerParameter = {"consumer", "string", "Only of this consumer."};
constexpr QueryParameter kReasonParameter = {"reason", "string", "Only with this reason or cause."};
constexpr QueryParameter kReplayedParameter = {
    "replayed", "boolean", "Those that were replayed and are done since, and no others."};
constexpr QueryParameter kWhereParameter = {
    "where", "string", "A filter in the language of the commands: attempts>3 and age>1h."};

constexpr QueryParameter kGroupParameters[] = {kConsumerParameter, kReasonParameter,
                                               kReplayedParameter, kWhereParameter};
constexpr QueryParameter kListParameters[] = {
    kConsumerParameter,
    kReasonParameter,
    kReplayedParameter,
    kWhereParameter,
    {"limit", "integer", "At most so many."},
    {"after", "string", "The member `next` of the page before this one."}};

constexpr ApiRoute kRoutes[] = {
    {"GET",
     "/api/openapi.json",
     "openapi",
     "This document.",
     Role::kRead,
     {},
     "",
     Api::kPatience,
     api::show_openapi},
    {"GET",
     "/api/v1/consumers",
     "listConsumers",
     "The consumers of the run, and how they are.",
     Role::kRead,
     {},
     "consumers",
     Api::kPatience,
     api::list_consumers},
    {"GET",
     "/api/v1/consumers/{name}",
     "showConsumer",
     "A consumer with its guarantee, its outages and what its sources report.",
     Role::kRead,
     {},
     "consumer",
     Api::kPatience,
     api::show_consumer},
    {"GET",
     "/api/v1/consumers/{name}/backlog",
     "showBacklog",
     "How many messages wait for the consumer: one number, for a scaler.",
     Role::kRead,
     {},
     "backlog",
     Api::kPatience,
     api::show_backlog},
    {"GET",
     "/api/v1/consumers/{name}/records/{key}",
     "showRecord",
     "The record of a key.",
     Role::kRead,
     {},
     "records",
     Api::kPatience,
     api::show_record},
    {"GET", "/api/v1/dead-letters", "listDeadLetters", "Dead letters, oldest first, page by page.",
     Role::kRead, kListParameters, "dead_letters", Api::kPatience, api::list_dead_letters},
    {"GET", "/api/v1/dead-letters/groups", "groupDeadLetters",
     "Dead letters by consumer, reason and cause: how many, the oldest, the newest.", Role::kRead,
     kGroupParameters, "dead_letter_groups", Api::kPatience, api::group_dead_letters},
    {"GET",
     "/api/v1/dead-letters/{id}",
     "showDeadLetter",
     "A dead letter; with payload and headers where the caller's role is operator.",
     Role::kRead,
     {},
     "dead_letter",
     Api::kPatience,
     api::show_dead_letter},
    {"GET",
     "/api/v1/doctor",
     "runDoctor",
     "Asks store and brokers whether they keep what the config promises.",
     Role::kOperator,
     {},
     "doctor",
     Api::kDoctorPatience,
     api::run_doctor},
    {"GET",
     "/api/v1/config",
     "showConfig",
     "Every value in effect and where it comes from; secrets are not shown.",
     Role::kAdmin,
     {},
     "config",
     Api::kPatience,
     api::show_config},
};

bool is_place(std::string_view part) noexcept { return part.starts_with('{'); }

}  // namespace

std::string_view ApiCall::value(std::string_view name) const noexcept {
  const auto found = std::ranges::find(query, name, &std::pair<std::string, std::string>::first);
  return found == query.end() ? std::string_view() : found->second;
}

std::span<const ApiRoute> api_routes() noexcept { return kRoutes; }

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
