#include "core/step_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/digest.h"

namespace semel::core {
namespace {

bool name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

// The message's key stays as it is, except for the characters that separate parts.
Bytes escaped_key_part(BytesView text, bool all) {
  Bytes safe;
  safe.reserve(text.size());
  for (const char c : text) {
    const bool plain = all ? name_character(c) : c != '/' && c != '%';
    if (plain) {
      safe += c;
    } else {
      safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return safe;
}

}  // namespace

std::optional<std::string> refuse_step(std::string_view name, BytesView id) {
  if (name.empty() || name.size() > kLongestStepName ||
      !std::ranges::all_of(name, name_character)) {
    return fmt::format("\"{}\" is no name of a step: letters, digits, _ - and ., at most {}", name,
                       kLongestStepName);
  }
  if (id.size() > kLongestStepId) {
    return fmt::format("step \"{}\": its business id has {} bytes, the limit is {}", name,
                       id.size(), kLongestStepId);
  }
  return std::nullopt;
}

std::optional<std::string> refuse_specs(const StepSpecs& steps) {
  std::set<std::string_view> names;
  for (const StepSpec& step : steps) {
    if (auto refused = refuse_step(step.name, {})) return refused;
    if (!names.insert(step.name).second) return "step \"" + step.name + "\" is declared twice";
  }
  return std::nullopt;
}

Bytes step_key(BytesView message_key, std::string_view name, BytesView id, int round) {
  Bytes key = escaped_key_part(message_key, false);
  key += '/';
  key += name;
  if (!id.empty()) key += '=' + escaped_key_part(id, true);
  if (round > 1) key += '/' + std::to_string(round);
  return key;
}

Bytes undo_key(BytesView message_key, std::string_view name, BytesView id, int round) {
  return step_key(message_key, name, id, round) + "/undo";
}

Fingerprint input_fingerprint(BytesView input) noexcept {
  Fingerprint print;
  print.bytes = digest::shortened(digest::sha256_parts("step-input", {&input, 1}));
  return print;
}

std::string step_name(std::string_view name, BytesView id) {
  if (id.empty()) return std::string(name);
  return fmt::format("{} ({})", name, escaped_key_part(id, true));
}

}  // namespace semel::core
