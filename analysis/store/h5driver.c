// The file driver: HDF5's reads and writes on a descriptor of ours, with sticky errors.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "h5driver.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem.h"

struct driver_file {
    H5FD_t base; // first: HDF5 sees this
    struct sand_h5 *owner;
    haddr_t end_allocated, end_of_file;
};

// What travels in the access list. HDF5 copies it.
struct driver_info {
    struct sand_h5 *owner;
};

static const struct driver_file *peek(const H5FD_t *base)
{
    return (const struct driver_file *)base;
}

static void note_error(struct sand_h5 *owner, int error_number)
{
    if (owner->error_number == 0)
        owner->error_number = error_number != 0 ? error_number : EIO;
}

// HDF5 opens a new file twice (once to see whether it is open already), so the descriptor belongs
// to the owner and every open starts from what the file holds.
static H5FD_t *driver_open(const char *name, unsigned flags, hid_t fapl, haddr_t max_address)
{
    (void)name;
    (void)max_address;
    const struct driver_info *const info = H5Pget_driver_info(fapl);
    struct stat status;
    if (info == NULL || fstat(info->owner->fd, &status) != 0)
        return NULL;
    struct driver_file *const file = sand_calloc(1, sizeof *file);
    if (file == NULL) {
        info->owner->no_memory = 1;
        return NULL;
    }
    file->owner = info->owner;
    file->end_of_file = (haddr_t)status.st_size;
    if ((flags & H5F_ACC_TRUNC) != 0 && ftruncate(file->owner->fd, 0) == 0)
        file->end_of_file = 0;
    return &file->base;
}

static herr_t driver_close(H5FD_t *base)
{
    sand_free(base);
    return 0;
}

static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
    const struct sand_h5 *const x = peek(a)->owner;
    const struct sand_h5 *const y = peek(b)->owner;
    return (x->fd > y->fd) - (x->fd < y->fd);
}

static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_end(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return peek(base)->end_allocated;
}

static herr_t driver_set_end(H5FD_t *base, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct driver_file *)base)->end_allocated = address;
    return 0;
}

static haddr_t driver_end_of_file(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    const struct driver_file *const file = peek(base);
    return file->end_of_file > file->end_allocated ? file->end_of_file : file->end_allocated;
}

static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address,
                          size_t size, void *buffer)
{
    (void)type;
    (void)transfer;
    struct sand_h5 *const owner = peek(base)->owner;
    char *to = buffer;
    while (size > 0) {
        const ssize_t n = pread(owner->fd, to, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            note_error(owner, errno);
            return -1;
        }
        if (n == 0) {
            memset(to, 0, size); // allocated but not written yet
            return 0;
        }
        to += n;
        address += (haddr_t)n;
        size -= (size_t)n;
    }
    return 0;
}

// 0, or errno.
static int write_all(int fd, const char *from, size_t size, haddr_t address)
{
    while (size > 0) {
        const ssize_t n = pwrite(fd, from, size, (off_t)address);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        from += n;
        address += (haddr_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address,
                           size_t size, const void *buffer)
{
    (void)type;
    (void)transfer;
    struct driver_file *const file = (struct driver_file *)base;
    if (file->owner->error_number == 0) {
        const int error_number = write_all(file->owner->fd, buffer, size, address);
        if (error_number != 0)
            note_error(file->owner, error_number);
    }
    if (address + size > file->end_of_file)
        file->end_of_file = address + size;
    return 0;
}

static herr_t driver_truncate(H5FD_t *base, hid_t transfer, hbool_t closing)
{
    (void)transfer;
    (void)closing;
    struct driver_file *const file = (struct driver_file *)base;
    if (file->owner->part == NULL || file->owner->error_number != 0)
        return 0;
    if (ftruncate(file->owner->fd, (off_t)file->end_allocated) != 0)
        note_error(file->owner, errno);
    file->end_of_file = file->end_allocated;
    return 0;
}

static const H5FD_class_t driver_class = {
    .name = "sandtable",
    .maxaddr = (haddr_t)INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct driver_info),
    .open = driver_open,
    .close = driver_close,
    .cmp = driver_compare,
    .query = driver_query,
    .get_eoa = driver_get_end,
    .set_eoa = driver_set_end,
    .get_eof = driver_end_of_file,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

int sand_h5_driver_use(struct sand_h5 *file, hid_t fapl)
{
    const struct driver_info info = {.owner = file};
    const hid_t driver = H5FDregister(&driver_class);
    if (driver < 0)
        return -1;
    if (H5Pset_driver(fapl, driver, &info) < 0) {
        H5FDunregister(driver);
        return -1;
    }
    file->driver = driver;
    return 0;
}
