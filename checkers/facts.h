// The names of facts (Verdict::facts) that reports look for anywhere in a verdict tree and put in
// places of their own. A name may occur several times; each text is one sentence, without final
// stop. Facts of other names are shown beside their verdict. Writers are checkers, readers reports.
#pragma once

#include <string_view>

namespace assay::fact {

// Of a valid verdict: why this run could have caught something ("28 of 30 stale reads of 50 ms or
// more, put into copies of this history, were found").
inline constexpr std::string_view kCouldHaveBeenCaught = "could have been caught";
// What a valid verdict does not say ("power loss: SIGKILL keeps what the kernel has").
inline constexpr std::string_view kNotTested = "not tested";
// What is not held against the target, since it does not claim it, and what is judged all the same
// ("linearizable reads are not claimed: 12,345 reads are judged only for values that nobody
// wrote").
inline constexpr std::string_view kNotClaimed = "not claimed";
// Of a vacuous, unknown or blocked verdict: what it lacks ("cas: 3 ok of 10 needed").
inline constexpr std::string_view kMissing = "missing";
// … and what changes it, with the option in backquotes ("longer: `--time-limit 60s`").
inline constexpr std::string_view kRemedy = "remedy";
// An assumption about the history ("an ok read of null is a value").
inline constexpr std::string_view kConvention = "convention";
// Of an invalid verdict: on whose word it rests ("independent of your error mapping").
inline constexpr std::string_view kRestsOn = "rests on";
// … and which weaker promises the history keeps all the same, or breaks too ("monotonic reads hold:
// …").
inline constexpr std::string_view kWeaker = "weaker promises";

}  // namespace assay::fact
