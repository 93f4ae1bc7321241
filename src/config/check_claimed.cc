// Checks consumers that are claimed through the API: such a consumer has no handler, and a token
// must allow its claims.
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "config/check.h"
#include "config/checks.h"
#include "config/node.h"

namespace semel::config {
namespace {

constexpr const char* kClaimedFix =
    "name, source: { claims: {} }, dedup, limits and accept are all that it has";

// Sections about a consumer's own work, or about messages that a source delivers.
constexpr std::string_view kOfItsWork[] = {"key",         "empty",   "order",   "defer",
                                           "query",       "lock",    "version", "front",
                                           "dead_letter", "handler", "publish"};

bool is_said(const View& view, std::string_view name) {
  const auto* setting = view.find(name);
  const bool said = setting != nullptr && setting->from == Setting::From::kWritten;
  return said || view.written(name);
}

// The names of the consumers that can be claimed; without any, how to define one.
std::string claimed_names(const Config& config) {
  std::string names;
  for (const ConsumerConfig& consumer : config.consumers) {
    if (consumer.is_claimed()) names += (names.empty() ? "" : ", ") + consumer.name;
  }
  return names.empty() ? "add a consumer with source: { claims: {} }" : "one of: " + names;
}

// `holder`: a token, or the admin socket.
void check_claimed_names(const Config& config, const View& holder, Report& report) {
  for (std::size_t k = 0; k < holder.size("claims"); ++k) {
    const auto* name = holder.settings().find(join_path(holder.path("claims"), k));
    if (name == nullptr) continue;
    const ConsumerConfig* const consumer = config.find(name->text);
    if (consumer != nullptr && consumer->is_claimed()) continue;
    auto& made = report.error(
        "E057", name->place, name->path,
        consumer == nullptr
            ? fmt::format("{}: {} is no consumer of this file", name->path, in_quotes(name->text))
            : fmt::format("{}: {} has its messages from {}, and nobody claims them", name->path,
                          in_quotes(name->text), name_of(consumer->source)));
    made.help = claimed_names(config);
  }
}

void check_named_claims(const Config& config, const Settings& settings, Report& report) {
  const std::string tokens = "admin.auth.tokens";
  for (std::size_t i = 0; i < settings.size(tokens); ++i) {
    check_claimed_names(config, View(settings, join_path(tokens, i)), report);
  }
  check_claimed_names(config, View(settings, "admin.socket"), report);
}

bool may_be_claimed(const Config& config, const std::string& consumer) {
  if (!config.admin) return false;
  const auto names_it = [&](const std::vector<std::string>& claims) {
    return std::ranges::find(claims, consumer) != claims.end();
  };
  if (config.admin->socket && names_it(config.admin->socket->claims)) return true;
  return std::ranges::any_of(config.admin->tokens,
                             [&](const AdminToken& token) { return names_it(token.claims); });
}

}  // namespace

void check_claimed(const Check& check) {
  const auto refuse = [&](std::string_view name, std::string message) {
    auto& made = check.report.error("E057", check.view.place(name), check.path(name),
                                    fmt::format("{}: {}", check.path(name), message));
    made.help = kClaimedFix;
  };
  for (const std::string_view name : kOfItsWork) {
    if (check.view.spoiled(name) || !is_said(check.view, name)) continue;
    refuse(name, "clients claim the keys of this consumer, and do its work");
  }
  if (check.consumer.strategy_named &&
      check.consumer.strategy != core::StrategyKind::kStateMachine) {
    refuse("strategy", "claims over HTTP are those of state_machine");
  }
}

void check_claims(const Config& config, const Settings& settings, Report& report) {
  // The names cannot be checked before the consumers are known.
  if (report.failed() || config.consumers.empty()) return;
  check_named_claims(config, settings, report);
  if (report.failed()) return;
  for (std::size_t i = 0; i < config.consumers.size(); ++i) {
    const ConsumerConfig& consumer = config.consumers[i];
    if (!consumer.is_claimed() || may_be_claimed(config, consumer.name)) continue;
    const View view(settings, join_path("consumers", i));
    auto& made = report.error(
        "E057", view.place("source"), view.path("source"),
        fmt::format("{}: nobody may claim from {}", view.path("source"), in_quotes(consumer.name)));
    made.help = fmt::format(
        "admin: {{ auth: {{ tokens: [{{ name: …, secret: …, claims: [{}] }}] }} }}, or claims in "
        "admin.socket",
        consumer.name);
  }
}

}  // namespace semel::config
