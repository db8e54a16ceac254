import BenchmarkSupport
import DispatchStore

/// A dispatcher with one measured store among many others.
struct Population: Sendable {
  static let size = 100_000

  let dispatcher: Dispatcher
  let store: Store<Counter, Add>
  let gate = BurstGate()

  /// Makes the measured store among others.
  ///
  /// - Parameters:
  ///   - size: The number of stores, the measured one included.
  ///   - sharingType: Whether every second of the others responds to the measured store's action type.
  init(of size: Int, sharingType: Bool = false) {
    dispatcher = Dispatcher(name: "population of \(size)")
    store = Store(model: Counter(gate: gate), reducer: PlainReducer())
    // In the middle, so that neither the first nor the last is looked up.
    for index in 0..<size {
      if index == size / 2 {
        dispatcher.register(store: store)
      } else if sharingType && index.isMultiple(of: 2) {
        dispatcher.register(store: Store(reducer: PlainReducer()))
      } else {
        Self.registerOther(index, with: dispatcher)
      }
    }
  }

  private static func registerOther(_ index: Int, with dispatcher: Dispatcher) {
    switch index % 8 {
    case 0: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.A>()))
    case 1: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.B>()))
    case 2: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.C>()))
    case 3: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.D>()))
    case 4: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.E>()))
    case 5: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.F>()))
    case 6: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.G>()))
    default: dispatcher.register(store: Store(reducer: TaggedReducer<Tag.H>()))
    }
  }
}
