// Whom a TLS connection trusts, and how a handshake ended.
#pragma once

namespace semel::rabbitmq {

// `context`: OpenSSL's SSL_CTX. Those that the system trusts; false where it has none.
bool trust_the_system(void* context) noexcept;

// Before a handshake on this thread, and after one that failed: whether the other end just closed
// the connection. It may be about to begin, or to end; one that refuses says so.
void forget_handshakes() noexcept;
bool was_hung_up_on() noexcept;

}  // namespace semel::rabbitmq
