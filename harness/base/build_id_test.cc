#include "harness/base/build_id.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::HasSubstr;

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string note(std::uint32_t type, const std::string& owner, const std::string& content) {
  std::string bytes;
  const ElfW(Nhdr) header{.n_namesz = static_cast<std::uint32_t>(owner.size()),
                          .n_descsz = static_cast<std::uint32_t>(content.size()),
                          .n_type = type};
  append(bytes, header);
  for (const std::string& part : {owner, content})
    bytes += part + std::string((4 - part.size() % 4) % 4, '\0');
  return bytes;
}

const std::string kGnu("GNU\0", 4);
const std::string kId("\xab\x12\x00\xff", 4);

// Returns an ELF file that contains only these notes.
std::string elf(const std::string& notes) {
  std::string bytes;
  ElfW(Ehdr) header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(ElfW(Phdr));
  header.e_phnum = 2;
  append(bytes, header);
  ElfW(Phdr) segment{};
  segment.p_type = PT_LOAD;
  append(bytes, segment);
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + 2 * sizeof segment;
  segment.p_filesz = notes.size();
  append(bytes, segment);
  return bytes + notes;
}

class BuildIdTest : public testing::Test {
 protected:
  std::string read(const std::string& bytes) {
    const std::string path = directory_ / "file";
    std::ofstream(path, std::ios::binary) << bytes;
    const auto id = read_build_id(path);
    return id ? *id : id.error().what;
  }
  TempDir directory_;
};

TEST_F(BuildIdTest, IsFoundAmongOtherNotes) {
  const std::string id = note(NT_GNU_BUILD_ID, kGnu, kId);
  EXPECT_EQ(read(elf(id)), "ab1200ff");
  EXPECT_EQ(read(elf(note(NT_GNU_ABI_TAG, kGnu, "12345") + note(NT_GNU_BUILD_ID, "Other", kId) + id)),
            "ab1200ff");
}

TEST_F(BuildIdTest, RejectsFilesWithoutBuildId) {
  for (const std::string& notes :
       {std::string(), note(NT_GNU_ABI_TAG, kGnu, "1234"), note(NT_GNU_BUILD_ID, kGnu, ""),
        note(NT_GNU_BUILD_ID, "Other", kId), std::string(7, '\xff'), std::string(40, '\xff')})
    EXPECT_THAT(read(elf(notes)), HasSubstr("it has no GNU build id"));
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), std::string(4096, '\0')})
    EXPECT_THAT(read(bytes), HasSubstr("it is not an ELF file"));
  const auto missing = read_build_id(directory_ / "missing");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().what, HasSubstr("missing"));
  EXPECT_FALSE(read_build_id(directory_.path()));
}

TEST_F(BuildIdTest, NeverReadsPastEndOfDamagedFile) {
  const std::string whole = elf(note(NT_GNU_BUILD_ID, kGnu, kId));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(read(whole.substr(0, size)), "ab1200ff") << size;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = '\xff';
    read(changed);
  }
}

}  // namespace
}  // namespace proctor
