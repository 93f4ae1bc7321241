// AdminRoutes: which page, metric, health endpoint or route of the API answers a request, for whom.
#pragma once

#include <memory>
#include <vector>

#include "admin/admin_server.h"
#include "admin/http_message.h"

namespace semel::admin {

class AdminRoutes {
 public:
  using Tokens = std::vector<AdminOptions::Token>;

  static std::unique_ptr<AdminRoutes> create(Tokens tokens, AdminSources sources);
  virtual ~AdminRoutes() = default;

  // `socket`: the Unix socket that the request came through; null: TCP. Thread-safe; the threads of
  // two listeners take turns, and nothing here waits. Tasks of the answer may run on other threads;
  // they use this object, and end before it.
  virtual HttpReply answer(const HttpRequest& request, const AdminOptions::Socket* socket) = 0;
  // Applies to every request that comes after it. Thread-safe.
  virtual void set_tokens(Tokens tokens) = 0;
};

}  // namespace semel::admin
