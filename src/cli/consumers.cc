#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/gates.h>

#include "cli/command.h"
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

int list_consumers(Console& console) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto rows = gates_of(*session);
  if (!rows) return console.fail(rows.error());
  if (!console.text()) {
    json::Writer writer = document("consumers").name("consumers").begin_array();
    for (const ConsumerGate& row : *rows) {
      writer.begin_object().member("name", row.name).member("gate", gate_word(row.gate));
      if (row.gate) add_gate(writer, console, *row.gate);
      writer.end_object();
    }
    console.out(writer.end_array().end_object());
    return kOk;
  }
  Table table({"CONSUMER", "GATE", "SINCE", "WHY"});
  for (const ConsumerGate& row : *rows) {
    table.row({row.name, gate_word(row.gate), row.gate ? console.time(row.gate->since) : "",
               row.gate ? printable(row.gate->why) : ""});
  }
  console.out(table.text(console.width()));
  return kOk;
}

struct ChosenConsumer {
  Session session;
  ConsumerNumber number{};
};

// A pause may come before the first run: the consumer gets its number then.
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

// `text`: what is true of it now.
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

int pause(Console& console, const ConsumerFlags& flags) {
  auto chosen = choose_consumer(console, flags);
  if (!chosen) return chosen.error().code;
  Gates& gates = *chosen->session.facets.gates;
  const auto before = gates.state(chosen->number);
  if (!before) return console.fail(before.error());
  const bool paused = *before && !(*before)->until;
  const auto shut = gates.shut(chosen->number, flags.reason.value_or(kNoReason), std::nullopt);
  if (!shut) return console.fail(shut.error());
  std::string text = "is paused";
  if (paused) {
    const bool other = flags.reason && *flags.reason != (*before)->why;
    text = "was paused already";
    if (other) text += ", and keeps its first reason: " + printable((*before)->why, kWhyShown);
  }
  const int code = report_gate(console, flags.name, text, true, !paused);
  console.next("semel consumers resume " + flags.name);
  return code;
}

int resume(Console& console, const ConsumerFlags& flags) {
  auto chosen = choose_consumer(console, flags);
  if (!chosen) return chosen.error().code;
  Gates& gates = *chosen->session.facets.gates;
  const auto before = gates.state(chosen->number);
  if (!before) return console.fail(before.error());
  const auto was_shut = gates.resume(chosen->number);
  if (!was_shut) return console.fail(was_shut.error());
  const bool in_break = *before && (*before)->until;
  const char* text = "was not paused: nothing to resume";
  if (*was_shut) text = in_break ? "is open again, before the end of its break" : "is resumed";
  report_gate(console, flags.name, text, false, *was_shut);
  return *was_shut ? kOk : kNothing;
}

}  // namespace

void add_consumers(Program& program) {
  auto& family = program.family({.name = "consumers",
                                 .description = "Pause consumers and let them go on",
                                 .group = "Operate"});
  const unsigned shared = kConfigFlag | kOutput | kQuiet;
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
      ->type_name("TEXT");
  auto& resuming = program.command({.name = "resume",
                                    .description = "Go on: after a pause, or without waiting for "
                                                   "the end of a break",
                                    .flags = shared,
                                    .parent = &family},
                                   [flags](Console& console) { return resume(console, *flags); });
  resuming.add_option("NAME", flags->name, "The consumer")->required();
}

}  // namespace semel::cli
