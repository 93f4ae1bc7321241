// AuditLog: what people did to a store through the admin API, and why. Kept in the store, so that
// it outlives the process and every process adds to one log.
//
// An entry is durable before the act, and gets its outcome after it: there is no act without an
// entry, and an entry without an outcome is an act whose end is unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <semel/admin/records.h>
#include <semel/result.h>
#include <semel/spi/lease.h>

namespace semel {

struct AuditEntry {
  std::int64_t id = 0;                 // grows; given by the store
  StoreTime at;                        // by the store's clock
  std::string who;                     // a token's name, or "uid N" of a caller on the Unix socket
  std::string action;                  // "records.forget"
  std::string target;                  // what it was done to: a consumer, a key, an id
  std::string reason;                  // in the person's words; may be empty
  std::optional<std::string> outcome;  // nullopt: it has begun, and its end is unknown
};

class AuditLog {
 public:
  virtual ~AuditLog() = default;

  // Adds an entry, whose id, time and outcome are ignored; returns its id, durable against power
  // loss. `request` is drawn at random for each act: the same one adds no second entry, so that an
  // append whose answer was lost may be repeated.
  virtual Result<std::int64_t> append(const Nonce& request, const AuditEntry& entry) = 0;
  // Sets the outcome of an act. Only the first call for an entry counts.
  virtual Result<void> end(std::int64_t id, std::string_view outcome) = 0;
  // The newest first; with `before` those whose ids are below it.
  virtual Result<std::vector<AuditEntry>> list(std::optional<std::int64_t> before,
                                               std::size_t limit) = 0;
};

}  // namespace semel
