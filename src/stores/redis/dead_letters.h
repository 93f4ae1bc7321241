// DeadLetters over their hashes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <semel/admin/records.h>

#include "stores/redis/core.h"

namespace semel::redis {

std::unique_ptr<DeadLetters> make_dead_letters(Core& core);

// Parked or dead → retrying, due now, and what is held for the record shows; false where it is in
// no such state. `note`: of giving up, into its journal. Throws core::Failure.
bool unlock_record(Core& core, const KeyId& id, const std::optional<Bytes>& note = {});

// A letter or record that changes between two steps is looked at again, so often; then
// never_stands_still() throws.
inline constexpr int kLooks = 5;
[[noreturn]] void never_stands_still();
// What the word means that a script answers.
Edited edited_of(BytesView word);

// The consumers that are known here. Throws core::Failure.
std::map<std::string, ConsumerNumber> known_consumers(Core& core);

}  // namespace semel::redis
