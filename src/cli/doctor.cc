// doctor: what the live store says, against what the config promises.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/compose.h"
#include "compose/doctor.h"

namespace semel::cli {

namespace {

void report_findings_text(Console& console, const Session& session,
                          const compose::DoctorReport& report) {
  for (const compose::Finding& finding : report.findings) {
    console.out(
        fmt::format("[{:<4}] {}  {}\n", finding.grade(), finding.code, printable(finding.text)));
    if (!finding.fix.empty()) console.out(fmt::format("       fix: {}\n", finding.fix));
  }
  for (const auto& consumer : session.config.consumers) {
    const Guarantee kept =
        compose::lowered(compose::guarantee_of(session.config, consumer), report.live);
    console.out(fmt::format("\n{}: {}; effect {}; {}\n", consumer.name, to_string(kept.name),
                            to_string(kept.effect), to_string(kept.loss)));
    for (const std::string& reason : kept.reasons) console.out(fmt::format("  - {}\n", reason));
  }
}

int doctor(Console& console) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto report = compose::examine(*session->store, session->config);
  if (!report) return console.fail(report.error());
  if (console.text()) {
    report_findings_text(console, *session, *report);
    const auto bad = std::ranges::find_if_not(report->findings, &compose::Finding::fine);
    console.next(report->good() ? "semel run" : fmt::format("semel explain {}", bad->code));
  } else {
    console.out(compose::doctor_json(session->config, *report));
  }
  return report->good() ? kOk : kBad;
}

}  // namespace

void add_doctor(Program& program) {
  program.command({.name = "doctor",
                   .description = "Ask the live store whether it keeps what the config promises",
                   .group = "Config",
                   .flags = kConfigFlag | kConfigArgument | kOutput | kQuiet},
                  [](Console& console) { return doctor(console); });
}

}  // namespace semel::cli
