/* batch.h -- many rows in one call, on a pool of threads.  Tested by tests/test_threads.py.
 *
 * The pool is one per process, made on the first call that is worth more than one thread and kept;
 * idle workers sleep, and end with the process, which does not wait for them.  One batch runs on it
 * at a time: a second caller works alone rather than wait.  A forked child starts with an empty
 * pool. */
#ifndef GLK_BATCH_H
#define GLK_BATCH_H

#include "common.h"

enum { GLK_MOST_THREADS = 64 };

/* Calls run(context, i) for each i below `count`, on up to `threads` threads, the caller's among
 * them; returns when all are done. */
void glk_batch_run(void (*run)(void *context, size_t index), void *context, size_t count,
                   uint32_t threads);

#endif
