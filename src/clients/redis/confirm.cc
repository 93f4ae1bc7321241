#include "clients/redis/confirm.h"

#include <fmt/format.h>

#include <string>

namespace semel::redis {

void ask_to_confirm(Connection& connection, const Confirm& confirm, BytesView name) {
  const std::string replicas = std::to_string(confirm.replicas);
  const std::string patience = std::to_string(confirm.patience.count());
  connection.send({"SET", name, "1"});
  connection.send({"WAIT", replicas, patience});
}

bool confirms_nothing(std::span<const Reply> replies) {
  return replies[replies.size() - 2].is_error();
}

void need_confirmed(std::span<const Reply> replies, const Confirm& confirm) {
  const Reply& reply = replies.back();
  if (reply.is_error()) {
    Error error = failure_of(reply).error();
    error.kind = ErrorKind::kInDoubt;
    throw core::Failure(std::move(error), 1);
  }
  if (confirms_nothing(replies)) {
    core::fail({ErrorKind::kInDoubt, "R268",
                fmt::format("the server refused the write that replicas were to confirm: {}",
                            replies[replies.size() - 2].bytes),
                "the server's answer says what it lacks"},
               1);
  }
  if (reply.number >= confirm.replicas) return;
  core::fail({ErrorKind::kInDoubt, "R268",
              fmt::format("{} of {} replicas had what was written within {} ms", reply.number,
                          confirm.replicas, confirm.patience.count()),
              "start the missing replica, or lower store.redis.wait_replicas"},
             1);
}

}  // namespace semel::redis
