// Address: the database that a URL names, without connecting.
#pragma once

#include <optional>
#include <string>

namespace semel::postgres {

struct Address {
  std::string host;  // or the directory of the server's socket
  std::string port;
  std::string database;
};

// Parameters missing in the URL come from the environment, as when connecting. nullopt where the
// URL cannot be read.
std::optional<Address> address_of(const std::string& url);

}  // namespace semel::postgres
