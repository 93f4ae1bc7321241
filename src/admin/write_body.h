// The body of a write: a JSON object with the members that its route has, and no others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "admin/api_route.h"

namespace semel::admin {

struct WriteBody {
  std::string reason;
  std::string as;
  std::optional<std::string> rate;
  bool dry_run = false;
  // The record as the caller saw it.
  std::optional<std::string> state;
  std::optional<std::uint64_t> token;
};

// Or 400 with what is wrong.
tl::expected<WriteBody, HttpResponse> write_body(const ApiCall& call);

}  // namespace semel::admin
