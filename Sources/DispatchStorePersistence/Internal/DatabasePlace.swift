#if SQLite
  import DispatchStore
  import Foundation

  /// The place of a database file.
  struct DatabasePlace {
    /// The absolute path, without symbolic links.
    ///
    /// One database must not have two lock files, whatever links lead to it.
    let path: String

    /// Checks that a database can be there.
    init(_ path: String) throws {
      guard !path.isEmpty, !path.utf8.contains(0) else {
        throw PersistenceError(.cannotOpen, "\"\(path)\" is no path of an SQLite database.")
      }
      self.path = try Self.resolve(path, links: 0)
      var info = stat()
      let exists = stat(self.path, &info) == 0
      if exists, info.st_mode & S_IFMT != S_IFREG {
        let isFolder = info.st_mode & S_IFMT == S_IFDIR
        let reason = isFolder ? "it is a folder" : "it is no ordinary file"
        throw SQLiteConnection.cannotOpen(self.path, reason)
      }
      if exists, info.st_nlink > 1 { throw Self.linked(self.path, count: Int(info.st_nlink)) }
      let place = exists ? self.path : (self.path as NSString).deletingLastPathComponent
      if let fileSystem = try FileSystem(of: place).networkName {
        throw PersistenceError(
          .notDurable,
          """
          \(SQLiteConnection.describe(self.path)) is on a network file system (\(fileSystem)), \
          where locks and fsync can't be relied on. Use a path on a local disk.
          """)
      }
    }

    /// Checks that no database is made in the place of one that has been taken away.
    ///
    /// SQLite would remove the WAL of that one, and the latest commits with it.
    ///
    /// - Parameter wasOpen: Whether there has been a database.
    func checkFile(wasOpen: Bool) throws {
      if Self.size(path) > 0 { return }
      let hasJournal = Self.size(path + "-wal") > 0
      guard hasJournal || wasOpen else { return }
      let reason =
        hasJournal
        ? "\(path)-wal may have commits that are not in it yet"
        : "\(path)-owner says that there was one"
      throw PersistenceError(
        .moved,
        """
        \(SQLiteConnection.describe(path)): its file is missing, or empty, and \(reason). Put it back before you start \
        the process again. To begin with an empty database, remove its -wal, -shm and -owner files.
        """)
    }

    /// The size of a file; zero if there is none.
    static func size(_ path: String) -> Int {
      var info = stat()
      return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }

    private static func resolve(_ path: String, links: Int) throws -> String {
      guard path.utf8.last != UInt8(ascii: "/") else {
        throw SQLiteConnection.cannotOpen(path, "a path that ends with a slash is that of a folder")
      }
      if let real = realPath(path) { return real }
      let reason = errno
      guard reason == ENOENT, links < 32 else { throw cannotOpen(path, systemError: reason) }
      let folder = (path as NSString).deletingLastPathComponent
      // A link to a file that doesn't exist yet.
      if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
        let isAbsolute = target.hasPrefix("/") || folder.isEmpty
        return try resolve(isAbsolute ? target : "\(folder)/\(target)", links: links + 1)
      }
      guard let realFolder = realPath(folder.isEmpty ? "." : folder) else {
        throw cannotOpen(path, systemError: errno)
      }
      return (realFolder as NSString).appendingPathComponent((path as NSString).lastPathComponent)
    }

    private static func realPath(_ path: String) -> String? {
      guard let real = realpath(path, nil) else { return nil }
      defer { free(real) }
      return String(cString: real)
    }

    private static func linked(_ path: String, count: Int) -> PersistenceError {
      PersistenceError(
        .cannotOpen,
        """
        \(SQLiteConnection.describe(path)) has \(count) hard links. Each has a lock and a WAL of its own, so two \
        processes could write to the file at once. "find -samefile" finds them: keep only the one that was in use, whose \
        WAL has the latest commits. A hard link is no copy: make one with "VACUUM INTO".
        """)
    }

    private static func cannotOpen(_ path: String, systemError: Int32) -> PersistenceError {
      SQLiteConnection.cannotOpen(path, String(cString: strerror(systemError)))
    }
  }
#endif
