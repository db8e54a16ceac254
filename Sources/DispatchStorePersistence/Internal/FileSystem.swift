#if SQLite
  import CSQLite
  import DispatchStore
  import Foundation

  /// The kind of a file system.
  struct FileSystem {
    /// The name of the file system if it is a network file system.
    let networkName: String?

    init(of path: String) throws {
      #if canImport(Darwin)
        var info = statfs()
        guard statfs(path, &info) == 0 else { throw Self.unknown(path, errno) }
        networkName = info.f_flags & UInt32(MNT_LOCAL) == 0 ? "not a local volume" : nil
      #else
        let type = dispatchstore_file_system_type(path)
        guard type >= 0 else { throw Self.unknown(path, errno) }
        networkName = Self.networkName(type: UInt32(truncatingIfNeeded: type))
      #endif
    }

    private static func unknown(_ path: String, _ systemError: Int32) -> PersistenceError {
      let reason = String(cString: strerror(systemError))
      return PersistenceError(
        .cannotOpen, "The file system of \"\(path)\" can't be determined: \(reason).")
    }

    /// The name of the network file system with a number from Linux's `statfs`.
    static func networkName(type: UInt32) -> String? {
      switch type {
      case 0x6969: "NFS"
      case 0x517B: "SMB"
      case 0xFF53_4D42: "CIFS"
      case 0xFE53_4D42: "SMB2"
      case 0x0102_1997: "9p"
      case 0x00C3_6400: "Ceph"
      case 0x0BD0_0BD0: "Lustre"
      case 0x5346_414F: "AFS"
      case 0x7375_7245: "Coda"
      default: nil
      }
    }
  }
#endif
