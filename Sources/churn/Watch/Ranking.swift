/// The highest of some counts, each with its key; among equal counts, the lower keys.
struct Ranking<Key: FigureKey>: Equatable, Sendable {
  /// The maximum number of entries.
  static var length: Int { 5 }

  /// A key and its count.
  struct Entry: Equatable, Sendable {
    let key: Key
    let count: Int

    fileprivate func precedes(_ other: Entry) -> Bool {
      count != other.count ? count > other.count : key < other.key
    }
  }

  /// The entries from the highest count down; none of zero or less.
  private(set) var entries: [Entry] = []

  mutating func add(_ key: Key, _ count: Int) {
    // First, because it holds for nearly all of many keys.
    if entries.count == Self.length, let last = entries.last, count < last.count { return }
    guard count > 0 else { return }
    let entry = Entry(key: key, count: count)
    let index = entries.firstIndex { entry.precedes($0) } ?? entries.count
    guard index < Self.length else { return }
    if entries.count == Self.length { entries.removeLast() }
    entries.insert(entry, at: index)
  }
}
