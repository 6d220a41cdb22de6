// Any bytes: what decodes must encode to the same bytes, and the service must survive it.
#include <cstdlib>

#include "targets/kv/service/codec.h"
#include "targets/kv/service/service.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto request = assay::kv::decode(bytes);
  if (!request) return 0;
  std::string again;
  assay::kv::encode(*request, again);
  if (again != bytes) std::abort();
  assay::kv::Service service;
  service.apply(*request);
  service.apply(std::move(*request));
  return 0;
}
