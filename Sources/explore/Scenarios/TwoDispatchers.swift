import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Operations of two dispatchers that await each other's lanes; one dispatcher is released meanwhile.
  static let twoDispatchers = Scenario(
    name: "two-dispatchers", summary: "a ring across dispatchers is refused, and none is lost"
  ) { dispatcher in
    let (first, second) = (Shared([Int]()), Shared([Int]()))
    let results = await { @Sendable () -> [DispatchResult] in
      // Only dispatches under way reference this one.
      let other = dispatcher.simulation?.makeDispatcher(name: "other") ?? Dispatcher()
      other.queue.maxConcurrentOperationCount = 1
      other.makeStore("there", of: Visit.self) { $0.operation(in: $1, second, dispatcher) }
      dispatcher.makeStore("here", of: Visit.self) { $0.operation(in: $1, first, other) }
      async let one = dispatcher.dispatch(action: Visit.waits(1), mode: .serial).result
      async let two = other.dispatch(action: Visit.waits(2), mode: .serial).result
      async let three = other.dispatch(action: Visit.blocks(3)).result
      async let four = dispatcher.dispatch(action: Visit.blocks(4), mode: .serial(lane: "x")).result
      other.dispatch(action: Visit.ends(5), mode: .serial(lane: "y"))
      other.dispatch(actions: [Visit.ends(6), Visit.ends(7)], mode: .mainThread)
      return await [one, two, three, four]
    }()
    for result in results { try check(result.isSuccess, "\(result)") }
    _ = await dispatcher.dispatch(action: Visit.ends(8), mode: .serial).result
    while ![5, 7, 11, 14].allSatisfy(second.now.contains) { await Task.yield() }
    dispatcher.unregister(storeIdentifier: "here")
    let (here, there) = (first.now, second.now)
    try check(here.filter { abs($0) < 10 }.map(abs).sorted() == [1, 4, 8], "here: \(here)")
    try check(
      there.filter { abs($0) < 10 }.map(abs).sorted() == [2, 3, 5, 6, 7], "there: \(there)")
    // At most one of a ring is refused, and only those in lanes can be in one.
    try check((here + there).filter { $0 < 0 }.count <= 1, "\(here), \(there): refused")
    try check(here.contains(12) && here.contains(13), "here: \(here)")
    try check(there.contains(11) && there.contains(14), "there: \(there)")
  }
}

enum Visit: ActionType {
  /// Awaits a dispatch in the other dispatcher's default lane.
  case waits(Int)
  /// Waits for such a dispatch by `.sync`.
  case blocks(Int)
  /// Waits by `.sync` for a dispatch on the concurrent queue, in its own dispatcher.
  case blocksHere(Int)
  case ends(Int)

  func operation(
    in store: Store<Journal, Visit>, _ done: Shared<[Int]>, _ other: Dispatcher
  ) -> ActionOperation<Journal, Visit> {
    switch self {
    case .waits(let number):
      return ActionOperation(action: self, store: store) { _, _ async in
        let result = await other.dispatch(action: Visit.ends(number + 10), mode: .serial).result
        done.with { $0.append(result.isSuccess ? number : -number) }
      }
    case .blocks(let number):
      return ActionOperation(action: self, store: store) { _, _ in
        let there = other.dispatch(action: Visit.ends(number + 10), mode: .serial)
        let result = other.dispatch(actions: [], mode: .sync, options: .after(there)).resultIfEnded
        done.with { $0.append(result?.isSuccess == true ? number : -number) }
      }
    case .blocksHere(let number):
      return ActionOperation(action: self, store: store) { [dispatcher = store.dispatcher] _, _ in
        let here = dispatcher!.dispatch(action: Visit.ends(number + 10))
        let result = dispatcher!.dispatch(actions: [], mode: .sync, options: .after(here))
          .resultIfEnded
        done.with { $0.append(result?.isSuccess == true ? number : -number) }
      }
    case .ends(let number):
      return ActionOperation(action: self, store: store) { _, _ in done.with { $0.append(number) }
      }
    }
  }
}
