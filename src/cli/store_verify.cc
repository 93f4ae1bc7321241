// store verify: checks that the stored data are consistent.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"

namespace semel::cli {

namespace {

struct VerifyFlags {
  bool full = false;
};

const char* copy_hint(const config::StoreConfig& store) {
  if (std::holds_alternative<PostgresOptions>(store.kind)) {
    return "pg_dump the database before anything else";
  }
  if (std::holds_alternative<MySqlOptions>(store.kind)) {
    return "mariadb-dump --single-transaction the database before anything else";
  }
  if (std::holds_alternative<RedisOptions>(store.kind)) {
    return "redis-cli --rdb FILE before anything else";
  }
  return "cp the file, with its -wal, before anything else";
}

void report_verification_text(Console& console, const Session& session,
                              const std::vector<StoreFinding>& findings, std::ptrdiff_t wrong) {
  for (const StoreFinding& finding : findings) {
    console.out(fmt::format("{}  {}  {}\n    {}\n", finding.wrong ? "wrong" : "note ", finding.what,
                            printable(finding.where), printable(finding.detail)));
  }
  if (wrong == 0) {
    console.out(fmt::format("{}: agrees with itself\n", session.where));
    return;
  }
  console.out(fmt::format("{}: {} wrong\n", session.where,
                          counted(static_cast<std::uint64_t>(wrong), "finding", "findings")));
  console.next(copy_hint(session.config.store));
}

void report_verification_json(Console& console, const Session& session, const VerifyFlags& flags,
                              const std::vector<StoreFinding>& findings, std::ptrdiff_t wrong) {
  json::Writer writer = document("store_verify");
  writer.member("store", session.where).member("full", flags.full);
  writer.member("wrong", wrong).name("findings").begin_array();
  for (const StoreFinding& finding : findings) {
    writer.begin_object()
        .member("wrong", finding.wrong)
        .member("what", finding.what)
        .member("where", finding.where)
        .member("detail", finding.detail)
        .end_object();
  }
  console.out(writer.end_array().end_object());
}

int verify(Console& console, const VerifyFlags& flags) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  const auto findings = session->facets.records->verify(flags.full);
  if (!findings) return console.fail(findings.error());
  const auto wrong =
      std::ranges::count_if(*findings, [](const StoreFinding& finding) { return finding.wrong; });
  if (console.text()) {
    report_verification_text(console, *session, *findings, wrong);
  } else {
    report_verification_json(console, *session, flags, *findings, wrong);
  }
  return wrong == 0 ? kOk : kBad;
}

}  // namespace

void add_store_verify(Program& program, CLI::App& family) {
  auto flags = std::make_shared<VerifyFlags>();
  auto& command =
      program.command({.name = "verify",
                       .description = "Whether what is stored agrees with itself; only reads",
                       .flags = kConfigFlag | kConfigArgument | kOutput | kQuiet,
                       .parent = &family},
                      [flags](Console& console) { return verify(console, *flags); });
  command.add_flag("--full", flags->full,
                   "Every page, and every pair of tables; takes as long as reading the store");
  command.footer("Exit code 1: something is wrong.");
}

}  // namespace semel::cli
