#include "clients/rabbitmq/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace semel::rabbitmq {

bool trust_the_system(void* context) noexcept {
  return SSL_CTX_set_default_verify_paths(static_cast<SSL_CTX*>(context)) == 1;
}

void forget_handshakes() noexcept { ERR_clear_error(); }

bool was_hung_up_on() noexcept {
  const unsigned long error = ERR_peek_last_error();
  return error == 0 || ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

}  // namespace semel::rabbitmq
