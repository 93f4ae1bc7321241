#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/passwords.h"
#include "base/text_line.h"
#include "config/build.h"
#include "config/checks.h"
#include "config/config.h"
#include "config/conform.h"
#include "config/interpolate.h"
#include "config/lint.h"
#include "config/overlay.h"
#include "config/yaml_reader.h"

namespace semel::config {
namespace {

constexpr const char* kSetFlag = "--set";
constexpr std::string_view kValueOrigin = "setting";

std::optional<std::string> process_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string folder_of(const std::string& name) {
  return std::filesystem::path(name).parent_path().string();
}

// Removes a byte order mark and unifies line ends, so that columns count the same everywhere.
std::string clean(std::string_view text) {
  text = text_line::without_mark(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return out;
}

// Sets defaults that depend on other settings, which the schema's table cannot express.
void derive(Settings& settings, const Lookup& env) {
  constexpr std::string_view kStateDirectory = "STATE_DIRECTORY";
  const auto* path = settings.find("store.sqlite.path");
  const auto state = env(std::string(kStateDirectory));
  if (path != nullptr && path->from == Setting::From::kDefault && state && !state->empty()) {
    Setting derived = *path;
    // systemd separates several directories by colons.
    derived.text = state->substr(0, state->find(':')) + "/" + derived.text;
    derived.from = Setting::From::kEnvironment;
    derived.origin = kStateDirectory;
    settings.replace(std::move(derived));
  }
}

bool is_secret(const Setting& setting) {
  constexpr std::string_view kProperties = ".kafka.properties.";
  const auto at = setting.path.find(kProperties);
  return setting.secret || setting.field->secret ||
         (at != std::string::npos &&
          core::is_kafka_secret(std::string_view(setting.path).substr(at + kProperties.size())));
}

std::string shown_value(const Setting& setting) {
  if (is_secret(setting)) return "***";
  return setting.field->address ? without_passwords(setting.text) : setting.text;
}

std::string hidden_value(const Setting& setting) {
  if (shown_value(setting) == setting.text) return {};
  return digest::hex(digest::view(digest::sha256(setting.text)));
}

std::string origin_of(const Setting& setting, const Report& report) {
  if (setting.from == Setting::From::kDefault) return "default";
  if (setting.from == Setting::From::kEnvironment) return "env " + setting.origin;
  auto origin = report.spot(setting.place);
  if (!setting.origin.empty()) origin += ", env " + setting.origin;
  return origin;
}

std::vector<EffectiveValue> effective_values(const Config& config, const Settings& settings,
                                             const Report& report) {
  std::vector<EffectiveValue> out;
  std::size_t consumer = 0;
  const auto derived = [&](std::size_t index) {
    const auto path = join_path("consumers", index);
    const auto& made = config.consumers[index];
    if (!made.strategy_named) {
      out.push_back({path + ".strategy", core::to_string(made.strategy), "default"});
    }
    const auto* native = std::get_if<NativeHandler>(&made.handler);
    if (native != nullptr && !made.is_claimed() &&
        settings.find(path + ".handler.native") == nullptr) {
      out.push_back({path + ".handler.native", native->name, "default"});
    }
  };
  for (const auto& setting : settings.all()) {
    if (setting.path.starts_with("defaults.")) continue;
    const bool next = consumer < config.consumers.size() &&
                      setting.path.starts_with(join_path("consumers", consumer + 1) + ".");
    if (next) derived(consumer++);
    out.push_back(
        {setting.path, shown_value(setting), origin_of(setting, report), hidden_value(setting)});
    if (setting.from == Setting::From::kWritten && setting.place.source == 0) {
      out.back().where = {setting.place.line, setting.place.column};
    }
  }
  if (consumer < config.consumers.size()) derived(consumer);
  return out;
}

Loaded load(std::string_view raw, const std::string& name, const LoadOptions& options) {
  const auto text = clean(raw);
  Report report(name, text);
  Report notes(name, text);
  Loaded loaded;
  std::optional<Node> root;
  if (readable(text, report)) root = read_yaml(text, 0, report);
  if (root) {
    const Lookup env = options.env ? options.env : process_environment;
    overlay(*root, options.sets, report, kSetFlag);
    const auto folder = folder_of(name);
    if (options.interpolate) interpolate(*root, env, folder, report);
    auto settings = conform(*root, report, options.consumers_optional);
    derive(settings, env);
    auto config = build(settings, folder, report);
    check_adapters(settings, options.missing_adapters, report);
    if (!report.failed()) {
      for (const auto& set : options.sets) notes.add_source(kSetFlag, set);
      lint(config, settings, report, notes);
      note_horizons(config, settings, notes);
      loaded.effective = effective_values(config, settings, report);
      config.effective = loaded.effective;
      loaded.config = std::move(config);
    }
  }
  loaded.diagnostics = report.take();
  loaded.notes = notes.take();
  return loaded;
}

// Refuses store settings, because the program passes its store as options.
void refuse_store_settings(const Settings& settings, Report& report) {
  constexpr std::string_view kPrefix = "store.";
  for (const auto& setting : settings.all()) {
    if (setting.from != Setting::From::kWritten || !setting.path.starts_with(kPrefix)) continue;
    if (setting.path == "store.on_unavailable") continue;
    report
        .error("E013", setting.place, setting.path,
               fmt::format("{}: a program gives the store's options to the runner itself",
                           setting.path))
        .help = "put it into the options that the runner is made with";
  }
}

// Refuses consumers, because the program adds them to its runner; and leaves them out.
void refuse_consumer_settings(Node& root, Report& report) {
  constexpr const char* kConsumers = "consumers";
  std::erase_if(root.members, [&](const auto& member) {
    if (member.name != kConsumers) return false;
    report
        .error("E013", member.place, kConsumers,
               "consumers: a program adds its consumers to the runner")
        .help = "put it into the settings of the consumer that it is of";
    return true;
  });
}

Loaded load_of_program(const std::vector<std::string>& values, const StoreConfig& store,
                       bool with_consumers) {
  Report report("code", "");
  Report notes("code", "");
  Node root;
  root.kind = Node::Kind::kMap;
  overlay(root, values, report, kValueOrigin);
  if (!with_consumers) refuse_consumer_settings(root, report);
  auto settings = conform(root, report, !with_consumers);
  auto config = build(settings, {}, report, &store);
  refuse_store_settings(settings, report);
  Loaded loaded;
  if (!report.failed()) {
    for (const auto& value : values) notes.add_source(std::string(kValueOrigin), value);
    lint(config, settings, report, notes);
    note_horizons(config, settings, notes);
    loaded.effective = effective_values(config, settings, report);
    std::erase_if(loaded.effective, [](const EffectiveValue& value) {
      return value.path.starts_with("store.") && value.origin == "default";
    });
    config.effective = loaded.effective;
    loaded.config = std::move(config);
  }
  loaded.diagnostics = report.take();
  loaded.notes = notes.take();
  return loaded;
}

Loaded unreadable(const std::string& path, std::string why, std::string help) {
  Report report(path, "");
  report.error("E001", {}, "", std::move(why)).help = std::move(help);
  Loaded loaded;
  loaded.diagnostics = report.take();
  return loaded;
}

std::string read_at_most(std::istream& stream, std::size_t most) {
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return text;
}

StoreTraits traits_with(const SqliteOptions& /*options*/) noexcept { return kSqliteTraits; }
StoreTraits traits_with(const PostgresOptions& /*options*/) noexcept { return kPostgresTraits; }
StoreTraits traits_with(const MySqlOptions& /*options*/) noexcept { return kMySqlTraits; }
StoreTraits traits_with(const MemoryOptions& /*options*/) noexcept { return kMemoryTraits; }
StoreTraits traits_with(const OpenStore& open) noexcept { return open.store->traits(); }
StoreTraits traits_with(const RedisOptions& options) noexcept {
  StoreTraits traits = kRedisTraits;
  traits.forgets = options.accept_eviction;
  return traits;
}

}  // namespace

const ConsumerConfig* Config::find(std::string_view consumer) const {
  for (const auto& each : consumers) {
    if (each.name == consumer) return &each;
  }
  return nullptr;
}

Loaded load_values(const std::vector<std::string>& values, const StoreConfig& store) {
  return load_of_program(values, store, true);
}

Loaded load_settings(const std::vector<std::string>& values, const StoreConfig& store) {
  return load_of_program(values, store, false);
}

Loaded load_text(std::string_view yaml, const std::string& name, const LoadOptions& options) {
  return load(yaml, name, options);
}

Loaded load_file(const std::string& path, const LoadOptions& options) {
  if (path == "-") return load(read_at_most(std::cin, kMostBytes + 1), "stdin", options);
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) {
    return unreadable(path, fmt::format("there is no file {}", in_quotes(path)),
                      "check the path, or write one: semel init queue/sql/sqlite > semel.yaml");
  }
  if (std::filesystem::is_directory(status)) {
    return unreadable(path, fmt::format("{} is a folder", in_quotes(path)), "name the file in it");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return unreadable(path, fmt::format("{} cannot be read", in_quotes(path)),
                      "check its permissions");
  }
  auto text = read_at_most(stream, kMostBytes + 1);
  if (stream.bad()) {
    return unreadable(path, fmt::format("{} cannot be read to its end", in_quotes(path)),
                      "check the disk");
  }
  return load(text, path, options);
}

StoreTraits traits_of(const StoreConfig& store) noexcept {
  return std::visit([](const auto& options) { return traits_with(options); }, store.kind);
}

milliseconds ttl_of(const FrontConfig& front) noexcept {
  return std::visit([](const auto& window) { return window.ttl; }, front);
}

std::string_view name_of(const SourceConfig& source) noexcept {
  constexpr std::string_view kNames[] = {"queue", "file",     "http",          "kafka",
                                         "nats",  "rabbitmq", "redis_streams", "sqs",
                                         "stdin", "native",   "claims"};
  static_assert(std::size(kNames) == std::variant_size_v<SourceConfig>);
  return kNames[source.index()];
}

std::string_view name_of(const HandlerConfig& handler) noexcept {
  constexpr std::string_view kNames[] = {"sql",  "exec",     "http",          "kafka",
                                         "nats", "rabbitmq", "redis_streams", "sns",
                                         "sqs",  "native",   "steps"};
  static_assert(std::size(kNames) == std::variant_size_v<HandlerConfig>);
  return kNames[handler.index()];
}

std::string handler_name(const ConsumerConfig& consumer) {
  return consumer.is_claimed() ? "clients" : std::string(name_of(consumer.handler));
}

std::optional<milliseconds> effective_ttl(const ConsumerConfig& consumer) {
  switch (consumer.dedup.ttl) {
    case DedupConfig::Ttl::kAuto:
      if (std::holds_alternative<SqsSource>(consumer.source)) return DedupConfig::kAutoTtlOnSqs;
      if (const auto* native = std::get_if<NativeSource>(&consumer.source)) {
        const auto horizon = native->traits.horizon.value_or(milliseconds(0));
        return std::max<milliseconds>(DedupConfig::kAutoTtl, 2 * horizon);
      }
      return std::holds_alternative<KafkaSource>(consumer.source) ? DedupConfig::kAutoTtlOnKafka
                                                                  : DedupConfig::kAutoTtl;
    case DedupConfig::Ttl::kFor:
      return consumer.dedup.ttl_for;
    case DedupConfig::Ttl::kKeep:
      break;
  }
  return std::nullopt;
}

}  // namespace semel::config
