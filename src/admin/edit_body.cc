#include "admin/edit_body.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "admin/json_members.h"
#include "admin/problem.h"
#include "admin/write_body.h"
#include "base/json_scan.h"
#include "base/text_encoding.h"

namespace semel::admin {

namespace {

constexpr std::string_view kHeaderMembers[] = {"name", "value", "value_base64"};
constexpr std::string_view kBase64 = "_base64";

Wrong must_be_text(std::string_view name) { return fmt::format("\"{}\" must be a string", name); }

// Reads text, or base64 if the member's name ends so.
Wrong take_bytes(std::string_view name, std::string_view value, std::optional<Bytes>& bytes) {
  auto text = string_in(value);
  if (!text) return must_be_text(name);
  const bool coded = name.ends_with(kBase64);
  if (bytes) {
    const std::string_view plain = coded ? name.substr(0, name.size() - kBase64.size()) : name;
    return fmt::format("one of {0} and {0}_base64", plain);
  }
  bytes = coded ? text::from_base64(*text) : std::optional(*std::move(text));
  return bytes ? Wrong() : fmt::format("{} is no base64", name);
}

Wrong take_header(std::string_view object, Headers& headers) {
  std::optional<std::string> name;
  std::optional<Bytes> value;
  Wrong wrong = each_member(object, kHeaderMembers,
                            [&](std::string_view member, std::string_view written) -> Wrong {
                              if (member != "name") return take_bytes(member, written, value);
                              name = string_in(written);
                              return name ? Wrong() : must_be_text(member);
                            });
  if (!wrong.empty()) return wrong;
  if (!name || !value) return "it has no name or no value";
  headers.push_back({*std::move(name), *std::move(value)});
  return {};
}

Wrong take_flag(std::string_view name, std::string_view value, bool& flag) {
  flag = value == "true";
  return flag || value == "false" ? Wrong() : fmt::format("\"{}\" must be true or false", name);
}

Wrong take_member(std::string_view name, std::string_view value, EditBody& body) {
  if (name == "replay") return take_flag(name, value, body.replay);
  if (name == "dry_run") return take_flag(name, value, body.dry_run);
  if (name.starts_with("payload")) return take_bytes(name, value, body.change.payload);
  if (name == "set_headers") {
    return each_element(name, value, EditBody::kMostHeaders, [&](std::string_view object) {
      return take_header(object, body.change.set);
    });
  }
  if (name == "remove_headers") {
    return each_element(name, value, EditBody::kMostHeaders,
                        [&](std::string_view element) -> Wrong {
                          auto text = string_in(element);
                          if (!text) return "it must be a string";
                          body.change.remove.push_back(*std::move(text));
                          return {};
                        });
  }
  auto text = string_in(value);
  if (!text) return must_be_text(name);
  if (name == "revision") {
    body.revision = *std::move(text);
  } else {
    body.reason = *std::move(text);
  }
  return {};
}

}  // namespace

tl::expected<EditBody, HttpResponse> edit_body(const ApiCall& call) {
  constexpr const char* kForm = R"(such as {"payload": "…", "reason": "ticket 7"})";
  const auto wrong = [&](const std::string& what) {
    return tl::unexpected(bad_request("the body: " + what, kForm));
  };
  if (const auto valid = json::validate(call.body); !valid) return wrong(valid.error().message);
  std::vector<std::string_view> members;
  for (const QueryParameter& member : call.members) members.push_back(member.name);
  EditBody body;
  const Wrong found =
      each_member(call.body, members, [&](std::string_view name, std::string_view value) {
        return take_member(name, value, body);
      });
  if (!found.empty()) return wrong(found);
  if (body.reason.empty()) return wrong("an edit needs a \"reason\"");
  if (body.reason.size() > kLongestReason) {
    return wrong(fmt::format("the reason is too long: {} bytes at most", kLongestReason));
  }
  return body;
}

}  // namespace semel::admin
