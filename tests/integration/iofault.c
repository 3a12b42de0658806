/* iofault: a disk that fails when it is told to.
 *
 * Preloaded into a process (LD_PRELOAD), it stands between it and libc's file functions. Every call looks into the
 * file that IOFAULT_CONTROL names, so rules take effect at once and without a restart. A rule is one line:
 *
 *     OPERATION ACTION PERCENT PATH-PATTERN
 *
 * OPERATION  write     write, writev, pwrite, pwritev
 *            sync      fsync, fdatasync, msync
 *            open      opening or creating for writing, mkdir
 *            openread  opening for reading, opendir
 *            truncate  truncate, ftruncate, fallocate
 *            rename    rename (either path)
 *            read      read, readv, pread, preadv, sendfile from the file
 *            mmap      mmap of the file
 *            unlink    unlink, rmdir
 * ACTION     EIO ENOSPC EROFS EACCES ENOMEM   the call fails with that error
 *            SHORT     a write or read takes half of the bytes (at least one) and says so
 *            TORN      a write takes half of the bytes; the next one fails with ENOSPC; then the rule is used up
 * PERCENT    how many of the calls, 100 for all
 * PATH-PATTERN  as of the shell; * also stands for slashes
 *
 * The first rule that matches counts. What was done is appended to the file that IOFAULT_LEDGER names, a line
 * "OPERATION ACTION PATH" for each call, so that a test can see that its fault was met.
 *
 * Both the names with and without 64 are wrapped: CPython calls open64, pwrite64, preadv64v2, sendfile64 and so on.
 * Stores through a mapping are not seen. Files are known by /proc/self/fd and /proc/self/maps.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_RULES 32
#define CONTROL_SIZE 4096
enum { NOTHING = 0, SHORT = -1, TORN = -2 };

struct rule {
    char operation[16], name[16], path[512];
    int action, percent, calls; /* calls: how often it was met, for TORN */
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; /* for the four below */
static char last[CONTROL_SIZE + 1];
static struct rule rules[MAX_RULES];
static int rule_count;
static unsigned seed = 1;

/* -- Rules; system calls are made directly, for the wrappers below call us ---------------------------------------- */

static int action_of(const char *name) {
    static const struct { const char *name; int action; } known[] = {
        {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EROFS", EROFS}, {"EACCES", EACCES},
        {"ENOMEM", ENOMEM}, {"SHORT", SHORT}, {"TORN", TORN},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) return known[i].action;
    return NOTHING;
}

/* Caller holds guard. */
static void load_rules(void) {
    static int control = -2;
    char text[CONTROL_SIZE + 1];
    if (control == -2) {
        const char *file = getenv("IOFAULT_CONTROL");
        control = file ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0) : -1;
    }
    ssize_t size = control < 0 ? 0 : syscall(SYS_pread64, control, text, CONTROL_SIZE, (off_t)0);
    text[size < 0 ? 0 : size] = 0;
    if (!strcmp(text, last)) return;
    strcpy(last, text);
    rule_count = 0;
    char *rest = text, *line;
    while ((line = strtok_r(rest, "\n", &rest)) && rule_count < MAX_RULES) {
        struct rule *r = &rules[rule_count];
        memset(r, 0, sizeof *r);
        if (sscanf(line, "%15s %15s %d %511[^\n]", r->operation, r->name, &r->percent, r->path) == 4)
            if ((r->action = action_of(r->name)) != NOTHING) rule_count++;
    }
}

static void note(const char *operation, const char *action, const char *path) {
    const char *ledger = getenv("IOFAULT_LEDGER");
    char line[PATH_MAX + 64];
    if (!ledger) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, ledger, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    int size = snprintf(line, sizeof line, "%s %s %s\n", operation, action, path);
    if (fd < 0) return;
    syscall(SYS_write, fd, line, (size_t)size);
    syscall(SYS_close, fd);
}

/* What is to happen to an operation on a path: NOTHING, an errno, or SHORT. */
static int verdict(const char *operation, const char *path) {
    int saved = errno, action = NOTHING;
    pthread_mutex_lock(&guard);
    load_rules();
    for (int i = 0; i < rule_count && action == NOTHING; i++) {
        struct rule *r = &rules[i];
        if (strcmp(r->operation, operation) || fnmatch(r->path, path, 0)) continue;
        if (r->percent < 100 && (int)(rand_r(&seed) % 100) >= r->percent) continue;
        action = r->action;
        if (action == TORN) {
            r->calls++;
            action = r->calls == 1 ? SHORT : r->calls == 2 ? ENOSPC : NOTHING;
        }
        if (action != NOTHING) note(operation, r->name, path);
    }
    pthread_mutex_unlock(&guard);
    errno = saved;
    return action;
}

/* Whether a rule for the operation exists: only then is it worth finding out what the file is called. */
static int concerned(const char *operation) {
    int saved = errno, found = 0;
    pthread_mutex_lock(&guard);
    load_rules();
    for (int i = 0; i < rule_count; i++) found |= !strcmp(rules[i].operation, operation);
    pthread_mutex_unlock(&guard);
    errno = saved;
    return found;
}

static int verdict_fd(const char *operation, int fd) {
    char link[64], path[PATH_MAX + 1];
    if (!concerned(operation)) return NOTHING;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlink, link, path, (size_t)PATH_MAX);
    if (size <= 0 || path[0] != '/') return NOTHING; /* a socket, a pipe */
    path[size] = 0;
    return verdict(operation, path);
}

static int verdict_mapping(uintptr_t address) {
    char line[PATH_MAX + 128], path[PATH_MAX + 1];
    unsigned long from, to;
    int found = NOTHING;
    if (!concerned("sync")) return NOTHING;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %4096[^\n]", &from, &to, path) == 3 && from <= address && address < to)
            found = verdict("sync", path);
    if (maps) fclose(maps);
    return found;
}

static size_t half(size_t size) { return size > 1 ? size / 2 : size; }

/* The bytes of a vector in one piece, for SHORT: the first half of them. */
static int half_of_vector(const struct iovec *from, int count, struct iovec *to) {
    size_t size = 0, left;
    int used = 0;
    for (int i = 0; i < count; i++) size += from[i].iov_len;
    left = half(size);
    for (int i = 0; i < count && left; i++, used++) {
        to[i] = from[i];
        if (to[i].iov_len > left) to[i].iov_len = left;
        left -= to[i].iov_len;
    }
    return used;
}

#define NEXT(name) \
    static __typeof__(name) *next; \
    if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAIL_IF(v, result) \
    do { int v_ = (v); if (v_ > 0) { errno = v_; return result; } } while (0)

/* -- Wrappers: a definition for each name, the 64 ones with the same arguments on a 64-bit machine ----------------- */

#define WITH_BUFFER(name, operation, pointer, extra, arguments) \
    ssize_t name(int fd, pointer data, size_t size extra) { \
        NEXT(name); \
        int v = verdict_fd(operation, fd); \
        FAIL_IF(v, -1); \
        if (v == SHORT) size = half(size); \
        return next arguments; \
    }
#define COMMA ,
WITH_BUFFER(write, "write", const void *, , (fd, data, size))
WITH_BUFFER(pwrite, "write", const void *, COMMA off_t at, (fd, data, size, at))
WITH_BUFFER(pwrite64, "write", const void *, COMMA off64_t at, (fd, data, size, at))
WITH_BUFFER(read, "read", void *, , (fd, data, size))
WITH_BUFFER(pread, "read", void *, COMMA off_t at, (fd, data, size, at))
WITH_BUFFER(pread64, "read", void *, COMMA off64_t at, (fd, data, size, at))

#define WITH_VECTOR(name, operation, extra, arguments) \
    ssize_t name(int fd, const struct iovec *parts, int count extra) { \
        NEXT(name); \
        struct iovec fewer[IOV_MAX]; \
        int v = verdict_fd(operation, fd); \
        FAIL_IF(v, -1); \
        if (v == SHORT) { count = half_of_vector(parts, count, fewer); parts = fewer; } \
        return next arguments; \
    }
WITH_VECTOR(writev, "write", , (fd, parts, count))
WITH_VECTOR(pwritev, "write", COMMA off_t at, (fd, parts, count, at))
WITH_VECTOR(pwritev64v2, "write", COMMA off64_t at COMMA int flags, (fd, parts, count, at, flags))
WITH_VECTOR(readv, "read", , (fd, parts, count))
WITH_VECTOR(preadv, "read", COMMA off_t at, (fd, parts, count, at))
WITH_VECTOR(preadv64v2, "read", COMMA off64_t at COMMA int flags, (fd, parts, count, at, flags))

#define WITH_SENDFILE(name, offset) \
    ssize_t name(int to, int from, offset *at, size_t size) { \
        NEXT(name); \
        int v = verdict_fd("read", from); \
        FAIL_IF(v, -1); \
        return next(to, from, at, v == SHORT ? half(size) : size); \
    }
ssize_t sendfile(int to, int from, off_t *at, size_t size);
ssize_t sendfile64(int to, int from, off64_t *at, size_t size);
WITH_SENDFILE(sendfile, off_t)
WITH_SENDFILE(sendfile64, off64_t)

#define WITH_DESCRIPTOR(name, operation, extra, arguments) \
    int name(int fd extra) { \
        NEXT(name); \
        FAIL_IF(verdict_fd(operation, fd), -1); \
        return next arguments; \
    }
WITH_DESCRIPTOR(fsync, "sync", , (fd))
WITH_DESCRIPTOR(fdatasync, "sync", , (fd))
WITH_DESCRIPTOR(ftruncate, "truncate", COMMA off_t size, (fd, size))
WITH_DESCRIPTOR(ftruncate64, "truncate", COMMA off64_t size, (fd, size))

/* This one gives the error back instead of setting errno. */
int posix_fallocate64(int fd, off64_t at, off64_t size) {
    NEXT(posix_fallocate64);
    int v = verdict_fd("truncate", fd);
    return v > 0 ? v : next(fd, at, size);
}

int msync(void *address, size_t size, int flags) {
    NEXT(msync);
    FAIL_IF(verdict_mapping((uintptr_t)address), -1);
    return next(address, size, flags);
}

static int opening(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0; }

#define MODE_OF(flags, mode) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        mode = va_arg(more, mode_t); \
        va_end(more); \
    }
#define WITH_OPEN(name) \
    int name(const char *path, int flags, ...) { \
        NEXT(name); \
        MODE_OF(flags, mode) \
        FAIL_IF(verdict(opening(flags) ? "open" : "openread", path), -1); \
        return next(path, flags, mode); \
    }
#define WITH_OPENAT(name) \
    int name(int dir, const char *path, int flags, ...) { \
        NEXT(name); \
        MODE_OF(flags, mode) \
        FAIL_IF(verdict(opening(flags) ? "open" : "openread", path), -1); \
        return next(dir, path, flags, mode); \
    }
WITH_OPEN(open)
WITH_OPEN(open64)
WITH_OPENAT(openat)
WITH_OPENAT(openat64)

DIR *opendir(const char *path) {
    NEXT(opendir);
    FAIL_IF(verdict("openread", path), NULL);
    return next(path);
}

int mkdir(const char *path, mode_t mode) {
    NEXT(mkdir);
    FAIL_IF(verdict("open", path), -1);
    return next(path, mode);
}

int truncate64(const char *path, off64_t size) {
    NEXT(truncate64);
    FAIL_IF(verdict("truncate", path), -1);
    return next(path, size);
}

int rename(const char *from, const char *to) {
    NEXT(rename);
    FAIL_IF(verdict("rename", from), -1);
    FAIL_IF(verdict("rename", to), -1);
    return next(from, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    NEXT(renameat);
    FAIL_IF(verdict("rename", from), -1);
    FAIL_IF(verdict("rename", to), -1);
    return next(from_dir, from, to_dir, to);
}

int unlink(const char *path) {
    NEXT(unlink);
    FAIL_IF(verdict("unlink", path), -1);
    return next(path);
}

int unlinkat(int dir, const char *path, int flags) {
    NEXT(unlinkat);
    FAIL_IF(verdict("unlink", path), -1);
    return next(dir, path, flags);
}

int rmdir(const char *path) {
    NEXT(rmdir);
    FAIL_IF(verdict("unlink", path), -1);
    return next(path);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t at);
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t at) {
    NEXT(mmap64);
    if (fd >= 0) FAIL_IF(verdict_fd("mmap", fd), (void *)-1);
    return next(address, size, protection, flags, fd, at);
}
