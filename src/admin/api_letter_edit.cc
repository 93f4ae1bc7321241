// Gives a dead letter another payload, or other headers.
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/audited.h"
#include "admin/edit_body.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/json_mask.h"
#include "operate/letter_edit.h"
#include "operate/views.h"
#include "operate/words.h"
#include "system/utc_clock.h"

namespace semel::admin {

namespace {

int status_of_refusal(const Error& error) { return error.code == "R343" ? 404 : status_of(error); }

// The mark that replaces masked values must not become part of a message.
std::optional<Error> flaw_of_mask(const EditBody& body, const core::Disclosure& shows) {
  if (shows.contents == core::Disclosure::Contents::kFull || !body.change.payload ||
      body.change.payload->find(json::kHidden) == Bytes::npos) {
    return std::nullopt;
  }
  return Error{ErrorKind::kRejected, "R349",
               fmt::format("the payload has {}, which stands for what is not shown", json::kHidden),
               "write the whole payload; or semel dlq edit, where the store is"};
}

std::string document_of(const operate::PlannedEdit& planned, bool edited, const EditBody& body,
                        const ReplayReport& report) {
  const LetterEdit& edit = planned.edit;
  json::Writer writer = operate::document("dlq_edit");
  writer.member("id", edit.id).member("dry_run", body.dry_run).member("edited", edited);
  writer.member("fingerprint_before", digest::hex(edit.before.view()));
  writer.member("fingerprint", digest::hex(edit.fingerprint.view()));
  if (!body.dry_run) {
    writer.member("revision", operate::revision_of(edit.fingerprint, edit.payload, edit.headers));
  }
  if (body.replay && !body.dry_run) writer.member("replayed", report.replayed);
  return writer.end_object().text();
}

ActEnd refused_act(const Error& error) {
  const char* const end = error.kind == ErrorKind::kInDoubt ? "not known: " : "nothing done: ";
  return {problem(status_of_refusal(error), error), end + error.message};
}

ActEnd edit_letter(const operate::StoreAccess& access, const ApiSources& sources,
                   const DeadLetter& letter, const operate::PlannedEdit& planned,
                   const EditBody& body) {
  if (planned.changes) {
    const auto edited = access.facets.dead_letters->edit(planned.edit);
    if (!edited) return refused_act(edited.error());
    if (const auto error = operate::refusal_of(*edited, letter.id)) return refused_act(*error);
  }
  const std::string done = planned.changes ? "edited" : "nothing to edit: it was so already";
  const auto report =
      body.replay ? replay_one(access, sources, letter) : Result<ReplayReport>(ReplayReport{});
  if (!report) {
    return {problem(report.error()), done + "; not replayed: " + report.error().message};
  }
  std::string outcome = done;
  if (body.replay) outcome += report->replayed > 0 ? "; replayed" : "; not replayed";
  return {json_answer(document_of(planned, planned.changes, body, *report)), std::move(outcome)};
}

HttpResponse foreseen(const operate::StoreAccess& access, const DeadLetter& letter,
                      const operate::PlannedEdit& planned, const EditBody& body) {
  if (planned.changes) {
    const auto answer = operate::foresee_edit(access, letter, planned);
    if (!answer) return problem(answer.error());
    if (const auto error = operate::refusal_of(*answer, letter.id)) {
      return problem(status_of_refusal(*error), *error);
    }
  }
  return json_answer(document_of(planned, false, body, {}));
}

HttpResponse edit_seen(const ApiCall& call, const ApiSources& sources,
                       const operate::StoreAccess& access, const DeadLetter& letter,
                       const EditBody& body) {
  if (body.revision && *body.revision != operate::revision_of(letter)) {
    const auto error = operate::refusal_of(Edited::kMoved, letter.id);
    return problem(status_of_refusal(*error), *error);
  }
  const core::Disclosure shows = shown_to(call, sources);
  if (const auto flaw = flaw_of_mask(body, shows)) return problem(422, *flaw);
  const bool texts = shows.errors == core::Disclosure::Errors::kText;
  const auto planned = operate::plan_edit(access, letter, body.change, system::utc_now(), texts);
  if (!planned) {
    const Error& error = planned.error();
    return problem(error.code == "R349" ? 422 : status_of(error), error);
  }
  if (body.dry_run) return foreseen(access, letter, *planned, body);
  const std::string target = audit_target(letter) + ": " + operate::difference_of(planned->edit);
  return audited(call, access, {"dead_letters.edit", target, body.reason},
                 [&] { return edit_letter(access, sources, letter, *planned, body); });
}

}  // namespace

namespace api {

HttpResponse edit_dead_letter(const ApiCall& call, const ApiSources& sources) {
  const auto id = letter_id_of(call);
  if (!id) return id.error();
  auto body = edit_body(call);
  if (!body) return std::move(body.error());
  return with_own_letter(sources, *id,
                         [&](const operate::StoreAccess& access, const DeadLetter& letter) {
                           return edit_seen(call, sources, access, letter, *body);
                         });
}

}  // namespace api

}  // namespace semel::admin
