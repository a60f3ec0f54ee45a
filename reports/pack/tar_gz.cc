#include "reports/pack/tar_gz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::size_t kBlock = 512;
constexpr int kGzip = 16 + MAX_WBITS;  // zlib's value for the gzip header and checksum
constexpr std::size_t kMostDirectory = 155;
constexpr std::size_t kMostLastPart = 100;

// A field of the header of a file: its offset and its length.
struct Field {
  std::size_t at;
  std::size_t length;
};
constexpr Field kName{0, kMostLastPart};
constexpr Field kMode{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kModified{136, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 8};
constexpr Field kDirectory{345, kMostDirectory};

using Block = std::array<char, kBlock>;

Error damaged(std::string what) { return {ErrorKind::kDamaged, std::move(what), {}, 0, true}; }

void put(Block& block, Field field, std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), field.length), block.data() + field.at);
}

void put_number(Block& block, Field field, std::uint64_t number) {
  put(block, field, fmt::format("{:0{}o}", number, field.length - 1));
}

std::string_view text_in(std::string_view block, Field field) {
  const std::string_view text = block.substr(field.at, field.length);
  return text.substr(0, text.find('\0'));
}

// Reads octal digits with blanks around them. The binary numbers of GNU tar are refused.
std::optional<std::uint64_t> number_in(std::string_view block, Field field) {
  const std::string_view digits = trimmed(text_in(block, field));
  std::uint64_t number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '7') return std::nullopt;
    number = number * 8 + static_cast<std::uint64_t>(digit - '0');
  }
  return digits.empty() ? std::nullopt : std::optional(number);
}

// The sum of all bytes of a header, in which the field of the sum counts as blanks.
std::uint64_t sum_of(std::string_view block) {
  std::uint64_t sum = kSum.length * ' ';
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i < kSum.at || i >= kSum.at + kSum.length) sum += static_cast<unsigned char>(block[i]);
  }
  return sum;
}

bool can_hold(std::string_view name) {
  if (!is_archive_name(name)) return false;
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return name.size() <= kMostLastPart;
  return slash <= kMostDirectory && name.size() - slash - 1 <= kMostLastPart;
}

Block header_of(const ArchivedFile& file, std::int64_t modified) {
  Block block{};
  const std::size_t slash = file.name.rfind('/');
  const bool is_below = slash != std::string::npos;
  put(block, kName, is_below ? file.name.substr(slash + 1) : file.name);
  if (is_below) put(block, kDirectory, file.name.substr(0, slash));
  put_number(block, kMode, 0644);
  put_number(block, kOwner, 0);
  put_number(block, kGroup, 0);
  put_number(block, kSize, file.text.size());
  put_number(block, kModified, static_cast<std::uint64_t>(std::max<std::int64_t>(modified, 0)));
  block[kType] = '0';
  put(block, kMagic, std::string_view("ustar\00000", kMagic.length));
  put_number(block, kSum, sum_of({block.data(), block.size()}));
  return block;
}

std::string compressed(std::string_view text) {
  z_stream zlib{};
  constexpr int kMemory = 8;  // zlib's default
  ::deflateInit2(&zlib, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY);
  std::string bytes(::deflateBound(&zlib, text.size()), '\0');
  zlib.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  zlib.avail_in = static_cast<unsigned>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(bytes.data());
  zlib.avail_out = static_cast<unsigned>(bytes.size());
  ::deflate(&zlib, Z_FINISH);
  bytes.resize(zlib.total_out);
  ::deflateEnd(&zlib);
  return bytes;
}

Result<std::string> decompressed(std::string_view bytes, std::size_t most) {
  z_stream zlib{};
  if (::inflateInit2(&zlib, kGzip) != Z_OK) return Error::internal("start zlib");
  zlib.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  zlib.avail_in = static_cast<unsigned>(bytes.size());
  std::string text;
  std::array<char, std::size_t{1} << 16> piece{};
  int state = Z_OK;
  while (state == Z_OK && text.size() <= most) {
    zlib.next_out = reinterpret_cast<Bytef*>(piece.data());
    zlib.avail_out = static_cast<unsigned>(piece.size());
    state = ::inflate(&zlib, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - zlib.avail_out);
  }
  const bool is_cut = state == Z_BUF_ERROR;
  ::inflateEnd(&zlib);
  if (text.size() > most) return damaged(fmt::format("it unpacks to more than {} MiB", most >> 20));
  if (is_cut) return damaged("its end is missing");
  if (state != Z_STREAM_END) return damaged("the compressed data is damaged");
  return text;
}

std::string name_in(std::string_view block) {
  std::string name(text_in(block, kDirectory));
  if (!name.empty()) name += '/';
  name += text_in(block, kName);
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

// A file of the archive without its content.
struct Header {
  std::string name;
  std::uint64_t bytes = 0;
  bool is_regular = false;
};

Result<Header> read_header(std::string_view block) {
  const auto sum = number_in(block, kSum);
  const auto bytes = number_in(block, kSize);
  if (!block.substr(kMagic.at).starts_with("ustar") || sum != sum_of(block) || !bytes)
    return damaged("it is not a tar archive, or is damaged");
  Header header{.name = name_in(block), .bytes = *bytes};
  const char type = block[kType];
  header.is_regular = type == '0' || type == '\0';
  if (type == '5' || type == 'x' || type == 'g') return header;  // a directory, or extended headers of pax
  if (!is_archive_name(header.name)) return damaged("it contains a file whose name leads elsewhere");
  if (!header.is_regular) return damaged("`" + header.name + "` in it is not a regular file");
  return header;
}

}  // namespace

bool is_archive_name(std::string_view name) {
  if (name.empty() || name.size() > kMostArchivedName) return false;
  if (std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; })) return false;
  return std::ranges::none_of(
      split(name, '/'), [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

std::string write_tar_gz(const std::vector<ArchivedFile>& files, std::int64_t modified) {
  std::string archive;
  for (const ArchivedFile& file : files) {
    if (!can_hold(file.name)) continue;
    const Block header = header_of(file, modified);
    archive.append(header.data(), header.size());
    archive += file.text;
    archive.append((kBlock - file.text.size() % kBlock) % kBlock, '\0');
  }
  archive.append(2 * kBlock, '\0');
  return compressed(archive);
}

Result<std::vector<ArchivedFile>> read_tar_gz(std::string_view bytes, std::size_t most) {
  if (!bytes.starts_with("\x1f\x8b")) return damaged("it is not compressed with gzip");
  const auto archive = decompressed(bytes, most);
  if (!archive) return archive.error();
  std::vector<ArchivedFile> files;
  std::string_view rest = *archive;
  while (rest.size() >= kBlock && rest.front() != '\0') {
    const auto header = read_header(rest.substr(0, kBlock));
    if (!header) return header.error();
    rest.remove_prefix(kBlock);
    const std::uint64_t padded = header->bytes + (kBlock - header->bytes % kBlock) % kBlock;
    if (header->bytes > rest.size() || padded > rest.size()) return damaged("its end is missing");
    if (header->is_regular) {
      if (files.size() == kMostArchivedFiles)
        return damaged(fmt::format("it contains more than {} files", kMostArchivedFiles));
      files.push_back({header->name, std::string(rest.substr(0, header->bytes))});
    }
    rest.remove_prefix(padded);
  }
  return files;
}

}  // namespace proctor
