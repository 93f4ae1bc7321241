// dlq replay and discard for the run that --url names: a few letters by id, many by a job of the
// run.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "cli/dlq.h"
#include "cli/remote.h"
#include "cli/remote_letters.h"
#include "cli/remote_read.h"
#include "cli/text.h"
#include "compose/signals.h"
#include "system/event_fd.h"

namespace semel::cli {

namespace {

using operate::LetterAct;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kBetweenLooks{500};
constexpr seconds kBetweenTold{5};
// Gives up after the run has been silent for this long. The job continues.
constexpr seconds kSilence{30};
constexpr const char* kSamplesAsked = "3";

struct LetterVerb {
  LetterAct act;
  std::string_view word;   // a part of the path
  std::string_view asked;  // "Replay"
  std::string_view done;   // "replayed"
};
constexpr LetterVerb kReplayVerb{LetterAct::kReplay, "replay", "Replay", "replayed"};
constexpr LetterVerb kDiscardVerb{LetterAct::kDiscard, "discard", "Discard", "discarded"};

std::optional<int> agree_to(Console& console, const LetterVerb& verb, const Plan& plan) {
  return agree(console, plan,
               fmt::format("{} {} {}?", verb.asked, count_text(plan),
                           plan.count == 1 ? "dead letter" : "dead letters"),
               "dead letter", "dead letters");
}

int report(Console& console, const LetterVerb& verb, const Plan& plan, const ReplayReport& sum) {
  return verb.act == LetterAct::kReplay ? report_replay(console, plan, sum)
                                        : report_discard(console, plan, sum.replayed);
}

// The letters that exist among the given ids.
OrEnded<std::vector<std::int64_t>> look_up(Console& console, Remote& run, const DlqFlags& flags,
                                           Plan& plan) {
  std::vector<std::int64_t> ids;
  for (const std::int64_t id : flags.ids) {
    if (std::ranges::find(ids, id) != ids.end()) continue;
    const auto letter = run.get(fmt::format("dead-letters/{}", id));
    if (letter) {
      add_to_plan(plan, letter_from(letter->object("dead_letter")));
      ids.push_back(id);
    } else if (is_missing(letter.error())) {
      ++plan.missing;
    } else {
      return ended(console.fail(letter.error()));
    }
  }
  return ids;
}

// `sum.replayed` also counts letters that were discarded.
Result<void> change_letter(Remote& run, const LetterVerb& verb, const DlqFlags& flags,
                           std::int64_t id, ReplayReport& sum) {
  json::Writer body = body_with_reason(flags.bulk);
  const auto done = run.post(fmt::format("dead-letters/{}/{}", id, verb.word), body.end_object());
  if (!done && !is_missing(done.error())) return failure(done.error());
  if (!done) {
    ++sum.missing;
    return {};
  }
  sum.replayed += done->count("replayed") + done->count("discarded");
  sum.skipped_completed += done->count("skipped_completed");
  sum.skipped_conflict += done->count("skipped_conflict");
  return {};
}

int change_by_ids(Console& console, Remote& run, const DlqFlags& flags, const LetterVerb& verb,
                  const std::optional<Rate>& rate) {
  Plan plan;
  auto ids = look_up(console, run, flags, plan);
  if (!ids) return ids.error().code;
  if (const auto code = agree_to(console, verb, plan)) return *code;
  if (console.settings().dry_run) ids->clear();
  ReplayReport sum;
  Pace pace(console, rate, ids->size());
  for (std::size_t i = 0; i < ids->size();) {
    for (std::size_t left = pace.next(ids->size() - i); left > 0; --left, ++i) {
      if (auto changed = change_letter(run, verb, flags, (*ids)[i], sum); !changed) {
        return stopped_early(console, std::move(changed.error()), sum.replayed, verb.done);
      }
      pace.done(1);
    }
  }
  return report(console, verb, plan, sum);
}

// Starts a job and polls it until it is over. The first SIGINT or SIGTERM cancels the job; the
// second one leaves it running. A signal that arrives during a request counts too.
class JobWatch {
 public:
  JobWatch(Console& console, Remote& run) : console_(console), run_(run) {}

  Result<void> begin(const std::string& path, const json::Writer& body);
  // Returns the job once it is over, or the exit code.
  OrEnded<JsonView> wait();

 private:
  void signalled();
  void cancel_where_asked();
  void tell(const JsonView& job);
  int lost();
  std::string path() const { return fmt::format("jobs/{}", id_.load()); }

  Console& console_;
  Remote& run_;
  std::atomic<std::int64_t> id_{0};  // 0: not known yet
  bool cancels_ = false;
  steady_clock::time_point told_ = steady_clock::now();
  std::string progress_ = "nothing was seen of it";  // the last that is known
  system::EventFd event_;
  std::atomic<int> signals_{0};
  compose::SignalDrain drain_{[this](int) { signalled(); }};
};

// Runs on its own thread, so that a hanging run cannot prevent the command from ending.
void JobWatch::signalled() {
  if (++signals_ > 1) {
    console_.note(
        id_ == 0 ? std::string("a job may have begun: GET /api/v1/jobs")
                 : fmt::format("job {} is left to the run: GET /api/v1/{}", id_.load(), path()));
    ::_exit(kInterrupted);
  }
  event_.signal();
}

Result<void> JobWatch::begin(const std::string& path, const json::Writer& body) {
  const auto begun = run_.post(path, body);
  if (!begun) return failure(begun.error());
  id_ = begun->object("job").number("id").value_or(0);
  console_.note(fmt::format("job {} of the run: Ctrl-C cancels it", id_.load()));
  return {};
}

void JobWatch::cancel_where_asked() {
  if (signals_ == 0 || std::exchange(cancels_, true)) return;
  json::Writer body;
  const auto done = run_.post(path() + "/cancel", body.begin_object().end_object());
  if (done) {
    console_.note(fmt::format("job {} is being cancelled", id_.load()));
  } else if (done.error().code != "R348") {  // which says that it is over already
    console_.fail(done.error());
  }
}

void JobWatch::tell(const JsonView& job) {
  const operate::LetterProgress progress = progress_from(job);
  std::string line =
      progress.total ? fmt::format("{} of {}", grouped(progress.taken()), grouped(*progress.total))
                     : "counting";
  const std::string why = job.text("why");
  if (!why.empty()) line += fmt::format(", {}: {}", job.text("state"), printable(why));
  progress_ = line;
  console_.progress(line);
  if (console_.err_is_terminal() || steady_clock::now() - told_ < kBetweenTold) return;
  told_ = steady_clock::now();
  console_.note(line);
}

// A job ends with its run. The work that it has done stays done, and may be only a part.
int JobWatch::lost() {
  return console_.fail(
      kPartly,
      fmt::format("the run was started again and does not know job {} any more; last seen: {}", id_,
                  progress_),
      "GET /api/v1/audit says how it ended; what still matches can be asked for again");
}

OrEnded<JsonView> JobWatch::wait() {
  auto answered = steady_clock::now();
  for (;;) {
    cancel_where_asked();
    const auto document = run_.get(path());
    if (document) {
      answered = steady_clock::now();
      JsonView job = document->object("job");
      if (!job.text("ended_at").empty()) return job;
      tell(job);
    } else if (is_missing(document.error())) {
      return ended(lost());
    } else if (document.error().kind != ErrorKind::kUnavailable ||
               steady_clock::now() - answered > kSilence) {
      Error error = document.error();
      error.message += fmt::format("; the result of job {} is not known", id_.load());
      return ended(console_.fail(error));
    }
    pollfd signalled{event_.get(), POLLIN, 0};
    (void)::poll(&signalled, 1, static_cast<int>(kBetweenLooks.count()));
    event_.drain();
  }
}

struct JobPlan {
  Plan shown;
  ReplayReport foreseen;  // the letters that a replay would skip
  // The job leaves letters alone that died after the plan was made.
  std::optional<std::int64_t> up_to;
};

// Asks for the job's plan, with samples.
OrEnded<JobPlan> plan_of(Console& console, Remote& run, const DlqFlags& flags,
                         const std::string& path) {
  json::Writer body;
  body.begin_object().member("dry_run", true);
  const auto answer = run.post(path, body.end_object());
  if (!answer) return ended(console.fail(answer.error()));
  const auto sample =
      run.get(letter_query("dead-letters", flags).add("limit", kSamplesAsked).text());
  if (!sample) return ended(console.fail(sample.error()));
  Plan plan;
  for (const JsonView& letter : sample->objects("dead_letters")) {
    if (plan.count < answer->count("count")) add_to_plan(plan, letter_from(letter));
  }
  for (const JsonView& group : answer->objects("groups")) {
    const operate::LetterGroup one = group_from(group);
    plan.oldest = std::min(one.oldest, plan.oldest.value_or(one.oldest));
    plan.newest = std::max(one.newest, plan.newest.value_or(one.newest));
  }
  plan.count = answer->count("count");
  plan.complete = answer->flag("complete");
  if (!plan.complete) {
    console.warn(
        fmt::format("semel: not all could be counted in time: at least {}, and all that "
                    "match are meant",
                    grouped(plan.count)));
  }
  if (const std::size_t on_their_way = answer->count("on_their_way"); on_their_way > 0) {
    console.note(fmt::format("{} on their way since an earlier replay", grouped(on_their_way)));
  }
  ReplayReport foreseen;
  foreseen.skipped_completed = answer->count("skipped_completed");
  foreseen.skipped_conflict = answer->count("skipped_conflict");
  return JobPlan{std::move(plan), std::move(foreseen), answer->number("up_to")};
}

// The exit code after a job.
int report_job(Console& console, const LetterVerb& verb, Plan plan, const JsonView& job) {
  const operate::LetterProgress progress = progress_from(job);
  plan.count = progress.total.value_or(progress.taken());
  plan.complete = true;
  const int code = report(
      console, verb, plan,
      {progress.done, progress.skipped_completed, progress.skipped_conflict, progress.gone, {}});
  if (progress.failed > 0) {
    console.note(fmt::format("{} refused by the store, the last one: {}", grouped(progress.failed),
                             printable(progress.last_error)));
  }
  const std::string state = job.text("state");
  if (state == "done") return code;
  console.warn(fmt::format("semel: job {} was {}: {}; what it has done stays done",
                           job.number("id").value_or(0), state, printable(job.text("why"))));
  return progress.done == 0 && state == "failed" ? kBad : kPartly;
}

int change_by_job(Console& console, Remote& run, const DlqFlags& flags, const LetterVerb& verb) {
  QueryText query = letter_query(fmt::format("dead-letters:{}", verb.word), flags);
  query.add("all", flags.all ? "true" : "");
  if (flags.bulk.limit > 0) query.add("limit", std::to_string(flags.bulk.limit));
  auto made = plan_of(console, run, flags, query.text());
  if (!made) return made.error().code;
  Plan& plan = made->shown;
  if (const auto code = agree_to(console, verb, plan)) return *code;
  if (console.settings().dry_run || (plan.count == 0 && plan.complete)) {
    const int code = report(console, verb, plan, made->foreseen);
    return plan.complete ? code : kOk;
  }
  json::Writer body = body_with_reason(flags.bulk);
  if (made->up_to) body.member("up_to", *made->up_to);
  if (flags.bulk.rate) body.member("rate", *flags.bulk.rate);
  JobWatch watch(console, run);
  if (const auto begun = watch.begin(query.text(), body.end_object()); !begun) {
    return console.fail(begun.error());
  }
  const auto job = watch.wait();
  return job ? report_job(console, verb, std::move(plan), *job) : job.error().code;
}

}  // namespace

int remote_letter_verb(Console& console, const DlqFlags& flags, LetterAct act) {
  if (const auto code = refuse_choice(console, flags, Unnamed::kRefused)) return *code;
  if (const auto where = read_where(console, flags.bulk.where, letter_fields()); !where) {
    return where.error().code;
  }
  const auto rate = read_rate(console, flags.bulk);
  if (!rate) return rate.error().code;
  auto run = Remote::open(console);
  if (!run) return run.error().code;
  const LetterVerb& verb = act == LetterAct::kReplay ? kReplayVerb : kDiscardVerb;
  return flags.ids.empty() ? change_by_job(console, *run, flags, verb)
                           : change_by_ids(console, *run, flags, verb, *rate);
}

}  // namespace semel::cli
