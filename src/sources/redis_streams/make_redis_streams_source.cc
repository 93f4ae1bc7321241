#include "sources/redis_streams/make_redis_streams_source.h"

#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <utility>

#include "clients/redis/url.h"
#include "core/failure.h"
#include "sources/redis_streams/client.h"
#include "sources/redis_streams/errors.h"
#include "sources/redis_streams/source.h"

namespace semel::redis_streams {
namespace {

// A unique name, which shows people where the process runs.
std::string name_for_a_run(Environment& environment) {
  std::array<char, 64> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("{}{}-{}-{:08x}", kRunsOwn, host.data(), ::getpid(),
                     environment.random->next() & 0xffffffffU);
}

// Whether the store may acknowledge, asked as it would: no entry has the id.
void ask_store(const core::RedisStreamsSpec& spec, const redis::Connection& server,
               std::string_view store_url, GroupLook& look) {
  const redis::Target store = redis::target_of(store_url);
  const auto source = redis::target_of(spec.url);
  redis::Connection connection(store);
  if (connection.run_id() != server.run_id() || store.database != source.database) return;
  const Bytes info = connection.ask({"INFO", "cluster"}, redis::Loss::kNothingDone).bytes;
  if (redis::info_field(info, "cluster_enabled") == "1") return;
  connection.send({"EVAL", "return redis.pcall('XACK', ARGV[1], ARGV[2], '0-0')", "0", spec.stream,
                   spec.group});
  const redis::Reply told = connection.run(redis::Loss::kNothingDone).back();
  if (told.is_error()) {
    look.refused = told.bytes;
  } else {
    look.settled_by = GroupLook::SettledBy::kStore;
  }
}

}  // namespace

Result<std::unique_ptr<Source>> make_redis_streams_source(RedisStreamsOptions options,
                                                          Environment& environment) {
  auto target = redis::read_target(options.spec.url);
  if (!target) return failure(as_of_source(std::move(target.error())));
  std::string member = options.spec.consumer;
  if (member.empty()) member = name_for_a_run(environment);
  return std::make_unique<RedisStreamsSource>(std::move(options), *std::move(target),
                                              std::move(member), environment);
}

Result<GroupLook> look_at_group(const core::RedisStreamsSpec& spec, std::string_view store_url) {
  auto looked = core::contained([&] {
    StreamPlace place(redis::target_of(spec.url), spec.stream, *system_environment().random);
    const auto connection = std::move(place.connect(1).front());
    const Bytes info = connection->ask({"INFO", "persistence"}, redis::Loss::kNothingDone).bytes;
    GroupLook look;
    look.logged = redis::info_field(info, "aof_enabled") != "0";
    look.state = state_of_group(*connection, spec);
    if (store_url.empty()) return look;
    // A store that does not answer is another finding.
    (void)core::contained([&] { ask_store(spec, *connection, store_url, look); });
    return look;
  });
  if (looked) return looked;
  if (spec.declare && looked.error().code == "R371") return GroupLook();
  return failure(as_of_source(std::move(looked.error())));
}

}  // namespace semel::redis_streams
