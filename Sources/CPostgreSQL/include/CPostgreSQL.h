#ifndef DISPATCHSTORE_CPOSTGRESQL_H
#define DISPATCHSTORE_CPOSTGRESQL_H

// Fedora and Homebrew have the header in a folder that is searched; Debian in one of its own.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#elif __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#error "DispatchStore needs PostgreSQL's header, libpq-fe.h: install libpq-dev (apt-get install libpq-dev)."
#endif

// The driver sends a transaction's statements together, which needs version 14 of the library.
#if defined(LIBPQ_FE_H) && !defined(LIBPQ_HAS_PIPELINING)
#error "DispatchStore needs version 14 or newer of libpq: install a newer libpq-dev."
#endif

#endif
