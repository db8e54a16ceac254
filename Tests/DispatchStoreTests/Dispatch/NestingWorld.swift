import DispatchStore
import DispatchStoreTesting

/// Nested dispatches, all `.sync` and on one thread, drawn from a seed.
///
/// The stores reduce, apply or make operations; some are observed. `faults` lists each parent and each
/// change's transaction that is not the right one.
final class NestingWorld: @unchecked Sendable {  // because one step at a time has it
  struct Nest: ActionType {
    let number: Int
    let seed: UInt64
    let depth: Int
    let world: NestingWorld
  }

  private let dispatchers = (0..<3).map { _ in Dispatcher() }
  /// Its middleware records the parent of a dispatch that is made where `checkParent` is called.
  private let probe = Dispatcher()
  private var tokens: [ObserverToken] = []
  private var count = 0
  private var transactions: [Int: DispatchID] = [:]
  private var notified: [(number: Int?, dispatchID: DispatchID?)] = []
  /// Each recorded parent, and the dispatch from inside which the probe was dispatched; nil for none.
  private var parents: [(recorded: DispatchID?, inside: Int?)] = []
  private var inside: Int?

  init(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for (place, dispatcher) in dispatchers.enumerated() {
      for number in 0..<Int.random(in: 1...4, using: &random) {
        let isObserved = Bool.random(using: &random)
        let waits = number > 0 && Bool.random(using: &random)
        let store = dispatcher.register(
          store: Self.makeStore("\(place)-\(number)", &random),
          waitFor: waits ? ["\(place)-\(number - 1)"] : [])
        if isObserved {
          tokens.append(
            store.observe(.model) { [unowned self] in
              notified.append(($0.action?.number, $0.dispatchID))
            }
          )
        }
      }
    }
    probe.addStage()
    probe.register(
      middleware: RecordingMiddleware(will: { [unowned self] transaction, _, _ in
        parents.append((transaction.parent, inside))
        return .pass
      }))
  }

  private static func makeStore(
    _ identifier: String, _ random: inout SeededGenerator
  ) -> Store<[Int], Nest> {
    switch Int.random(in: 0..<8, using: &random) {
    case 0..<3: Store(identifier: identifier, model: [], reducer: Reducing())
    case 3..<7: Store(identifier: identifier, model: [], reducer: Applying())
    default: Store(identifier: identifier, model: [], reducer: Operating())
    }
  }

  /// Dispatches to one of the dispatchers; its stores do so again, to the given depth.
  func dispatch(_ seed: UInt64, depth: Int = 3, inside: Int? = nil) {
    var random = SeededGenerator(seed: seed)
    count += 1
    let (number, dispatcher) = (count, dispatchers.randomElement(using: &random)!)
    let action = Nest(number: number, seed: random.next(), depth: depth, world: self)
    checkParent(inside, &random)
    let handle =
      Int.random(in: 0..<5, using: &random) == 0
      ? dispatcher.dispatch(action: action, mode: .sync, then: {})
      : dispatcher.dispatch(action: action, mode: .sync)
    transactions[number] = handle.dispatchID
    checkParent(inside, &random)
  }

  private func checkParent(_ inside: Int?, _ random: inout SeededGenerator) {
    guard Int.random(in: 0..<3, using: &random) == 0 else { return }
    self.inside = inside
    probe.dispatch(action: Script.adds("probe"), mode: .sync)
  }

  /// - Parameter outermost: The transaction inside of which all of it was dispatched.
  func faults(in outermost: DispatchID? = nil) -> [String] {
    let untrue = notified.filter { $0.dispatchID != $0.number.flatMap { transactions[$0] } }
    let wrong = parents.filter { $0.recorded != ($0.inside.map { transactions[$0] } ?? outermost) }
    return untrue.map { "\($0) was notified" } + wrong.map { "\($0) as parent" }
  }

  private final class Reducing: Reducer<[Int], Nest> {
    override func reduce(into model: inout [Int], action: Nest) throws {
      model.append(action.number)
      if action.seed.isMultiple(of: 13) { throw StageFright() }
    }
  }

  private final class Applying: Reducer<[Int], Nest> {
    override func apply(_ action: Nest, to store: Store<[Int], Nest>) throws {
      var random = SeededGenerator(seed: action.seed &+ UInt64(store.identifier.utf8.last!))
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: _ = store.model
        case 1 where action.depth > 0: action.nest(random.next())
        default: store.updateModel { $0.append(action.number) }
        }
      }
      if Int.random(in: 0..<7, using: &random) == 0 { throw StageFright() }
    }
  }

  private final class Operating: Reducer<[Int], Nest> {
    override func operation(
      for action: Nest, in store: Store<[Int], Nest>
    ) -> ActionOperation<[Int], Nest> {
      ActionOperation(action: action, store: store) { action, store in
        store.updateModel { $0.append(action.number) }
        if action.depth > 0 { action.nest(action.seed) }
        store.updateModel { $0.append(action.number) }
      }
    }
  }
}

extension NestingWorld.Nest {
  fileprivate func nest(_ seed: UInt64) {
    world.dispatch(seed, depth: depth - 1, inside: number)
  }
}
