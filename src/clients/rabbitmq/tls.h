// TLS: trust in the system's certificates, and the cause of a failed handshake.
#pragma once

namespace semel::rabbitmq {

// `context`: OpenSSL's SSL_CTX. Trusts the system's certificates; false if the system has none.
bool trust_the_system(void* context) noexcept;

// For handshakes on this thread. Call the first before one; the second says after a failed one
// whether the peer just closed the connection. A peer that closes may be starting or stopping; one
// that refuses says so.
void forget_handshakes() noexcept;
bool was_hung_up_on() noexcept;

}  // namespace semel::rabbitmq
