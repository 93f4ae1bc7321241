// Keys that one client claims and finishes, in batches: over HTTP, and by calls of a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace semel::bench {

// Keys a second, over one connection to a run whose consumer "mails" is claimed. Gives up unless
// each is new, and then done.
double claim_over_http(std::uint16_t port, std::string_view secret, std::size_t keys,
                       std::size_t batch);

// The same on a new SQLite store at `path`, in this process.
double claim_on_sqlite(const std::string& path, std::size_t keys, std::size_t batch);

}  // namespace semel::bench
