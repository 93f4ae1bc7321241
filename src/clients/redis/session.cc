#include "clients/redis/session.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace semel::redis {
namespace {

std::string life_of(const Connection& connection) { return connection.run_id() + " "; }

// A refusal is a reply too.
Reply reply_to(Connection& connection, const std::vector<BytesView>& question) {
  connection.send(question);
  return std::move(connection.run(Loss::kNothingDone).front());
}

}  // namespace

Bytes session_of(Connection& connection) {
  const Reply number = reply_to(connection, {"CLIENT", "ID"});
  return number.is_error() ? Bytes() : life_of(connection) + std::to_string(number.number);
}

bool known_to(const Connection& connection, const Bytes& session) {
  const std::string life = life_of(connection);
  return session.size() > life.size() && session.starts_with(life);
}

std::optional<std::set<Bytes>> connected(Connection& connection, std::span<const Bytes> sessions) {
  const std::string life = life_of(connection);
  std::vector<BytesView> question = {"CLIENT", "LIST", "ID"};
  const std::size_t words = question.size();
  for (const Bytes& session : sessions) {
    if (known_to(connection, session)) question.push_back(BytesView(session).substr(life.size()));
  }
  std::set<Bytes> there;
  if (question.size() == words) return there;
  const Reply reply = reply_to(connection, question);
  if (reply.is_error()) return std::nullopt;
  constexpr std::string_view kId = "id=";
  for (std::size_t at = 0; at < reply.bytes.size();) {
    const std::size_t end = std::min(reply.bytes.find('\n', at), reply.bytes.size());
    const BytesView line = BytesView(reply.bytes).substr(at, end - at);
    if (line.starts_with(kId)) {
      there.insert(life + std::string(line.substr(kId.size(), line.find(' ') - kId.size())));
    }
    at = end + 1;
  }
  return there;
}

}  // namespace semel::redis
