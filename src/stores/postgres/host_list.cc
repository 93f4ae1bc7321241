#include "stores/postgres/host_list.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>

namespace semel::postgres {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  if (list.empty()) return parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

}  // namespace

std::string option_of(PGconn* connection, std::string_view name) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfo(connection),
                                                                             &PQconninfoFree);
  const PQconninfoOption* one = options.get();
  for (; one != nullptr && one->keyword != nullptr; ++one) {
    if (name == one->keyword) return one->val != nullptr ? one->val : "";
  }
  return {};
}

HostList::HostList(PGconn* connection)
    : hosts_(split(option_of(connection, "host"))),
      host_addresses_(split(option_of(connection, "hostaddr"))),
      ports_(split(option_of(connection, "port"))) {}

std::string HostList::joined(const Parts& parts) {
  std::string list;
  for (std::size_t i = 0; i < parts.size(); ++i) list += (i == 0 ? "" : ",") + parts[i];
  return list;
}

// The same as PQhost.
std::string_view HostList::name_at(std::size_t index) const {
  if (index < hosts_.size() && !hosts_[index].empty()) return hosts_[index];
  return index < host_addresses_.size() ? std::string_view(host_addresses_[index]) : "";
}

std::string_view HostList::port_at(std::size_t index) const {
  if (ports_.size() == 1) return ports_[0];
  return index < ports_.size() ? std::string_view(ports_[index]) : "";
}

bool HostList::drop_current(PGconn* connection) {
  const std::size_t count = std::max(hosts_.size(), host_addresses_.size());
  const std::string_view host = PQhost(connection);
  const std::string_view port = PQport(connection);
  std::size_t index = 0;
  while (index < count &&
         (name_at(index) != host || (!port_at(index).empty() && port_at(index) != port))) {
    ++index;
  }
  if (index == count || count == 1) return false;
  for (Parts* parts : {&hosts_, &host_addresses_, &ports_}) {
    if (parts->size() == count) parts->erase(parts->begin() + static_cast<std::ptrdiff_t>(index));
  }
  return true;
}

}  // namespace semel::postgres
