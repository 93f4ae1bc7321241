#include "admin/audited.h"

#include <utility>

#include <fmt/format.h>
#include <semel/admin/audit.h>
#include <semel/environment.h>
#include <semel/spi/record_machine.h>

#include "admin/problem.h"
#include "operate/words.h"

namespace semel::admin {

std::string audit_target(const DeadLetter& letter) {
  std::string target = fmt::format("{} {}", letter.consumer, letter.id);
  if (!letter.key.empty()) target += " " + operate::printable(letter.key);
  return target;
}

tl::expected<std::int64_t, HttpResponse> begin_act(const ApiCall& call,
                                                   const operate::StoreAccess& access,
                                                   const Act& act) {
  if (access.facets.audit == nullptr) {
    return tl::unexpected(
        problem(409, {ErrorKind::kRejected, "R343", "this store keeps no audit log", {}}));
  }
  AuditEntry entry;
  entry.who = call.caller.name;
  entry.action = act.action;
  entry.target = act.target;
  entry.reason = act.reason;
  AuditLog& log = *access.facets.audit;
  // Writing the same entry twice has no further effect.
  const Nonce request = spi::draw_nonce(*system_environment().random);
  auto id = log.append(request, entry);
  if (!id && id.error().kind == ErrorKind::kInDoubt) id = log.append(request, entry);
  if (!id) return tl::unexpected(problem(id.error()));
  return *id;
}

void end_act(const operate::StoreAccess& access, std::int64_t id, const std::string& outcome) {
  AuditLog& log = *access.facets.audit;
  if (!log.end(id, outcome)) (void)log.end(id, outcome);
}

HttpResponse audited(const ApiCall& call, const operate::StoreAccess& access, const Act& act,
                     const std::function<ActEnd()>& work) {
  auto id = begin_act(call, access, act);
  if (!id) return std::move(id.error());
  ActEnd end = work();
  end_act(access, *id, end.outcome);
  return std::move(end.answer);
}

}  // namespace semel::admin
