// Error codes of the admin listener, its API, and the export of spans.
#include "config/catalog.h"

namespace semel::config::catalog {

namespace {

constexpr CodePage kAdminPages[] = {
    {"R340", "the admin listener cannot listen",
     "The address of admin.listen is in use by another program, is not one of this machine, or "
     "this user may not use its port. Or the folder of admin.socket is not there or cannot be "
     "written, a live process listens at its path, or something that is no socket is there. No "
     "message was received.",
     "Give another address, port or path, or stop the program that has it. The folder of a socket "
     "must be there before: RuntimeDirectory=semel in a unit of systemd.",
     "admin: { listen: 127.0.0.1:8586 }\nss -ltnp 'sport = :8585'", 69},
    {"R341", "the API needs a token",
     "The config has tokens, and the request came without one of them: none, a wrong one, or in "
     "another header.",
     "Send the secret of one of admin.auth.tokens as a bearer token.",
     "curl -H \"Authorization: Bearer $(cat token)\" http://127.0.0.1:8585/api/v1/consumers", 77},
    {"R342", "the role of the token is too small",
     "Each resource of the API needs a role: read, operator or admin. A token without one has the "
     "role read, and so has everybody on this machine where the config has no tokens. Claims need "
     "a token whose claims name the consumer, and no role.",
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
    {"R349", "a dead letter cannot be edited so",
     "An edited message keeps its key and is handled under it at most once. So the consumer's "
     "recipe must find the same key in it, it must keep the limits, headers of Semel are not "
     "changed, a masked place is not put back, and the record of the key must be dead and speak "
     "for "
     "this letter, with nothing that may have had its effect. Nothing was changed.",
     "Keep the key, write the whole payload, or send the message under a key of its own with semel "
     "send.",
     "", 1},
    {"R350", "the collector does not take spans",
     "Nobody answers at traces.otlp, or the answer says that the spans are not wanted there. They "
     "wait in the queue and are sent again; what finds no room in it, or has waited for too long, "
     "is lost and counted (semel_spans_dropped_total). Messages are handled all the same.",
     "Start the collector, and look at the URL and the headers: OTLP over HTTP has port 4318.",
     "curl -i -H 'content-type: application/json' -d '{}' http://127.0.0.1:4318/v1/traces", 69},
    {"R355", "the config of a reload is wrong",
     "The file was read again and has errors. Nothing was changed: the run goes on with the config "
     "that it has. Each error is on the log with its place, and in the API's answer.",
     "Mend the file, and reload again.", "semel check semel.yaml\nkill -HUP \"$(pidof semel)\"",
     78},
    {"R356", "a reload cannot change that",
     "The store, the listener and its socket, traces and drain_timeout are those of the process, "
     "and a consumer of stdin cannot give back what it has read. Nothing was changed.",
     "Restart the run, or leave that field as it was.", "systemctl restart semel", 78},
    {"R357", "this run takes up no other config",
     "A run with --once or --dry-run ends by itself, one whose config came from stdin has no file, "
     "and a program that runs consumers by semel::Runner has its config in its own hands.",
     "Start another one.", "", 2},
    {"R358", "this consumer cannot be drained alone",
     "It reads stdin, to which nothing is given back: what it has received and not begun would be "
     "lost. Or clients claim from it: their claims go on in every run of the store. Or the run has "
     "--once, and ends by itself.",
     "Pause it: messages that it has received wait, and no new claims are given.",
     "semel consumers pause payments", 2},
    {"R360", "the run cannot be asked",
     "Nobody answers at the URL of --url or SEMEL_URL: no run listens there, its certificate is "
     "not "
     "trusted, or no answer came in time. Where the command changes something, and was sent, it "
     "may be done.",
     "Look whether the run is up and its config has admin:, and whether the URL begins with "
     "https:// "
     "where admin.tls is set; --ca-file for a certificate that the system does not trust.",
     "semel status --url http://127.0.0.1:8585\ncurl http://127.0.0.1:8585/livez", 69},
    {"R361", "the URL of a run, or what goes with it, is wrong",
     "The URL is none of http:// or https:// with a host, nor unix: with an absolute path, or the "
     "file of the token or of the "
     "certificates cannot be read. Nothing was asked.",
     "Mend the flag or the variable.",
     "semel status --url https://semel.example.com:8585 --token-file token --ca-file ca.pem", 2},
    {"R362", "another program than a run answers",
     "The URL leads to a server whose answers are not those of Semel's API: another program, a "
     "proxy, or a prefix that is missing. If the command changes something, the log of that server "
     "says what became of it.",
     "Give the URL of admin.listen, with the prefix of a proxy where there is one, or unix: and "
     "admin.socket.",
     "semel status --url https://ops.example.com/semel", 69},
    {"R363", "the certificate of the admin listener cannot be used",
     "A file of admin.tls cannot be read or is not PEM, or the key is not that of the certificate. "
     "No message was received. Of files that are renewed while it runs, those that were good go on "
     "being used until both are good again.",
     "Mend the files; the key must not have a password.",
     "openssl x509 -noout -pubkey -in cert.pem\nopenssl pkey -pubout -in key.pem", 78},
};

}  // namespace

std::span<const CodePage> admin_codes() noexcept { return kAdminPages; }

}  // namespace semel::config::catalog
