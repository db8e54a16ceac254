#if SQLite
  import DispatchStore
  import Foundation

  /// The locked file beside the database that keeps other processes out.
  ///
  /// The operating system unlocks it when the process ends. The file is never removed: a process could then lock the
  /// removed file, and another a new one. It is empty until the database was open for the first time.
  final class OwnerLock {
    /// Whether the database was open before.
    let wasOpen: Bool
    private let descriptor: Int32
    private var owns = false
    private var isReleased = false

    /// Locks the file of a database for this process.
    init(database path: String) throws {
      descriptor = try Self.lock("\(path)-owner", database: path)
      var info = stat()
      wasOpen = fstat(descriptor, &info) == 0 && info.st_size > 0
      // Nobody is to take the line of an owner that has died for this one's.
      if wasOpen { write("\n") }
    }

    deinit { release() }

    func release() {
      guard !isReleased else { return }
      isReleased = true
      // The next owner must not be taken for this one before it has written its own line.
      if owns { write("\n") }
      // A child that this process is just starting still has a copy, and closing alone would leave the lock to that.
      _ = flock(descriptor, LOCK_UN)
      _ = close(descriptor)
    }

    private static func lock(_ file: String, database: String) throws -> Int32 {
      while true {
        let descriptor = open(file, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw cannotLock(file, database, errno) }
        var code = flock(descriptor, LOCK_EX | LOCK_NB)
        while code != 0, errno == EINTR { code = flock(descriptor, LOCK_EX | LOCK_NB) }
        guard code == 0 else {
          let reason = errno
          defer { _ = close(descriptor) }
          guard reason == EWOULDBLOCK else { throw cannotLock(file, database, reason) }
          throw inUse(file, database, owner: owner(in: descriptor))
        }
        // If somebody has removed the file in between, this lock would keep nobody out.
        if FileIdentity(descriptor: descriptor) == FileIdentity(path: file) { return descriptor }
        _ = close(descriptor)
      }
    }

    /// Notes that the database is open, and who has it.
    func noteOpen() {
      owns = true
      write("\(getpid()) \(Self.host)\n")
    }

    /// Writes the file's line.
    ///
    /// A full disk is no reason to fail.
    private func write(_ line: String) {
      let written = line.withCString { pwrite(descriptor, $0, strlen($0), 0) }
      _ = ftruncate(descriptor, max(off_t(written), 0))
    }

    private static func owner(in descriptor: Int32) -> String? {
      var bytes = [UInt8](repeating: 0, count: 512)
      let count = pread(descriptor, &bytes, bytes.count, 0)
      // Without the line's end it is still being written.
      guard count > 0, let end = bytes[..<count].firstIndex(of: UInt8(ascii: "\n")) else {
        return nil
      }
      let words = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ", maxSplits: 1)
      guard words.count == 2 else { return nil }
      let isThis = words[0] == "\(getpid())" && words[1] == host
      return "\(isThis ? "this process, " : "")process \(words[0]) on host \(words[1])"
    }

    private static var host: String {
      var name = [CChar](repeating: 0, count: 256)
      guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
      return name.withUnsafeBufferPointer {
        $0.baseAddress.map { String(cString: $0) } ?? "unknown"
      }
    }

    private static func inUse(
      _ file: String, _ database: String, owner: String?
    ) -> PersistenceError {
      PersistenceError(
        .inUse,
        """
        \(SQLiteConnection.describe(database)) is in use by \(owner ?? "another process"), which \
        has locked "\(file)". Close it there first, or use another path here.
        """)
    }

    private static func cannotLock(
      _ file: String, _ database: String, _ reason: Int32
    ) -> PersistenceError {
      SQLiteConnection.cannotOpen(
        database,
        """
        the file "\(file)", which keeps other processes out, can't be locked: \
        \(String(cString: strerror(reason)))
        """)
    }
  }
#endif
