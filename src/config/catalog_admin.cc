// Codes of the admin listener, its API, and the export of spans.
#include "config/catalog.h"

namespace semel::config::catalog {

namespace {

constexpr CodePage kAdminPages[] = {
    {"R340", "the admin listener cannot listen",
     "The address of admin.listen is in use by another program, is not one of this machine, or "
     "this user may not use its port. No message was received.",
     "Give another address or port, or stop the program that has it.",
     "admin: { listen: 127.0.0.1:8586 }\nss -ltnp 'sport = :8585'", 69},
    {"R341", "the API needs a token",
     "The config has tokens, and the request came without one of them: none, a wrong one, or in "
     "another header.",
     "Send the secret of one of admin.auth.tokens as a bearer token.",
     "curl -H \"Authorization: Bearer $(cat token)\" http://127.0.0.1:8585/api/v1/consumers", 77},
    {"R342", "the role of the token is too small",
     "Each resource of the API needs a role: read, operator or admin. A token without one has the "
     "role read, and so has everybody on this machine where the config has no tokens.",
     "Use a token with that role, or give the role to this one.",
     "admin: { auth: { tokens: [{ name: night_shift, secret: \"${file:token}\", role: operator }] "
     "} }",
     77},
    {"R343", "there is no such resource",
     "The API has no such path, or the consumer, record, dead letter or job that it names is not "
     "there. A job is forgotten when the run ends that began it: the audit log has how it ended.",
     "Look at /api/openapi.json for the paths, and at the lists for what there is.",
     "curl http://127.0.0.1:8585/api/openapi.json", 4},
    {"R344", "the request is wrong",
     "A parameter has no such name or value, stands there twice, or the method is not one of this "
     "path; or it asks for more than can be counted in time. Nothing was done.",
     "Mend what the answer names.", "", 2},
    {"R345", "the API cannot answer now",
     "The run has not opened its store yet or has closed it, the store takes too long, or too many "
     "requests wait for it, another doctor runs, or as many jobs as there may be are not over.",
     "Ask again later. Where it stays so, /readyz says which part is away.", "", 69},
    {"R346", "a page of another site asks",
     "Without tokens a request must name this machine as its host, no request may come from a page "
     "of another site, and a write must come from this host: so that no such page can use the API "
     "through a browser. Nothing was done.",
     "Ask localhost or an address of this machine, or set tokens; ask from a program, or from a "
     "page of this host.",
     "", 77},
    {"R347", "a caller asks too often",
     "Each caller may make a number of requests a second, so that one client cannot keep the "
     "others from the store.",
     "Ask less often: a client that polls needs an answer a second at most.", "", 69},
    {"R348", "the record or the job is in no state for it",
     "Only parked and dead records can be unlocked, none is forgotten while it is worked on, and a "
     "job that is over is neither paused nor cancelled. Or it moved on since it was looked at. "
     "Nothing was done.",
     "Look at it again.", "", 4},
    {"R350", "the collector does not take spans",
     "Nobody answers at traces.otlp, or the answer says that the spans are not wanted there. They "
     "wait in the queue and are sent again; what finds no room in it, or has waited for too long, "
     "is lost and counted (semel_spans_dropped_total). Messages are handled all the same.",
     "Start the collector, and look at the URL and the headers: OTLP over HTTP has port 4318.",
     "curl -i -H 'content-type: application/json' -d '{}' http://127.0.0.1:4318/v1/traces", 69},
};

}  // namespace

std::span<const CodePage> admin_codes() noexcept { return kAdminPages; }

}  // namespace semel::config::catalog
