/* Library: checks that a file is safe to pass to dlopen, which maps files unchecked. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os.h"
#include "pp_env.h"

#if defined(__linux__)

#include <elf.h>
#include <link.h>

/* returns whether this is an ELF file for this kind of machine; dlopen itself refuses others */
static bool is_native(const ElfW(Ehdr) * head) {
  const uint16_t one = 1;
  const int data = *(const uint8_t *)&one ? ELFDATA2LSB : ELFDATA2MSB;
  const int class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == class &&
         head->e_ident[EI_DATA] == data && head->e_phentsize == sizeof(ElfW(Phdr));
}

/* Returns the size that the file must have to contain its segments, as far as its headers are
 * readable. dlopen maps the segments and touches them, and a page beyond the end of the file raises
 * SIGBUS. */
static uint64_t needed_size(int fd, uint64_t size) {
  ElfW(Ehdr) head;
  if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || !is_native(&head)) return 0;
  uint64_t needed = 0;
  for (uint64_t i = 0; i < head.e_phnum; i++) {
    ElfW(Phdr) part;
    uint64_t at = (uint64_t)head.e_phoff + i * sizeof(part);
    if (at < head.e_phoff || at > size) return UINT64_MAX;
    if (pread(fd, &part, sizeof(part), (off_t)at) != (ssize_t)sizeof(part)) {
      return at + sizeof(part);
    }
    uint64_t end = (uint64_t)part.p_offset + part.p_filesz;
    if (end < part.p_offset) return UINT64_MAX;
    if (part.p_filesz && end > needed) needed = end;
  }
  return needed;
}

#else

static uint64_t needed_size(int fd, uint64_t size) {
  (void)fd;
  (void)size;
  return 0;
}

#endif

static int check_file(int fd, const char *shown, char *reason, size_t bytes) {
  struct stat info;
  if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) {
    snprintf(reason, bytes, "%s is not a regular file: give a shared library", shown);
    return PP_ERR_ARGUMENT;
  }
  uint64_t size = (uint64_t)info.st_size, needed = needed_size(fd, size);
  if (size >= needed) return PP_OK;
  snprintf(reason, bytes,
           "%s is cut off: it has %llu bytes, and its segments end at %llu: build or copy it anew",
           shown, (unsigned long long)size, (unsigned long long)needed);
  return PP_ERR_ARGUMENT;
}

int pp_os_library_check(const char *path, const char *shown, char *reason, size_t bytes) {
  // O_NONBLOCK: a pipe without a writer must not block
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), status;
  if (fd < 0) {
    snprintf(reason, bytes, "%s can't be opened: %s: give a shared library that is there", shown,
             strerror(errno));
    return PP_ERR_ARGUMENT;
  }
  status = check_file(fd, shown, reason, bytes);
  close(fd);
  return status;
}

int64_t pp_os_symbol_size(const void *address) {
#if defined(__GLIBC__)
  const ElfW(Sym) *symbol = NULL;
  Dl_info info;
  if (!dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return -1;
  return (symbol->st_info & 0xf) == STT_OBJECT ? (int64_t)symbol->st_size : 0;
#else
  (void)address;
  return -1;
#endif
}
