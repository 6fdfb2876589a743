/* batch.c -- see batch.h.  A batch is a counter of rows that are taken; whoever is free takes the
 * next few: many while many are left, so that threads neither meet at the counter nor write into
 * neighbouring cells, and single ones at the end, so that all end together.  The caller begins
 * alone, since waking a thread costs more than most batches do.  Workers join a batch at most once
 * and leave when the counter has run out. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getcpu and affinities of threads */
#endif
#include "batch.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "matcher.h"

typedef struct batch {
    void (*run)(void *context, size_t index);
    void *context;
    size_t count;
    _Atomic size_t next;
    size_t shares;    /* how many pieces the rest is divided into when one is taken */
    uint32_t places;  /* workers that may still join; guarded by the pool's lock */
    uint32_t working; /* workers that have joined and not left; likewise */
} batch;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, left;
    uint32_t workers;
    pthread_t threads[GLK_MOST_THREADS];
    int avoided;    /* the processor that workers keep off, -1 for none */
    batch *current; /* NULL: nothing to do */
    bool prepared;  /* the fork handler is in place */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .wake = PTHREAD_COND_INITIALIZER,
          .left = PTHREAD_COND_INITIALIZER,
          .avoided = -1};

/* How long the caller works alone, in nanoseconds: what it takes to wake a thread. */
static const int64_t alone = 10000;

static int64_t now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void work_on(batch *job) {
    size_t next = atomic_load(&job->next);
    while (next < job->count) {
        size_t taken = (job->count - next) / job->shares;
        taken = taken > 0 ? taken : 1;
        if (!atomic_compare_exchange_weak(&job->next, &next, next + taken)) {
            continue;
        }
        for (size_t i = 0; i < taken; i++) {
            job->run(job->context, next + i);
        }
        next = atomic_load(&job->next);
    }
}

/* Row by row until the batch is done or has shown that it is worth more threads. */
static void work_alone(batch *job) {
    size_t next = 0;
    for (int64_t until = now() + alone; next < job->count && now() < until; next++) {
        job->run(job->context, next);
    }
    atomic_init(&job->next, next);
}

static void *worker(void *unused) {
    (void)unused;
    (void)pthread_mutex_lock(&pool.lock);
    for (;;) {
        batch *job = pool.current;
        if (job == NULL || job->places == 0) {
            (void)pthread_cond_wait(&pool.wake, &pool.lock);
            continue;
        }
        job->places--;
        job->working++;
        (void)pthread_mutex_unlock(&pool.lock);
        work_on(job);
        (void)pthread_mutex_lock(&pool.lock);
        if (--job->working == 0) {
            (void)pthread_cond_signal(&pool.left);
        }
    }
    return NULL;
}

static void forget_workers(void) { /* in a forked child only the calling thread lives on */
    (void)pthread_mutex_init(&pool.lock, NULL);
    (void)pthread_cond_init(&pool.wake, NULL);
    (void)pthread_cond_init(&pool.left, NULL);
    pool.workers = 0;
    pool.avoided = -1;
    pool.current = NULL;
}

/* With the lock held; fewer workers than asked for (no memory, no threads) only cost time. */
static void hire(uint32_t wanted) {
    if (!pool.prepared) {
        pool.prepared = pthread_atfork(NULL, NULL, forget_workers) == 0;
    }
    while (pool.prepared && pool.workers < wanted) {
        pthread_t *thread = &pool.threads[pool.workers];
        if (pthread_create(thread, NULL, worker, NULL) != 0) {
            return;
        }
        (void)pthread_detach(*thread);
        pool.workers++;
        pool.avoided = -1;
    }
}

/* With the lock held: workers may run wherever the caller may, but not where it runs now.  Linux likes
 * to wake a thread on the processor of whoever wakes it, where it only takes turns with the caller. */
static void keep_off_caller(void) {
#if defined(__linux__)
    cpu_set_t allowed;
    int here = sched_getcpu();
    if (here < 0 || here == pool.avoided || here >= CPU_SETSIZE ||
        pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0 ||
        CPU_COUNT(&allowed) < 2) {
        return;
    }
    CPU_CLR((size_t)here, &allowed);
    for (uint32_t i = 0; i < pool.workers; i++) {
        (void)pthread_setaffinity_np(pool.threads[i], sizeof allowed, &allowed);
    }
    pool.avoided = here;
#endif
}

/* Lets workers take part; false if another batch has them. */
static bool share(batch *job, uint32_t workers) {
    (void)pthread_mutex_lock(&pool.lock);
    bool shared = pool.current == NULL;
    if (shared) {
        hire(workers);
        keep_off_caller();
        job->places = workers;
        pool.current = job;
        for (uint32_t i = 0; i < workers; i++) {
            (void)pthread_cond_signal(&pool.wake);
        }
    }
    (void)pthread_mutex_unlock(&pool.lock);
    return shared;
}

/* Waits for the workers that have joined; no other joins any more. */
static void part(batch *job) {
    (void)pthread_mutex_lock(&pool.lock);
    job->places = 0;
    while (job->working > 0) {
        (void)pthread_cond_wait(&pool.left, &pool.lock);
    }
    pool.current = NULL;
    (void)pthread_mutex_unlock(&pool.lock);
}

void glk_batch_run(void (*run)(void *context, size_t index), void *context, size_t count,
                   uint32_t threads) {
    if (threads > GLK_MOST_THREADS) {
        threads = GLK_MOST_THREADS;
    }
    if (threads < 2) {
        for (size_t i = 0; i < count; i++) {
            run(context, i);
        }
        return;
    }
    batch job = {.run = run, .context = context, .count = count, .shares = 4 * (size_t)threads};
    work_alone(&job);
    size_t rest = count - atomic_load(&job.next);
    uint32_t workers = rest < threads ? (uint32_t)rest : threads;
    bool shared = workers > 1 && share(&job, workers - 1);
    work_on(&job);
    if (shared) {
        part(&job);
    }
}

/* ------------------------------------------------------------------ masks of many matchers */

typedef struct rows {
    glk_matcher *const *matchers;
    uint32_t *masks;
    size_t stride, words;
    glk_status *statuses;
    pthread_mutex_t lock; /* guards the next two */
    size_t failed;        /* the first row that failed so far, SIZE_MAX for none */
    glk_error error;      /* of that row */
} rows;

static void fill_one(void *context, size_t index) {
    rows *self = context;
    glk_error error = {0};
    glk_status status = glk_matcher_fill(self->matchers[index],
                                         self->masks + index * self->stride, self->words, &error);
    self->statuses[index] = status;
    if (status != GLK_OK) {
        (void)pthread_mutex_lock(&self->lock);
        if (index < self->failed) {
            self->failed = index;
            self->error = error;
            self->error.row = (uint32_t)index;
        }
        (void)pthread_mutex_unlock(&self->lock);
    }
}

glk_status glk_matchers_fill(glk_matcher *const *matchers, size_t count, uint32_t *masks,
                             size_t stride, size_t words, uint32_t threads, glk_status *statuses,
                             glk_error *err) {
    if (words > stride && count > 1) {
        return glk_fail(err, GLK_ERR_ARGUMENT, "rows of %zu words at a stride of %zu", words,
                        stride);
    }
    rows job = {.matchers = matchers,
                .masks = masks,
                .stride = stride,
                .words = words,
                .statuses = statuses,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .failed = SIZE_MAX};
    glk_batch_run(fill_one, &job, count, threads);
    (void)pthread_mutex_destroy(&job.lock);
    if (job.failed == SIZE_MAX) {
        return GLK_OK;
    }
    if (err != NULL) {
        *err = job.error;
    }
    return statuses[job.failed];
}
