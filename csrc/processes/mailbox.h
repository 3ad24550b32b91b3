/* Mailbox: how the parent gives turns to a worker process, and learns whether it has any left. */
#ifndef PP_PROCESSES_MAILBOX_H
#define PP_PROCESSES_MAILBOX_H

#include "board.h"

/* ---------------------------------------------------------------------------------- parent -- */

/* Records when and from which core the caller is about to send. */
void pp_board_note_send(pp_board *board);

/* Queues entries of one environment each for a worker, without waking it, and drops the replies to
 * their former turns. In an unordered pool the place of an entry is -1, or that of the row that a
 * dead worker has claimed. */
void pp_board_push(pp_board *board, int32_t lane, const pp_entry *entries, int32_t count);

/* Wakes a worker after pushes, a request or closing. */
void pp_board_wake(pp_board *board, int32_t lane);

/* Asks a worker whether it has anything left to do, as probe number `probe`. Wakes it even if the
 * gate counts no sleepers, as that count may have been overwritten, too. is_new: this probe was not
 * sent before. */
void pp_board_probe(pp_board *board, int32_t lane, uint32_t probe, bool is_new);

/* Returns whether the worker has answered that it has nothing left to do. */
bool pp_board_is_idle(const pp_board *board, int32_t lane, uint32_t probe);

/* Returns how many workers are awake, `limit` if there are more. May be out of date. */
int32_t pp_board_num_awake(const pp_board *board, int32_t limit);

/* ---------------------------------------------------------------------------------- worker -- */

/* Return whether there are turns to take, whether there is a request to answer, whether the pool is
 * being closed, and whether any of these is true. */
bool pp_mailbox_has_turns(const pp_mailbox *mailbox);
bool pp_mailbox_has_request(const pp_mailbox *mailbox);
bool pp_mailbox_is_closing(const pp_mailbox *mailbox);
bool pp_mailbox_has_any(const pp_mailbox *mailbox);

/* Takes at most room entries and returns how many. If there are neither entries nor a request, it
 * answers the parent's last probe. */
int32_t pp_board_take(pp_board *board, int32_t lane, pp_entry *entries, int32_t room);

/* Answers "nothing left to do" to a probe. The worker must have read the probe before it looked for
 * work and found none. */
void pp_mailbox_answer_probe(pp_mailbox *mailbox, uint32_t probe);

#endif
