// An act of a person, with its entry in the audit log: durable before the act, and told how it
// ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "admin/api_route.h"
#include "operate/store_access.h"

namespace semel::admin {

struct Act {
  std::string action;  // "records.forget"
  std::string target;
  std::string reason;
};

struct ActEnd {
  HttpResponse answer;
  std::string outcome;  // in a few words, for the log
};

// Adds the entry of an act that has not begun; its id, or the answer that says why it cannot be.
tl::expected<std::int64_t, HttpResponse> begin_act(const ApiCall& call,
                                                   const operate::StoreAccess& access,
                                                   const Act& act);
// An end that cannot be told is one that nobody saw.
void end_act(const operate::StoreAccess& access, std::int64_t id, const std::string& outcome);

// Where the entry cannot be written, nothing is done. Where how it ended cannot be, the entry says
// that nobody saw the end.
HttpResponse audited(const ApiCall& call, const operate::StoreAccess& access, const Act& act,
                     const std::function<ActEnd()>& work);

}  // namespace semel::admin
