// doctor: what the live store says, against what the config promises.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <semel/unit_of_work.h>

#include "cli/command.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/live.h"
#include "core/key_encoding.h"
#include "core/retention.h"

namespace semel::cli {

namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

struct Finding {
  std::string code;
  bool fine = true;
  std::string text;
  std::string fix;
  bool note = false;  // neither fine nor bad: not known, or accepted

  const char* grade() const noexcept {
    if (note) return "note";
    return fine ? "ok" : "fail";
  }
};

Finding failed(std::string code, const Error& error) {
  return {std::move(code), false, error.message, error.hint};
}

// Stands for a key that no message has.
Message no_message(ConsumerNumber consumer) {
  Message::Parts parts;
  parts.key.id = core::encode_refused(consumer, "semel doctor", {}, {});
  parts.key.text = "semel doctor";
  return Message(std::move(parts));
}

// Claims it in a transaction that is undone.
Result<void> claim_and_undo(TransactionalStore& store, const Message& message) {
  auto unit = store.begin({});
  if (!unit) return failure(std::move(unit.error()));
  const Message* const one = &message;
  auto claims = (*unit)->claim({&one, 1});
  if (!claims) return failure(std::move(claims.error()));
  return {};
}

// The time of each probe, in milliseconds. Where no consumer is attached, and in a store without
// transactions, the key is only looked for.
Result<std::vector<double>> probe(Session& session, std::optional<ConsumerNumber> attached) {
  constexpr int kTimes = 20;
  const Message message = no_message(attached.value_or(ConsumerNumber{0}));
  std::vector<double> took;
  for (int i = 0; i < kTimes; ++i) {
    const auto began = steady_clock::now();
    if (attached && session.facets.transactional != nullptr) {
      auto claimed = claim_and_undo(*session.facets.transactional, message);
      if (!claimed) return failure(std::move(claimed.error()));
    } else if (auto found = session.facets.records->show(message.key().id); !found) {
      return failure(std::move(found.error()));
    }
    took.push_back(duration<double, std::milli>(steady_clock::now() - began).count());
  }
  std::sort(took.begin(), took.end());
  return took;
}

Finding store_works(Session& session) {
  std::optional<ConsumerNumber> attached;
  for (const auto& consumer : session.config.consumers) {
    const auto number = compose::known_number(*session.store, consumer);
    if (!number) return failed("D101", number.error());
    if (!attached) attached = *number;
  }
  const auto took = probe(session, attached);
  if (!took) return failed("D101", took.error());
  const auto stats = session.facets.records->stats();
  if (!stats) return failed("D101", stats.error());
  const bool claimed = attached && session.facets.transactional != nullptr;
  return {"D101",
          true,
          fmt::format("{}: schema {}; a key {} in {:.1f} ms, 95 % within {:.1f} ms", session.where,
                      stats->schema_version, claimed ? "claimed, and that undone," : "looked for",
                      (*took)[took->size() / 2], (*took)[took->size() * 95 / 100]),
          {}};
}

void add_settings(const compose::Live& live, std::vector<Finding>& findings) {
  for (const LiveSetting& setting : live.settings) {
    const std::string what = fmt::format("{} = {}", setting.name, setting.value);
    if (setting.risk.empty()) {
      findings.push_back({"D131", true, what, {}});
    } else {
      findings.push_back({"D131", false, what + ": " + setting.risk, setting.fix});
    }
  }
}

void add_idle_rules(const std::vector<compose::IdleRule>& idle, std::vector<Finding>& findings) {
  for (const compose::IdleRule& one : idle) {
    findings.push_back({"D137", false,
                        fmt::format("{}: {}: the store's database has no unique constraint {}",
                                    one.consumer, one.path, one.constraint),
                        "name one as table(column, …) or by its own name, or make it"});
  }
}

void add_flaws(const config::StoreConfig& store, std::vector<Finding>& findings) {
  const auto flaws = compose::standing_flaws(store);
  if (!flaws) return findings.push_back(failed("D136", flaws.error()));
  for (const SqliteFlaw& flaw : *flaws) findings.push_back({"D136", false, flaw.text, flaw.fix});
}

// What is fine is told once for a consumer.
void add_statements(const compose::Live& live, std::vector<Finding>& findings) {
  std::map<std::string, int> fine;
  for (const auto& checked : live.statements) {
    const auto refused = compose::refuse(checked);
    if (refused) {
      ++fine[checked.consumer];
    } else {
      findings.push_back(failed(refused.error().code, refused.error()));
    }
  }
  for (const auto& [consumer, count] : fine) {
    findings.push_back(
        {"D133",
         true,
         fmt::format("{}: {} of its statements {} what {} in the store's database", consumer, count,
                     count == 1 ? "finds" : "find", count == 1 ? "it needs" : "they need"),
         {}});
  }
}

std::string kept_text(const compose::LiveHorizon& live) {
  std::string text = fmt::format(
      "{}: {}; records are kept {}", live.consumer,
      live.horizon.longest
          ? fmt::format("{} ({})", live.horizon.said, core::duration_text(*live.horizon.longest))
          : live.horizon.said,
      live.retention.ttl ? "for " + core::duration_text(*live.retention.ttl) : "for ever");
  if (live.offsets) {
    text += fmt::format("; a group without members has its offsets for {}, then it begins at {}",
                        core::duration_text(*live.offsets), live.from);
  }
  return text;
}

Finding ttl_is_enough(const compose::LiveHorizon& live) {
  if (live.error) {
    Finding made = failed(live.error->code, *live.error);
    made.text = fmt::format("{}: {}", live.consumer, made.text);
    return made;
  }
  const auto bad = core::too_short(live.retention, live.horizon);
  if (!bad && !live.horizon.known && live.retention.ttl) {
    return {"D102", true, fmt::format("{}: {}", live.consumer, live.horizon.said), {}, true};
  }
  if (!bad) return {"D102", true, kept_text(live), {}};
  if (live.retention.accepted) return {"D102", true, kept_text(live) + ": accepted", {}, true};
  Finding made = failed("D102", *bad);
  made.text = fmt::format("{}: {}", live.consumer, made.text);
  return made;
}

void report_findings_text(Console& console, const Session& session,
                          const std::vector<Finding>& findings, const compose::Live& live) {
  for (const Finding& finding : findings) {
    console.out(
        fmt::format("[{:<4}] {}  {}\n", finding.grade(), finding.code, printable(finding.text)));
    if (!finding.fix.empty()) console.out(fmt::format("       fix: {}\n", finding.fix));
  }
  for (const auto& consumer : session.config.consumers) {
    const Guarantee kept = compose::lowered(compose::guarantee_of(session.config, consumer), live);
    console.out(fmt::format("\n{}: {}; effect {}; {}\n", consumer.name, to_string(kept.name),
                            to_string(kept.effect), to_string(kept.loss)));
    for (const std::string& reason : kept.reasons) console.out(fmt::format("  - {}\n", reason));
  }
}

void report_findings_json(Console& console, const Session& session,
                          const std::vector<Finding>& findings, const compose::Live& live,
                          bool good) {
  json::Writer writer = document("doctor");
  writer.member("store", session.where).member("ok", good).name("checks").begin_array();
  for (const Finding& finding : findings) {
    writer.begin_object()
        .member("code", finding.code)
        .member("grade", finding.grade())
        .member("text", finding.text)
        .member("fix", finding.fix)
        .end_object();
  }
  writer.end_array().name("consumers").begin_array();
  for (const auto& consumer : session.config.consumers) {
    const Guarantee kept = compose::lowered(compose::guarantee_of(session.config, consumer), live);
    writer.begin_object()
        .member("name", consumer.name)
        .member("guarantee", to_string(kept.name))
        .member("effect", to_string(kept.effect))
        .member("loss", to_string(kept.loss));
    writer.name("reasons").begin_array();
    for (const std::string& reason : kept.reasons) writer.value(reason);
    writer.end_array().end_object();
  }
  console.out(writer.end_array().end_object());
}

int doctor(Console& console) {
  auto session = open_session(console);
  if (!session) return session.error().code;
  std::vector<Finding> findings = {store_works(*session)};
  auto live = compose::look_live(*session->store, session->config);
  if (!live) return console.fail(live.error());
  add_settings(*live, findings);
  add_statements(*live, findings);
  auto idle = compose::look_rules(*session->store, session->config);
  if (!idle) return console.fail(idle.error());
  add_idle_rules(*idle, findings);
  add_flaws(session->config.store, findings);
  for (const auto& one : compose::look_horizons(session->config)) {
    findings.push_back(ttl_is_enough(one));
  }
  const auto bad = std::ranges::find_if_not(findings, &Finding::fine);
  const bool good = bad == findings.end();
  if (console.text()) {
    report_findings_text(console, *session, findings, *live);
    console.next(good ? "semel run" : fmt::format("semel explain {}", bad->code));
  } else {
    report_findings_json(console, *session, findings, *live, good);
  }
  return good ? kOk : kBad;
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
