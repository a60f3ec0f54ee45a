// A program with two waiting threads, each in its own function. The second thread waits in the kernel
// indefinitely.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

extern "C" {

__attribute__((noinline)) void wait_for_the_device(void) {
  for (;;) pause();
}

__attribute__((noinline)) void* wait_for_the_worker(void* unused) {
  for (;;) pause();
  return unused;
}
}

int main() {
  pthread_t worker;
  if (pthread_create(&worker, nullptr, wait_for_the_worker, nullptr) != 0) return 1;
  pthread_setname_np(worker, "worker");
  puts("up");
  fclose(stdout);
  wait_for_the_device();
}
