// What most commands begin with: the config read, the store opened.
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

// A command that ends here, its error already printed.
struct Ended {
  int code;
};
template <class T>
using OrEnded = tl::expected<T, Ended>;
inline tl::unexpected<Ended> ended(int code) { return tl::unexpected<Ended>(Ended{code}); }

// The file the shared flags mean: -c, else ./semel.yaml, else /etc/semel/semel.yaml.
OrEnded<std::string> config_path(Console& console);

// An error or a warning of the config, on stderr; with -q a warning is not told.
void tell(Console& console, const config::Diagnostic& diagnostic);

// Reads and checks it. Errors and warnings go to stderr; with -q warnings do not.
// `also`: as further --set of the command line.
OrEnded<config::Config> load_config(Console& console, const std::vector<std::string>& also = {});

// The end of a command that cannot ask a run, where SEMEL_URL says to: what is meant for a run
// elsewhere must not change what is here.
std::optional<int> refuse_url(Console& console);

// A store opened beside whatever runs on it.
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

// What keeps no messages is refused.
OrEnded<Session> need_messages(Console& console, OrEnded<Session> session);

// The store as people name it: "sqlite ./semel.db".
std::string store_name(const config::Config& config);

// The path that the sockets of its runs stand beside; empty for the memory store.
Result<std::string> watched_path(const config::Config& config);

// The consumer of that name, or an error that names the ones there are.
OrEnded<const config::ConsumerConfig*> find_consumer(Console& console, const config::Config& config,
                                                     std::string_view name);

}  // namespace semel::cli
