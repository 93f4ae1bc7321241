// Role: what the holder of a token may do through the admin listener.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace semel::core {

// Each may do what those before it may.
enum class Role {
  kRead,      // look, but see no payload
  kOperator,  // see payloads; pause, resume, unlock, replay: nothing that loses or doubles
  kAdmin,     // forget, discard, decide an effect's outcome; see config and audit log
};

constexpr std::string_view kRoleWords[] = {"read", "operator", "admin"};

constexpr std::string_view to_string(Role role) noexcept {
  return kRoleWords[static_cast<std::size_t>(role)];
}

constexpr std::optional<Role> role_from(std::string_view word) noexcept {
  for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
    if (word == to_string(role)) return role;
  }
  return std::nullopt;
}

}  // namespace semel::core
