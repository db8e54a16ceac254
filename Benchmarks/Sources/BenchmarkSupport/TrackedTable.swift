public import DispatchStore

/// A store of 100,000 rows, which it names by `undoesInPlace`.
public struct TrackedTable: Sendable {
  /// The store's model.
  public struct Model: ModelType {
    var rows = TrackedDictionary(uniqueKeysWithValues: (0..<100_000).map { ($0, 0) })

    /// Makes the rows.
    public init() {}
  }

  struct Touch: ActionType { let row: Int }
  struct TouchAtOnce: AtomicAction { let row: Int }

  /// How a commit is made.
  public enum Commit: String, CaseIterable, Sendable {
    /// Outside of a dispatch.
    case update = "`updateModel`"
    /// In a dispatch.
    case sync = "`.sync`"
    /// In an atomic dispatch.
    case atomic = "an atomic `.sync`"
  }

  private let dispatcher = Dispatcher()
  /// The store.
  public let store: Store<Model, HandledAction>

  /// Makes a table.
  public init() {
    store = dispatcher.register(
      store: Store(identifier: "table", model: Model()) {
        On(Touch.self) { table, touch in table.rows[touch.row]? &+= 1 }
        On(TouchAtOnce.self) { table, touch in table.rows[touch.row]? &+= 1 }
      }.undoesInPlace(\.rows))
  }

  /// Changes one row after the other.
  public func change(_ count: Int, _ commit: Commit) {
    for index in 0..<count {
      let row = index * 7 % 100_000
      switch commit {
      case .update: store.updateModel { $0.rows[row]? &+= 1 }
      case .sync: dispatcher.dispatch(Touch(row: row), mode: .sync)
      case .atomic: dispatcher.dispatch(TouchAtOnce(row: row), mode: .sync)
      }
    }
  }
}
