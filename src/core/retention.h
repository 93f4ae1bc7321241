// Checks a consumer's ttl against how late its source can deliver a message again. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/result.h>
#include <semel/spi/source.h>

namespace semel::core {

struct Retention {
  std::optional<std::chrono::milliseconds> ttl;  // of a finished record; nullopt: for ever
  bool written = false;                          // the config sets the ttl, instead of `auto`
  bool accepted = false;                         // the user accepts it: `accept: [D102]`
};

// "14d": in the largest unit that expresses it exactly.
std::string duration_text(std::chrono::milliseconds duration);

// D102, with both times, where records are forgotten before the source has forgotten their
// messages. kRejected where the config set the ttl, which a run refuses (docs/contract.md, rule
// 13); kBlocked where `auto` chose it. If a horizon is only partly known, the known part
// counts. The caller must look at `accepted`.
std::optional<Error> too_short(const Retention& retention, const Horizon& horizon);

}  // namespace semel::core
