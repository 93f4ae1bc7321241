// A person's act, with its entry in the audit log: durable before the act, and completed with the
// act's outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <semel/admin/records.h>

#include "admin/api_route.h"
#include "operate/store_access.h"

namespace semel::admin {

struct Act {
  std::string action;  // "records.forget"
  std::string target;
  std::string reason;
};

// A dead letter as the target of an act: consumer, id, and the key where it has one.
std::string audit_target(const DeadLetter& letter);

struct ActEnd {
  HttpResponse answer;
  std::string outcome;  // in a few words, for the log
};

// Adds the entry of an act that has not begun; returns its id, or the answer that explains the
// failure.
tl::expected<std::int64_t, HttpResponse> begin_act(const ApiCall& call,
                                                   const operate::StoreAccess& access,
                                                   const Act& act);
// If the outcome cannot be written, the act's end is unknown.
void end_act(const operate::StoreAccess& access, std::int64_t id, const std::string& outcome);

// If the entry cannot be written, nothing is done. If the outcome cannot be written, the entry
// shows an unknown end.
HttpResponse audited(const ApiCall& call, const operate::StoreAccess& access, const Act& act,
                     const std::function<ActEnd()>& work);

}  // namespace semel::admin
