#include "sources/http/requests.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "sources/http/answers.h"

namespace semel::sources {

namespace {

using http::HttpRequest;
using http::HttpResponse;

// A second one of these would give the request another end, or another reader.
constexpr std::string_view kFraming[] = {"content-length", "transfer-encoding", "host",
                                         "content-type", "content-encoding"};
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

}  // namespace

RequestRules::RequestRules(const core::HttpSourceSpec& spec)
    : path_(spec.path), max_body_(spec.max_body), single_(spec.key_headers) {
  if (spec.signature) signature_.emplace(*spec.signature);
  if (signature_) std::ranges::copy(signature_->headers(), std::back_inserter(single_));
  single_.insert(single_.end(), std::begin(kFraming), std::end(kFraming));
}

std::optional<HttpResponse> RequestRules::refuses(const HttpRequest& request) const {
  if (request.path != path_) {
    return not_taken(404, "there is nothing at this path", "POST to " + path_);
  }
  if (request.method != "POST") {
    HttpResponse response =
        not_taken(405, fmt::format("{} sends no message", request.method), "use POST");
    response.headers.emplace_back("Allow", "POST");
    return response;
  }
  if (auto why = ambiguous(request)) {
    return not_taken(400, *std::move(why), "send each of these headers once");
  }
  const auto encoding = request.header("content-encoding");
  if (encoding && !encoding->empty() && !ascii::alike(*encoding, "identity")) {
    return not_taken(415, fmt::format("its body is encoded: {}", *encoding), "send it as it is");
  }
  const auto length = request.header("content-length");
  if (!length) return std::nullopt;
  std::size_t bytes = 0;
  const char* const end = length->data() + length->size();
  const auto [stop, error] = std::from_chars(length->data(), end, bytes);
  if (error == std::errc::result_out_of_range || bytes > max_body_) return too_large(max_body_);
  if (error != std::errc{} || stop != end) {
    return not_taken(400, "its Content-Length is no number", "say how many bytes the body has");
  }
  return std::nullopt;
}

std::optional<std::string> RequestRules::ambiguous(const HttpRequest& request) const {
  const auto headers = request.headers();
  for (const std::string& name : single_) {
    const auto count = std::ranges::count_if(
        headers, [&](const auto& header) { return ascii::alike(header.first, name); });
    if (count > 1) return fmt::format("the header {} stands twice", name);
  }
  if (request.header("content-length") && request.header("transfer-encoding")) {
    return "it has both Content-Length and Transfer-Encoding";
  }
  return std::nullopt;
}

std::optional<HttpResponse> RequestRules::refuses_signature(const Headers& headers, BytesView body,
                                                            std::int64_t now) const {
  if (!signature_) return std::nullopt;
  auto flaw = signature_->flaw(headers, body, now);
  if (!flaw) return std::nullopt;
  return not_signed(*std::move(flaw));
}

Headers RequestRules::headers_of(const HttpRequest& request) {
  Headers kept;
  for (const auto& [name, value] : request.headers()) {
    if (!is_one_of(name, kNotKept)) kept.push_back({ascii::lower(name), Bytes(value)});
  }
  return kept;
}

Arrival RequestRules::arrival_of(const HttpRequest& request, Headers headers) const {
  Arrival arrival;
  arrival.payload = Bytes(request.body);
  if (const auto type = find_header(headers, "content-type")) arrival.content_type = Bytes(*type);
  arrival.headers = std::move(headers);
  arrival.partition = path_;
  return arrival;
}

}  // namespace semel::sources
