#include "clients/redis/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "clients/redis/error_table.h"

namespace semel::redis {
namespace {

constexpr std::size_t kPiece = 64 << 10;
constexpr int kOldestMajor = 6;

}  // namespace

core::Failure failure_of(const Reply& refused) { return {error_of(refused.bytes), 1}; }

core::Failure in_doubt(const core::Failure& failed) {
  Error error = failed.error();
  error.kind = ErrorKind::kInDoubt;
  return {std::move(error), failed.code()};
}

bool any_done(std::span<const Reply> replies) {
  return !std::ranges::all_of(replies, &Reply::is_error);
}

std::string info_field(std::string_view info, std::string_view name) {
  std::size_t at = 0;
  while (at < info.size()) {
    const std::size_t end = std::min(info.find("\r\n", at), info.size());
    const std::string_view line = info.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ':') {
      return std::string(line.substr(name.size() + 1));
    }
    at = end + 2;
  }
  return {};
}

Connection::Connection(const Target& target)
    : endpoint_(endpoint_text(target)),
      answer_timeout_(std::min(target.connect_timeout, target.answer_timeout)),
      deadline_(Socket::Clock::now() + target.connect_timeout),
      socket_(target, deadline_) {
  log_in(target);
  answer_timeout_ = target.answer_timeout;
  deadline_ = Socket::Clock::time_point::max();
}

void Connection::log_in(const Target& target) {
  const std::string database = std::to_string(target.database);
  std::size_t needed = 0;
  if (!target.password.empty()) {
    target.user.empty() ? send({"AUTH", target.password})
                        : send({"AUTH", target.user, target.password});
    ++needed;
  }
  if (target.database != 0) {
    send({"SELECT", database});
    ++needed;
  }
  send({"INFO", "server"});
  // For readers of CLIENT LIST. It is optional: the user may lack the right to set a name.
  send({"CLIENT", "SETNAME", "semel"});
  const std::vector<Reply> replies = run(Loss::kNothingDone);
  for (std::size_t i = 0; i <= needed; ++i) {
    if (replies[i].is_error()) throw failure_of(replies[i]);
  }
  take(replies[needed].bytes);
}

void Connection::take(const std::string& info) {
  run_id_ = info_field(info, "run_id");
  const std::string version = info_field(info, "redis_version");
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major < kOldestMajor) {
    core::fail({ErrorKind::kRejected, "R258",
                fmt::format("the server is older than Redis {}: {}", kOldestMajor, version),
                "use a newer server"},
               1);
  }
  // Without a run id each claim would count as the first one after a restart, and use up the range
  // of tokens.
  if (!run_id_.empty()) return;
  core::fail({ErrorKind::kRejected, "R258",
              "the server does not tell which run of it this is (run_id of INFO server)",
              "use a server that tells it, or connect to it without what leaves it out"},
             1);
}

void Connection::send(const std::vector<BytesView>& arguments) {
  append_command(out_, arguments);
  ++expected_;
}

// False if the connection is over.
bool Connection::flush() noexcept {
  while (written_ < out_.size()) {
    const std::ptrdiff_t bytes = socket_.write(std::string_view(out_).substr(written_));
    if (bytes < 0) return false;
    if (bytes == 0) return true;
    written_ += static_cast<std::size_t>(bytes);
  }
  return !socket_.has_unsent() || socket_.write({}) >= 0;
}

void Connection::lost(Loss loss, const std::string& why) {
  broken_ = true;
  if (loss == Loss::kNothingDone && !last_words_.empty()) {
    throw core::Failure(error_of(last_words_), 1);
  }
  const bool in_doubt = loss == Loss::kInDoubt && written_ > 0;
  core::fail({in_doubt ? ErrorKind::kInDoubt : ErrorKind::kUnavailable, "R250",
              fmt::format("the connection to the Redis server at {} was lost: {}", endpoint_, why),
              "the next call connects again; check that the server runs"},
             1);
}

// Sends pending data and waits for bytes; returns how many arrived, possibly none.
std::ptrdiff_t Connection::receive(char* into, std::size_t size, Loss loss) {
  std::ptrdiff_t bytes = 0;
  // A server that closed the connection may have sent the reason first.
  const bool listens = flush();
  const auto came = [&] {
    bytes = socket_.read(into, size);
    return bytes != 0;
  };
  if (listens && written_ == out_.size() && short_wait_.look(came)) return bytes;
  const auto begun = Socket::Clock::now();
  const auto until = std::min(begun + answer_timeout_, deadline_);
  if (!socket_.wait(listens && written_ < out_.size(), until)) {
    const auto waited = std::chrono::ceil<std::chrono::milliseconds>(until - begun);
    lost(loss, fmt::format("no answer in {} ms", std::max<std::int64_t>(waited.count(), 0)));
  }
  return socket_.read(into, size);
}

void Connection::read_some(std::vector<Reply>& replies, Loss loss) {
  char piece[kPiece];
  const std::ptrdiff_t bytes = receive(piece, sizeof piece, loss);
  if (bytes < 0) lost(loss, socket_.error());
  parse({piece, static_cast<std::size_t>(bytes)}, replies, loss);
}

void Connection::parse(std::string_view bytes, std::vector<Reply>& replies, Loss loss) {
  reader_.feed(bytes);
  while (replies.size() < expected_) {
    std::optional<Reply> reply;
    try {
      reply = reader_.next();
    } catch (const core::Failure& nonsense) {
      lost(loss, nonsense.error().message);
    }
    if (!reply) return;
    if (reply->is_error() && ends_connection(reply->bytes)) {
      broken_ = true;
      last_words_ = reply->bytes;
    }
    replies.push_back(*std::move(reply));
  }
}

std::vector<Reply> Connection::run(Loss loss) {
  std::vector<Reply> replies;
  replies.reserve(expected_);
  // Reads while it writes: a server whose replies are not read stops reading.
  while (replies.size() < expected_) read_some(replies, loss);
  return all_read(std::move(replies));
}

std::vector<Reply> Connection::all_read(std::vector<Reply> replies) {
  out_.clear();
  written_ = 0;
  expected_ = 0;
  return replies;
}

std::optional<std::vector<Reply>> Connection::take_replies(Loss loss) {
  char piece[kPiece];
  while (taken_.size() < expected_) {
    // A server that closed the connection may have sent the reason first.
    (void)flush();
    const std::ptrdiff_t bytes = socket_.read(piece, sizeof piece);
    if (bytes < 0) lost(loss, socket_.error());
    if (bytes == 0) return std::nullopt;
    parse({piece, static_cast<std::size_t>(bytes)}, taken_, loss);
  }
  return all_read(std::exchange(taken_, {}));
}

std::vector<Reply> Connection::take_some(Loss loss) {
  char piece[kPiece];
  std::vector<Reply> some;
  // A server that closed the connection may have sent the reason first.
  (void)flush();
  if (written_ == out_.size()) {
    out_.clear();
    written_ = 0;
  }
  while (some.size() < expected_) {
    const std::ptrdiff_t bytes = socket_.read(piece, sizeof piece);
    if (bytes < 0 && some.empty()) lost(loss, socket_.error());
    if (bytes <= 0) break;
    parse({piece, static_cast<std::size_t>(bytes)}, some, loss);
  }
  expected_ -= some.size();
  return some;
}

Reply Connection::ask(const std::vector<BytesView>& arguments, Loss loss,
                      Socket::Clock::time_point until) {
  send(arguments);
  deadline_ = until;
  std::vector<Reply> replies = run(loss);
  deadline_ = Socket::Clock::time_point::max();
  if (replies.back().is_error()) throw failure_of(replies.back());
  return std::move(replies.back());
}

}  // namespace semel::redis
