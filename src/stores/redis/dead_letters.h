// DeadLetters over their hashes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <semel/admin/records.h>

#include "stores/redis/store_context.h"

namespace semel::redis {

std::unique_ptr<DeadLetters> make_dead_letters(StoreContext& context);

// Parked or dead → retrying, due now, and the row held for the record becomes visible; false where
// it is in neither state. `note`: of giving up, added to its journal. Throws core::Failure.
bool unlock_record(StoreContext& context, const KeyId& id, const std::optional<Bytes>& note = {});

// A letter or record that changes between two steps is looked at again, this often; then
// never_stands_still() throws.
inline constexpr int kLooks = 5;
[[noreturn]] void never_stands_still();
// The Edited that a script's word means.
Edited edited_of(BytesView word);

// The consumers that are known here. Throws core::Failure.
std::map<std::string, ConsumerNumber> known_consumers(StoreContext& context);

}  // namespace semel::redis
