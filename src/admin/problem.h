// Answers of the API that are errors: application/problem+json (RFC 9457), with the code that
// `semel explain` explains, and the fix.
#pragma once

#include <span>
#include <string>

#include <semel/error.h>

#include "admin/http_message.h"
#include "config/config.h"

namespace semel::admin {

// The status that belongs to an error of the store.
int status_of(const Error& error) noexcept;

HttpResponse problem(int status, const Error& error);
inline HttpResponse problem(const Error& error) { return problem(status_of(error), error); }

// With what is wrong in a config as member `errors`, each with its place. Excerpts of the file are
// left out.
HttpResponse problem(int status, const Error& error,
                     std::span<const config::Diagnostic> diagnostics);

// R344: the request itself is wrong.
HttpResponse bad_request(std::string message, std::string fix);
// R343: there is no such thing.
HttpResponse not_found(std::string message, std::string fix = {});

}  // namespace semel::admin
