import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Two dispatchers on one queue of width one, whose blocks wait for each other's dispatches while the queue is suspended and
  /// resumed.
  static let suspendedWaits = Scenario(
    name: "suspended-waits",
    summary: "what a thread waits for runs once the queue is resumed, whoever has queued it"
  ) { dispatcher, simulation in
    dispatcher.queue.maxConcurrentOperationCount = 1
    let other = simulation.makeDispatcher(name: "other", queue: dispatcher.queue)
    let (here, there) = (Shared([Int]()), Shared([Int]()))
    for dispatcher in [dispatcher, other] { dispatcher.makeJobs() }
    @Sendable func note(_ number: Int, _ log: Shared<[Int]>) -> Job { .runs { log.append(number) } }
    // Waits for another dispatch by `.sync`.
    @Sendable func block(
      _ number: Int, for job: Job, _ dispatcher: Dispatcher, _ mode: Dispatcher.Mode
    ) {
      let awaited = dispatcher.dispatch(action: job, mode: mode)
      let wait = dispatcher.dispatch(actions: [], mode: .sync, options: .after(awaited))
      here.append(wait.resultIfEnded?.isSuccess == true ? number : -number)
    }
    async let control: Void = {
      for _ in 0..<2 {
        dispatcher.queue.isSuspended = true
        dispatcher.queue.isSuspended = false
      }
    }()
    async let one = dispatcher.dispatch(
      action: Job.runs { block(1, for: note(11, there), other, .serial) }
    ).result
    async let two = dispatcher.dispatch(
      action: Job.runs { block(2, for: note(12, here), dispatcher, .async) }
    ).result
    async let three = other.dispatch(
      action: Job.suspends {
        let handle = dispatcher.dispatch(action: note(13, here), mode: .serial)
        there.append(await handle.result.isSuccess ? 3 : -3)
      }, mode: .serial(lane: "x")
    ).result
    for result in await [one, two, three] { try check(result.isSuccess, "\(result)") }
    await control
    try check(here.now.sorted() == [1, 2, 12, 13], "here: \(here.now)")
    try check(there.now.sorted() == [3, 11], "there: \(there.now)")
  }
}
