// Certificate: what a listener shows to each connection that begins with TLS. Files that changed
// are read anew when the next connection comes; where they cannot be used, what was read before
// stays, and that is reported.
#pragma once

#include <functional>
#include <memory>

#include <semel/result.h>

#include "http_server/http_tls.h"
#include "http_server/listen_socket.h"

namespace semel::http {

// An error: the files were written anew, and cannot be used; once for each change of them. Null:
// they can be used again.
using CertificateTold = std::function<void(const Error* error)>;

// One thread at a time.
class Certificate {
 public:
  // An error with the code of `names` where the files cannot be read, or do not belong together;
  // also the one that `told` is called with, which may be empty.
  static Result<std::unique_ptr<Certificate>> open(HttpTls files, ListenerNames names,
                                                   CertificateTold told = {});
  virtual ~Certificate() = default;

  // The function that asks for it at a handshake, in the type that the TLS library has for it. The
  // context of the connection's socket must be a Certificate.
  static void* callback() noexcept;
};

}  // namespace semel::http
