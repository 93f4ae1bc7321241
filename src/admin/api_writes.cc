// Acts of operators: pause and resume consumers, unlock and forget records, replay and discard dead
// letters. Also the log of these acts.
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <semel/admin/audit.h>
#include <semel/admin/gates.h>
#include <semel/environment.h>
#include <semel/front.h>

#include "admin/api_number.h"
#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/audited.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "admin/write_body.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "operate/record_changes.h"
#include "operate/records.h"
#include "operate/views.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

constexpr std::size_t kNameShown = 80;
constexpr std::size_t kAuditPage = 100;
constexpr std::size_t kLargestAuditPage = 1'000;
constexpr std::string_view kNoSuchThing = "R343";

std::string error_text(const Error& error) {
  return error.code.empty() ? error.message : fmt::format("{}: {}", error.code, error.message);
}

ActEnd failed_act(const Error& error) {
  const char* const end = error.kind == ErrorKind::kInDoubt ? "not known: " : "failed: ";
  return {problem(error), end + error_text(error)};
}

ActEnd in_no_state(std::string message) {
  std::string outcome = "nothing done: " + message;
  return {problem(409, {ErrorKind::kRejected, "R348", std::move(message),
                        "look at it again: it moved on, or there is nothing to do"}),
          std::move(outcome)};
}

HttpResponse no_such_consumer(const std::string& name) {
  return not_found(fmt::format("there is no consumer \"{}\"", operate::printable(name, kNameShown)),
                   "GET /api/v1/consumers");
}

// The number of a consumer of the config, as the store has it.
tl::expected<ConsumerNumber, HttpResponse> number_of(const operate::StoreAccess& access,
                                                     const std::string& name) {
  if (access.config.find(name) != nullptr) {
    const auto number = access.facets.records->consumer(name);
    if (!number) return tl::unexpected(problem(number.error()));
    if (*number) return **number;
  }
  return tl::unexpected(no_such_consumer(name));
}

ActEnd gate_end(const std::string& name, bool paused, bool changed) {
  json::Writer writer = operate::document("consumer_gate");
  writer.member("name", name).member("gate", paused ? "paused" : "open");
  writer.member("changed", changed).end_object();
  const char* const outcome = paused ? "paused" : "resumed";
  return {json_answer(writer.text()), changed ? outcome : "nothing done: it was so already"};
}

ActEnd pause(const operate::StoreAccess& access, const std::string& name, ConsumerNumber number,
             const std::string& why) {
  const auto before = access.facets.gates->state(number);
  if (!before) return failed_act(before.error());
  const auto shut = access.facets.gates->shut(number, why, std::nullopt);
  if (!shut) return failed_act(shut.error());
  return gate_end(name, true, !*before || (*before)->until);
}

// Resumes first in this process, which may have drained a consumer that the store does not know
// yet, then the gate, if the store has one for it.
ActEnd resume(const operate::StoreAccess& access, const ApiSources& sources,
              const std::string& name) {
  bool is_known = false;
  bool changed = false;
  if (sources.resume) {
    const auto here = sources.resume(name);
    if (!here && here.error().code != kNoSuchThing) return failed_act(here.error());
    is_known = here.has_value();
    changed = here && here->changed;
  }
  const auto number = access.facets.records->consumer(name);
  if (!number) return failed_act(number.error());
  if (!is_known && !*number)
    return {no_such_consumer(name), "nothing done: there is no such consumer"};
  if (*number) {
    const auto was_shut = access.facets.gates->resume(**number);
    if (!was_shut) return failed_act(was_shut.error());
    changed = changed || *was_shut;
  }
  return gate_end(name, false, changed);
}

// Calls `change` with the record that a path names; 404 if there is none.
HttpResponse with_record(
    const ApiCall& call, const ApiSources& sources,
    const std::function<HttpResponse(const operate::StoreAccess&, const RecordView&)>& change) {
  return with_store(sources, [&](const operate::StoreAccess& access) {
    if (access.config.find(call.path[0]) == nullptr) {
      return no_such_consumer(call.path[0]);
    }
    const auto found = operate::find_records(access, {call.path[0]}, call.path[1]);
    if (!found) return problem(found.error());
    if (found->empty()) {
      return not_found(
          fmt::format("no record of \"{}\"", operate::printable(call.path[1], kNameShown)), {});
    }
    return change(access, found->front().record);
  });
}

// The record as a refusal may show it: its error may have to be hidden.
RecordView told(const ApiSources& sources, const RecordView& seen) {
  const core::Disclosure shows = shown_in_lists(sources);
  RecordView made = seen;
  if (shows.errors == core::Disclosure::Errors::kText || made.error.empty()) return made;
  const std::string cause = operate::shown_error(seen.reason, seen.error, shows);
  made.error = cause.empty() ? std::string("its error is not shown") : cause;
  return made;
}

Act record_act(const ApiCall& call, std::string action, std::string reason) {
  return {std::move(action), call.path[0] + " " + operate::printable(call.path[1]),
          std::move(reason)};
}

// True if the record has changed since the caller saw it.
bool moved_on(const WriteBody& body, const RecordView& seen) {
  return (body.state && *body.state != to_string(seen.state)) ||
         (body.token && *body.token != seen.token);
}

constexpr const char* kMovedOn = "the record moved on since it was seen";

ActEnd changed_record(const ApiCall& call, const Result<bool>& changed, const char* document,
                      const char* done, const char* state, const std::string& as = {}) {
  if (!changed) return failed_act(changed.error());
  if (!*changed) return in_no_state(state);
  json::Writer writer = operate::document(document);
  writer.member("consumer", call.path[0]).bytes("key", call.path[1]);
  writer.member(done, true).end_object();
  return {json_answer(writer.text()), as.empty() ? done : "ended as " + as};
}

// Reseals before forgetting too, so that a kill in between leaves few stale answers in the front
// windows.
Result<bool> forget(const operate::StoreAccess& access, const RecordView& seen) {
  Environment& environment = system_environment();
  const std::set<ConsumerNumber> consumers = {seen.id.consumer()};
  auto windows = operate::reseal_records(access, consumers, environment);
  if (!windows) return windows;
  auto forgotten = operate::forget_record(access, seen);
  if (!forgotten || !*forgotten) return forgotten;
  windows = operate::reseal_records(access, consumers, environment);
  if (!windows) return windows;
  // When this function returns, no front window answers that the key is completed.
  if (*windows) std::this_thread::sleep_for(kFrontTrusted);
  return true;
}

ActEnd replay_letter(const operate::StoreAccess& access, const ApiSources& sources,
                     const DeadLetter& letter) {
  const auto report = replay_one(access, sources, letter);
  if (!report) return failed_act(report.error());
  json::Writer writer = operate::document("replay");
  writer.member("replayed", report->replayed);
  writer.member("skipped_completed", report->skipped_completed);
  writer.member("skipped_conflict", report->skipped_conflict);
  writer.member("gone", report->missing).end_object();
  if (report->missing > 0) {
    return {not_found(fmt::format("there is no dead letter {}", letter.id)),
            "nothing done: it is gone"};
  }
  return {json_answer(writer.text()), report->replayed > 0 ? "replayed"
                                      : report->skipped_completed > 0
                                          ? "skipped: completed meanwhile"
                                          : "skipped: the key belongs to another payload"};
}

ActEnd discard_letter(const operate::StoreAccess& access, const ApiSources&,
                      const DeadLetter& letter) {
  const auto gone = access.facets.dead_letters->discard({&letter.id, 1});
  if (!gone) return failed_act(gone.error());
  if (*gone == 0) {
    return {not_found(fmt::format("there is no dead letter {}", letter.id)),
            "nothing done: it is gone"};
  }
  json::Writer writer = operate::document("discard");
  writer.member("discarded", *gone).end_object();
  return {json_answer(writer.text()), "discarded"};
}

HttpResponse with_letter(const ApiCall& call, const ApiSources& sources, const char* action,
                         ActEnd (*work)(const operate::StoreAccess&, const ApiSources&,
                                        const DeadLetter&)) {
  const auto id = letter_id_of(call);
  if (!id) return id.error();
  auto body = write_body(call);
  if (!body) return std::move(body.error());
  return with_own_letter(
      sources, *id, [&](const operate::StoreAccess& access, const DeadLetter& letter) {
        return audited(call, access, {action, audit_target(letter), body->reason},
                       [&] { return work(access, sources, letter); });
      });
}

}  // namespace

namespace api {

HttpResponse pause_consumer(const ApiCall& call, const ApiSources& sources) {
  const auto body = write_body(call);
  if (!body) return body.error();
  const std::string why = body->reason.empty() ? "by " + call.caller.name : body->reason;
  return with_store(sources, [&](const operate::StoreAccess& access) {
    const auto number = number_of(access, call.path[0]);
    if (!number) return number.error();
    return audited(call, access, {"consumers.pause", call.path[0], body->reason},
                   [&] { return pause(access, call.path[0], *number, why); });
  });
}

HttpResponse resume_consumer(const ApiCall& call, const ApiSources& sources) {
  const auto body = write_body(call);
  if (!body) return body.error();
  return with_store(sources, [&](const operate::StoreAccess& access) {
    const std::string& name = call.path[0];
    if (access.config.find(name) == nullptr) return no_such_consumer(name);
    return audited(call, access, {"consumers.resume", name, body->reason},
                   [&] { return resume(access, sources, name); });
  });
}

HttpResponse unlock_record(const ApiCall& call, const ApiSources& sources) {
  const auto body = write_body(call);
  if (!body) return body.error();
  const std::string& as = body->as;
  if (!as.empty() && as != operate::kDone && as != operate::kRetry && as != operate::kDead) {
    return bad_request(fmt::format("as cannot be \"{}\"", operate::printable(as, kNameShown)),
                       "done, retry or dead");
  }
  // A wrong word here loses an effect or doubles it.
  if (!as.empty() && !call.has(core::Role::kAdmin)) {
    return problem(
        403, {ErrorKind::kRejected, "R342", "to say what became of an effect needs the role admin",
              "a token of admin.auth.tokens with that role"});
  }
  return with_record(
      call, sources, [&](const operate::StoreAccess& access, const RecordView& seen) {
        const std::string action = as.empty() ? "records.unlock" : "records.unlock as " + as;
        return audited(call, access, record_act(call, action, body->reason), [&] {
          if (moved_on(*body, seen)) return in_no_state(kMovedOn);
          const auto changed = as.empty() ? operate::unlock_record(access, told(sources, seen))
                                          : operate::decide_record(access, seen, as);
          return changed_record(call, changed, "unlock", "unlocked",
                                "the record is neither parked nor dead, or moved on", as);
        });
      });
}

HttpResponse forget_record(const ApiCall& call, const ApiSources& sources) {
  const auto body = write_body(call);
  if (!body) return body.error();
  return with_record(
      call, sources, [&](const operate::StoreAccess& access, const RecordView& seen) {
        return audited(call, access, record_act(call, "records.forget", body->reason), [&] {
          if (moved_on(*body, seen)) return in_no_state(kMovedOn);
          return changed_record(call, forget(access, seen), "forget", "forgotten",
                                "the record is being worked on, or moved on");
        });
      });
}

HttpResponse replay_dead_letter(const ApiCall& call, const ApiSources& sources) {
  return with_letter(call, sources, "dead_letters.replay", replay_letter);
}

HttpResponse discard_dead_letter(const ApiCall& call, const ApiSources& sources) {
  return with_letter(call, sources, "dead_letters.discard", discard_letter);
}

HttpResponse list_audit(const ApiCall& call, const ApiSources& sources) {
  std::size_t limit = kAuditPage;
  if (const auto asked = call.value("limit"); !asked.empty()) {
    const auto number = whole_number(asked);
    if (!number || *number == 0 || static_cast<std::size_t>(*number) > kLargestAuditPage) {
      return bad_request("limit is out of range", fmt::format("1 to {}", kLargestAuditPage));
    }
    limit = static_cast<std::size_t>(*number);
  }
  std::optional<std::int64_t> before;
  if (const auto asked = call.value("before"); !asked.empty()) {
    before = whole_number(asked);
    if (!before) return bad_request("before is not an id", "the member next of the page before");
  }
  return with_store(sources, [&](const operate::StoreAccess& access) {
    if (access.facets.audit == nullptr) return not_found("this store keeps no audit log");
    const auto entries = access.facets.audit->list(before, limit);
    if (!entries) return problem(entries.error());
    json::Writer writer = operate::document("audit");
    writer.name("entries").begin_array();
    for (const AuditEntry& entry : *entries) {
      writer.begin_object().member("id", entry.id).member("at", iso_time(entry.at));
      writer.member("who", entry.who).member("action", entry.action);
      writer.bytes("target", entry.target).bytes("reason", entry.reason).name("outcome");
      if (entry.outcome) {
        writer.value(*entry.outcome);
      } else {
        writer.null();
      }
      writer.end_object();
    }
    writer.end_array();
    if (entries->size() == limit) writer.member("next", std::to_string(entries->back().id));
    writer.end_object();
    return json_answer(writer.text());
  });
}

}  // namespace api

}  // namespace semel::admin
