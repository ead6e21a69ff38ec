// Frames between a run unit's process and its parent.
// SPDX-License-Identifier: GPL-2.0-or-later
#include "unitpipe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "mem.h"

enum frame_kind { FRAME_PROGRESS, FRAME_MESSAGE, FRAME_ANSWER };

struct frame {
    enum frame_kind kind;
    size_t size; // bytes that follow
};

struct message_head {
    enum sand_severity severity;
    long line;
    size_t file_size, text_size; // with their NUL; file 0: none
};

enum { MAX_FRAME = 1 << 20 };

// ---- the child's end
// ------------------------------------------------------------------------------

// A parent that is gone cannot be told anything; PR_SET_PDEATHSIG ends us.
static void tell(const struct sand_unit_outbox *outbox, const void *data, size_t size)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t n = write(outbox->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        bytes += n;
        size -= (size_t)n;
    }
}

void sand_unit_tell_progress(struct sand_unit_outbox *outbox, double done)
{
    if (done < outbox->told + 0.005)
        return;
    outbox->told = done;
    struct frame frame = {FRAME_PROGRESS, sizeof done};
    tell(outbox, &frame, sizeof frame);
    tell(outbox, &done, sizeof done);
}

static void tell_message(const struct sand_unit_outbox *outbox, const struct sand_message *message)
{
    struct message_head head = {message->severity, message->line,
                                message->file ? strlen(message->file) + 1 : 0,
                                strlen(message->text) + 1};
    struct frame frame = {FRAME_MESSAGE, sizeof head + head.file_size + head.text_size};
    if (frame.size > MAX_FRAME)
        return;
    tell(outbox, &frame, sizeof frame);
    tell(outbox, &head, sizeof head);
    tell(outbox, message->file, head.file_size);
    tell(outbox, message->text, head.text_size);
}

void sand_unit_tell_answer(struct sand_unit_outbox *outbox, const struct sand_diag *diag,
                           const struct sand_unit_answer *answer)
{
    for (size_t i = 0; i < diag->n_messages; i++)
        tell_message(outbox, &diag->messages[i]);
    struct frame frame = {FRAME_ANSWER, sizeof *answer};
    tell(outbox, &frame, sizeof frame);
    tell(outbox, answer, sizeof *answer);
}

// ---- the parent's end
// -----------------------------------------------------------------------------

static enum sand_rc take_message(struct sand_unit_inbox *inbox, const char *bytes, size_t size)
{
    struct message_head head;
    if (size < sizeof head)
        return SAND_ERR_INTERNAL;
    memcpy(&head, bytes, sizeof head);
    if (head.text_size == 0 || head.file_size + head.text_size != size - sizeof head)
        return SAND_ERR_INTERNAL;
    const char *file = head.file_size > 0 ? bytes + sizeof head : NULL;
    sand_diag_add(&inbox->diag, head.severity, file, head.line, "%s",
                  bytes + sizeof head + head.file_size);
    return SAND_OK;
}

static enum sand_rc take_frame(struct sand_unit_inbox *inbox, const struct frame *frame,
                               const char *bytes)
{
    if (frame->kind == FRAME_MESSAGE)
        return take_message(inbox, bytes, frame->size);
    if (frame->kind == FRAME_PROGRESS && frame->size == sizeof inbox->done) {
        memcpy(&inbox->done, bytes, sizeof inbox->done);
        return SAND_OK;
    }
    if (frame->kind == FRAME_ANSWER && frame->size == sizeof inbox->answer) {
        memcpy(&inbox->answer, bytes, sizeof inbox->answer);
        inbox->answered = 1;
        return SAND_OK;
    }
    return SAND_ERR_INTERNAL;
}

// Takes every whole frame out of the buffer.
static enum sand_rc take_frames(struct sand_unit_inbox *inbox)
{
    size_t at = 0;
    struct frame frame;
    while (inbox->n - at >= sizeof frame) {
        memcpy(&frame, inbox->bytes + at, sizeof frame);
        if (frame.size > MAX_FRAME)
            return SAND_ERR_INTERNAL;
        if (inbox->n - at - sizeof frame < frame.size)
            break;
        SAND_TRY(take_frame(inbox, &frame, inbox->bytes + at + sizeof frame));
        at += sizeof frame + frame.size;
    }
    if (at > 0)
        memmove(inbox->bytes, inbox->bytes + at, inbox->n - at);
    inbox->n -= at;
    return SAND_OK;
}

enum sand_rc sand_unit_listen(struct sand_unit_inbox *inbox)
{
    for (;;) {
        void *bytes = inbox->bytes;
        SAND_TRY(sand_grow(&bytes, &inbox->capacity, inbox->n + 4096, 1));
        inbox->bytes = bytes;
        ssize_t n = read(inbox->fd, inbox->bytes + inbox->n, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SAND_OK;
        inbox->n += (size_t)n;
        SAND_TRY(take_frames(inbox));
    }
}

void sand_unit_inbox_clear(struct sand_unit_inbox *inbox)
{
    if (inbox->fd >= 0)
        close(inbox->fd);
    sand_free(inbox->bytes);
    sand_diag_clear(&inbox->diag);
    *inbox = (struct sand_unit_inbox){.fd = -1};
}
