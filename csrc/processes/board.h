/* Board: the tables that a pool and its worker processes share, in memory that all of them map.
 *
 * They hold no lock and no pointer. A worker may die between any two instructions, and the parent
 * then reads in these tables what it had taken and what it had finished. So each word has one
 * writer at a time, and a row is claimed together with its owner's name, in one write.
 *
 * Nor can the tables be trusted: environments are anybody's code, and may write over all of them.
 * So neither side uses a value from here as an address or an index before it has checked it, and
 * each side has its own copy of what never changes (shape, layout, addresses of tables).
 */
#ifndef PP_PROCESSES_BOARD_H
#define PP_PROCESSES_BOARD_H

#include "pool/entry.h"
#include "pool/gate.h"
#include "pool/layout.h"

/* A point between two writes at which a worker may be killed: tests/c/test_worker_death.c kills it
 * there. */
#ifndef PP_TEST_DIE
#define PP_TEST_DIE(point)
#endif

/* the state of an environment's turn; written by the parent (idle, queued), then by its worker, and
 * again by the parent once the worker is dead */
enum pp_env_state {
  PP_ENV_IDLE,
  PP_ENV_QUEUED,
  PP_ENV_RUNNING,
  PP_ENV_DONE,  /* its row is written, and about to be counted */
  PP_ENV_FAILED /* the same, and the environment failed */
};

/* bytes for the other side. Size 0: none; -1 (answers only): the worker died instead */
typedef struct pp_message {
  int64_t offset;
  int64_t size;
} pp_message;

/* the record of one environment, shared by parent and worker */
typedef struct pp_board_env {
  /* a pp_env_state. Release by the writer, acquire by the side that acts on it. The parent reads a
   * dead worker's only after the system has reported the death */
  _Alignas(64) _Atomic int32_t state;
  /* its row in the ring: set by the parent (ordered), or claimed by the worker, -1 until then */
  int32_t place;
  int32_t command; /* a pp_command */
  /* Which of two copies holds its last row: elapsed steps here, fields in the table `last`. The
   * worker writes the other copy and then switches to it, release, so that one copy is complete
   * whenever it dies. Acquire by the parent and by the next worker */
  _Atomic int32_t kept;
  int32_t elapsed[2];
  pp_message
      payload;      /* from the parent, in the arena: seed and options of a reset, large actions */
  pp_message reply; /* from the worker, in its reply file: infos, values without a fixed size, an
                       exception */
  /* delivered by this worker and those before it; written by the worker, read when it is dead */
  int64_t steps;
} pp_board_env;

/* one worker's mailbox: the parent pushes entries, the worker takes them */
typedef struct pp_mailbox {
  pp_gate gate; /* where the worker sleeps */
  /* entries taken; moved by the worker. Release: it has read those entries */
  _Alignas(64) _Atomic uint64_t head;
  /* Entries pushed; moved by the parent after it has written the entries and all that they refer
   * to. Sequentially consistent against the gate's sleepers (gate.h), which includes release */
  _Alignas(64) _Atomic uint64_t tail;
  /* 1: the worker must end. Written by the parent, sequentially consistent for the same reason */
  _Atomic int32_t is_closing;
  /* a request that is independent of turns: its number, and that of the last one answered;
   * sequentially consistent like tail */
  _Atomic uint32_t request;
  _Atomic uint32_t answered;
  pp_message payload; /* of the request, in the arena */
  pp_message reply;   /* in the reply file */
  /* 1: the worker has work or spins, 0: it sleeps or has ended. Set by the side that pushes, so
   * that no other thread spins on the core on which the worker is about to wake; cleared by the
   * worker. Relaxed: read only to decide whether a core is free to spin on */
  _Atomic int32_t is_awake;
  /* the core that the worker slept on last, -1: unknown; relaxed, a hint */
  _Atomic int32_t cpu;
  /* the environment being stepped, -1: none. Relaxed: read only to name it after a crash */
  _Atomic int32_t current;
  /* Whether the worker is idle: the number of the parent's last probe, and of the last probe that
   * the worker answered because it had nothing left to do. The worker reads the probe before it
   * looks for turns and requests; all three are sequentially consistent, so it sees everything that
   * was sent before the probe. The answer is release: the rows that the worker has counted are
   * written. Acquire by the parent */
  _Atomic uint32_t probe;
  _Atomic uint32_t idle;
} pp_mailbox;

/* one block of the ring that is being filled */
typedef struct pp_slot {
  /* rows that make it complete, INT32_MAX while more may be added; written by the parent.
   * Sequentially consistent: the side that closes the block and the side that counts its last row
   * can't miss each other */
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
  int32_t keeps_last;    /* 1: the last row of each environment is saved, its fields included */
} pp_board_shape;

/* what a worker must read before it can find the tables; members that are not atomic never change
 */
typedef struct pp_board_head {
  uint64_t magic; /* of all builds that lay the tables out like this one */
  int64_t size;   /* of all tables */
  pp_board_shape shape;
  pp_layout layout; /* its names are pointers of the parent's */
  pp_gate caller;   /* where the caller sleeps until a batch is complete */
  /* unordered: no row before this one is free. Relaxed, a hint: the row's own word decides */
  _Alignas(64) _Atomic int64_t first_free;
  /* when the caller sent last, and from which core, -1: unknown; relaxed, hints for who may spin */
  _Alignas(64) _Atomic int64_t sent_at;
  _Atomic int32_t sent_from;
} pp_board_head;

/* the tables as one process sees them */
typedef struct pp_board {
  pp_board_shape shape; /* private copies */
  pp_layout layout;
  uint64_t box;       /* entries in each mailbox, a power of two */
  int64_t last_bytes; /* of one environment, all fields */
  char *base;
  pp_board_head *head;
  pp_mailbox *mailboxes;
  _Atomic uint64_t *entries; /* num_lanes x box; relaxed, published by tail */
  pp_board_env *envs;
  pp_slot *slots;
  /* slots x num_lanes: finished rows of each slot. Only the lane's worker writes them, so the
   * parent can correct them after its death. Sequentially consistent against target and sleepers */
  _Atomic int32_t *done;
  /* Unordered: a word for each row of the ring: 32 bits of the block's sequence, 32 bits of its
   * owner's id + 1. Claimed by compare-and-swap, acquire and release: a claim publishes the block's
   * memory and everything that earlier claimants knew */
  _Atomic uint64_t *rows;
  char *actions; /* num_envs x action_bytes */
  char *last;    /* num_envs x 2 x last_bytes */
} pp_board;

/* bytes that the tables need */
int64_t pp_board_size(const pp_board_shape *shape, const pp_layout *layout);

/* lays the tables out in zeroed memory; for the parent */
void pp_board_init(pp_board *board, void *base, const pp_board_shape *shape,
                   const pp_layout *layout);

/* finds the tables in memory of so many bytes; for a worker. PP_ERR_ABI: this is no board of this
 * build */
int pp_board_attach(pp_board *board, void *base, int64_t bytes);

/* the environments of a lane: first .. first+count-1 */
void pp_board_lane_envs(const pp_board *board, int32_t lane, int32_t *first, int32_t *count);

/* elapsed steps of an environment in its last row */
int32_t pp_board_elapsed(const pp_board *board, int32_t env_id);

/* saves a row as an environment's last one: elapsed steps, and its fields if the shape says so; and
 * repeats the saved fields in another row, is_final: in the final columns */
void pp_board_save_last(pp_board *board, char *memory, int32_t row, int32_t env_id,
                        int32_t elapsed);
void pp_board_repeat_last(const pp_board *board, char *memory, int32_t row, int32_t env_id,
                          int32_t is_final);

/* -------------------------------------------------------------------------- for the parent -- */

/* prepares a slot for the block of this sequence; all rows of its former block are received */
void pp_board_prepare(pp_board *board, int64_t sequence, int64_t memory);

/* ordered: no more rows are added to the slot than these */
void pp_board_close(pp_board *board, int32_t slot, int32_t rows);

/* finished rows of a slot, of all workers or of one */
int32_t pp_board_done(const pp_board *board, int32_t slot);
int32_t pp_board_done_by(const pp_board *board, int32_t slot, int32_t lane);

/* records that the caller is about to send, from this core */
void pp_board_note_send(pp_board *board);

/* Queues entries of one environment each for a worker, without waking it. This drops the replies to
 * their former turns. Unordered, their place is -1, or the row that a dead worker has claimed */
void pp_board_push(pp_board *board, int32_t lane, const pp_entry *entries, int32_t count);

/* wakes a worker after a push, a request, or the command to end */
void pp_board_wake(pp_board *board, int32_t lane);

/* Probes a worker: asks whether it has nothing left to do, by this number. Wakes it even if its
 * gate counts no sleeper, as the count may have been overwritten. is_new: the number is a new one
 */
void pp_board_probe(pp_board *board, int32_t lane, uint32_t probe, int32_t is_new);

/* whether it has answered this probe: it has nothing left to do */
int pp_board_is_idle(const pp_board *board, int32_t lane, uint32_t probe);

/* Wakes all threads of the parent: one may wait for a batch while another waits for an answer. For
 * both sides */
void pp_board_wake_caller(pp_board *board);

/* after the death of a lane's worker: sets its count of finished rows in a slot */
void pp_board_recount(pp_board *board, int32_t lane, int32_t slot, int32_t done);

/* After the death of a lane's worker: drops the entries that it had not taken, and its place at the
 * gate. A request that it did not answer gets a reply of size -1 */
void pp_board_clear(pp_board *board, int32_t lane);

/* unordered: the place of the row that an environment has claimed, -1: none */
int32_t pp_board_claimed(const pp_board *board, int32_t env_id);

/* unordered: the owner of a row in the block of this sequence, by the row's word. Below 0: it has
 * none. A word that was overwritten may give any number */
int32_t pp_board_owner(const pp_board *board, int64_t sequence, int32_t row);

/* Unordered: claims a row for an environment whose worker is dead, in the block of this sequence or
 * a later one. Returns its place; -1: no row is free, which means that the words were overwritten
 */
int32_t pp_board_claim_for(pp_board *board, int32_t env_id, int64_t sequence);

/* workers that were awake a moment ago */
int32_t pp_board_awake(const pp_board *board);

/* --------------------------------------------------------------------------- for a worker -- */

/* whether there are turns to take, a request to answer, the command to end; or any of these */
int pp_mailbox_has_turns(const pp_mailbox *mailbox);
int pp_mailbox_has_request(const pp_mailbox *mailbox);
int pp_mailbox_is_closing(const pp_mailbox *mailbox);
int pp_mailbox_has_any(const pp_mailbox *mailbox);

/* takes at most room entries. Returns how many; 0: there are none, and a probe is answered */
int32_t pp_board_take(pp_board *board, int32_t lane, pp_entry *entries, int32_t room);

/* unordered: claims a row for an environment of a lane, and records its place */
int32_t pp_board_claim(pp_board *board, int32_t lane, int32_t env_id);

/* adds count finished rows to a slot, and wakes the caller if that makes it complete */
void pp_board_count(pp_board *board, int32_t lane, int32_t slot, int32_t count);

#endif
