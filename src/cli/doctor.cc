// doctor: compares the live store with the promises of the config.
#include "cli/doctor.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/compose.h"
#include "compose/doctor.h"

namespace semel::cli {

namespace {

void show_report_text(Console& console, const JsonView& report) {
  std::string bad;
  for (const JsonView& check : report.objects("checks")) {
    const std::string code = check.text("code");
    constexpr std::size_t kBelowText = 13;
    console.out_wrapped(
        fmt::format("[{:<4}] {}  {}\n", check.text("grade"), code, printable(check.text("text"))),
        kBelowText);
    const std::string fix = check.text("fix");
    if (!fix.empty()) console.out_wrapped(fmt::format("       fix: {}\n", fix));
    if (bad.empty() && check.text("grade") == "fail") bad = code;
  }
  for (const JsonView& consumer : report.objects("consumers")) {
    console.out_wrapped(fmt::format("\n{}: {}; effect {}; {}\n", consumer.text("name"),
                                    consumer.text("guarantee"), consumer.text("effect"),
                                    consumer.text("loss")));
    for (const std::string& reason : consumer.texts("reasons")) {
      console.out_wrapped(fmt::format("  - {}\n", reason));
    }
  }
  console.next(bad.empty() ? "semel run" : "semel explain " + bad);
}

int doctor(Console& console) {
  if (console.settings().url) return remote_doctor(console);
  auto config = load_store_config(console, Warnings::kAll);
  if (!config) return config.error().code;
  auto session = open_session(console, *std::move(config), Create::kNo);
  if (!session) return session.error().code;
  const auto report = compose::examine(*session->store, session->config);
  if (!report) return console.fail(report.error());
  return show_doctor(console, JsonView(compose::doctor_json(session->config, *report).text()));
}

}  // namespace

int show_doctor(Console& console, const JsonView& report) {
  if (console.text()) {
    show_report_text(console, report);
  } else {
    json::Writer writer;
    console.out(writer.embed(report.written()));
  }
  return report.flag("ok") ? kOk : kBad;
}

void add_doctor(Program& program) {
  program.command({.name = "doctor",
                   .description = "Ask the live store whether it keeps what the config promises",
                   .group = "Config",
                   .flags = kConfigFlag | kConfigArgument | kUrlFlag | kOutput | kQuiet},
                  [](Console& console) { return doctor(console); });
}

}  // namespace semel::cli
