#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "admin/letter_filters.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kValueShown = 80;
constexpr std::chrono::milliseconds kWalkOfRequest = Api::kPatience / 2;

bool is_flag(std::string_view value) {
  return value.empty() || value == "true" || value == "false";
}

}  // namespace

tl::unexpected<HttpResponse> wrong_value(std::string_view name, std::string_view value,
                                         std::string fix) {
  return tl::unexpected(
      bad_request(fmt::format("{} cannot be \"{}\"", name, operate::printable(value, kValueShown)),
                  std::move(fix)));
}

std::optional<HttpResponse> refusal_of_empty(const ApiCall& call) {
  for (const auto& [name, value] : call.query) {
    if (value.empty()) {
      return bad_request(fmt::format("{} is empty", name), "a value, or leave the parameter out");
    }
  }
  return std::nullopt;
}

tl::expected<operate::LetterQuery, HttpResponse> letter_query(const ApiCall& call,
                                                              const ApiSources& sources) {
  operate::LetterQuery query;
  query.consumer = call.value("consumer");
  query.reason = call.value("reason");
  const std::string_view replayed = call.value("replayed");
  if (!is_flag(replayed)) {
    return wrong_value("replayed", replayed, "true or false");
  }
  query.replayed = replayed == "true";
  if (const std::string_view filter = call.value("where"); !filter.empty()) {
    auto where = operate::Where::parse(filter, operate::letter_fields());
    if (!where) {
      const operate::Where::Flaw& flaw = where.error();
      return tl::unexpected(
          bad_request(fmt::format("where, column {}: {}", flaw.column, flaw.message), flaw.fix));
    }
    if (where->asks_about("error") &&
        shown_in_lists(sources).errors == core::Disclosure::Errors::kCause) {
      return tl::unexpected(bad_request("where asks about the texts of errors, which are not shown",
                                        "reason or cause; or admin.errors: text in the config"));
    }
    query.where = *std::move(where);
  }
  query.until = std::chrono::steady_clock::now() + kWalkOfRequest;
  return query;
}

}  // namespace semel::admin
