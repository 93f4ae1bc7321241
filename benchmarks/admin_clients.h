// Clients of a run's admin listener: many that are idle, some that ask once a second each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace semel::bench {

class AdminClients {
 public:
  // Connects all of them; gives up where one is not answered.
  AdminClients(std::uint16_t port, std::size_t idle, std::size_t busy);
  // Gives up where a connection was closed or an answer was no good one.
  ~AdminClients();
  AdminClients(const AdminClients&) = delete;
  AdminClients& operator=(const AdminClients&) = delete;

  std::size_t answered() const noexcept;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace semel::bench
