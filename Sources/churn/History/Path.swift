/// Where a changed file or its folder lies: the copy of the history (`--copies` puts each under a
/// folder of its own, here its number), and the name within it.
struct Path: Hashable, Sendable {
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
