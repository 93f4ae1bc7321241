// The names of a step: in the journal, and for the service that it calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/bytes.h>
#include <semel/key.h>
#include <semel/step_spec.h>

namespace semel::core {

inline constexpr std::size_t kLongestStepName = 63;
inline constexpr std::size_t kLongestStepId = 255;  // bytes

// Why a step cannot have this name and business id; nullopt: it can.
std::optional<std::string> refuse_step(std::string_view name, BytesView id);
// Why a handler cannot declare these; nullopt: it can.
std::optional<std::string> refuse_specs(const StepSpecs& steps);

// "order-17/lock_stock", "order-17/lock_stock=A7", in a later round "order-17/lock_stock/2".
// Depends on the message's key, and on nothing that differs between attempts; no two steps share
// one.
Bytes step_key(BytesView message_key, std::string_view name, BytesView id, int round);
// The same for its undo: "order-17/lock_stock/undo".
Bytes undo_key(BytesView message_key, std::string_view name, BytesView id, int round);

// Compared when a step is met again.
Fingerprint input_fingerprint(BytesView input) noexcept;

// "lock_stock", "lock_stock (A7)": for people.
std::string step_name(std::string_view name, BytesView id);

}  // namespace semel::core
