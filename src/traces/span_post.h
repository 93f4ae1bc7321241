// SpanPost: sends a batch of spans to a collector.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <semel/result.h>

#include "core/traces_spec.h"

namespace semel::traces {

struct PostAnswer {
  enum class Kind {
    kTaken,    // except `rejected` of them
    kRefused,  // sending the same again would not help
    kAway,     // not reachable: they may be accepted later
  };
  Kind kind = Kind::kTaken;
  std::size_t rejected = 0;
  std::string error;  // for people; contains nothing of what was sent
  std::optional<std::chrono::milliseconds> retry_after;  // kAway: what the collector asked for
};

class SpanPost {
 public:
  virtual ~SpanPost() = default;
  // One thread at a time. Blocks until it is answered, or aborted.
  virtual PostAnswer post(const std::string& body) = 0;
  // Aborts posts that are not over by then, including a running one. Thread-safe.
  virtual void end_by(std::chrono::steady_clock::time_point time) noexcept = 0;
};

// Over HTTP, by libcurl. Errors: R350.
Result<std::unique_ptr<SpanPost>> make_http_post(const core::TracesSpec& spec);

}  // namespace semel::traces
