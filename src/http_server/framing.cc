#include "http_server/framing.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/printable.h"
#include "core/http_spec.h"

namespace semel::http {

namespace {

constexpr std::string_view kOnce[] = {"content-length", "transfer-encoding", "host"};
constexpr const char* kSendOnce = "send each of these headers once, by its own name";

std::optional<std::string> ambiguous(const HttpRequest& request) {
  const auto headers = request.headers();
  // The HTTP library takes `Content-Length : 5` for a header of another name.
  for (const auto& [name, value] : headers) {
    if (!core::is_header_name(name)) {
      return fmt::format("{} is not the name of a header", printable_text(name));
    }
  }
  for (const std::string_view name : kOnce) {
    const auto count = std::ranges::count_if(
        headers, [&](const auto& header) { return ascii::alike(header.first, name); });
    if (count > 1) return fmt::format("the header {} is there twice", name);
  }
  if (request.header("content-length") && request.header("transfer-encoding")) {
    return "it has both Content-Length and Transfer-Encoding";
  }
  return std::nullopt;
}

}  // namespace

std::optional<FramingFault> framing_fault(const HttpRequest& request) {
  if (auto why = ambiguous(request)) return FramingFault{400, *std::move(why), kSendOnce};
  const auto transfer = request.header("transfer-encoding");
  if (transfer && !ascii::alike(*transfer, "chunked")) {
    return FramingFault{501, fmt::format("its Transfer-Encoding is {}", printable_text(*transfer)),
                        "send it chunked"};
  }
  const auto length = request.header("content-length");
  if (length && (length->empty() || !std::ranges::all_of(*length, ascii::is_digit))) {
    return FramingFault{400, "its Content-Length is not a number",
                        "say how many bytes the body has"};
  }
  return std::nullopt;
}

}  // namespace semel::http
