// Frames: read back whatever the pieces they arrive in; what is no frame is refused.
// SPDX-License-Identifier: GPL-2.0-or-later
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "unitpipe.h"

static void open_pipe(struct sand_unit_inbox *inbox, struct sand_unit_outbox *outbox)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *inbox = (struct sand_unit_inbox){.fd = ends[0]};
    *outbox = (struct sand_unit_outbox){.fd = ends[1]};
}

// Everything a unit says, forwarded byte by byte.
Test(unitpipe, frames_survive_any_cut)
{
    struct sand_unit_inbox source, inbox;
    struct sand_unit_outbox outbox, relay;
    struct sand_diag diag = {0};
    struct sand_unit_answer answer = {.rc = SAND_OK, .counters = {.hits = 42}, .shard = "abc"};
    open_pipe(&source, &outbox);
    open_pipe(&inbox, &relay);
    sand_diag_add(&diag, SAND_NOTE, NULL, 0, "first");
    sand_diag_add(&diag, SAND_ERROR, "x.xml", 9, "second");
    sand_unit_tell_progress(&outbox, 0.25);
    sand_unit_tell_progress(&outbox, 0.2501); // too little news: not sent
    sand_unit_tell_answer(&outbox, &diag, &answer);
    char byte;
    while (read(source.fd, &byte, 1) == 1) {
        cr_assert_not(inbox.answered);
        cr_assert_eq(write(relay.fd, &byte, 1), 1);
        cr_assert_eq(sand_unit_listen(&inbox), SAND_OK);
    }
    cr_assert(inbox.answered);
    cr_assert_eq(inbox.done, 0.25);
    cr_assert_eq(inbox.answer.counters.hits, 42);
    cr_assert_str_eq(inbox.answer.shard, "abc");
    cr_assert_eq(inbox.diag.n_messages, 2);
    cr_assert_null(inbox.diag.messages[0].file);
    cr_assert_str_eq(inbox.diag.messages[1].text, "second");
    cr_assert_eq(inbox.diag.messages[1].line, 9);
    sand_diag_clear(&diag);
    sand_unit_inbox_clear(&inbox);
    sand_unit_inbox_clear(&source);
}

Test(unitpipe, garbage_is_refused)
{
    struct sand_unit_inbox inbox;
    struct sand_unit_outbox outbox;
    char garbage[64];
    memset(garbage, 0xff, sizeof garbage);
    open_pipe(&inbox, &outbox);
    cr_assert_eq(write(outbox.fd, garbage, sizeof garbage), (ssize_t)sizeof garbage);
    cr_assert_eq(sand_unit_listen(&inbox), SAND_ERR_INTERNAL);
    sand_unit_inbox_clear(&inbox);
}
