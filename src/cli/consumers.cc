#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/gates.h>

#include "cli/command.h"
#include "cli/remote.h"
#include "cli/remote_read.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/views.h"
#include "compose/compose.h"

namespace semel::cli {

namespace {

struct ConsumerFlags {
  std::string name;
  std::optional<std::string> reason;
};

constexpr const char* kNoReason = "by an operator";
constexpr std::size_t kWhyShown = 80;

struct ConsumerGate {
  std::string name;
  std::optional<ShutGate> gate;
};

Result<std::vector<ConsumerGate>> gates_of(const Session& session) {
  std::vector<ConsumerGate> rows;
  for (const auto& consumer : session.config.consumers) {
    ConsumerGate row;
    row.name = consumer.name;
    const auto number = session.facets.records->consumer(consumer.name);
    if (!number) return failure(number.error());
    if (*number) {
      auto gate = session.facets.gates->state(**number);
      if (!gate) return failure(std::move(gate.error()));
      row.gate = *std::move(gate);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int show_gates(Console& console, const std::vector<ConsumerGate>& rows) {
  if (!console.text()) {
    json::Writer writer = document("consumers").name("consumers").begin_array();
    for (const ConsumerGate& row : rows) {
      writer.begin_object().member("name", row.name).member("gate", gate_word(row.gate));
      if (row.gate) add_gate(writer, console, *row.gate);
      writer.end_object();
    }
    console.out(writer.end_array().end_object());
    return kOk;
  }
  Table table({"CONSUMER", "GATE", "SINCE", "WHY"});
  table.may_cut(0, kConsumerLeast);
  constexpr std::size_t kSince = 2, kWhy = 3;
  constexpr std::size_t kWhyLeast = 12;
  table.may_cut(kWhy, kWhyLeast);
  table.may_leave_out(kSince);
  for (const ConsumerGate& row : rows) {
    table.row({row.name, gate_word(row.gate), row.gate ? console.time(row.gate->since) : "",
               row.gate ? printable(row.gate->why) : ""});
  }
  console.out(table);
  return kOk;
}

// The consumers of the run that --url names.
OrEnded<std::vector<ConsumerGate>> remote_gates(Console& console) {
  auto run = Remote::open(console);
  if (!run) return ended(run.error().code);
  const auto document = run->get("status");
  if (!document) return ended(console.fail(document.error()));
  std::vector<ConsumerGate> rows;
  for (operate::ConsumerStatus& consumer : status_from(*document).consumers) {
    if (consumer.state == operate::kRemoved) continue;
    rows.push_back({std::move(consumer.name), std::move(consumer.gate)});
  }
  return rows;
}

int list_consumers(Console& console) {
  if (console.settings().url) {
    const auto rows = remote_gates(console);
    return rows ? show_gates(console, *rows) : rows.error().code;
  }
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto rows = gates_of(*session);
  return rows ? show_gates(console, *rows) : console.fail(rows.error());
}

struct ChosenConsumer {
  Session session;
  ConsumerNumber number{};
};

// The first pause may come before the first run: then the consumer gets its number here.
OrEnded<ChosenConsumer> choose_consumer(Console& console, const ConsumerFlags& flags) {
  auto config = load_config(console);
  if (!config) return tl::unexpected<Ended>(config.error());
  const auto consumer = find_consumer(console, *config, flags.name);
  if (!consumer) return tl::unexpected<Ended>(consumer.error());
  auto session = open_session(console, *std::move(config), Create::kNo);
  if (!session) return tl::unexpected<Ended>(session.error());
  const auto number = compose::attach(*session->store, *session->config.find(flags.name));
  if (!number) return tl::unexpected<Ended>(Ended{console.fail(number.error())});
  return ChosenConsumer{*std::move(session), *number};
}

// `text`: the gate's state after the command.
int report_gate(Console& console, const std::string& name, std::string_view text, bool paused,
                bool changed) {
  if (console.text()) {
    console.out(fmt::format("{} {}\n", name, text));
  } else {
    console.out(document("consumer")
                    .member("name", name)
                    .member("gate", paused ? "paused" : "open")
                    .member("changed", changed)
                    .end_object());
  }
  return kOk;
}

constexpr const char* kOpenEarly = "is open again, before the end of its break";
constexpr const char* kResumed = "is resumed";
constexpr const char* kWasOpen = "was not paused: nothing to resume";

std::string already_paused(const ConsumerFlags& flags, const std::string& first_reason) {
  std::string text = "was paused already";
  if (flags.reason && *flags.reason != first_reason) {
    text += ", and keeps its first reason: " + printable(first_reason, kWhyShown);
  }
  return text;
}

// A consumer of the run that --url names, with its gate before the change.
struct RemoteConsumer {
  Remote run;
  std::optional<ShutGate> before;
};

OrEnded<RemoteConsumer> choose_remote(Console& console, const ConsumerFlags& flags) {
  auto run = Remote::open(console);
  if (!run) return ended(run.error().code);
  if (const auto named = run->consumers(console, flags.name); !named) {
    return ended(named.error().code);
  }
  const auto document = run->get("status");
  if (!document) return ended(console.fail(document.error()));
  RemoteConsumer made{*std::move(run), std::nullopt};
  for (operate::ConsumerStatus& consumer : status_from(*document).consumers) {
    if (consumer.name == flags.name) made.before = std::move(consumer.gate);
  }
  return made;
}

int remote_pause(Console& console, const ConsumerFlags& flags) {
  auto chosen = choose_remote(console, flags);
  if (!chosen) return chosen.error().code;
  json::Writer body;
  body.begin_object();
  if (flags.reason) body.member("reason", *flags.reason);
  const auto done =
      chosen->run.post("consumers/" + path_part(flags.name) + "/pause", body.end_object());
  if (!done) return console.fail(done.error());
  const bool changed = done->flag("changed");
  const std::string first = chosen->before ? chosen->before->why : flags.reason.value_or("");
  return report_gate(console, flags.name, changed ? "is paused" : already_paused(flags, first),
                     true, changed);
}

int remote_resume(Console& console, const ConsumerFlags& flags) {
  auto chosen = choose_remote(console, flags);
  if (!chosen) return chosen.error().code;
  json::Writer body;
  const auto done = chosen->run.post("consumers/" + path_part(flags.name) + "/resume",
                                     body.begin_object().end_object());
  if (!done) return console.fail(done.error());
  const bool changed = done->flag("changed");
  const bool in_break = chosen->before && chosen->before->until;
  report_gate(console, flags.name,
              !changed   ? kWasOpen
              : in_break ? kOpenEarly
                         : kResumed,
              false, changed);
  return changed ? kOk : kNothing;
}

// Drains the consumer in one process; the store does not record that.
int drain(Console& console, const ConsumerFlags& flags) {
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  if (const auto named = run->consumers(console, flags.name); !named) return named.error().code;
  json::Writer body;
  body.begin_object();
  if (flags.reason) body.member("reason", *flags.reason);
  const auto done = run->post("consumers/" + path_part(flags.name) + "/drain", body.end_object());
  if (!done) return console.fail(done.error());
  if (!console.text()) {
    out_document(console, *done);
    return kOk;
  }
  const std::string state = done->text("state");
  const std::int64_t in_flight = done->number("in_flight").value_or(0);
  std::string text = done->flag("changed") ? "is " + state : "was drained already: " + state;
  if (in_flight > 0) text += fmt::format(", {} in flight", in_flight);
  console.out(fmt::format("{} {}\n", flags.name, text));
  console.next("semel consumers resume " + flags.name);
  return kOk;
}

int pause(Console& console, const ConsumerFlags& flags) {
  if (console.settings().url) return remote_pause(console, flags);
  auto chosen = choose_consumer(console, flags);
  if (!chosen) return chosen.error().code;
  Gates& gates = *chosen->session.facets.gates;
  const auto before = gates.state(chosen->number);
  if (!before) return console.fail(before.error());
  const bool paused = *before && !(*before)->until;
  const auto shut = gates.shut(chosen->number, flags.reason.value_or(kNoReason), std::nullopt);
  if (!shut) return console.fail(shut.error());
  const std::string text = paused ? already_paused(flags, (*before)->why) : "is paused";
  const int code = report_gate(console, flags.name, text, true, !paused);
  console.next("semel consumers resume " + flags.name);
  return code;
}

int resume(Console& console, const ConsumerFlags& flags) {
  if (console.settings().url) return remote_resume(console, flags);
  auto chosen = choose_consumer(console, flags);
  if (!chosen) return chosen.error().code;
  Gates& gates = *chosen->session.facets.gates;
  const auto before = gates.state(chosen->number);
  if (!before) return console.fail(before.error());
  const auto was_shut = gates.resume(chosen->number);
  if (!was_shut) return console.fail(was_shut.error());
  const bool in_break = *before && (*before)->until;
  const char* const text = !*was_shut ? kWasOpen : in_break ? kOpenEarly : kResumed;
  report_gate(console, flags.name, text, false, *was_shut);
  return *was_shut ? kOk : kNothing;
}

}  // namespace

void add_consumers(Program& program) {
  auto& family = program.family({.name = "consumers",
                                 .description = "Pause, drain and resume consumers",
                                 .group = "Operate"});
  const unsigned shared = kConfigFlag | kUrlFlag | kOutput | kQuiet;
  program.command({.name = "list",
                   .description = "The consumers, and which of them begin nothing for now",
                   .flags = shared | kConfigArgument | kTime,
                   .parent = &family},
                  [](Console& console) { return list_consumers(console); });
  auto flags = std::make_shared<ConsumerFlags>();
  auto& pausing = program.command({.name = "pause",
                                   .description = "Begin no message until it is resumed, in every "
                                                  "process and after a restart too",
                                   .flags = shared,
                                   .parent = &family},
                                  [flags](Console& console) { return pause(console, *flags); });
  pausing.add_option("NAME", flags->name, "The consumer")->required();
  pausing.add_option("--reason", flags->reason, "Shown by status (default: by an operator)")
      ->option_text("TEXT");
  auto& draining = program.command(
      {.name = "drain",
       .description = "Finish what the run at --url has of it and receive nothing more, until it "
                      "is resumed or the run ends",
       .flags = kUrlFlag | kOutput | kQuiet,
       .parent = &family},
      [flags](Console& console) { return drain(console, *flags); });
  draining.add_option("NAME", flags->name, "The consumer")->required();
  draining.add_option("--reason", flags->reason, "Kept in the audit log of the run")
      ->option_text("TEXT");
  auto& resuming = program.command({.name = "resume",
                                    .description = "Go on: after a pause, with --url after a drain "
                                                   "too, or without waiting for the end of a "
                                                   "break",
                                    .flags = shared,
                                    .parent = &family},
                                   [flags](Console& console) { return resume(console, *flags); });
  resuming.add_option("NAME", flags->name, "The consumer")->required();
}

}  // namespace semel::cli
