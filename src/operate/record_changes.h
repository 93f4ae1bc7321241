// Records as an operator changes them. What moved on since it was seen stays as it is.
#pragma once

#include <set>
#include <string_view>

#include <semel/admin/records.h>
#include <semel/environment.h>

#include "operate/store_access.h"

namespace semel::operate {

// Words of a person about an effect that the record cannot know of: "done" (it happened), "retry"
// (it did not, and is tried again) or "dead" (it did not, and never shall).
inline constexpr std::string_view kDone = "done", kRetry = "retry", kDead = "dead";

// Each: false where the record moved on, or is in no state for it.

// Refused (R241) while a live lease holds it. reseal_records belongs before and after it.
Result<bool> forget_record(const StoreAccess& access, const RecordView& seen);
// Parked or dead → tried again, now. Refused (R242) where its effect may have happened.
Result<bool> unlock_record(const StoreAccess& access, const RecordView& seen);
// `as`: one of the words above.
Result<bool> decide_record(const StoreAccess& access, const RecordView& seen, std::string_view as);

// Windows in front of the consumers' records forget all that they know; true where there are any.
// They have forgotten it kFrontTrusted after the return.
Result<bool> reseal_records(const StoreAccess& access, const std::set<ConsumerNumber>& consumers,
                            Environment& environment);

}  // namespace semel::operate
