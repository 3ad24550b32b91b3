/* Verifies the clauses of a mission in each step. */
#include "verifier.h"

#include "instruction.h"

enum { GOES_ON, SUCCESS, FAILURE };

bool bb_is_beside(const mg_world *world, mg_point place, uint8_t bits) {
  for (int32_t side = 0; side < 4; side++) {
    mg_point at = mg_ahead(place, side);
    if (mg_get(world, at).tag & bits) return true;
  }
  return false;
}

/* Removes the tags of cells whose objects are gone. */
static void remove_traces(mg_world *world) {
  for (int32_t i = 0; i < world->width * world->height; i++) {
    if (world->cells[i].kind == MG_EMPTY) world->cells[i].tag = 0;
  }
  world->state->has_traces = false;
}

static int32_t verify_open(mg_cell front, uint8_t what, bool is_strict) {
  if (front.kind != MG_DOOR) return GOES_ON;
  if (front.state == MG_OPEN && front.tag & what) return SUCCESS;
  return is_strict ? FAILURE : GOES_ON;
}

/* before: what was carried before this step, as this clause knows it */
static int32_t verify_pick_up(mg_cell before, mg_cell carried, uint8_t what, bool is_strict) {
  if (!carried.kind) return GOES_ON;
  if (!before.kind && carried.tag & what) return SUCCESS;
  return is_strict ? FAILURE : GOES_ON;
}

static int32_t verify_put_next(const mg_world *world, mg_point front, mg_cell before, int32_t i) {
  bool is_dropped = !world->state->carried.kind && before.tag & bb_what_bit(i);
  return is_dropped && bb_is_beside(world, front, bb_beside_bit(i)) ? SUCCESS : GOES_ON;
}

static int32_t verify_clause(mg_world *world, int64_t action, const mg_outcome *outcome, int32_t i,
                             bb_clause clause) {
  mg_state *it = world->state;
  mg_point front = mg_ahead(it->agent, it->direction);
  mg_cell cell = mg_get(world, front), before = {0};
  uint8_t what = bb_what_bit(i);
  /* a clause does not know what happened before its first turn */
  if (it->begun >> i & 1) before = outcome->carried;
  it->begun |= (uint8_t)(1 << i);
  switch (clause.action) {
    case BB_GO_TO: return cell.tag & what ? SUCCESS : GOES_ON;
    case BB_OPEN: return action == MG_TOGGLE ? verify_open(cell, what, clause.is_strict) : GOES_ON;
    case BB_PICK_UP:
      if (action != MG_PICK) return GOES_ON;
      return verify_pick_up(before, it->carried, what, clause.is_strict);
    case BB_PUT_NEXT: return action == MG_DROP ? verify_put_next(world, front, before, i) : GOES_ON;
    default: return GOES_ON;
  }
}

/* Verifies the clauses of one side, from `first` on, that are not done yet. */
static int32_t verify_side(mg_world *world, int64_t action, const mg_outcome *outcome,
                           int32_t first) {
  mg_state *it = world->state;
  int32_t left = 0;
  for (int32_t i = first; i < first + BB_CLAUSES_OF_SIDE; i++) {
    bb_clause clause = bb_clause_of(it->mission[i]);
    if (!clause.action || it->done >> i & 1) continue;
    int32_t status = verify_clause(world, action, outcome, i, clause);
    if (status == FAILURE) return FAILURE;
    if (status == SUCCESS) {
      it->done |= (uint8_t)(1 << i);
    } else {
      left++;
    }
  }
  return left ? GOES_ON : SUCCESS;
}

void bb_verify(mg_world *world, int64_t action, mg_outcome *outcome) {
  const mg_state *it = world->state;
  bb_clause later = bb_clause_of(it->mission[BB_CLAUSES_OF_SIDE]);
  int32_t first = later.link == BB_AFTER_YOU ? BB_CLAUSES_OF_SIDE : 0;
  if (action == MG_DROP && it->has_traces) remove_traces(world);
  int32_t status = verify_side(world, action, outcome, first);
  /* the other side may be fulfilled by the same step */
  if (status == SUCCESS) status = verify_side(world, action, outcome, BB_CLAUSES_OF_SIDE - first);
  if (status == GOES_ON) return;
  outcome->terminated = true;
  outcome->reward = status == SUCCESS ? mg_success(world) : 0;
}
