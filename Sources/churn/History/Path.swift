/// The place of a changed file or its folder: the copy of the history, and the name within it.
///
/// `--copies` puts each copy under a folder of its own, which is here the copy's number.
struct Path: Hashable, Codable, Sendable {
  let copy: Int
  let name: ByteString

  init(_ name: ByteString, copy: Int = 0) {
    self.name = name
    self.copy = copy
  }

  /// The first component, or `.` for a file at the root.
  var folder: Path {
    Path(name.prefix(before: UInt8(ascii: "/")) ?? Self.root, copy: copy)
  }

  private static let root: ByteString = "."
}

extension Path: Comparable {
  static func < (one: Path, other: Path) -> Bool {
    (one.copy, one.name) < (other.copy, other.name)
  }
}
