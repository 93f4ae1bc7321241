// StoreContext: shared by the ports of one store. Thread-safe.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <semel/environment.h>
#include <semel/message.h>

#include "clients/redis/router.h"
#include "clients/redis/url.h"
#include "stores/redis/cluster_script.h"
#include "stores/redis/instance.h"
#include "stores/redis/names.h"
#include "stores/redis/scripts.h"

namespace semel::redis {

// R220: the key recipe of that consumer is another one.
[[noreturn]] void refuse_recipe(const std::string& consumer);

// Signs of life of an instance. Thread-safe.
class LifeSigns {
 public:
  virtual ~LifeSigns() = default;
  // Returns where nobody can have found the instance dead under its present name. Gives a sign if
  // the last one is too old for that, and renames the instance if it was found dead. Throws
  // core::Failure.
  virtual void stay_known() = 0;
};

struct StoreContext {
  struct Settings {
    Target target;
    std::string prefix;
    bool cluster = false;
    std::size_t connections = 0;  // kept open, to each server
    Confirm confirm;
    std::size_t largest = std::numeric_limits<std::size_t>::max();  // bytes of a value
  };

  StoreContext(Environment& its_environment, const Settings& place, const std::string& clock)
      : environment(its_environment),
        names(place.prefix, place.cluster),
        scripts(clock, place.cluster),
        on_cluster(place.cluster ? std::make_unique<ClusterScripts>(clock) : nullptr),
        router(place.target, place.connections, place.cluster, place.confirm, *environment.random),
        instance(*environment.random),
        largest(place.largest),
        database(place.target.database) {}

  // Runs the calls, sent together. Throws core::Failure where one was refused; in doubt where
  // others were carried out.
  std::vector<Reply> run(Script& script, std::span<const Call> calls, Loss loss);
  Reply run_one(Script& script, const Call& call, Loss loss);
  // LifeSigns::stay_known. `loss`: whether a call that precedes it has done something.
  void stay_known(Loss loss);

  // Throws core::Failure (kLimit) if the server does not accept a value with so many messages and
  // bytes of payloads and headers: it closes the connection at a larger one, and its error may not
  // arrive.
  void need_room(std::size_t bytes, std::size_t messages = 1) const;

  Environment& environment;
  const Names names;
  Scripts scripts;
  const std::unique_ptr<ClusterScripts> on_cluster;  // null on a single server
  Router router;
  Instance instance;
  LifeSigns* life_signs = nullptr;  // null where none are given
  const std::size_t largest;
  const unsigned database;
};

// Bytes of a message in a value.
std::size_t bytes_of(BytesView payload, const Headers& headers) noexcept;

}  // namespace semel::redis
