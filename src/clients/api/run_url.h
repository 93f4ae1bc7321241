// RunUrl: the address of a run's API, as a person wrote it. Pure.
#pragma once

#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::api_client {

struct RunUrl {
  std::string base;         // without a slash at the end: paths of the API follow it
  std::string socket = {};  // the path of a Unix socket that is asked in place of the host
  bool encrypted = false;
  bool loopback = false;  // the address is on this machine

  // As a person wrote it, for messages.
  std::string text() const { return socket.empty() ? base : "unix:" + socket; }
  // R361: neither http:// nor https:// nor unix: with an absolute path, no host, or something that
  // does not belong into one: a user, a query, a fragment.
  static Result<RunUrl> parse(std::string_view text);
};

// Escapes one part of a path: each byte that is not a letter, a digit or one of "-_.~" becomes %XX.
// In a part that consists of dots alone, which would be a step through the path, the dots are
// escaped too.
std::string path_part(std::string_view text);

}  // namespace semel::api_client
