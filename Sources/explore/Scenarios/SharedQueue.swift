import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Two dispatchers on one queue of width one, each of whose actions blocks until one of the other has run.
  static let sharedQueue = Scenario(
    name: "shared-queue", summary: "what a thread waits for runs, whichever dispatcher queued it"
  ) { dispatcher in
    dispatcher.queue.maxConcurrentOperationCount = 1
    let (first, second) = (Shared([Int]()), Shared([Int]()))
    let other = dispatcher.makeVisitors(first, second)
    async let one = dispatcher.dispatch(action: Visit.blocks(1)).result
    async let two = other.dispatch(action: Visit.blocks(2)).result
    async let three = other.dispatch(action: Visit.blocks(3), mode: .serial(lane: "x")).result
    async let four = dispatcher.dispatch(action: Visit.blocks(4), mode: .serial(lane: "y")).result
    for result in await [one, two, three, four] { try check(result.isSuccess, "\(result)") }
    let (here, there) = (first.now, second.now)
    try check(here.sorted() == [1, 4, 12, 13], "here: \(here)")
    try check(there.sorted() == [2, 3, 11, 14], "there: \(there)")
    for dispatcher in [dispatcher, other] { dispatcher.unregister(storeIdentifier: "here") }
    other.unregister(storeIdentifier: "there")
  }
}

extension Dispatcher {
  /// Makes another dispatcher on this one's queue, and a store in each that waits for actions of the other.
  func makeVisitors(_ here: Shared<[Int]>, _ there: Shared<[Int]>) -> Dispatcher {
    let other =
      simulation?.makeDispatcher(name: "other", queue: queue) ?? Dispatcher(queue: queue)
    other.makeStore("there", of: Visit.self) { $0.operation(in: $1, there, self) }
    makeStore("here", of: Visit.self) { $0.operation(in: $1, here, other) }
    return other
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
