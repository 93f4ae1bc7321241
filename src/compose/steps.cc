#include "compose/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_scan.h"
#include "core/key_encoding.h"
#include "core/verdict_details.h"
#include "handlers/exec/exec_handler.h"
#include "handlers/http/http_handler.h"

namespace semel::compose {

namespace {

using std::chrono::milliseconds;

// The result of an endpoint's call is judged a moment after its time limit.
constexpr milliseconds kJudgedAfter{1'000};

// Makes the call of a step, or of its undo, to an endpoint or a command.
Result<handlers::HttpCall> call_of(const config::StepCall& call, bool undoes,
                                   Environment& environment) {
  if (const auto* http = std::get_if<config::HttpHandler>(&call)) {
    core::HttpSpec spec = http->spec;
    spec.undoes = undoes;
    return handlers::make_http_call(std::move(spec), environment);
  }
  auto exec = handlers::make_exec_handler(std::get<config::ExecHandler>(call).spec);
  if (!exec) return failure(std::move(exec.error()));
  return handlers::HttpCall(
      [exec = *std::move(exec)](const handlers::HttpRequest& request, const Attempt& attempt,
                                Completion done) { exec(request.sent, attempt, std::move(done)); });
}

bool honours_key(const config::StepCall& call) {
  return std::visit([](const auto& handler) { return handler.spec.honours_key; }, call);
}

milliseconds longest_call(const config::StepCall& call) {
  if (const auto* exec = std::get_if<config::ExecHandler>(&call)) {
    return handlers::longest_exec_call(exec->spec);
  }
  return std::get<config::HttpHandler>(call).spec.timeout + kJudgedAfter;
}

// The request that is sent to a step's service instead of the message.
struct Body {
  Bytes payload;
  std::string content_type;
};
using Answers = core::StepAnswers;

void add_bytes(json::Writer& writer, std::string_view name, BytesView bytes) {
  if (json::validate(bytes)) {
    writer.name(name).embed(bytes);
  } else {
    writer.bytes(name, bytes);
  }
}

// The body is the same at each try, like the key: the answers come from the journal.
Body body_with(const Answers& answers, const Message& message) {
  json::Writer writer;
  writer.begin_object();
  add_bytes(writer, "message", message.payload());
  writer.name("answers").begin_object();
  for (const auto& [name, answer] : answers) add_bytes(writer, name, answer);
  writer.end_object().end_object();
  return {writer.text(), "application/json"};
}

Body body_of(bool with_answers, const Answers& answers, const Message& message) {
  if (with_answers) return body_with(answers, message);
  return {Bytes(message.payload()), std::string(message.content_type())};
}

// The message as the step's service sees it: under the step's key.
Message keyed(const Message& message, const Bytes& key, Body body) {
  Message::Parts parts;
  parts.key = {key, core::encode_key(message.key().id.consumer(), key)};
  parts.fingerprint = message.fingerprint();
  parts.ordering_key = message.ordering_key();
  parts.payload = std::move(body.payload);
  parts.content_type = std::move(body.content_type);
  parts.type = message.type();
  parts.headers = message.headers();
  parts.age = message.age();
  parts.span = message.span();
  return Message(std::move(parts));
}

// Makes the call and waits for its answer.
Verdict answer_of(const handlers::HttpCall& call, const handlers::HttpRequest& request,
                  const Attempt& attempt) {
  Attempt own = attempt;
  own.steps = nullptr;
  const auto told = std::make_shared<std::promise<std::optional<Verdict>>>();
  auto answer = told->get_future();
  call(request, own,
       Completion([told](std::optional<Verdict> verdict) { told->set_value(std::move(verdict)); }));
  if (auto verdict = answer.get()) return *std::move(verdict);
  Verdict::Retry dropped;
  dropped.reason = "the call was given up without an answer";
  dropped.unknown = true;
  return dropped;
}

struct Step {
  std::string name;
  handlers::HttpCall call;
  bool answers;
};

Verdict run_all(const std::vector<Step>& steps, const Message& message, const Attempt& attempt) {
  if (attempt.steps == nullptr) throw std::logic_error("steps without a journal");
  Answers answers;
  for (const Step& step : steps) {
    Steps::Begun begun = attempt.steps->begin(step.name, {}, {});
    if (begun.result) {
      answers.emplace_back(step.name, *std::move(begun.result));
      continue;
    }
    const Message sent = keyed(message, begun.key, body_of(step.answers, answers, message));
    Verdict verdict = answer_of(step.call, {sent, message, answers}, attempt);
    const auto name_step = [&](auto& failed) {
      failed.reason = fmt::format("step {}: {}", step.name, failed.reason);
    };
    core::change_details<Verdict::Retry>(verdict, name_step);
    core::change_details<Verdict::Dead>(verdict, name_step);
    const auto kind = verdict.kind();
    if (kind == Verdict::Kind::kRetry || kind == Verdict::Kind::kDead) return verdict;
    // A step that had nothing to do counts as done.
    attempt.steps->finish(step.name, {}, {}, verdict.result());
    answers.emplace_back(step.name, verdict.result());
  }
  return done(answers.empty() ? Bytes() : std::move(answers.back().second));
}

}  // namespace

Result<StepWork> make_steps(const config::StepsHandler& steps, Environment& environment) {
  StepWork made;
  auto calls = std::make_shared<std::vector<Step>>();
  for (const config::StepConfig& step : steps.steps) {
    auto call = call_of(step.call, false, environment);
    if (!call) return failure(std::move(call.error()));
    calls->push_back({step.name, *std::move(call), step.answers});
    StepSpec& spec = made.specs.emplace_back();
    spec.name = step.name;
    if (!step.undo) continue;
    auto undo = call_of(*step.undo, true, environment);
    if (!undo) return failure(std::move(undo.error()));
    spec.undo = [call = *std::move(undo), answers = step.undo_answers](
                    const Message& message, const StepUndo& what, const Attempt& attempt) {
      const Answers own = {{what.name, what.result}};
      const Message sent = keyed(message, what.key, body_of(answers, own, message));
      return answer_of(call, {sent, message, own}, attempt);
    };
  }
  made.handler = [calls](const Message& message, const Attempt& attempt) {
    return run_all(*calls, message, attempt);
  };
  return made;
}

milliseconds longest_run(const config::StepsHandler& steps) {
  milliseconds all{0};
  for (const config::StepConfig& step : steps.steps) {
    milliseconds longest = longest_call(step.call);
    if (step.undo) longest = std::max(longest, longest_call(*step.undo));
    all += longest;
  }
  return all;
}

core::StepFacts step_facts(const config::StepsHandler& steps) {
  core::StepFacts facts;
  for (const config::StepConfig& step : steps.steps) {
    if (!honours_key(step.call)) facts.keyless.push_back(step.name);
    if (!step.undo) facts.without_undo.push_back(step.name);
  }
  return facts;
}

}  // namespace semel::compose
