// Core: what the ports of one store share. All parts may be used from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <semel/environment.h>

#include "stores/redis/instance.h"
#include "stores/redis/names.h"
#include "stores/redis/pool.h"
#include "stores/redis/scripts.h"
#include "stores/redis/url.h"

namespace semel::redis {

// Of one call of a script: for as long as it takes the server does nothing else.
inline constexpr std::size_t kMostKeys = 256;
inline constexpr std::size_t kMostBytes = 1 << 20;

struct Core {
  Core(Environment& its_environment, Target its_target, const std::string& prefix,
       const std::string& clock, std::size_t connections)
      : environment(its_environment),
        target(std::move(its_target)),
        names(prefix),
        scripts(clock),
        pool([this] { return std::make_unique<Wire>(target); }, connections),
        instance(*environment.random) {}

  // Runs the calls, sent together. Throws core::Failure where one was refused; in doubt where
  // others were done.
  std::vector<Reply> run(Script& script, std::span<const Call> calls, Loss loss);
  Reply run_one(Script& script, const Call& call, Loss loss);

  Environment& environment;
  const Target target;
  const Names names;
  Scripts scripts;
  Pool pool;
  Instance instance;
};

}  // namespace semel::redis
