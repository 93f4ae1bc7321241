// Shared by the tests of loading.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/config.h"

namespace semel::config {

inline LoadOptions with_env(std::map<std::string, std::string> env) {
  LoadOptions options;
  options.env = [env = std::move(env)](const std::string& name) -> std::optional<std::string> {
    const auto found = env.find(name);
    if (found == env.end()) return std::nullopt;
    return found->second;
  };
  return options;
}

inline std::string all_of(const Loaded& loaded) {
  std::string out;
  for (const auto& each : loaded.diagnostics) out += format(each, false);
  return out;
}

inline Config good(std::string_view yaml, const LoadOptions& options = with_env({}),
                   const std::string& name = "semel.yaml") {
  auto loaded = load_text(yaml, name, options);
  EXPECT_TRUE(loaded.config) << all_of(loaded);
  return loaded.config.value_or(Config{});
}

inline std::string effective(const Loaded& loaded, std::string_view path) {
  for (const auto& each : loaded.effective) {
    if (each.path == path) return each.value + " (" + each.origin + ")";
  }
  return "nothing";
}

constexpr std::string_view kSmall = R"(
consumers:
  - name: payments
    source: { queue: {} }
    key: json:/id
)";

}  // namespace semel::config
