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

Result<GroupLook> look_at_group(const core::RedisStreamsSpec& spec) {
  auto looked = core::contained([&] {
    StreamPlace place(redis::target_of(spec.url), spec.stream, *system_environment().random);
    const auto connection = std::move(place.connect(1).front());
    const Bytes info = connection->ask({"INFO", "persistence"}, redis::Loss::kNothingDone).bytes;
    GroupLook look;
    look.logged = redis::info_field(info, "aof_enabled") != "0";
    look.state = state_of_group(*connection, spec);
    return look;
  });
  if (looked) return looked;
  if (spec.declare && looked.error().code == "R371") return GroupLook();
  return failure(as_of_source(std::move(looked.error())));
}

}  // namespace semel::redis_streams
