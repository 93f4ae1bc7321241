// Acts on the run itself: reload its config, drain one of its consumers.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/audited.h"
#include "admin/problem.h"
#include "admin/write_body.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "operate/views.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr int kTakenUp = 202;
constexpr int kWrongConfig = 422;

void add_value(json::Writer& writer, std::string_view name,
               const std::optional<std::string>& value) {
  writer.name(name);
  if (value) {
    writer.value(*value);
  } else {
    writer.null();
  }
}

HttpResponse changes_answer(const config::Difference& difference, bool dry_run) {
  json::Writer writer = operate::document("reload");
  writer.member("dry_run", dry_run).member("tokens", difference.tokens);
  writer.member("shown", difference.shown);
  writer.name("consumers").begin_array();
  for (const config::ConsumerChange& change : difference.consumers) {
    writer.begin_object().member("name", change.consumer);
    writer.member("change", to_string(change.kind)).name("values").begin_array();
    for (const config::ValueChange& value : change.values) {
      writer.begin_object().member("path", value.path);
      add_value(writer, "from", value.from);
      add_value(writer, "to", value.to);
      writer.end_object();
    }
    writer.end_array().end_object();
  }
  writer.end_array().name("unchanged").begin_array();
  for (const std::string& name : difference.unchanged) writer.value(name);
  writer.end_array().end_object();
  HttpResponse made = json_answer(writer.text());
  if (!dry_run && !difference.nothing()) made.status = kTakenUp;
  return made;
}

std::string changes_text(const config::Difference& difference) {
  if (difference.nothing()) return "nothing done: nothing has changed";
  std::vector<std::string> words;
  for (const config::ConsumerChange& change : difference.consumers) {
    words.push_back(fmt::format("{} {}", change.consumer, to_string(change.kind)));
  }
  if (difference.tokens) words.emplace_back("tokens");
  if (difference.shown) words.emplace_back("what the listener shows");
  return fmt::format("taken up: {}", fmt::join(words, ", "));
}

HttpResponse refusal_answer(const ReloadRefusal& refusal) {
  const int status = refusal.diagnostics.empty() ? status_of(refusal.error) : kWrongConfig;
  return problem_of_config(status, refusal.error, refusal.diagnostics);
}

ActEnd reload_end(const ApiSources& sources) {
  const Reloaded reloaded = sources.reload(false);
  if (reloaded) return {changes_answer(*reloaded, false), changes_text(*reloaded)};
  const Error& error = reloaded.error().error;
  return {refusal_answer(reloaded.error()),
          fmt::format("refused: {}: {}", error.code, error.message)};
}

HttpResponse no_reload() {
  return problem(409, {ErrorKind::kRejected, "R357", "this run takes up no other config",
                       "start another one with it"});
}

std::string_view last_word(ReloadState::Last last) noexcept {
  switch (last) {
    case ReloadState::Last::kNone:
      return "none";
    case ReloadState::Last::kTaken:
      return "taken";
    case ReloadState::Last::kRefused:
      break;
  }
  return "refused";
}

HttpResponse drain_answer(const std::string& name, const DrainState& state) {
  json::Writer writer = operate::document("consumer_drain");
  writer.member("name", name).member("state", state.phase);
  writer.member("in_flight", state.in_flight).member("changed", state.changed).end_object();
  return json_answer(writer.text());
}

int status_of_drain(const Error& error) noexcept {
  return error.code == "R343" ? 404 : status_of(error);
}

ActEnd drain_end(const std::string& name, const Result<DrainState>& drained) {
  if (!drained) {
    return {problem(status_of_drain(drained.error()), drained.error()),
            "failed: " + drained.error().message};
  }
  return {drain_answer(name, *drained),
          drained->changed ? "drains" : "nothing done: it was so already"};
}

}  // namespace

namespace api {

HttpResponse reload(const ApiCall& call, const ApiSources& sources) {
  const auto body = write_body(call);
  if (!body) return body.error();
  if (!sources.reload) return no_reload();
  if (body->dry_run) {
    const Reloaded reloaded = sources.reload(true);
    return reloaded ? changes_answer(*reloaded, true) : refusal_answer(reloaded.error());
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    return audited(call, access, {"reload", access.config.file, body->reason},
                   [&] { return reload_end(sources); });
  });
}

HttpResponse show_reload(const ApiCall& call, const ApiSources& sources) {
  if (!sources.reload_state) return no_reload();
  const ReloadState state = sources.reload_state();
  json::Writer writer = operate::document("reload_state");
  writer.member("last", last_word(state.last));
  if (state.last != ReloadState::Last::kNone) writer.member("at", iso_time(state.at));
  if (!state.code.empty()) writer.member("code", state.code);
  if (!state.error.empty() && call.has(core::Role::kAdmin)) writer.member("error", state.error);
  writer.member("in_effect", state.waits_for.empty()).name("waits_for").begin_array();
  for (const std::string& name : state.waits_for) writer.value(name);
  writer.end_array().member("taken", state.taken).member("refused", state.refused);
  writer.member("taken_at", iso_time(state.taken_at)).end_object();
  return json_answer(writer.text());
}

HttpResponse drain_consumer(const ApiCall& call, const ApiSources& sources) {
  const auto body = write_body(call);
  if (!body) return body.error();
  const std::string& name = call.path[0];
  return with_store(sources, [&](const operate::StoreAccess& access) {
    return audited(call, access, {"consumers.drain", operate::printable(name), body->reason},
                   [&] { return drain_end(name, sources.drain(name)); });
  });
}

}  // namespace api

}  // namespace semel::admin
