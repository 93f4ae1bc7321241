// HostList: the addresses that a URL gives for one database; the first that answers is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stores/postgres/pq.h"

namespace semel::postgres {

class HostList {
 public:
  // Reads the hosts of a started connection, including those from the environment.
  explicit HostList(PGconn* connection);

  // Removes the address that the connection was trying. False where no other is left, or it is
  // unknown which it was.
  [[nodiscard]] bool drop_current(PGconn* connection);

  // As libpq takes them; empty: not given.
  std::string hosts() const { return joined(hosts_); }
  std::string host_addresses() const { return joined(host_addresses_); }
  std::string ports() const { return joined(ports_); }

 private:
  using Parts = std::vector<std::string>;

  static std::string joined(const Parts& parts);
  std::string_view name_at(std::size_t index) const;
  std::string_view port_at(std::size_t index) const;

  Parts hosts_, host_addresses_;
  Parts ports_;  // one for each, or one for all
};

// The value of one of libpq's parameters, from any of its sources.
std::string option_of(PGconn* connection, std::string_view name);

}  // namespace semel::postgres
