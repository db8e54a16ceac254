import DispatchStore

/// An action that is what its store is to do, by `apply(_:to:)`.
struct Errand: ActionType, CustomStringConvertible {
  typealias Desk = Store<[String], Errand>

  let description: String
  fileprivate let work: @Sendable (Desk) throws -> Void

  init(_ name: String = "errand", _ work: @escaping @Sendable (Desk) throws -> Void) {
    description = name
    self.work = work
  }

  /// Adds its name to the store's model.
  static func adds(_ name: String) -> Errand {
    Errand(name) { desk in desk.updateModel { $0.append(name) } }
  }
}

typealias Desk = Errand.Desk

/// Runs each errand.
class ErrandReducer: Reducer<[String], Errand> {
  override func apply(_ action: Errand, to store: Desk) throws {
    try action.work(store)
  }
}

extension Dispatcher {
  /// Registers a store that runs errands.
  @discardableResult
  func addDesk(_ identifier: String = "desk", waitFor: WaitFor = []) -> Desk {
    register(
      store: Desk(identifier: identifier, model: [], reducer: ErrandReducer()), waitFor: waitFor)
  }
}
