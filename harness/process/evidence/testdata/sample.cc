// Two threads that wait, each in a function of its own; the second one for ever in the kernel.
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
