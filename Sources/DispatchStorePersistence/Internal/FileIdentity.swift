#if SQLite
  import Foundation

  /// Tells a file from another that has taken its path.
  struct FileIdentity: Equatable {
    private let device: UInt64
    private let number: UInt64

    private init(_ info: stat) {
      device = UInt64(truncatingIfNeeded: info.st_dev)
      number = UInt64(truncatingIfNeeded: info.st_ino)
    }

    /// The identity of the file at a path; nil if there is none.
    init?(path: String) {
      var info = stat()
      guard stat(path, &info) == 0 else { return nil }
      self.init(info)
    }

    /// The identity of an open file.
    init?(descriptor: Int32) {
      var info = stat()
      guard fstat(descriptor, &info) == 0 else { return nil }
      self.init(info)
    }
  }
#endif
