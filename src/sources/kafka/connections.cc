#include "sources/kafka/connections.h"

#include <librdkafka/rdkafka.h>

#include <string_view>

namespace semel::kafka {
namespace {

constexpr const char* kName = "semel";

// librdkafka passes states to an interceptor by name.
bool is_up(std::string_view state) { return state == "UP" || state == "UPDATE"; }

}  // namespace

// Called by librdkafka's threads with its locks held: it must not call librdkafka.
struct Connections::Callbacks {
  static rd_kafka_resp_err_t changed(rd_kafka_t*, std::int32_t, const char*, const char* name,
                                     int port, const char* state, void* opaque) {
    // A connection without a name is librdkafka's own, not a broker's.
    const std::string host = name == nullptr ? "" : name;
    if (!host.empty()) static_cast<Connections*>(opaque)->set({host, port}, is_up(state));
    return RD_KAFKA_RESP_ERR_NO_ERROR;
  }

  static rd_kafka_resp_err_t made(rd_kafka_t* handle, const rd_kafka_conf_t*, void* opaque, char*,
                                  std::size_t) {
    return rd_kafka_interceptor_add_on_broker_state_change(handle, kName, &changed, opaque);
  }
};

void Connections::watch(rd_kafka_conf_s* conf) {
  rd_kafka_conf_interceptor_add_on_new(conf, kName, &Callbacks::made, this);
}

bool Connections::none_is_up() const {
  const system::MutexLock lock(mutex_);
  return up_.empty();
}

void Connections::set(std::pair<std::string, int> broker, bool up) {
  const system::MutexLock lock(mutex_);
  if (up) {
    up_.insert(std::move(broker));
  } else {
    up_.erase(broker);
  }
}

}  // namespace semel::kafka
