import DispatchStore
import DispatchStoreTesting

/// Adds a number after a sleep on the clock of its simulation.
final class SleepingReducer: Reducer<Notes, Note> {
  private let duration: Duration

  init(for duration: Duration) {
    self.duration = duration
  }

  override func operation(
    for action: Note, in store: Store<Notes, Note>
  ) -> ActionOperation<Notes, Note> {
    ActionOperation(action: action, store: store) { [duration] action, store async throws in
      try await store.dispatcher?.simulation?.clock.sleep(for: duration)
      if case .add(let number) = action { store.updateModel { $0.numbers.append(number) } }
    }
  }
}
