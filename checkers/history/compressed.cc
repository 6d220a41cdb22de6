#include "checkers/history/compressed.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <string>

namespace assay {
namespace {

constexpr size_t kBlock = 1 << 16;
constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

// What lies packed, by blocks, and how much of it was used.
class PackedInput {
 public:
  PackedInput(std::unique_ptr<ByteSource> source, const char* kind)
      : source_(std::move(source)), kind_(kind) {}

  std::string_view left() const { return {block_.data() + at_, end_ - at_}; }
  void use(size_t n) {
    at_ += n;
    used_ += n;
  }
  // False at the end of the source.
  Result<bool> fill() {
    if (at_ != end_) return true;
    const Result<size_t> n = source_->read(block_.data(), block_.size());
    if (!n) return n.error();
    at_ = 0;
    end_ = *n;
    return *n > 0;
  }
  Error damage(const std::string& found) const {
    return input_error("expected whole " + std::string(kind_) + " data, found " + found +
                       " at byte " + std::to_string(used_) + " of the compressed file");
  }
  Error cut_off() const { return damage("its end"); }

 private:
  std::unique_ptr<ByteSource> source_;
  const char* kind_;
  std::array<char, kBlock> block_;
  size_t at_ = 0;
  size_t end_ = 0;
  uint64_t used_ = 0;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> source) : input_(std::move(source), "gzip") {
    ASSAY_CHECK(inflateInit2(&stream_, 15 + 16) == Z_OK, "zlib");
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  Result<size_t> read(char* to, size_t size) override {
    while (true) {
      const Result<bool> more = input_.fill();
      if (!more) return more.error();
      if (!*more && !in_member_) return size_t{0};
      // At the end of the file the decoder may still hold what did not fit before.
      const Result<size_t> n = inflate_some(to, size);
      if (!n || *n > 0) return n;
      if (!*more && in_member_) return input_.cut_off();
    }
  }

 private:
  Result<size_t> inflate_some(char* to, size_t size) {
    const std::string_view left = input_.left();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left.data()));
    stream_.avail_in = static_cast<uInt>(left.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, UINT32_MAX));
    const uInt room = stream_.avail_out;
    in_member_ = true;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    input_.use(left.size() - stream_.avail_in);
    if (status == Z_STREAM_END) {
      in_member_ = false;
      inflateReset(&stream_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return input_.damage(stream_.msg != nullptr ? stream_.msg : "damage");
    }
    return size_t{room - stream_.avail_out};
  }

  PackedInput input_;
  z_stream stream_{};
  bool in_member_ = true;
};

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> source)
      : input_(std::move(source), "zstd"), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  Result<size_t> read(char* to, size_t size) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0) {
      const Result<bool> more = input_.fill();
      if (!more) return more.error();
      // At the end of the file the decoder may still hold what did not fit before.
      if (!*more && !in_frame_) return size_t{0};
      const std::string_view left = input_.left();
      ZSTD_inBuffer in{left.data(), left.size(), 0};
      const size_t status = ZSTD_decompressStream(stream_, &out, &in);
      if (ZSTD_isError(status)) return input_.damage(ZSTD_getErrorName(status));
      input_.use(in.pos);
      in_frame_ = status != 0;
      if (!*more && in_frame_ && out.pos == 0) return input_.cut_off();
    }
    return out.pos;
  }

 private:
  PackedInput input_;
  ZSTD_DStream* stream_;
  bool in_frame_ = true;
};

// Packs through a block that is written on whenever it is full.
class GzipSink : public ByteSink {
 public:
  explicit GzipSink(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {
    ASSAY_CHECK(deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                             Z_DEFAULT_STRATEGY) == Z_OK,
                "zlib");
  }
  ~GzipSink() override { deflateEnd(&stream_); }
  Result<void> write(std::string_view bytes) override { return deflate_all(bytes, Z_NO_FLUSH); }
  Result<void> close() override {
    if (auto written = deflate_all({}, Z_FINISH); !written) return written;
    return sink_->close();
  }

 private:
  Result<void> deflate_all(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(block_.data());
      stream_.avail_out = kBlock;
      deflate(&stream_, flush);
      const std::string_view out(block_.data(), kBlock - stream_.avail_out);
      if (auto written = sink_->write(out); !written) return written;
    } while (stream_.avail_out == 0);
    return {};
  }

  std::unique_ptr<ByteSink> sink_;
  z_stream stream_{};
  std::array<char, kBlock> block_;
};

class ZstdSink : public ByteSink {
 public:
  explicit ZstdSink(std::unique_ptr<ByteSink> sink)
      : sink_(std::move(sink)), stream_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdSink() override { ZSTD_freeCCtx(stream_); }
  Result<void> write(std::string_view bytes) override { return pack(bytes, ZSTD_e_continue); }
  Result<void> close() override {
    if (auto written = pack({}, ZSTD_e_end); !written) return written;
    return sink_->close();
  }

 private:
  Result<void> pack(std::string_view bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer out{block_.data(), block_.size(), 0};
      const size_t left = ZSTD_compressStream2(stream_, &out, &in, directive);
      if (ZSTD_isError(left)) return environment_error(ZSTD_getErrorName(left));
      if (auto written = sink_->write({block_.data(), out.pos}); !written) return written;
      if (directive == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }

  std::unique_ptr<ByteSink> sink_;
  ZSTD_CCtx* stream_;
  std::array<char, kBlock> block_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> source) {
  auto head = read_head(*source, kZstdMagic.size());
  if (!head) return head.error();
  const bool is_gzip = head->starts_with(kGzipMagic);
  const bool is_zstd = head->starts_with(kZstdMagic);
  std::unique_ptr<ByteSource> whole = put_back(std::move(*head), std::move(source));
  if (is_gzip) whole = std::make_unique<GzipSource>(std::move(whole));
  if (is_zstd) whole = std::make_unique<ZstdSource>(std::move(whole));
  return whole;
}

Packing packing_of(std::string_view path) {
  if (path.ends_with(".gz")) return Packing::kGzip;
  return path.ends_with(".zst") ? Packing::kZstd : Packing::kNone;
}

std::unique_ptr<ByteSink> packed(Packing packing, std::unique_ptr<ByteSink> sink) {
  if (packing == Packing::kGzip) return std::make_unique<GzipSink>(std::move(sink));
  if (packing == Packing::kZstd) return std::make_unique<ZstdSink>(std::move(sink));
  return sink;
}

}  // namespace assay
