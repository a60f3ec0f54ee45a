// The journal on disk: one write(2) per record, O_APPEND; fdatasync of the plan, then at most once a second
// and at the end. Process death loses nothing, power loss at most a second.
//
// A disk that refuses a write never fails the run. The loss is reported once. Records that could not be
// written are kept (up to a bound) and tried again, in order, before the next one. A record is on disk whole
// or not at all.
//
// It never grows beyond what its readers read. nears_limit() says so before, while there is room for the end of the run.
//
// What is written is remembered, by its length and its digest: difference() tells what somebody else did to the file.
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

class Journal : public EventSink {
 public:
  // Called once, on the first record that could not be written.
  using OnLost = std::function<void(const Warning&)>;
  // Called before each write, and when the run has ended.
  using KeepSeal = std::function<void(const JournalSeal&)>;

  // Creates the file, which must not exist; `allow_existing` is for special files such as /dev/full.
  // `most`: bytes.
  static Result<std::unique_ptr<Journal>> open(const std::string& path, bool allow_existing = false,
                                               std::uint64_t most = kMostJournal);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void on_lost(OnLost handler) { on_lost_ = std::move(handler); }
  void keep_seal(KeepSeal keep) { keep_seal_ = std::move(keep); }
  void on(const Event& event) override;
  // A last record, behind the end of the run: an object of JSON. Nobody needs it, so a disk that refuses it goes without.
  void end_with(const std::string& record);
  // Of the file, by which a history knows the run. "": a record is missing in it.
  std::string sha256() const { return complete() ? written_.digest : ""; }
  // "" when the file of that name is what was written, else what is different.
  std::string difference() const;
  // Syncs records that are older than a second. Call it now and then while no event comes.
  void sync_if_due();
  // Whether nine tenths are used: no more cases should start. The rest is for those that run, and for the end of the run.
  bool nears_limit() const { return written_.bytes + backlog_bytes_ > most_ - most_ / 10; }
  // Whether every record so far has reached the file.
  bool complete() const { return backlog_.empty() && dropped_ == 0; }
  // Why one did not: errno.
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
  bool torn_ = false;  // an incomplete record could not be cut off again
  bool dirty_ = false;
  int lost_ = 0;  // errno of the first record that could not be written
  bool plan_written_ = false;
  Clock::time_point last_sync_{};
  std::deque<std::string> backlog_;
  std::size_t backlog_bytes_ = 0;
  std::size_t dropped_ = 0;
  OnLost on_lost_;
};

// One stream, many listeners, in the order of addition. If a listener sends an event while another one is
// being delivered, it follows that one.
class EventFanout : public EventSink {
 public:
  void add(EventSink& sink) { sinks_.push_back(&sink); }
  void on(const Event& event) override;

 private:
  std::deque<EventSink*> sinks_;
  std::deque<Event> queue_;
  bool delivering_ = false;
};

// The private copy of what a runner wrote to its journal: how much, and its digest (harness/journal/journal_chain.h). It
// lies with the records of this user's runs (run_record.h), where no other user writes and a test has no business, and
// stays for a week after the run, so that `report` and `finish` can tell a journal that somebody has changed since.
//
// It is made for this boot: after a power cut a journal may have lost its last second.
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
