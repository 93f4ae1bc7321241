// Checks how long the store and the receiver must keep messages that are held for later or sent to
// other programs.
#include <string>
#include <variant>

#include <fmt/format.h>

#include "config/check.h"
#include "config/node.h"
#include "config/scalars.h"
#include "config/steps_build.h"

namespace semel::config {
namespace {

using core::StrategyKind;

bool outlives_process(const Config& config) { return traits_of(config.store).durable; }

// Every attempt has the same key, so the receiver must still know the key at the last attempt.
void check_remote_of(const Check& check, const core::HttpSpec& spec, const View& view) {
  if (!spec.remote_keeps) return;
  const auto elapsed = check.consumer.retry.max_elapsed;
  if (elapsed.count() != 0 && elapsed <= *spec.remote_keeps) return;
  const auto* keeps = view.find("remote_keeps");
  auto* made = check.warn(
      "W045", keeps->place, keeps->path,
      fmt::format("{}: the endpoint forgets a key before its message is given up", keeps->path));
  if (made == nullptr) return;
  made->detail.push_back(fmt::format(
      "remote_keeps {} · retry.max_elapsed {}: a call that comes after it is a new one there",
      show_duration(spec.remote_keeps->count()),
      elapsed.count() == 0 ? "no limit" : show_duration(elapsed.count())));
  made->help = fmt::format("retry: {{ max_elapsed: {} }}; or knowingly: accept: [W045]",
                           show_duration(spec.remote_keeps->count()));
}

}  // namespace

void check_defer(const Check& check) {
  if (check.consumer.defer == ConsumerConfig::Defer::kNever) return;
  const bool queue = std::holds_alternative<QueueSource>(check.consumer.source);
  if (!queue && outlives_process(check.config)) return;
  auto& made = check.report.error(
      "E030", check.view.place("defer"), check.path("defer"),
      queue ? fmt::format("{}: what comes from the queue is in the store already",
                          check.path("defer"))
            : fmt::format("{}: what is settled at its source must outlive the process, and store "
                          "memory does not",
                          check.path("defer")));
  made.help = queue ? "remove it" : "store: { sqlite: { path: semel.db } }";
}

void check_remote(const Check& check) {
  const auto& handler = check.consumer.handler;
  if (const auto* http = std::get_if<HttpHandler>(&handler)) {
    check_remote_of(check, http->spec, check.view.in("handler").in("http"));
  }
  if (const auto* steps = std::get_if<StepsHandler>(&handler)) {
    each_step_call(*steps, check.view, [&](const StepCall& call, const View& at, const auto&) {
      const auto* http = std::get_if<HttpHandler>(&call);
      if (http != nullptr) check_remote_of(check, http->spec, at.in("http"));
    });
  }
}

// The data of a fence must outlive the process.
void check_fence(const Check& check) {
  if (check.consumer.strategy != StrategyKind::kFence || outlives_process(check.config)) return;
  auto& made = check.report.error(
      "E030", check.view.place("strategy"), check.path("strategy"),
      fmt::format("{}: fence keeps each message in the store before its call, and store memory "
                  "loses it with the process",
                  check.path("strategy")));
  made.help = "store: { sqlite: { path: semel.db } }; or strategy: state_machine";
}

}  // namespace semel::config
