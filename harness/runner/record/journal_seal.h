// The private copy of what a runner wrote to its journal: how much, and its digest (harness/journal/journal_chain.h). It
// lies with the records of this user's runs (run_record.h), where no other user writes and a test has no business, and
// stays for a week after the run, so that `report` and `finish` can tell a journal that somebody has changed since.
//
// It is made for this boot: after a power cut a journal may have lost its last second.
#pragma once

#include <optional>
#include <string>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/journal_chain.h"

namespace proctor {

class JournalSealFile {
 public:
  // For the journal in the run directory; that of an earlier run there is replaced.
  static Result<JournalSealFile> create(const std::string& run_dir, const std::string& run_id);

  // One write, before the record itself is written: a runner that is killed between them leaves a journal that fits.
  void keep(const JournalSeal& seal);

 private:
  JournalSealFile(UniqueFd fd, std::string head) : fd_(std::move(fd)), head_(std::move(head)) {}

  UniqueFd fd_;
  std::string head_;
};

// None when this user ran nothing there since the boot, within a week, or elsewhere. It is about the run that it names: the
// directory may have been given to another one since.
std::optional<JournalSeal> find_journal_seal(const std::string& run_dir);

// Those of runs that are older than a week.
void remove_old_journal_seals();

}  // namespace proctor
