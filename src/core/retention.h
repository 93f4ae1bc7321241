// What a consumer's ttl promises, against how late its source can bring a message again. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <semel/result.h>
#include <semel/spi/source.h>

namespace semel::core {

struct Retention {
  std::optional<std::chrono::milliseconds> ttl;  // of a finished record; none: for ever
  bool written = false;                          // the config says how long, in place of `auto`
  bool accepted = false;                         // knowingly: `accept: [D102]`
};

// "14d", in the largest unit that tells it whole.
std::string duration_text(std::chrono::milliseconds duration);

// Records that are forgotten before the source has forgotten their messages: D102, with both
// times. kRejected where the config asked for it, which a run refuses (docs/contract.md, rule 13);
// kBlocked where `auto` did not know better. Where not all of a horizon is known, what is
// known of it counts. Accepted or not is the caller's to look at.
std::optional<Error> too_short(const Retention& retention, const Horizon& horizon);

}  // namespace semel::core
