#include "harness/classify/kernel_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KernelSubject, OneAddressInAllItsSpellings) {
  EXPECT_EQ(pci_slot("0000:03:00.0"), "0000:03:00");
  EXPECT_EQ(pci_slot("00000000:03:00.0"), "0000:03:00");
  EXPECT_EQ(pci_slot("0000:C1:00): 79"), "0000:c1:00");
  EXPECT_EQ(pci_slot("0008:01:00"), "0008:01:00");
  EXPECT_EQ(pci_slot("10000:01:00.0"), "") << "a domain that a slot cannot name is no other domain";
  EXPECT_EQ(pci_slot("GPU-1234"), "");
  EXPECT_EQ(pci_slot("12:1:85dffffb"), "");
  EXPECT_EQ(pci_slot("0000:3:00"), "");
  EXPECT_EQ(pci_slot(""), "");
}

TEST(KernelSubject, EveryAddressOfALine) {
  EXPECT_THAT(pci_slots({.text = "pcieport 0000:00:01.0: AER: error received: 0000:03:00.0"}),
              ElementsAre("0000:00:01", "0000:03:00"));
  EXPECT_THAT(pci_slots({.text = "a link went down", .device = "0000:03:00.0"}), ElementsAre("0000:03:00"));
  EXPECT_THAT(pci_slots({.text = "GPU HANG: ecode 12:1:85dffffb"}), IsEmpty());
}

TEST(KernelSubject, TheProcessOfALine) {
  const auto nvidia = process_of("NVRM: Xid (PCI:0000:03:00): 31, pid=79749, name=exe, Ch 0000000a");
  ASSERT_TRUE(nvidia);
  EXPECT_EQ(nvidia->pid, 79749);
  EXPECT_EQ(nvidia->name, "exe");
  const auto intel = process_of("i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:0020fffe, in my prog [1676]");
  ASSERT_TRUE(intel);
  EXPECT_EQ(intel->pid, 1676);
  EXPECT_EQ(intel->name, "my prog");
  EXPECT_EQ(process_of("Xid: 62, pid='4711', text")->pid, 4711);
  EXPECT_FALSE(process_of("NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, gone"));
  EXPECT_FALSE(process_of("Timedout job: flags=0x8 in no process [-1]"));
  EXPECT_FALSE(process_of("Engine memory CAT error [18]: class=bcs"));
}

}  // namespace
}  // namespace proctor
