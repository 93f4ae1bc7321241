// Whom a TLS connection trusts.
#pragma once

namespace semel::rabbitmq {

// `context`: OpenSSL's SSL_CTX. Those that the system trusts; false where it has none.
bool trust_the_system(void* context) noexcept;

}  // namespace semel::rabbitmq
