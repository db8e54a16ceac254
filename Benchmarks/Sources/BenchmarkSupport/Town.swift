public import DispatchStore

/// Named stores, each with the same reduction or block, and an order in which they are visited.
public final class Town: Sendable {
  /// The stores' dispatcher.
  public let dispatcher = Dispatcher(name: "town")
  /// The stores, by index.
  public let stores: [Store<Counter, Add>]
  /// Indices of stores, shuffled.
  public let order: [Int]

  /// Makes a town.
  public init(of size: Int, reducer: () -> sending Reducer<Counter, Add> = { PlainReducer() }) {
    var stores: [Store<Counter, Add>] = []
    for index in 0..<size {
      let store = Store(identifier: Self.name(index), model: Counter(), reducer: reducer())
      stores.append(dispatcher.register(store: store))
    }
    self.stores = stores
    order = (0..<size).shuffled()
  }

  /// The index that a turn comes to.
  @inlinable
  public func index(at turn: Int) -> Int { order[turn % order.count] }

  /// A value for each store, by its identifier; made in the stores' order, so that memory is not in that of the visits.
  func byName<Value>(_ make: () -> Value) -> [String: Value] {
    Dictionary(uniqueKeysWithValues: stores.indices.map { (Self.name($0), make()) })
  }

  /// A store's identifier, built anew for each dispatch, as a program does that has a number.
  @inlinable
  public static func name(_ index: Int) -> String { "account \(index)" }
}
