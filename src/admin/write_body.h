// The body of a write: a JSON object that contains only members of its route.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "admin/api_route.h"

namespace semel::admin {

// In bytes.
inline constexpr std::size_t kLongestReason = 1'000;

struct WriteBody {
  std::string reason;
  std::string as;
  std::optional<std::string> rate;
  bool dry_run = false;
  std::optional<std::int64_t> up_to;  // from an earlier plan
  // The record as the caller saw it.
  std::optional<std::string> state;
  std::optional<std::uint64_t> token;
};

// The body; or 400 with what is wrong.
tl::expected<WriteBody, HttpResponse> write_body(const ApiCall& call);

}  // namespace semel::admin
