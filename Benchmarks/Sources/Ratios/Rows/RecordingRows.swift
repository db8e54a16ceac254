import BenchmarkSupport
import DispatchStore
import Synchronization

/// What a recorder adds to a dispatch, and an undo history to a commit.
enum RecordingRows {
  static let all = [recorder] + Commit.allCases.map(undo)

  /// A thread dispatches in a loop, and a recorder of 10,000 entries notes each dispatch and its commit.
  ///
  /// The floor: a middleware in its place that appends the end of each store's run to an array under a lock, and empties
  /// the array at 10,000: what somebody writes who wants to know what happened.
  private static let recorder = Row(
    "`.sync`, a recorder", floor: "a middleware that appends under a lock", bound: .times(3)
  ) { rounds in
    let plain = Fixture(PlainReducer())
    let recorded = Fixture(PlainReducer())
    plain.dispatcher.register(middleware: Appending())
    recorded.dispatcher.register(middleware: DispatchRecorder(limit: 10_000))
    return Rounds.alternate(rounds, count: 20_000) { count in
      for index in 0..<count { plain.dispatcher.dispatch(action: Add(index), mode: .sync) }
    } subject: { count in
      for index in 0..<count { recorded.dispatcher.dispatch(action: Add(index), mode: .sync) }
    }
  }

  private final class Appending: Middleware {
    private let runs = Mutex<[(StoreRunInfo, any ActionType)]>([])
    let hooks = MiddlewareHooks.stores

    func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
      runs.withLock { runs in
        if runs.count == 10_000 { runs.removeAll(keepingCapacity: true) }
        runs.append((transaction, transaction.action))
      }
    }
  }

  /// How a commit is made.
  private enum Commit: String, CaseIterable, Sendable {
    case update = "`updateModel`"
    case sync = "`.sync`"
    case atomic = "an atomic `.sync`"
  }

  private struct Table: ModelType {
    var rows = TrackedDictionary(uniqueKeysWithValues: (0..<100_000).map { ($0, 0) })
  }

  private struct Touch: ActionType { let row: Int }
  private struct TouchAtOnce: AtomicAction { let row: Int }

  /// A thread changes one of 100,000 rows after the other, in a store that names them by `undoesInPlace`.
  ///
  /// The floor: the same without a history.
  private static func undo(_ commit: Commit) -> Row {
    Row(
      "\(commit.rawValue) to 100,000 rows with undo", floor: "without undo", bound: .times(1.5)
    ) { rounds in
      let (plain, undone) = (Tables(), Tables())
      return withExtendedLifetime(UndoHistory(of: undone.store, limit: 1_000)) {
        Rounds.alternate(rounds, count: 5_000) {
          plain.change($0, commit)
        } subject: {
          undone.change($0, commit)
        }
      }
    }
  }

  private struct Tables: Sendable {
    private let dispatcher = Dispatcher()
    let store: Store<Table, HandledAction>

    init() {
      store = dispatcher.register(
        store: Store(identifier: "table", model: Table()) {
          On(Touch.self) { table, touch in table.rows[touch.row]? &+= 1 }
          On(TouchAtOnce.self) { table, touch in table.rows[touch.row]? &+= 1 }
        }.undoesInPlace(\.rows))
    }

    func change(_ count: Int, _ commit: Commit) {
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
}
