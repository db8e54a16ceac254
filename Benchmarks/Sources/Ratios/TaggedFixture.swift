import BenchmarkSupport
import DispatchStore

/// A dispatcher with up to eight stores, each with an action type of its own.
struct TaggedFixture: Sendable {
  let dispatcher = Dispatcher(name: "tagged")
  /// For each store, dispatches so many actions to it, `.sync`.
  let dispatches: [@Sendable (_ count: Int) -> Void]

  init(stores count: Int) {
    let all = [
      Self.store(Tag.A.self, in: dispatcher), Self.store(Tag.B.self, in: dispatcher),
      Self.store(Tag.C.self, in: dispatcher), Self.store(Tag.D.self, in: dispatcher),
      Self.store(Tag.E.self, in: dispatcher), Self.store(Tag.F.self, in: dispatcher),
      Self.store(Tag.G.self, in: dispatcher), Self.store(Tag.H.self, in: dispatcher),
    ]
    dispatches = all.prefix(count).map { $0() }
  }

  /// Registers a store when called.
  private static func store<Tag>(
    _ tag: Tag.Type, in dispatcher: Dispatcher
  ) -> () -> @Sendable (_ count: Int) -> Void {
    {
      dispatcher.register(store: Store(reducer: TaggedReducer<Tag>()))
      return { count in
        for index in 0..<count { dispatcher.dispatch(action: TaggedAdd<Tag>(index), mode: .sync) }
      }
    }
  }
}
