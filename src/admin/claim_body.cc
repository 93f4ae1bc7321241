#include "admin/claim_body.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <semel/guard.h>

#include "admin/json_members.h"
#include "admin/problem.h"
#include "base/json_scan.h"
#include "base/text_encoding.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kWrongShown = 60;
constexpr std::string_view kClaimItem[] = {"key", "payload", "payload_base64", "fingerprint"};
constexpr std::string_view kRenewItem[] = {"key", "nonce"};
constexpr std::string_view kFinishItem[] = {"key",           "nonce", "as",   "result",
                                            "result_base64", "after", "error"};
constexpr std::string_view kClaimTop[] = {"request", "lease", "claims"};
constexpr std::string_view kRenewTop[] = {"lease", "claims"};
constexpr std::string_view kFinishTop[] = {"claims"};

struct EndWord {
  std::string_view as;
  Finish::To to;
  const char* done;
};
constexpr EndWord kEnds[] = {{"done", Finish::To::kCompleted, "done"},
                             {"retry", Finish::To::kRetrying, "retry"},
                             {"dead", Finish::To::kDead, "dead"},
                             {"release", Finish::To::kNotStarted, "released"}};

std::span<const std::string_view> item_members(ClaimCall asked) {
  if (asked == ClaimCall::kClaim) return kClaimItem;
  return asked == ClaimCall::kRenew ? std::span<const std::string_view>(kRenewItem)
                                    : std::span<const std::string_view>(kFinishItem);
}
std::span<const std::string_view> top_members(ClaimCall asked) {
  if (asked == ClaimCall::kClaim) return kClaimTop;
  return asked == ClaimCall::kRenew ? std::span<const std::string_view>(kRenewTop)
                                    : std::span<const std::string_view>(kFinishTop);
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool read_hex(std::string_view text, std::span<unsigned char> into) {
  if (text.size() != 2 * into.size()) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    into[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return true;
}

Wrong take_payload(ClaimItem& item, std::string_view name, const std::string& text) {
  if (name == "fingerprint") {
    if (read_hex(text, item.fingerprint.bytes)) return {};
    return "the fingerprint is none: 32 hexadecimal digits";
  }
  if (name == "payload") {
    item.fingerprint = fingerprint_of(text);
    return {};
  }
  const auto payload = text::from_base64(text);
  if (!payload) return "payload_base64 is not base64";
  item.fingerprint = fingerprint_of(*payload);
  return {};
}

Wrong take_end(ClaimItem& item, std::string_view name, std::string text) {
  if (name == "as") {
    const auto end = std::ranges::find(kEnds, text, &EndWord::as);
    if (end == std::end(kEnds)) {
      return fmt::format("as cannot be \"{}\": done, retry, dead or release",
                         operate::printable(text, kWrongShown));
    }
    item.to = end->to;
  } else if (name == "result") {
    item.result = std::move(text);
  } else if (name == "result_base64") {
    auto result = text::from_base64(text);
    if (!result) return "result_base64 is not base64";
    item.result = *std::move(result);
  } else if (name == "after") {
    const auto after = operate::parse_duration(text);
    if (!after || after->count() < 0) return "after is not a duration such as \"30s\"";
    item.after = *after;
  } else {
    if (text.size() > ClaimsBody::kLongestError) {
      return fmt::format("the error is too long: {} bytes at most", ClaimsBody::kLongestError);
    }
    item.error = std::move(text);
  }
  return {};
}

// Which members an item has.
struct Said {
  bool key = false;
  bool nonce = false;
  bool content = false;  // a payload or its fingerprint; a result
  bool as = false;
  bool twice = false;  // the content, in two forms
};

Wrong refuse_parts(const Said& said, ClaimCall asked) {
  if (!said.key) return "it has no key";
  if (said.twice) {
    return asked == ClaimCall::kClaim ? "one of payload, payload_base64 and fingerprint"
                                      : "one of result and result_base64";
  }
  if (asked != ClaimCall::kClaim && !said.nonce) return "it has no nonce";
  if (asked == ClaimCall::kFinish && !said.as) return "it does not say as what it ends";
  return {};
}

Wrong read_item(std::string_view object, ClaimCall asked, ClaimItem& item) {
  Said said;
  Wrong wrong = each_member(
      object, item_members(asked), [&](std::string_view name, std::string_view value) -> Wrong {
        auto text = string_in(value);
        if (!text) return fmt::format("\"{}\" must be a string", name);
        if (name == "key") {
          said.key = true;
          item.key = *std::move(text);
          return {};
        }
        if (name == "nonce") {
          said.nonce = true;
          return read_hex(*text, item.nonce.bytes) ? Wrong()
                                                   : "the nonce is none: 32 hexadecimal digits";
        }
        said.as = said.as || name == "as";
        const bool is_content = asked == ClaimCall::kClaim || name.starts_with("result");
        said.twice = said.twice || (is_content && said.content);
        said.content = said.content || is_content;
        return asked == ClaimCall::kClaim ? take_payload(item, name, *text)
                                          : take_end(item, name, *std::move(text));
      });
  return wrong.empty() ? refuse_parts(said, asked) : wrong;
}

Wrong read_items(std::string_view array, ClaimCall asked, std::vector<ClaimItem>& items) {
  return each_element("claims", array, ClaimsBody::kMostKeys, [&](std::string_view object) {
    return read_item(object, asked, items.emplace_back());
  });
}

Wrong take_lease(std::string_view text, ClaimsBody& body) {
  body.lease = operate::parse_duration(text);
  if (body.lease && *body.lease >= ClaimsBody::kShortestLease &&
      *body.lease <= ClaimsBody::kLongestLease) {
    return {};
  }
  return "lease is out of range: from \"100ms\" to \"1d\"";
}

Wrong read_body(std::string_view text, ClaimCall asked, ClaimsBody& body) {
  return each_member(
      text, top_members(asked), [&](std::string_view name, std::string_view value) -> Wrong {
        if (name == "claims") return read_items(value, asked, body.items);
        auto said = string_in(value);
        if (!said) return fmt::format("\"{}\" must be a string", name);
        if (name == "lease") return take_lease(*said, body);
        if (said->empty() || said->size() > ClaimsBody::kLongestRequest) {
          return fmt::format("request has 1 to {} bytes", ClaimsBody::kLongestRequest);
        }
        body.request = *std::move(said);
        return {};
      });
}

std::string fault_of_key(const Bytes& key, std::size_t longest) {
  if (key.empty()) return "an empty key identifies nothing";
  if (key.size() <= longest) return {};
  return fmt::format("the key has {} bytes, the limit is {}", key.size(), longest);
}

}  // namespace

tl::expected<ClaimsBody, HttpResponse> claims_body(const ApiCall& call, ClaimCall asked,
                                                   std::size_t longest_key) {
  constexpr const char* kForm = "such as {\"claims\": [{\"key\": \"order-17\", …}]}";
  ClaimsBody body;
  if (call.body.empty()) return body;
  if (const auto valid = json::validate(call.body); !valid) {
    return tl::unexpected(bad_request("the body: " + valid.error().message, kForm));
  }
  if (const Wrong wrong = read_body(call.body, asked, body); !wrong.empty()) {
    return tl::unexpected(bad_request("the body: " + wrong, kForm));
  }
  for (ClaimItem& item : body.items) item.fault = fault_of_key(item.key, longest_key);
  return body;
}

const char* word_of_end(Finish::To to) noexcept {
  const auto end = std::ranges::find(kEnds, to, &EndWord::to);
  return end == std::end(kEnds) ? "released" : end->done;
}

}  // namespace semel::admin
