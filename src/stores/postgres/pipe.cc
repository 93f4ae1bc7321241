#include "stores/postgres/pipe.h"
#include "core/outdated_statement.h"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <span>
#include <utility>

#include "stores/postgres/error_table.h"

namespace semel::postgres {
namespace {

std::string primary_of(const PGresult* result) {
  const char* const said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return said != nullptr ? said : PQresultErrorMessage(result);
}

// A pooler reports by an error of its own that it lost the server. Some poolers keep the client's
// connection then.
bool is_connection_error(const PGresult* result) noexcept {
  return state_of(result).starts_with("08");
}

// A server that panics may have written its commit before.
bool ends_session(const PGresult* result) noexcept {
  const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity == nullptr) severity = PQresultErrorField(result, PG_DIAG_SEVERITY);
  if (severity == nullptr) return false;
  return std::string_view(severity) == "FATAL" || std::string_view(severity) == "PANIC";
}

}  // namespace

void ResultDeleter::operator()(PGresult* result) const noexcept { PQclear(result); }

std::string_view state_of(const PGresult* result) noexcept {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return state != nullptr ? state : "";
}

bool went_well(const PGresult* result) noexcept {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

sql::Failure failure_of(const PGresult* result) {
  const std::string_view state = state_of(result);
  // The server gives each error a state: an error without one is libpq's, which lost the
  // connection.
  if (state.empty()) return {unreachable(primary_of(result)), 1};
  return {error_of(state, primary_of(result)), code_of(state)};
}

ResultPtr execute(PGconn* connection, const std::string& sql) {
  ResultPtr result(PQexec(connection, sql.c_str()));
  if (went_well(result.get())) return result;
  if (PQstatus(connection) == CONNECTION_BAD) {
    sql::fail(unreachable(PQerrorMessage(connection)), 1);
  }
  throw failure_of(result.get());
}

ResultPtr exchange(PGconn* connection, const std::string& sql, system::Deadline& deadline) {
  const auto gone = [&]() { sql::fail(unreachable(PQerrorMessage(connection)), 1); };
  if (PQsendQuery(connection, sql.c_str()) == 0) gone();
  ResultPtr last;
  for (;;) {
    while (PQisBusy(connection) != 0) {
      if (!deadline.wait(PQsocket(connection), POLLIN)) return nullptr;
      if (PQconsumeInput(connection) == 0) gone();
    }
    ResultPtr next(PQgetResult(connection));
    if (next == nullptr) break;
    if (last == nullptr || went_well(last.get())) last = std::move(next);
  }
  if (last == nullptr || (!went_well(last.get()) && state_of(last.get()).empty())) gone();
  return last;
}

Pipe::Pipe(PGconn* connection, Whose whose)
    : connection_(connection), owned_(whose == Whose::kOwn) {
  if (whose == Whose::kLentPrepares) lasting_.emplace();
}

Pipe::~Pipe() {
  if (owned_) PQfinish(connection_);
}

void Pipe::start() {
  if (PQpipelineStatus(connection_) != PQ_PIPELINE_OFF && (owned_ || !sent_.empty())) return;
  blocks_ = PQisnonblocking(connection_) == 0;
  if (PQsetnonblocking(connection_, 1) == 0 && PQenterPipelineMode(connection_) == 1) return;
  if (PQstatus(connection_) == CONNECTION_BAD) lost(Loss::kNothingDone);
  if (!owned_ && blocks_) PQsetnonblocking(connection_, 0);
  sql::fail({ErrorKind::kRejected, "R208", "the connection is in use by another command",
             "read all its results first, and leave pipeline mode"});
}

void Pipe::stop() noexcept {
  if (owned_) return;
  PQexitPipelineMode(connection_);
  if (blocks_) PQsetnonblocking(connection_, 0);
}

// A connection that libpq sees as lost gives an error or two, then nothing, and can leave pipeline
// mode. It is never waited for: an open one whose server is silent stays as it is.
void Pipe::leave_lost() noexcept {
  if (PQpipelineStatus(connection_) == PQ_PIPELINE_OFF) return;
  pollfd waiting{PQsocket(connection_), POLLIN, 0};
  while (PQstatus(connection_) == CONNECTION_OK && ::poll(&waiting, 1, 0) > 0) {
    if (PQconsumeInput(connection_) == 0) break;
  }
  if (PQstatus(connection_) != CONNECTION_BAD) return;
  for (int nothing = 0; nothing < 2;) {
    const ResultPtr left(PQgetResult(connection_));
    nothing = left == nullptr ? nothing + 1 : 0;
  }
  PQexitPipelineMode(connection_);
}

void Pipe::check_sent(int sent) {
  if (sent == 0) lost(Loss::kNothingDone);
}

// By itself libpq sends full blocks only. Bytes that the socket does not take now wait for the next
// flush.
void Pipe::start_server() {
  if (++kept_back_ < most_kept_back_) return;
  kept_back_ = 0;
  most_kept_back_ = kLaterPart;
  if (PQflush(connection_) < 0) lost(Loss::kNothingDone);
}

const Pipe::Prepared& Pipe::prepared(const std::string& sql, const WireParams& params) {
  Prepared& known = names_[&sql];
  if (known.sql == sql) return known;
  known = {fmt::format("semel_{}", ++named_), sql, transactions_};
  if (named_ - forgotten_ >= kMostPrepared) forgets_ = true;
  check_sent(
      PQsendPrepare(connection_, known.name.c_str(), sql.c_str(), params.count(), params.types()));
  sent_.push_back({Kind::kPrepare, &sql});
  return known;
}

// In a failed transaction the server deallocates nothing.
void Pipe::forget_prepared() {
  if (!sent_.empty() || PQtransactionStatus(connection_) != PQTRANS_IDLE) return;
  forgets_ = false;
  names_.clear();
  forgotten_ = named_;
  check_sent(
      PQsendQueryParams(connection_, "DEALLOCATE ALL", 0, nullptr, nullptr, nullptr, nullptr, 0));
  sent_.push_back({Kind::kForget});
}

void Pipe::send(const std::string& sql, const WireParams& params, bool text_rows) {
  if (!owned_) {
    auto* const lasting = lasting_ ? lasting_->of(sql, params) : nullptr;
    if (lasting == nullptr) return send_unnamed(sql, params, text_rows);
    return send_lasting(*lasting, sql, params, text_rows);
  }
  start();
  if (forgets_) forget_prepared();
  const Prepared& known = prepared(sql, params);
  check_sent(PQsendQueryPrepared(connection_, known.name.c_str(), params.count(), params.values(),
                                 params.lengths(), params.formats(), text_rows ? 0 : 1));
  sent_.push_back({Kind::kRun, &sql, known.transaction != transactions_});
  start_server();
}

// The server keeps the unnamed statement until the next one is parsed: repetitions in a segment are
// parsed once.
void Pipe::send_unnamed(const std::string& sql, const WireParams& params, bool text_rows) {
  start();
  const std::span types(params.types(), static_cast<std::size_t>(params.count()));
  if (unnamed_ != sql || !std::ranges::equal(unnamed_types_, types)) {
    check_sent(PQsendPrepare(connection_, "", sql.c_str(), params.count(), params.types()));
    sent_.push_back({Kind::kPrepare, &sql});
    unnamed_ = sql;
    unnamed_types_.assign(types.begin(), types.end());
  }
  check_sent(PQsendQueryPrepared(connection_, "", params.count(), params.values(), params.lengths(),
                                 params.formats(), text_rows ? 0 : 1));
  sent_.push_back({Kind::kRun});
  start_server();
}

void Pipe::send_lasting(NamedStatements::Named& one, const std::string& sql,
                        const WireParams& params, bool text_rows) {
  start();
  if (one.outdated) {
    check_sent(PQsendQueryParams(connection_, ("DEALLOCATE " + one.name).c_str(), 0, nullptr,
                                 nullptr, nullptr, nullptr, 0));
    sent_.push_back({.kind = Kind::kForget, .lasting = &one});
    unnamed_.clear();
  }
  if (one.outdated || !one.there) {
    check_sent(
        PQsendPrepare(connection_, one.name.c_str(), sql.c_str(), params.count(), params.types()));
    sent_.push_back({.kind = Kind::kPrepare, .sql = &sql, .lasting = &one});
    lasting_->prepares(one);
  }
  check_sent(PQsendQueryPrepared(connection_, one.name.c_str(), params.count(), params.values(),
                                 params.lengths(), params.formats(), text_rows ? 0 : 1));
  sent_.push_back({Kind::kRun, &sql, lasting_->prepared_before(one), &one});
  start_server();
}

void Pipe::begin_unit() {
  if (lasting_) lasting_->begin_unit(PQbackendPID(connection_));
}

void Pipe::look(const system::Deadline& deadline) {
  send_once(NamedStatements::list());
  const auto segments = run(Loss::kNothingDone, deadline);
  for (const ResultPtr& result : segments.back().results) {
    if (!went_well(result.get())) throw failure_of(result.get());
  }
  lasting_->found(segments.back().results.back().get());
}

void Pipe::send_once(const std::string& sql, const WireParams& params, bool text_rows) {
  start();
  unnamed_.clear();
  check_sent(PQsendQueryParams(connection_, sql.c_str(), params.count(), params.types(),
                               params.values(), params.lengths(), params.formats(),
                               text_rows ? 0 : 1));
  sent_.push_back({Kind::kRun});
}

void Pipe::sync(Loss loss) {
  unnamed_.clear();  // statements skipped after an error were never parsed
  if (PQpipelineSync(connection_) == 0) lost(loss);
  sent_.push_back({Kind::kSync});
}

// Reads and writes: a server that waits for its answers to be read reads no more.
void Pipe::flush(Loss loss) {
  for (;;) {
    const int left = PQflush(connection_);
    if (left == 0) return;
    if (left < 0) lost(loss);
    if (!deadline_.wait(PQsocket(connection_), POLLIN | POLLOUT)) lost(loss);
    if (PQconsumeInput(connection_) == 0) lost(loss);
  }
}

void Pipe::wait_for_answer(Loss loss) {
  pollfd waiting{PQsocket(connection_), POLLIN, 0};
  system::ShortWait& wait = loss == Loss::kInDoubt ? commits_soon_ : soon_;
  if (wait.look([&] { return ::poll(&waiting, 1, 0) > 0; })) return;
  if (!deadline_.wait(waiting.fd, POLLIN)) lost(loss);
}

ResultPtr Pipe::next_result(Loss loss) {
  while (PQisBusy(connection_) != 0) {
    wait_for_answer(loss);
    if (PQconsumeInput(connection_) == 0) lost(loss);
  }
  return ResultPtr(PQgetResult(connection_));
}

void Pipe::read_one(const Sent& sent, Loss loss, std::vector<Segment>& segments) {
  ResultPtr result = next_result(loss);
  if (result == nullptr || PQstatus(connection_) == CONNECTION_BAD) lost(loss);
  // An error without a code is the library's own: it saw the end of the connection while writing,
  // and has not marked it as bad yet.
  const bool refused = PQresultStatus(result.get()) == PGRES_FATAL_ERROR;
  if (refused && state_of(result.get()).empty()) lost(loss);
  if (refused && loss == Loss::kInDoubt) judge_error(sent, result.get(), loss);
  if (sent.kind == Kind::kSync) {
    if (PQresultStatus(result.get()) != PGRES_PIPELINE_SYNC) lost(loss);
    judge_segment(loss);
    segments.emplace_back();
    return;
  }
  if (next_result(loss) != nullptr) lost(loss);
  if (note_lasting(sent, result.get()) || sent.kind == Kind::kForget) return;
  if (sent.kind == Kind::kPrepare) {
    if (went_well(result.get())) return;
    // Prepared again when it is sent again. Its failure counts as the statement's own.
    if (owned_) names_.erase(sent.sql);
    failed_preparation_ = std::move(result);
    return;
  }
  if (failed_preparation_ != nullptr) {
    if (PQresultStatus(failed_preparation_.get()) == PGRES_FATAL_ERROR)
      result.swap(failed_preparation_);
    failed_preparation_.reset();
  }
  note_outdated(sent, result.get());
  if (!looks_ && state_of(result.get()) == kReadOnly) refuses_writes_ = true;
  segments.back().results.push_back(std::move(result));
}

// A pooler that names a lost server at an earlier statement may have handed it all of them, the
// COMMIT too. A foreign server that a statement needs may be away as well: then the statement has
// failed, and the server has skipped the COMMIT. The end of the segment tells which.
void Pipe::judge_error(const Sent& sent, const PGresult* result, Loss loss) {
  const bool connection = is_connection_error(result);
  if (!connection && !ends_session(result)) return;
  std::string why = fmt::format("{} {}", state_of(result), primary_of(result));
  if (ends_session(result) || sent.ends_run) lost(loss, why);
  server_lost_ = std::move(why);
}

void Pipe::judge_segment(Loss loss) {
  if (server_lost_.empty()) return;
  const std::string why = std::exchange(server_lost_, {});
  // Undone, and nobody but the server that had it open knows that.
  if (PQtransactionStatus(connection_) != PQTRANS_INERROR) lost(loss, why);
}

// True where the result concerns the preparing, and not the statement.
bool Pipe::note_lasting(const Sent& sent, const PGresult* result) {
  if (sent.lasting == nullptr || went_well(result)) return false;
  if (is_refused_name(state_of(result))) {
    lasting_->refused();
    if (!outdated_) outdated_ = failure_of(result);
    return sent.kind != Kind::kRun;
  }
  // A statement skipped after an earlier error is unchanged.
  if (sent.kind == Kind::kForget) sent.lasting->outdated = true;
  if (sent.kind == Kind::kPrepare && !sent.lasting->outdated) lasting_->not_there(*sent.lasting);
  return false;
}

void Pipe::note_outdated(const Sent& sent, const PGresult* result) {
  if (!sent.prepared_before || !may_be_outdated(state_of(result))) return;
  if (sent.lasting != nullptr) sent.lasting->outdated = true;
  if (!outdated_) outdated_ = failure_of(result);
}

std::vector<Pipe::Segment> Pipe::run(Loss loss, const system::Deadline& deadline) {
  std::vector<Segment> segments;
  deadline_ = deadline;
  if (broken_) lost(Loss::kNothingDone);
  if (sent_.empty()) return segments;
  // The server may have a COMMIT already.
  if (sent_.back().kind != Kind::kSync) sync(loss);
  const auto last = std::ranges::find(sent_.rbegin(), sent_.rend(), Kind::kRun, &Sent::kind);
  if (last != sent_.rend()) last->ends_run = true;
  kept_back_ = 0;
  most_kept_back_ = kFirstPart;
  flush(loss);
  segments.emplace_back();
  const auto sent = std::exchange(sent_, {});
  for (const Sent& one : sent) read_one(one, loss, segments);
  segments.pop_back();
  stop();
  if (PQtransactionStatus(connection_) == PQTRANS_IDLE) {
    ++transactions_;
    looks_ = false;
  }
  if (!outdated_) return segments;
  failed_preparation_.reset();
  const sql::Failure failed = *std::exchange(outdated_, std::nullopt);
  forgets_ = true;
  Error error = failed.error();
  error.kind = ErrorKind::kRetryTransaction;
  error.code = core::kOutdatedStatement;
  throw sql::Failure(std::move(error), failed.code());
}

bool Pipe::whole() const noexcept {
  if (broken_ || !sent_.empty()) return false;
  if (!owned_) return PQstatus(connection_) == CONNECTION_OK;
  // A server that ends the session says why first, and that alone looks like any other message.
  pollfd waiting{PQsocket(connection_), POLLIN, 0};
  while (::poll(&waiting, 1, 0) > 0) {
    if (PQconsumeInput(connection_) == 0) return false;
  }
  return PQstatus(connection_) == CONNECTION_OK && PQtransactionStatus(connection_) == PQTRANS_IDLE;
}

void Pipe::lost(Loss loss) {
  const char* const said = PQerrorMessage(connection_);
  lost(loss, *said != '\0' ? said : "it did not answer in time");
}

void Pipe::lost(Loss loss, const std::string& why) {
  broken_ = true;
  sent_.clear();
  if (!owned_) leave_lost();
  Error error = owned_ ? unreachable(why) : borrowed_lost(why);
  if (loss == Loss::kInDoubt) error.kind = ErrorKind::kInDoubt;
  throw sql::Failure(std::move(error), 1);
}

}  // namespace semel::postgres
