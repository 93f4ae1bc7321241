#include "core/sqs_publish_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/url_text.h"
#include "base/utf8.h"
#include "core/publish_headers.h"

namespace semel::core {
namespace {

constexpr std::string_view kSqsDigest = "sha256:";
constexpr std::size_t kLongestSqsId = 128;
constexpr std::size_t kSqsDigestHex = 64;
constexpr std::size_t kLongestAttributeName = 256;
// Text or bytes: the name of the type counts, too.
constexpr std::size_t kTypeName = 6;

bool is_sqs_id(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) { return c > ' ' && c < 0x7F; };
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, fits);
}

std::string sqs_digest_of(std::string_view text) {
  return digest::hex(digest::view(digest::sha256(text)));
}

bool is_attribute_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kLongestAttributeName && std::ranges::all_of(name, fits) &&
         name.front() != '.' && name.back() != '.' && name.find("..") == std::string_view::npos &&
         !ascii::begins_alike(name, "AWS.") && !ascii::begins_alike(name, "Amazon.") &&
         name != kSqsMoreHeaders;
}

// Readers look for these: they are attributes before all others.
bool goes_first_to_sqs(std::string_view name) {
  constexpr std::array<std::string_view, 4> kFirst = {"idempotency-key", "content-type",
                                                      "traceparent", "tracestate"};
  return std::ranges::any_of(kFirst,
                             [&](std::string_view each) { return ascii::alike(name, each); });
}

SqsAttribute more_headers_of(const Headers& headers) {
  json::Writer writer;
  writer.begin_array();
  for (const Header& header : headers) {
    writer.begin_object().bytes("name", header.name).bytes("value", header.value).end_object();
  }
  return {std::string(kSqsMoreHeaders), writer.end_array().text(), false};
}

std::string_view path_of_queue(std::string_view url) {
  constexpr std::size_t kScheme = 8;  // both schemes are at an end before their host is
  const auto at = url.find('/', std::min(kScheme, url.size()));
  return at == std::string_view::npos ? std::string_view() : url.substr(at);
}

}  // namespace

bool is_sqs_text(BytesView text) noexcept {
  constexpr std::string_view kNoCharacters = "\xEF\xBF";  // U+FFFE and U+FFFF begin so
  if (!is_utf8(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') return false;
    if (text.substr(i, 2) == kNoCharacters && i + 2 < text.size() &&
        (text[i + 2] == '\xBE' || text[i + 2] == '\xBF')) {
      return false;
    }
  }
  return true;
}

std::vector<SqsAttribute> sqs_attributes_of(const Message& message) {
  Headers headers = headers_with_key(message);
  std::erase_if(headers,
                [](const Header& header) { return ascii::begins_alike(header.name, "sqs-"); });
  std::stable_partition(headers.begin(), headers.end(),
                        [](const Header& header) { return goes_first_to_sqs(header.name); });
  std::vector<SqsAttribute> made;
  std::set<std::string_view> names;
  Headers more;
  for (const Header& header : headers) {
    if (!is_attribute_name(header.name) || header.value.empty() ||
        !names.insert(header.name).second) {
      more.push_back(header);
    } else {
      made.push_back({header.name, header.value, !is_sqs_text(header.value)});
    }
  }
  while (made.size() + (more.empty() ? 0 : 1) > kSqsMostAttributes) {
    more.insert(more.begin(), {made.back().name, made.back().value});
    made.pop_back();
  }
  if (!more.empty()) made.push_back(more_headers_of(more));
  return made;
}

std::string sqs_id_of(std::string_view text) {
  if (is_sqs_id(text, kLongestSqsId) && !text.starts_with(kSqsDigest)) return std::string(text);
  return std::string(kSqsDigest) + sqs_digest_of(text);
}

std::string sqs_group_of(const Message& message, const SqsFifo& fifo) {
  if (!fifo.group.empty()) return fifo.group;
  return sqs_id_of(message.ordering_key());
}

// The two forms of kKeyAndPayload differ in length.
std::string sqs_deduplication_id_of(const Message& message, SqsFifo::Deduplication by) {
  const Bytes& key = message.key().text;
  if (by == SqsFifo::Deduplication::kKey) return sqs_id_of(key);
  if (is_sqs_id(key, kLongestSqsId - kSqsDigestHex - 1)) {
    return fmt::format("{}.{}", key, sqs_digest_of(message.payload()));
  }
  const std::array<BytesView, 2> parts = {key, message.payload()};
  return digest::hex(digest::view(digest::sha256_parts("sqs deduplication id", parts)));
}

std::size_t sqs_size_of(BytesView payload, const std::vector<SqsAttribute>& attributes) {
  std::size_t size = payload.size();
  for (const SqsAttribute& each : attributes) {
    size += each.name.size() + kTypeName + each.value.size();
  }
  return size;
}

std::optional<std::string> sqs_payload_flaw(BytesView payload) {
  if (payload.empty()) return "has no payload, and SQS takes none that is empty";
  if (is_sqs_text(payload)) return std::nullopt;
  return "has a payload that is no text: UTF-8 without control characters; send it as JSON, or in "
         "base64";
}

tl::expected<SqsQueueUrl, SnsTopicFlaw> read_sns_topic(std::string_view arn,
                                                       std::string_view endpoint) {
  constexpr std::size_t kParts = 6;
  std::vector<std::string> parts;
  for (std::string_view rest = arn; !rest.empty();) {
    parts.emplace_back(url_text::cut_before(rest, ':'));
  }
  if (parts.size() != kParts || parts[0] != "arn" || parts[2] != "sns" || parts[3].empty() ||
      parts[4].empty()) {
    return tl::unexpected(SnsTopicFlaw{false, "is no ARN: arn:aws:sns:REGION:ACCOUNT:NAME"});
  }
  const std::string amazon =
      fmt::format("https://sns.{}.amazonaws.com{}", parts[3], parts[1] == "aws-cn" ? ".cn" : "");
  std::string url(endpoint.empty() ? std::string_view(amazon) : endpoint);
  while (url.ends_with('/')) url.pop_back();
  // A topic's name keeps the rules of a queue's, but for its length.
  constexpr std::size_t kLongestTopicName = 256;
  auto read = read_sqs_url(url + "/queue");
  if (!read) return tl::unexpected(SnsTopicFlaw{true, read.error()});
  if (!is_sqs_name(parts[5], kLongestTopicName)) {
    return tl::unexpected(
        SnsTopicFlaw{false, "does not end in a topic's name: letters, digits, - and _"});
  }
  read->url = arn;
  read->region = parts[3];
  read->name = parts[5];
  return *std::move(read);
}

std::optional<std::string> sqs_group_flaw(std::string_view group) {
  if (is_sqs_id(group, kLongestSqsId)) return std::nullopt;
  return fmt::format("is no message group: at most {} letters, digits and punctuation marks",
                     kLongestSqsId);
}

bool same_sqs_queue(const SqsQueueUrl& one, const SqsQueueUrl& other) {
  return one.host == other.host && path_of_queue(one.url) == path_of_queue(other.url);
}

}  // namespace semel::core
