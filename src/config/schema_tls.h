// The fields for a listener's certificate.
#pragma once

#include "config/schema.h"

namespace semel::config {

inline constexpr Field kListenerTlsFields[] = {
    {.name = "certificate",
     .shape = Shape::kPath,
     .meaning = "The certificate in PEM format, and behind it those that lead to its authority. A "
                "file that was renewed is read anew.",
     .required = true},
    {.name = "key",
     .shape = Shape::kPath,
     .meaning = "Its private key, without a password.",
     .required = true},
};

}  // namespace semel::config
