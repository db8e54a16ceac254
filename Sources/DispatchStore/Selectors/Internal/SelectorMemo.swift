/// What a store knows of one selector; its store's lock guards it.
final class SelectorMemo {
  let id: UInt64
  private weak let life: SelectorLife?
  // Unchecked, because the lock excludes overlapping accesses.
  /// The version of the model for which `selection` holds.
  @exclusivity(unchecked) var version = SelectorMemo.noVersion
  /// Unmanaged, because counting references would double the cost of a hit.
  @exclusivity(unchecked) private(set) var selection: Unmanaged<Selection>?
  /// What a test has put in its place.
  var override: Selection?
  /// How often the selector's closure was called for this store.
  var computations = 0

  static var noVersion: UInt64 { .max }

  init(of node: SelectorNode) {
    id = node.id
    life = node.life
  }

  deinit {
    selection?.release()
  }

  /// Whether its selector is gone.
  var isDead: Bool { life == nil }

  /// Returns the selection that was there before, which the caller releases.
  func replaceSelection(by selection: Selection, for version: UInt64) -> Selection? {
    defer {
      self.selection = .passRetained(selection)
      self.version = version
    }
    return self.selection?.takeRetainedValue()
  }
}
