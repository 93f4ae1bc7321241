// Checks the routes of messages between consumers: publish, and copies of dead letters.
#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "config/checks.h"
#include "config/node.h"

namespace semel::config {
namespace {

struct Route {
  std::size_t from = 0;
  std::string to;
  const Setting* said = nullptr;
};

std::vector<Route> routes_of(const Settings& settings) {
  std::vector<Route> routes;
  for (std::size_t i = 0; i < settings.size("consumers"); ++i) {
    const View view(settings, join_path("consumers", i));
    for (std::size_t k = 0; k < view.size("publish"); ++k) {
      const auto* to = settings.find(join_path(view.path("publish"), k));
      if (to != nullptr) routes.push_back({i, to->text, to});
    }
    if (const auto* to = view.in("dead_letter").find("copy_to"))
      routes.push_back({i, to->text, to});
  }
  return routes;
}

void refuse(const Route& route, const std::string& why, const std::string& help, Report& report) {
  auto& made = report.error("E040", route.said->place, route.said->path,
                            fmt::format("{}: {} {}", route.said->path, in_quotes(route.to), why));
  made.help = help;
}

std::string queue_names(const Config& config) {
  std::string names;
  for (const ConsumerConfig& consumer : config.consumers) {
    if (!std::holds_alternative<QueueSource>(consumer.source)) continue;
    names += (names.empty() ? "" : ", ") + consumer.name;
  }
  return names.empty() ? "add a consumer with source: { queue: {} }" : "one of: " + names;
}

// True if messages sent to `name` reach `wanted` in the end. `sends` has no cycles.
bool leads_to(const std::string& name, const std::string& wanted,
              const std::multimap<std::string, std::string>& sends) {
  if (name == wanted) return true;
  const auto [first, last] = sends.equal_range(name);
  return std::any_of(first, last,
                     [&](const auto& one) { return leads_to(one.second, wanted, sends); });
}

}  // namespace

void check_outbox(const Config& config, const Settings& settings, Report& report) {
  const std::vector<Route> routes = routes_of(settings);
  if (routes.empty() || report.failed()) return;
  std::multimap<std::string, std::string> sends;
  for (const Route& route : routes) {
    const std::string& from = config.consumers.at(route.from).name;
    const ConsumerConfig* const to = config.find(route.to);
    if (to == nullptr) {
      refuse(route, "is no consumer of this file", queue_names(config), report);
    } else if (!std::holds_alternative<QueueSource>(to->source)) {
      refuse(route, fmt::format("has its messages from {}, and is sent none", name_of(to->source)),
             queue_names(config), report);
    } else if (leads_to(route.to, from, sends)) {
      refuse(route, "sends to this one in turn: a message would never come to its end",
             "a consumer with source: { queue: {} } that sends nothing back", report);
    } else {
      sends.emplace(from, route.to);
    }
  }
}

}  // namespace semel::config
