// `store:` into its config, and what it asks of the rest.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

// `path` as it is seen from the config's folder.
std::string resolve_path(const std::string& folder, const std::string& path);

StoreConfig build_store(const View& store, const std::string& folder, Report& report);

// Of a Redis server: its URL, and how names begin there.
void check_redis_place(const View& redis, Report& report);

// Checks the URL of a Redis server.
void check_redis_url(const View& redis, Report& report);

// SQL that the consumer's store does not speak.
void check_dialect(const StoreConfig& store, const View& consumer, Report& report);

}  // namespace semel::config
