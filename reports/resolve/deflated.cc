#include "reports/resolve/deflated.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace proctor {

struct DeflatedText::Stream {
  z_stream zlib{};
  ~Stream() { ::deflateEnd(&zlib); }
};

namespace {

using Buffer = std::array<unsigned char, std::size_t{1} << 16>;

// zlib takes a pointer that is not const, but does not change the bytes.
void set_input(z_stream& zlib, std::string_view bytes) {
  zlib.next_in = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
  zlib.avail_in = static_cast<unsigned>(bytes.size());
}

// Sets the buffer for the next bytes. written() returns the bytes that zlib wrote to it.
void make_room(z_stream& zlib, Buffer& buffer) {
  zlib.next_out = buffer.data();
  zlib.avail_out = static_cast<unsigned>(buffer.size());
}

std::string_view written(const z_stream& zlib, const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size() - zlib.avail_out};
}

// zlib counts bytes in 32 bits, so longer text is passed in pieces.
template <typename Use>
void in_pieces(std::string_view bytes, const Use& use) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kMost, bytes.size()))) use(bytes.substr(0, kMost));
}

}  // namespace

DeflatedText::DeflatedText(int level) : stream_(std::make_unique<Stream>()) {
  ::deflateInit(&stream_->zlib, level);
}
DeflatedText::~DeflatedText() = default;
DeflatedText::DeflatedText(DeflatedText&&) noexcept = default;
DeflatedText& DeflatedText::operator=(DeflatedText&&) noexcept = default;

void DeflatedText::deflate_all(std::string_view piece, bool last) {
  z_stream& zlib = stream_->zlib;
  Buffer buffer;
  set_input(zlib, piece);
  do {
    make_room(zlib, buffer);
    ::deflate(&zlib, last ? Z_FINISH : Z_NO_FLUSH);
    bytes_ += written(zlib, buffer);
  } while (zlib.avail_out == 0);
}

void DeflatedText::add(std::string_view piece) {
  taken_ += piece.size();
  in_pieces(piece, [this](std::string_view part) { deflate_all(part, false); });
}

std::string DeflatedText::finish() {
  deflate_all({}, true);
  return std::move(bytes_);
}

void inflate(std::string_view deflated, const std::function<void(std::string_view piece)>& use) {
  z_stream zlib{};
  if (::inflateInit(&zlib) != Z_OK) return;
  Buffer buffer;
  in_pieces(deflated, [&](std::string_view part) {
    set_input(zlib, part);
    int state = Z_OK;
    do {
      make_room(zlib, buffer);
      state = ::inflate(&zlib, Z_NO_FLUSH);
      use(written(zlib, buffer));
    } while (state == Z_OK && zlib.avail_out == 0);
  });
  ::inflateEnd(&zlib);
}

}  // namespace proctor
