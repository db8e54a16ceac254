public import DispatchStore

/// A dispatcher with up to eight stores, each with a separate action type.
public struct TaggedFixture: Sendable {
  /// Dispatches so many actions to one store.
  public typealias Producer = @Sendable (_ count: Int, _ mode: Dispatcher.Mode) -> Void

  /// The dispatcher.
  public let dispatcher = Dispatcher(name: "tagged")
  /// For each store, the closure that dispatches to it.
  public let producers: [Producer]
  /// For each store, the gate that opens with each burst that it has counted.
  public let gates: [BurstGate]

  /// Makes the first `count` of the stores.
  public init(stores count: Int) {
    let all = [
      Self.store(Tag.A.self), Self.store(Tag.B.self), Self.store(Tag.C.self),
      Self.store(Tag.D.self), Self.store(Tag.E.self), Self.store(Tag.F.self),
      Self.store(Tag.G.self), Self.store(Tag.H.self),
    ]
    let gates = (0..<count).map { _ in BurstGate() }
    self.gates = gates
    producers = zip(all, gates).map { [dispatcher] register, gate in register(dispatcher, gate) }
  }

  /// Registers a store when called.
  private static func store<Tag>(_ tag: Tag.Type) -> (Dispatcher, BurstGate) -> Producer {
    { dispatcher, gate in
      dispatcher.register(store: Store(model: Counter(gate: gate), reducer: TaggedReducer<Tag>()))
      return { count, mode in
        for index in 0..<count { dispatcher.dispatch(action: TaggedAdd<Tag>(index), mode: mode) }
      }
    }
  }
}
