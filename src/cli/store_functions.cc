#include "cli/store_functions.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include <semel/guard.h>

#include "cli/text.h"
#include "compose/compose.h"
#include "core/consumer_name.h"
#include "core/guard_recipe.h"
#include "core/retention.h"

namespace semel::cli {
namespace {

std::optional<FunctionConsumer> consumer_of(std::string_view words) {
  const auto at = words.find('=');
  FunctionConsumer made;
  made.spec.name = words.substr(0, at);
  made.spec.recipe_hash = core::kGuardRecipe;
  made.spec.ttl = GuardOptions{}.ttl;
  if (!core::is_name(made.spec.name)) return std::nullopt;
  if (at == std::string_view::npos) return made;
  made.names_ttl = true;
  const std::string_view ttl = words.substr(at + 1);
  if (ttl == "keep") {
    made.spec.ttl.reset();
    return made;
  }
  made.spec.ttl = parse_duration(ttl);
  if (!made.spec.ttl || made.spec.ttl->count() <= 0 || *made.spec.ttl > GuardOptions::kLongestTtl) {
    return std::nullopt;
  }
  return made;
}

}  // namespace

void add_function_flags(CLI::App& command, const std::shared_ptr<FunctionFlags>& flags) {
  auto* const make = command.add_flag(
      "--functions", flags->make,
      "PostgreSQL, MariaDB, MySQL: also make the SQL functions by which a consumer in any "
      "language claims");
  command.add_flag("--drop-functions", flags->drop, "Remove the functions; records stay")
      ->excludes(make);
}

void add_consumer_flag(CLI::App& command, const std::shared_ptr<FunctionFlags>& flags) {
  command
      .add_option("--consumer", flags->consumers,
                  "A consumer that only calls the functions, and how long its records are kept: "
                  "payments=7d, payments=keep; repeatable")
      ->type_name("NAME[=TTL]")
      ->allow_extra_args(false)
      ->needs("--functions");
}

OrEnded<std::vector<FunctionConsumer>> consumers_of(Console& console, const config::Config& config,
                                                    const FunctionFlags& flags) {
  std::vector<FunctionConsumer> consumers;
  if (!flags.asked()) return consumers;
  if (const auto sql = compose::functions_sql(config.store, compose::SqlFunctions::kMake); !sql) {
    return ended(console.fail(sql.error()));
  }
  for (const std::string& words : flags.consumers) {
    auto consumer = consumer_of(words);
    if (!consumer) {
      return ended(console.fail(
          kUsage, fmt::format("--consumer cannot be \"{}\"", printable(words, 80)),
          fmt::format("{}; behind a = how long its records are kept: 7d, {} at "
                      "most, or keep",
                      core::kNameRule, core::duration_text(GuardOptions::kLongestTtl))));
    }
    const std::string& name = consumer->spec.name;
    if (std::ranges::find(config.consumers, name, &config::ConsumerConfig::name) !=
        config.consumers.end()) {
      return ended(console.fail(
          kUsage, fmt::format("the consumer \"{}\" is in the config", name),
          "leave --consumer out: those of the config are registered, each with its ttl"));
    }
    consumers.push_back(*std::move(consumer));
  }
  return consumers;
}

Result<void> register_consumer(Store& store, const FunctionConsumer& consumer) {
  LiveChecks* const live = store.facets().live;
  if (!consumer.names_ttl && live != nullptr) {
    const auto known = live->number_of(consumer.spec);
    if (!known) return failure(known.error());
    if (*known) return {};
  }
  return store.attach(consumer.spec).map([](ConsumerNumber) {});
}

OrEnded<std::string> change_functions(Console& console, const config::StoreConfig& store,
                                      const FunctionFlags& flags) {
  if (!flags.asked()) return std::string();
  const auto changed = compose::change_functions(
      store, flags.make ? compose::SqlFunctions::kMake : compose::SqlFunctions::kDrop);
  if (!changed) return ended(console.fail(changed.error()));
  return std::string(flags.make ? "made" : "dropped");
}

}  // namespace semel::cli
