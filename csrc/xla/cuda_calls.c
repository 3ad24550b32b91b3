/* Calls on CUDA: the handlers of calls.c and visits.c for operands on a GPU. A handler copies its
 * arguments to the host, waits for them, makes the call, and queues the copies of its results, all
 * in the order of the program's stream. */
#include "call.h"
#include "cuda_driver.h"
#include "staging.h"

typedef void *handler(void *frame);

typedef struct gpu_call {
  const pp_xla_frame *frame; /* XLA's frame */
  pp_xla_frame here;         /* the frame that the handler gets, with buffers in staging */
  const pp_cuda_driver *cuda;
  void *stream;
  pp_staging *staging;
  pp_error *error;
} gpu_call;

/* -------------------------------------------------------------------------------- operands -- */

enum { ALIGNMENT = 64 }; /* alignment of data, as XLA's own on the host */

static size_t aligned(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* returns a buffer of a list, null for what else XLA may pass, which handlers refuse */
static const pp_xla_buffer *buffer_at(const pp_xla_list *list, int64_t i) {
  return list->types[i] == PP_XLA_BUFFER ? list->items[i] : NULL;
}

static size_t bytes_of(const pp_xla_buffer *buffer) {
  return (size_t)(pp_xla_elements(buffer) * pp_xla_bytes(buffer->dtype));
}

/* bytes of the buffers of a list and of pointers to them */
static size_t head_bytes(const pp_xla_list *list) {
  return (size_t)list->size * (sizeof(pp_xla_buffer) + sizeof(void *));
}

static size_t data_bytes(const pp_xla_list *list) {
  size_t bytes = 0;
  for (int64_t i = 0; i < list->size; i++) {
    const pp_xla_buffer *buffer = buffer_at(list, i);
    if (buffer) bytes += aligned(bytes_of(buffer));
  }
  return bytes;
}

/* Puts buffers of staging into a list, in place of those on the GPU. head: where they are written;
 * data: what they point to. Both are moved behind what was used. */
static void replace(pp_xla_list *list, char **head, char **data) {
  pp_xla_buffer *buffers = (void *)*head;
  void **items = (void *)(buffers + list->size);
  for (int64_t i = 0; i < list->size; i++) {
    const pp_xla_buffer *theirs = buffer_at(list, i);
    items[i] = list->items[i];
    if (!theirs) continue;
    buffers[i] = *theirs;
    buffers[i].data = *data;
    *data += aligned(bytes_of(theirs));
    items[i] = &buffers[i];
  }
  list->items = items;
  *head = (char *)(items + list->size);
}

static int take_staging(gpu_call *it, void *context) {
  const pp_xla_list *arguments = &it->frame->arguments, *results = &it->frame->results;
  size_t head_size = aligned(head_bytes(arguments) + head_bytes(results));
  size_t size = head_size + data_bytes(arguments) + data_bytes(results);
  int status = pp_staging_take(it->cuda, context, size, &it->staging, it->error);
  char *head, *data;
  if (status < 0) return status;
  head = it->staging->memory;
  data = head + head_size;
  it->here = *it->frame;
  replace(&it->here.arguments, &head, &data);
  replace(&it->here.results, &head, &data);
  return PP_OK;
}

/* ------------------------------------------------------------------------------------ copies -- */

/* Queues the copies of a list's buffers; returns CUDA's error. */
static int copy(const gpu_call *it, const pp_xla_list *to, const pp_xla_list *from) {
  int failed = 0;
  for (int64_t i = 0; !failed && i < to->size; i++) {
    const pp_xla_buffer *target = buffer_at(to, i), *source = buffer_at(from, i);
    size_t bytes = target ? bytes_of(target) : 0;
    if (!bytes) continue;
    failed = it->cuda->copy((uintptr_t)target->data, (uintptr_t)source->data, bytes, it->stream);
  }
  return failed;
}

/* brings the arguments, and waits for them and for all that the stream does before */
static int download(const gpu_call *it) {
  int failed = copy(it, &it->here.arguments, &it->frame->arguments);
  if (!failed) failed = it->cuda->record_event(it->staging->event, it->stream);
  if (!failed) failed = it->cuda->wait_event(it->staging->event);
  if (!failed) return PP_OK;
  return pp_cuda_driver_failed(it->cuda, failed,
                               "no environment was called: copying the arguments from the GPU, or "
                               "what the program did there before,",
                               it->error);
}

/* queues the copies of the results, which the event is behind */
static int upload(const gpu_call *it) {
  int failed = copy(it, &it->frame->results, &it->here.results);
  if (!failed) failed = it->cuda->record_event(it->staging->event, it->stream);
  if (!failed) return PP_OK;
  return pp_cuda_driver_failed(it->cuda, failed,
                               "the environments were called, and copying the results to the GPU",
                               it->error);
}

/* --------------------------------------------------------------------------------- handlers -- */

/* Ends a call of which a copy has failed; returns XLA's error. */
static void *give_up(const gpu_call *it, int status) {
  // copies that were queued may still use the staging, which is lost if no event is behind them
  int failed = it->cuda->record_event(it->staging->event, it->stream);
  if (!failed) pp_staging_return(it->staging);
  return pp_xla_answer(it->frame, status, it->error);
}

/* Makes a call in the context of its stream; returns XLA's error or null. */
static void *run_staged(gpu_call *it, void *context, handler *call) {
  void *failure;
  int status = take_staging(it, context);
  if (status < 0) return pp_xla_answer(it->frame, status, it->error);
  status = download(it);
  if (status < 0) return give_up(it, status);
  failure = call(&it->here);
  if (!failure) status = upload(it);
  if (status < 0) return give_up(it, status);
  pp_staging_return(it->staging);
  return failure;
}

static void *get_stream(gpu_call *it) {
  pp_xla_stream_args args = {.struct_size = sizeof(args), .context = it->frame->context};
  void *failure = it->frame->api->get_stream(&args);
  it->stream = args.stream;
  return failure;
}

static void *run(const pp_xla_frame *frame, handler *call) {
  pp_error error = {.text = ""};
  gpu_call it = {.frame = frame, .error = &error};
  void *context, *failure;
  int failed;

  if (pp_xla_has_no_work(frame)) return NULL;
  it.cuda = pp_cuda_driver_find(&error);
  if (!it.cuda) return pp_xla_answer(frame, error.code, &error);
  failure = get_stream(&it);
  if (failure) return failure;
  failed = it.cuda->stream_context(it.stream, &context);
  if (!failed) failed = it.cuda->push_context(context);
  if (failed) {
    int status = pp_cuda_driver_failed(it.cuda, failed, "entering the stream's context", &error);
    return pp_xla_answer(frame, status, &error);
  }
  failure = run_staged(&it, context, call);
  // fails only if the context is gone, and then there is none to leave
  (void)it.cuda->pop_context(&context);
  return failure;
}

void *pp_xla_cuda_send(void *frame) {
  return run(frame, pp_xla_send);
}

void *pp_xla_cuda_reset(void *frame) {
  return run(frame, pp_xla_reset);
}

void *pp_xla_cuda_recv(void *frame) {
  return run(frame, pp_xla_recv);
}

void *pp_xla_cuda_step(void *frame) {
  return run(frame, pp_xla_step);
}

void *pp_xla_cuda_observe(void *frame) {
  return run(frame, pp_xla_observe);
}

void *pp_xla_cuda_start(void *frame) {
  return run(frame, pp_xla_start);
}

void *pp_xla_cuda_advance(void *frame) {
  return run(frame, pp_xla_advance);
}
