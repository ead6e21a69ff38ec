// The store's process: the one place that sees LMDB. It may die of a damaged file; its asker goes
// on without. Everything ends in _exit: the caller's buffers are copies.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "storeframe.h"

enum {
    LINE = 3, // the one file beyond standard input, output and error
    BATCH = 32,
    RECORD_CHECK = 32 // a record: the check, then the value
};

// Under this key an environment of ours says that it is.
static char identity[] = "sandtable step store 1";

struct record {
    uint8_t key[SAND_CACHE_KEY_SIZE];
    uint32_t size;
    char bytes[RECORD_CHECK + SAND_CACHE_VALUE_MAX];
};

struct server {
    MDB_env *env;
    MDB_dbi dbi;
    uint64_t limit_B;
    int n_pending, dropped; // dropped: writing has failed, values are thrown away
    struct sand_store_frame frame;
    struct record pending[BATCH]; // not committed yet
};

// Dies with its asker, which may be killed while somebody holds the lock this process waits for.
static void settle(int fd, pid_t asker)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != asker)
        _exit(0);
    if ((fd != LINE && dup2(fd, LINE) < 0) || close_range(LINE + 1, ~0U, 0) != 0)
        _exit(1);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); // refused for some: fine
    signal(SIGINT, SIG_IGN);     // the asker decides; its end is ours
    signal(SIGTERM, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void say(struct server *server, enum sand_store_op op, uint32_t status, const char *text)
{
    server->frame.op = op;
    server->frame.status = status;
    snprintf(server->frame.bytes, 512, "%s", text);
    server->frame.size = (uint32_t)strlen(server->frame.bytes) + 1;
    if (!sand_store_send(LINE, &server->frame))
        _exit(0);
}

_Noreturn static void refuse(struct server *server, const char *why)
{
    say(server, SAND_STORE_READY, 0, why);
    _exit(0);
}

// ---- opening ------------------------------------------------------------------------------------

// File systems of many machines: the numbers are those of statfs(2) and of Lustre's and GPFS's own
// headers.
static int is_shared(const char *path)
{
    static const unsigned long types[] = {0x6969,     0x517b,     0xfe534d42, 0xff534d42,
                                          0x0bd00bd0, 0x47504653, 0x00c36400, 0x19830326};
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == types[i])
            return 1;
    return 0;
}

static void on_assert(MDB_env *env, const char *message)
{
    (void)env;
    (void)message;
    _exit(3); // inside LMDB: nothing can be unwound
}

static const char *reason(int error)
{
    return error == EINVAL || error == MDB_INVALID || error == MDB_VERSION_MISMATCH ||
                   error == MDB_CORRUPTED || error == MDB_PAGE_NOTFOUND
               ? "is no store of Sandtable's, or damaged"
               : mdb_strerror(error);
}

// A file shorter than its own count of pages would kill whoever reads the missing ones.
static int is_whole(const char *path, MDB_env *env)
{
    char file[4096 + 16];
    struct stat status;
    MDB_envinfo info;
    MDB_stat stat_;
    snprintf(file, sizeof file, "%s/data.mdb", path);
    if (stat(file, &status) != 0 || mdb_env_info(env, &info) != 0 || mdb_env_stat(env, &stat_) != 0)
        return 0;
    return (uint64_t)status.st_size >= ((uint64_t)info.me_last_pgno + 1) * stat_.ms_psize;
}

static MDB_val identity_value(void)
{
    return (MDB_val){sizeof identity, identity};
}

// Looks who wrote the environment, without the writers' lock: MDB_NOTFOUND for an empty one.
static int read_identity(struct server *server)
{
    MDB_txn *txn;
    MDB_stat stat_;
    MDB_val key = identity_value(), value;
    int error = mdb_txn_begin(server->env, NULL, MDB_RDONLY, &txn);
    if (error != 0)
        return error;
    error = mdb_dbi_open(txn, NULL, 0, &server->dbi);
    if (error == 0)
        error = mdb_stat(txn, server->dbi, &stat_);
    if (error == 0 && mdb_get(txn, server->dbi, &key, &value) != 0)
        error = stat_.ms_entries == 0 ? MDB_NOTFOUND : MDB_INVALID;
    if (error == 0)
        return mdb_txn_commit(txn); // keeps the handle of the database
    mdb_txn_abort(txn);
    return error;
}

static int write_identity(struct server *server)
{
    MDB_txn *txn;
    MDB_val key = identity_value(), value = identity_value();
    int error = mdb_txn_begin(server->env, NULL, 0, &txn);
    if (error != 0)
        return error;
    error = mdb_dbi_open(txn, NULL, 0, &server->dbi);
    if (error == 0)
        error = mdb_put(txn, server->dbi, &key, &value, 0);
    if (error == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return error;
}

static int identify(struct server *server)
{
    const int error = read_identity(server);
    return error == MDB_NOTFOUND ? write_identity(server) : error;
}

static void open_env(struct server *server, const char *path)
{
    int dead;
    if (is_shared(path))
        refuse(server, "is on a network file system, where LMDB's locks do not hold; choose a "
                       "local directory with --cache");
    int error = mdb_env_create(&server->env);
    if (error == 0)
        error = mdb_env_set_assert(server->env, on_assert);
    if (error == 0)
        error = mdb_env_set_mapsize(server->env, (size_t)server->limit_B);
    if (error == 0)
        error = mdb_env_open(server->env, path, 0, 0600);
    if (error == 0 && !is_whole(path, server->env))
        error = MDB_CORRUPTED;
    if (error == 0)
        error = mdb_reader_check(server->env, &dead); // frees pages that killed readers hold
    if (error == 0)
        error = identify(server);
    if (error != 0)
        refuse(server, reason(error));
}

// ---- writing ------------------------------------------------------------------------------------

static int put_all(struct server *server, MDB_txn *txn)
{
    for (int i = 0; i < server->n_pending; i++) {
        struct record *record = &server->pending[i];
        MDB_val key = {sizeof record->key, record->key};
        MDB_val value = {RECORD_CHECK + record->size, record->bytes};
        const int error = mdb_put(txn, server->dbi, &key, &value, MDB_NOOVERWRITE);
        if (error != 0 && error != MDB_KEYEXIST)
            return error;
    }
    return 0;
}

static uint64_t used_B(const MDB_stat *stat_)
{
    return (uint64_t)stat_->ms_psize *
           (stat_->ms_branch_pages + stat_->ms_leaf_pages + stat_->ms_overflow_pages);
}

// Full: everything goes. The pages come back two commits later; until then the last quarter serves.
static int make_room(struct server *server, MDB_txn *txn)
{
    MDB_stat stat_;
    MDB_val key = identity_value(), value = identity_value();
    int error = mdb_stat(txn, server->dbi, &stat_);
    if (error != 0 || used_B(&stat_) < server->limit_B / 4 * 3)
        return error;
    error = mdb_drop(txn, server->dbi, 0);
    return error == 0 ? mdb_put(txn, server->dbi, &key, &value, 0) : error;
}

static int commit_pending(struct server *server)
{
    MDB_txn *txn;
    int error = mdb_txn_begin(server->env, NULL, 0, &txn);
    if (error != 0)
        return error;
    error = make_room(server, txn);
    if (error == 0)
        error = put_all(server, txn);
    if (error == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return error;
}

static void flush_pending(struct server *server)
{
    if (server->n_pending > 0 && server->dropped == 0)
        server->dropped = commit_pending(server);
    server->n_pending = 0;
}

static void keep(struct server *server)
{
    const struct sand_store_frame *frame = &server->frame;
    struct record *record = &server->pending[server->n_pending++];
    memcpy(record->key, frame->key, sizeof record->key);
    memcpy(record->bytes, frame->check, RECORD_CHECK);
    memcpy(record->bytes + RECORD_CHECK, frame->bytes, frame->size);
    record->size = frame->size;
    if (server->n_pending == BATCH)
        flush_pending(server);
}

// ---- reading ------------------------------------------------------------------------------------

static void take_value(struct sand_store_frame *frame, const MDB_val *value)
{
    frame->status = 1;
    frame->size = (uint32_t)(value->mv_size - RECORD_CHECK);
    memcpy(frame->check, value->mv_data, RECORD_CHECK);
    memcpy(frame->bytes, (const char *)value->mv_data + RECORD_CHECK, frame->size);
}

static void find(struct server *server)
{
    struct sand_store_frame *frame = &server->frame;
    MDB_txn *txn;
    MDB_val key = {sizeof frame->key, frame->key}, value;
    frame->status = frame->size = 0;
    if (mdb_txn_begin(server->env, NULL, MDB_RDONLY, &txn) != 0)
        _exit(3);
    const int error = mdb_get(txn, server->dbi, &key, &value);
    if (error == 0 && value.mv_size >= RECORD_CHECK &&
        value.mv_size <= RECORD_CHECK + SAND_CACHE_VALUE_MAX)
        take_value(frame, &value);
    else if (error != MDB_NOTFOUND)
        _exit(3); // damaged
    mdb_txn_abort(txn);
}

static void inform(struct server *server)
{
    struct sand_cachestore_info info = {.limit_B = server->limit_B};
    MDB_txn *txn;
    MDB_stat stat_;
    flush_pending(server);
    if (mdb_txn_begin(server->env, NULL, MDB_RDONLY, &txn) != 0 ||
        mdb_stat(txn, server->dbi, &stat_) != 0)
        _exit(3);
    mdb_txn_abort(txn);
    info.entries = stat_.ms_entries > 0 ? stat_.ms_entries - 1 : 0; // without the identity
    info.used_B = used_B(&stat_);
    server->frame.status = 1;
    server->frame.size = sizeof info;
    memcpy(server->frame.bytes, &info, sizeof info);
}

static int answer(struct server *server)
{
    switch (server->frame.op) {
    case SAND_STORE_KEEP:
        keep(server);
        return 1;
    case SAND_STORE_FIND:
        find(server);
        break;
    default:
        inform(server);
        break;
    }
    return sand_store_send(LINE, &server->frame);
}

_Noreturn void sand_store_serve(int fd, pid_t asker, const char *path, uint64_t limit_B)
{
    static struct server server; // a process of its own: one
    settle(fd, asker);
    server.limit_B = limit_B;
    open_env(&server, path);
    say(&server, SAND_STORE_READY, 1, "");
    while (sand_store_receive(LINE, &server.frame))
        if (!answer(&server))
            break;
    flush_pending(&server);
    say(&server, SAND_STORE_BYE, server.dropped == 0,
        server.dropped == 0 ? "" : mdb_strerror(server.dropped));
    mdb_env_close(server.env);
    _exit(0);
}
