import DispatchStore
import DispatchStoreTesting
import Testing

/// Bugs that exploration has found in queues of width one, where an action that waits takes the one slot.
@Suite("Regressions of narrow queues")
struct NarrowQueueRegressionTests {
  enum Errand: ActionType {
    /// Blocks its thread until `awaits`, which awaits a note, has ended.
    case blocks
    case awaits
  }

  final class ErrandReducer: Reducer<Notes, Errand> {
    private let dispatcher: Dispatcher

    init(_ dispatcher: Dispatcher) {
      self.dispatcher = dispatcher
    }

    override func operation(
      for action: Errand, in store: Store<Notes, Errand>
    ) -> ActionOperation<Notes, Errand> {
      switch action {
      case .blocks:
        ActionOperation(action: action, store: store) { [dispatcher] _, _ in
          let other = dispatcher.dispatch(action: Errand.awaits, mode: .serial)
          dispatcher.dispatch(actions: [], mode: .sync, options: .after(other))
        }
      case .awaits:
        ActionOperation(action: action, store: store) { [dispatcher] _, _ async in
          _ = await dispatcher.dispatch(action: Note.add(1)).result
        }
      }
    }
  }

  /// A substitute had found no start and not left yet when another thread pushed one; that thread relied on
  /// the substitute, which left.
  @Test func whatIsPushedWhileASubstituteLeavesStarts() async throws {
    try await explore(seeds: seeds(1_000), width: 1) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      dispatcher.register(
        store: Store<Notes, Errand>(identifier: "errands", reducer: ErrandReducer(dispatcher)))
      let result = await dispatcher.dispatch(action: Errand.blocks).result
      try check(result.isSuccess, "\(result)")
      let numbers = notes.model.numbers
      try check(numbers == [1], "\(numbers)")
    }
  }
}
