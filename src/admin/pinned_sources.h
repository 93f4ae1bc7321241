// PinnedSources: the sources of one request, whose config stays the same during the request, even
// if another is loaded meanwhile.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "admin/api.h"
#include "admin/http_message.h"

namespace semel::admin {

struct PinnedSources {
  ApiSources sources;
  std::shared_ptr<const config::Config> config;  // what sources.config points to
};

inline std::shared_ptr<const PinnedSources> pinned(const ApiSources& sources) {
  auto made = std::make_shared<PinnedSources>(PinnedSources{sources, nullptr});
  if (sources.current_config) {
    made->config = sources.current_config();
    made->sources.config = made->config.get();
  }
  return made;
}

// A task borrows the sources it was made with: keeps them alive.
inline HttpReply holding(HttpReply reply, std::shared_ptr<const PinnedSources> pinned) {
  if (auto* const task = std::get_if<HttpTask>(&reply)) {
    task->run = [run = std::move(task->run), pinned = std::move(pinned)] { return run(); };
  }
  return reply;
}

}  // namespace semel::admin
