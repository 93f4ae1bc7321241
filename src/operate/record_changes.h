// An operator's changes of records. A record that has changed since it was read stays unchanged.
#pragma once

#include <set>
#include <string_view>

#include <semel/admin/records.h>
#include <semel/environment.h>

#include "operate/store_access.h"

namespace semel::operate {

// A person's decision about an effect that the record does not know: "done" (it happened), "retry"
// (it did not, and is tried again) or "dead" (it did not, and must not).
inline constexpr std::string_view kDone = "done", kRetry = "retry", kDead = "dead";

// Each returns false where the record has changed, or has no suitable state.

// Refused (R241) while a live lease holds it. Call reseal_records before and after it.
Result<bool> forget_record(const StoreAccess& access, const RecordView& seen);
// Parked or dead → tried again, now. Refused (R242) where its effect may have happened.
Result<bool> unlock_record(const StoreAccess& access, const RecordView& seen);
// `as`: one of the words above.
Result<bool> decide_record(const StoreAccess& access, const RecordView& seen, std::string_view as);

// Makes the front windows of the consumers forget everything; true where there are any. It takes
// effect kFrontTrusted after the return.
Result<bool> reseal_records(const StoreAccess& access, const std::set<ConsumerNumber>& consumers,
                            Environment& environment);

}  // namespace semel::operate
