// One HDF5 file: created as .part and committed, or opened for reading; errors folded into ours.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "h5file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filegate.h"
#include "h5driver.h"
#include "mem.h"

// ---- HDF5's error stack
// ---------------------------------------------------------------------------

// Upward from the innermost record: the first one says what happened.
static herr_t keep_innermost(unsigned n, const H5E_error2_t *error, void *reason)
{
    struct sand_h5 *const file = reason;
    if (n == 0 && error->desc != NULL)
        snprintf(file->reason, sizeof file->reason, "%s", error->desc);
    return 0;
}

// Called by HDF5 when a call fails, before cleaning up can overwrite its stack.
static herr_t on_error(hid_t stack, void *listener)
{
    struct sand_h5 *const file = listener;
    if (file->reason[0] == '\0')
        H5Ewalk2(stack, H5E_WALK_UPWARD, keep_innermost, file);
    return 0;
}

void sand_h5_listen(struct sand_h5 *file)
{
    H5Eset_auto2(H5E_DEFAULT, file != NULL ? on_error : NULL, file);
}

int sand_h5_failed(const struct sand_h5 *file)
{
    return file->error_number != 0 || file->no_memory;
}

enum sand_rc sand_h5_fail(const struct sand_h5 *file, const char *what, struct sand_diag *diag)
{
    if (file->no_memory)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", file->path);
    const char *why = "HDF5 gave no reason";
    if (file->error_number != 0)
        why = strerror(file->error_number);
    else if (file->reason[0] != '\0')
        why = file->reason;
    return sand_fail(diag, SAND_ERR_IO, "%s: cannot %s: %s", file->path, what, why);
}

// ---- making and freeing
// ---------------------------------------------------------------------------

static char *joined(const char *a, const char *b)
{
    const size_t size = strlen(a) + strlen(b) + 1;
    char *const text = sand_calloc(size, 1);
    if (text != NULL)
        snprintf(text, size, "%s%s", a, b);
    return text;
}

static void discard(struct sand_h5 *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0)
        close(file->fd);
    sand_free(file->path);
    sand_free(file->part);
    sand_free(file);
}

// A file without descriptor; `part` only when it is to be written.
static struct sand_h5 *new_file(const char *path, int writing)
{
    struct sand_h5 *const file = sand_calloc(1, sizeof *file);
    if (file == NULL)
        return NULL;
    file->id = file->driver = H5I_INVALID_HID;
    file->fd = -1;
    file->path = joined(path, "");
    file->part = writing ? joined(path, ".part") : NULL;
    if (file->path != NULL && (!writing || file->part != NULL))
        return file;
    discard(file);
    return NULL;
}

// Closes the HDF5 side; -1 if the library could not.
static int close_library(struct sand_h5 *file)
{
    int status = 0;
    sand_h5_listen(file);
    if (file->id >= 0 && H5Fclose(file->id) < 0)
        status = -1;
    if (file->driver >= 0 && H5FDunregister(file->driver) < 0)
        status = -1;
    file->id = file->driver = H5I_INVALID_HID;
    sand_h5_listen(NULL);
    return status;
}

void sand_h5_close(struct sand_h5 *file)
{
    if (file == NULL)
        return;
    close_library(file);
    if (file->part != NULL)
        unlink(file->part);
    discard(file);
}

// ---- writing
// --------------------------------------------------------------------------------------

static hid_t creation_list(void)
{
    const hid_t list = H5Pcreate(H5P_FILE_CREATE);
    if (list >= 0 &&
        (H5Pset_obj_track_times(list, 0) < 0 ||
         H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

// The format of HDF5 1.8, whatever later library writes it.
static hid_t access_list(struct sand_h5 *file)
{
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (list >= 0 &&
        (H5Pset_libver_bounds(list, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0 ||
         H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) < 0 || sand_h5_driver_use(file, list) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static void create_in_library(struct sand_h5 *file)
{
    const hid_t creation = creation_list();
    const hid_t access = access_list(file);
    if (creation >= 0 && access >= 0)
        file->id = H5Fcreate(file->part, H5F_ACC_TRUNC, creation, access);
    if (access >= 0)
        H5Pclose(access);
    if (creation >= 0)
        H5Pclose(creation);
}

enum sand_rc sand_h5_create(const char *path, struct sand_h5 **out, struct sand_diag *diag)
{
    struct sand_h5 *const file = new_file(path, 1);
    if (file == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    file->fd = open(file->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        file->error_number = errno;
        const enum sand_rc rc = sand_h5_fail(file, "write", diag);
        discard(file);
        return rc;
    }
    sand_h5_listen(file);
    create_in_library(file);
    if (file->id < 0) {
        const enum sand_rc rc = sand_h5_fail(file, "write", diag);
        sand_h5_close(file);
        return rc;
    }
    *out = file;
    return SAND_OK;
}

enum sand_rc sand_h5_commit(struct sand_h5 *file, struct sand_diag *diag)
{
    enum sand_rc rc = SAND_OK;
    if (close_library(file) < 0 || file->error_number != 0) {
        rc = sand_h5_fail(file, "write", diag);
        unlink(file->part);
    } else {
        rc = sand_file_commit(file->part, file->path, diag);
    }
    discard(file);
    return rc;
}

// ---- reading
// --------------------------------------------------------------------------------------

static enum sand_rc refuse(const char *path, const char *is, struct sand_diag *diag)
{
    return sand_fail(diag, SAND_ERR_INPUT, "%s: %s; a results file is made by sandtable run", path,
                     is);
}

// HDF5 files of ours begin with the signature; anything else is named for what it looks like.
static enum sand_rc check_signature(const struct sand_h5 *file, struct sand_diag *diag)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char head[8] = {0};
    struct stat status;
    if (fstat(file->fd, &status) != 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot read: %s", file->path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return refuse(file->path, "is no regular file", diag);
    const ssize_t n = pread(file->fd, head, sizeof head, 0);
    if (n < 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot read: %s", file->path, strerror(errno));
    if (n == 0)
        return refuse(file->path, "is empty", diag);
    if (n == (ssize_t)sizeof head && memcmp(head, signature, sizeof head) == 0)
        return SAND_OK;
    if (head[0] == '<')
        return refuse(file->path, "looks like XML, not like HDF5", diag);
    return refuse(file->path, "is no HDF5 file", diag);
}

static void open_in_library(struct sand_h5 *file)
{
    const hid_t access = access_list(file);
    if (access < 0)
        return;
    file->id = H5Fopen(file->path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
}

static enum sand_rc open_checked(struct sand_h5 *file, struct sand_diag *diag)
{
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0)
        return sand_fail(diag, SAND_ERR_IO, "%s: cannot read: %s", file->path, strerror(errno));
    SAND_TRY(check_signature(file, diag));
    sand_h5_listen(file);
    open_in_library(file);
    if (file->id >= 0)
        return SAND_OK;
    if (sand_h5_failed(file))
        return sand_h5_fail(file, "read", diag);
    return sand_fail(diag, SAND_ERR_INPUT, "%s: is damaged or cut short (%s); copy or run it again",
                     file->path, file->reason);
}

enum sand_rc sand_h5_open(const char *path, struct sand_h5 **out, struct sand_diag *diag)
{
    struct sand_h5 *const file = new_file(path, 0);
    if (file == NULL)
        return sand_fail(diag, SAND_ERR_NOMEM, "%s: out of memory", path);
    const enum sand_rc rc = open_checked(file, diag);
    if (rc != SAND_OK) {
        sand_h5_close(file);
        return rc;
    }
    *out = file;
    return SAND_OK;
}
