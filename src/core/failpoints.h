// The points in a message's handling at which a test may stop, delay or kill the process: those of
// stores (semel/spi/failpoints.h) and the library's own.
#pragma once

#include <string_view>

#include <semel/spi/failpoints.h>

namespace semel::failpoint {

inline constexpr std::string_view kReceived = "received";
inline constexpr std::string_view kHandlerBefore = "handler.before";
// Before and after a step's result, or its undo, is written to the journal.
inline constexpr std::string_view kStepBefore = "step.before";
inline constexpr std::string_view kStepAfter = "step.after";
inline constexpr std::string_view kHandlerAfter = "handler.after";
// Between the steps of a finish that spans several nodes of a Redis Cluster.
inline constexpr std::string_view kMarked = "cluster.marked";
inline constexpr std::string_view kKept = "cluster.kept";
inline constexpr std::string_view kRecorded = "cluster.recorded";
inline constexpr std::string_view kSettleBefore = "settle.before";
inline constexpr std::string_view kSettleAfter = "settle.after";
inline constexpr std::string_view kDrained = "drained";

// In the order in which a message passes them. The crash matrix covers all of them.
inline constexpr std::string_view kAll[] = {
    kReceived,     kBegun,    kClaimed,     kHandlerBefore, kStepBefore,   kStepAfter,
    kHandlerAfter, kFlushed,  kConfirmed,   kFinished,      kCommitBefore, kMarked,
    kKept,         kRecorded, kCommitAfter, kSettleBefore,  kSettleAfter,  kDrained};

}  // namespace semel::failpoint
