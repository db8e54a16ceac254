/// A store's cache entry for one selector; the store's lock guards it.
final class SelectorMemo {
  private weak let life: SelectorLife?
  // Unchecked, because the lock excludes overlapping accesses.
  /// The version of the model for which `selection` is valid.
  @exclusivity(unchecked) var version = SelectorMemo.noVersion
  /// The last selection; unmanaged, because counting references would double the cost of a cache hit.
  @exclusivity(unchecked) private(set) var selection: Unmanaged<Selection>?
  /// The value that a test has set instead.
  var override: Selection?
  /// The number of calls of the selector's closure for this store.
  var computations = 0

  static var noVersion: UInt64 { .max }

  init(of node: SelectorNode) {
    life = node.life
  }

  deinit {
    selection?.release()
  }

  /// Whether the selector has been released.
  var isDead: Bool { life == nil }

  /// Replaces the selection; returns the old one, which the caller releases.
  func replaceSelection(by selection: Selection, for version: UInt64) -> Selection? {
    defer {
      self.selection = .passRetained(selection)
      self.version = version
    }
    return self.selection?.takeRetainedValue()
  }
}
