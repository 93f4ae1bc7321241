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

void need_confirmed(const Reply& reply, const Confirm& confirm) {
  if (reply.is_error()) {
    Error error = failure_of(reply).error();
    error.kind = ErrorKind::kInDoubt;
    throw core::Failure(std::move(error), 1);
  }
  if (reply.number >= confirm.replicas) return;
  core::fail({ErrorKind::kInDoubt, "R268",
              fmt::format("{} of {} replicas had what was written within {} ms", reply.number,
                          confirm.replicas, confirm.patience.count()),
              "start the missing replica, or lower store.redis.wait_replicas"},
             1);
}

}  // namespace semel::redis
