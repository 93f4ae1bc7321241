// The schema of `admin:`.
#pragma once

#include "config/schema.h"
#include "config/schema_tls.h"

namespace semel::config {

inline constexpr Field kAdminClaimsField[] = {{.name = "", .shape = Shape::kName, .meaning = ""}};

inline constexpr Field kAdminTokenFields[] = {
    {.name = "name", .shape = Shape::kName, .meaning = "The holder, for people.", .required = true},
    {.name = "secret",
     .shape = Shape::kText,
     .meaning = "What a client sends as `Authorization: Bearer …`: 16 characters at least.",
     .required = true,
     .secret = true},
    {.name = "role",
     .shape = Shape::kWord,
     .meaning =
         "`read` looks, but at no payload; `operator` also sees payloads, pauses, drains, unlocks "
         "and replays; `admin` also forgets, discards and reloads, and sees config and audit log.",
     .fallback = "read",
     .words = "read|operator|admin"},
    {.name = "claims",
     .shape = Shape::kList,
     .meaning = "Consumers whose source is `claims`: the holder may claim keys of these, and end "
                "its claims. No role may that.",
     .fields = kAdminClaimsField,
     .comma = true},
};
inline constexpr Field kAdminTokenField[] = {
    {.name = "", .shape = Shape::kMap, .meaning = "", .fields = kAdminTokenFields}};

inline constexpr Field kAdminAuthFields[] = {
    {.name = "tokens",
     .shape = Shape::kList,
     .meaning = "Bearer tokens. With one, `/metrics`, the API and the details of the health "
                "endpoints need it. An address that other machines reach needs one.",
     .fields = kAdminTokenField},
};

inline constexpr Field kAdminMaskField[] = {{.name = "", .shape = Shape::kText, .meaning = ""}};

inline constexpr Field kAdminSocketFields[] = {
    {.name = "path",
     .shape = Shape::kPath,
     .meaning = "Of its file, of 107 bytes at most. The folder must be there. The file of a "
                "process that was killed is replaced, and a clean end removes it.",
     .required = true},
    {.name = "mode",
     .shape = Shape::kWord,
     .meaning = "The users that may connect: the run's own, or with `0660` its group too.",
     .fallback = "0600",
     .words = "0600|0660"},
    {.name = "role",
     .shape = Shape::kWord,
     .meaning = "What those users may do without a token, as a token's `role`. Without it a token "
                "is needed here too, where there is one; else the socket only reads.",
     .words = "read|operator|admin"},
    {.name = "claims",
     .shape = Shape::kList,
     .meaning = "Consumers whose source is `claims`, and whose keys those users may claim without "
                "a token.",
     .fields = kAdminClaimsField,
     .comma = true},
};

inline constexpr Field kAdminFields[] = {
    {.name = "listen",
     .shape = Shape::kText,
     .meaning = "Address and port, as `127.0.0.1:8585`, `[::1]:8585` or `:8585` for every "
                "interface.",
     .fallback = "127.0.0.1:8585",
     .unless = "socket"},
    {.name = "socket",
     .shape = Shape::kMap,
     .meaning = "A Unix socket with the same dashboard and API, or its path. With it there is a "
                "TCP port only where `listen` is written.",
     .fields = kAdminSocketFields,
     .short_form = "path",
     .optional = true},
    {.name = "tls",
     .shape = Shape::kMap,
     .meaning = "HTTPS in place of HTTP. Without it tokens cross the network in clear text.",
     .fields = kListenerTlsFields,
     .optional = true},
    {.name = "auth",
     .shape = Shape::kMap,
     .meaning = "The clients that are answered.",
     .fields = kAdminAuthFields,
     .optional = true},
    {.name = "payloads",
     .shape = Shape::kWord,
     .meaning =
         "How much of payloads, headers and results is shown to the roles that may see them: "
         "`full` where nothing is written, `masked` where `mask` is.",
     .words = "none|masked|full"},
    {.name = "mask",
     .shape = Shape::kList,
     .meaning =
         "What is hidden: `json:/card/number`, `json:/items/*/card`, `header:Authorization`. "
         "Contents that are no JSON are shown by their size alone.",
     .fields = kAdminMaskField},
    {.name = "errors",
     .shape = Shape::kWord,
     .meaning = "Whether the texts of errors are shown, which may quote a message, or only their "
                "causes: `text` where payloads are shown in full, else `cause`.",
     .words = "text|cause"},
};

}  // namespace semel::config
