#include "cli/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/text.h"
#include "compose/compose.h"
#include "tap/socket_directory.h"

namespace semel::cli {

namespace {

constexpr const char* kDefaultConfigs[] = {"./semel.yaml", "/etc/semel/semel.yaml"};

}  // namespace

std::optional<std::string> found_config(const Console& console) {
  if (console.settings().config) return *console.settings().config;
  for (const char* path : kDefaultConfigs) {
    if (::access(path, F_OK) == 0) return std::string(path);
  }
  return std::nullopt;
}

OrEnded<std::string> config_path(Console& console) {
  if (auto path = found_config(console)) return *std::move(path);
  return ended(console.fail(
      kConfig,
      fmt::format("no config: neither {} nor {} exists", kDefaultConfigs[0], kDefaultConfigs[1]),
      "-c FILE, or write one: semel init > semel.yaml"));
}

void tell(Console& console, const config::Diagnostic& diagnostic) {
  if (console.logs_json()) return console.log(log_line(diagnostic));
  const std::string text = config::format(diagnostic, console.color_err());
  if (diagnostic.severity == config::Diagnostic::Severity::kError) {
    console.warn(text);
  } else {
    console.note(text);
  }
}

namespace {

bool about_secrets(const config::Diagnostic& diagnostic) {
  constexpr std::string_view kCodes[] = {"W031", "W036", "W037"};
  return std::ranges::find(kCodes, diagnostic.code) != std::end(kCodes);
}

OrEnded<config::Config> load_with(Console& console, Warnings warnings,
                                  const config::LoadOptions& options) {
  auto path = config_path(console);
  if (!path) return ended(path.error().code);
  auto loaded = config::load_file(*path, options);
  for (const auto& diagnostic : loaded.diagnostics) {
    if (warnings == Warnings::kAll || !about_secrets(diagnostic)) tell(console, diagnostic);
  }
  if (!loaded.config) return ended(kConfig);
  return std::move(*loaded.config);
}

}  // namespace

OrEnded<config::Config> load_config(Console& console) {
  config::LoadOptions options;
  options.sets = console.settings().sets;
  return load_with(console, Warnings::kNotOfSecrets, options);
}

OrEnded<config::Config> load_config_to_run(Console& console, const std::vector<std::string>& also) {
  config::LoadOptions options;
  options.sets = console.settings().sets;
  options.sets.insert(options.sets.end(), also.begin(), also.end());
  return load_with(console, Warnings::kAll, options);
}

OrEnded<config::Config> load_store_config(Console& console, Warnings warnings) {
  config::LoadOptions options;
  options.sets = console.settings().sets;
  options.consumers_optional = true;
  return load_with(console, warnings, options);
}

std::string store_name(const config::Config& config) { return compose::store_name(config.store); }

Result<std::string> watched_path(const config::Config& config) {
  if (const auto* sqlite = std::get_if<SqliteOptions>(&config.store.kind)) {
    return sqlite->path;
  }
  const std::string server = compose::server_identity(config.store);
  return server.empty() ? Result<std::string>(std::string())
                        : tap::SocketDirectory::of_server(server);
}

std::optional<int> refuse_url(Console& console) {
  if (!console.settings().url) return std::nullopt;
  return console.fail(kUsage,
                      "SEMEL_URL names a run to ask, and this command only looks on this machine",
                      "-c FILE says which store, also where SEMEL_URL is set");
}

OrEnded<Session> open_session(Console& console, Create create) {
  auto config = load_store_config(console);
  if (!config) return ended(config.error().code);
  return open_session(console, std::move(*config), create);
}

OrEnded<Session> open_session(Console& console, config::Config config, Create create) {
  if (const auto code = refuse_url(console)) return ended(*code);
  if (std::holds_alternative<MemoryOptions>(config.store.kind)) {
    return ended(console.fail(
        kUnavailable, "the store is memory: it lives and dies with the process that runs it",
        "store: { sqlite: { path: semel.db } } or { postgres: … }, { mysql: … } or { redis: … } "
        "keeps "
        "records where other commands see them"));
  }
  auto store = compose::open_store(config.store, {.create = create == Create::kYes});
  if (!store) return ended(console.fail(store.error()));
  Session session;
  session.where = store_name(config);
  session.config = std::move(config);
  session.store = std::move(*store);
  session.facets = session.store->facets();
  return session;
}

OrEnded<Session> need_messages(Console& console, OrEnded<Session> session) {
  if (!session) return session;
  const StoreFacets& facets = session->facets;
  if (facets.held != nullptr && facets.dead_letters != nullptr) return session;
  return ended(console.fail(compose::no_messages(*session->store)));
}

OrEnded<const config::ConsumerConfig*> find_consumer(Console& console, const config::Config& config,
                                                     std::string_view name) {
  if (const auto* consumer = config.find(name)) return consumer;
  std::vector<std::string> names;
  for (const auto& consumer : config.consumers) names.push_back(consumer.name);
  const auto near = nearest(name, names);
  const std::string fix = near ? fmt::format("did you mean \"{}\"?", *near)
                          : names.empty()
                              ? fmt::format("{} has no consumers", config.file)
                              : fmt::format("{} has: {}", config.file, fmt::join(names, ", "));
  return ended(console.fail(
      kUsage, fmt::format("there is no consumer \"{}\" in {}", printable(name, 63), config.file),
      fix));
}

}  // namespace semel::cli
