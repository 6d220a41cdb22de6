// The start of a group of Redis servers and their Sentinels, up to the moment at which it works as
// it will go on.
#pragma once

#include "targets/target.h"
#include "targets/third_party/redis_config.h"

namespace assay {

// Waits until the first node is the primary of all others and each Sentinel has reached everybody:
// a Sentinel that found a server not started yet tries again after a second, and counts the silence
// from its own start. Then tells them the time after which they give a node up; until then it is
// long (sentinel_conf). An error names what did not come within ten seconds.
void form_redis_group(Loop& loop, const Layout& layout, const SentinelTimes& times,
                      Callback<void> done);

}  // namespace assay
