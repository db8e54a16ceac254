import DispatchStore

/// Lines of differences, with a count for each run of equal parts.
struct DiffRows {
  /// The number of differences of one value to show.
  ///
  /// Further ones are only counted.
  private static let limit = 50

  private let depth: Int
  private var lines: [DiffLine] = []
  private var unchanged = 0
  private var shown = 0
  private var further = 0

  init(depth: Int) {
    self.depth = depth
  }

  /// Whether the limit has been reached, so that further differences are only counted.
  var isFull: Bool { shown >= Self.limit }

  mutating func addUnchanged(_ count: Int = 1) {
    unchanged += count
  }

  /// Counts differences that are not shown.
  mutating func addFurther(_ count: Int) {
    further += count
  }

  mutating func add(_ more: [DiffLine]) {
    guard !isFull else { return addFurther(1) }
    addContext(more)
    shown += 1
  }

  /// Adds lines that are shown beside differences, but are none.
  mutating func addContext(_ more: [DiffLine]) {
    if unchanged > 0 { lines.append(.unchanged(unchanged, depth)) }
    unchanged = 0
    lines += more
  }

  /// All lines, or nil if nothing differs.
  var finished: [DiffLine]? {
    guard shown > 0 else { return nil }
    var lines = lines
    if further > 0 { lines.append(DiffLine(.same, depth, "… \(further) more that differ")) }
    if unchanged > 0 { lines.append(.unchanged(unchanged, depth)) }
    return lines
  }
}
