// Reload and drain of a run, for the API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <semel/error.h>
#include <semel/result.h>

#include "base/iso_time.h"
#include "config/config.h"
#include "config/difference.h"

namespace semel::admin {

// Why a config was refused; the run continues with its previous one.
struct ReloadRefusal {
  Error error;
  std::vector<config::Diagnostic> diagnostics;  // of the file, each at its place
};
using Reloaded = tl::expected<config::Difference, ReloadRefusal>;

struct ReloadState {
  enum class Last { kNone, kTaken, kRefused };
  Last last = Last::kNone;
  UtcTime at{};       // of the last one
  std::string code;   // of the error for which it was refused: "R355"
  std::string error;  // its text, which may quote the config
  // Consumers that are still draining or restarting because of it.
  std::vector<std::string> waits_for;
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;
  UtcTime taken_at{};  // of the newest config in effect: by a reload, or by the start
};

// A consumer of this process after a drain or a resume.
struct DrainState {
  std::string phase;  // "draining", "drained", "running", "starting"
  std::size_t in_flight = 0;
  bool changed = false;  // false: it was in that state already
};

}  // namespace semel::admin
