import DispatchStore
import Testing

/// A mode, and whether the action is sent in it.
struct Way: CustomTestStringConvertible {
  let mode: Dispatcher.Mode
  let sends: Bool

  var testDescription: String { "\(mode)\(sends ? ", sent" : "")" }

  static let all =
    Dispatcher.Mode.everyMode.map { Way(mode: $0, sends: false) }
    + Dispatcher.Mode.everyMode.filter { $0 != .sync }.map { Way(mode: $0, sends: true) }
}
