// gzip and zstd, the only place that knows them: streams, so that memory is that of a window (at
// most 128 MB, of zstd) however much comes out. Single-threaded.
#pragma once

#include <memory>
#include <string_view>

#include "checkers/history/byte_source.h"

namespace assay {

// Unpacks what begins as gzip or zstd does, members or frames behind each other included; anything
// else passes as it is. Damage and a stream that is cut off are input errors of the reads, which
// say at which byte of the compressed stream.
Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> source);

enum class Packing { kNone, kGzip, kZstd };
Packing packing_of(std::string_view path);  // by its end: .gz, .zst
std::unique_ptr<ByteSink> packed(Packing packing, std::unique_ptr<ByteSink> sink);

}  // namespace assay
