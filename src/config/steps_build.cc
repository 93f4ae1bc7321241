#include "config/steps_build.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "config/exec_build.h"
#include "config/http_build.h"
#include "config/node.h"

namespace semel::config {
namespace {

View steps_of(const View& consumer) { return consumer.in("handler").in("steps"); }

View step_at(const View& consumer, std::size_t i) {
  const View steps = steps_of(consumer);
  return {steps.settings(), join_path(steps.path(), i)};
}

StepCall build_call(const View& at, const View& consumer, const std::string& folder,
                    const SourceConfig& source, Report& report) {
  if (at.written("exec")) return ExecHandler{build_exec(at.in("exec"), consumer, folder, source)};
  return HttpHandler{build_http(at.in("http"), folder, report)};
}

void complete_step_call(StepCall& call, const View& at, const ConsumerConfig& consumer) {
  if (auto* http = std::get_if<HttpHandler>(&call)) {
    complete_call(http->spec, at.in("http"), consumer);
  }
}

void check_names(const StepsHandler& steps, const View& view, Report& report) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const auto* name = step_at(view, i).find("name");
    if (name == nullptr || names.insert(name->text).second) continue;
    report
        .error(
            "E063", name->place, name->path,
            fmt::format("{}: a step before it is named {} too", name->path, in_quotes(name->text)))
        .help = "give it another name: the journal knows a step by it";
  }
}

}  // namespace

StepsHandler build_steps(const View& consumer, const std::string& folder,
                         const SourceConfig& source, Report& report) {
  StepsHandler made;
  for (std::size_t i = 0; i < consumer.in("handler").size("steps"); ++i) {
    const View at = step_at(consumer, i);
    StepConfig& step = made.steps.emplace_back();
    at.fill(step);
    step.call = build_call(at, consumer, folder, source, report);
    if (at.written("undo")) {
      step.undo = build_call(at.in("undo"), consumer, folder, source, report);
      at.in("undo").fill(step);
    }
  }
  return made;
}

void complete_steps(ConsumerConfig& consumer, const View& view) {
  auto* steps = std::get_if<StepsHandler>(&consumer.handler);
  if (steps == nullptr) return;
  for (std::size_t i = 0; i < steps->steps.size(); ++i) {
    StepConfig& step = steps->steps[i];
    complete_step_call(step.call, step_at(view, i), consumer);
    if (step.undo) complete_step_call(*step.undo, step_at(view, i).in("undo"), consumer);
  }
}

void each_step_call(const StepsHandler& steps, const View& consumer, const SeeStepCall& see) {
  std::vector<std::string> answered;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const StepConfig& step = steps.steps[i];
    see(step.call, step_at(consumer, i), answered);
    if (step.undo) see(*step.undo, step_at(consumer, i).in("undo"), {step.name});
    answered.push_back(step.name);
  }
}

void check_steps(const ConsumerConfig& consumer, const View& view, Report& report) {
  const auto* steps = std::get_if<StepsHandler>(&consumer.handler);
  if (steps == nullptr) return;
  const View at = steps_of(view);
  const View handler = view.in("handler");
  if (steps->steps.empty() && !handler.spoiled("steps")) {
    report.error("E017", handler.place("steps"), at.path(), "the list is empty").help =
        "write at least one item";
  }
  if (const auto refused = core::refuse_steps(consumer.strategy);
      refused && !view.spoiled("strategy")) {
    report
        .error("E063", view.place("strategy"), view.path("strategy"),
               fmt::format("{}: {}", view.path("strategy"), *refused))
        .help = "strategy: fence";
  }
  check_names(*steps, view, report);
  each_step_call(*steps, view, [&](const StepCall& call, const View& where, const auto& answered) {
    if (const auto* exec = std::get_if<ExecHandler>(&call)) {
      return check_exec(exec->spec, where.in("exec"), report);
    }
    check_http(consumer, where.in("http"), answered, report);
  });
}

}  // namespace semel::config
