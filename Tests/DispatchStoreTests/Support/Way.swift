import DispatchStore
import Testing

/// A mode, and whether the action is sent in it.
struct Way: CustomTestStringConvertible {
  let mode: Dispatcher.Mode
  let sends: Bool

  var testDescription: String { "\(mode)\(sends ? ", sent" : "")" }

  static let all =
    Dispatcher.Mode.everyMode.map { Way(mode: $0, sends: false) }
    + Dispatcher.Mode.queuedModes.map { Way(mode: $0, sends: true) }
}

extension Dispatcher {
  /// Dispatches or sends an action, and returns its result.
  @discardableResult
  func run(
    _ action: some ActionType, _ way: Way, options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil
  ) async -> DispatchResult {
    if way.sends {
      return await send(action, mode: way.mode, options: options, then: completion).result
    }
    return await dispatch(action, mode: way.mode, options: options, then: completion).result
  }
}
