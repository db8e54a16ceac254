#ifndef DISPATCHSTORE_CSQLITE_H
#define DISPATCHSTORE_CSQLITE_H

#if __has_include(<sqlite3.h>)
#include <sqlite3.h>
// The driver's upserts need 3.24 of 2018.
#if SQLITE_VERSION_NUMBER < 3024000
#error "DispatchStore needs SQLite 3.24 or newer: install a newer libsqlite3-dev."
#endif
#else
#error "DispatchStore needs SQLite's header, sqlite3.h: install libsqlite3-dev (apt-get install libsqlite3-dev)."
#endif

#if defined(__linux__)
#include <sys/vfs.h>

// Swift's module of the C library has no statfs. Returns -1, and sets errno, if it fails.
static inline long long dispatchstore_file_system_type(const char *path) {
  struct statfs info;
  return statfs(path, &info) == 0 ? (long long)(unsigned int)info.f_type : -1;
}
#endif

#endif
