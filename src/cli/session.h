// Shared start of most commands: reads the config, opens the store.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <semel/result.h>
#include <semel/spi/store.h>

#include "cli/console.h"
#include "config/config.h"
#include "operate/store_access.h"

namespace semel::cli {

// The command ends here; its error is already printed.
struct Ended {
  int code;
};
template <class T>
using OrEnded = tl::expected<T, Ended>;
inline tl::unexpected<Ended> ended(int code) { return tl::unexpected<Ended>(Ended{code}); }

// As config_path, but nullopt without an error where there is none.
std::optional<std::string> found_config(const Console& console);
// The config file: -c, otherwise ./semel.yaml, otherwise /etc/semel/semel.yaml.
OrEnded<std::string> config_path(Console& console);

// Prints an error or a warning of the config on stderr; -q suppresses warnings.
void tell(Console& console, const config::Diagnostic& diagnostic);

// Warnings about secrets that others may read are for commands that are about the config, or run
// it.
enum class Warnings { kAll, kNotOfSecrets };

// Reads and checks the config. Errors and warnings go to stderr; -q suppresses warnings.
OrEnded<config::Config> load_config(Console& console);
// For `semel run`, with all warnings. `also`: further --set values.
OrEnded<config::Config> load_config_to_run(Console& console, const std::vector<std::string>& also);
// For commands that open the store and run no consumer: the config may be without consumers.
OrEnded<config::Config> load_store_config(Console& console,
                                          Warnings warnings = Warnings::kNotOfSecrets);

// Ends a command that cannot ask a run if SEMEL_URL is set: an act meant for a run elsewhere must
// not change the local store.
std::optional<int> refuse_url(Console& console);

// A store opened while other processes may run on it.
struct Session {
  config::Config config;
  std::unique_ptr<Store> store;
  StoreFacets facets;
  std::string where;  // "sqlite ./semel.db"

  operate::StoreAccess access() const { return {config, *store, facets}; }
};

enum class Create { kNo, kYes };
OrEnded<Session> open_session(Console& console, Create create = Create::kNo);
OrEnded<Session> open_session(Console& console, config::Config config, Create create);

// Refuses a store that keeps no messages.
OrEnded<Session> need_messages(Console& console, OrEnded<Session> session);

// The store as it is shown to people: "sqlite ./semel.db".
std::string store_name(const config::Config& config);

// The path that the sockets of the store's runs are next to; empty for the memory store.
Result<std::string> watched_path(const config::Config& config);

// The consumer of that name, or an error that lists the existing ones.
OrEnded<const config::ConsumerConfig*> find_consumer(Console& console, const config::Config& config,
                                                     std::string_view name);

}  // namespace semel::cli
