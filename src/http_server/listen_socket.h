// Opens a socket that listens.
#pragma once

#include <string>

#include <semel/result.h>

#include "base/listen_address.h"
#include "system/descriptor.h"

namespace semel::http {

// How a config names the listener, for its errors.
struct ListenerNames {
  std::string field = "admin.listen";
  std::string socket_field = "admin.socket.path";
  std::string code = "R340";  // it cannot listen
  std::string tls_field = "admin.tls";
  std::string tls_code = "R363";  // the certificate cannot be used
};

tl::unexpected<Error> cannot_listen(const ListenerNames& names, const ListenAddress& address,
                                    const std::string& why, ErrorKind kind);

// `queue`: the most connections that wait to be accepted.
Result<system::Descriptor> listen_on(const ListenAddress& address, int queue,
                                     const ListenerNames& names);

}  // namespace semel::http
