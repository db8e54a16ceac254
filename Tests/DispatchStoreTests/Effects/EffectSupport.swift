@testable import DispatchStore

/// An action that effects follow, and no store responds to.
struct Cue: ActionType {
  var number = 0
}

/// One that effects dispatch.
struct Echo: ActionType {
  var number = 0
}

enum EffectRequest {
  @TaskLocal static var id = "none"
}

extension Dispatcher {
  /// Dispatches, or sends, an action; waits for its end.
  @discardableResult
  func perform(_ action: some ActionType, _ mode: Dispatcher.Mode) async -> DispatchResult {
    await dispatch(action: action, mode: mode).result
  }
}

/// Waits for the latch, or for the task's cancellation.
func waits(for latch: Latch) async throws {
  await latch.openedOrCancelled()
  try Task.checkCancellation()
}
