#include "brokers/rabbitmq/tls.h"

#include <openssl/ssl.h>

namespace semel::rabbitmq {

bool trust_the_system(void* context) noexcept {
  return SSL_CTX_set_default_verify_paths(static_cast<SSL_CTX*>(context)) == 1;
}

}  // namespace semel::rabbitmq
