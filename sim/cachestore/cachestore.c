// The asking side: forks the store's process, checks what it says, gives it up when it is odd.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "cachestore.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filegate.h"
#include "mem.h"
#include "storeframe.h"

#define ENVIRONMENT "steps-1" // a new layout gets a new name

enum { PATIENCE_S = 5, PATH_SIZE = 4096 }; // longer than any commit: then something is stuck

struct sand_cachestore {
    int fd; // -1: given up
    pid_t pid;
    char path[PATH_SIZE];
    struct sand_store_frame frame;
};

static void warn(struct sand_diag *diag, const char *path, const char *what)
{
    sand_diag_add(diag, SAND_WARNING, NULL, 0,
                  "cache %s: %s; going on without it (`sandtable cache clear' removes it, "
                  "--no-cache leaves it alone)",
                  path, what);
}

// Ends the store's process, which has hung up or is not worth waiting for.
static void end_server(struct sand_cachestore *store)
{
    close(store->fd);
    store->fd = -1;
    kill(store->pid, SIGKILL);
    while (waitpid(store->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void give_up(struct sand_cachestore *store, const char *what, struct sand_diag *diag)
{
    end_server(store);
    warn(diag, store->path, what);
}

// ---- opening ------------------------------------------------------------------------------------

static int set_patience(int fd)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0;
}

static int fork_server(struct sand_cachestore *store, uint64_t limit_B)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    const pid_t asker = getpid();
    store->pid = fork();
    if (store->pid == 0)
        sand_store_serve(ends[1], asker, store->path, limit_B);
    close(ends[1]);
    store->fd = ends[0];
    if (store->pid > 0 && set_patience(store->fd))
        return 1;
    close(ends[0]);
    return 0;
}

// Waits until the store is open, or says why it is not.
static int await_ready(struct sand_cachestore *store, struct sand_diag *diag)
{
    if (!sand_store_receive(store->fd, &store->frame) || store->frame.op != SAND_STORE_READY) {
        give_up(store, "could not be opened: damaged, or somebody holds its lock", diag);
        return 0;
    }
    if (store->frame.status == 1)
        return 1;
    store->frame.bytes[SAND_CACHE_VALUE_MAX - 1] = '\0';
    give_up(store, store->frame.bytes, diag);
    return 0;
}

static int open_store(struct sand_cachestore *store, const char *dir, uint64_t limit_B,
                      struct sand_diag *diag)
{
    const int length = snprintf(store->path, sizeof store->path, "%s/" ENVIRONMENT, dir);
    if (length < 0 || (size_t)length >= sizeof store->path) {
        warn(diag, dir, "the path is too long");
        return 0;
    }
    if (sand_dir_make(store->path, NULL) != SAND_OK) {
        warn(diag, store->path, strerror(errno));
        return 0;
    }
    if (!fork_server(store, limit_B)) {
        warn(diag, store->path, strerror(errno));
        return 0;
    }
    return await_ready(store, diag);
}

struct sand_cachestore *sand_cachestore_open(const char *dir, uint64_t limit_B,
                                             struct sand_diag *diag)
{
    struct sand_cachestore *store = sand_calloc(1, sizeof *store);
    if (store == NULL) {
        warn(diag, dir, "out of memory");
        return NULL;
    }
    if (open_store(store, dir, limit_B, diag))
        return store;
    sand_free(store);
    return NULL;
}

// ---- asking -------------------------------------------------------------------------------------

static void check_of(const uint8_t key[SAND_CACHE_KEY_SIZE], const void *value, size_t size,
                     uint8_t check[32])
{
    struct sand_hash hash;
    sand_hash_init(&hash);
    sand_hash_add(&hash, key, SAND_CACHE_KEY_SIZE);
    sand_hash_add(&hash, value, size);
    sand_hash_end(&hash, check);
}

static int ask(struct sand_cachestore *store, enum sand_store_op op, struct sand_diag *diag)
{
    store->frame.op = op;
    store->frame.size = 0;
    if (sand_store_send(store->fd, &store->frame) && sand_store_receive(store->fd, &store->frame) &&
        store->frame.op == (uint32_t)op)
        return 1;
    give_up(store, "its process does not answer: the file is damaged, or somebody holds its lock",
            diag);
    return 0;
}

int sand_cachestore_find(struct sand_cachestore *store, const uint8_t key[SAND_CACHE_KEY_SIZE],
                         void *value, size_t *size, struct sand_diag *diag)
{
    uint8_t check[32];
    if (store->fd < 0)
        return 0;
    memcpy(store->frame.key, key, SAND_CACHE_KEY_SIZE);
    if (!ask(store, SAND_STORE_FIND, diag) || store->frame.status == 0)
        return 0;
    check_of(key, store->frame.bytes, store->frame.size, check);
    if (memcmp(check, store->frame.check, sizeof check) != 0 || store->frame.size > *size) {
        give_up(store, "an answer in it is damaged", diag);
        return 0;
    }
    *size = store->frame.size;
    memcpy(value, store->frame.bytes, *size);
    return 1;
}

void sand_cachestore_keep(struct sand_cachestore *store, const uint8_t key[SAND_CACHE_KEY_SIZE],
                          const void *value, size_t size, struct sand_diag *diag)
{
    if (store->fd < 0 || size > SAND_CACHE_VALUE_MAX)
        return;
    store->frame.op = SAND_STORE_KEEP;
    store->frame.size = (uint32_t)size;
    memcpy(store->frame.key, key, SAND_CACHE_KEY_SIZE);
    check_of(key, value, size, store->frame.check);
    memcpy(store->frame.bytes, value, size);
    if (!sand_store_send(store->fd, &store->frame))
        give_up(store, "its process takes nothing more: damaged, or somebody holds its lock", diag);
}

int sand_cachestore_exists(const char *dir)
{
    char path[PATH_SIZE];
    struct stat status;
    return snprintf(path, sizeof path, "%s/" ENVIRONMENT, dir) < PATH_SIZE &&
           (lstat(path, &status) == 0 || errno != ENOENT);
}

int sand_cachestore_info(struct sand_cachestore *store, struct sand_cachestore_info *info,
                         struct sand_diag *diag)
{
    if (store->fd < 0 || !ask(store, SAND_STORE_INFO, diag))
        return 0;
    memcpy(info, store->frame.bytes, sizeof *info);
    return 1;
}

// ---- closing ------------------------------------------------------------------------------------

void sand_cachestore_close(struct sand_cachestore *store, struct sand_diag *diag)
{
    if (store == NULL)
        return;
    if (store->fd >= 0) {
        shutdown(store->fd, SHUT_WR);
        const int said = sand_store_receive(store->fd, &store->frame);
        if (!said || store->frame.op != SAND_STORE_BYE)
            give_up(store, "its process died before all was written", diag);
        else if (store->frame.status == 0)
            give_up(store, store->frame.bytes, diag);
        else
            end_server(store);
    }
    sand_free(store);
}

// ---- clearing -----------------------------------------------------------------------------------

static enum sand_rc remove_files(const char *path, struct sand_diag *diag)
{
    char file[PATH_SIZE + 256];
    DIR *dir = opendir(path);
    if (dir == NULL)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(file);
    }
    closedir(dir);
    if (rmdir(path) != 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot be removed: %s", path, strerror(errno));
    return SAND_OK;
}

// Renamed first: nobody opens half an environment, and who has it open keeps it to the end.
enum sand_rc sand_cachestore_clear(const char *dir, struct sand_diag *diag)
{
    char path[PATH_SIZE], trash[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/" ENVIRONMENT, dir) >= PATH_SIZE ||
        snprintf(trash, sizeof trash, "%s/" ENVIRONMENT ".trash-%ld", dir, (long)getpid()) >=
            PATH_SIZE)
        return sand_fail(diag, SAND_ERR_IO, "%s: the path is too long", dir);
    if (rename(path, trash) != 0)
        return errno == ENOENT ? SAND_OK
                               : sand_fail(diag, SAND_ERR_IO, "%s: cannot be renamed: %s", path,
                                           strerror(errno));
    return remove_files(trash, diag);
}
