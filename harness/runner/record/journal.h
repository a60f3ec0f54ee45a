// The journal on disk. Each record is one write(2) with O_APPEND. fdatasync follows the plan, then at most once a
// second, and the end. The death of the process loses no record; a power loss loses at most a second.
//
// A disk that refuses a write never fails the run. The loss is reported once. Records that could not be written are
// kept, up to a limit, and are written in order before the next record. A record is on disk completely or not at all.
//
// The journal never becomes longer than its readers accept. nears_limit() reports this while space for the end of the
// run remains.
//
// The journal keeps the length and the digest of the written records. difference() reports changes by other processes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "harness/base/clock.h"
#include "harness/base/regular_file.h"
#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/journal/events.h"
#include "harness/journal/journal_chain.h"

namespace proctor {

// Writes the events of a run to journal.jsonl. prepare() opens it.
class Journal : public EventSink {
 public:
  // Called once, for the first record that could not be written.
  using OnLost = std::function<void(const Warning&)>;
  // Called before each write, and when the run has ended.
  using KeepSeal = std::function<void(const JournalSeal&)>;

  // Creates the file, which must not exist. `allow_existing` is for special files such as /dev/full. `most` is the
  // limit in bytes.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, bool allow_existing = false,
                                               std::uint64_t most = kMostJournal);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void on_lost(OnLost handler) { on_lost_ = std::move(handler); }
  void keep_seal(KeepSeal keep) { keep_seal_ = std::move(keep); }
  void on(const Event& event) override;
  // Writes a record after the end of the run, a JSON object. The record is optional, so its loss is ignored.
  void end_with(const std::string& record);
  // Returns the digest of the file. A history identifies the run by it. Returns "" if a record is missing.
  std::string sha256() const { return complete() ? written_.digest : ""; }
  // Returns "" if the file with this name has the written content, otherwise the difference.
  std::string difference() const;
  // Syncs records that are older than a second. Call it regularly while no event arrives.
  void sync_if_due();
  // Returns whether nine tenths of the limit are used: no more cases should start. The remaining tenth is for running
  // cases and the end of the run.
  bool nears_limit() const { return written_.bytes + backlog_bytes_ > most_ - most_ / 10; }
  // Returns whether every record so far is in the file.
  bool complete() const { return backlog_.empty() && dropped_ == 0; }
  // Returns the errno of the first lost record.
  int why_incomplete() const { return lost_; }

 private:
  Journal(int fd, std::string path, std::uint64_t most) : fd_(fd), path_(std::move(path)), most_(most) {}
  int write_record(const std::string& line);  // 0 or errno
  void seal_end();
  void sync();
  void lose(int err);

  int fd_;
  std::string path_;
  std::uint64_t most_;
  JournalChain chain_;
  JournalState written_ = chain_.state();
  KeepSeal keep_seal_;
  bool torn_ = false;  // an incomplete record could not be cut off
  bool dirty_ = false;
  int lost_ = 0;  // errno of the first record that could not be written
  bool plan_written_ = false;
  Clock::time_point last_sync_{};
  std::deque<std::string> backlog_;
  std::size_t backlog_bytes_ = 0;
  std::size_t dropped_ = 0;
  OnLost on_lost_;
};

// Passes each event to several receivers, in the order of their addition. If a receiver sends an event while another
// one is being delivered, the new event follows it.
class EventFanout : public EventSink {
 public:
  void add(EventSink& sink) { sinks_.push_back(&sink); }
  void on(const Event& event) override;

 private:
  std::deque<EventSink*> sinks_;
  std::deque<Event> queue_;
  bool delivering_ = false;
};

// The seal of a journal: the length and the digest of the written records (harness/journal/journal_chain.h), in a
// private file. The file is in the directory of the records of this user (run_record.h), where no other user can write.
// It stays for a week after the run. `report` and `finish` use it to detect later changes of the journal.
//
// A seal is valid in the same boot only: after a power loss a journal may lack its last second.
class JournalSealFile {
 public:
  // Creates the seal of the journal in `run_dir`. Replaces the seal of an earlier run in this directory.
  static Result<JournalSealFile> create(const std::string& run_dir, const std::string& run_id);

  // Writes the seal before the record itself is written. If the runner is killed between both, the journal still fits
  // its seal.
  void keep(const JournalSeal& seal);

 private:
  JournalSealFile(UniqueFd fd, std::string head) : fd_(std::move(fd)), head_(std::move(head)) {}

  UniqueFd fd_;
  std::string head_;
};

// Returns nothing if this user has run nothing in this directory since the boot and within a week. The seal belongs to
// the run that it names: the directory may have another owner now.
std::optional<JournalSeal> find_journal_seal(const std::string& run_dir);

// Removes seals of runs that are older than a week.
void remove_old_journal_seals();

}  // namespace proctor
