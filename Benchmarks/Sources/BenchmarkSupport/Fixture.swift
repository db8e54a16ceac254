public import DispatchStore
public import Foundation

/// A dispatcher with the one store that is measured.
public struct Fixture<Action: ActionType>: Sendable {
  /// The dispatcher.
  public let dispatcher: Dispatcher
  /// The store.
  public let store: Store<Counter, Action>
  /// Opens with each burst that the store has counted.
  public let gate = BurstGate()

  /// Makes a dispatcher and a store; inlined, because a store is specialized where its types are known.
  ///
  /// - Parameters:
  ///   - reducer: The store's reducer.
  ///   - width: The width of the dispatcher's queue; nil for its default.
  ///   - taskLocals: The task-local values that the dispatcher carries.
  @inlinable
  public init(
    _ reducer: sending Reducer<Counter, Action>, width: Int? = nil,
    carrying taskLocals: [CarriedTaskLocal] = []
  ) {
    dispatcher = Dispatcher(
      name: "benchmark", queue: width.map(Self.makeQueue), carrying: taskLocals)
    store = Store(model: Counter(gate: gate), reducer: reducer)
    dispatcher.register(store: store)
  }

  @usableFromInline
  static func makeQueue(_ width: Int) -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    return queue
  }
}
