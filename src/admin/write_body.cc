#include "admin/write_body.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "admin/api_number.h"
#include "admin/problem.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kMemberShown = 80;

tl::expected<json::Scalar, HttpResponse> member_of(json::Document& document,
                                                   std::string_view name) {
  auto found = document.at(json::Pointer::parse(fmt::format("/{}", name)).value());
  if (!found) return tl::unexpected(bad_request(found.error().message, "each member once"));
  return *std::move(found);
}

tl::expected<std::optional<std::string>, HttpResponse> text_member(json::Document& document,
                                                                   std::string_view name) {
  auto found = member_of(document, name);
  if (!found) return tl::unexpected(std::move(found.error()));
  if (std::holds_alternative<json::Absent>(*found)) return std::nullopt;
  if (auto* text = std::get_if<std::string>(&*found)) return std::move(*text);
  return tl::unexpected(bad_request(fmt::format("\"{}\" must be a string", name),
                                    name == "rate" ? "such as \"50/s\"" : ""));
}

tl::expected<bool, HttpResponse> flag_member(json::Document& document, std::string_view name) {
  auto found = member_of(document, name);
  if (!found) return tl::unexpected(std::move(found.error()));
  if (std::holds_alternative<json::Absent>(*found)) return false;
  if (const auto* flag = std::get_if<bool>(&*found)) return *flag;
  return tl::unexpected(bad_request(fmt::format("\"{}\" must be true or false", name), {}));
}

tl::expected<std::optional<std::int64_t>, HttpResponse> whole_member(json::Document& document,
                                                                     std::string_view name) {
  auto found = member_of(document, name);
  if (!found) return tl::unexpected(std::move(found.error()));
  if (std::holds_alternative<json::Absent>(*found)) return std::nullopt;
  if (const auto* integer = std::get_if<json::Integer>(&*found)) {
    if (const auto number = whole_number(integer->written)) return *number;
  }
  return tl::unexpected(bad_request(fmt::format("\"{}\" must be a whole number", name), {}));
}

std::string members_text(std::span<const QueryParameter> members) {
  std::vector<std::string_view> names;
  for (const QueryParameter& member : members) names.push_back(member.name);
  return fmt::format("there {} {}", names.size() == 1 ? "is" : "are",
                     fmt::join(names, names.size() == 2 ? " and " : ", "));
}

// An unknown member may be a misspelt one, and the request may then not do what was meant.
std::optional<HttpResponse> refusal_of_members(std::string_view object,
                                               std::span<const QueryParameter> members) {
  json::Scan scan(object);
  if (scan.peek() != '{') {
    return bad_request("the body is no JSON object", "such as {\"reason\": \"ticket 7\"}");
  }
  scan.step();
  scan.skip_space();
  while (scan.peek() != '}') {
    const json::RawString raw = scan.raw_string();
    const std::string name = raw.escaped ? json::unescape(raw.text) : std::string(raw.text);
    if (std::ranges::find(members, name, &QueryParameter::name) == members.end()) {
      return bad_request(fmt::format("the body has an unknown member \"{}\"",
                                     operate::printable(name, kMemberShown)),
                         members_text(members));
    }
    scan.skip_space();
    scan.step();
    scan.skip_space();
    scan.skip_value();
    scan.skip_space();
    if (scan.peek() != ',') break;
    scan.step();
    scan.skip_space();
  }
  return std::nullopt;
}

}  // namespace

tl::expected<WriteBody, HttpResponse> write_body(const ApiCall& call) {
  WriteBody body;
  if (call.body.empty()) return body;
  json::Document document;
  if (const auto parsed = document.parse(call.body); !parsed) {
    return tl::unexpected(bad_request(fmt::format("the body: {}", parsed.error().message),
                                      "a JSON object such as {\"reason\": \"ticket 7\"}"));
  }
  if (auto refusal = refusal_of_members(call.body, call.members)) {
    return tl::unexpected(*std::move(refusal));
  }
  for (const auto& [name, to] : {std::pair{"reason", &body.reason}, std::pair{"as", &body.as}}) {
    auto member = text_member(document, name);
    if (!member) return tl::unexpected(std::move(member.error()));
    if (*member) *to = **std::move(member);
  }
  auto rate = text_member(document, "rate");
  if (!rate) return tl::unexpected(std::move(rate.error()));
  body.rate = *std::move(rate);
  auto dry_run = flag_member(document, "dry_run");
  if (!dry_run) return tl::unexpected(std::move(dry_run.error()));
  body.dry_run = *dry_run;
  auto state = text_member(document, "state");
  if (!state) return tl::unexpected(std::move(state.error()));
  body.state = *std::move(state);
  const auto token = whole_member(document, "token");
  if (!token) return tl::unexpected(token.error());
  if (*token) body.token = static_cast<std::uint64_t>(**token);
  const auto up_to = whole_member(document, "up_to");
  if (!up_to) return tl::unexpected(up_to.error());
  body.up_to = *up_to;
  if (body.reason.size() > kLongestReason) {
    return tl::unexpected(
        bad_request("the reason is too long", fmt::format("{} bytes at most", kLongestReason)));
  }
  return body;
}

}  // namespace semel::admin
