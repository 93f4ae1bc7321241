#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/check_source.h"
#include "cli/command.h"
#include "cli/diagnostics_view.h"
#include "cli/session.h"
#include "cli/text.h"
#include "compose/compose.h"
#include "config/config.h"
#include "core/retention.h"

namespace semel::cli {

namespace {

using config::Diagnostic;

struct CheckFlags {
  std::vector<std::string> files;
  std::string output;
  bool deny_warnings = false;
};

enum class Look { kText, kJson, kGithub };

struct Checked {
  std::string file;
  config::Loaded loaded;
  std::vector<Diagnostic> all;  // also what statements would do if they ran twice
  std::size_t errors = 0;
  std::size_t warnings = 0;
};

// Warns of flaws of the store's file, if it can be examined here; the rest is left to `semel
// doctor`.
void warn_of_flaws(const config::Config& config, const std::string& file,
                   std::vector<Diagnostic>& all) {
  const auto flaws = compose::standing_flaws(config.store);
  if (!flaws) return;
  for (const SqliteFlaw& flaw : *flaws) {
    Diagnostic& made = all.emplace_back();
    made.severity = Diagnostic::Severity::kWarning;
    made.code = "D136";
    made.message = flaw.text;
    made.path = "store.sqlite.path";
    made.file = file;
    made.help = flaw.fix;
  }
}

// Reports properties that a client library refuses, as a run would.
void report_refused_properties(const config::Config& config, const std::string& file,
                               std::vector<Diagnostic>& all) {
  for (auto& flaw : compose::property_flaws(config)) {
    Diagnostic& made = all.emplace_back();
    made.code = flaw.error.code;
    made.message = fmt::format("{}: {}", flaw.path, flaw.error.message);
    made.path = flaw.path;
    made.file = file;
    made.help = flaw.error.hint;
    const auto value =
        std::ranges::find(config.effective, flaw.path, &config::EffectiveValue::path);
    if (value != config.effective.end()) made.where = value->where;
  }
}

Checked check_file(const Console& console, const std::string& file) {
  Checked made;
  made.file = file;
  config::LoadOptions options;
  options.sets = console.settings().sets;
  made.loaded = config::load_file(file, options);
  made.all = made.loaded.diagnostics;
  made.all.insert(made.all.end(), made.loaded.notes.begin(), made.loaded.notes.end());
  if (made.loaded.config) {
    report_refused_properties(*made.loaded.config, file, made.all);
    warn_of_flaws(*made.loaded.config, file, made.all);
  }
  for (const auto& each : made.all) {
    ++(each.severity == Diagnostic::Severity::kError ? made.errors : made.warnings);
  }
  return made;
}

std::string key_text(const config::ConsumerConfig& consumer) {
  if (consumer.is_claimed()) return "its clients'";
  std::string text;
  for (const auto& part : consumer.key.parts) {
    if (!text.empty()) text += consumer.key.join ? " + " : ", ";
    text += part.text;
  }
  return text.empty() ? "the sender's" : text;
}

std::string handler_text(const config::ConsumerConfig& consumer) {
  if (consumer.is_claimed()) return "its clients";
  if (const auto* native = std::get_if<config::NativeHandler>(&consumer.handler)) {
    return "native " + native->name;
  }
  if (const auto* exec = std::get_if<config::ExecHandler>(&consumer.handler)) {
    return "exec " + printable(exec->spec.command.front(), 40);
  }
  if (std::holds_alternative<config::HttpHandler>(consumer.handler)) return "http";
  if (const auto* steps = std::get_if<config::StepsHandler>(&consumer.handler)) {
    std::vector<std::string> names;
    for (const config::StepConfig& step : steps->steps) names.push_back(step.name);
    return fmt::format("steps {}", fmt::join(names, ", "));
  }
  if (const auto* kafka = std::get_if<config::KafkaHandler>(&consumer.handler)) {
    return "kafka " + kafka->spec.topic;
  }
  if (const auto* nats = std::get_if<config::NatsHandler>(&consumer.handler)) {
    return "nats " + printable(nats->spec.subject, 60);
  }
  if (const auto* streams = std::get_if<config::RedisStreamsHandler>(&consumer.handler)) {
    return "redis_streams " + printable(streams->spec.stream, 60);
  }
  if (const auto* sns = std::get_if<config::SnsHandler>(&consumer.handler)) {
    return "sns " + printable(sns->spec.queue.name, 60);
  }
  if (const auto* sqs = std::get_if<config::SqsHandler>(&consumer.handler)) {
    return "sqs " + printable(sqs->spec.queue.name, 60);
  }
  if (const auto* rabbitmq = std::get_if<config::RabbitmqHandler>(&consumer.handler)) {
    const auto& route = rabbitmq->spec.route;
    return "rabbitmq " + printable(route.exchange.empty() ? route.routing_key : route.exchange, 60);
  }
  return "sql";
}

std::string chosen_text(const config::ConsumerConfig& consumer) {
  if (consumer.strategy_named) return "as named";
  if (consumer.is_claimed()) return "chosen: clients claim a key, and end their claim";
  if (std::holds_alternative<config::SqlHandler>(consumer.handler)) {
    return "chosen: its handler runs in the store's transaction";
  }
  if (consumer.strategy == core::StrategyKind::kFence) {
    return "chosen: a service is called, and what a crash leaves is finished from the store";
  }
  if (config::acts_outside(consumer.handler)) {
    return "chosen: its effect is outside of the store";
  }
  return "chosen: a native handler may act anywhere; one that takes a Transaction gets dedup_table";
}

// States what a missing row means under strategy optimistic_lock.
const char* missing_text(core::VersionSpec::Missing missing) {
  using Missing = core::VersionSpec::Missing;
  switch (missing) {
    case Missing::kRetry:
      return "is retried";
    case Missing::kHandle:
      return "is handled";
    case Missing::kDuplicate:
      return "is a duplicate";
    case Missing::kDeadLetter:
      break;
  }
  return "is a dead letter";
}

// `service`: "SQS"; `keeps`: what the service does if it drops nothing.
std::string repeats_on_sqs(const core::SqsSendSpec& spec, const char* service, const char* keeps,
                           const std::string& retries) {
  if (!spec.queue.fifo()) {
    return fmt::format("{} {} what comes again as one more message; a message is retried {}",
                       service, keeps, retries);
  }
  const bool payload = spec.fifo.deduplication == core::SqsFifo::Deduplication::kKeyAndPayload;
  return fmt::format("{} drops what comes again with this {} within {}; a message is retried {}",
                     service, payload ? "key and payload" : "key, whatever its payload is,",
                     core::duration_text(core::kSqsDeduplicates), retries);
}

// States how a message that is published twice ends, if that depends on the broker.
std::string repeats_text(const config::ConsumerConfig& consumer) {
  const std::string retries = consumer.retry.max_elapsed.count() == 0
                                  ? "without end"
                                  : "for " + core::duration_text(consumer.retry.max_elapsed);
  if (const auto* rabbitmq = std::get_if<config::RabbitmqHandler>(&consumer.handler)) {
    if (!rabbitmq->spec.deduplicated_for) return {};
    return fmt::format("the broker drops what comes again within {}; a message is retried {}",
                       core::duration_text(*rabbitmq->spec.deduplicated_for), retries);
  }
  if (std::holds_alternative<config::NatsHandler>(consumer.handler)) {
    return "its stream drops what comes again under one Nats-Msg-Id, which names subject, key and "
           "payload, within its duplicate window; a message is retried " +
           retries;
  }
  if (const auto* sqs = std::get_if<config::SqsHandler>(&consumer.handler)) {
    return repeats_on_sqs(sqs->spec, "SQS", "keeps", retries);
  }
  if (const auto* sns = std::get_if<config::SnsHandler>(&consumer.handler)) {
    return repeats_on_sqs(sns->spec, "SNS", "delivers", retries);
  }
  const auto* streams = std::get_if<config::RedisStreamsHandler>(&consumer.handler);
  if (streams == nullptr) return {};
  const std::string trimmed =
      streams->spec.max_length
          ? fmt::format("; about {} entries are left, read or not", *streams->spec.max_length)
          : std::string();
  return fmt::format("the server adds what comes again once more; a message is retried {}{}",
                     retries, trimmed);
}

// Explains source, lock, version, order and deferral, as far as the config uses them.
std::vector<std::string> flow_text(const config::ConsumerConfig& consumer) {
  std::vector<std::string> lines = source_flow(consumer);
  if (consumer.strategy == core::StrategyKind::kPessimisticLock && consumer.lock) {
    lines.push_back(fmt::format("its row is locked first; a duplicate too where {}",
                                printable(consumer.lock->done_when, 60)));
  }
  if (consumer.strategy == core::StrategyKind::kOptimisticLock && consumer.version) {
    lines.push_back(fmt::format(
        "based on the version at json:{}: newer in its row, a duplicate; older, a retry; "
        "without a row it {}",
        consumer.version->from.pointer.text(), missing_text(consumer.version->missing)));
  }
  if (consumer.order) {
    const std::string by = consumer.order->key ? consumer.order->key->text : "its own key";
    const char* after = "later messages overtake a failed one";
    if (consumer.order->on_failure == core::Order::OnFailure::kHoldKey) {
      after = "what follows a failed message of its key waits behind it in the store";
    } else if (consumer.order->on_failure == core::Order::OnFailure::kBlock) {
      after = "all that follows a failed message of its partition waits at the source";
    }
    lines.push_back(fmt::format("in order by {}: {}", by, after));
  }
  if (consumer.defer == config::ConsumerConfig::Defer::kHere) {
    lines.emplace_back("deferred: kept in the store and settled first, handled from there");
  } else if (consumer.defer == config::ConsumerConfig::Defer::kElsewhere) {
    lines.emplace_back("deferred: only received here, handled by other processes");
  }
  if (auto text = repeats_text(consumer); !text.empty()) lines.push_back(std::move(text));
  if (consumer.front) {
    const bool redis = std::holds_alternative<RedisFrontOptions>(*consumer.front);
    lines.push_back(fmt::format(
        "in front of its records a window in {} knows for {} what is completed; it may forget, and "
        "weakens nothing but after a failover of the store that lost what it had committed",
        redis ? "Redis" : "memory", core::duration_text(config::ttl_of(*consumer.front))));
  }
  for (const std::string& to : consumer.publish) {
    lines.push_back(fmt::format("what is done is sent to {}, with its record", to));
  }
  if (consumer.copy_dead_letters) {
    lines.push_back(
        fmt::format("a copy of each dead letter is sent to {}", *consumer.copy_dead_letters));
  }
  return lines;
}

void print_guarantees(Console& console, const config::Config& config) {
  constexpr std::size_t kCellShown = 40;
  Table table({"CONSUMER", "SOURCE", "KEY", "STRATEGY", "STORE", "HANDLER", "GUARANTEE"});
  std::string below;
  for (const auto& consumer : config.consumers) {
    const auto promise = compose::guarantee_of(config, consumer);
    table.row({consumer.name, printable(configured_source(consumer), console.shown(kCellShown)),
               printable(key_text(consumer), console.shown(kCellShown)),
               core::to_string(consumer.strategy),
               printable(store_name(config), console.shown(kCellShown)), handler_text(consumer),
               to_string(promise.name)});
    below += fmt::format("\n{}: strategy {}, {}\n", consumer.name,
                         core::to_string(consumer.strategy), chosen_text(consumer));
    below += fmt::format("  effect {}; {}; {}\n", to_string(promise.effect),
                         to_string(promise.loss), promise.until);
    if (!promise.faults.empty()) below += fmt::format("  {}\n", promise.faults);
    for (const auto& line : flow_text(consumer)) below += fmt::format("  {}\n", line);
    for (const auto& reason : promise.reasons) below += fmt::format("  - {}\n", reason);
  }
  constexpr std::size_t kLeast = 10;
  for (const std::size_t column : {0, 1, 2, 4, 5}) table.may_cut(column, kLeast);
  constexpr std::size_t kLeavesOut[] = {3, 4};  // STRATEGY, which stands below, and STORE
  for (const std::size_t column : kLeavesOut) table.may_leave_out(column);
  console.out(table);
  console.out_wrapped(below);
}

void print_text(Console& console, const Checked& checked) {
  console.out(fmt::format("{}: {}, {}\n", checked.file, counted(checked.errors, "error", "errors"),
                          counted(checked.warnings, "warning", "warnings")));
  for (const auto& each : checked.all) {
    console.out_wrapped(config::format(each, console.color_out()) + "\n");
  }
  if (!checked.all.empty()) {
    console.out(fmt::format("explain: semel explain {}\n\n", checked.all.front().code));
  }
  if (checked.loaded.config) {
    if (checked.all.empty()) console.out("\n");
    print_guarantees(console, *checked.loaded.config);
  }
}

void add_consumer(json::Writer& writer, const config::Config& config,
                  const config::ConsumerConfig& consumer) {
  const auto promise = compose::guarantee_of(config, consumer);
  writer.begin_object()
      .member("name", consumer.name)
      .member("source", configured_source(consumer))
      .member("key", key_text(consumer))
      .member("strategy", core::to_string(consumer.strategy))
      .member("strategy_why", chosen_text(consumer))
      .member("store", store_name(config))
      .member("handler", handler_text(consumer));
  writer.name("flow").begin_array();
  for (const auto& line : flow_text(consumer)) writer.value(line);
  writer.end_array();
  writer.name("guarantee")
      .begin_object()
      .member("name", to_string(promise.name))
      .member("effect", to_string(promise.effect))
      .member("loss", to_string(promise.loss))
      .member("faults", promise.faults)
      .member("until", promise.until);
  writer.name("reasons").begin_array();
  for (const auto& reason : promise.reasons) writer.value(reason);
  writer.end_array().end_object().end_object();
}

void print_json(Console& console, const std::vector<Checked>& all, bool good) {
  auto writer = document("check");
  std::size_t errors = 0;
  std::size_t warnings = 0;
  for (const auto& each : all) {
    errors += each.errors;
    warnings += each.warnings;
  }
  writer.member("ok", good).member("errors", errors).member("warnings", warnings);
  writer.name("files").begin_array();
  for (const auto& each : all) {
    writer.begin_object().member("file", each.file);
    add_diagnostics(writer, "diagnostics", each.all);
    writer.name("consumers").begin_array();
    if (each.loaded.config) {
      for (const auto& consumer : each.loaded.config->consumers) {
        add_consumer(writer, *each.loaded.config, consumer);
      }
    }
    writer.end_array().end_object();
  }
  writer.end_array().end_object();
  console.out(writer);
}

tl::expected<Look, Ended> look_of(Console& console, const std::string& word) {
  if (word.empty() || word == "text") return Look::kText;
  if (word == "json") return Look::kJson;
  if (word == "github") return Look::kGithub;
  return tl::unexpected(
      Ended{console.fail(kUsage, fmt::format("--output cannot be \"{}\"", printable(word, 40)),
                         "one of text, json, github")});
}

int check(Console& console, const CheckFlags& asked) {
  const auto look = look_of(console, asked.output);
  if (!look) return look.error().code;
  auto files = asked.files;
  if (files.empty()) {
    auto path = config_path(console);
    if (!path) return path.error().code;
    files.push_back(*std::move(path));
  }
  std::vector<Checked> all;
  bool errors = false;
  bool warnings = false;
  for (const auto& file : files) {
    all.push_back(check_file(console, file));
    errors = errors || all.back().errors > 0;
    warnings = warnings || all.back().warnings > 0;
  }
  const bool denied = asked.deny_warnings && warnings;
  if (*look == Look::kJson) print_json(console, all, !errors && !denied);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (*look == Look::kGithub) {
      for (const auto& each : all[i].all) console.out(github_annotation(each));
    } else if (*look == Look::kText) {
      if (i > 0) console.out("\n");
      print_text(console, all[i]);
    }
  }
  if (errors) return kConfig;
  if (*look == Look::kText && !denied) console.next("semel run " + files.front());
  return denied ? kBad : kOk;
}

}  // namespace

void add_check(Program& program) {
  auto asked = std::make_shared<CheckFlags>();
  auto& command =
      program.command({.name = "check",
                       .description = "Check configs: every error at once, and what is promised",
                       .group = "Config",
                       .flags = kConfigFlag},
                      [asked](Console& console) { return check(console, *asked); });
  command.add_option("CONFIG", asked->files, "Configs to check; - is standard input")
      ->type_name("FILE");
  command.add_option("-o,--output", asked->output, "text, json or github")->type_name("FORMAT");
  command.add_flag("--deny-warnings", asked->deny_warnings, "Exit 1 when there are warnings");
}

}  // namespace semel::cli
