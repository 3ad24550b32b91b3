/* Board: the books that a pool and its worker processes share, in memory that all of them map.
 *
 * No lock is shared with a worker, and no pointer: a worker may die between any two instructions,
 * and the creator then finds in these books what it had taken and what it had finished. So every
 * word has one writer at a time, and a row and its owner are claimed in one write.
 *
 * Nor is there trust: environments are anybody's code, and may write over all of this. So nothing
 * that either side reads here tells it where to read or write next without a look whether that can
 * be; what never changes (shape, layout, places of tables) each side has in memory of its own.
 */
#ifndef PP_PROCESSES_BOARD_H
#define PP_PROCESSES_BOARD_H

#include "pool/entry.h"
#include "pool/gate.h"
#include "pool/layout.h"

/* Between two writes of the books, where a worker may be killed: tests/c/test_burial.c ends it
 * there. */
#ifndef PP_TEST_DIE
#define PP_TEST_DIE(point)
#endif

/* where an environment is on its way; written by the creator (idle, queued), then by its worker,
 * and again by the creator once the worker is dead */
enum pp_env_state {
  PP_ENV_IDLE,
  PP_ENV_QUEUED,
  PP_ENV_RUNNING,
  PP_ENV_DONE,  /* its row is written, and will be counted */
  PP_ENV_FAILED /* the same, but the environment failed */
};

/* bytes for somebody else: size 0 is none, -1 (answers only) that the worker died instead */
typedef struct pp_message {
  int64_t offset;
  int64_t size;
} pp_message;

/* what the pool and the worker tell each other of one environment */
typedef struct pp_board_env {
  /* a pp_env_state. Release when it says more than before, acquire by whoever acts on it; the
   * creator reads a dead worker's only after the system has told of its death */
  _Alignas(64) _Atomic int32_t state;
  /* its row in the ring: the creator's (ordered), or claimed by the worker, -1 until then */
  int32_t place;
  int32_t command; /* a pp_command */
  /* Which of two copies holds what it showed last: steps of the episode here, fields in the table.
   * The worker writes the other copy and then turns to it, release, so that death leaves one whole.
   * Acquire by the creator and by the worker that comes next */
  _Atomic int32_t kept;
  int32_t elapsed[2];
  pp_message
      payload;      /* from the creator, in the arena: seed and options of a reset, large actions */
  pp_message reply; /* from the worker, in its spill: infos, what memory can't hold, an exception */
  /* whose rows it has handed over, of this worker and those before it; the worker's, and read when
   * that is dead */
  int64_t steps;
} pp_board_env;

/* one worker's letter box: the creator pushes, the worker takes */
typedef struct pp_mailbox {
  pp_gate gate; /* where the worker sleeps */
  /* entries taken; moved by the worker. Release: what it read of the entries is read */
  _Alignas(64) _Atomic uint64_t head;
  /* Entries pushed; moved by the creator after the entries and all they speak of. Sequentially
   * consistent against the gate's sleepers (park.h), which includes release */
  _Alignas(64) _Atomic uint64_t tail;
  /* 1: end. Written by the creator, sequentially consistent for the same reason */
  _Atomic int32_t is_closing;
  /* a call of the creator's outside all stepping: its number, and that of the last one answered;
   * sequentially consistent like tail */
  _Atomic uint32_t request;
  _Atomic uint32_t answered;
  pp_message payload; /* of the call, in the arena */
  pp_message reply;   /* in the spill */
  /* 1: the worker has work or spins, 0: it sleeps or is gone. Raised by who pushes, so that nobody
   * spins on the core that it is about to wake on; lowered by the worker. Relaxed, read only to
   * decide whether there is a core to spin on */
  _Atomic int32_t is_awake;
  /* the core that the worker slept on last, -1: unknown; relaxed, a hint */
  _Atomic int32_t cpu;
  /* the environment being stepped, -1: none. Relaxed: read only to say who is to blame */
  _Atomic int32_t current;
  /* Whether the worker has anything left to do: the number of the creator's last question, and of
   * the last one that the worker answered with "nothing". The worker reads the question before it
   * looks for turns and requests: all three sequentially consistent, so that it sees all that was
   * sent before the question. The answer is release: the rows that the worker counted before it are
   * there. Acquire by the creator */
  _Atomic uint32_t probe;
  _Atomic uint32_t idle;
} pp_mailbox;

/* one block of the ring that is being filled */
typedef struct pp_slot {
  /* rows that make it complete, INT32_MAX while more may be added; written by the creator,
   * sequentially consistent: who closes it and who counts the last row can't miss each other */
  _Alignas(64) _Atomic int32_t target;
  int64_t memory; /* offset of the block; written before any row of it can be claimed */
} pp_slot;

/* what the tables are made for */
typedef struct pp_board_shape {
  int32_t num_envs;
  int32_t num_lanes;
  int32_t batch_size;
  int32_t capacity; /* slots */
  int32_t is_ordered;
  int32_t cores; /* of the whole process, for the decision to spin */
  int64_t action_bytes;
  int64_t reply_reserve; /* bytes of address space for the file that each worker replies in */
  int32_t keeps_last;    /* 1: what each environment showed last is kept apart, its fields too */
} pp_board_shape;

/* what a worker must know before it can find anything else; what is not atomic never changes */
typedef struct pp_board_head {
  uint64_t magic; /* of all builds that lay the tables out like this one */
  int64_t size;   /* of all tables */
  pp_board_shape shape;
  pp_layout layout; /* names in it are the creator's pointers */
  pp_gate caller;   /* where the caller sleeps until a batch is complete */
  /* unordered: no row before this one is free. Relaxed, a hint: the row's own word decides */
  _Alignas(64) _Atomic int64_t first_free;
  /* when the caller sent last, and from which core, -1: unknown; relaxed, hints for who may spin */
  _Alignas(64) _Atomic int64_t sent_at;
  _Atomic int32_t sent_from;
} pp_board_head;

/* the tables as one process has them */
typedef struct pp_board {
  pp_board_shape shape; /* copies, in memory that only this process can write to */
  pp_layout layout;
  uint64_t box;       /* entries in each letter box, a power of two */
  int64_t last_bytes; /* of one environment, all fields */
  char *base;
  pp_board_head *head;
  pp_mailbox *mailboxes;
  _Atomic uint64_t *entries; /* num_lanes x box; relaxed, published by tail */
  pp_board_env *envs;
  pp_slot *slots;
  /* slots x num_lanes: rows of a slot that are written. Each is written by that lane's worker
   * alone, so that the creator can put it right after its death; sequentially consistent against
   * target and sleepers */
  _Atomic int32_t *done;
  /* Unordered: a word for each row of the ring: 32 bits of the block's sequence, 32 bits of owner's
   * id + 1. Claimed by compare-and-swap, acquire and release: it carries the block's memory, and
   * what was known to those who claimed before */
  _Atomic uint64_t *rows;
  char *actions; /* num_envs x action_bytes */
  char *last;    /* num_envs x 2 x last_bytes */
} pp_board;

/* bytes that the tables need */
int64_t pp_board_size(const pp_board_shape *shape, const pp_layout *layout);

/* lays the tables out in zeroed memory; the creator's */
void pp_board_init(pp_board *board, void *base, const pp_board_shape *shape,
                   const pp_layout *layout);

/* finds them in memory of so many bytes; a worker's. PP_ERR_ABI: this is no board of this build */
int pp_board_attach(pp_board *board, void *base, int64_t bytes);

/* the environments of a lane: first .. first+count-1 */
void pp_board_lane_envs(const pp_board *board, int32_t lane, int32_t *first, int32_t *count);

/* steps of an environment's episode, as it showed last */
int32_t pp_board_elapsed(const pp_board *board, int32_t env_id);

/* keeps a row as what an environment showed last: steps of its episode, and fields if the shape
 * says so; writes the fields into another row, is_final: as those of an ended episode */
void pp_board_save_last(pp_board *board, char *memory, int32_t row, int32_t env_id,
                        int32_t elapsed);
void pp_board_repeat_last(const pp_board *board, char *memory, int32_t row, int32_t env_id,
                          int32_t is_final);

/* ------------------------------------------------------------------------------- creator -- */

/* readies a slot for the block of this sequence; all rows of its former block are received */
void pp_board_prepare(pp_board *board, int64_t sequence, int64_t memory);

/* ordered: no more rows are added to the slot than these */
void pp_board_close(pp_board *board, int32_t slot, int32_t rows);

/* rows of a slot that are written, by all workers or one */
int32_t pp_board_done(const pp_board *board, int32_t slot);
int32_t pp_board_done_by(const pp_board *board, int32_t slot, int32_t lane);

/* notes that the caller is about to send, from this core */
void pp_board_note_send(pp_board *board);

/* queues entries of one environment each for a worker, without waking it; what was replied to their
 * former turns is gone. Unordered, their place is -1, or the row that a dead worker has claimed */
void pp_board_push(pp_board *board, int32_t lane, const pp_entry *entries, int32_t count);

/* wakes a worker after pushes, a request or closing */
void pp_board_wake(pp_board *board, int32_t lane);

/* Asks a worker whether it has anything left to do, question number probe, and wakes it even if
 * nobody is said to sleep at its gate, for that may have been written over too. is_new: it was not
 * asked this before */
void pp_board_probe(pp_board *board, int32_t lane, uint32_t probe, int32_t is_new);

/* 1: it has answered that it has nothing left to do */
int pp_board_is_idle(const pp_board *board, int32_t lane, uint32_t probe);

/* Wakes all threads of the creator: one may wait for a batch while another waits for an answer. For
 * both sides */
void pp_board_wake_caller(pp_board *board);

/* after the death of a lane's worker: what it should have counted in a slot */
void pp_board_recount(pp_board *board, int32_t lane, int32_t slot, int32_t done);

/* After the death of a lane's worker: forgets what it had not taken, and where it slept. A request
 * that it did not answer is answered by a reply of size -1 */
void pp_board_clear(pp_board *board, int32_t lane);

/* unordered: the place of the row that an environment has claimed, -1: none */
int32_t pp_board_claimed(const pp_board *board, int32_t env_id);

/* unordered: whose a row is in the block of this sequence, as the row's word has it: nobody's is
 * below 0, and what was written over it may be any number */
int32_t pp_board_owner(const pp_board *board, int64_t sequence, int32_t row);

/* Unordered: claims a row for an environment whose worker is dead, in a block from this sequence
 * on; -1: none is free, which there always is unless somebody has written over the rows' words */
int32_t pp_board_claim_for(pp_board *board, int32_t env_id, int64_t sequence);

/* workers that are awake, as of some moment ago */
int32_t pp_board_awake(const pp_board *board);

/* -------------------------------------------------------------------------------- worker -- */

/* whether there are turns to take, a request to answer, the end; or any of these */
int pp_mailbox_has_turns(const pp_mailbox *mailbox);
int pp_mailbox_has_request(const pp_mailbox *mailbox);
int pp_mailbox_is_closing(const pp_mailbox *mailbox);
int pp_mailbox_has_any(const pp_mailbox *mailbox);

/* takes at most room entries; 0: there are none, and the creator is told so if it has asked */
int32_t pp_board_take(pp_board *board, int32_t lane, pp_entry *entries, int32_t room);

/* unordered: claims a row for an environment of a lane, and notes its place */
int32_t pp_board_claim(pp_board *board, int32_t lane, int32_t env_id);

/* count rows of a slot are written; wakes the caller if it is complete */
void pp_board_count(pp_board *board, int32_t lane, int32_t slot, int32_t count);

#endif
