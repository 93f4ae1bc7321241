#include "sources/http/requests.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <semel/reason.h>

#include "base/ascii.h"
#include "base/json_scan.h"
#include "base/printable.h"
#include "core/http_spec.h"
#include "core/standard_keys.h"
#include "sources/http/answers.h"

namespace semel::sources {

namespace {

using http::HttpRequest;
using http::HttpResponse;

// A second one of these headers would make the request's meaning ambiguous; of those that say where
// it ends the server allows none (http::framing_fault).
constexpr std::string_view kMeaning[] = {"content-type", "content-encoding"};
constexpr std::string_view kNotKept[] = {"authorization",
                                         "proxy-authorization",
                                         "cookie",
                                         "connection",
                                         "keep-alive",
                                         "te",
                                         "trailer",
                                         "upgrade",
                                         "host",
                                         "content-length",
                                         "expect",
                                         "transfer-encoding",
                                         "proxy-connection"};

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::any_of(names, [&](std::string_view one) { return ascii::alike(one, name); });
}

HttpResponse refusal(int status, std::string why, std::string fix) {
  return response_of(not_taken(status, std::move(why), std::move(fix)));
}

// In a batch these headers are not attributes of the events, which have their own.
bool is_event_attribute(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {"ce-", "ce_", "cloudevents:", "cloudevents_"};
  return std::ranges::any_of(kBeginnings,
                             [&](std::string_view one) { return name.starts_with(one); });
}

constexpr std::string_view kEventType = "application/cloudevents+json";

Headers headers_of_events(Headers headers) {
  std::erase_if(headers, [](const Header& header) { return is_event_attribute(header.name); });
  for (Header& header : headers) {
    if (header.name == "content-type") header.value = kEventType;
  }
  return headers;
}

std::size_t size_of(const Headers& headers) noexcept {
  std::size_t size = 0;
  for (const Header& header : headers) size += header.name.size() + header.value.size();
  return size;
}

}  // namespace

RequestRules::RequestRules(const core::HttpSourceSpec& spec)
    : path_(spec.path),
      path_prefix_(spec.path_prefix),
      max_body_(spec.max_body),
      max_batch_(std::min(spec.max_batch, spec.max_requests)),
      splits_batches_(spec.splits_batches),
      single_(spec.key_headers) {
  if (spec.signature) signature_.emplace(*spec.signature);
  if (signature_) std::ranges::copy(signature_->headers(), std::back_inserter(single_));
  single_.insert(single_.end(), std::begin(kMeaning), std::end(kMeaning));
}

std::optional<HttpResponse> RequestRules::refuses(const HttpRequest& request) const {
  if (!is_path(request.path)) {
    return refusal(404, "there is nothing at this path", "POST to " + path_prefix_ + path_);
  }
  if (request.method != "POST") {
    HttpResponse response =
        refusal(405, fmt::format("{} sends no message", request.method), "use POST");
    response.headers.emplace_back("Allow", "POST");
    return response;
  }
  if (auto why = ambiguous(request)) {
    return refusal(400, *std::move(why), "send this header once");
  }
  const auto encoding = request.header("content-encoding");
  if (encoding && !encoding->empty() && !ascii::alike(*encoding, "identity")) {
    return refusal(415, fmt::format("its body is encoded: {}", *encoding), "send it as it is");
  }
  const auto length = request.header("content-length");
  if (!length && !request.header("transfer-encoding")) {
    return refusal(411, "its length is not known", "send Content-Length, be it 0");
  }
  if (!length) return std::nullopt;
  std::size_t bytes = 0;
  const auto [stop, error] =
      std::from_chars(length->data(), length->data() + length->size(), bytes);
  if (error != std::errc{} || bytes > max_body_) return response_of(too_large(max_body_));
  return std::nullopt;
}

std::optional<std::string> RequestRules::ambiguous(const HttpRequest& request) const {
  const auto headers = request.headers();
  for (const std::string& name : single_) {
    const auto count = std::ranges::count_if(
        headers, [&](const auto& header) { return ascii::alike(header.first, name); });
    if (count > 1) return fmt::format("the header {} is there twice", name);
  }
  return std::nullopt;
}

std::optional<HttpResponse> RequestRules::refuses_signature(const Headers& headers, BytesView body,
                                                            std::int64_t now) const {
  if (!signature_) return std::nullopt;
  auto flaw = signature_->flaw(headers, body, now);
  if (!flaw) return std::nullopt;
  return response_of(not_signed(*std::move(flaw)));
}

Headers RequestRules::headers_of(const HttpRequest& request) {
  Headers kept;
  for (const auto& [name, value] : request.headers()) {
    if (!is_one_of(name, kNotKept)) kept.push_back({ascii::lower(name), Bytes(value)});
  }
  return kept;
}

tl::expected<RequestRules::Messages, MessageAnswer> RequestRules::messages_of(
    const HttpRequest& request, Headers headers) const {
  Arrival whole;
  whole.payload = Bytes(request.body);
  if (const auto type = find_header(headers, "content-type")) whole.content_type = Bytes(*type);
  whole.headers = std::move(headers);
  whole.partition = path_;
  if (splits_batches_ && core::event_format(whole) == core::EventFormat::kBatch) {
    return events_of(std::move(whole));
  }
  Messages messages;
  messages.arrivals.push_back(std::move(whole));
  return messages;
}

tl::expected<RequestRules::Messages, MessageAnswer> RequestRules::events_of(Arrival whole) const {
  const auto events = json::array_elements(whole.payload, max_batch_);
  Messages messages;
  if (!events && events.error().kind == ErrorKind::kLimit) {
    return tl::unexpected(too_many_events(max_batch_));
  }
  if (!events) {
    whole.refused = reason::kPayloadInvalid;
    whole.refused_error = "the batch of CloudEvents is " + events.error().message;
    messages.arrivals.push_back(std::move(whole));
    return messages;
  }
  const Headers headers = headers_of_events(std::move(whole.headers));
  // A short body with many small events would multiply the headers.
  if (size_of(headers) * events->size() > max_body_) {
    return tl::unexpected(headers_too_large(max_body_));
  }
  messages.batch = true;
  messages.arrivals.reserve(events->size());
  for (const std::string_view event : *events) {
    Arrival arrival;
    arrival.payload = Bytes(event);
    arrival.content_type = kEventType;
    arrival.headers = headers;
    arrival.partition = path_;
    messages.arrivals.push_back(std::move(arrival));
  }
  return messages;
}

// A proxy may pass its path prefix on, or remove it.
bool RequestRules::is_path(std::string_view path) const noexcept {
  if (path == path_) return true;
  if (path_prefix_.empty() || !path.starts_with(path_prefix_)) return false;
  const std::string_view rest = path.substr(path_prefix_.size());
  return rest == path_ || (rest.empty() && path_ == "/");
}

}  // namespace semel::sources
