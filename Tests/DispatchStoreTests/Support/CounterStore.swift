import DispatchStore

struct Counter: ModelType, Equatable {
  var count = 0
  var notes: [String] = []
}

enum CounterAction: ActionType, Equatable {
  case add(Int)
  case note(String)
  /// Adds, then throws.
  case fail(Int)
}

struct CounterFailure: Error, Equatable {
  var amount = 0
}

/// Overrides `reduce(into:action:)` alone.
final class CounterReducer: Reducer<Counter, CounterAction> {
  override func reduce(into model: inout Counter, action: CounterAction) throws {
    switch action {
    case .add(let amount):
      model.count += amount
    case .note(let note):
      model.notes.append(note)
    case .fail(let amount):
      model.count += amount
      throw CounterFailure(amount: amount)
    }
  }
}

typealias CounterStore = Store<Counter, CounterAction>

extension Store where Model == Counter, Action == CounterAction {
  static func counter(_ identifier: String? = nil) -> CounterStore {
    CounterStore(identifier: identifier, reducer: CounterReducer())
  }
}

extension Dispatcher.Mode {
  /// The four modes, and a named lane.
  static let everyMode: [Dispatcher.Mode] = [
    .async, .sync, .serial, .mainThread, .serial(lane: "named"),
  ]
  static let queuedModes = everyMode.filter { $0 != .sync }
  /// The queued modes but `.mainThread`.
  static let offMainModes = queuedModes.filter { $0 != .mainThread }
  /// The modes that run one dispatch at a time, in dispatch order, and return at once.
  static let laneModes: [Dispatcher.Mode] = [.serial, .mainThread, .serial(lane: "named")]
}
