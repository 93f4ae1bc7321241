// Address: which database a URL means, without asking it.
#pragma once

#include <optional>
#include <string>

namespace semel::postgres {

struct Address {
  std::string host;  // or the folder of the server's socket
  std::string port;
  std::string database;
};

// What the URL does not say comes from the environment, as when it is connected to. None where it
// cannot be read.
std::optional<Address> address_of(const std::string& url);

}  // namespace semel::postgres
