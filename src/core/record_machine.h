// The record machine (semel/spi/record_machine.h) by the name that the rooms know it by.
#pragma once

#include <semel/spi/record_machine.h>

namespace semel::core {

using std::chrono::milliseconds;

using spi::ClaimRequest;
using spi::Record;

using spi::acquired_before;
using spi::busy_for;
using spi::decide_claim;
using spi::decide_edit;
using spi::decide_finish;
using spi::decide_renew;
using spi::decide_seize;
using spi::decide_unlock;
using spi::draw_nonce;
using spi::due_after;
using spi::kLatestDue;
using spi::kLongestBusy;
using spi::kShortestBusy;
using spi::same_fingerprint;
using spi::view_of;

}  // namespace semel::core
