// Bulk work on dead letters: plans, and the jobs that carry them out.
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "admin/api_number.h"
#include "admin/api_route.h"
#include "admin/api_store.h"
#include "admin/audited.h"
#include "admin/jobs.h"
#include "admin/letter_filters.h"
#include "admin/problem.h"
#include "admin/shown.h"
#include "admin/write_body.h"
#include "base/iso_time.h"
#include "base/json.h"
#include "operate/letters.h"
#include "operate/rate.h"
#include "operate/views.h"
#include "operate/words.h"

namespace semel::admin {

namespace {

using operate::LetterAct;

constexpr std::size_t kWordShown = 80;
constexpr std::size_t kGroupsOfPlan = 1'000;
constexpr std::size_t kMostLetters = 1'000'000'000;
constexpr int kAccepted = 202;

std::string_view word_of(LetterAct act) { return act == LetterAct::kReplay ? "replay" : "discard"; }

void add_job(json::Writer& writer, const JobView& job, const core::Disclosure& shows) {
  const operate::LetterProgress& progress = job.progress;
  writer.begin_object().member("id", job.id).member("act", word_of(job.act));
  writer.member("selection", job.selection).member("state", to_string(job.state));
  if (!job.why.empty()) writer.member("why", shown_why(job, shows));
  writer.name("total");
  if (progress.total) {
    writer.value(*progress.total);
  } else {
    writer.null();
  }
  writer.member("done", progress.done).member("failed", progress.failed);
  writer.member("skipped_completed", progress.skipped_completed);
  writer.member("skipped_conflict", progress.skipped_conflict).member("gone", progress.gone);
  writer.member("on_their_way", progress.on_their_way);
  if (!progress.last_error.empty()) {
    if (shows.errors == core::Disclosure::Errors::kText) {
      writer.member("last_error", progress.last_error);
    } else {
      writer.member("last_error_bytes", progress.last_error.size());
    }
  }
  if (!job.rate.empty()) writer.member("rate", job.rate);
  writer.bytes("reason", job.reason).member("began_by", job.began_by);
  writer.member("began_at", iso_time(job.began_at));
  if (job.ended_at) writer.member("ended_at", iso_time(*job.ended_at));
  writer.end_object();
}

HttpResponse job_answer(const JobView& job, const ApiSources& sources) {
  json::Writer writer = operate::document("job");
  writer.name("job");
  add_job(writer, job, shown_in_lists(sources));
  writer.end_object();
  return json_answer(writer.text());
}

struct BulkRequest {
  operate::LetterWork work;
  std::string selection;
  WriteBody body;
};

// Letters of consumers that only another config has are left alone.
std::optional<HttpResponse> refusal_of_consumer(const ApiSources& sources,
                                                const operate::LetterQuery& query) {
  for (const std::string& name :
       {query.consumer, query.where.equal_to("consumer").value_or(std::string())}) {
    if (!name.empty() && sources.config->find(name) == nullptr) {
      return not_found(
          fmt::format("there is no consumer \"{}\"", operate::printable(name, kWordShown)),
          "GET /api/v1/consumers");
    }
  }
  return std::nullopt;
}

tl::expected<BulkRequest, HttpResponse> bulk_request(const ApiCall& call, const ApiSources& sources,
                                                     LetterAct act) {
  auto body = write_body(call);
  if (!body) return tl::unexpected(std::move(body.error()));
  if (auto refusal = refusal_of_empty(call)) return tl::unexpected(*std::move(refusal));
  auto query = letter_query(call, sources);
  if (!query) return tl::unexpected(std::move(query.error()));
  if (auto refusal = refusal_of_consumer(sources, *query)) {
    return tl::unexpected(*std::move(refusal));
  }
  query->foreign = false;
  BulkRequest made;
  made.work.act = act;
  made.body = *std::move(body);
  made.work.query = *std::move(query);
  made.selection = operate::query_text(made.work.query, call.value("where"));
  const std::string_view all = call.value("all");
  if (!all.empty() && all != "true" && all != "false") {
    return wrong_value("all", all, "true or false");
  }
  if (made.selection == "all" && all != "true") {
    return tl::unexpected(bad_request("the request does not say which dead letters",
                                      "consumer=, reason= or where=; or all=true"));
  }
  made.work.query.limit = std::numeric_limits<std::size_t>::max();
  if (const std::string_view limit = call.value("limit"); !limit.empty()) {
    const auto number = whole_number(limit);
    if (!number || *number == 0 || static_cast<std::size_t>(*number) > kMostLetters) {
      return wrong_value("limit", limit, fmt::format("1 to {}", kMostLetters));
    }
    made.work.query.limit = static_cast<std::size_t>(*number);
    made.selection += fmt::format(", the first {}", *number);
  }
  if (made.body.up_to) {
    made.work.query.up_to = made.body.up_to;
    made.selection += fmt::format(", up to letter {}", *made.body.up_to);
  }
  if (made.body.rate) {
    made.work.rate = operate::parse_rate(*made.body.rate);
    if (!made.work.rate) {
      return wrong_value("rate", *made.body.rate, "a number and a time: 50/s, 3/m or 100/h");
    }
  }
  return made;
}

HttpResponse plan_answer(const ApiSources& sources, const operate::StoreAccess& access,
                         const BulkRequest& request) {
  operate::LetterQuery query = request.work.query;
  const bool replays = request.work.act == LetterAct::kReplay;
  query.settled = query.foresees = replays;
  if (!query.up_to) {
    const auto last = operate::last_letter(access);
    if (!last) return problem(last.error());
    query.up_to = *last;
  }
  const auto plan = operate::group_letters(access, query, kGroupsOfPlan);
  if (!plan) return problem(plan.error());
  json::Writer writer = operate::document("dead_letter_plan");
  writer.member("act", word_of(request.work.act)).member("selection", request.selection);
  writer.member("count", plan->walk.seen)
      .member("complete", !plan->walk.next || plan->walk.seen == query.limit)
      .member("up_to", *query.up_to);
  if (replays) {
    writer.member("skipped_completed", plan->walk.skipped_completed)
        .member("skipped_conflict", plan->walk.skipped_conflict);
  }
  writer.member("on_their_way", plan->walk.on_their_way).name("groups").begin_array();
  for (const operate::LetterGroup& group : plan->groups) {
    operate::add_letter_group(
        writer, [](StoreTime time) { return iso_time(time); }, group, shown_in_lists(sources));
  }
  writer.end_array().member("ungrouped", plan->ungrouped).end_object();
  return json_answer(writer.text());
}

HttpResponse begin_job(const ApiCall& call, const ApiSources& sources,
                       const operate::StoreAccess& access, BulkRequest request) {
  const std::string_view word = word_of(request.work.act);
  std::string target = request.selection;
  if (request.work.rate) target += " at " + operate::rate_text(*request.work.rate);
  const auto id = begin_act(
      call, access, {fmt::format("dead_letters.{} job", word), target, request.body.reason});
  if (!id) return id.error();
  JobView about;
  about.id = *id;
  about.selection = request.selection;
  about.reason = request.body.reason;
  about.began_by = call.caller.name;
  request.work.query.until.reset();
  Result<JobView> begun = failure({ErrorKind::kUnavailable, "R345", {}, "ask again later"});
  try {
    begun = sources.jobs->begin(std::move(request.work), std::move(about));
  } catch (const std::exception& thrown) {
    begun = failure({ErrorKind::kUnavailable, "R345",
                     fmt::format("no job can be begun now: {}", thrown.what()), "ask again later"});
  }
  if (!begun) {
    end_act(access, *id, "nothing done: " + begun.error().message);
    return problem(begun.error());
  }
  HttpResponse answer = job_answer(*begun, sources);
  answer.status = kAccepted;
  return answer;
}

HttpResponse bulk_answer(const ApiCall& call, const ApiSources& sources, LetterAct act) {
  auto request = bulk_request(call, sources, act);
  if (!request) return std::move(request.error());
  return with_dead_letters(sources, [&](const operate::StoreAccess& access) {
    if (request->body.dry_run) return plan_answer(sources, access, *request);
    return begin_job(call, sources, access, *std::move(request));
  });
}

HttpResponse no_job(std::string_view id) {
  return not_found(
      fmt::format("there is no job {}", operate::printable(id, kWordShown)),
      "GET /api/v1/jobs; a job ends with the run that began it: GET /api/v1/audit says how");
}

std::optional<JobView> job_of(const ApiCall& call, const ApiSources& sources) {
  const auto id = whole_number(call.path[0]);
  return id ? sources.jobs->show(*id) : std::nullopt;
}

// Applies `change` to a job that is not over, with its own entry in the audit log.
HttpResponse with_job(
    const ApiCall& call, const ApiSources& sources, const char* action,
    const std::function<std::optional<JobView>(const JobView&, const WriteBody&)>& change) {
  const auto body = write_body(call);
  if (!body) return body.error();
  return with_store(sources, [&](const operate::StoreAccess& access) {
    const auto job = job_of(call, sources);
    if (!job) return no_job(call.path[0]);
    return audited(call, access, {action, fmt::format("job {}", job->id), body->reason}, [&] {
      if (is_over(job->state)) {
        const std::string message = fmt::format("the job is over: {}", to_string(job->state));
        return ActEnd{problem(409, {ErrorKind::kRejected, "R348", message, "begin another one"}),
                      "nothing done: " + message};
      }
      const auto changed = change(*job, *body);
      if (!changed) return ActEnd{no_job(call.path[0]), "nothing done: it is gone"};
      return ActEnd{job_answer(*changed, sources), std::string(to_string(changed->state))};
    });
  });
}

}  // namespace

namespace api {

HttpResponse replay_dead_letters(const ApiCall& call, const ApiSources& sources) {
  return bulk_answer(call, sources, LetterAct::kReplay);
}

HttpResponse discard_dead_letters(const ApiCall& call, const ApiSources& sources) {
  return bulk_answer(call, sources, LetterAct::kDiscard);
}

HttpResponse list_jobs(const ApiCall&, const ApiSources& sources) {
  const core::Disclosure shows = shown_in_lists(sources);
  const auto jobs = sources.jobs->list();
  json::Writer writer = operate::document("jobs");
  writer.name("jobs").begin_array();
  for (const JobView& job : jobs) add_job(writer, job, shows);
  writer.end_array().member("count", jobs.size()).end_object();
  return json_answer(writer.text());
}

HttpResponse show_job(const ApiCall& call, const ApiSources& sources) {
  const auto job = job_of(call, sources);
  return job ? job_answer(*job, sources) : no_job(call.path[0]);
}

HttpResponse pause_job(const ApiCall& call, const ApiSources& sources) {
  return with_job(call, sources, "jobs.pause", [&](const JobView& job, const WriteBody&) {
    return sources.jobs->pause(job.id);
  });
}

HttpResponse resume_job(const ApiCall& call, const ApiSources& sources) {
  const auto job = job_of(call, sources);
  if (job && job->act == LetterAct::kDiscard && !call.has(core::Role::kAdmin)) {
    return problem(403, {ErrorKind::kRejected, "R342",
                         "to go on with a job that discards needs the role admin",
                         "a token of admin.auth.tokens with that role"});
  }
  return with_job(call, sources, "jobs.resume", [&](const JobView& seen, const WriteBody&) {
    return sources.jobs->resume(seen.id);
  });
}

HttpResponse cancel_job(const ApiCall& call, const ApiSources& sources) {
  return with_job(call, sources, "jobs.cancel", [&](const JobView& job, const WriteBody& body) {
    std::string why = "by " + call.caller.name;
    if (!body.reason.empty()) why += ": " + body.reason;
    return sources.jobs->cancel(job.id, why);
  });
}

}  // namespace api

}  // namespace semel::admin
