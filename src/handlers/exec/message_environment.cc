#include "handlers/exec/message_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/utf8.h"
#include "core/trace_context.h"

namespace semel::handlers::exec {
namespace {

constexpr std::string_view kOurs[] = {
    "SEMEL_KEY=",          "SEMEL_ATTEMPT=",        "SEMEL_CONSUMER=", "SEMEL_SOURCE=",
    "SEMEL_TAKEN_OVER=",   "SEMEL_SINCE_FIRST_MS=", "SEMEL_TOKEN=",    "SEMEL_TYPE=",
    "SEMEL_CONTENT_TYPE=", "TRACEPARENT="};

bool is_ours(std::string_view entry) {
  return std::any_of(std::begin(kOurs), std::end(kOurs),
                     [&](std::string_view name) { return entry.starts_with(name); });
}

// W3C Trace Context, of this version or a later one: 00-<32 hex>-<16 hex>-<2 hex>. Anything else
// is not passed on, as the recommendation asks.
bool is_traceparent(BytesView value) {
  constexpr std::string_view kForm = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  constexpr std::size_t kLongest = 512;
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto printable = [](char c) { return c > ' ' && c < 0x7F; };
  if (value.size() < kForm.size() || value.size() > kLongest) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'x' ? !hex(value[i]) : value[i] != '-') return false;
  }
  const BytesView more = value.substr(kForm.size());
  return more.empty() || (more.front() == '-' && std::all_of(more.begin(), more.end(), printable));
}

void add_text(std::vector<std::string>& made, std::string_view name, const std::string& value) {
  if (value.empty() || value.find('\0') != std::string::npos) return;
  made.push_back(fmt::format("{}={}", name, value));
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> made;
  for (char** at = ::environ; at != nullptr && *at != nullptr; ++at) {
    if (!is_ours(*at)) made.emplace_back(*at);
  }
  return made;
}

std::string_view value_in(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

std::vector<std::string> message_environment(const core::ExecSpec& spec, const Message& message,
                                             const Attempt& attempt) {
  std::vector<std::string> made;
  made.push_back("SEMEL_KEY=" + environment_key(message.key().text));
  made.push_back(fmt::format("SEMEL_ATTEMPT={}", attempt.number));
  made.push_back("SEMEL_CONSUMER=" + spec.consumer);
  made.push_back("SEMEL_SOURCE=" + spec.source);
  made.push_back(fmt::format("SEMEL_TAKEN_OVER={}", attempt.taken_over ? 1 : 0));
  made.push_back(fmt::format("SEMEL_SINCE_FIRST_MS={}", attempt.since_first.count()));
  if (attempt.token != Token{}) {
    made.push_back(fmt::format("SEMEL_TOKEN={}", static_cast<std::uint64_t>(attempt.token)));
  }
  add_text(made, "SEMEL_TYPE", message.type());
  add_text(made, "SEMEL_CONTENT_TYPE", message.content_type());
  const auto trace = core::outgoing_traceparent(message);
  if (trace && is_traceparent(*trace)) made.push_back(fmt::format("TRACEPARENT={}", *trace));
  return made;
}

std::string environment_key(BytesView key) {
  std::string made;
  while (!key.empty()) {
    const std::size_t length = utf8_length(key);
    const BytesView character = key.substr(0, std::max<std::size_t>(length, 1));
    const bool plain = length > 0 && character != "%" && !is_control(character);
    for (const char c : character) {
      if (plain) {
        made += c;
      } else {
        fmt::format_to(std::back_inserter(made), "%{:02X}", static_cast<unsigned char>(c));
      }
    }
    key.remove_prefix(character.size());
  }
  return made;
}

}  // namespace semel::handlers::exec
