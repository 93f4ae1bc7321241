// The server's settings that decide what a crash or a failover loses.
#include "stores/redis/live_checks.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace semel::redis {
namespace {

// The value of a setting that the server does not report: never the same as fine.
constexpr const char* kNotKnown = "not known";

// nullopt where this user may not ask, or the server has no such setting.
std::optional<std::string> setting(const Reply& reply) {
  if (reply.is_error() || reply.list.size() != 2) return std::nullopt;
  return reply.list[1].bytes;
}

LiveSetting eviction(const std::string& info) {
  const std::string most = info_field(info, "maxmemory");
  const std::string policy = info_field(info, "maxmemory_policy");
  LiveSetting told{"maxmemory-policy", policy, {}, {}};
  if (most.empty() || policy.empty()) {
    told.value = kNotKnown;
    told.risk = "the server may be set to forget records to make room: then they are done again";
    told.fix = "have noeviction set by whoever runs the server";
  } else if (most != "0" && policy != "noeviction") {
    told.risk = fmt::format(
        "with maxmemory {} the server may forget claims and completed keys to make room: what they "
        "were about is done again",
        most);
    told.fix = "CONFIG SET maxmemory-policy noeviction";
  }
  return told;
}

LiveSetting log(const std::string& info) {
  const std::string on = info_field(info, "aof_enabled");
  if (on == "1") return {"appendonly", "yes", {}, {}};
  const bool off = on == "0";
  return {"appendonly", off ? "no" : kNotKnown,
          fmt::format("a crash of the server {}forgets all since its last snapshot: what was "
                      "completed is done again when it comes again, and messages and retries that "
                      "are kept here are lost",
                      off ? "" : "perhaps "),
          "CONFIG SET appendonly yes, and CONFIG REWRITE"};
}

LiveSetting sync(const Reply& reply) {
  constexpr const char* kFix = "CONFIG SET appendfsync always, and CONFIG REWRITE; or know it";
  const auto set = setting(reply);
  if (!set) {
    return {"appendfsync", kNotKnown,
            "a crash of the machine may forget the last second: then the work runs again, and "
            "messages kept in that second are lost. This server lets the user not ask (CONFIG GET)",
            "look it up where the server is run, or allow it: ACL SETUSER … +config|get"};
  }
  if (*set == "always") return {"appendfsync", *set, {}, {}};
  return {
      "appendfsync", *set,
      fmt::format("a crash of the machine may forget the last {}: then the work runs again, "
                  "and messages kept in {} are lost",
                  *set == "no" ? "half minute or more" : "second", *set == "no" ? "them" : "it"),
      kFix};
}

// If the number is not reported, INFO still shows whether there is a replica. `confirmed`: a write
// counts when a replica has it.
LiveSetting replicas(const std::string& info, const Reply& reply, bool confirmed) {
  const auto set = setting(reply);
  const bool waits = set ? *set != "0" : !info_field(info, "min_slaves_good_slaves").empty();
  LiveSetting told{"min-replicas-to-write", set.value_or(waits ? "set" : "0"), {}, {}};
  if (waits || confirmed) return told;
  told.risk = fmt::format(
      "{} replica(s) follow, and none has to: one that takes over may lack what was written while "
      "it was cut off; then the work runs again",
      info_field(info, "connected_slaves"));
  told.fix =
      "CONFIG SET min-replicas-to-write 1, and CONFIG REWRITE; or wait_replicas in store.redis";
  return told;
}

std::vector<LiveSetting> settings_of(Connection& connection, bool confirmed) {
  connection.send({"INFO"});
  connection.send({"CONFIG", "GET", "appendfsync"});
  connection.send({"CONFIG", "GET", "min-replicas-to-write"});
  const std::vector<Reply> replies = connection.run(Loss::kNothingDone);
  if (replies[0].is_error()) throw failure_of(replies[0]);
  const std::string& info = replies[0].bytes;
  std::vector<LiveSetting> told = {eviction(info), log(info)};
  // Without a log nothing is synced.
  if (told.back().value != "no") told.push_back(sync(replies[1]));
  const std::string followers = info_field(info, "connected_slaves");
  if (!followers.empty() && followers != "0") told.push_back(replicas(info, replies[2], confirmed));
  return told;
}

// A replica evicts nothing before it takes over. nullopt where its setting is right.
std::optional<LiveSetting> eviction_of(const Target& replica) {
  LiveSetting told = eviction({});
  try {
    Connection connection(replica);
    told = eviction(connection.ask({"INFO"}, Loss::kNothingDone).bytes);
  } catch (const core::Failure& failed) {
    told.risk = fmt::format("{} ({})", told.risk, failed.error().message);
  }
  if (told.risk.empty()) return std::nullopt;
  told.name = fmt::format("{} of the replica {}", told.name, endpoint_text(replica));
  told.risk = "when it takes over: " + told.risk;
  return told;
}

class RedisLiveChecks final : public LiveChecks {
 public:
  explicit RedisLiveChecks(StoreContext& context) : context_(context), router_(context.router) {}

  // On a Cluster: each master, by its address, and replicas that would evict.
  Result<std::vector<LiveSetting>> settings() override {
    return core::contained([&] {
      std::vector<LiveSetting> all;
      for (const auto& master : router_.masters()) {
        PooledConnection connection(master->pool);
        for (LiveSetting& told : settings_of(*connection, router_.confirm().wanted())) {
          if (router_.is_cluster()) {
            told.name = fmt::format("{} of {}", told.name, endpoint_text(master->target));
          }
          all.push_back(std::move(told));
        }
      }
      for (const Target& replica : router_.replicas()) {
        if (auto told = eviction_of(replica)) all.push_back(*std::move(told));
      }
      return all;
    });
  }

  // There are no business tables here.
  Result<std::vector<LiveStatement>> statements(std::span<const Statement> statements) override {
    return std::vector<LiveStatement>(statements.size());
  }

  // No statement runs there.
  Result<std::vector<UniqueRule>> idle_rules(std::span<const Statement>,
                                             const std::vector<UniqueRule>&) override {
    return std::vector<UniqueRule>();
  }

  // Number and recipe are in one value.
  Result<std::optional<ConsumerNumber>> number_of(const ConsumerSpec& consumer) override {
    return core::contained([&]() -> std::optional<ConsumerNumber> {
      const Reply reply =
          router_.ask({"HGET", context_.names.consumers, consumer.name}, Loss::kNothingDone);
      if (reply.kind == Reply::Kind::kNil) return std::nullopt;
      BytesView known = reply.bytes;
      std::uint32_t number = 0;
      for (std::size_t i = 0; i < sizeof number && !known.empty(); ++i, known.remove_prefix(1)) {
        number = number << 8U | static_cast<unsigned char>(known.front());
      }
      if (known != consumer.recipe_hash && !consumer.accept_recipe) refuse_recipe(consumer.name);
      return ConsumerNumber{number};
    });
  }

 private:
  StoreContext& context_;
  Router& router_;
};

}  // namespace

std::unique_ptr<LiveChecks> make_live_checks(StoreContext& context) {
  return std::make_unique<RedisLiveChecks>(context);
}

}  // namespace semel::redis
