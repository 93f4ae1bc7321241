// Certificate: presented by a listener to each TLS connection. Changed files are read again when
// the next connection arrives; if they cannot be used, the previous certificate stays, and that is
// reported.
#pragma once

#include <functional>
#include <memory>

#include <semel/result.h>

#include "http_server/http_tls.h"
#include "http_server/listen_socket.h"

namespace semel::http {

// An error: the files changed, and cannot be used; called once for each change. Null: they can be
// used again.
using CertificateTold = std::function<void(const Error* error)>;

// One thread at a time.
class Certificate {
 public:
  // An error with the code of `names` where the files cannot be read, or do not match; also the one
  // that `told` is called with, which may be empty.
  static Result<std::unique_ptr<Certificate>> open(HttpTls files, ListenerNames names,
                                                   CertificateTold told = {});
  virtual ~Certificate() = default;

  // The function that provides it in a handshake, in the TLS library's type. The context of the
  // connection's socket must be a Certificate.
  static void* callback() noexcept;
};

}  // namespace semel::http
