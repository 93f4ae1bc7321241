// SpanPost: brings a batch of spans to a collector.
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
    kTaken,    // but for `rejected` of them
    kRefused,  // sending the same again would not help
    kAway,     // nobody took them: later they may be taken
  };
  Kind kind = Kind::kTaken;
  std::size_t rejected = 0;
  std::string error;                                     // for people; never what was sent
  std::optional<std::chrono::milliseconds> retry_after;  // kAway: what the collector asked for
};

class SpanPost {
 public:
  virtual ~SpanPost() = default;
  // One thread at a time. Blocks until it is answered, or given up.
  virtual PostAnswer post(const std::string& body) = 0;
  // A post that is not over by then is given up, also one that runs. From any thread.
  virtual void end_by(std::chrono::steady_clock::time_point time) noexcept = 0;
};

// Over HTTP, by libcurl. Errors: R350.
Result<std::unique_ptr<SpanPost>> make_http_post(const core::TracesSpec& spec);

}  // namespace semel::traces
