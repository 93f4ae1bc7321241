// The scripts of RunMarkers. All but the one that counts crashes stand behind kRowScript.
//
//   semel:{store}runs     a hash: each instance that runs consumers, and its process id
//   semel:{store}run:…    a hash of one instance: its consumers and their windows
//   semel:{store}sessions a hash: the connection that each of them keeps as long as it lives: the
//                         life of the server, a blank and the connection's number
//   semel:{store}alive:…  of one instance; expires unless it gives a sign
//   semel:{store}gone     a sorted set: instances by when they were found to be gone
//   semel:{store}died     a hash: consumers that have not been told yet of a death, and the largest
//                         window among those
#pragma once

namespace semel::redis {

// Arguments and answers are told in scripts.h.
extern const char* const kBeginScript;
extern const char* const kEndScript;
extern const char* const kSignScript;
// Stands before the next two and kForgetRunScript.
extern const char* const kTellScript;
extern const char* const kDoubtScript;
extern const char* const kDeclareScript;
extern const char* const kShowScript;
extern const char* const kForgetRunScript;
extern const char* const kCountCrashScript;

}  // namespace semel::redis
