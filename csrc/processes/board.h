/* Board: the tables that a pool and its worker processes share, in memory that all of them map.
 *
 * A worker may die between any two instructions. The parent then reads in these tables which turns
 * the worker had taken and which it had finished. So no lock and no pointer is shared with a
 * worker, every word has one writer at a time, and a single write claims a row and names its owner.
 *
 * The contents are not trusted: environments run any code, which may overwrite all of this memory.
 * So the parent uses no value from here as an address, an index or a count before it has checked
 * the value. A worker whose entries were overwritten may crash, as after any other error of its
 * environments. What never changes (the shape, the layout, the addresses of the tables) is kept by
 * each side in private memory. */
#ifndef PP_PROCESSES_BOARD_H
#define PP_PROCESSES_BOARD_H

#include <stdbool.h>

#include "pool/entry.h"
#include "pool/gate.h"
#include "pool/layout.h"

/* Marks a point between two writes to the board where a worker may be killed.
 * tests/c/test_worker_death.c kills it at each of them. */
#ifndef PP_TEST_DIE
#define PP_TEST_DIE(point)
#endif

/* The state of an environment's turn. The parent writes the first two states, the worker the
 * others. After the worker's death the parent writes those as well. */
enum pp_env_state {
  PP_ENV_IDLE,
  PP_ENV_QUEUED,
  PP_ENV_RUNNING,
  PP_ENV_DONE,  /* its row is written, and will be counted */
  PP_ENV_FAILED /* the same, but the environment failed */
};

/* bytes for the other side. size 0: there are none; -1 (only in replies to requests): the worker
 * has died and there will be no reply */
typedef struct pp_message {
  int64_t offset;
  int64_t size;
} pp_message;

/* The env record: what the parent and the worker exchange about one environment. */
typedef struct pp_board_env {
  /* A pp_env_state. Stored with release when it publishes other words, and loaded with acquire by
   * the side that acts on it. The parent reads a dead worker's state only after the system has
   * reported its death. */
  _Alignas(64) _Atomic int32_t state;
  /* Place of its row in the ring. Ordered: written by the parent. Unordered: written by the worker
   * that claims the row, -1 until then. */
  int32_t place;
  int32_t command; /* a pp_command */
  /* Which of two copies holds the environment's last row: the steps of its episode in elapsed, its
   * fields in pp_board.saved. The worker writes the other copy and then stores the number of that
   * copy here, with release, so that a death leaves one copy whole. Loaded with acquire by the
   * parent and by the next worker. */
  _Atomic int32_t saved_copy;
  int32_t elapsed[2];
  /* from the parent, in the shared heap: seed and options of a reset, or a large action */
  pp_message payload;
  /* from the worker, in its reply file: infos, observations that no array holds, an exception */
  pp_message reply;
  /* Steps whose rows this worker and former ones have delivered. Written by the worker; the parent
   * reads it after the worker's death. */
  int64_t steps;
} pp_board_env;

/* The mailbox of one worker: the parent pushes entries, the worker takes them. */
typedef struct pp_mailbox {
  pp_gate gate; /* where the worker sleeps */
  /* Entries taken, counted up by the worker. Release: it has read the entries before. */
  _Alignas(64) _Atomic uint64_t head;
  /* Entries pushed, counted up by the parent after it has written the entries and all that they
   * refer to. Sequentially consistent against the gate's sleepers (gate.h), which includes
   * release. */
  _Alignas(64) _Atomic uint64_t tail;
  /* 1: the worker must end. Written by the parent, sequentially consistent like tail. */
  _Atomic int32_t is_closing;
  /* The number of the parent's last request, and of the last request answered; sequentially
   * consistent like tail. */
  _Atomic uint32_t request;
  _Atomic uint32_t answered;
  pp_message payload; /* bytes of the request, in the shared heap */
  pp_message reply;   /* bytes of the answer, in the reply file */
  /* 1: the worker has work or spins; 0: it sleeps or has ended. The parent sets it when it pushes,
   * so that no thread starts to spin on the core on which the worker is about to wake; the worker
   * clears it. Relaxed, as it only decides whether there is a core to spin on. */
  _Atomic int32_t is_awake;
  /* The core that the worker slept on last, -1: unknown. Relaxed, a hint. */
  _Atomic int32_t cpu;
  /* The environment that is being stepped, -1: none. Relaxed: it is read only to find out which
   * environment hangs or killed the worker. */
  _Atomic int32_t current_env;
  /* The offset of the worker's track, 0: nothing is recorded. Stored by the parent with release,
   * after it has made the track, and loaded with acquire. */
  _Atomic int64_t track;
  /* The number of the parent's last probe, which asks whether the worker has anything left to do,
   * and of the last probe to which the worker answered "nothing". The worker reads probe before it
   * looks for turns and requests. All three loads are sequentially consistent, so that it sees all
   * that was sent before the probe. It stores the answer with release, which publishes the rows
   * that it counted before. The parent loads the answer with acquire. */
  _Atomic uint32_t probe;
  _Atomic uint32_t answered_probe;
} pp_mailbox;

/* one block of the ring that is being filled */
typedef struct pp_board_slot {
  /* Workers wake the caller from this number of written rows on: those that make the block
   * complete, INT32_MAX while sends may add rows, or fewer while the caller waits for fewer.
   * Written by the parent, sequentially consistent: of the thread that sets it and the worker that
   * counts the last of these rows, at least one sees the other. */
  _Alignas(64) _Atomic int32_t target;
  int64_t memory; /* offset of the block; written before any row of it can be claimed */
} pp_board_slot;

/* owner value that ends a block early: this row of the block and all later ones are closed */
#define PP_ROW_CUT UINT32_MAX

/* the numbers that determine the sizes of the tables */
typedef struct pp_board_shape {
  int32_t num_envs;
  int32_t num_lanes;
  int32_t batch_size;
  int32_t capacity; /* slots; unordered: one more than the blocks that they hold */
  int32_t is_ordered;
  int32_t cores; /* cores that the parent may use, to decide whether to spin */
  int64_t action_bytes;
  int64_t reply_reserve; /* bytes of address space for the reply file of each worker */
  int32_t saves_rows;    /* 1: the fields of each environment's last row are saved, too */
} pp_board_shape;

/* What a worker needs to find the tables. Members that are not atomic never change. */
typedef struct pp_board_head {
  uint64_t magic; /* equal in builds whose tables have the same layout and meaning */
  int64_t size;   /* bytes of all tables */
  pp_board_shape shape;
  pp_layout layout; /* its names are pointers that are valid only in the parent */
  pp_gate caller;   /* where the caller sleeps until a batch is complete */
  /* Unordered: no row before this one is free. Relaxed, a hint: the row's own word decides. */
  _Alignas(64) _Atomic int64_t first_free;
  /* when the caller sent last, and from which core, -1: unknown; relaxed, hints for spinning */
  _Alignas(64) _Atomic int64_t sent_at;
  _Atomic int32_t sent_from;
} pp_board_head;

/* the tables as one process sees them */
typedef struct pp_board {
  pp_board_shape shape; /* copies, in memory that only this process can write to */
  pp_layout layout;
  uint64_t mailbox_size; /* entries in each mailbox, a power of two */
  int64_t saved_bytes;   /* bytes of all fields of one row; 0: rows are not saved */
  char *base;
  pp_board_head *head;
  pp_mailbox *mailboxes;
  _Atomic uint64_t *entries; /* num_lanes x mailbox_size; relaxed, as tail publishes them */
  pp_board_env *envs;
  pp_board_slot *slots;
  /* slots x num_lanes: the rows of a slot that are written. Each number is written by that lane's
   * worker alone, so that the parent can correct it after the worker's death. Sequentially
   * consistent against target and the gate's sleepers. */
  _Atomic int32_t *rows_done;
  /* Unordered: a word for each row of the ring. Its upper 32 bits are the block's sequence, its
   * lower 32 bits the owner's id + 1, 0 if there is none, or PP_ROW_CUT. Claimed by
   * compare-and-swap with acquire and release: a claim passes on the address of the block and all
   * that earlier claims have published. */
  _Atomic uint64_t *rows;
  char *actions; /* num_envs x action_bytes */
  char *saved;   /* num_envs x 2 x saved_bytes */
} pp_board;

/* Returns the bytes that the tables need. */
int64_t pp_board_size(const pp_board_shape *shape, const pp_layout *layout);

/* Initializes the tables in zeroed memory. For the parent. */
void pp_board_init(pp_board *board, void *base, const pp_board_shape *shape,
                   const pp_layout *layout);

/* Finds the tables in memory of `bytes` bytes. For a worker. Returns PP_ERR_ABI if the memory holds
 * no board of this build. */
int pp_board_attach(pp_board *board, void *base, int64_t bytes);

/* Returns the environments of a lane: first .. first+count-1. */
void pp_board_lane_envs(const pp_board *board, int32_t lane, int32_t *first, int32_t *count);

/* Returns the steps of an environment's episode as of its last row. */
int32_t pp_board_elapsed(const pp_board *board, int32_t env_id);

/* Saves an environment's last row: the steps of its episode and, if the shape says so, the row's
 * fields. repeat_row copies the saved fields into another row, of memory with the columns that
 * layout says: to the fields or, if is_final, to the columns that show the final state of an ended
 * episode. */
void pp_board_save_row(pp_board *board, char *memory, int32_t row, int32_t env_id, int32_t elapsed);
void pp_board_repeat_row(const pp_board *board, const pp_layout *layout, char *memory, int32_t row,
                         int32_t env_id, bool is_final);

/* Makes the last row of one environment that of another, which nobody is stepping. */
void pp_board_copy_row(pp_board *board, int32_t from, int32_t to);

/* Wakes all threads of the parent, as one may wait for a batch while another waits for an answer.
 * For both sides. */
void pp_board_wake_caller(pp_board *board);

#endif
