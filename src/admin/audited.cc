#include "admin/audited.h"

#include <cstring>
#include <utility>

#include <semel/audit.h>
#include <semel/environment.h>

#include "admin/problem.h"

namespace semel::admin {

namespace {

Nonce drawn_request() {
  Nonce request;
  Random& random = *system_environment().random;
  for (std::size_t i = 0; i < request.bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random.next();
    std::memcpy(request.bytes.data() + i, &bits, sizeof bits);
  }
  return request;
}

}  // namespace

HttpResponse audited(const ApiCall& call, const operate::StoreAccess& access, const Act& act,
                     const std::function<ActEnd()>& work) {
  if (access.facets.audit == nullptr) {
    return problem(409, {ErrorKind::kRejected, "R343", "this store keeps no audit log", {}});
  }
  AuditEntry entry;
  entry.who = call.caller.name;
  entry.action = act.action;
  entry.target = act.target;
  entry.reason = act.reason;
  const auto id = access.facets.audit->append(drawn_request(), entry);
  if (!id) return problem(id.error());
  ActEnd end = work();
  // An end that is not told is one that nobody saw.
  (void)access.facets.audit->end(*id, end.outcome);
  return std::move(end.answer);
}

}  // namespace semel::admin
