// Builds `store:`, and checks it with the rest.
#pragma once

#include <string>

#include "config/build.h"

namespace semel::config {

// `path` relative to the config's folder.
std::string resolve_path(const std::string& folder, const std::string& path);

StoreConfig build_store(const View& store, const std::string& folder, Report& report);

// Checks the URL of a Redis server, and the prefix of names there.
void check_redis_place(const View& redis, Report& report);

// Checks the URL of a Redis server.
void check_redis_url(const View& redis, Report& report);

// Reports SQL in a dialect that the consumer's store does not have.
void check_dialect(const StoreConfig& store, const View& consumer, Report& report);

}  // namespace semel::config
