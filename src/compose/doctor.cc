#include "compose/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <semel/admin/records.h>
#include <semel/spi/unit_of_work.h>

#include "compose/compose.h"
#include "compose/nats_findings.h"
#include "compose/rabbitmq_findings.h"
#include "core/key_encoding.h"
#include "core/retention.h"
#include "operate/views.h"

namespace semel::compose {

namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

struct Examined {
  Store& store;
  const config::Config& config;
  std::string where;
};

// A placeholder for a key that no message has.
Message no_message(ConsumerNumber consumer) {
  Message::Parts parts;
  parts.key.id = core::encode_refused(consumer, "semel doctor", {}, {});
  parts.key.text = "semel doctor";
  return Message(std::move(parts));
}

// Claims the key of a message in a transaction that is undone.
Result<void> claim_and_undo(TransactionalStore& store, const Message& message) {
  auto unit = store.begin({});
  if (!unit) return failure(std::move(unit.error()));
  const Message* const one = &message;
  auto claims = (*unit)->claim({&one, 1});
  if (!claims) return failure(std::move(claims.error()));
  return {};
}

// Returns the time of each probe in milliseconds. If no consumer is attached, or the store has no
// transactions, the key is only looked up.
Result<std::vector<double>> probe(const Examined& examined,
                                  std::optional<ConsumerNumber> attached) {
  constexpr int kTimes = 20;
  const Message message = no_message(attached.value_or(ConsumerNumber{0}));
  std::vector<double> took;
  for (int i = 0; i < kTimes; ++i) {
    const auto began = steady_clock::now();
    if (attached && examined.store.facets().transactional != nullptr) {
      auto claimed = claim_and_undo(*examined.store.facets().transactional, message);
      if (!claimed) return failure(std::move(claimed.error()));
    } else if (auto found = examined.store.facets().records->show(message.key().id); !found) {
      return failure(std::move(found.error()));
    }
    took.push_back(duration<double, std::milli>(steady_clock::now() - began).count());
  }
  std::sort(took.begin(), took.end());
  return took;
}

Finding store_works(const Examined& examined) {
  std::optional<ConsumerNumber> attached;
  for (const auto& consumer : examined.config.consumers) {
    const auto number = known_number(examined.store, consumer);
    if (!number) return failed("D101", number.error());
    if (!attached) attached = *number;
  }
  const auto took = probe(examined, attached);
  if (!took) return failed("D101", took.error());
  const auto stats = examined.store.facets().records->stats();
  if (!stats) return failed("D101", stats.error());
  const bool claimed = attached && examined.store.facets().transactional != nullptr;
  return {"D101",
          true,
          fmt::format("{}: schema {}; a key {} in {:.1f} ms, 95 % within {:.1f} ms", examined.where,
                      stats->schema_version, claimed ? "claimed, and that undone," : "looked for",
                      (*took)[took->size() / 2], (*took)[took->size() * 95 / 100]),
          {}};
}

void add_settings(const Live& live, std::vector<Finding>& findings) {
  for (const LiveSetting& setting : live.settings) {
    const std::string what = fmt::format("{} = {}", setting.name, setting.value);
    if (setting.risk.empty()) {
      findings.push_back({"D131", true, what, {}});
    } else {
      findings.push_back({"D131", false, what + ": " + setting.risk, setting.fix});
    }
  }
}

void add_idle_rules(const std::vector<IdleRule>& idle, std::vector<Finding>& findings) {
  for (const IdleRule& one : idle) {
    findings.push_back({"D137", false,
                        fmt::format("{}: {}: the store's database has no unique constraint {}",
                                    one.consumer, one.path, one.constraint),
                        "name one as table(column, …) or by its own name, or make it"});
  }
}

void add_flaws(const config::StoreConfig& store, std::vector<Finding>& findings) {
  const auto flaws = standing_flaws(store);
  if (!flaws) return findings.push_back(failed("D136", flaws.error()));
  for (const SqliteFlaw& flaw : *flaws) findings.push_back({"D136", false, flaw.text, flaw.fix});
}

// Correct statements are reported only once for each consumer.
void add_statements(const Live& live, std::vector<Finding>& findings) {
  std::map<std::string, int> fine;
  for (const auto& checked : live.statements) {
    const auto refused = refuse(checked);
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

std::string kept_text(const LiveHorizon& live) {
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

Finding ttl_is_enough(const LiveHorizon& live) {
  if (live.error) {
    return failed_for(live.consumer, live.error->code, *live.error);
  }
  const auto bad = core::too_short(live.retention, live.horizon);
  if (!bad && !live.horizon.known && live.retention.ttl) {
    return {"D102", true, fmt::format("{}: {}", live.consumer, live.horizon.said), {}, true};
  }
  if (!bad) return {"D102", true, kept_text(live), {}};
  if (live.retention.accepted) return {"D102", true, kept_text(live) + ": accepted", {}, true};
  return failed_for(live.consumer, "D102", *bad);
}

// States which dead letter queue gets a message that crashes its process: that of SQS or Semel's.
Finding dead_letters_first(const LiveHorizon& live) {
  const core::SqsRedrive& redrive = *live.redrive;
  const auto needed = core::deliveries_before_given_up(live.crashes);
  std::string text = fmt::format(
      "{}: SQS gives a message to {} after {} receives; the consumer gives one that "
      "crashes its process up after {}",
      live.consumer, redrive.target, redrive.most_receives, needed);
  if (!core::redrives_first(redrive, live.crashes)) return {"D122", true, std::move(text), {}};
  return {"D122", false, std::move(text),
          fmt::format("maxReceiveCount {} or more, better {}, or a lower retry.crashes", needed,
                      core::generous_deliveries(live.crashes))};
}

void add_group(const LiveGroup& live, std::vector<Finding>& findings) {
  if (live.error) {
    findings.push_back(failed_for(live.consumer, live.error->code, *live.error));
    return;
  }
  const auto add = [&](const std::string& text, std::string fix, bool note) {
    findings.push_back({"D138", true, live.consumer + ": " + text, std::move(fix), note});
  };
  add(fmt::format("group {} of the stream {} has {} entries unread and {} pending", live.group,
                  live.stream, live.unread, live.pending),
      {}, false);
  if (live.with_record) {
    add(fmt::format("entries of {} are acknowledged with their records, by the store", live.stream),
        {}, false);
  }
  if (!live.refused.empty()) {
    add(fmt::format("the store is on the server of {} and may not acknowledge its entries ({}): "
                    "the source does, after the record",
                    live.stream, live.refused),
        fmt::format("+xack and ~{} for the user of store.redis.url", live.stream), true);
  }
  if (live.missed > 0) {
    add(fmt::format("{} entries of {} were trimmed before the group had read them", live.missed,
                    live.stream),
        "let the stream keep more: a larger MAXLEN", true);
  }
  if (!live.logged) {
    add("the server of the stream keeps no log: entries and acknowledgements end with it",
        "appendonly yes", true);
  }
}

}  // namespace

Finding failed(std::string code, const Error& error) {
  return {std::move(code), false, error.message, error.hint};
}

Finding failed_for(std::string_view consumer, std::string code, const Error& error) {
  Finding made = failed(std::move(code), error);
  made.text = fmt::format("{}: {}", consumer, made.text);
  return made;
}

const char* Finding::grade() const noexcept {
  if (note) return "note";
  return fine ? "ok" : "fail";
}

bool DoctorReport::good() const noexcept { return std::ranges::all_of(findings, &Finding::fine); }

Result<DoctorReport> examine(Store& store, const config::Config& config) {
  DoctorReport report;
  report.where = store_name(config.store);
  report.findings.push_back(store_works({store, config, report.where}));
  auto live = look_live(store, config);
  if (!live) return failure(std::move(live.error()));
  report.live = *std::move(live);
  add_settings(report.live, report.findings);
  add_statements(report.live, report.findings);
  auto idle = look_rules(store, config);
  if (!idle) return failure(std::move(idle.error()));
  add_idle_rules(*idle, report.findings);
  add_flaws(config.store, report.findings);
  for (const auto& one : look_horizons(config)) {
    report.findings.push_back(ttl_is_enough(one));
    if (one.redrive) report.findings.push_back(dead_letters_first(one));
  }
  for (Finding& one : look_at_nats(config)) report.findings.push_back(std::move(one));
  for (Finding& one : look_at_rabbitmq(config)) report.findings.push_back(std::move(one));
  for (const auto& one : look_groups(config)) add_group(one, report.findings);
  return report;
}

json::Writer doctor_json(const config::Config& config, const DoctorReport& report) {
  json::Writer writer = operate::document("doctor");
  writer.member("store", report.where).member("ok", report.good()).name("checks").begin_array();
  for (const Finding& finding : report.findings) {
    writer.begin_object()
        .member("code", finding.code)
        .member("grade", finding.grade())
        .member("text", finding.text)
        .member("fix", finding.fix)
        .end_object();
  }
  writer.end_array().name("consumers").begin_array();
  for (const auto& consumer : config.consumers) {
    const Guarantee kept = lowered(guarantee_of(config, consumer, true), report.live);
    writer.begin_object()
        .member("name", consumer.name)
        .member("guarantee", to_string(kept.name))
        .member("effect", to_string(kept.effect))
        .member("loss", to_string(kept.loss));
    writer.name("reasons").begin_array();
    for (const std::string& reason : kept.reasons) writer.value(reason);
    writer.end_array().end_object();
  }
  writer.end_array().end_object();
  return writer;
}

}  // namespace semel::compose
